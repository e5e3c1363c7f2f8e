"""Nearest neighbours: against all distances in float64, against scikit-learn, against refitting."""

import os
import pickle
import signal
import sys
import threading
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import mercer
from mercer import KernelNeighborsClassifier, KernelNeighborsRegressor
from mercer.engines import Cuda, Tiled
from mercer.estimators.nearest import NeighbourSearch, smallest
from mercer.kernels import (
    ArcCosine,
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
    RationalQuadratic,
)

if "triton" not in sys.modules:
    os.environ.setdefault("TRITON_INTERPRET", "1")


def points(n, d=4, seed=0):
    return np.random.default_rng(seed).random((n, d))


def letters(a, b):
    """The spectrum kernel of two letters: shared pairs of neighbours in two strings, counted."""
    pairs = [{s[i : i + 2]: 0 for i in range(len(s) - 1)} for s in (a, b)]
    for s, counts in zip((a, b), pairs, strict=True):
        for i in range(len(s) - 1):
            counts[s[i : i + 2]] += 1
    return sum(c * pairs[1].get(p, 0) for p, c in pairs[0].items())


def words(n, seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("abcd"), rng.integers(2, 12))) for _ in range(n)]


def brute(kernel, X, Z=None):
    """Indices of all of Z (or of all others), nearest first, and distances, from the whole matrix."""
    alone = Z is None
    D = np.sqrt(kernel.squared_distance(X, Z))
    scale = max(np.abs(kernel.diag(X if alone else Z)).max(), 1e-9)
    if alone:
        np.fill_diagonal(D, np.inf)
    # Rounding must not decide between equals.
    order = np.argsort(np.round(D**2 / scale, 11), axis=1, kind="stable")
    order = order[:, : D.shape[1] - alone]
    return order, np.take_along_axis(D, order, axis=1)


