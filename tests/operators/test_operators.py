"""Operators: every kind multiplies as its matrix would."""

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

from mercer import operators
from mercer.engines import Tiled
from mercer.features import ExplicitFeatures, RandomFourierFeatures
from mercer.kernels import FunctionKernel, Gaussian, Linear, Polynomial
from mercer.operators import (
    L1,
    Composed,
    FeatureOperator,
    Identity,
    Matrix,
    Operator,
    Shifted,
    Transpose,
    WithOnes,
)
from mercer.testing import check_operator

RNG = np.random.default_rng(0)
X, Z = RNG.standard_normal((37, 3)), RNG.standard_normal((11, 3))
M = RNG.standard_normal((37, 11))
T = RNG.standard_normal((11, 4))
PHI = ExplicitFeatures(Polynomial(2)).fit(X)
FOURIER = RandomFourierFeatures(Gaussian(1.0), n_features=8, random_state=0).fit(X)
WORDS = np.array(["ab", "abc", "x", "", "ca", "bb"], dtype=object)


def gaussian(X, Z, sigma=1.0):
    return np.exp(-((X[:, None] - Z[None]) ** 2).sum(axis=2) / (2 * sigma**2))


def letters(a, b):
    return len(set(a) & set(b))


K = gaussian(X, Z)
CASES = {
    "kernel": (Tiled().operator(Gaussian(1.0), X, Z), K),
    "kernel, square": (Tiled().operator(Gaussian(1.0), X), gaussian(X, X)),
    "kernel, sparse": (
        Tiled().operator(Linear(), csr_array(np.maximum(X, 0)), csr_array(np.maximum(Z, 0))),
        np.maximum(X, 0) @ np.maximum(Z, 0).T,
    ),
    "kernel, words": (
        Tiled().operator(FunctionKernel(letters), WORDS, WORDS[:4]),
        np.array([[letters(a, b) for b in WORDS[:4]] for a in WORDS], float),
    ),
    "matrix": (Matrix(M), M),
    "matrix, fortran": (Matrix(np.asfortranarray(M)), M),
    "matrix, sparse array": (Matrix(csr_array(np.maximum(M, 0))), np.maximum(M, 0)),
    "matrix, sparse matrix": (Matrix(csr_matrix(np.maximum(M, 0))), np.maximum(M, 0)),
    "matrix, one row": (Matrix(M[:1]), M[:1]),
    "matrix, one column": (Matrix(M[:, :1]), M[:, :1]),
    "matrix, float32": (Matrix(M.astype(np.float32)), M.astype(np.float32)),
    "features, explicit": (FeatureOperator(PHI, X, 10), PHI.transform(X)),
    "features, fourier": (FeatureOperator(FOURIER, X, 8), FOURIER.transform(X)),
    "transpose": (Matrix(M).T, M.T),
    "identity": (Identity(5), np.eye(5)),
    "l1": (L1(5), np.eye(5)),
    "composed": (Composed(Tiled().operator(Gaussian(1.0), X, Z), T), K @ T),
    "composed, matrix": (Composed(Matrix(M), T), M @ T),
    "composed, float32": (Composed(Matrix(M.astype(np.float32)), T), M.astype(np.float32) @ T),
    "shifted": (Shifted(Tiled().operator(Gaussian(1.0), X, Z), M[0]), K - M[0]),
    "shifted, sparse": (Shifted(Matrix(csr_array(np.maximum(M, 0))), M[0]), np.maximum(M, 0) - M[0]),
    "shifted, features": (Shifted(FeatureOperator(PHI, X, 10), M[0, :10]), PHI.transform(X) - M[0, :10]),
    "with ones": (WithOnes(Matrix(M)), np.hstack([M, np.ones((37, 1))])),
    "with ones, sparse": (
        WithOnes(Matrix(csr_array(np.maximum(M, 0)))),
        np.hstack([np.maximum(M, 0), np.ones((37, 1))]),
    ),
    "with ones, composed": (
        WithOnes(Composed(Tiled().operator(Gaussian(1.0), X, Z), T)),
        np.hstack([K @ T, np.ones((37, 1))]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_is_its_matrix(name):
    A, expected = CASES[name]
    assert A.shape == expected.shape
    tol = 1e-5 if A.dtype == np.float32 else 1e-12
    assert np.abs(A.dense() - expected).max() <= tol * max(np.abs(expected).max(), 1)


@pytest.mark.parametrize("name", CASES)
def test_laws(name):
    check_operator(CASES[name][0])


@pytest.mark.parametrize("name", ["kernel", "matrix", "features, explicit", "with ones, sparse", "composed"])
def test_laws_hold_over_many_small_blocks(name, monkeypatch):
    monkeypatch.setattr(operators.base, "BLOCK_BYTES", 300)
    A = CASES[name][0]
    if name != "kernel":  # whose products go by the engine's own tiles
        assert len(list(A.blocks())) > 5
    check_operator(A)


@pytest.mark.parametrize("name", ["kernel", "matrix", "features, fourier", "with ones", "composed"])
def test_no_rows(name):
    A = CASES[name][0]
    empty = {
        "kernel": lambda: Tiled().operator(Gaussian(1.0), X[:0], Z),
        "matrix": lambda: Matrix(M[:0]),
        "features, fourier": lambda: FeatureOperator(FOURIER, X[:0], 8),
        "with ones": lambda: WithOnes(Matrix(M[:0])),
        "composed": lambda: Composed(Matrix(M[:0]), T),
    }[name]()
    p = A.shape[1]
    assert (empty @ np.ones((p, 2))).shape == (0, 2)
    assert np.array_equal(empty.adjoint(np.ones((0, 2))), np.zeros((p, 2)))


def test_single_precision_kernel():
    A = Tiled().operator(Gaussian(1.0), X, Z).at(np.float32)
    assert A.dtype == np.float32
    assert np.abs(A.dense() - K).max() < 1e-6
    square = Tiled().operator(Gaussian(1.0), X).at(np.float32)
    assert square.X is square.Z  # so that half the work is saved there too
    check_operator(A)


def test_rows_on_a_device_are_shifted_in_their_sums():
    A = Matrix(M)
    A.remote = True
    for U in (M[:, 0], M[:, :2]):
        assert np.allclose(Shifted(A, M[0]).adjoint(U), (M - M[0]).T @ U, atol=1e-11)
    for w in (None, RNG.uniform(0, 2, 37)):
        for T_ in (None, T):
            expected = Shifted(Matrix(M), M[0]).gramian(w, T_)
            assert np.allclose(Shifted(A, M[0]).gramian(w, T_), expected, atol=1e-11)


def test_columns():
    A = Tiled().operator(Gaussian(1.0), X, Z)
    assert np.allclose(A.columns(np.array([3, 0])), K[:, [3, 0]], atol=1e-13)


def test_gramian_through_a_small_matrix():
    A, w = Matrix(M), RNG.uniform(0, 2, 37)
    assert np.allclose(A.gramian(w, T), (M @ T).T @ (w[:, None] * (M @ T)), rtol=1e-12)


def test_gramian_of_float32_sums_in_float64():
    """Sums of a million float32 products would lose three digits."""
    n = 200_000
    values = np.full((n, 1), 0.1, np.float32)
    exact = n * float(np.float32(0.1)) ** 2
    assert abs(Matrix(values).gramian()[0, 0] - exact) < 1e-9 * exact


def test_transpose_twice_is_the_operator():
    A = Matrix(M)
    assert A.T.T is A
    assert isinstance(A.T, Transpose)


def test_diagonal_without_the_matrix():
    class NoMatrix(Gaussian):
        def pairwise(self, X, Z):
            raise AssertionError("the diagonal needs no pairs")

    assert np.array_equal(Tiled().operator(NoMatrix(1.0), X).diag(), np.ones(37))


def test_the_contract_needs_blocks():
    with pytest.raises(NotImplementedError):
        list(Operator().blocks())


@pytest.mark.parametrize("name", CASES)
def test_some_rows_and_columns_are_an_operator(name):
    A, matrix = CASES[name]
    rows = np.array([2, 0, 3]) % A.shape[0]
    columns = np.array([1, 0]) % A.shape[1]
    for some, expected in (
        (A.among(rows), matrix[rows]),
        (A.among(rows, columns), matrix[np.ix_(rows, columns)]),
    ):
        assert some.shape == expected.shape
        v = np.linspace(1, 2, expected.shape[1])
        assert np.allclose(some @ v, expected @ v, rtol=1e-5, atol=1e-6)
    assert type(A.among(rows)) in (type(A), Matrix)


def test_sparse_matrices_are_taken_whole():
    """Many columns, few of them not 0: rows are not taken one by one."""
    from scipy.sparse import random_array

    rng = np.random.default_rng(0)
    values = random_array((300, 50_000), density=1e-4, rng=rng, format="csr")
    A, D = Matrix(values), values.toarray()
    assert len(list(A.blocks())) == 1
    V, w = rng.standard_normal((50_000, 2)), rng.random(300)
    assert np.allclose(A.sandwich(V, lambda rows, S: w[rows, None] * S), D.T @ (w[:, None] * (D @ V)))
