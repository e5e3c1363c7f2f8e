"""Shattering: yes with a hypothesis for every labelling, no with one that defeats the class."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.theory.learnability import (
    HalfSpaces,
    Intervals,
    KernelHalfSpaces,
    LeftIntervals,
    Rectangles,
    UserClass,
    dichotomies,
    sauer_bound,
    shatters,
    vc_dimension,
)
from mercer.theory.learnability.inputs import signs

CASES = [
    (LeftIntervals(), [3], True),
    (LeftIntervals(), [3, 4], False),
    (LeftIntervals(), [0], False),  # [0, a) always holds 0
    (Intervals(), [5, 1], True),
    (Intervals(), [1, 2, 3], False),
    (Intervals(), [1, 1], False),
    (HalfSpaces(2), [[0, 0], [1, 0], [0, 1]], True),
    (HalfSpaces(2), [[0, 0], [1, 1], [2, 2]], False),
    (HalfSpaces(2), [[0, 0], [1, 0], [0, 1], [1, 1]], False),
    (Rectangles(2), [[0, 1], [0, -1], [1, 0], [-1, 0]], True),
    (Rectangles(2), [[0, 0], [0, 1], [1, 0], [1, 1]], False),
    (KernelHalfSpaces(Gaussian(1.0)), [[0.0], [1.0], [5.0]], True),
]


@pytest.mark.parametrize("H, points, expected", CASES, ids=lambda v: repr(v)[:30])
def test_both_answers_come_with_evidence(H, points, expected):
    answer = shatters(H, points)
    n = len(points)
    assert bool(answer) is answer.shattered is expected
    if expected:
        assert list(answer.hypotheses) == [signs(labels) for labels in product((False, True), repeat=n)]
        for labels, h in answer.hypotheses.items():
            assert signs(h(points)) == labels
        assert answer.defeat is None and "shatters" in str(answer)
    else:
        assert H.consistent(points, answer.defeat) is None
        assert answer.defeat in str(answer) and len(answer.defeat) == n
        assert len(dichotomies(H, points)) < 2**n


def test_labellings_that_fail_early_are_extended():
    answer = shatters(Intervals(), range(1, 30))  # 2²⁹ labellings are not tried
    assert answer.defeat.startswith("+-+") and "first 3 of them +-+" in answer.reason
    halves = shatters(HalfSpaces(1), [0, 1, Fraction(1, 2)])
    assert "because 1/2 lies in the convex hulls of both sides" in str(halves)
    assert Intervals().consistent(range(1, 30), answer.defeat) is None


def test_dichotomies_are_those_a_direct_search_finds():
    rng = np.random.default_rng(0)
    for H, X in (
        (HalfSpaces(2), rng.integers(-2, 3, (6, 2))),
        (Rectangles(2), rng.integers(-2, 3, (6, 2))),
        (Intervals(), rng.integers(0, 5, 6)),
    ):
        direct = [y for y in product((False, True), repeat=6) if H.consistent(X, y) is not None]
        assert dichotomies(H, X).tolist() == [list(y) for y in direct]
        assert len(direct) <= sauer_bound(6, H.vc_dimension)


def test_too_many_labellings():
    always = UserClass(lambda X, y: lambda Z, y=y: np.resize(y, len(Z)))
    with pytest.raises(ValueError, match="fewer points"):
        shatters(always, range(20))
    with pytest.raises(ValueError, match="one or more|at least one"):
        shatters(Intervals(), [])


def test_long_answers_are_cut():
    text = str(shatters(KernelHalfSpaces(Gaussian(1.0)), np.arange(7.0)[:, None]))
    assert text.endswith("… 64 more")
    assert str(shatters(LeftIntervals(), [1])).startswith("LeftIntervals() shatters this point:")


def test_what_is_no_class():
    for given in ("rectangles", Rectangles):
        for ask in (shatters, dichotomies, vc_dimension):
            with pytest.raises(TypeError, match="a class of hypotheses such as Rectangles"):
                ask(given, [[0, 0]])


def test_one_point_is_it():
    assert str(shatters(LeftIntervals(), [-1])).endswith("this point: no hypothesis labels it +.")
