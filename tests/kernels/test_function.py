"""Any Python function as a kernel, on any objects."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from mercer.kernels import FunctionKernel, Gaussian, check
from mercer.testing import check_kernel


def shared(a, b):
    return len(set(a) & set(b))


def inner(x, z):
    return float(np.dot(x, z))


def inner_of_sets(X, Z):
    return X @ Z.T


WORDS = ["kernel", "colonel", "mercer", "gram"]


def test_on_strings():
    expected = [[len(set(a) & set(b)) for b in WORDS] for a in WORDS]
    k = FunctionKernel(shared)
    np.testing.assert_array_equal(k(WORDS), expected)
    np.testing.assert_array_equal(k(WORDS, WORDS[:2]), np.array(expected)[:, :2])
    np.testing.assert_array_equal(k.diag(WORDS), np.diag(expected))


@pytest.mark.parametrize(
    "points",
    [
        [{1, 2}, {2, 3}, {4}],
        [("a", 1), ("b", 2), ("a", 2)],
        [("a", [1, 2]), ("b", [2]), ("c", [])],
        [["a", "b"], ["b"], []],
        [np.eye(2), np.ones((2, 2)), np.zeros((2, 2))],
        [1, "one", None],
    ],
    ids=["sets", "tuples", "nested", "ragged", "matrices", "mixed"],
)
def test_the_function_sees_the_objects_as_they_are(points):
    seen = []

    def same(a, b):
        seen.append((a, b))
        return float(a is b)

    np.testing.assert_array_equal(FunctionKernel(same)(points), np.eye(3))
    assert all(any(a is p for p in points) for pair in seen for a in pair)


def test_on_rows_of_a_table():
    X = np.random.default_rng(0).standard_normal((5, 3))
    np.testing.assert_allclose(FunctionKernel(inner)(X), X @ X.T)
    np.testing.assert_allclose(FunctionKernel(inner)(X.tolist()), X @ X.T)
    np.testing.assert_allclose(FunctionKernel(inner)([tuple(x) for x in X], X[:2]), X @ X[:2].T)


def test_half_the_calls_for_a_gram_matrix():
    calls = []
    k = FunctionKernel(lambda a, b: calls.append((a, b)) or 1.0)
    k(WORDS)
    assert len(calls) == 10
    calls.clear()
    k(WORDS, WORDS)
    assert len(calls) == 16


def test_vectorized():
    X = np.random.default_rng(0).standard_normal((5, 3))
    k = FunctionKernel(inner_of_sets, vectorized=True)
    np.testing.assert_allclose(k(X, X[:2]), X @ X[:2].T)
    np.testing.assert_allclose(k.diag(X), (X**2).sum(axis=1))
    sparse = FunctionKernel(lambda A, B: (A @ B.T).toarray(), vectorized=True)
    np.testing.assert_allclose(sparse(sp.csr_array(X)), X @ X.T)


def test_vectorized_by_mistake_is_explained():
    with pytest.raises(ValueError, match=r"returned shape \(\).*drop vectorized=True"):
        FunctionKernel(lambda A, B: 1.0, vectorized=True)([[1.0], [2.0]])


def test_one_entry_arrays_count_as_numbers():
    assert FunctionKernel(lambda a, b: np.array([[3.0]]))([0])[0, 0] == 3


def test_errors():
    with pytest.raises(TypeError, match="callable"):
        FunctionKernel(3)([[1.0]])
    with pytest.raises(NotImplementedError, match="no derivative in x"):
        FunctionKernel(inner).gradient_x(np.ones((1, 1)), np.ones((1, 1)))
    with pytest.raises(ZeroDivisionError):
        FunctionKernel(lambda a, b: 1 / 0)([[1.0]])


def test_takes_part_in_the_algebra():
    expected = np.array([[len(set(a) & set(b)) for b in WORDS] for a in WORDS], float)
    k = FunctionKernel(shared)
    K = (2 * k**2 + 1)(WORDS)
    assert K.dtype == np.float64
    np.testing.assert_array_equal(K, 2 * expected**2 + 1)
    size = np.sqrt(np.diag(expected))
    np.testing.assert_allclose(k.normalize()(WORDS), expected / np.outer(size, size))
    X = np.random.default_rng(0).standard_normal((4, 2))
    np.testing.assert_allclose((FunctionKernel(inner) * Gaussian(1.0))(X), X @ X.T * Gaussian(1.0)(X))


def test_laws():
    check_kernel(FunctionKernel(inner))
    check_kernel(FunctionKernel(shared), WORDS)


def test_check_finds_a_kernel_on_strings():
    verdict = check(shared, WORDS)
    assert verdict.ok
    assert verdict.by == "sampling"


def test_a_table_with_one_column_of_words_is_a_list_of_words():
    words = ["kernel", "colonel", "mercer"]
    k = FunctionKernel(lambda a, b: float(len(set(a) & set(b))))
    assert np.array_equal(k(np.array(words, dtype=object)[:, None]), k(words))
    assert np.array_equal(k(pd.DataFrame({"word": words})), [[5, 3, 2], [3, 5, 2], [2, 2, 4]])
    # Numbers stay rows: a point is then an array.
    assert FunctionKernel(lambda a, b: float(a @ b))(np.array([[2.0], [3.0]])).tolist() == [[4, 6], [6, 9]]
