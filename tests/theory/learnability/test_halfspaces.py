"""Half-spaces: exact on what is degenerate, and as many labellings as Cover counted."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from mercer.theory.learnability import HalfSpaces, PolynomialHalfSpaces, PolynomialSet, dichotomies, shatters
from mercer.theory.learnability.exact import proves


@pytest.mark.parametrize("d", [1, 2, 3])
def test_general_position_attains_the_growth_function(d):
    X = np.array([[t**j for j in range(1, d + 1)] for t in range(6)])  # the moment curve
    for n in range(1, 7):
        assert len(dichotomies(HalfSpaces(d), X[:n])) == HalfSpaces(d).growth(n)
    assert HalfSpaces(d).growth(0) == 1


def test_collinear_points():
    H, line = HalfSpaces(2), [[0, 0], [1, 1], [2, 2], [3, 3]]
    assert len(dichotomies(H, line)) == 8  # thresholds, from both sides
    assert not shatters(H, line[:3])
    assert H.consistent(line, "++--") and H.consistent(line, "+-+-") is None
    # As floats these three are not on one line, and that is what they are taken for.
    x = [[0.1, 0.1], [0.2, 0.2], [0.1 + 0.2, 0.3]]
    assert shatters(H, x)
    third = [[Fraction(1, 10), Fraction(1, 10)], [Fraction(2, 10), Fraction(2, 10)]]
    assert not shatters(H, [*third, [Fraction(3, 10), Fraction(3, 10)]])


def test_coincident_points():
    H = HalfSpaces(2)
    assert H.consistent([[1, 2], [1, 2]], "+-") is None
    assert H.consistent([[1, 2], [1, 2]], "++")
    assert len(dichotomies(H, [[1, 2], [1, 2], [0, 0]])) == 4


def test_a_point_on_an_edge_or_a_vertex():
    H = HalfSpaces(2)
    triangle = [[0, 0], [2, 0], [0, 2]]
    assert H.consistent([*triangle, [1, 1]], "+++-") is None  # on an edge
    assert H.consistent([*triangle, [Fraction(1, 2), Fraction(1, 2)]], "+++-") is None  # within
    assert H.consistent([*triangle, [1.0, np.nextafter(1, 2)]], "+++-")  # a bit outside
    assert H.consistent([*triangle, [1.0, np.nextafter(1, 0)]], "+++-") is None


def test_no_point_is_on_the_boundary_of_what_is_found():
    rng = np.random.default_rng(0)
    for _ in range(50):
        X = rng.integers(-2, 3, (5, 2))
        h = HalfSpaces(2).consistent(X, rng.random(5) < 0.5)
        if h is not None:
            assert all(sum(a * b for a, b in zip(h.w, x, strict=True)) + h.b != 0 for x in X.tolist())
            assert any(h.w)


def test_huge_and_tiny_numbers():
    X = [[1e200, 1e-200], [-1e200, 1e-200], [0.0, 0.0]]
    for labels in product((False, True), repeat=3):
        assert tuple(HalfSpaces(2).consistent(X, labels)(X)) == labels


def test_without_offset_closed_half_spaces_hold_0():
    H = HalfSpaces(2, offset=False)
    assert H.consistent([[0, 0]], "+") and H.consistent([[0, 0]], "−") is None
    assert H.consistent([[1, 0], [-1, 0]], "++")  # on the boundary
    assert H.consistent([[1, 0], [-1, 0]], "--") is None
    assert H.consistent([[1, 0], [2, 0]], "+-") is None
    assert shatters(H, [[1, 0], [0, 1]]) and H.vc_dimension == 2
    assert H.growth(3) is None


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_radon(d):
    """d + 2 points always have a labelling that can't be, with a proof in fractions."""
    rng = np.random.default_rng(d)
    H = HalfSpaces(d)
    for _ in range(10):
        X = rng.integers(-4, 5, (d + 2, d))
        answer = shatters(H, X)
        labels = np.array([c == "+" for c in answer.defeat])
        found = H.separation(H.points(X), labels)
        assert proves(found.weights, H.rows(H.points(X)), labels)


def test_many_points():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 4))
    y = X @ [1, 2, -1, 0.5] + 0.2 >= 0
    h = HalfSpaces().learn(X, y)
    assert (h(X) == y).all()
    fresh = rng.standard_normal((5000, 4))
    assert np.mean(h(fresh) != (fresh @ [1, 2, -1, 0.5] + 0.2 >= 0)) < 0.01
    y[17] ^= True
    assert HalfSpaces().consistent(X, y) is None