KERNELS = [
    Gaussian(0.4),
    Laplacian(0.5),
    Laplacian(0.5, "l1"),
    Matern(1.5, 0.6),
    RationalQuadratic(1.0, 0.5),
    Linear(),
    Polynomial(3, 1.0),
    Cosine(),
    ArcCosine(1),
    ChiSquared(1.0),
    (Gaussian(1.0) * Matern(2.5, 1.0) + 1).scaled([0.3, 1.0, 2.0, 1.0]),
    Gaussian(1.0) + Polynomial(2),
    Gaussian(0.5).on([0, 2]) + Gaussian(0.5).on([1]),
    FunctionKernel(lambda x, z: float(np.minimum(x, z).sum())),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("search", ["auto", "blocks"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_neighbours_are_those_of_the_whole_matrix(kernel, search, dtype):
    X, T = points(90).astype(dtype), points(25, seed=1).astype(dtype)
    machine = KernelNeighborsRegressor(kernel, n_neighbors=7, search=search).fit(X, X[:, 0])
    for asked, expected in (
        (T, brute(kernel, T.astype(float), X.astype(float))),
        (None, brute(kernel, X.astype(float))),
    ):
        distances, index = machine.kneighbors(asked)
        np.testing.assert_array_equal(index, expected[0][:, :7])
        np.testing.assert_allclose(distances, expected[1][:, :7], rtol=1e-7, atol=1e-7)
        np.testing.assert_array_equal(machine.kneighbors(asked, return_distance=False), index)


def test_strings():
    kernel, X, T = FunctionKernel(letters), words(60), words(15, seed=1)
    y = ["a" in w for w in X]
    machine = KernelNeighborsClassifier(kernel, n_neighbors=5, weights="distance").fit(X, y)
    distances, index = machine.kneighbors(T)
    expected = brute(kernel, T, X)
    np.testing.assert_array_equal(index, expected[0][:, :5])
    np.testing.assert_allclose(distances, expected[1][:, :5], atol=1e-7)
    np.testing.assert_array_equal(machine.kneighbors()[1], brute(kernel, X)[0][:, :5])
    assert (machine.predict(X) == y).mean() > 0.9


def test_functions_of_objects_are_called_for_half_of_the_pairs():
    calls = []

    def overlap(a, b):
        calls.append(1)
        return len(a & b)

    X = np.empty(40, object)
    X[:] = [frozenset(np.random.default_rng(i).integers(0, 12, 6).tolist()) for i in range(40)]
    machine = KernelNeighborsClassifier(overlap, max_neighbors=5).fit(X, [len(x) % 2 for x in X])
    assert len(calls) < 40 * 41 / 2 + 3 * 40 + 10**2  # the last: what the door looks at
    np.testing.assert_array_equal(
        machine.kneighbors()[1], brute(FunctionKernel(overlap), X)[0][:, : machine.n_neighbors_]
    )


@pytest.mark.parametrize("kernel", [Gaussian(0.4), Polynomial(2)], ids=repr)
def test_precomputed(kernel):
    X, T = points(50), points(12, seed=1)
    y = np.where(X[:, 0] > 0.5, "a", "b")
    direct = KernelNeighborsClassifier(kernel).fit(X, y)
    machine = KernelNeighborsClassifier(Precomputed()).fit(kernel(X), y)
    np.testing.assert_array_equal(machine.loo_errors_, direct.loo_errors_)
    np.testing.assert_array_equal(machine.predict(kernel(T, X)), direct.predict(T))
    np.testing.assert_array_equal(
        machine.kneighbors(kernel(T, X), return_distance=False), direct.kneighbors(T, return_distance=False)
    )
    np.testing.assert_allclose(machine.kneighbors()[0], direct.kneighbors()[0], atol=1e-7)
    with pytest.raises(ValueError, match="k\\(x,x\\) of new points"):
        machine.kneighbors(kernel(T, X))


def test_finite_domains():
    K = Gaussian(0.5)(points(8))
    machine = KernelNeighborsClassifier(Finite(K), n_neighbors=1).fit(np.arange(8), np.arange(8) % 2)
    assert machine.predict([3, 4]).tolist() == [1, 0]


def test_sparse_points():
    from scipy.sparse import csr_matrix

    X = points(80, 6)
    X[X < 0.7] = 0
    y = X[:, 0]
    for kernel in (Gaussian(0.5), Linear(), Polynomial(2), Cosine()):
        dense = KernelNeighborsRegressor(kernel, n_neighbors=4, weights="distance").fit(X, y)
        sparse = KernelNeighborsRegressor(kernel, n_neighbors=4, weights="distance").fit(csr_matrix(X), y)
        assert sparse.search_ == "blocks"
        np.testing.assert_array_equal(sparse.kneighbors(csr_matrix(X))[1], dense.kneighbors(X)[1])
        np.testing.assert_allclose(sparse.predict(csr_matrix(X)), dense.predict(X), rtol=1e-6)
    tree = KernelNeighborsRegressor(Gaussian(0.5), n_neighbors=4, weights="distance", search="tree")
    np.testing.assert_allclose(tree.fit(csr_matrix(X), y).predict(csr_matrix(X)), tree.fit(X, y).predict(X))


# -- scikit-learn ---------------------------------------------------------------------------------


@pytest.mark.parametrize("search", ["blocks", "tree"])
@pytest.mark.parametrize("d", [2, 20])
def test_the_gaussian_kernel_is_scikit_learn(d, search):
    X, T = points(300, d), points(60, d, seed=1)
    y = np.digitize(X[:, 0], [0.3, 0.6])
    ours = KernelNeighborsClassifier(n_neighbors=7, search=search).fit(X, y)
    theirs = KNeighborsClassifier(7).fit(X, y)
    np.testing.assert_array_equal(ours.kneighbors(T)[1], theirs.kneighbors(T)[1])
    np.testing.assert_array_equal(ours.kneighbors()[1], theirs.kneighbors()[1])
    np.testing.assert_array_equal(ours.predict_proba(T), theirs.predict_proba(T))
    np.testing.assert_array_equal(ours.predict(T), theirs.predict(T))
    assert ours.score(T, y[:60]) == theirs.score(T, y[:60])


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: np.exp(-d)])
def test_the_linear_kernel_is_scikit_learn_with_weights(weights):
    X, T = points(200), np.concatenate([points(30, seed=1), points(200)[:10]])
    Y = np.stack([X[:, 0], X[:, 1] ** 2], axis=1)
    ours = KernelNeighborsRegressor(Linear(), n_neighbors=5, weights=weights).fit(X, Y)
    theirs = KNeighborsRegressor(5, weights=weights).fit(X, Y)
    np.testing.assert_allclose(ours.kneighbors(T)[0], theirs.kneighbors(T)[0], atol=1e-12)
    np.testing.assert_allclose(ours.predict(T), theirs.predict(T), rtol=1e-12)
    assert ours.score(T, Y[:40]) == pytest.approx(theirs.score(T, Y[:40]))
    classes = X[:, 0] > 0.5
    ours = KernelNeighborsClassifier(Linear(), n_neighbors=5, weights=weights).fit(X, classes)
    theirs = KNeighborsClassifier(5, weights=weights).fit(X, classes)
    np.testing.assert_allclose(ours.predict_proba(T), theirs.predict_proba(T), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(ours.predict(T), theirs.predict(T))


def test_shapes_of_regression():
    X = points(40)
    for y in (X[:, 0], X[:, :1], X[:, :3]):
        assert KernelNeighborsRegressor(n_neighbors=3).fit(X, y).predict(X[:7]).shape == (7, *y.shape[1:])
    machine = KernelNeighborsRegressor(n_neighbors=1).fit(X, np.arange(40))
    assert machine.predict(X).tolist() == list(range(40))


# -- exactness ------------------------------------------------------------------------------------


def test_equals_come_in_the_order_of_the_data():
    # A lattice: many equal distances, and every point five times.
    X = np.tile(np.array([[i, j] for i in range(4) for j in range(4)], float), (5, 1))
    for kernel in (Gaussian(1.0), Linear(), Polynomial(2), Laplacian(1.0, "l1"), FunctionKernel(np.dot)):
        D = kernel.squared_distance(X)
        for dtype in (np.float64, np.float32):
            for search in ("auto", "blocks"):
                machine = KernelNeighborsRegressor(kernel, n_neighbors=9, search=search)
                machine.fit(X.astype(dtype), X[:, 0])
                index = machine.kneighbors(X.astype(dtype))[1]
                expected = np.argsort(np.round(D, 9), axis=1, kind="stable")[:, :9]
                np.testing.assert_array_equal(index, expected)


def test_points_that_are_all_equal():
    X = np.ones((50, 3))
    for kernel in (Gaussian(1.0), Polynomial(2)):
        for search in ("auto", "blocks"):
            machine = KernelNeighborsClassifier(kernel, n_neighbors=3, search=search, weights="distance")
            machine.fit(X, np.arange(50) % 2)
            distances, index = machine.kneighbors(X[:2])
            assert index.tolist() == [[0, 1, 2]] * 2
            assert (distances == 0).all()
            assert machine.kneighbors()[1][:3].tolist() == [[1, 2, 3], [0, 2, 3], [0, 1, 3]]


def test_kernels_that_have_fallen_to_zero_still_tell_who_is_nearer():
    X, T = points(60), points(20, seed=1)
    machine = KernelNeighborsClassifier(Gaussian(1e-3), n_neighbors=4).fit(X, X[:, 0] > 0.5)
    np.testing.assert_array_equal(machine.kneighbors(T)[1], brute(Linear(), T, X)[0][:, :4])


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear(), Polynomial(2), Cosine()], ids=repr)
def test_float32_points_far_from_the_origin(kernel):
    """In float32 their distances vanish in rounding."""
    X = (100 + points(400, 5)).astype(np.float32)
    for search in ("auto", "blocks"):
        machine = KernelNeighborsRegressor(kernel, n_neighbors=6, search=search).fit(X, X[:, 0])
        np.testing.assert_array_equal(machine.kneighbors()[1], brute(kernel, X.astype(float))[0][:, :6])


