"""Known VC dimensions are found by search, with a witness, and every larger set tried is defeated."""

import math

import numpy as np
import pytest

from mercer.kernels import Gaussian, Polynomial
from mercer.theory.learnability import (
    Conjunctions,
    HalfSpaces,
    Intervals,
    KernelHalfSpaces,
    LeftIntervals,
    PolynomialHalfSpaces,
    Rectangles,
    UnionsOfIntervals,
    sauer_bound,
    shatters,
    vc_dimension,
)

KNOWN = [
    (LeftIntervals(), 1),
    (Intervals(), 2),
    (UnionsOfIntervals(3), 6),
    (Rectangles(1), 2),
    (Rectangles(2), 4),
    (Rectangles(3), 6),
    (HalfSpaces(1), 2),
    (HalfSpaces(2), 3),
    (HalfSpaces(3), 4),
    (HalfSpaces(4), 5),
    (HalfSpaces(3, offset=False), 3),
    (PolynomialHalfSpaces(1, 3), 4),
    (PolynomialHalfSpaces(2, 2), 6),
    (KernelHalfSpaces(Polynomial(2), d=1), 3),
    (KernelHalfSpaces(Polynomial(2, c=0), offset=False, d=2), 3),
    (Conjunctions(1), 2),
    (Conjunctions(2), 2),
    (Conjunctions(4), 4),
    (Conjunctions(4, negations=False), 4),
]


@pytest.mark.parametrize("H, expected", KNOWN, ids=lambda v: repr(v))
def test_known_dimensions_are_found(H, expected):
    found = vc_dimension(H, tries=8)
    assert int(found) == float(found) == found.value == found.upper == found.lower == expected
    assert found.witness and len(found.witness.points) == expected
    assert len(found.defeats) == 8
    for defeated in found.defeats:
        assert len(defeated.points) == expected + 1
        assert H.consistent(defeated.points, defeated.defeat) is None
    assert len(H.why) > 30 and f"VC dimension {expected}: " in str(found)


def test_infinite():
    found = vc_dimension(KernelHalfSpaces(Gaussian(1.0)), largest=6)
    assert found.lower == 6 and found.upper == found.value == float(found) == math.inf and not found.defeats
    assert "infinite" in str(found)
    with pytest.raises(ValueError, match="no whole number"):
        int(found)


def test_more_than_a_search_can_do():
    found = vc_dimension(HalfSpaces(20), largest=3)
    assert found.value == 21 and found.lower == 3
    assert len(vc_dimension(Conjunctions(30), tries=2).witness.points) == 10


def test_among_given_points():
    line = [[i, i] for i in range(6)]
    found = vc_dimension(HalfSpaces(2), line)
    assert found.value == found.lower == found.upper == 2
    assert all(len(d.points) == 3 for d in found.defeats) and len(found.defeats) == 20
    grid = [[i, j] for i in range(3) for j in range(3)]
    assert vc_dimension(Rectangles(2), grid).value == 4
    assert vc_dimension(HalfSpaces(2), grid).value == 3
    assert vc_dimension(LeftIntervals(), [-3, 0]).value == 0
    limited = vc_dimension(HalfSpaces(2), grid, largest=2)
    assert limited.lower == 2 and limited.value is None and limited.upper == 3
    with pytest.raises(ValueError, match="not known"):
        float(limited)


def test_seeds():
    same = [vc_dimension(Rectangles(2), random_state=3, tries=3).defeats[-1].points for _ in range(2)]
    np.testing.assert_array_equal(*same)


def test_sauer():
    assert [sauer_bound(n, 3) for n in range(5)] == [1, 2, 4, 8, 15]
    for d in range(1, 6):
        for n in range(d, 40):
            assert sauer_bound(n, d) <= (math.e * n / d) ** d
            assert sauer_bound(n, d) == sauer_bound(n - 1, d) + sauer_bound(n - 1, d - 1) if n else True
    with pytest.raises(ValueError, match="whole number"):
        sauer_bound(3, -1)


@pytest.mark.parametrize("H, expected", KNOWN, ids=lambda v: repr(v))
def test_growth_bends_at_the_dimension(H, expected):
    if H.growth(expected) is None:
        return
    assert H.growth(expected) == 2**expected
    assert H.growth(expected + 1) < 2 ** (expected + 1)
    for n in range(12):
        assert H.growth(n) <= sauer_bound(n, expected)


def test_gaussian_shatters_whatever_is_distinct():
    rng = np.random.default_rng(0)
    for d in (1, 2, 5):
        for n in (2, 5, 8):
            assert shatters(KernelHalfSpaces(Gaussian(1.0)), rng.standard_normal((n, d)))
