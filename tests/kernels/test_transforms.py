"""Kernels on transformed points: the kernel of the transformed points, by hand."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist, pdist

from mercer.engines import Tiled
from mercer.kernels import (
    BagOfWords,
    ChiSquared,
    Cosine,
    FunctionKernel,
    Gaussian,
    Laplacian,
    LengthScales,
    Linear,
    Mahalanobis,
    Matern,
    OnColumns,
    Polynomial,
    PullBack,
)

X = np.random.default_rng(0).standard_normal((8, 3))
Z = np.random.default_rng(1).standard_normal((5, 3))
M = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 0.7]])


def rbf(A, B, sigma=1.0):
    return np.exp(-cdist(A, B, "sqeuclidean") / (2 * sigma**2))


# -- columns --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "columns, index",
    [
        ([0, 2], [0, 2]),
        (1, [1]),
        ([2, 0], [2, 0]),
        ([-1], [2]),
        (slice(0, 2), [0, 1]),
        (np.array([1]), [1]),
        ([0, 0], [0, 0]),
    ],
)
def test_columns(columns, index):
    np.testing.assert_allclose(Gaussian(1.0).on(columns)(X, Z), rbf(X[:, index], Z[:, index]), rtol=1e-12)
    np.testing.assert_allclose(Linear().on(columns).diag(X), (X[:, index] ** 2).sum(axis=1), rtol=1e-12)


def test_columns_of_sparse_points():
    A = sp.random(10, 6, density=0.5, format="csr", random_state=0)
    dense = A.toarray()[:, [1, 4]]
    np.testing.assert_allclose(Linear().on([1, 4])(A), dense @ dense.T)
    np.testing.assert_allclose(Gaussian(1.0).on([1, 4])(A), rbf(dense, dense))


def test_an_additive_kernel():
    k = Gaussian(1.0).on([0]) + Linear().on([1, 2])
    np.testing.assert_allclose(k(X, Z), rbf(X[:, :1], Z[:, :1]) + X[:, 1:] @ Z[:, 1:].T)


@pytest.mark.parametrize("columns", [[3], [-4], [0.5], ["a"], [], [[0, 1]], None, [True, False, True]])
def test_bad_columns_are_refused(columns):
    with pytest.raises(ValueError, match="columns"):
        Linear().on(columns)(X)


def test_a_column_chosen_twice_counts_twice():
    slope = Linear().on([0, 0]).gradient_x(X, Z)
    np.testing.assert_allclose(slope[:, :, 0], np.tile(2 * Z[:, 0], (8, 1)))
    assert (slope[:, :, 1:] == 0).all()
    assert Linear().on([0, 0]).expansion(3) == {(0,): 2.0}


def test_negative_columns_count_from_the_end():
    assert Linear().on([-1, 0]).expansion(3) == {(2,): 1.0, (0,): 1.0}
    slope = Linear().on([-1]).gradient_x(X, Z)
    np.testing.assert_allclose(slope[:, :, 2], np.tile(Z[:, 2], (8, 1)))


def test_histogram_check_sees_only_the_chosen_columns():
    table = np.array([[0.5, -1.0], [0.25, 2.0]])
    chi = (0.25**2) / 0.75
    np.testing.assert_allclose(ChiSquared(1.0).on([0])(table)[0, 1], math.exp(-chi))
    with pytest.raises(ValueError, match="nonnegative"):
        ChiSquared(1.0).on([1])(table)


# -- length scales --------------------------------------------------------------------------------------


@pytest.mark.parametrize("lengths", [[1.0, 0.5, 4.0], np.array([1.0, 0.5, 4.0]), (1.0, 0.5, 4.0)])
def test_length_scales(lengths):
    s = np.array([1.0, 0.5, 4.0])
    np.testing.assert_allclose(Gaussian(1.3).scaled(lengths)(X, Z), rbf(X / s, Z / s, 1.3), rtol=1e-12)
    np.testing.assert_allclose(
        Polynomial(2, 1.0).scaled(lengths).diag(X), (((X / s) ** 2).sum(axis=1) + 1) ** 2
    )


def test_length_scales_of_sparse_points():
    A = sp.random(10, 3, density=0.5, format="csr", random_state=0)
    s = np.array([1.0, 0.5, 4.0])
    np.testing.assert_allclose(Gaussian(1.0).scaled(s)(A), rbf(A.toarray() / s, A.toarray() / s))


def test_length_scales_from_the_data():
    A = X.copy()
    A[:, 1] = 7.0  # a constant feature keeps its scale
    k = Gaussian().scaled()
    assert k.unresolved() == ["lengths", "kernel__sigma"]
    done = k.resolve(A)
    expected = [A[:, 0].std(), 1.0, A[:, 2].std()]
    np.testing.assert_allclose(done.lengths, expected)
    assert done.kernel.sigma == pytest.approx(np.median(pdist(A / expected)))
    assert k.lengths is None
    sparse = Gaussian().scaled().resolve(sp.csr_array(A))
    np.testing.assert_allclose(sparse.lengths, expected)
    with pytest.raises(ValueError, match="leaves lengths"):
        Gaussian(1.0).scaled()(A)


@pytest.mark.parametrize(
    "lengths", [[1.0, -1.0, 1.0], [0.0, 1.0, 1.0], [np.nan, 1, 1], 2.0, [[1.0, 1.0, 1.0]]]
)
def test_bad_lengths_are_refused(lengths):
    with pytest.raises(ValueError, match="lengths must be positive, one per feature"):
        Gaussian(1.0).scaled(lengths)(X)


def test_the_number_of_lengths_must_fit():
    with pytest.raises(ValueError, match="2 length scales for points with 3 features"):
        Gaussian(1.0).scaled([1.0, 1.0])(X)


def test_length_scales_divide_integers_too():
    k = FunctionKernel(np.dot).scaled([2.0])
    np.testing.assert_allclose(k([[4], [2]]), [[4, 2], [2, 1]])


# -- metric ---------------------------------------------------------------------------------------------


def test_metric_replaces_inner_product_and_distance():
    bilinear = np.array([[x @ M @ z for z in Z] for x in X])
    squared = np.array([[(x - z) @ M @ (x - z) for z in Z] for x in X])
    sizes = np.sqrt(np.outer([x @ M @ x for x in X], [z @ M @ z for z in Z]))
    np.testing.assert_allclose(Linear().metric(M)(X, Z), bilinear, rtol=1e-12)
    np.testing.assert_allclose(Gaussian(1.0).metric(M)(X, Z), np.exp(-squared / 2), rtol=1e-12)
    np.testing.assert_allclose(Laplacian(1.0).metric(M.tolist())(X, Z), np.exp(-np.sqrt(squared)), rtol=1e-12)
    np.testing.assert_allclose(Cosine().metric(M)(X, Z), bilinear / sizes, rtol=1e-12)
    np.testing.assert_allclose(Linear().metric(M).diag(X), [x @ M @ x for x in X], rtol=1e-12)


def test_a_diagonal_metric_keeps_coordinates_apart():
    D = np.diag([4.0, 1.0, 9.0])
    np.testing.assert_allclose(Linear().on([0]).metric(D)(X, Z), 4 * np.outer(X[:, 0], Z[:, 0]), rtol=1e-12)
    np.testing.assert_allclose(
        Gaussian(1.0).metric(D)(X, Z), Gaussian(1.0).scaled([1 / 2, 1, 1 / 3])(X, Z), rtol=1e-12
    )
    H = np.abs(X)
    np.testing.assert_allclose(ChiSquared(1.0).metric(D)(H), ChiSquared(1.0)(H * [2.0, 1.0, 3.0]), rtol=1e-12)


def test_a_singular_metric_forgets_a_direction():
    v = np.array([[1.0, 2.0, 2.0]]) / 3
    k = Gaussian(1.0).metric(np.eye(3) - v.T @ v)
    np.testing.assert_allclose(k(X, X + 5 * v), k(X), atol=1e-7)


@pytest.mark.parametrize(
    "matrix, reason",
    [
        (np.ones((2, 3)), "square"),
        ([1.0, 2.0], "square"),
        ([[1.0, 2.0], [0.0, 1.0]], "symmetric"),
        ([[1.0, 2.0], [2.0, 1.0]], "positive semidefinite; its smallest eigenvalue is -1"),
        (-np.eye(2), "positive semidefinite"),
        ([[np.nan, 0.0], [0.0, 1.0]], "finite"),
    ],
)
def test_bad_metrics_are_refused(matrix, reason):
    with pytest.raises(ValueError, match=reason):
        Gaussian(1.0).metric(matrix)(np.ones((2, 2)))


def test_metric_size_and_sparsity():
    with pytest.raises(ValueError, match="metric on 3 features for points with 2"):
        Linear().metric(M)(np.ones((2, 2)))
    with pytest.raises(TypeError, match="sparse"):
        Linear().metric(M)(sp.csr_array(X))


def test_metric_checks_what_the_inner_kernel_needs():
    # A rotation takes histograms out of the nonnegative vectors.
    with pytest.raises(ValueError, match="nonnegative"):
        ChiSquared(1.0).metric([[2.0, -1.0], [-1.0, 2.0]])([[3.0, 0.0], [0.0, 3.0]])
    with pytest.raises(ValueError, match="2 length scales"):
        Gaussian(1.0).scaled([1.0, 1.0]).metric(M)(X)


# -- maps -----------------------------------------------------------------------------------------------


def lengths_of(words):
    return np.array([[len(w)] for w in words], float)


def test_pull_back():
    np.testing.assert_allclose(Linear().pullback(np.sin)(X, Z), np.sin(X) @ np.sin(Z).T)
    np.testing.assert_allclose(
        Gaussian(2.0).pullback(lengths_of)(["a", "abc"]), [[1, math.exp(-0.5)], [math.exp(-0.5), 1]]
    )
    np.testing.assert_allclose(Linear().pullback(lengths_of).diag(["a", "abc"]), [1, 9])


def test_pull_back_calls_the_map_once_for_a_gram_matrix():
    calls = []
    Linear().pullback(lambda A: calls.append(len(A)) or A)(X)
    assert calls == [8]


def test_pull_back_resolves_on_the_mapped_points():
    done = Gaussian().pullback(lengths_of).resolve(["a", "abc", "abcd"])
    assert done.kernel == Gaussian(2.0)


def test_bad_maps_are_explained():
    with pytest.raises(ValueError, match="turned 8 points into 3"):
        Linear().pullback(lambda A: A[:3])(X)
    with pytest.raises(TypeError, match="function of point sets"):
        Linear().pullback(3)(X)
    with pytest.raises(ValueError, match="2-D"):
        Linear().pullback(lambda A: A[:, 0])(X)
    with pytest.raises(NotImplementedError, match="PullBack has no derivative in x"):
        Linear().pullback(lengths_of).gradient_x(np.array(["a"]), np.array(["a"]))


# -- all of them ----------------------------------------------------------------------------------------


def test_methods_build_values():
    k = Gaussian(1.0)
    assert k.on([0]) == OnColumns(Gaussian(1.0), [0])
    assert k.scaled([1.0]) == LengthScales(Gaussian(1.0), [1.0])
    assert k.metric(M) == Mahalanobis(Gaussian(1.0), M)
    assert k.pullback(np.sin) == PullBack(Gaussian(1.0), np.sin)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1.0).on([2, 0]),
        Gaussian(1.0).on([1, 1]),
        Matern(1.5, 1.0).scaled([1.0, 0.5, 4.0]),
        Gaussian(1.0).metric(M),
    ],
    ids=repr,
)
def test_frequencies(kernel):
    w = kernel.frequencies(np.random.default_rng(0), 100_000, 3)
    for delta in X[:4]:
        expected = kernel.amplitude() * np.cos(w @ delta).mean()
        assert kernel([delta], [[0.0, 0.0, 0.0]])[0, 0] == pytest.approx(expected, abs=0.012)


@pytest.mark.parametrize(
    "kernel",
    [
        Polynomial(3, 1.0).on([0, 2]),
        Polynomial(2, 1.0).on([1, 1]),
        Polynomial(2, 0.5).scaled([1.0, 0.5, 4.0]),
    ],
    ids=repr,
)
def test_expansion(kernel):
    x, z = X[0], Z[0]
    expansion = kernel.expansion(3)
    total = sum(w * math.prod(x[k] * z[k] for k in a) for a, w in expansion.items())
    assert total == pytest.approx(kernel([x], [z])[0, 0])
    assert all(tuple(sorted(a)) == a for a in expansion)
    assert len(expansion) <= kernel.expansion_size(3)


def test_no_expansion_of_what_is_no_polynomial():
    for k in (
        Gaussian(1.0).on([0]),
        Gaussian(1.0).scaled([1.0] * 3),
        Linear().metric(M),
        Linear().pullback(np.sin),
    ):
        assert k.expansion(3) is None
        assert k.expansion_size(3) == math.inf


def test_columns_of_strings_beside_columns_of_numbers():
    words = ["to be", "or not to be", "", "be that as it may"]
    numbers = np.random.default_rng(0).standard_normal((4, 2))
    rows = np.array(
        [[a, text, b] for (a, b), text in zip(numbers.tolist(), words, strict=True)], dtype=object
    )
    bag = BagOfWords(idf=True).normalize()
    k = (Gaussian(1.0).on([0, 2]) + 0.5 * bag.on(1)).resolve(rows)
    expected = rbf(numbers, numbers) + 0.5 * bag.resolve(words)(words)
    np.testing.assert_allclose(k(rows), expected, rtol=1e-12)
    np.testing.assert_allclose(k.diag(rows), np.diag(expected), rtol=1e-12)
    np.testing.assert_allclose(Tiled().operator(k, k.points(rows)).dense(), expected, rtol=1e-12)
    assert not k.vectors and not k.has_counts and k.right.has_counts
    counts = k.right.counts(rows)
    np.testing.assert_allclose(counts.inner(counts), expected - rbf(numbers, numbers), atol=1e-12)
    assert set(bag.on(1).spelled(rows).values()) == set(" ".join(words).split())
    assert bag.on(1).nonzero(rows).tolist() == [1.0, 1.0, 0.0, 1.0]
    refused = [(bag.on([0, 1]), "takes one column"), (bag.on(0), "BagOfWords"), (bag.on(7), "reach outside")]
    for wrong, said in refused:
        with pytest.raises(ValueError, match=said):
            wrong.points(rows)
    with pytest.raises(ValueError, match="2-D array of objects"):
        bag.on(1).points(rows[:, 1])
