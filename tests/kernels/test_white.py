"""White noise, against scikit-learn's and against noise that is said by λ."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp

from mercer import KernelRidge
from mercer.engines import Tiled
from mercer.features import RandomFourierFeatures
from mercer.functions import KernelFunction
from mercer.kernels import Gaussian, Linear, White, check

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 3))
NEW = RNG.standard_normal((12, 3))
y = np.sin(2 * X[:, 0]) + 0.3 * RNG.standard_normal(30)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equality_is_exact(dtype):
    A = np.array([[0.0, 1.0], [0.0, np.nextafter(1.0, 2.0)], [-0.0, 1.0], [1.0, 0.0], [1e-40, 1.0]])
    A = A.astype(dtype)
    expected = [[float((a == b).all()) for b in A] for a in A]
    np.testing.assert_array_equal(White()(A), expected)
    assert White()(A).dtype == dtype
    np.testing.assert_array_equal(White()(A, A[::-1].copy()), np.array(expected)[:, ::-1])
    np.testing.assert_array_equal(White()(sp.csr_array(A)), expected)
    np.testing.assert_array_equal(White()(sp.csr_array(A), A[:2]), np.array(expected)[:, :2])
    fine = A[:4]  # in compiled loops numbers less than 2⁻⁶⁴ apart are neither equal nor not
    np.testing.assert_array_equal(
        Tiled(fused=True).operator(White(), fine).dense(), np.array(expected)[:4, :4]
    )
    np.testing.assert_array_equal(White().distance(A[:2], A[:3]), np.sqrt(2 - 2 * np.array(expected)[:2, :3]))


def test_an_explicit_zero_is_a_zero():
    S = sp.csr_array(([0.0, 2.0, 2.0], ([0, 0, 1], [0, 1, 1])), shape=(2, 3))
    np.testing.assert_array_equal(White()(S), np.ones((2, 2)))


def test_scikit_learn_agrees_on_different_rows():
    theirs = gp.RBF(1.2) + gp.WhiteKernel(0.3)
    ours = Gaussian(1.2) + 0.3 * White()
    np.testing.assert_allclose(ours(X), theirs(X), rtol=1e-12)
    np.testing.assert_allclose(ours(X, NEW), theirs(X, NEW), rtol=1e-12)
    # But not where a row is repeated: there it is the same point here, and another row there.
    assert White()(X[[0, 0]])[0, 1] == 1 and gp.WhiteKernel(1.0)(X[[0, 0]])[0, 1] == 0
    assert White()(X, X[:1])[0, 0] == 1 and gp.WhiteKernel(1.0)(X, X[:1])[0, 0] == 0


def test_the_posterior_is_scikit_learns():
    theirs = GaussianProcessRegressor(gp.RBF(1.2) + gp.WhiteKernel(0.3), alpha=0.05, optimizer=None).fit(X, y)
    ours = KernelRidge.from_alpha(0.05, kernel=Gaussian(1.2) + 0.3 * White(), offset=False).fit(X, y)
    mean, deviation = theirs.predict(NEW, return_std=True)
    np.testing.assert_allclose(ours.predict(NEW), mean, atol=1e-10)
    np.testing.assert_allclose(ours.predict(NEW, return_std=True, scale=1.0)[1], deviation, atol=1e-8)


def test_on_new_points_it_is_noise():
    nugget = KernelRidge(Gaussian(1.0) + 0.3 * White(), lam=0.01, offset=False).fit(X, y)
    noise = KernelRidge(Gaussian(1.0), lam=0.01 + 0.3 / 30, offset=False).fit(X, y)
    np.testing.assert_allclose(nugget.predict(NEW), noise.predict(NEW), atol=1e-10)
    # At the examples it follows their values.
    assert np.abs(nugget.predict(X) - y).mean() < 0.7 * np.abs(noise.predict(X) - y).mean()


def test_its_slope_is_that_of_its_factor():
    kernel = Gaussian(1.0) + 0.3 * White()
    slopes = kernel.gradient_log_params(X, X)
    np.testing.assert_array_equal(slopes["right__factor"], 0.3 * np.eye(30))
    W = RNG.standard_normal((30, 30))
    assert kernel.vjp_log_params(X, W)["right__factor"] == pytest.approx(0.3 * np.trace(W))
    assert (White().gradient_x(X, NEW) == 0).all() and White().gradient_x(X, NEW).shape == (30, 12, 3)


def test_what_is_known_of_it():
    assert check(White()).by == "rule" and "identity" in White().strictly()
    assert (White() ** 0.5)(X).tolist() == White()(X).tolist()
    f = KernelFunction(2 * White(), X, y)
    assert f.squared_norm() == pytest.approx(2 * y @ y)
    with pytest.raises(ValueError, match="no random Fourier features.*all frequencies are alike"):
        RandomFourierFeatures(Gaussian(1.0) + White()).fit(X)
    assert (Linear() * White())(X[:2]).tolist() == np.diag((X[:2] ** 2).sum(axis=1)).tolist()
