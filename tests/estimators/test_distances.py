"""Distances that come from no kernel: against scikit-learn's and SciPy's, and how they say no."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from mercer import KernelNearestNeighbors, KernelNeighborsClassifier, KernelNeighborsRegressor, KernelRidge
from mercer.estimators.distances import NAMES, DistanceMatrix, NamedDistance, distance_of
from mercer.kernels import Gaussian
from mercer.kernels.door import NotAKernel

RNG = np.random.default_rng(0)
X, T = RNG.random((70, 4)), np.random.default_rng(1).random((20, 4))
OF_TRUTH = ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")


def matrix(metric, A, B, **told):
    """All distances, by SciPy or by hand."""
    if metric == "haversine":
        lat, lon = (np.subtract.outer(A[:, j], B[:, j]) for j in (0, 1))
        h = np.sin(lat / 2) ** 2 + np.outer(np.cos(A[:, 0]), np.cos(B[:, 0])) * np.sin(lon / 2) ** 2
        return 2 * np.arcsin(np.sqrt(h))
    if metric == "seuclidean":
        told.setdefault("V", X.var(axis=0, ddof=1))
    if metric == "mahalanobis":
        told.setdefault("VI", np.linalg.inv(np.cov(X.T)))
    if metric in OF_TRUTH:
        A, B = A != 0, B != 0
    names = {"l1": "cityblock", "manhattan": "cityblock", "l2": "euclidean"}
    return cdist(A, B, names.get(metric, metric), **told)


def points_for(metric):
    if metric == "haversine":
        return X[:, :2] * 3 - 1.5, T[:, :2] * 3 - 1.5
    if metric in (*OF_TRUTH, "hamming"):
        wide, few = RNG.integers(0, 2, (70, 9)).astype(float), RNG.integers(0, 2, (20, 9)).astype(float)
        wide[:, 0] = few[:, 0] = 1  # none is all zeros, of which SciPy's versions think differently
        return wide, few
    return X, T


@pytest.mark.parametrize("search", ["auto", "blocks"])
@pytest.mark.parametrize("metric", sorted(set(NAMES) - {"precomputed"}))
def test_by_name(metric, search):
    A, B = points_for(metric)
    D, own = matrix(metric, B, A), matrix(metric, A, A)
    np.fill_diagonal(own, np.inf)
    near = KernelNearestNeighbors(metric=metric, n_neighbors=6, search=search).fit(A)
    for asked, expected in ((B, D), (None, own)):
        d, index = near.kneighbors(asked)
        # Rounding must not decide between equals.
        order = np.argsort(np.round(expected, 10), axis=1, kind="stable")[:, :6]
        np.testing.assert_array_equal(index, order)
        np.testing.assert_allclose(d, np.take_along_axis(expected, order, axis=1), rtol=1e-9, atol=1e-9)
    radius = float(np.quantile(D, 0.2)) + 1e-7
    d, index = near.radius_neighbors(B, radius)
    for i in range(len(B)):
        np.testing.assert_array_equal(index[i], np.flatnonzero(D[i] <= radius))
        np.testing.assert_allclose(d[i], D[i, index[i]], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("metric", "told"),
    [
        ("minkowski", {"p": 3}),
        ("minkowski", {"p": 1}),
        ("minkowski", {"p": np.inf}),
        ("minkowski", {"p": 2.5, "w": [1.0, 2.0, 0.0, 3.0]}),
        ("seuclidean", {"V": np.array([1.0, 2.0, 3.0, 4.0])}),
        ("mahalanobis", {"VI": np.diag([1.0, 2.0, 3.0, 4.0])}),
    ],
)
def test_parameters_are_those_of_scikit_learn(metric, told):
    ours = KernelNearestNeighbors(metric=metric, metric_params=told).fit(X)
    p = told.get("p", 2)
    rest = {key: np.asarray(value) for key, value in told.items() if key != "p"}
    theirs = NearestNeighbors(metric=metric, p=p, metric_params=rest, algorithm="brute").fit(X)
    np.testing.assert_array_equal(ours.kneighbors(T)[1], theirs.kneighbors(T)[1])
    np.testing.assert_allclose(ours.kneighbors(T)[0], theirs.kneighbors(T)[0], rtol=1e-9)


@pytest.mark.parametrize("metric", ["braycurtis", "dice", "jaccard", "sokalsneath"])
def test_vectors_of_zeros_are_equal(metric):
    near = KernelNearestNeighbors(metric=metric, n_neighbors=2).fit([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    d, index = near.kneighbors([[0.0, 0.0]])
    np.testing.assert_array_equal(index, [[0, 2]])
    np.testing.assert_array_equal(d, [[0.0, 0.0]])


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "sqeuclidean", "minkowski"])
def test_sparse_points(metric):
    S = np.where(X > 0.6, X, 0.0)
    S[3] = 0
    dense, sparse = (KernelNearestNeighbors(metric=metric, radius=0.4).fit(A) for A in (S, csr_array(S)))
    for asked in (S, None):
        given = None if asked is None else csr_array(asked)
        np.testing.assert_array_equal(sparse.kneighbors(given)[1], dense.kneighbors(asked)[1])
        np.testing.assert_allclose(sparse.kneighbors(given)[0], dense.kneighbors(asked)[0], atol=1e-12)
        ours, theirs = sparse.radius_neighbors_graph(given), dense.radius_neighbors_graph(asked)
        np.testing.assert_array_equal(ours.toarray(), theirs.toarray())
    with pytest.raises(TypeError, match="[Ss]parse"):
        KernelNearestNeighbors(metric="chebyshev").fit(csr_array(S))


def test_the_direction_of_nothing():
    """As in scikit-learn, a vector of zeros is at distance 1 from all directions."""
    near = KernelNearestNeighbors(metric="cosine", n_neighbors=2).fit([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    d, index = near.kneighbors([[3.0, 0.0], [0.0, 0.0]])
    assert d.tolist() == [[0.0, 1.0], [1.0, 1.0]] and index.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "cosine"])
def test_float32_points_far_from_the_origin(metric):
    """Judged by the points as they are, in float64."""
    F = (100 + X).astype(np.float32)
    near = KernelNearestNeighbors(metric=metric, n_neighbors=5).fit(F)
    D = matrix(metric, F.astype(float), F.astype(float))
    np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1, kind="stable")[:, :5]
    found = near.kneighbors()[1]
    if metric == "cosine":  # 1 − cos of nearly equal directions has few digits in anybody's hands
        np.testing.assert_allclose(
            np.take_along_axis(D, found, axis=1), np.take_along_axis(D, order, axis=1), atol=1e-13
        )
    else:
        np.testing.assert_array_equal(found, order)


def edits(a, b):
    """How many letters differ, and how much longer one is."""
    return sum(p != q for p, q in zip(a, b, strict=False)) + abs(len(a) - len(b))


def test_functions_of_anything():
    words = ["tree", "trees", "three", "moon", "noon", "mono"]
    machine = KernelNeighborsClassifier(metric=edits, n_neighbors=2).fit(words, list("eeeooo"))
    assert machine.predict(["free", "soon"]).tolist() == ["e", "o"]
    d, index = machine.kneighbors(["tree"])
    assert d.tolist() == [[0.0, 1.0]] and index.tolist() == [[0, 1]]
    by_hand = KernelNearestNeighbors(metric=lambda a, b: float(np.abs(a - b).max()), n_neighbors=3).fit(X)
    np.testing.assert_array_equal(
        by_hand.kneighbors(T)[1], np.argsort(cdist(T, X, "chebyshev"), axis=1, kind="stable")[:, :3]
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_precomputed(dtype):
    D, far = cdist(X, X).astype(dtype), cdist(T, X).astype(dtype)
    given = KernelNearestNeighbors(metric="precomputed", n_neighbors=4, radius=0.5).fit(D)
    theirs = NearestNeighbors(metric="precomputed", n_neighbors=4, radius=0.5).fit(D)
    for asked in (far, None):
        np.testing.assert_array_equal(given.kneighbors(asked)[1], theirs.kneighbors(asked)[1])
        np.testing.assert_allclose(given.kneighbors(asked)[0], theirs.kneighbors(asked)[0])
        for ours, its in zip(given.radius_neighbors(asked), theirs.radius_neighbors(asked), strict=True):
            for a, b in zip(ours, its, strict=True):
                np.testing.assert_allclose(a, b)
    D[:] = 0  # whoever changes the matrix afterwards changes nothing here
    np.testing.assert_array_equal(given.kneighbors(far)[1], theirs.kneighbors(far)[1])


def test_a_precomputed_regressor_is_the_direct_one():
    y = X[:, 0] ** 2
    direct = KernelNeighborsRegressor(metric="euclidean", weights="distance").fit(X, y)
    given = KernelNeighborsRegressor(metric="precomputed", weights="distance").fit(cdist(X, X), y)
    np.testing.assert_allclose(given.loo_errors_, direct.loo_errors_, rtol=1e-9)
    np.testing.assert_allclose(given.predict(cdist(T, X)), direct.predict(T), rtol=1e-9)


def test_equals_come_in_the_order_of_the_data():
    lattice = np.tile([[i, j] for i in range(4) for j in range(4)], (3, 1)).astype(float)
    for metric in ("euclidean", "manhattan", "chebyshev", "canberra"):
        D = cdist(lattice, lattice, "cityblock" if metric == "manhattan" else metric)
        near = KernelNearestNeighbors(metric=metric, n_neighbors=9).fit(lattice)
        expected = np.argsort(np.round(D, 9), axis=1, kind="stable")[:, :9]
        np.testing.assert_array_equal(near.kneighbors(lattice)[1], expected)


def test_columns_without_spread_set_nothing_apart():
    flat = np.column_stack([X, np.ones(len(X))])
    near = KernelNearestNeighbors(metric="seuclidean", n_neighbors=3).fit(flat)
    bare = KernelNearestNeighbors(metric="seuclidean", n_neighbors=3).fit(X)
    np.testing.assert_array_equal(near.kneighbors()[1], bare.kneighbors()[1])
    singular = KernelNearestNeighbors(metric="mahalanobis", n_neighbors=3).fit(np.column_stack([X, X[:, 0]]))
    plain = KernelNearestNeighbors(metric="mahalanobis", n_neighbors=3).fit(X)
    np.testing.assert_array_equal(singular.kneighbors()[1], plain.kneighbors()[1])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"metric": "euclid"}, "metric must be one of .*got 'euclid'"),
        ({"metric": 3}, "metric must be None, one of"),
        ({"metric": Gaussian(1.0)}, "give kernels as kernel="),
        ({"metric_params": {"p": 3}}, "metric is None"),
        ({"metric": "euclidean", "metric_params": {"p": 3}}, "'euclidean' takes no parameters, got 'p'"),
        ({"metric": "minkowski", "metric_params": {"p": 0}}, "p must be"),
        ({"metric": "minkowski", "metric_params": {"q": 1}}, "some of p, w, V, VI"),
        ({"metric": "minkowski", "metric_params": {"p": 3, "w": [1.0, -1.0]}}, "at least 0"),
        ({"metric": "seuclidean", "metric_params": {"V": [1.0, 2.0]}}, "V is for 2 features, X has 4"),
        ({"metric": "haversine"}, "latitude and longitude"),
        ({"metric": "chebyshev", "search": "tree"}, "search='blocks'"),
        ({"metric": "precomputed"}, "must be square"),
        ({"metric": lambda a, b: -1.0}, "negative"),
        ({"metric": lambda a, b: np.nan}, "NaN"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelNearestNeighbors(**parameters).fit(X).kneighbors(T)


@pytest.mark.parametrize(
    ("D", "message"),
    [
        ([[0.0, -1.0], [-1.0, 0.0]], "at least 0"),
        ([[0.0, 1.0], [2.0, 0.0]], "symmetric"),
        ([[0.0, np.nan], [np.nan, 0.0]], "NaN"),
    ],
)
def test_wrong_matrices(D, message):
    with pytest.raises(ValueError, match=message):
        KernelNearestNeighbors(metric="precomputed", n_neighbors=1).fit(D)
    with pytest.raises(TypeError, match="would be 0"):
        distance_of("precomputed", None).bind(csr_array(np.eye(2)))


def test_what_stands_for_a_kernel_does_not_pass_for_one():
    """Minus a distance is no kernel, and no other machine takes it."""
    assert NamedDistance("euclidean").rule() is None and DistanceMatrix(np.zeros((2, 2))).rule() is None
    with pytest.raises(NotAKernel, match="not positive semidefinite"):
        KernelRidge(NamedDistance("manhattan"), lam=0.1).fit(X, X[:, 0])
