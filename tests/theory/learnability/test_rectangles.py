"""Rectangles: the tightest fit."""

import numpy as np
import pytest

from mercer.theory.learnability import Box, Inconsistent, Intervals, Rectangles, dichotomies, shatters


def test_the_tightest_fit():
    rng = np.random.default_rng(0)
    target = Box((0.2, 0.1, 0.3), (0.9, 0.8, 0.7))
    X = rng.uniform(size=(500, 3))
    h = Rectangles().learn(X, target(X))
    inside = X[target(X)]
    assert h == Box(tuple(inside.min(axis=0)), tuple(inside.max(axis=0)))
    assert (h(X) == target(X)).all() and h.volume < target.volume
    fresh = rng.uniform(size=(1000, 3))
    assert not (h(fresh) & ~target(fresh)).any()


def test_the_boundary_belongs_to_it():
    h = Box((0, 0), (1, 1))
    assert h([[0, 1], [1, 1], [1, 1 + 1e-15]]).tolist() == [True, True, False]


def test_in_one_dimension_it_is_an_interval():
    x = [3, 1, 2, 2, 5]
    assert np.array_equal(dichotomies(Rectangles(1), x), dichotomies(Intervals(), x))
    assert [Rectangles(1).growth(n) for n in range(6)] == [Intervals().growth(n) for n in range(6)]
    assert Rectangles(2).growth(4) is None


@pytest.mark.parametrize("d", [1, 2, 3])
def test_no_set_of_more_than_2d_points_is_shattered(d):
    rng = np.random.default_rng(d)
    cross = np.vstack([np.eye(d), -np.eye(d)])
    assert shatters(Rectangles(d), cross)
    for _ in range(30):
        answer = shatters(Rectangles(d), rng.integers(-3, 4, (2 * d + 1, d)))
        assert not answer and answer.defeat


def test_coincident_points():
    H = Rectangles(2)
    assert H.consistent([[1, 1], [1, 1]], "+-") is None
    assert H.consistent([[1, 1], [1, 1]], "++") == Box((1, 1), (1, 1))
    away = H.consistent([[1, 1e300], [2, 0]], "--")
    assert not away([[1, 1e300], [2, 0]]).any()


def test_noise_is_refused_with_the_example():
    with pytest.raises(Inconsistent, match=r"example 2, which is \(1, 1\), labelled −: it lies in") as e:
        Rectangles(2).learn([[0, 0], [2, 2], [1, 1]], [1, 1, 0])
    assert e.value.example == 2


def test_what_is_refused():
    with pytest.raises(ValueError, match="2 coordinates, got 3"):
        Rectangles(2).consistent([[1, 2, 3]], "+")
    with pytest.raises(ValueError, match="say in how many"):
        next(Rectangles().candidates(2, np.random.default_rng(0)))
    with pytest.raises(ValueError, match="d must be"):
        Rectangles(0).consistent([[1]], "+")
    assert Rectangles().vc_dimension is Rectangles().parts is None
    assert Rectangles(2).from_numbers([0, 1, 2, 3]) == Box((0, 2), (1, 3))
    for numbers in ([0, 1], [1, 0, 0, 1], []):
        with pytest.raises(ValueError):
            Rectangles(2).from_numbers(numbers)
