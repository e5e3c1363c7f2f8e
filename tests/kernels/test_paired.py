"""k(x_i, z_i), pair by pair, is the diagonal of the matrix."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from kernel_examples import CLASSES, EXAMPLES
from mercer.kernels import ArcCosine, Cosine, FunctionKernel, Gaussian, Kernel, Linear, Polynomial
from mercer.kernels.separation import paired


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_the_diagonal_of_the_matrix(cls):
    X, Z = np.random.default_rng(0).random((2, 40, 3))
    Z[:5], X[7] = X[:5], 0
    for kernel in EXAMPLES.get(cls, lambda d: [])(3):
        points = (X, Z) if kernel.vectors or isinstance(kernel, FunctionKernel) else None
        if points is not None:
            kernel = kernel.resolve(X)
            expected = np.diagonal(kernel.pairwise(*points))
            np.testing.assert_allclose(paired(kernel, *points), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "kernel", [Gaussian(1.0) * Linear(), Polynomial(2), Cosine(), ArcCosine(1)], ids=repr
)
def test_sparse(kernel):
    X, Z = np.random.default_rng(0).random((2, 20, 6)).round() * 0.7
    found = paired(kernel, csr_array(X), csr_array(Z))
    np.testing.assert_allclose(found, paired(kernel, X, Z), rtol=1e-12)


def test_a_kernel_without_a_formula():
    class Own(Kernel):
        def pairwise(self, X, Z):
            return X @ Z.T + 1

    X, Z = np.random.default_rng(0).random((2, 35, 3))
    np.testing.assert_allclose(paired(Own(), X, Z), np.sum(X * Z, axis=1) + 1)
    assert paired(Own(), X[:0], Z[:0]).shape == (0,)
