"""K(X, Z) of kernels with sparse features: the operator against the matrix."""

import numpy as np
import pytest

from mercer.engines import Engine, Tiled
from mercer.kernels import Spectrum
from mercer.operators.counted import CountedOperator
from mercer.testing import check_operator

LETTERS = np.array(list("abcd"))


def strings(n, seed, longest=12):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(LETTERS, rng.integers(0, longest))) for _ in range(n)]


def counted(x, z, length):
    """k by its definition."""
    parts = [x[i : i + length] for i in range(len(x) - length + 1)]
    return sum(part == z[j : j + length] for part in parts for j in range(len(z) - length + 1))


@pytest.mark.parametrize("engine", [Engine(), Tiled()], ids=repr)
@pytest.mark.parametrize("length", [1, 2, 5])
def test_entries_and_products(engine, length):
    k = Spectrum(length)
    X, Z = (k.points(strings(n, n)) for n in (70, 40))
    exact = np.array([[counted(x, z, length) for z in Z] for x in X], float)
    A = engine.operator(k, X, Z)
    assert isinstance(A, CountedOperator) and A.shape == (70, 40)
    assert np.array_equal(A.dense(), exact) and np.array_equal(k(X, Z), exact)
    rng = np.random.default_rng(0)
    V, U = rng.standard_normal((40, 3)), rng.standard_normal((70, 3))
    assert np.allclose(A @ V, exact @ V) and np.allclose(A.adjoint(U), exact.T @ U)
    assert np.allclose(A @ V[:, 0], exact @ V[:, 0])
    middle = rng.random(70)
    assert np.allclose(
        A.sandwich(V, lambda rows, S: middle[rows, None] * S), exact.T @ (middle[:, None] * (exact @ V))
    )
    some, few = np.array([3, 3, 60, 0]), np.array([39, 1])
    assert np.array_equal(A.among(some, few).dense(), exact[np.ix_(some, few)])
    assert np.array_equal(A.facing(Z).dense(), k(Z, Z)) and np.array_equal(A.T.dense(), exact.T)
    assert np.allclose(A.gramian(middle), exact.T @ (middle[:, None] * exact))
    assert np.allclose(A.column_sums(middle), exact.T @ middle[:, None])


def test_symmetric_ones():
    k = Spectrum(2).normalize() + 0.5 * Spectrum(3)
    X = k.points(strings(60, 1))
    A = Tiled().operator(k, X)
    exact = k(X)
    assert A.symmetric and A.semidefinite and np.allclose(A.dense(), exact)
    assert np.allclose(A.diag(), np.diag(exact)) and np.allclose(A.row_norms() ** 2, np.diag(exact))
    assert np.allclose(A.dense(), A.dense().T)
    check_operator(A)


def test_many_features_take_another_way():
    """Few features are multiplied by BLAS, many as they are: the same numbers."""
    rng = np.random.default_rng(0)
    texts = ["".join(map(chr, rng.integers(200, 5000, 40))) for _ in range(50)]
    k = Spectrum(1)
    A = Tiled().operator(k, k.points(texts))
    assert A.Z.vocabulary.size > 1500
    exact = np.array([[counted(x, z, 1) for z in texts] for x in texts], float)
    assert np.array_equal(A.dense(), exact)


def test_no_strings_and_no_features():
    k = Spectrum(3)
    X = k.points(["", "ab", "abcabc"])
    A = Tiled().operator(k, X)
    assert np.array_equal(A.dense(), [[0, 0, 0], [0, 0, 0], [0, 0, 6]])
    assert A.among(np.array([], int)).dense().shape == (0, 3)
    assert np.array_equal(A.among(np.array([0, 1]), np.array([0, 1])) @ np.ones(2), np.zeros(2))
