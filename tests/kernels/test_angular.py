"""Kernels of the angle, against scikit-learn and the integral that defines the arc-cosine kernel."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import cosine_similarity

from mercer.kernels import ArcCosine, Cosine


def points(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


@pytest.mark.parametrize("d", [1, 2, 5, 30])
def test_cosine_agrees_with_scikit_learn(d):
    X, Z = points(15, d), points(6, d, seed=1)
    np.testing.assert_allclose(Cosine()(X, Z), cosine_similarity(X, Z), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(Cosine().diag(X), 1)


def random_network(x, z, order):
    """2 E_w [1(w·x>0)(w·x)ⁿ 1(w·z>0)(w·z)ⁿ] for Gaussian w in the plane, in polar coordinates."""
    angle = (np.arange(400_000) + 0.5) * (2 * math.pi / 400_000)
    u = np.stack([np.cos(angle), np.sin(angle)])
    a, b = x @ u, z @ u
    ramp = np.where((a > 0) & (b > 0), a**order * b**order, 0.0)
    radial = 2**order * math.factorial(order)  # ∫ r^{2n+1} e^{−r²/2} dr
    return radial * ramp.mean() * 2


@pytest.mark.parametrize("order", [0, 1, 2])
def test_arc_cosine_is_an_expectation_over_random_networks(order):
    X = points(5, 2)
    K = ArcCosine(order)(X)
    for i in range(5):
        for j in range(5):
            assert K[i, j] == pytest.approx(random_network(X[i], X[j], order), abs=2e-5)


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_arc_cosine_by_the_angle(order, d):
    X, Z = points(6, d), points(4, d, seed=1)
    K = ArcCosine(order)(X, Z)
    for i, x in enumerate(X):
        for j, z in enumerate(Z):
            size = math.sqrt(sum(x * x) * sum(z * z))
            t = math.acos(max(-1, min(1, sum(x * z) / size)))
            bend = {
                0: math.pi - t,
                1: math.sin(t) + (math.pi - t) * math.cos(t),
                2: 3 * math.sin(t) * math.cos(t) + (math.pi - t) * (1 + 2 * math.cos(t) ** 2),
            }[order]
            # In one dimension cos t = ±1, where arccos turns one rounding into its square root.
            assert K[i, j] == pytest.approx(size**order * bend / math.pi, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("order, value", [(0, 1.0), (1, 25.0), (2, 3 * 625.0)])
def test_arc_cosine_of_a_point_with_itself(order, value):
    X = np.array([[3.0, 4.0]])
    assert ArcCosine(order).diag(X)[0] == value
    assert ArcCosine(order)(X)[0, 0] == pytest.approx(value, rel=1e-7)


@pytest.mark.parametrize("kernel", [Cosine(), ArcCosine(0), ArcCosine(1), ArcCosine(2)], ids=repr)
def test_zero_vectors_count_as_zero(kernel):
    X = np.array([[0.0, 0.0], [1.0, 2.0]])
    K = kernel(X)
    assert K[0, 0] == K[0, 1] == K[1, 0] == 0
    assert K[1, 1] > 0
    assert kernel.diag(X)[0] == 0
    slope = kernel.gradient_x(X, X)
    assert np.isfinite(slope).all()
    assert (slope[0] == 0).all()


@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_very_short_and_very_long_vectors_in_single_precision(size):
    # ‖x‖²‖z‖² would leave the range of float32.
    X = (size * np.array([[1.0, 0.0], [1.0, 1.0]])).astype(np.float32)
    np.testing.assert_allclose(Cosine()(X), [[1, math.sqrt(0.5)], [math.sqrt(0.5), 1]], rtol=1e-6)
    np.testing.assert_allclose(ArcCosine(0)(X)[0, 1], 0.75, rtol=1e-5)


@pytest.mark.parametrize("kernel", [Cosine(), ArcCosine(0), ArcCosine(1), ArcCosine(2)], ids=repr)
def test_sparse_equals_dense(kernel):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((10, 8)) < 0.4, rng.standard_normal((10, 8)), 0)
    X[3] = 0
    np.testing.assert_allclose(kernel(sp.csr_array(X)), kernel(X), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(kernel.diag(sp.csr_matrix(X)), kernel.diag(X))


def test_sparse_cosine_agrees_with_scikit_learn():
    X = sp.random(20, 50, density=0.2, format="csr", random_state=0)
    np.testing.assert_allclose(Cosine()(X), cosine_similarity(X.toarray()), atol=1e-14)


@pytest.mark.parametrize("order", [-1, 3, 0.5, "one", None])
def test_order_is_checked(order):
    with pytest.raises(ValueError, match="order must be 0, 1 or 2"):
        ArcCosine(order)([[1.0]])


def test_slope_of_the_cosine():
    # d/dx (x·z/‖x‖‖z‖) at x = (1, 0), z = (0, 1): turning x towards z raises the cosine at rate 1.
    slope = Cosine().gradient_x(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]))
    np.testing.assert_allclose(slope, [[[0.0, 1.0]]], atol=1e-15)
