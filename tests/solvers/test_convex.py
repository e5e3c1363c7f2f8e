"""Nothing is claimed of a problem whose convexity is not known."""

import numpy as np
import pytest

from mercer import KernelLogistic, KernelRidge, KernelSVR
from mercer.kernels import FunctionKernel, Gaussian
from mercer.solvers import convex


def almost(a, b):
    """exp(−‖a−b‖^2.05): no kernel, but few points show it."""
    return float(np.exp(-(np.linalg.norm(a - b) ** 2.05)))


@pytest.fixture(scope="module")
def points():
    X = np.random.default_rng(0).standard_normal((150, 3))
    return X, np.sin(X[:, 0])


@pytest.mark.parametrize("machine", [KernelRidge, KernelLogistic, KernelSVR])
@pytest.mark.filterwarnings("ignore:the kernel matrix is not positive semidefinite")
def test_a_function_that_is_almost_a_kernel(points, machine):
    X, y = points
    K = FunctionKernel(almost)(X)
    assert np.linalg.eigvalsh(K)[0] < -1e-3
    y = y > 0 if machine is KernelLogistic else y
    solution = machine(FunctionKernel(almost), lam=0.01).fit(X, y).solution_
    assert solution.status == "stationary" and solution.certificate.gap is None


def test_a_function_that_is_a_kernel_on_all_points(points, monkeypatch):
    X, y = points
    kernel = FunctionKernel(lambda a, b: float(np.exp(-((a - b) @ (a - b)) / 2)))
    solution = KernelRidge(kernel, lam=0.01).fit(X, y).solution_
    exact = KernelRidge(Gaussian(1.0), lam=0.01).fit(X, y).solution_
    assert solution.converged and solution.certificate.gap <= 1e-10
    assert abs(solution.certificate.objective - exact.certificate.objective) < 1e-10
    # Of more points than are looked at nothing is known.
    monkeypatch.setattr(convex, "_LOOKED_AT", 100)
    solution = KernelRidge(kernel, lam=0.01).fit(X, y).solution_
    assert solution.status == "stationary" and solution.certificate.gap is None