def test_distances_of_points_far_from_the_origin():
    X = points(50)
    near, far = (KernelNeighborsRegressor(Linear(), n_neighbors=3).fit(Z, X[:, 0]) for Z in (X, X + 1e6))
    np.testing.assert_allclose(far.kneighbors()[0], near.kneighbors()[0], rtol=1e-6)


def test_duplicates_have_distance_zero():
    X = points(30)
    for kernel in (Gaussian(0.5), Polynomial(3), Cosine(), Linear(), ChiSquared(1.0)):
        machine = KernelNeighborsRegressor(kernel, n_neighbors=2, weights="distance").fit(X, X[:, 1])
        assert (machine.kneighbors(X)[0][:, 0] == 0).all()
        np.testing.assert_array_equal(machine.predict(X), X[:, 1])


@given(
    X=hnp.arrays(np.float64, st.tuples(st.integers(2, 25), st.integers(1, 3)), elements=st.integers(-4, 4)),
    count=st.integers(1, 6),
    kernel=st.sampled_from([Gaussian(2.0), Laplacian(1.0, "l1"), Polynomial(2), Linear(), Matern(1.5, 1.0)]),
    search=st.sampled_from(["auto", "blocks"]),
    dtype=st.sampled_from([np.float64, np.float32]),
)
def test_small_cases(X, count, kernel, search, dtype):
    count = min(count, len(X) - 1)
    machine = KernelNeighborsRegressor(kernel, n_neighbors=count, search=search).fit(X.astype(dtype), X[:, 0])
    np.testing.assert_array_equal(machine.kneighbors()[1], brute(kernel, X)[0][:, :count])
    np.testing.assert_array_equal(machine.kneighbors(X.astype(dtype))[1], brute(kernel, X, X)[0][:, :count])