def test_polynomials():
    H = PolynomialHalfSpaces(2, 2)
    ring = [[0, 0], [2, 0], [0, 2], [-2, 0], [0, -2]]
    h = H.consistent(ring, "-++++")
    assert (h(ring) == [False, True, True, True, True]).all()
    assert HalfSpaces(2).consistent(ring, "-++++") is None
    assert H.vc_dimension == 6 and H.growth(7) == 2**7 - 2
    # Two intervals and a half, at most: cubics on the line.
    cubic = PolynomialHalfSpaces(1, 3)
    assert len(dichotomies(cubic, range(7))) == cubic.growth(7)
    conic = [[0, 1], [0, -1], [1, 0], [-1, 0], [3, 4], [4, 3]]  # the last two of another circle
    assert shatters(H, conic[:5])


def test_what_is_said_and_read():
    assert str(HalfSpaces(3).from_numbers([1, 0, -2.5, 0])) == "x₁ − 2.5·x₃ ≥ 0"
    assert str(PolynomialSet(((),), (0,))) == "0 ≥ 0"
    assert PolynomialHalfSpaces(1, 2).numbers == "the coefficients of x₁², x₁, 1"
    assert str(PolynomialHalfSpaces(1, 2).from_numbers([1, 0, -1])) == "x₁² − 1 ≥ 0"
    long = str(PolynomialSet(((0,), ()), (10**30, -(10**29))))
    assert long == "x₁ − 0.1 ≥ 0"
    for H, numbers in (
        (HalfSpaces(2), [1, 2]),
        (PolynomialHalfSpaces(1, 2), [1]),
        (PolynomialHalfSpaces(), [1]),
    ):
        with pytest.raises(ValueError):
            H.from_numbers(numbers)
    assert HalfSpaces(2, offset=False).from_numbers([1, 2]).b == 0


def test_what_is_refused():
    with pytest.raises(ValueError, match="needs 3 coordinates"):
        HalfSpaces(3).from_numbers([1, 1, 1, 0])([[1, 2]])
    with pytest.raises(ValueError, match="say in how many"):
        next(HalfSpaces().candidates(2, np.random.default_rng(0)))
    with pytest.raises(ValueError, match="offset must be"):
        HalfSpaces(2, offset=1).consistent([[1, 2]], "+")
    with pytest.raises(ValueError, match="degree must be"):
        PolynomialHalfSpaces(2, 0).consistent([[1, 2]], "+")
    assert HalfSpaces().vc_dimension is None and HalfSpaces().growth(3) is None


def turn(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def on_segment(p, a, b):
    within = all(min(a[i], b[i]) <= p[i] <= max(a[i], b[i]) for i in range(2))
    return turn(a, b, p) == 0 and within


def in_triangle(p, a, b, c):
    if turn(a, b, c) == 0:
        return False  # then it is on a segment, or not at all
    turns = [turn(a, b, p), turn(b, c, p), turn(c, a, p)]
    return all(t >= 0 for t in turns) or all(t <= 0 for t in turns)


def cross(a, b, c, d):
    return turn(a, b, c) * turn(a, b, d) < 0 and turn(c, d, a) * turn(c, d, b) < 0


def hulls_meet(P, N):
    """By Kirchberger's theorem four points at a time are enough in the plane: no linear programme."""
    for A, B in ((P, N), (N, P)):
        if any(p in B for p in A):
            return True
        if any(on_segment(p, a, b) for p in A for a in B for b in B):
            return True
        if any(in_triangle(p, a, b, c) for p in A for a in B for b in B for c in B):
            return True
    return any(cross(a, b, c, d) for a in P for b in P for c in N for d in N)


def test_against_predicates_of_the_plane():
    rng = np.random.default_rng(0)
    H, met = HalfSpaces(2), 0
    for _ in range(400):
        X = rng.integers(0, 3, (rng.integers(2, 7), 2))  # few places: coincident and collinear points abound
        y = rng.random(len(X)) < 0.5
        meet = hulls_meet(list(map(tuple, X[y].tolist())), list(map(tuple, X[~y].tolist())))
        assert (H.consistent(X, y) is None) == meet
        assert (H.consistent(X / 8, y) is None) == meet
        met += meet
    assert 50 < met < 350
