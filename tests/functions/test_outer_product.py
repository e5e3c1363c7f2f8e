"""Mean outer products of gradients: against central differences, weights of linear functions, products."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.functions import KernelFunction, gradient_outer_product, outer_product
from mercer.kernels import (
    BagOfWords,
    Constant,
    FunctionKernel,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
)

RNG = np.random.default_rng(0)
D = 4
Z, X = RNG.standard_normal((30, D)), RNG.standard_normal((23, D))
COEF = RNG.standard_normal((30, 3))
ROOT = RNG.standard_normal((D, 2))
KERNELS = [
    Gaussian(1.3),
    Laplacian(0.8),
    Matern(0.5, 1.1),
    Matern(1.5, 1.1),
    Matern(2.5, 0.7),
    RationalQuadratic(0.8, 1.2),
    Laplacian(1.5, norm="l1"),
    Linear(),
    Polynomial(3, 0.5),
    Gaussian(1.0).scaled([1.0, 0.5, 2.0, 10.0]),
    Laplacian(1.0).metric(ROOT @ ROOT.T),
    Laplacian(1.0).scaled([2.0, 1.0, 1.0, 0.5]).metric(ROOT @ ROOT.T + np.eye(D)),
    Matern(1.5, 1.0).on([3, 1]),
    0.7 * Matern(1.5, 1.0) + 0.4 * Laplacian(1.0).on([0]) + Constant(2.0),
    (Gaussian(1.0) + Linear()) * Laplacian(2.0) * (0.5 * Gaussian(3.0).scaled([1.0, 2.0, 3.0, 4.0])),
    (Linear() + 1.0) ** 2 * Gaussian(2.0),
    Polynomial(2, 1.0).normalize(),
    Gaussian(1.0).exp(),
]


def by_differences(f, points, h=1e-6):
    d = points.shape[1]
    slopes = [(f(points + h * e) - f(points - h * e)) / (2 * h) for e in np.eye(d)]
    G = np.stack(slopes, axis=-1).reshape(-1, d)
    return G.T @ G / len(points)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: f"{k!r:.50}")
@pytest.mark.parametrize("blocks", ["one", "many"])
def test_central_differences(kernel, blocks, monkeypatch):
    if blocks == "many":
        monkeypatch.setattr(outer_product, "_TERMS_AT_ONCE", 7)
        monkeypatch.setattr(outer_product, "_ENTRIES", 60)
    for coef in (COEF, COEF[:, 0]):
        f = KernelFunction(kernel, Z, coef)
        M = gradient_outer_product(f, X)
        np.testing.assert_allclose(M, by_differences(f, X), rtol=1e-6, atol=1e-7 * np.abs(M).max())


def test_a_linear_function_has_its_weights():
    w = COEF.T @ Z
    np.testing.assert_allclose(gradient_outer_product(KernelFunction(Linear(), Z, COEF), X), w.T @ w)


def test_a_quadratic_form_in_closed_form():
    # f(x) = Σ c_j (x·z_j)² = xᵀAx, so that the gradient is 2Ax
    f = KernelFunction(Linear() ** 2, Z, COEF[:, 0])
    A = (Z.T * COEF[:, 0]) @ Z
    np.testing.assert_allclose(gradient_outer_product(f, X), 4 * A @ (X.T @ X / len(X)) @ A, rtol=1e-10)


@pytest.mark.parametrize("kernel", [Laplacian(0.7), Matern(1.5, 0.7), Gaussian(1.0)], ids=repr)
@pytest.mark.parametrize("far", [0.0, 1e3])
def test_at_its_own_points_and_beside_them(kernel, far):
    """The slope of a term counts as 0 at its centre, and points that nearly coincide lose no digits."""
    centres = Z + far
    near = centres[:5] + 1e-9 * RNG.standard_normal((5, D)) * max(far, 1.0)
    f = KernelFunction(kernel, np.vstack([centres, near]), np.append(COEF[:, 0], [1.0, -2.0, 3.0, 1.0, 1.0]))
    G = f.gradient(f.points)  # from differences, pair by pair
    np.testing.assert_allclose(gradient_outer_product(f, f.points), G.T @ G / len(G), rtol=1e-6, atol=1e-7)


def test_float32_and_sparse_points():
    f = KernelFunction(Laplacian(1.0), Z, COEF)
    M = gradient_outer_product(f, X)
    single = KernelFunction(Laplacian(1.0), Z.astype(np.float32), COEF.astype(np.float32))
    found = gradient_outer_product(single, X.astype(np.float32))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, M, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(gradient_outer_product(f, sp.csr_matrix(X)), M, rtol=1e-10)


def test_fewer_points_than_coordinates():
    wide = RNG.standard_normal((3, 20))
    f = KernelFunction(Gaussian(4.0), wide, [1.0, -1.0, 2.0])
    M = gradient_outer_product(f, wide[:2])
    np.testing.assert_allclose(M, by_differences(f, wide[:2]), rtol=1e-6, atol=1e-9)
    assert np.linalg.matrix_rank(M, hermitian=True) == 2


def test_no_terms_is_no_change():
    f = KernelFunction(Gaussian(1.0), Z, COEF)
    assert not gradient_outer_product(f - f, X).any()


def test_what_has_no_gradient():
    with pytest.raises(TypeError, match="of a kernel on vectors"):
        gradient_outer_product(KernelFunction(BagOfWords(), ["to be"], [1.0]), ["to be"])
    with pytest.raises(TypeError, match="of a kernel on vectors"):
        gradient_outer_product(np.sin, X)
    with pytest.raises(ValueError, match="no rows"):
        gradient_outer_product(KernelFunction(Gaussian(1.0), Z, COEF), X[:0])
    own = FunctionKernel(lambda x, z: float(x @ z))
    with pytest.raises((NotImplementedError, TypeError)):
        gradient_outer_product(KernelFunction(own, Z, COEF), X)