@given(
    G=hnp.arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 400)), elements=st.floats(-9, 9)),
    count=st.integers(1, 12),
)
def test_smallest(G, count):
    count = min(count, G.shape[1])
    found = smallest(G, count)
    assert all(len(set(row)) == count for row in found.tolist())
    expected = np.sort(G, axis=1)[:, :count]
    np.testing.assert_array_equal(np.sort(np.take_along_axis(G, found, axis=1), axis=1), expected)


def test_nan_is_seen():
    def sometimes(x, z):
        return np.nan if x[0] > 0.9 and z[0] < 0.05 else float(x @ z)

    X = points(200)
    with pytest.raises(ValueError, match="gives NaN or infinity"):
        KernelNeighborsClassifier(sometimes, n_neighbors=2).fit(X, X[:, 0] > 0.5).predict(X)


@pytest.mark.parametrize("search", ["tree", "blocks"])
@pytest.mark.parametrize("size, what", [(1e200, "too large"), (1e-200, "too small")])
def test_points_too_large_or_too_small(search, size, what):
    X = size * points(30)
    machine = KernelNeighborsClassifier(Gaussian(1.0), n_neighbors=2, search=search)
    with pytest.raises(ValueError, match=what), np.errstate(all="ignore"):
        machine.fit(X, X[:, 0] > 0.5 * size).predict(X)


