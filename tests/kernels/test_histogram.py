"""Kernels of histograms, against scikit-learn and explicit loops."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import additive_chi2_kernel, chi2_kernel

from mercer.engines import Tiled
from mercer.kernels import AdditiveChiSquared, ChiSquared, HistogramIntersection, SkewedChiSquared, check
from mercer.testing import check_kernel


def histograms(n, d, seed=0):
    rng = np.random.default_rng(seed)
    H = rng.random((n, d)) * (rng.random((n, d)) < 0.7)  # some empty bins, which give 0/0
    return H / np.maximum(H.sum(axis=1, keepdims=True), 0.1)


@pytest.mark.parametrize("d", [1, 2, 5, 12])
def test_chi_squared_agrees_with_scikit_learn(d):
    X, Z = histograms(15, d), histograms(8, d, seed=1)
    np.testing.assert_allclose(ChiSquared(0.7)(X, Z), chi2_kernel(X, Z, gamma=0.7), rtol=1e-12)
    np.testing.assert_allclose(ChiSquared(0.7)(X, Z), np.exp(0.7 * additive_chi2_kernel(X, Z)), rtol=1e-12)
    assert (ChiSquared(0.7).diag(X) == 1).all()


@pytest.mark.parametrize("d", [1, 2, 5])
def test_intersection_by_loops(d):
    X, Z = histograms(6, d), histograms(4, d, seed=1)
    expected = [[sum(min(a, b) for a, b in zip(x, z, strict=True)) for z in Z] for x in X]
    np.testing.assert_allclose(HistogramIntersection()(X, Z), expected, rtol=1e-13)
    np.testing.assert_allclose(HistogramIntersection().diag(X), X.sum(axis=1), rtol=1e-13)


@pytest.mark.parametrize("kernel", [ChiSquared(), AdditiveChiSquared(), HistogramIntersection()], ids=repr)
def test_negative_entries_are_refused(kernel):
    good, bad = [[0.5, 0.5]], [[1.5, -0.5]]
    for call in (lambda: kernel(bad), lambda: kernel(good, bad), lambda: kernel.diag(bad)):
        with pytest.raises(ValueError, match="nonnegative, found -0.5"):
            call()


@pytest.mark.parametrize(
    "kernel", [ChiSquared(), AdditiveChiSquared(), SkewedChiSquared(), HistogramIntersection()], ids=repr
)
def test_sparse_is_refused(kernel):
    with pytest.raises(TypeError, match="does not take sparse input"):
        kernel(sp.eye(3).tocsr())


@pytest.mark.parametrize("gamma", [0, -1.0, None, np.nan, "wide"])
def test_gamma_must_be_a_positive_number(gamma):
    with pytest.raises(ValueError, match="gamma must be a positive number"):
        ChiSquared(gamma)([[1.0]])


def test_slope_of_the_intersection():
    # 1 where x is the smaller, 0 where it is the larger, and the mean of the two at a tie.
    slope = HistogramIntersection().gradient_x(np.array([[0.1, 0.9, 0.5]]), np.full((1, 3), 0.5))
    np.testing.assert_array_equal(slope, [[[1.0, 0.0, 0.5]]])


def test_slope_of_chi_squared_at_empty_bins_is_finite():
    X = np.array([[0.0, 1.0]])
    assert np.isfinite(ChiSquared().gradient_x(X, X)).all()


@pytest.mark.parametrize("d", [1, 2, 5, 12])
def test_additive_chi_squared_by_scikit_learns_distance(d):
    X, Z = histograms(15, d), histograms(8, d, seed=1)
    halves = 0.5 * (X.sum(axis=1)[:, None] + Z.sum(axis=1)[None])
    expected = halves + 0.5 * additive_chi2_kernel(X, Z)  # theirs is −χ²
    np.testing.assert_allclose(AdditiveChiSquared()(X, Z), expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(AdditiveChiSquared().diag(X), X.sum(axis=1), rtol=1e-14)
    np.testing.assert_allclose(AdditiveChiSquared()(3 * X, 3 * Z), 3 * expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("c", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("d", [1, 3, 7])
def test_skewed_chi_squared_by_its_product(c, d):
    X, Z = 5 * histograms(9, d), 5 * histograms(6, d, seed=1)
    Z[0] = X[0]
    a, b = X[:, None] + c, Z[None] + c
    np.testing.assert_allclose(
        SkewedChiSquared(c)(X, Z), np.prod(2 * np.sqrt(a * b) / (a + b), axis=2), rtol=1e-12
    )
    assert (SkewedChiSquared(c).diag(X) == 1).all() and SkewedChiSquared(c)(X, Z)[0, 0] == 1


def test_skewed_chi_squared_takes_what_is_above_its_skewness():
    assert SkewedChiSquared(2.0)([[-1.5]], [[-1.0]])[0, 0] == pytest.approx(2 * np.sqrt(0.5) / 1.5)
    with pytest.raises(
        ValueError, match=r"SkewedChiSquared\(c=1\): all entries must be larger than −c, found -1"
    ):
        SkewedChiSquared(1.0)([[-1.0]])
    for c in (0, -1.0, None, "a"):
        with pytest.raises(ValueError, match="c must be a positive number"):
            SkewedChiSquared(c)([[1.0]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [AdditiveChiSquared(), SkewedChiSquared(0.2)], ids=repr)
def test_compiled(kernel, dtype):
    X, Z = histograms(40, 6).astype(dtype), histograms(30, 6, seed=1).astype(dtype)
    X[0], Z[1] = 0, 0
    found = Tiled(fused=True).operator(kernel, X, Z).dense()
    truth = kernel(X.astype(float), Z.astype(float))
    np.testing.assert_allclose(found, truth, rtol=1e-5 if dtype == np.float32 else 1e-11, atol=1e-7)


def test_laws_of_large_and_of_tiny_counts():
    rng = np.random.default_rng(0)
    for scale in (1e-12, 1.0, 1e9):
        X = scale * rng.poisson(2.0, (12, 3)).astype(float)
        for kernel in (
            AdditiveChiSquared(),
            SkewedChiSquared(1.0),
            SkewedChiSquared(1.0).scaled([1.0, 2.0, 0.5]),
        ):
            assert check(kernel, X).ok
            assert np.linalg.eigvalsh(kernel(X)).min() > -1e-12 * max(scale, 1.0)
    check_kernel(SkewedChiSquared(0.3), rng.poisson(2.0, (12, 3)).astype(float))
