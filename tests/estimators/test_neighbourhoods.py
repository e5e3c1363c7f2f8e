"""Within a radius, and graphs: against all distances in float64, and against scikit-learn."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import NearestNeighbors

import mercer
from mercer import (
    KernelNearestNeighbors,
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    KernelRadiusNeighborsRegressor,
)
from mercer.engines import Tiled
from mercer.estimators.nearest import NeighbourSearch
from mercer.estimators.within import Neighbourhoods, within
from mercer.kernels import (
    ChiSquared,
    Cosine,
    Finite,
    FunctionKernel,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
)

KERNELS = [
    Gaussian(0.4),
    Laplacian(0.5, "l1"),
    Matern(1.5, 0.6),
    Linear(),
    Polynomial(3, 1.0),
    Cosine(),
    ChiSquared(1.0),
    (Gaussian(1.0) * Matern(2.5, 1.0) + 1).scaled([0.3, 1.0, 2.0, 1.0]),
    Linear().scaled([0.3, 1.0, 2.0, 1.0]),
    Gaussian(1.0) + Polynomial(2),
    FunctionKernel(lambda x, z: float(np.minimum(x, z).sum())),
]


def points(n, d=4, seed=0):
    return np.random.default_rng(seed).random((n, d))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("search", ["auto", "blocks"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_those_within_are_those_of_the_whole_matrix(kernel, search, dtype):
    X, T = points(90).astype(dtype), points(25, seed=1).astype(dtype)
    machine = KernelNearestNeighbors(kernel, search=search).fit(X)
    for asked in (T, None):
        D = np.sqrt(kernel.squared_distance((X if asked is None else asked).astype(float), X.astype(float)))
        if asked is None:
            np.fill_diagonal(D, np.inf)
        radius = float(np.quantile(D[np.isfinite(D)], 0.15)) + 1e-9
        d, index = machine.radius_neighbors(asked, radius)
        assert len(d) == len(index) == len(D)
        for i in range(len(D)):
            np.testing.assert_array_equal(index[i], np.flatnonzero(D[i] <= radius))
            np.testing.assert_allclose(d[i], D[i, index[i]], rtol=1e-7, atol=1e-7)
        near, order = machine.radius_neighbors(asked, radius, sort_results=True)
        for i in range(len(D)):
            assert (np.diff(near[i]) >= 0).all() and set(order[i]) == set(index[i])
        radii = np.where(np.arange(len(D)) % 3, np.linspace(0, 1.2 * radius, len(D)), np.inf)
        graph = machine.radius_neighbors_graph(asked, radii)
        np.testing.assert_array_equal(graph.toarray(), np.isfinite(D) & (radii[:, None] >= D))


@given(
    X=hnp.arrays(np.float64, st.tuples(st.integers(1, 20), st.integers(1, 3)), elements=st.integers(-4, 4)),
    radius=st.integers(0, 5),
    search=st.sampled_from(["tree", "blocks"]),
    metric=st.sampled_from(["euclidean", "manhattan", "sqeuclidean"]),
    dtype=st.sampled_from([np.float64, np.float32]),
)
def test_whoever_is_on_the_edge_is_within(X, radius, search, metric, dtype):
    """Whole numbers, so that many distances are exactly the radius, and many points are one."""
    s = np.abs(X[:, None] - X).sum(axis=2) if metric == "manhattan" else np.square(X[:, None] - X).sum(axis=2)
    inside = s <= (radius**2 if metric == "euclidean" else radius)
    machine = KernelNearestNeighbors(metric=metric, search=search, radius=radius).fit(X.astype(dtype))
    np.testing.assert_array_equal(machine.radius_neighbors_graph(X.astype(dtype)).toarray(), inside)
    np.fill_diagonal(inside, False)
    np.testing.assert_array_equal(machine.radius_neighbors_graph().toarray(), inside)


@pytest.mark.parametrize("search", ["tree", "blocks"])
@pytest.mark.parametrize("d", [2, 20])
def test_graphs_are_those_of_scikit_learn(d, search):
    X, T = points(120, d), points(30, d, seed=1)
    radius = 0.3 if d == 2 else 1.6
    ours = KernelNearestNeighbors(metric="euclidean", n_neighbors=4, radius=radius, search=search).fit(X)
    theirs = NearestNeighbors(n_neighbors=4, radius=radius).fit(X)
    for asked in (T, X, None):
        for mode in ("connectivity", "distance"):
            a, b = ours.kneighbors_graph(asked, mode=mode), theirs.kneighbors_graph(asked, mode=mode)
            assert type(a) is type(b) and a.dtype == b.dtype and a.format == "csr"
            np.testing.assert_array_equal(a.indptr, b.indptr)
            np.testing.assert_array_equal(a.indices, b.indices)
            # There equal points are some 1e-8 apart.
            np.testing.assert_allclose(a.data, b.data, rtol=1e-9, atol=1e-7)
            a = ours.radius_neighbors_graph(asked, mode=mode)
            b = theirs.radius_neighbors_graph(asked, mode=mode)
            np.testing.assert_array_equal(a.indptr, b.indptr)
            np.testing.assert_allclose(a.toarray(), b.toarray(), rtol=1e-9, atol=1e-7)
    a, b = ours.kneighbors_graph(T, 7), theirs.kneighbors_graph(T, 7)
    np.testing.assert_array_equal(a.toarray(), b.toarray())
    graph = KernelNeighborsClassifier(n_neighbors=3).fit(X, X[:, 0] > 0.5).kneighbors_graph()
    assert graph.shape == (120, 120) and (graph.sum(axis=1) == 3).all() and not graph.diagonal().any()


def test_float32_points_far_from_the_origin():
    """In float32 their distances vanish in rounding; the points as they are decide."""
    X = (1000 + points(200, 5)).astype(np.float32)
    for kernel in (Linear(), Gaussian(0.5), Laplacian(0.5)):
        D = np.sqrt(kernel.squared_distance(X.astype(float)))
        radius = float(np.quantile(D, 0.1))
        for search in ("auto", "blocks"):
            machine = KernelNearestNeighbors(kernel, search=search).fit(X)
            found = machine.radius_neighbors_graph(X, radius * (1 + 1e-9)).toarray()
            np.testing.assert_array_equal(found, radius * (1 + 1e-9) >= D)


def test_copies_have_distance_zero():
    X = np.concatenate([points(20), points(20)])
    for kernel in (Gaussian(0.5), Polynomial(3), Cosine(), Linear()):
        d, index = KernelNearestNeighbors(kernel, radius=0.0).fit(X).radius_neighbors()
        assert [i.tolist() for i in index] == [[(i + 20) % 40] for i in range(40)]
        assert all((x == 0).all() for x in d)


def test_machines_with_labels_know_who_is_near_too():
    X, y = points(40), points(40)[:, 0]
    plain = KernelNearestNeighbors(metric="euclidean", n_neighbors=3, radius=0.4).fit(X)
    by_count = KernelNeighborsRegressor(metric="euclidean", n_neighbors=3).fit(X, y)
    by_radius = KernelRadiusNeighborsRegressor(metric="euclidean", radius=0.4).fit(X, y)
    for machine in (by_count, by_radius):
        graph = machine.kneighbors_graph(X, 3) if machine is by_radius else machine.kneighbors_graph(X)
        np.testing.assert_array_equal(graph.toarray(), plain.kneighbors_graph(X).toarray())
        graph = machine.radius_neighbors_graph(X, 0.4 if machine is by_count else None)
        np.testing.assert_array_equal(graph.toarray(), plain.radius_neighbors_graph(X).toarray())
    with pytest.raises(ValueError, match="radius must be a number of at least 0, got None"):
        by_count.radius_neighbors(X)
    with pytest.raises(ValueError, match="n_neighbors must be a whole number"):
        by_radius.kneighbors(X)


def test_nobody_near():
    machine = KernelNearestNeighbors(metric="euclidean", radius=0.5).fit([[0.0], [1.0]])
    d, index = machine.radius_neighbors([[9.0], [0.2]])
    assert d.dtype == index.dtype == object
    assert d[0].shape == index[0].shape == (0,) and index[1].tolist() == [0]
    assert machine.radius_neighbors_graph([[9.0]]).nnz == 0


def test_sparse_points():
    X = np.where(points(60, 6) < 0.7, 0, points(60, 6))
    for kernel in (Gaussian(0.5), Linear(), Polynomial(2), Cosine()):
        dense, sparse = (KernelNearestNeighbors(kernel, radius=0.6).fit(A) for A in (X, csr_array(X)))
        for asked in (X, None):
            a = dense.radius_neighbors_graph(asked, mode="distance").toarray()
            b = sparse.radius_neighbors_graph(None if asked is None else csr_array(asked), mode="distance")
            np.testing.assert_allclose(b.toarray(), a, atol=1e-7)


def test_objects_and_matrices():
    def shared(a, b):
        return len(set(a) & set(b))

    words = ["tea", "ten", "eat", "moo", "zoo"]
    D = FunctionKernel(shared).distance(words)
    machine = KernelNearestNeighbors(shared, n_neighbors=1, radius=1.5).fit(words)
    np.testing.assert_allclose(
        machine.radius_neighbors_graph(words, mode="distance").toarray(), D * (D <= 1.5)
    )
    K = Gaussian(0.5)(points(30))
    D = np.sqrt(np.maximum(2 - 2 * K, 0))
    for finite in (Precomputed(), Finite(K)):
        machine = KernelNearestNeighbors(finite, radius=0.8).fit(
            K if isinstance(finite, Precomputed) else np.arange(30)
        )
        found = machine.radius_neighbors_graph(mode="distance").toarray()
        np.testing.assert_allclose(found, np.where(D <= 0.8, D, 0), atol=1e-7)
    machine = KernelNearestNeighbors(Precomputed(), radius=0.8).fit(K)
    with pytest.raises(ValueError, match="k\\(x,x\\) of new points.*metric='precomputed'"):
        machine.radius_neighbors(K[:3])


def test_trips_through_files(tmp_path):
    X, T = points(40), points(9, seed=1)
    for metric in ("euclidean", "chebyshev", "precomputed"):
        A, B = (X, T) if metric != "precomputed" else (Linear().distance(X), Linear().distance(T, X))
        machine = KernelNearestNeighbors(metric=metric, radius=0.5).fit(A)
        mercer.save(machine, tmp_path / "near.mercer")
        for again in (pickle.loads(pickle.dumps(machine)), mercer.load(tmp_path / "near.mercer")):
            a, b = (m.radius_neighbors_graph(B, mode="distance") for m in (machine, again))
            np.testing.assert_array_equal(a.toarray(), b.toarray())
            np.testing.assert_array_equal(machine.kneighbors(B)[1], again.kneighbors(B)[1])


def test_callers_may_change_their_arrays():
    X = points(30)
    machine = KernelNearestNeighbors(metric="euclidean", radius=0.4).fit(X)
    before = machine.radius_neighbors_graph(X).toarray()
    own = X.copy()
    X[:] = 0
    np.testing.assert_array_equal(machine.radius_neighbors_graph(own).toarray(), before)


def test_lists_of_neighbours():
    found = Neighbourhoods(np.array([0, 2, 2, 3]), np.array([5, 1, 0]), np.array([2.0, 2.0, 1.0]))
    assert len(found) == 3 and found.counts.tolist() == [2, 0, 1] and found.owners.tolist() == [0, 0, 2]
    assert found.by_distance().index.tolist() == [1, 5, 0]
    assert [v.tolist() for v in found.in_lists(found.index)] == [[5, 1], [], [0]]
    table = Neighbourhoods.of_table(np.array([[3, 1], [2, 0]]))
    assert table.index.tolist() == [3, 1, 2, 0] and table.counts.tolist() == [2, 2]


def test_blocks_of_rows_are_put_together_in_order():
    X = points(3000, 12)
    search = NeighbourSearch(Gaussian(1.0), X, "blocks")
    found = within(search, X, 0.55, Tiled(threads=2))
    D = np.sqrt(np.maximum(2 - 2 * Gaussian(1.0)(X[1500:1501], X), 0))[0]
    index = found.in_lists(found.index)
    np.testing.assert_array_equal(index[1500], np.flatnonzero(D <= 0.55))
    assert (np.diff(found.owners) >= 0).all()


@pytest.mark.parametrize("radius", [-1.0, np.nan, "far", None, True, [1.0]])
def test_wrong_radii(radius):
    with pytest.raises(ValueError, match="radius must be a number of at least 0"):
        KernelNearestNeighbors(radius=radius).fit(points(5))
    machine = KernelNearestNeighbors().fit(points(5))
    for several in ([0.1] * 4, [0.1, 0.2, -1.0, 0.1, 0.1], ["far"] * 5):
        with pytest.raises(ValueError, match="one for each of the 5 points"):
            machine.radius_neighbors(radius=several)


def test_wrong_calls():
    X = points(10)
    machine = KernelNearestNeighbors()
    for call in (machine.kneighbors, machine.radius_neighbors, machine.kneighbors_graph):
        with pytest.raises(NotFittedError):
            call(X)
    machine.fit(X)
    for mode in ("near", None):
        with pytest.raises(ValueError, match="mode must be one of 'connectivity', 'distance'"):
            machine.kneighbors_graph(X, mode=mode)
        with pytest.raises(ValueError, match="mode must be one of"):
            machine.radius_neighbors_graph(X, mode=mode)
    with pytest.raises(ValueError, match="n_neighbors = 10, but each point has at most 9 neighbours besides"):
        machine.kneighbors(n_neighbors=10)
    with pytest.raises(ValueError, match="n_neighbors"):
        KernelNearestNeighbors(n_neighbors=0).fit(X)
    with pytest.raises(ValueError, match="features"):
        machine.radius_neighbors(X[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        machine.radius_neighbors(X * np.nan)


@pytest.mark.parametrize("search", ["tree", "blocks"])
def test_points_too_large(search):
    X = 1e200 * points(30)
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="too large"):
        KernelNearestNeighbors(Linear(), search=search).fit(X).radius_neighbors(X, 1e200)