def test_many_rows_in_little_memory():
    """The matrix would take 128 MB; kernel values for a block of rows, 16 MB a thread, do."""
    X = points(4000, 20).astype(np.float32)
    machine = KernelNeighborsClassifier(Polynomial(2), n_neighbors=5, engine=Tiled(threads=1))
    machine.fit(X[:10], X[:10, 0] > 0.5).predict(X[:10])
    machine.fit(X, X[:, 0] > 0.5)
    tracemalloc.start()
    machine.predict(np.concatenate([X, X]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 48e6


# -- how many -------------------------------------------------------------------------------------


def refitted(machine, X, y, r):
    """Every example predicted by a machine with R = r and without it, and without copies of it."""
    machine = machine.__class__(**{**machine.get_params(deep=False), "n_neighbors": r})
    others = [(x != X).any(axis=1) for x in X]
    return np.array([machine.fit(X[rest], y[rest]).predict(X[~rest][:1])[0] for rest in others])


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: 1 + d.max(axis=1, keepdims=True) - d])
@pytest.mark.parametrize("kernel", [Gaussian(0.4), Polynomial(2)], ids=repr)
def test_leave_one_out_is_refitting(kernel, weights):
    X = np.concatenate([points(22, 2), points(22, 2)[:3]])  # with copies, at distance 0
    classes = np.digitize(X[:, 0] + 0.3 * points(25, 1, seed=2)[:, 0], [0.4, 0.8])
    machine = KernelNeighborsClassifier(kernel, weights=weights, max_neighbors=9).fit(X, classes)
    expected = [np.mean(refitted(machine, X, classes, r) != classes) for r in range(1, 10)]
    np.testing.assert_allclose(machine.loo_errors_, expected, atol=1e-12)
    assert machine.n_neighbors_ == 1 + np.argmin(expected)
    Y = np.stack([X[:, 0] ** 2, X[:, 1]], axis=1)
    machine = KernelNeighborsRegressor(kernel, weights=weights, max_neighbors=9).fit(X, Y)
    expected = [np.mean((refitted(machine, X, Y, r) - Y) ** 2) for r in range(1, 10)]
    np.testing.assert_allclose(machine.loo_errors_, expected, rtol=1e-9)


def test_how_many_are_tried():
    X, y = points(200), points(200)[:, 0]
    assert len(KernelNeighborsRegressor().fit(X[:8], y[:8]).loo_errors_) == 7
    assert len(KernelNeighborsRegressor().fit(X[:40], y[:40]).loo_errors_) == 15
    assert len(KernelNeighborsRegressor().fit(X, y).loo_errors_) == 29  # 2√200, rounded up
    assert len(KernelNeighborsRegressor(max_neighbors=3).fit(X, y).loo_errors_) == 3
    machine = KernelNeighborsRegressor(n_neighbors=4).fit(X, y)
    assert machine.n_neighbors_ == 4 and not hasattr(machine, "loo_errors_")


def test_noise_asks_for_more_neighbours():
    rng = np.random.default_rng(0)
    X = rng.random((600, 1))
    clean = np.sin(6 * X[:, 0])
    few = KernelNeighborsRegressor().fit(X, clean).n_neighbors_
    many = KernelNeighborsRegressor().fit(X, clean + rng.standard_normal(600)).n_neighbors_
    assert few < 6 < 15 < many


def test_one_example_and_one_class():
    assert KernelNeighborsClassifier().fit([[1.0]], ["a"]).predict([[5.0]]).tolist() == ["a"]
    assert KernelNeighborsRegressor().fit([[1.0]], [2.0]).predict([[5.0]]).tolist() == [2.0]
    machine = KernelNeighborsClassifier(n_neighbors=2).fit([[0.0], [1.0]], ["a", "a"])
    assert machine.predict_proba([[5.0]]).tolist() == [[1.0]]


def test_equal_shares_go_to_the_first_class():
    machine = KernelNeighborsClassifier(n_neighbors=2).fit([[0.0], [1.0]], ["b", "a"])
    assert machine.predict([[0.1]]).tolist() == ["a"]
    assert machine.predict_proba([[0.1]]).tolist() == [[0.5, 0.5]]


