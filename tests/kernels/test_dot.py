"""Kernels of the inner product, against scikit-learn and the multinomial theorem."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, sigmoid_kernel

from mercer.kernels import Dot, Linear, Polynomial, Sigmoid
from mercer.testing import check_kernel

REFERENCES = {
    Linear(): linear_kernel,
    Polynomial(1, 0.5): lambda X, Z: polynomial_kernel(X, Z, degree=1, gamma=1, coef0=0.5),
    Polynomial(2, 1.0): lambda X, Z: polynomial_kernel(X, Z, degree=2, gamma=1, coef0=1),
    Polynomial(3, 0.0): lambda X, Z: polynomial_kernel(X, Z, degree=3, gamma=1, coef0=0),
    Polynomial(7, 2.0): lambda X, Z: polynomial_kernel(X, Z, degree=7, gamma=1, coef0=2),
    Sigmoid(0.3, -0.2): lambda X, Z: sigmoid_kernel(X, Z, gamma=0.3, coef0=-0.2),
}
every = pytest.mark.parametrize("kernel", REFERENCES, ids=repr)


def points(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


@every
@pytest.mark.parametrize("d", [1, 2, 5, 30])
def test_agrees_with_the_reference(kernel, d):
    X, Z = points(20, d), points(7, d, seed=1)
    np.testing.assert_allclose(kernel(X), REFERENCES[kernel](X, X), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(kernel(X, Z), REFERENCES[kernel](X, Z), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(kernel.diag(X), np.diag(REFERENCES[kernel](X, X)), rtol=1e-11)


@every
@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_equals_dense(kernel, make, dtype):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((12, 9)) < 0.4, rng.standard_normal((12, 9)), 0).astype(dtype)
    truth = REFERENCES[kernel](X.astype(float), X.astype(float))
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    for K in (kernel(make(X)), kernel(make(X), X), kernel(X, make(X))):
        assert isinstance(K, np.ndarray)
        assert K.dtype == dtype
        np.testing.assert_allclose(K, truth, rtol=tolerance, atol=tolerance * np.abs(truth).max())
    np.testing.assert_allclose(kernel.diag(make(X)), np.diag(truth), rtol=tolerance)


def test_known_values():
    assert Polynomial()([[1.0, 2.0]], [[3.0, 4.0]])[0, 0] == 144  # (11 + 1)²
    assert Polynomial(3, 0)([[-1.0]], [[2.0]])[0, 0] == -8
    assert Polynomial(degree=2.0)([[1.0]])[0, 0] == 4


@pytest.mark.parametrize("degree", [0, -1, 1.5, math.nan, "two", True, None])
def test_degree_must_be_a_positive_integer(degree):
    with pytest.raises(ValueError, match="degree must be a positive integer"):
        Polynomial(degree)([[1.0]])


@pytest.mark.parametrize("c", [-0.1, math.nan, math.inf, "one", None])
def test_constant_must_not_be_negative(c):
    with pytest.raises(ValueError, match="c must be nonnegative"):
        Polynomial(2, c)([[1.0]])


@pytest.mark.parametrize(
    "kernel", [Sigmoid(0), Sigmoid(-1.0), Sigmoid(None), Sigmoid(1.0, math.nan), Sigmoid(1.0, "c")]
)
def test_sigmoid_parameters_are_checked(kernel):
    with pytest.raises(ValueError, match="positive"):
        kernel([[1.0]])


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize(
    "kernel", [Linear(), Polynomial(1, 0.5), Polynomial(2, 1.0), Polynomial(3, 0.0), Polynomial(4, 2.0)]
)
def test_expansion_into_monomials(kernel, d):
    # k(x, z) = Σ_a w_a x^a z^a, term by term in plain Python.
    (x, z) = points(2, d)
    expansion = kernel.expansion(d)
    total = sum(w * math.prod(x[k] * z[k] for k in a) for a, w in expansion.items())
    assert total == pytest.approx(
        REFERENCES.get(kernel, lambda A, B: polynomial_kernel(A, B, degree=4, gamma=1, coef0=2))([x], [z])[
            0, 0
        ]
    )
    assert all(w > 0 and tuple(sorted(a)) == a for a, w in expansion.items())
    assert len(expansion) == kernel.expansion_size(d)


def test_expansion_of_the_textbook_example():
    # (x·z + 1)² in two dimensions: 1, √2x₀, √2x₁, √2x₀x₁, x₀², x₁².
    expected = {(): 1.0, (0,): 2.0, (1,): 2.0, (0, 0): 1.0, (0, 1): 2.0, (1, 1): 1.0}
    assert Polynomial(2, 1.0).expansion(2) == expected


def test_kernels_without_expansion_say_none():
    assert Sigmoid().expansion(2) is None
    assert Sigmoid().expansion_size(2) == math.inf


def test_no_spectral_density():
    with pytest.raises(NotImplementedError, match="translation-invariant"):
        Linear().frequencies(np.random.default_rng(0), 3, 2)
    with pytest.raises(NotImplementedError, match="not translation-invariant"):
        Polynomial().amplitude()


class Geometric(Dot):
    """1/(1 − x·z) for points in the unit ball."""

    def profile(self, s, xp):
        return 1.0 / (s * -1.0 + 1.0)


def test_a_profile_is_all_a_new_dot_kernel_needs():
    X = points(15, 3) / 10
    np.testing.assert_allclose(Geometric()(X), 1 / (1 - X @ X.T), rtol=1e-13)
    check_kernel(Geometric(), X)
