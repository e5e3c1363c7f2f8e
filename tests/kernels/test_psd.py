"""Is it a kernel? A witness is checked here from raw values, with none of the library's arithmetic."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.kernels import (
    Constant,
    Cosine,
    Finite,
    FunctionKernel,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
    Verdict,
    check,
)
from mercer.kernels.psd import lowered


def squared_distance(x, z):
    return float(((x - z) ** 2).sum())


def gaussian_minus_linear(x, z):
    return math.exp(-squared_distance(x, z) / 2) - float(x @ z)


def quadratic_form(function, points, c):
    """Σ c_i c_j k(x_i, x_j) by plain loops."""
    return sum(
        a * b * function(x, z) for a, x in zip(c, points, strict=True) for b, z in zip(c, points, strict=True)
    )


NOT_KERNELS = {
    "squared distance": squared_distance,
    "distance": lambda x, z: math.sqrt(squared_distance(x, z)),
    "Gaussian minus linear": gaussian_minus_linear,
    "minus linear": lambda x, z: -float(x @ z),
    "cosine of the sum": lambda x, z: math.cos(float((x + z).sum())),
    "max": lambda x, z: float(max(abs(x).max(), abs(z).max())),
    "x·z − 1": lambda x, z: float(x @ z) - 1,
    "tanh": lambda x, z: math.tanh(float(x @ z)),
    "ball indicator": lambda x, z: float(squared_distance(x, z) < 1),
}


@pytest.mark.parametrize("name", NOT_KERNELS)
def test_a_no_comes_with_a_witness(name):
    function = NOT_KERNELS[name]
    verdict = check(function)
    assert not verdict
    assert (verdict.ok, verdict.by) == (False, "witness")
    assert "not positive semidefinite" in verdict.reason
    assert len(verdict.points) == len(verdict.c) <= 10
    value = quadratic_form(function, verdict.points, verdict.c)
    assert value < 0
    assert verdict.value == pytest.approx(value)
    assert "< 0" in str(verdict)


@pytest.mark.parametrize("a, c", [(1.0, -1.0), (0.5, -0.1), (1.0, 0.0), (2.0, 1.0)])
def test_sigmoid_is_refused(a, c):
    verdict = check(Sigmoid(a, c))
    assert not verdict.ok
    assert quadratic_form(lambda x, z: math.tanh(a * float(x @ z) + c), verdict.points, verdict.c) < 0


def test_the_textbook_witness():
    # For ‖x−z‖² two points will do: c = (1, −1) gives −2‖x−z‖².
    verdict = check(squared_distance)
    assert len(verdict.points) == 2
    assert verdict.c[0] == pytest.approx(-verdict.c[1])
    lines = str(verdict).splitlines()
    assert lines[0] == "Not a kernel: not positive semidefinite."
    assert lines[1].startswith("  x0 = [") and "c0 = " in lines[1]


def test_what_is_a_kernel_on_the_line_only():
    """max(0, 1 − ‖x−z‖) needs the plane, and many points at the right distance, to show itself."""

    def tent(x, z):
        return max(0.0, 1 - math.sqrt(squared_distance(x, z)))

    verdict = check(tent)
    assert not verdict.ok and all(len(p) == 2 for p in verdict.points)
    assert quadratic_form(tent, verdict.points, verdict.c) < 0
    assert check(tent, np.random.default_rng(0).standard_normal((40, 1))).ok


@pytest.mark.parametrize("name", [n for n in NOT_KERNELS if n != "tanh"])
def test_a_witness_is_short_and_what_is_printed_is_the_witness(name):
    function = NOT_KERNELS[name]
    text = str(check(function)).splitlines()[1:-1]
    points = [np.array(eval(line.split("= ")[1].split("   ")[0])) for line in text]
    c = [float(line.rpartition(" ")[2]) for line in text]
    assert quadratic_form(function, points, c) < 0
    assert all(len(repr(float(v))) <= 7 for p in points for v in p) and all(len(f"{v:g}") <= 6 for v in c)


def test_given_points_are_named_by_their_rows():
    X = np.random.default_rng(0).standard_normal((30, 40))
    verdict = check(squared_distance, X)
    for row, point in zip(verdict.rows, verdict.points, strict=True):
        np.testing.assert_array_equal(X[row], point)
    assert f"x0 = row {verdict.rows[0]}, [" in str(verdict) and "… 40 coordinates]" in str(verdict)


def test_points_move_towards_a_witness():
    def matrix(X, Z):
        return np.maximum(0, 1 - np.sqrt(((X[:, None] - Z[None]) ** 2).sum(axis=2)))

    X = np.random.default_rng(1).uniform(-1, 1, (24, 2))
    moved = lowered(matrix, X)
    assert np.linalg.eigvalsh(matrix(moved, moved))[0] < 0.5 * np.linalg.eigvalsh(matrix(X, X))[0]


def test_a_witness_on_given_points():
    X = np.random.default_rng(0).standard_normal((30, 4))
    verdict = check(squared_distance, X)
    assert all(any((p == x).all() for x in X) for p in verdict.points)
    assert quadratic_form(squared_distance, verdict.points, verdict.c) < 0
    assert len(verdict.points) == 2  # of 30: nobody wants to check a witness of 900 terms


INDEFINITE = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])


@pytest.mark.parametrize(
    "make", [np.asarray, list, sp.csr_array, Finite, lambda M: M.astype(np.float32), lambda M: 10 * M]
)
def test_an_indefinite_matrix(make):
    verdict = check(make(INDEFINITE))
    assert not verdict.ok
    index = verdict.points
    assert all(isinstance(i, int) for i in index)
    value = sum(
        verdict.c[a] * verdict.c[b] * INDEFINITE[i, j]
        for a, i in enumerate(index)
        for b, j in enumerate(index)
    )
    assert value < 0


@pytest.mark.parametrize(
    "matrix",
    [
        np.eye(3),
        np.ones((4, 4)),
        np.zeros((2, 2)),
        [[2, 1], [1, 2]],
        np.empty((0, 0)),
        Finite(np.ones((3, 3))),
    ],
    ids=lambda m: f"{np.shape(m)}",
)
def test_a_positive_semidefinite_matrix(matrix):
    verdict = check(matrix)
    assert verdict
    assert verdict.by == "rule"
    assert "matrix" in verdict.reason


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_is_no_objection(dtype):
    # Numerically singular Gram matrices have eigenvalues a little below 0.
    X = np.random.default_rng(0).standard_normal((60, 2)).astype(dtype)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / dtype(18))
    assert K.dtype == dtype
    assert np.linalg.eigvalsh(K.astype(float)).min() < 0
    assert check(K).ok


def test_a_functions_own_rounding_is_no_objection():
    # arccos near 1 turns one rounding into its square root.
    def arc_cosine(x, z):
        size = math.sqrt(float(x @ x) * float(z @ z))
        return 0.0 if size == 0 else 1 - math.acos(max(-1.0, min(1.0, float(x @ z) / size))) / math.pi

    assert check(arc_cosine).ok


def test_overflow_is_no_objection():
    # exp(x·z) is a kernel, though some sampled values are too large for a float.
    verdict = check(lambda x, z: np.exp(x @ z))
    assert verdict.ok
    assert verdict.by == "sampling"


def test_values_that_are_never_finite_are_an_objection():
    verdict = check(lambda x, z: np.float64(1) / np.abs(x - z).sum())
    assert not verdict.ok
    assert "inf" in verdict.reason
    verdict = check(lambda x, z: math.nan if x @ z < 0 else 1.0, [[1.0], [-1.0]])
    assert not verdict.ok
    assert "nan" in verdict.reason


@pytest.mark.parametrize(
    "function",
    [
        lambda x, z: float(x @ z) + float(x[0]),
        lambda x, z: float(x[0] * z[-1]) + float(x[-1]),
        lambda x, z: float(x[0] > z[0]),
    ],
)
def test_asymmetry_is_refused(function):
    verdict = check(function)
    assert not verdict.ok
    assert "not symmetric" in verdict.reason
    x, z = verdict.points
    assert function(x, z) != pytest.approx(function(z, x))


def test_an_asymmetric_function_kernel_is_refused_though_its_gram_matrix_is_mirrored():
    k = FunctionKernel(lambda x, z: float(x[0] - z[0]) ** 3)
    K = k([[0.0], [1.0]])
    assert (K == K.T).all()
    assert "not symmetric" in check(k).reason


def test_an_asymmetric_matrix_is_refused():
    verdict = check([[1.0, 0.5], [0.4, 1.0]])
    assert not verdict.ok
    assert "not symmetric: k(x0, x1) = 0.5 but k(x1, x0) = 0.4" in verdict.reason
    assert verdict.points == [0, 1]


@pytest.mark.parametrize(
    "kernel, words",
    [
        (Linear(), ["linear", "inner product"]),
        (Polynomial(3, 1.0), ["polynomial", "product", "sum"]),
        (Gaussian(1.0), ["Gaussian", "Bochner"]),
        (Gaussian(), ["Bochner"]),
        (Laplacian(1.0), ["Laplacian", "Bochner"]),
        (Gaussian(1.0) + Linear(), ["sum of kernels", "Bochner", "inner product"]),
        (Gaussian(1.0) * Linear(), ["product of kernels"]),
        (2 * Linear(), ["nonnegative multiple"]),
        (Linear() ** 3, ["integer power"]),
        (Gaussian(1.0) ** 0.5, ["infinitely divisible"]),
        (Linear().exp(), ["exponential"]),
        (Linear().normalize(), ["normalised"]),
        (Cosine(), ["normalised"]),
        (Constant(1.0), ["nonnegative constant"]),
        (Linear().on([0]), ["chosen columns"]),
        (Linear().scaled([1.0]), ["length scale"]),
        (Linear().metric(np.eye(2)), ["metric"]),
        (Linear().pullback(np.sin), ["map"]),
    ],
    ids=repr,
)
def test_a_yes_by_rule_names_the_rule(kernel, words):
    verdict = check(kernel)
    assert (verdict.ok, verdict.by) == (True, "rule")
    assert all(w in verdict.reason for w in words)
    assert verdict.points is None and verdict.c is None
    assert str(verdict).startswith("A kernel, by rule: ")


@pytest.mark.parametrize(
    "k",
    [
        lambda x, z: math.exp(-squared_distance(x, z)),
        lambda x, z: (float(x @ z) + 1) ** 2,
        lambda x, z: float(np.minimum(abs(x), abs(z)).sum()),
        FunctionKernel(lambda x, z: float(x @ z)),
        Sigmoid(1.0, -1.0) * Constant(0.0),
    ],
)
def test_a_yes_by_sampling_says_that_it_is_only_that(k):
    verdict = check(k)
    assert (verdict.ok, verdict.by) == (True, "sampling")
    assert "evidence, not a proof" in str(verdict)
    assert "sampled point sets" in verdict.reason


def test_sampling_is_reproducible():
    a, b = check(NOT_KERNELS["tanh"], random_state=3), check(NOT_KERNELS["tanh"], random_state=3)
    np.testing.assert_array_equal(a.points, b.points)
    np.testing.assert_array_equal(a.c, b.c)


def test_given_points_are_said_to_be_what_was_tried():
    verdict = check(squared_distance, [[1.0, 2.0]])  # one point is no objection
    assert verdict.ok
    assert "on the points given, up to 1 points" in verdict.reason


def test_more_points_than_an_eigenproblem_takes():
    X = np.random.default_rng(0).standard_normal((1700, 1))
    verdict = check(FunctionKernel(lambda A, B: A @ B.T, vectorized=True), X)
    assert verdict.ok
    assert "up to 1500 points" in verdict.reason


def shared_start(a, b):
    return sum(1 for x, y in zip(a.lower(), b.lower(), strict=False) if x == y)


def test_functions_of_other_things_need_points():
    with pytest.raises(ValueError, match=r"could not be evaluated on sampled vectors.*check\(k, X\)"):
        check(shared_start)
    assert check(shared_start, ["kernel", "Kerosene", "colonel"]).ok
    verdict = check(lambda a, b: -len(a) * len(b), ["ab", "c"])
    assert not verdict.ok
    assert quadratic_form(lambda a, b: -len(a) * len(b), verdict.points, verdict.c) < 0
    with pytest.raises(ValueError, match="at least one point"):
        check(shared_start, [])


def test_errors_of_the_function_on_given_points_are_not_hidden():
    with pytest.raises(AttributeError, match="lower"):
        check(shared_start, [1, 2])


@pytest.mark.parametrize(
    "what, error, reason",
    [
        (np.ones((2, 3)), ValueError, "square"),
        ([1.0, 2.0], ValueError, "square"),
        ("kernel", TypeError, "a Kernel, a function of two points or a matrix"),
        ([["a"]], TypeError, "a Kernel, a function"),
        (Gaussian(-1.0), ValueError, "positive"),
        (Polynomial(2, -1.0), ValueError, "nonnegative"),
    ],
)
def test_what_can_not_be_judged_is_refused(what, error, reason):
    with pytest.raises(error, match=reason):
        check(what)


def test_a_verdict_is_true_or_false():
    assert Verdict(True, "rule", "because")
    assert not Verdict(False, "witness", "because")
