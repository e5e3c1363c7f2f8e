"""Kernels of histograms, against scikit-learn and explicit loops."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import additive_chi2_kernel, chi2_kernel

from mercer.kernels import ChiSquared, HistogramIntersection


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


@pytest.mark.parametrize("kernel", [ChiSquared(), HistogramIntersection()], ids=repr)
def test_negative_entries_are_refused(kernel):
    good, bad = [[0.5, 0.5]], [[1.5, -0.5]]
    for call in (lambda: kernel(bad), lambda: kernel(good, bad), lambda: kernel.diag(bad)):
        with pytest.raises(ValueError, match="nonnegative, found -0.5"):
            call()


@pytest.mark.parametrize("kernel", [ChiSquared(), HistogramIntersection()], ids=repr)
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
