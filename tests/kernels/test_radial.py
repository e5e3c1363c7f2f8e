"""Kernels of the distance, against scikit-learn, SciPy and closed forms."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist, pdist
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from mercer.kernels import Gaussian, Laplacian, Matern, Radial, RationalQuadratic
from mercer.testing import check_kernel

# Each with an independent evaluation. Five dimensions and more take the route through matrix products.
REFERENCES = {
    Gaussian(1.3): lambda X, Z: rbf_kernel(X, Z, gamma=1 / (2 * 1.3**2)),
    Laplacian(0.7): lambda X, Z: np.exp(-cdist(X, Z) / 0.7),
    Laplacian(0.7, norm="l1"): lambda X, Z: laplacian_kernel(X, Z, gamma=1 / 0.7),
    Matern(0.5, 1.2): lambda X, Z: gp.Matern(1.2, nu=0.5)(X, Z),
    Matern(1.5, 1.2): lambda X, Z: gp.Matern(1.2, nu=1.5)(X, Z),
    Matern(2.5, 1.2): lambda X, Z: gp.Matern(1.2, nu=2.5)(X, Z),
    Matern(1.0, 1.2): lambda X, Z: gp.Matern(1.2, nu=1.0)(X, Z),
    RationalQuadratic(0.6, 1.4): lambda X, Z: gp.RationalQuadratic(1.4, alpha=0.6)(X, Z),
}
EUCLIDEAN = [k for k in REFERENCES if getattr(k, "norm", "l2") == "l2"]
every = pytest.mark.parametrize("kernel", REFERENCES, ids=repr)


def points(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


@every
@pytest.mark.parametrize("d", [1, 2, 4, 5, 20])
def test_agrees_with_the_reference(kernel, d):
    X, Z = points(60, d), points(25, d, seed=1)
    np.testing.assert_allclose(kernel(X), REFERENCES[kernel](X, X), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(kernel(X, Z), REFERENCES[kernel](X, Z), rtol=1e-10, atol=1e-14)


@every
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [3, 5, 40])
def test_diagonal_is_exactly_one(kernel, dtype, d):
    X = (1e4 + points(50, d)).astype(dtype)
    assert (np.diag(kernel(X)) == 1).all()
    assert (np.diag(kernel(X, X.copy())) == 1).all()
    assert (kernel.diag(X) == 1).all()
    assert kernel.diag(X).dtype == dtype


@every
@pytest.mark.parametrize("d", [3, 8, 50])
def test_far_from_the_origin_in_single_precision(kernel, d):
    # The truth for these very float32 numbers, in float64.
    X = (1e4 + points(60, d) / math.sqrt(d)).astype(np.float32)
    Z = X[:20] + np.float32(0.25)
    truth = REFERENCES[kernel](X.astype(float), Z.astype(float))
    K = kernel(X, Z)
    assert K.dtype == np.float32
    np.testing.assert_allclose(K, truth, rtol=2e-5)


@every
@pytest.mark.parametrize("d", [2, 30])
def test_near_duplicates_in_single_precision(kernel, d):
    # Twenty pairs 1e-4 apart among points of size 100: ‖x‖²+‖z‖²−2x·z alone would leave noise.
    X = (100 * points(80, d)).astype(np.float32)
    X[20:40] = X[:20] + np.float32(1e-3)
    truth = REFERENCES[kernel](X.astype(float), X.astype(float))
    near = (np.arange(20), np.arange(20, 40))
    np.testing.assert_allclose(1 - kernel(X)[near], 1 - truth[near], rtol=2e-2, atol=3e-7)


@every
def test_gram_matrix_is_symmetric(kernel):
    K = kernel(points(200, 9))
    assert np.abs(K - K.T).max() <= 1e-15


@pytest.mark.parametrize("kernel", EUCLIDEAN, ids=repr)
@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csr_array, sp.coo_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_equals_dense(kernel, make, dtype):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((40, 30)) < 0.2, rng.standard_normal((40, 30)), 0).astype(dtype)
    X[1] = X[0]  # a duplicate has distance zero, not rounding
    K = kernel(make(X))
    assert K.dtype == dtype
    assert K[0, 1] == 1
    tolerance = 1e-6 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(K, REFERENCES[kernel](X.astype(float), X.astype(float)), rtol=tolerance)
    for mixed in (kernel(make(X), X), kernel(X, make(X))):
        np.testing.assert_allclose(mixed, K, rtol=tolerance)
    np.testing.assert_allclose(kernel.diag(make(X)), np.ones(40))


@pytest.mark.parametrize("density", [0.05, 0.4])
def test_long_sparse_rows_keep_a_unit_diagonal(density):
    X = sp.random(30, 5000, density=density, format="csr", random_state=0, dtype=np.float32)
    assert (np.diag(Laplacian(1.0)(X)) == 1).all()
    assert (np.diag(Laplacian(1.0)(X, X.copy())) == 1).all()


def test_sparse_is_refused_for_the_l1_norm():
    with pytest.raises(TypeError, match="toarray"):
        Laplacian(1.0, norm="l1")(sp.eye(3).tocsr())


def test_known_values():
    assert Gaussian(2.0)([[0.0]], [[4.0]])[0, 0] == pytest.approx(math.exp(-2))
    assert Laplacian(5.0)([[0.0, 0.0]], [[3.0, 4.0]])[0, 0] == pytest.approx(math.exp(-1))
    assert Laplacian(7.0, "l1")([[0.0, 0.0]], [[3.0, 4.0]])[0, 0] == pytest.approx(math.exp(-1))
    assert RationalQuadratic(2.0, 1.0)([[0.0]], [[2.0]])[0, 0] == pytest.approx(1 / 4)


@pytest.mark.parametrize("bad", [0, -1.0, math.nan, math.inf, "wide", True, [1.0]])
@pytest.mark.parametrize(
    "make", [Gaussian, Laplacian, lambda v: Matern(1.5, v), lambda v: RationalQuadratic(1.0, v)]
)
def test_widths_must_be_positive_numbers(make, bad):
    with pytest.raises(ValueError, match="must be a positive number"):
        make(bad)([[0.0]])


def test_other_parameters_are_checked():
    for nu in (0, -1.5, math.inf, math.nan, "smooth", None):
        with pytest.raises(ValueError, match="nu must be a positive number.*Gaussian"):
            Matern(nu, sigma=1.0)([[0.0]])
    with pytest.raises(ValueError, match="'l2' or 'l1'"):
        Laplacian(1.0, norm="max")([[0.0]])
    for alpha in (0, -1.0, None):
        with pytest.raises(ValueError, match="alpha must be a positive number"):
            RationalQuadratic(alpha, 1.0)([[0.0]])


@pytest.mark.parametrize("kernel", [Gaussian(), Laplacian(), Matern(), RationalQuadratic()], ids=repr)
def test_an_unresolved_kernel_says_what_to_do(kernel):
    with pytest.raises(ValueError, match=r"leaves (sigma|scale) to the data.*resolve\(X\)"):
        kernel([[0.0]])
    with pytest.raises(ValueError, match="to the data"):
        kernel.diag([[0.0]])


@pytest.mark.parametrize("d", [1, 3, 7])
def test_median_heuristic(d):
    X = points(41, d)
    euclidean, cityblock = np.median(pdist(X)), np.median(pdist(X, "cityblock"))
    assert Gaussian().resolve(X).sigma == pytest.approx(euclidean)
    assert Laplacian().resolve(X).sigma == pytest.approx(euclidean)
    assert Laplacian(norm="l1").resolve(X).sigma == pytest.approx(cityblock)
    assert Matern().resolve(X).sigma == pytest.approx(euclidean)
    assert RationalQuadratic(3.0).resolve(X) == RationalQuadratic(3.0, Gaussian().resolve(X).sigma)


def test_resolving_leaves_the_kernel_as_it_was():
    kernel = Gaussian()
    assert kernel.resolve([[0.0], [2.0]]).sigma == 2.0
    assert kernel.sigma is None
    assert kernel == Gaussian()


@every
@pytest.mark.parametrize("d", [1, 3])
def test_frequencies_average_to_the_kernel(kernel, d):
    # Bochner: k(δ) = E cos(ω·δ). The mean of 10⁵ cosines is off by 0.004 at most once in 10⁴ times.
    w = kernel.frequencies(np.random.default_rng(0), 100_000, d)
    assert w.shape == (100_000, d)
    for delta in 1.5 * points(5, d, seed=3):
        truth = REFERENCES[kernel](delta[None, :], np.zeros((1, d)))[0, 0]
        assert np.cos(w @ delta).mean() == pytest.approx(kernel.amplitude() * truth, abs=0.012)


def test_slope_of_the_gaussian():
    X, Z = points(4, 3), points(5, 3, seed=1)
    K = rbf_kernel(X, Z, gamma=1 / (2 * 1.3**2))
    expected = -(X[:, None] - Z[None]) / 1.3**2 * K[:, :, None]
    np.testing.assert_allclose(Gaussian(1.3).gradient_x(X, Z), expected, rtol=1e-12)
    squared = cdist(X, Z, "sqeuclidean")
    np.testing.assert_allclose(
        Gaussian(1.3).gradient_log_params(X, Z)["sigma"], K * squared / 1.3**2, rtol=1e-10
    )


@every
def test_slope_at_coincident_points_is_zero(kernel):
    # Smooth or not, the kernel is symmetric about x = z; and nothing may divide by zero.
    X = points(3, 2)
    slope = kernel.gradient_x(X, X)
    assert (slope[np.arange(3), np.arange(3)] == 0).all()
    assert np.isfinite(slope).all()


@pytest.mark.parametrize("value", [np.float64(1.3), np.float32(1.3), np.int64(1)])
def test_a_numpy_parameter_does_not_widen_float32(value):
    X = points(6, 3).astype(np.float32)
    for kernel in (Gaussian(value), Laplacian(value), Matern(1.5, value), RationalQuadratic(value, value)):
        results = [
            kernel(X),
            kernel.diag(X),
            kernel.gradient_x(X, X),
            *kernel.gradient_log_params(X, X).values(),
        ]
        assert [r.dtype for r in results] == [np.float32] * len(results)


class Wendland(Radial):
    """(1−r)₊⁴(4r+1): compactly supported, a kernel in up to three dimensions."""

    positive = log_params = ("scale",)

    def __init__(self, scale=None):
        self.scale = scale

    def profile(self, r2, xp):
        r = xp.sqrt(r2) * (1 / self.scale)
        inside = xp.clip(r * -1.0 + 1.0, 0.0, 1.0)
        return inside**4 * (r * 4.0 + 1.0)


def test_a_profile_is_all_a_new_radial_kernel_needs():
    X = points(20, 3)
    r = np.minimum(cdist(X, X) / 3.0, 1)
    np.testing.assert_allclose(Wendland(3.0)(X), (1 - r) ** 4 * (4 * r + 1), rtol=1e-10, atol=1e-12)
    assert Wendland().resolve(X).scale == pytest.approx(np.median(pdist(X)))
    check_kernel(Wendland(3.0), X)


class Bump(Radial):
    def profile(self, r2, xp):
        return xp.maximum(1 - r2, 0)


def test_a_profile_without_derivative_rule_has_no_slope():
    assert Bump()([[0.0]], [[0.5]])[0, 0] == 0.75
    with pytest.raises(NotImplementedError, match="maximum"):
        Bump().gradient_x(np.zeros((1, 1)), np.ones((1, 1)))
