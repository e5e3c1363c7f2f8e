"""Classes on the line, against all intervals that there are."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from mercer.theory.learnability import (
    Inconsistent,
    Interval,
    Intervals,
    LeftIntervals,
    UnionsOfIntervals,
    dichotomies,
    sauer_bound,
)


def intervals(x):
    ends = sorted({*x, max(x) + 1})
    return [tuple(a <= v <= b for v in x) for a in ends for b in ends]


def left(x):
    ends = [v for v in {*x, max(x) + 1} if v > 0] or [1]
    return [tuple(0 <= v < a for v in x) for a in ends]


def unions(x, k):
    return {tuple(map(any, zip(*chosen, strict=True))) for chosen in product(intervals(x), repeat=k)}


@pytest.mark.parametrize("x", [(1, 2, 3, 4), (3, 1, 2, 1), (0, 0, -1, 2), (-2, -1, 0, 5), (0.1, 0.1, 0.2, 7)])
def test_against_all_there_are(x):
    for H, real in (
        (Intervals(), set(intervals(x))),
        (LeftIntervals(), set(left(x))),
        (UnionsOfIntervals(1), set(intervals(x))),
        (UnionsOfIntervals(2), unions(x, 2)),
    ):
        assert set(map(tuple, dichotomies(H, x).tolist())) == real, H
        for labels in product((False, True), repeat=len(x)):
            h = H.consistent(x, labels)
            assert (h is not None) == (labels in real)
            assert h is None or tuple(h(x)) == labels


@pytest.mark.parametrize("H", [LeftIntervals(), Intervals(), UnionsOfIntervals(2), UnionsOfIntervals(3)])
def test_growth_is_attained(H):
    for n in range(1, 9):
        assert len(dichotomies(H, np.arange(1, n + 1))) == H.growth(n) == sauer_bound(n, H.vc_dimension)
    assert H.growth(0) == 1


def test_zero_is_in_every_left_interval():
    H = LeftIntervals()
    assert H.consistent([0], "+") and H.consistent([0], "−") is None
    assert H.consistent([-1], "+") is None and H.consistent([-1], "−")


def test_fractions_and_neighbouring_floats():
    third = Fraction(1, 3)
    h = Intervals().consistent([third, third + Fraction(1, 10**30)], "+-")
    assert h([third]).tolist() == [True] and str(h) == "[1/3, 1/3]"
    x = [1.0, np.nextafter(1.0, 2)]
    assert all(Intervals().consistent(x, y) for y in ("++", "+-", "-+", "--"))
    assert Intervals().consistent([1e300], "−")([1e300]).tolist() == [False]


def test_hypotheses_in_words():
    assert str(Interval(0, 2.5, closed=False)) == "[0, 2.5)"
    assert repr(Interval(0, 2, closed=False)) == "Interval(low=0, high=2, closed=False)"
    assert str(UnionsOfIntervals(2).consistent([1, 2, 3], "+-+")) == "[1, 1] ∪ [3, 3]"


def test_noise_is_refused():
    with pytest.raises(Inconsistent, match=r"example 1, which is 2, labelled −: it lies in \[1, 3\]") as e:
        Intervals().learn([1, 2, 3], [1, 0, 1])
    assert e.value.example == 1


def test_by_numbers():
    assert Intervals().from_numbers([1, 2]) == Interval(1, 2)
    assert LeftIntervals().from_numbers([2]) == Interval(0, 2, closed=False)
    assert UnionsOfIntervals(2).from_numbers([1, 2, 3, 4]).intervals[1] == Interval(3, 4)
    for H, numbers in (
        (Intervals(), [2, 1]),
        (Intervals(), [1]),
        (LeftIntervals(), [0]),
        (UnionsOfIntervals(1), [1, 2, 3, 4]),
        (UnionsOfIntervals(1), []),
    ):
        with pytest.raises(ValueError):
            H.from_numbers(numbers)
    assert all(H.numbers for H in (Intervals(), LeftIntervals(), UnionsOfIntervals(2)))


def test_many_intervals():
    with pytest.raises(ValueError, match="k must be"):
        UnionsOfIntervals(0).consistent([1], "+")
    x = list(range(9))
    for k in range(1, 5):
        for chosen in combinations(range(0, 9, 2), k):
            assert UnionsOfIntervals(k).consistent(x, [i in chosen for i in x])
            assert UnionsOfIntervals(k - 1).consistent(x, [i in chosen for i in x]) is None if k > 1 else True
