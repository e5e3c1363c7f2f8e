"""Sums, products, powers, exponentials, multiples and normalisation."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.kernels import (
    AdditiveChiSquared,
    ArcCosine,
    ChiSquared,
    Constant,
    Exp,
    FunctionKernel,
    Gaussian,
    HistogramIntersection,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    Periodic,
    Polynomial,
    Power,
    Product,
    RationalQuadratic,
    Scale,
    Sigmoid,
    SkewedChiSquared,
    Sum,
    White,
)

X = np.random.default_rng(0).standard_normal((7, 3))
Z = np.random.default_rng(1).standard_normal((4, 3))
DOT = X @ Z.T
RBF = np.exp(-0.5 * ((X[:, None] - Z[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize(
    "kernel, expected",
    [
        (Gaussian(1.0) + Linear(), RBF + DOT),
        (Gaussian(1.0) * Linear(), RBF * DOT),
        (Gaussian(1.0) * Linear() + Linear(), RBF * DOT + DOT),
        (Gaussian(1.0) * (Linear() + Linear()), RBF * (DOT + DOT)),
        (2 * Linear() + 3 * Gaussian(1.0), 2 * DOT + 3 * RBF),
        (Linear() * 2.5, 2.5 * DOT),
        (Linear() / 4, DOT / 4),
        (np.float64(2) * Linear(), 2 * DOT),
        (np.float32(2) + Linear(), 2 + DOT),
        (Linear() + 1, DOT + 1),
        (0.5 + Linear(), DOT + 0.5),
        (Linear() ** 3, DOT**3),
        (Linear() ** 1, DOT),
        (2 * Linear() ** 2, 2 * DOT**2),
        ((2 * Linear()) ** 2, 4 * DOT**2),
        (Linear() ** 2.0, DOT**2),
        (Gaussian(1.0) ** 0.5, RBF**0.5),
        (Linear().exp(), np.exp(DOT)),
        ((Linear() + 1).exp(), np.exp(DOT + 1)),
        (sum([Linear(), Gaussian(1.0)]), DOT + RBF),
    ],
    ids=lambda v: repr(v) if not isinstance(v, np.ndarray) else "",
)
def test_expressions_mean_what_they_say(kernel, expected):
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-12)


def test_operators_build_values():
    a, b = Gaussian(1.0), Linear()
    assert a + b == Sum(Gaussian(1.0), Linear())
    assert a * b == Product(Gaussian(1.0), Linear())
    assert a * b != b * a
    assert 2 * a == a * 2 == Scale(Gaussian(1.0), 2)
    assert a + 2 == 2 + a == Sum(Gaussian(1.0), Constant(2))
    assert a**2 == Power(Gaussian(1.0), 2)
    assert a.exp() == Exp(Gaussian(1.0))
    assert a.normalize() == Normalized(Gaussian(1.0))
    assert (a, b) == (Gaussian(1.0), Linear())


def test_known_identities():
    np.testing.assert_allclose((Linear() + 1)(X) ** 2, Polynomial(2, 1.0)(X), rtol=1e-12)
    np.testing.assert_allclose((Gaussian(1.0) ** 0.5)(X), Gaussian(math.sqrt(2))(X), rtol=1e-12)
    np.testing.assert_allclose((Gaussian(3.0) * Gaussian(4.0))(X), Gaussian(2.4)(X), rtol=1e-12)
    # The normalised exponential of x·z is the Gaussian.
    np.testing.assert_allclose(Linear().exp().normalize()(X), Gaussian(1.0)(X), rtol=1e-10)


@pytest.mark.parametrize(
    "call, error, reason",
    [
        (lambda k: -2 * k, ValueError, "-2·k is not a kernel: the factor must be nonnegative"),
        (lambda k: k * math.nan, ValueError, "factor must be nonnegative"),
        (lambda k: k / -2, ValueError, "factor must be nonnegative"),
        (lambda k: -k, ValueError, "negative semidefinite"),
        (lambda k: k - k, TypeError, "difference of kernels is not a kernel in general.*check"),
        (lambda k: k - 1, TypeError, "difference"),
        (lambda k: 1 - k, TypeError, "difference"),
        (lambda k: k + -1, ValueError, "constant must be nonnegative"),
        (lambda k: k**0.5, ValueError, "exponent must be a positive integer"),
        (lambda k: (Gaussian(1.0) * k) ** 0.5, ValueError, r"for Linear\(\) is not infinitely divisible"),
        (
            lambda k: (Gaussian(1.0) * (k + Gaussian(1.0))).normalize() ** 1.5,
            ValueError,
            r"for Linear\(\) \+ Gaussian\(sigma=1.0\) is not infinitely divisible",
        ),
        (lambda k: k**-1, ValueError, "exponent must be a positive integer"),
        (lambda k: k**0, ValueError, "exponent must be a positive integer"),
        (lambda k: k**math.nan, ValueError, "exponent must be a positive integer"),
        (lambda k: (k + Gaussian(1.0)) ** 0.5, ValueError, "exponent must be a positive integer"),
        (lambda k: k + "k", TypeError, "unsupported operand"),
        (lambda k: k * [1.0], TypeError, "unsupported operand|can't multiply"),
        (lambda k: np.ones(2) * k, TypeError, "unsupported operand"),
        (lambda k: k / 0, TypeError, "unsupported operand"),
        (lambda k: k**k, TypeError, "unsupported operand"),
        (lambda k: k + True, TypeError, "unsupported operand"),
    ],
)
def test_what_is_no_kernel_is_refused_with_the_reason(call, error, reason):
    with pytest.raises(error, match=reason):
        call(Linear())


@pytest.mark.parametrize(
    "kernel, error",
    [
        (Scale(Linear(), -1.0), ValueError),
        (Scale(Linear(), None), ValueError),
        (Constant(-1.0), ValueError),
        (Linear() + Constant(math.nan), ValueError),
        (Power(Linear(), 0.5), ValueError),
        (Gaussian(-1.0) + Linear(), ValueError),
        (2 * (Linear() * Gaussian(0.0)), ValueError),
        (Sum(Linear(), 2), TypeError),
        (Product("k", Linear()), TypeError),
        (Normalized(None), TypeError),
    ],
    ids=repr,
)
def test_parts_are_checked_at_the_call(kernel, error):
    # scikit-learn sets parameters after construction, so construction can't be the place.
    with pytest.raises(error, match="must be"):
        kernel(X)


@pytest.mark.parametrize("p", [0.5, 1.7])
@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1.0),
        Laplacian(1.0),
        Laplacian(1.0, "l1"),
        RationalQuadratic(0.7, 1.0),
        Periodic(2.0, 1.0),
        2 * Gaussian(1.0) * Laplacian(2.0),
        (Linear() + 1).exp(),
        Gaussian(1.0).on([0]) ** 2,
    ],
    ids=repr,
)
def test_infinitely_divisible_kernels_have_real_powers(kernel, p):
    A = np.random.default_rng(2).standard_normal((30, 3))
    K = (kernel**p)(A)
    np.testing.assert_allclose(K, kernel(A) ** p, rtol=1e-12)
    assert np.linalg.eigvalsh(K).min() > -1e-12 * np.abs(K).max()


def test_infinite_divisibility_is_not_claimed_too_often():
    # √(x·z)² = |x·z|, for one, is not positive semidefinite.
    assert not Linear().infinitely_divisible
    assert not Polynomial(2, 0.0).infinitely_divisible
    assert not (Gaussian(1.0) + Gaussian(2.0)).infinitely_divisible


@pytest.mark.parametrize(
    "kernel", [Linear(), Polynomial(3, 0.5), Gaussian(1.0) + Linear(), ArcCosine(2)], ids=repr
)
def test_normalised(kernel):
    K = kernel(X)
    size = np.sqrt(np.diag(K))
    np.testing.assert_allclose(kernel.normalize()(X), K / size[:, None] / size, rtol=1e-12)
    np.testing.assert_allclose(kernel.normalize()(X, X[:2]), (K / size[:, None] / size)[:, :2], rtol=1e-12)
    assert (kernel.normalize().diag(X) == 1).all()


def test_normalised_is_zero_where_the_kernel_vanishes():
    A = np.array([[0.0, 0.0], [3.0, 4.0]])
    k = Linear().normalize()
    np.testing.assert_allclose(k(A), [[0, 0], [0, 1]])
    np.testing.assert_array_equal(k.diag(A), [0, 1])


@pytest.mark.parametrize(
    "points", [[[1], [2]], np.array([[1.0], [2.0]]), ["a", "b"], sp.eye(2).tocsr()], ids=type
)
def test_a_constant_looks_at_nothing(points):
    for kernel, value in (
        (Constant(0.5), 0.5),
        (2 * Constant(0.5) ** 2, 0.5),
        (Constant(0.5).exp(), math.exp(0.5)),
    ):
        np.testing.assert_allclose(kernel(points), np.full((2, 2), value))
        np.testing.assert_allclose(kernel.diag(points), [value, value])
        assert kernel(points).dtype == np.float64


def test_sparse_expressions():
    A = sp.random(12, 20, density=0.3, format="csr", random_state=0)
    k = (Gaussian(1.0) * Linear() + 1) ** 2
    dense = A.toarray()
    squared = ((dense[:, None] - dense[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(k(A), (np.exp(-squared / 2) * (dense @ dense.T) + 1) ** 2, rtol=1e-10)
    with pytest.raises(TypeError, match="Periodic does not take sparse"):
        (Linear() + Periodic())(A)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numpy_constants_do_not_widen_float32(dtype):
    c = np.float64(1.5)
    A = X.astype(dtype)
    for k in (c * Gaussian(c), Scale(Linear(), c), Gaussian(c) ** c, Linear() ** np.int64(2), Linear() + c):
        results = [k(A), k.diag(A), k.gradient_x(A, A), *k.gradient_log_params(A, A).values()]
        assert [r.dtype for r in results] == [dtype] * len(results)


def test_resolving_reaches_every_part():
    k = 2 * Gaussian() + (Laplacian(norm="l1") * Matern()).exp()
    assert k.unresolved() == [
        "left__kernel__sigma",
        "right__kernel__left__sigma",
        "right__kernel__right__sigma",
    ]
    done = k.resolve(X)
    assert done.unresolved() == []
    assert done.left.kernel == Gaussian().resolve(X)
    assert done.right.kernel.left == Laplacian(norm="l1").resolve(X)
    assert k.left.kernel.sigma is None
    with pytest.raises(ValueError, match="left__kernel__sigma"):
        k(X)


def test_binding_a_nested_expression():
    k, points = (Gaussian() * Linear() + 2 * Linear()).bind(X.tolist())
    np.testing.assert_array_equal(points, X)
    assert k.left.left == Gaussian().resolve(X)


@pytest.mark.parametrize(
    "kernel",
    [
        3 * Gaussian(1.5),
        Gaussian(1.0) + 2 * Laplacian(2.0),
        Gaussian(1.0) * Matern(1.5, 2.0),
        Gaussian(2.0) ** 3,
        (4 * Gaussian(1.0)).normalize(),
        Gaussian(1.0) + 2,
        (2 * Gaussian(1.0)).exp(),
    ],
    ids=repr,
)
def test_frequencies_of_expressions(kernel):
    w = kernel.frequencies(np.random.default_rng(0), 100_000, 3)
    for delta in X[:4]:
        expected = kernel.amplitude() * np.cos(w @ delta).mean()
        assert kernel([delta], [[0.0, 0.0, 0.0]])[0, 0] == pytest.approx(
            expected, abs=0.012 * kernel.amplitude()
        )


def test_no_frequencies_where_there_are_none():
    for k in (Gaussian(1.0) + Linear(), Linear().exp(), Matern(1.5, 1.0) ** 0.5):
        with pytest.raises(NotImplementedError, match="translation-invariant|no spectral density"):
            k.frequencies(np.random.default_rng(0), 3, 2)


@pytest.mark.parametrize(
    "kernel",
    [
        Linear() + 2,
        Linear() * Linear(),
        3 * Polynomial(2, 0.5),
        (Linear() + 1) ** 3,
        Linear() ** 2 * Polynomial(2, 1.0) + 0.5,
        Linear() + Constant(0),
    ],
    ids=repr,
)
def test_expansion_of_expressions(kernel):
    x, z = X[0], Z[0]
    total = sum(w * math.prod(x[k] * z[k] for k in a) for a, w in kernel.expansion(3).items())
    assert total == pytest.approx(kernel([x], [z])[0, 0])
    assert len(kernel.expansion(3)) <= kernel.expansion_size(3)


def test_expressions_without_expansion():
    for k in (
        Gaussian(1.0) + Linear(),
        Linear() * Gaussian(1.0),
        Linear().exp(),
        Linear().normalize(),
        Gaussian(1.0) ** 2,
    ):
        assert k.expansion(3) is None
        assert k.expansion_size(3) == math.inf


def test_slope_of_a_real_power_where_the_kernel_underflows():
    slope = (Gaussian(0.01) ** 0.5).gradient_x(np.array([[0.0], [1e-3]]), np.array([[9.0], [0.0]]))
    assert np.isfinite(slope).all()
    assert slope[0, 0] == 0
    assert slope[1, 1] == pytest.approx(
        (Gaussian(0.01 * math.sqrt(2))).gradient_x(np.array([[1e-3]]), np.zeros((1, 1)))[0, 0]
    )


def test_slopes_are_missing_where_a_part_has_none():
    k = Gaussian(1.0) * FunctionKernel(np.dot)
    for call in (k.gradient_x, k.gradient_log_params):
        with pytest.raises(NotImplementedError, match="FunctionKernel has no derivative"):
            call(X, X)


def test_no_rule_without_rules_for_the_parts():
    for k in (
        Sigmoid() + Linear(),
        2 * Sigmoid(),
        Linear() * Sigmoid(),
        Sigmoid() ** 2,
        Sigmoid().exp(),
        Sigmoid().normalize(),
    ):
        assert k.rule() is None


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_normalised_at_the_ends_of_the_floats(size):
    k, plain = (size * Polynomial(2, 1.0)).normalize(), Polynomial(2, 1.0).normalize()
    np.testing.assert_allclose(k(X, Z), plain(X, Z), rtol=1e-12)
    np.testing.assert_allclose(k.gradient_x(X, Z), plain.gradient_x(X, Z), rtol=1e-10)
    expected = plain.gradient_log_params(X, Z)["kernel__c"]
    np.testing.assert_allclose(
        k.gradient_log_params(X, Z)["kernel__kernel__c"], expected, rtol=1e-10, atol=1e-15
    )


@pytest.mark.parametrize("p", [0.5, 1.7, 3])
@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1.3),
        Laplacian(0.8),
        Laplacian(0.8, norm="l1"),
        RationalQuadratic(0.7, 1.2),
        Periodic(1.5, 0.9),
        Matern(0.5, 1.1),
        ChiSquared(0.4),
        Constant(2.5),
        White(),
        0.3 * Gaussian(1.0),
        Gaussian(1.0).scaled([1.0, 2.0, 3.0]).on([2, 1, 0]) * Laplacian(2.0),
        (Gaussian(1.0) ** 0.5).normalize(),
        (0.2 * Linear()).exp(),
    ],
    ids=repr,
)
def test_kernels_know_their_powers(kernel, p):
    A, B = np.abs(X), np.abs(Z)
    B[0] = A[0]
    raised = kernel.raised(p)
    assert not any(isinstance(part, Power) for part in (raised, *raised.children().values()))
    np.testing.assert_allclose(raised(A, B), kernel(A, B) ** p, rtol=1e-12)
    np.testing.assert_allclose((kernel**p)(A, B), kernel(A, B) ** p, rtol=1e-12)
    assert Matern(1.5, 1.0).raised(p) is None and (2 * Linear()).raised(p) is None


@pytest.mark.parametrize("p", [0.05, 0.5, 2.3])
@pytest.mark.parametrize(
    "kernel",
    [SkewedChiSquared(0.5), White(), Constant(2.0) * Matern(1.0, 1.0), Periodic(2.0, 0.7).exp()],
    ids=repr,
)
def test_fractional_powers_are_positive_semidefinite(kernel, p):
    P = np.random.default_rng(3).uniform(0, 3, (60, 2))
    P[:10] = P[10:20]
    K = (kernel**p)(P)
    np.testing.assert_allclose(K, kernel(P) ** p, rtol=1e-12)
    assert np.linalg.eigvalsh(K).min() > -1e-12 * K.max()


def test_fractional_powers_elsewhere_are_none():
    """What is refused is refused rightly: these roots are not positive semidefinite."""
    points = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    for kernel in (HistogramIntersection(), AdditiveChiSquared(), Linear() + Gaussian(10.0).on([0]) * 1e-9):
        with pytest.raises(ValueError, match="is not infinitely divisible"):
            kernel**0.5
        assert np.linalg.eigvalsh(kernel(points) ** 0.3).min() < -1e-3