# -- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"n_neighbors": 11}, "n_neighbors = 11, but each point has at most 10 neighbours: .*n_samples = 10"),
        ({"n_neighbors": 0}, "n_neighbors must be a whole number of at least 1 or 'auto'.*got 0"),
        ({"n_neighbors": 2.5}, "n_neighbors must be a whole number"),
        ({"n_neighbors": True}, "n_neighbors must be a whole number"),
        ({"n_neighbors": np.nan}, "n_neighbors must be a whole number"),
        ({"n_neighbors": "all"}, "n_neighbors must be a whole number of at least 1 or 'auto'.*got 'all'"),
        ({"max_neighbors": 0}, "max_neighbors must be a whole number of at least 1 or None"),
        ({"weights": "gaussian"}, "weights must be 'uniform', 'distance' or a function .*got 'gaussian'"),
        ({"weights": None}, "weights must be"),
        ({"search": "ball"}, "search must be one of 'auto', 'blocks', 'tree', got 'ball'"),
        ({"search": "tree", "kernel": Polynomial(2)}, "not for Polynomial.*search='blocks'"),
        ({"kernel": "gausian"}, "did you mean 'gaussian'"),
        ({"weights": lambda d: d[:, :1], "n_neighbors": 3}, "returned weights of shape"),
        ({"weights": lambda d: d / 0.0 * np.inf, "n_neighbors": 3}, "NaN or infinity"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_wrong_parameters(parameters, message):
    X = points(10)
    with pytest.raises(ValueError, match=message):
        KernelNeighborsClassifier(**parameters).fit(X, np.arange(10) % 2).predict(X)


def test_wrong_calls():
    X, y = points(10), np.arange(10) % 2
    machine = KernelNeighborsClassifier(n_neighbors=3)
    for call in (machine.predict, machine.predict_proba, machine.kneighbors):
        with pytest.raises(NotFittedError):
            call(X)
    with pytest.raises(ValueError, match="NaN"):
        machine.fit(X * np.nan, y)
    with pytest.raises(ValueError, match="requires y"):
        machine.fit(X, None)
    machine.fit(X, y)
    with pytest.raises(ValueError, match="n_neighbors = 10, but .* at most 9 neighbours besides itself"):
        machine.kneighbors(n_neighbors=10)
    assert machine.kneighbors(X, n_neighbors=10)[1].shape == (10, 10)
    with pytest.raises(ValueError, match="features"):
        machine.predict(X[:, :2])
    with pytest.raises(ValueError, match="negative"):
        KernelNeighborsRegressor(n_neighbors=2, weights=np.negative).fit(X, y).predict(X + 1)


# -- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Gaussian(), Polynomial(2), Precomputed()], ids=repr)
def test_files(kernel, tmp_path):
    X = points(40)
    X = Linear()(X) if kernel == Precomputed() else X
    y = np.where(np.arange(40) % 3, "a", "b")
    weights = "uniform" if kernel == Precomputed() else "distance"
    for machine, target in (
        (KernelNeighborsClassifier(kernel, weights=weights), y),
        (KernelNeighborsRegressor(kernel, weights=weights), points(40, 2)),
    ):
        machine.fit(X, target)
        mercer.save(machine, tmp_path / "it.mercer")
        for again in (mercer.load(tmp_path / "it.mercer"), pickle.loads(pickle.dumps(machine))):
            np.testing.assert_array_equal(again.predict(X), machine.predict(X))
            np.testing.assert_array_equal(again.loo_errors_, machine.loo_errors_)
            assert again.get_params() == machine.get_params()


def test_files_refuse_what_makes_no_sense(tmp_path):
    from mercer.io import ModelFileError

    machine = KernelNeighborsClassifier(n_neighbors=2).fit(points(10), np.arange(10) % 2)
    machine._targets = machine._targets + 5
    with pytest.raises(ModelFileError, match="none of the classes"):
        mercer.save(machine, tmp_path / "it.mercer")
    machine._targets = machine._targets[:5] - 5
    with pytest.raises(ModelFileError, match="do not belong together"):
        mercer.save(machine, tmp_path / "it.mercer")


def test_onnx_is_refused():
    pytest.importorskip("onnx")
    machine = KernelNeighborsClassifier(n_neighbors=2).fit(points(10), np.arange(10) % 2)
    with pytest.raises(TypeError, match="KernelNeighborsClassifier.* has no ONNX version"):
        mercer.to_onnx(machine)


# -- elsewhere ------------------------------------------------------------------------------------


def test_tensors():
    torch = pytest.importorskip("torch", reason="needs torch")
    X = points(50).astype(np.float32)
    machine = KernelNeighborsClassifier(Polynomial(2)).fit(torch.tensor(X), torch.tensor(X[:, 0] > 0.5))
    assert isinstance(machine.predict_proba(torch.tensor(X)), torch.Tensor)
    np.testing.assert_array_equal(machine.predict(torch.tensor(X)).numpy(), machine.predict(X))


@pytest.mark.parametrize("kernel", [Gaussian(0.4), Polynomial(2)], ids=repr)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_cuda_engine_finds_the_same(kernel, dtype):
    pytest.importorskip("torch", reason="needs torch and triton")
    pytest.importorskip("triton", reason="needs torch and triton")
    if os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("Triton runs natively here")
    X = points(80).astype(dtype)
    found = []
    for engine in (Tiled(), Cuda(device="cpu")):
        machine = KernelNeighborsRegressor(kernel, weights="distance", search="blocks", engine=engine)
        machine.fit(X[:60], X[:60, 0])
        found.append((machine.loo_errors_, machine.kneighbors(X)[1], machine.predict(X)))
    np.testing.assert_allclose(found[1][0], found[0][0])
    np.testing.assert_array_equal(found[1][1], found[0][1])
    np.testing.assert_allclose(found[1][2], found[0][2])


def test_all_cores_find_the_same():
    X = points(1500, 20)
    y = X[:, 0] > 0.5
    one, two = (
        KernelNeighborsClassifier(Polynomial(2), n_neighbors=3, engine=Tiled(threads=t)).fit(X, y)
        for t in (1, 2)
    )
    np.testing.assert_array_equal(one.kneighbors()[1], two.kneighbors()[1])


def test_an_interruption_leaves_the_threads_of_a_tree_alone():
    """SciPy's threads write to arrays which an exception in their midst would take from under them."""
    X = points(2000, 2)
    machine = KernelNeighborsRegressor(n_neighbors=2, search="tree").fit(X, X[:, 0])
    tree, begun, go_on, done = machine._found.tree, threading.Event(), threading.Event(), threading.Event()

    class Slow:
        def query(self, *asked, **how):
            begun.set()
            assert go_on.wait(60)
            found = tree.query(*asked, **how)
            done.set()
            return found

    def interrupt():
        begun.wait(60)
        os.kill(os.getpid(), signal.SIGINT)

    machine._found.tree = Slow()
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        machine.predict(X)
    assert begun.is_set() and not done.is_set()  # it was heard at once, and the tree is still at it
    go_on.set()
    assert done.wait(60)
    thread.join()
    machine._found.tree = tree
    assert machine.predict(X[:1]) == machine.predict(X)[:1]


def test_trees_are_for_few_dimensions():
    rng = np.random.default_rng(0)
    flat = rng.random((500, 3)) @ rng.random((3, 12))
    for X, way in (
        (rng.random((500, 8)), "tree"),
        (rng.random((500, 12)), "blocks"),
        (flat, "tree"),
        (rng.random((500, 3)) @ rng.random((3, 16)), "blocks"),
        (np.ones((20, 12)), "tree"),
        (rng.random((1, 12)), "tree"),
    ):
        assert KernelNeighborsRegressor(n_neighbors=1).fit(X, X[:, 0]).search_ == way
        assert NeighbourSearch(Polynomial(2), X, "auto").way == "blocks"


def test_a_search_can_be_asked_for_all():
    X = points(30)
    for kernel in (Gaussian(1.0), Polynomial(2)):
        for way in ("auto", "blocks"):
            index, _ = NeighbourSearch(kernel, X, way).nearest(None, 29, Tiled())
            assert all(sorted([*row, i]) == list(range(30)) for i, row in enumerate(index.tolist()))


def test_copies_do_not_choose_the_number_of_neighbours():
    """Noise, every example four times: one neighbour would explain it all."""
    rng = np.random.default_rng(0)
    four = rng.permutation(np.repeat(np.arange(30), 4))
    X, y = rng.standard_normal((30, 2))[four], rng.standard_normal(30)[four]
    machine = KernelNeighborsRegressor(Gaussian(1.0), max_neighbors=20).fit(X, y)
    assert machine.n_neighbors_ > 4 and machine.loo_errors_.min() > 0.8 * np.var(y)


# -- several columns of labels -----------------------------------------------------------------------


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: np.exp(-d)])
def test_several_columns_are_those_of_scikit_learn(weights):
    X, T = points(120), points(30, seed=1)
    Y = np.stack([np.digitize(X[:, 0], [0.3, 0.6]), X[:, 1] > 0.5], axis=1).astype(int)
    for table in (Y, np.array(["a", "b", "c"])[Y]):
        ours = KernelNeighborsClassifier(n_neighbors=5, weights=weights, metric="euclidean").fit(X, table)
        theirs = KNeighborsClassifier(5, weights=weights).fit(X, table)
        np.testing.assert_array_equal(ours.predict(T), theirs.predict(T))
        assert ours.predict(T).dtype == theirs.predict(T).dtype
        for a, b in zip(ours.predict_proba(T), theirs.predict_proba(T), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
        for a, b in zip(ours.classes_, theirs.classes_, strict=True):
            np.testing.assert_array_equal(a, b)


def test_how_many_neighbours_suit_all_columns():
    X = points(60)
    Y = np.stack([np.digitize(X[:, 0], [0.3, 0.6]), X[:, 1] > 0.5], axis=1).astype(int)
    both = KernelNeighborsClassifier(max_neighbors=9).fit(X, Y)
    each = [KernelNeighborsClassifier(max_neighbors=9).fit(X, y).loo_errors_ for y in Y.T]
    np.testing.assert_allclose(both.loo_errors_, np.mean(each, axis=0))
    by_function = KernelNeighborsClassifier(max_neighbors=9, weights=lambda d: 0 * d + 1).fit(X, Y)
    np.testing.assert_allclose(by_function.loo_errors_, both.loo_errors_)


def test_columns_of_labels_that_can_not_be_learned():
    X = points(10)
    for y, message in (
        (np.zeros((10, 2, 2)), "columns of labels"),
        (np.where(np.arange(20).reshape(10, 2) == 3, np.nan, 1.0), "NaN"),
        (np.random.default_rng(0).random((10, 2)), "continuous"),
        (np.zeros((9, 2), int), "inconsistent numbers of samples"),
    ):
        with pytest.raises(ValueError, match=message):
            KernelNeighborsClassifier(n_neighbors=2).fit(X, y)


def test_several_columns_in_files(tmp_path):
    X = points(30)
    Y = np.stack([X[:, 0] > 0.5, X[:, 1] > 0.3], axis=1).astype(int)
    machine = KernelNeighborsClassifier(n_neighbors=3).fit(X, Y)
    mercer.save(machine, tmp_path / "two.mercer")
    again = mercer.load(tmp_path / "two.mercer")
    np.testing.assert_array_equal(again.predict(X), machine.predict(X))
    again._targets = again._targets + 1
    with pytest.raises(ValueError, match="none of the classes"):
        again.check_state()
