"""Problems that once gave wrong answers: badly conditioned, badly scaled, far from zero."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning

from mercer import KernelClassifier, KernelLogistic, KernelRidge
from mercer.kernels import FunctionKernel, Gaussian, Polynomial
from mercer.losses import SquaredHinge
from mercer.representations import Nystrom


def gaussian(X, sigma):
    return np.exp(-cdist(X, X, "sqeuclidean") / (2 * sigma**2))


@pytest.mark.parametrize("lam", [1e-5, 1e-9])
def test_exact_ridge_beyond_the_stored_float32_matrix(lam):
    """At λ = 1e-9 neither float32 conjugate gradients nor a float32 factor can do it."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (3100, 2))
    y = np.sin(3 * X[:, 0]) * X[:, 1] + 0.01 * rng.standard_normal(3100)
    machine = KernelRidge(Gaussian(0.7), lam=lam, offset=False).fit(X, y)
    K = gaussian(X, 0.7)
    expected = K @ np.linalg.solve(K + lam * 3100 * np.eye(3100), y)
    assert machine.solution_.converged
    assert np.abs(machine.predict(X) - expected).max() < 1e-6


@pytest.mark.parametrize("n", [500, 3200])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_offset_takes_the_mean(n, dtype):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, 4)).astype(dtype)
    y = np.sin(X[:, 0])
    low = KernelRidge(Gaussian(2.0), offset=True, representation="full").fit(X, y)
    high = KernelRidge(Gaussian(2.0), offset=True, representation="full").fit(X, (y + 1000).astype(dtype))
    assert high.solution_.converged
    # 1000 has a spacing of 6e-5 in float32.
    assert np.abs(high.predict(X) - 1000 - low.predict(X)).max() < (2e-4 if dtype == np.float32 else 1e-6)


def test_a_constant_target_is_its_own_offset():
    X = np.random.default_rng(2).standard_normal((50, 3))
    machine = KernelRidge(offset=True).fit(X, np.full(50, 7.0))
    assert machine.solution_.converged
    assert machine.intercept_ == pytest.approx(7)
    assert np.allclose(machine.predict(X), 7)


def test_centres_of_very_different_size():
    """k(z,z) spans eight decades: small ones are not superfluous."""
    X, y = load_breast_cancer(return_X_y=True)
    lam, n = 1e-3, len(X)
    # Next to values of 1e13 a good deal of λ‖f‖² is rounding, and no minimum is claimed.
    with pytest.warns(ConvergenceWarning, match="no further progress"):
        machine = KernelRidge(Polynomial(2), lam=lam, representation=Nystrom(n_centres=n), offset=False).fit(
            X, y
        )
    K = (X @ X.T + 1) ** 2
    f = K @ np.linalg.solve(K + lam * n * np.eye(n), y)
    best = np.mean((y - f) ** 2) + lam * (y - f) @ f / (lam * n)
    assert machine.solution_.certificate.objective < 1.05 * best


@pytest.mark.parametrize("lam", [1e-8, 1e-9])
def test_logistic_in_float32_with_a_tiny_penalty(lam):
    X, y = load_breast_cancer(return_X_y=True)
    X = X.astype(np.float32)
    machine = KernelLogistic(lam=lam, offset=False).fit(X, y)
    assert machine.solution_.converged
    assert machine.score(X, y) > 0.97


def test_newton_goes_on_while_the_objective_falls():
    rng = np.random.default_rng(3)
    X = np.vstack([rng.standard_normal((100, 2)) - 3, rng.standard_normal((100, 2)) + 3])
    y = np.repeat([0, 1], 100)
    machine = KernelClassifier(Gaussian(1.0), loss=SquaredHinge(), lam=1e-7, offset=False).fit(X, y)
    assert machine.solution_.converged


def test_a_python_function_is_evaluated_once_a_pair():
    calls = 0

    def k(A, B):
        nonlocal calls
        calls += len(A) * len(B)
        return np.exp(-cdist(A, B, "sqeuclidean") / 2)

    rng = np.random.default_rng(4)
    X = rng.standard_normal((3100, 3))
    KernelRidge(FunctionKernel(k, vectorized=True), lam=1e-4, offset=False).fit(X, X[:, 0])
    # Half the pairs for the symmetric matrix, whole tiles on the diagonal, k(x,x) once or twice.
    assert calls < 0.8 * 3100**2
