"""Coordinates that nodes share: the space of the centres, orthogonal, with its norm."""

import numpy as np
import pytest

from mercer.engines import Tiled
from mercer.functions import KernelFunction
from mercer.kernels import FunctionKernel, Gaussian
from mercer.network.coordinates import SharedCoordinates

rng = np.random.default_rng(0)
Z = rng.uniform(0, 1, (12, 2))
X = rng.uniform(0, 1, (30, 2))


@pytest.mark.parametrize("offset", [True, False])
def test_values_and_norms_are_those_of_the_function(offset):
    kernel = Gaussian(0.4)
    shared = SharedCoordinates(kernel, Z, Tiled(), offset)
    theta = rng.standard_normal((len(shared), 2))
    coef, b = shared.coefficients(theta)
    f = KernelFunction(kernel, Z, coef)
    assert np.allclose(shared(X) @ theta, f(X) + b, atol=1e-9)
    assert np.sum(shared.penalty[:, None] * theta**2) == pytest.approx(f.squared_norm(), rel=1e-6)
    if offset:
        assert np.allclose(shared(Z)[:, :-1].mean(axis=0), 0, atol=1e-10) and (shared(X)[:, -1] == 1).all()


def test_over_the_centres_directions_look_alike_up_to_the_floor():
    shared = SharedCoordinates(Gaussian(0.1), Z, Tiled(), False)
    psi = shared(Z)
    M = psi.T @ psi / len(Z)
    assert np.allclose(M, np.diag(np.diag(M)), atol=1e-10) and np.diag(M).max() <= 1
    # Eigenvalue over eigenvalue plus a tenth of k(z,z) = 1.
    values = np.linalg.eigvalsh(Gaussian(0.1)(Z)) / len(Z)
    assert np.allclose(np.sort(np.diag(M)), values / (values + 0.1))


def test_equal_centres_are_one():
    shared = SharedCoordinates(Gaussian(0.4), np.concatenate([Z[:5], Z[:3]]), Tiled(), True)
    assert len(shared) == 6
    with pytest.raises(ValueError, match="NaN or infinity"):
        kernel = FunctionKernel(lambda x, z: np.inf * (x @ z))
        SharedCoordinates(kernel, np.ones((2, 1)), Tiled(), True)
