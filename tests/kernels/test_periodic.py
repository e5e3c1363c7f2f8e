"""The periodic kernel, against scikit-learn and as a Gaussian kernel on a circle."""

import math

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import ExpSineSquared
from sklearn.metrics.pairwise import rbf_kernel

from mercer.kernels import Periodic


def points(n, d, seed=0):
    return 3 * np.random.default_rng(seed).standard_normal((n, d))


def test_agrees_with_scikit_learn_in_one_dimension():
    X, Z = points(20, 1), points(9, 1, seed=1)
    expected = ExpSineSquared(length_scale=0.8, periodicity=1.7)(X, Z)
    np.testing.assert_allclose(Periodic(period=1.7, sigma=0.8)(X, Z), expected, rtol=1e-11)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_is_a_gaussian_on_circles(d):
    X, Z = points(12, d), points(7, d, seed=1)

    def circle(A):
        angle = 2 * math.pi * A / 1.7
        return np.hstack([np.cos(angle), np.sin(angle)])

    expected = rbf_kernel(circle(X), circle(Z), gamma=1 / (2 * 0.8**2))
    np.testing.assert_allclose(Periodic(1.7, 0.8)(X, Z), expected, rtol=1e-10)


def test_repeats():
    X = points(6, 2)
    K = Periodic(2.5, 1.0)(X)
    np.testing.assert_allclose(Periodic(2.5, 1.0)(X, X + [2.5, -7.5]), K, rtol=1e-10)
    assert np.abs(Periodic(2.5, 1.0)(X, X + 1.25) - K).max() > 0.1


def test_known_value():
    # Half a period apart in both coordinates: Σ sin² = 2.
    assert Periodic(2.0, 2.0)([[0.0, 0.0]], [[1.0, 3.0]])[0, 0] == pytest.approx(math.exp(-1))
    assert (Periodic(2.0, 2.0).diag([[0.3, 5.0]]) == 1).all()


@pytest.mark.parametrize("bad", [0, -1.0, None, math.nan, "year"])
def test_parameters_must_be_positive_numbers(bad):
    for kernel in (Periodic(bad, 1.0), Periodic(1.0, bad)):
        with pytest.raises(ValueError, match="positive number"):
            kernel([[0.0]])


def test_a_numpy_period_does_not_widen_float32():
    X = points(5, 2).astype(np.float32)
    kernel = Periodic(np.float64(1.7), np.float64(0.8))
    results = [kernel(X), kernel.diag(X), kernel.gradient_x(X, X), *kernel.gradient_log_params(X, X).values()]
    assert [r.dtype for r in results] == [np.float32] * 5
