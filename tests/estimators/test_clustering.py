"""Kernel k-means: what it finds, in every representation, and how it says no."""

import os
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

import mercer
from mercer import KernelKMeans
from mercer._state import check
from mercer.engines import Cuda, Tiled
from mercer.estimators import cluster_spaces, plan
from mercer.features import RandomFourierFeatures
from mercer.functions import FeatureFunction
from mercer.kernels import Finite, FunctionKernel, Gaussian, Linear, Polynomial, Precomputed
from mercer.representations import Features, Full, Lasso, Nystrom

RNG = np.random.default_rng(0)


def said(machine):
    """What was chosen, and why, in a line."""
    return f"{machine.plan_.representation!r}: {'; '.join(machine.plan_.reasons)}"


def blobs(n=200, d=2, clusters=4, spread=0.7, seed=0):
    rng = np.random.default_rng(seed)
    centres = 4 * rng.standard_normal((clusters, d))
    return centres[np.arange(n) % clusters] + spread * rng.standard_normal((n, d))


def rings(n=400, seed=0):
    rng = np.random.default_rng(seed)
    angle, truth = rng.uniform(0, 2 * np.pi, n), np.arange(n) % 2
    X = np.column_stack([np.cos(angle), np.sin(angle)]) * np.where(truth, 3.0, 1.0)[:, None]
    return X + 0.1 * rng.standard_normal((n, 2)), truth


def spirals(n=600, seed=0):
    rng = np.random.default_rng(seed)
    t, truth = np.sqrt(rng.uniform(0.05, 1, n)) * 3 * np.pi, np.arange(n) % 2
    X = np.column_stack([t * np.cos(t + truth * np.pi), t * np.sin(t + truth * np.pi)])
    return X + 0.1 * rng.standard_normal((n, 2)), truth


def squared_distances(K, members, weights, Kx=None, diagonal=None):
    """Of points with kernel values Kx to the means, by the definition."""
    k = members.max() + 1
    W = np.eye(k)[members] * weights[:, None]
    W /= W.sum(axis=0)
    Kx, diagonal = (K, np.diag(K)) if Kx is None else (Kx, diagonal)
    return diagonal[:, None] - 2 * Kx @ W + np.diag(W.T @ K @ W)


# -- the linear kernel ------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, 1e5])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_linear_is_k_means(offset, dtype):
    X = blobs(500, 5, 6).astype(dtype) + np.float32(offset if dtype == "float64" else 0)
    index = np.random.default_rng(1).choice(500, 6, replace=False)
    peer = KMeans(6, init=X[index], n_init=1, tol=0, algorithm="lloyd").fit(X)
    machine = KernelKMeans(Linear(), 6, init=index, tol=0).fit(X)
    assert machine.inertia_ == pytest.approx(peer.inertia_, rel=1e-6)
    np.testing.assert_array_equal(machine.labels_, peer.labels_)
    np.testing.assert_allclose(machine.centroids_, peer.cluster_centers_, rtol=1e-5, atol=1e-4)
    np.testing.assert_array_equal(machine.predict(X), machine.labels_)
    np.testing.assert_allclose(machine.transform(X), peer.transform(X), rtol=1e-3)
    assert machine.transform(X).dtype == dtype
    # The same in all representations.
    for representation in ("full", Nystrom(n_centres=500)):
        other = KernelKMeans(Linear(), 6, init=index, tol=0, representation=representation).fit(X - X.mean(0))
        assert other.inertia_ == pytest.approx(peer.inertia_, rel=1e-5)
        np.testing.assert_allclose(other.centroids_ + X.mean(0), machine.centroids_, rtol=1e-3, atol=1e-3)


def test_weighted_linear_is_weighted_k_means():
    X, w = blobs(300, 3, 5), np.random.default_rng(1).uniform(0, 3, 300)
    peer = KMeans(5, init=X[:5], n_init=1, tol=0, algorithm="lloyd").fit(X, sample_weight=w)
    machine = KernelKMeans(Linear(), 5, init=X[:5], tol=0).fit(X, sample_weight=w)
    assert machine.inertia_ == pytest.approx(peer.inertia_, rel=1e-6)
    np.testing.assert_array_equal(machine.labels_, peer.labels_)
    assert machine.score(X, sample_weight=w) == pytest.approx(peer.score(X, sample_weight=w))


def test_sparse_points():
    X = np.where(RNG.random((150, 40)) < 0.1, RNG.standard_normal((150, 40)), 0)
    sparse = sp.csr_array(X)
    for kernel in (Linear(), Gaussian(2.0)):
        dense = KernelKMeans(kernel, 3, init=[0, 1, 2], tol=0).fit(X)
        machine = KernelKMeans(kernel, 3, init=[0, 1, 2], tol=0).fit(sparse)
        assert machine.inertia_ == pytest.approx(dense.inertia_, rel=1e-9)
        np.testing.assert_array_equal(machine.predict(sparse), dense.predict(X))
        np.testing.assert_allclose(machine.transform(sparse), dense.transform(X), rtol=1e-6)


def test_more_coordinates_than_points():
    X = RNG.standard_normal((20, 50))
    machine = KernelKMeans(Linear(), 3, random_state=0).fit(X)
    assert machine.centroids_.shape == (3, 50) and "50 coordinates" in str(machine.plan_)


# -- other kernels ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", [Gaussian(1.5), Polynomial(2)], ids=repr)
def test_distances_energies_and_labels_are_those_of_the_definition(kernel, weighted):
    X, Z = blobs(120), blobs(30, seed=0) + 0.3
    w = RNG.uniform(0.5, 2, 120) if weighted else np.ones(120)
    index = np.arange(4)
    runs = []
    for representation in ("full", Nystrom(n_centres=120), "auto"):
        machine = KernelKMeans(kernel, 4, init=index, tol=0, representation=representation)
        machine.fit(X, sample_weight=w if weighted else None)
        K = kernel(X)
        D = squared_distances(K, machine.labels_, w)
        np.testing.assert_array_equal(machine.labels_, D.argmin(axis=1))
        assert machine.inertia_ == pytest.approx(w @ D.min(axis=1), rel=1e-6)
        assert machine.score(X, sample_weight=w) == pytest.approx(-machine.inertia_, rel=1e-6)
        D = squared_distances(K, machine.labels_, w, kernel(Z, X), kernel.diag(Z))
        np.testing.assert_allclose(machine.transform(Z) ** 2, D, rtol=1e-5, atol=1e-7 * K.max())
        np.testing.assert_array_equal(machine.predict(Z), D.argmin(axis=1))
        assert len(machine.energies_) == machine.n_iter_ + 1 and machine.energies_[-1] == machine.inertia_
        np.testing.assert_allclose(
            machine.means_(Z), kernel(Z, X) @ _memberships(machine.labels_, w), rtol=1e-5, atol=1e-7
        )
        np.testing.assert_allclose(machine.masses_, np.bincount(machine.labels_, w))
        runs.append(machine)
    for other in runs[1:]:
        np.testing.assert_array_equal(other.labels_, runs[0].labels_)
        np.testing.assert_allclose(other.energies_, runs[0].energies_, rtol=1e-6)


def _memberships(labels, w):
    W = np.eye(labels.max() + 1)[labels] * w[:, None]
    return W / W.sum(axis=0)


def test_weights_are_repetitions():
    X, w = blobs(80), RNG.integers(0, 4, 80)
    start = X[[3, 20, 50]]
    for kernel in (Gaussian(), Linear()):
        for normalized in (False, kernel == Gaussian()):
            settings = {"n_clusters": 3, "init": start, "tol": 0, "normalized": normalized}
            a = KernelKMeans(kernel, **settings).fit(X, sample_weight=w)
            b = KernelKMeans(kernel, **settings).fit(np.repeat(X, w, axis=0))
            np.testing.assert_allclose(a.energies_, b.energies_, rtol=1e-9)
            np.testing.assert_array_equal(a.predict(X), b.predict(X))
            np.testing.assert_array_equal(np.repeat(a.labels_, w), b.labels_)
            assert a.kernel_ == b.kernel_


@pytest.mark.parametrize("data, sigma", [(rings, 0.4), (spirals, 0.6)])
@pytest.mark.parametrize("representation", ["full", Nystrom(n_centres=200)], ids=repr)
def test_rings_and_spirals(data, sigma, representation):
    X, truth = data()
    machine = KernelKMeans(
        Gaussian(sigma), 2, normalized=True, representation=representation, random_state=0
    ).fit(X)
    assert adjusted_rand_score(truth, machine.labels_) > 0.99
    np.testing.assert_array_equal(machine.predict(X), machine.labels_)
    # k-means itself can't.
    assert adjusted_rand_score(truth, KernelKMeans(Linear(), 2, random_state=0).fit(X).labels_) < 0.2


def test_rings_by_a_suitable_kernel():
    X, truth = rings()
    machine = KernelKMeans(
        FunctionKernel(lambda X, Z: np.outer((X**2).sum(1), (Z**2).sum(1)), vectorized=True), 2
    )
    assert adjusted_rand_score(truth, machine.fit(X).labels_) == 1


def test_normalised_cut():
    X = blobs(100)
    K = Gaussian(1.0)(X)
    machine = KernelKMeans(Gaussian(1.0), 4, normalized=True, random_state=0).fit(X)
    degrees = K.sum(axis=1)
    inside = [machine.labels_ == j for j in range(4)]
    cut = sum(K[a][:, ~a].sum() / degrees[a].sum() for a in inside)
    assert machine.normalized_cut_ == pytest.approx(cut)
    assert machine.inertia_ == pytest.approx((1 / degrees).sum() - 4 + cut)
    np.testing.assert_allclose(machine.masses_, [degrees[a].sum() for a in inside])
    assert not hasattr(machine.set_params(normalized=False).fit(X), "normalized_cut_")


def test_a_graph_that_is_no_kernel():
    """Two cliques and one edge between them; nobody is joined to himself."""
    graph = np.kron(np.eye(2), np.ones((6, 6))) - np.eye(12)
    graph[5, 6] = graph[6, 5] = 1
    machine = KernelKMeans(Precomputed(), 2, normalized=True, random_state=0).fit(graph)
    assert len(set(machine.labels_[:6])) == len(set(machine.labels_[6:])) == 1
    assert machine.normalized_cut_ == pytest.approx(2 / 31)
    np.testing.assert_array_equal(machine.predict(graph), machine.labels_)
    # From elsewhere, too, energies never rise, though nothing promises that they fall to the end.
    other = KernelKMeans(Precomputed(), 2, normalized=True, init=np.arange(12) % 2).fit(graph)
    assert (np.diff(other.energies_) <= 0).all()


# -- representations --------------------------------------------------------------------------------------


def test_auto():
    X = blobs(100)
    plans = {
        Gaussian(): "Full(): 100 points (up to 30,000); K in memory",
        Linear(): "Features(map=ExplicitFeatures()): means of the linear kernel are points; 2 coordinates",
        Polynomial(2): "Features(): the kernel has 6 coordinates, fewer than the 100 points; 6 coordinates",
    }
    for kernel, wanted in plans.items():
        assert said(KernelKMeans(kernel, 2).fit(X)).removesuffix(" in memory") == wanted.removesuffix(
            " in memory"
        )


def test_many_points_get_centres(monkeypatch):
    monkeypatch.setattr(plan, "_ALL_PAIRS", 500)
    X = blobs(2000)
    machine = KernelKMeans(Gaussian(1.0), 4, random_state=0).fit(X)
    assert said(machine).startswith("Nystrom(): 2,000 points are more than 500")
    full = KernelKMeans(Gaussian(1.0), 4, random_state=0, representation="full").fit(X)
    assert adjusted_rand_score(machine.labels_, full.labels_) > 0.99
    # Means in the span of the centres are a little farther than the means themselves.
    same = KernelKMeans(Gaussian(1.0), 4, init=machine.labels_, max_iter=0, representation="full").fit(X)
    assert same.inertia_ <= machine.inertia_ <= 1.001 * same.inertia_


def test_what_does_not_fit_is_computed_again(monkeypatch):
    """Centres and features by blocks give what stored ones give."""
    X = blobs(600)
    representations = (Nystrom(n_centres=50), Features(RandomFourierFeatures(n_features=40, random_state=0)))
    for representation in representations:
        settings = {"n_clusters": 4, "init": [0, 1, 2, 3], "random_state": 0, "tol": 0}
        kept = KernelKMeans(Gaussian(1.0), representation=representation, **settings).fit(X)
        with monkeypatch.context() as patch:
            patch.setattr("mercer.operators.dense.available_memory", lambda: 0)
            patch.setattr("mercer.representations.features.available_memory", lambda: 0)
            again = KernelKMeans(Gaussian(1.0), representation=representation, **settings).fit(X)
        assert "in memory" in said(kept) and "computed as needed" in said(again)
        np.testing.assert_array_equal(kept.labels_, again.labels_)
        np.testing.assert_allclose(kept.energies_, again.energies_, rtol=1e-8)


def test_features_cluster_their_own_space():
    X = blobs(300)
    map = RandomFourierFeatures(Gaussian(1.0), n_features=300, random_state=0)
    machine = KernelKMeans(Gaussian(1.0), 4, init=[0, 1, 2, 3], tol=0, representation=Features(map)).fit(X)
    Phi = map.fit_transform(X)
    peer = KMeans(4, init=Phi[:4], n_init=1, tol=0, algorithm="lloyd").fit(Phi)
    assert machine.inertia_ == pytest.approx(peer.inertia_, rel=0.05)  # the starts are nearest by the kernel
    assert isinstance(machine.means_, FeatureFunction)
    np.testing.assert_allclose(machine.means_.coef.T[0], Phi[machine.labels_ == 0].mean(axis=0), atol=1e-12)
    np.testing.assert_array_equal(machine.predict(X), machine.labels_)


def test_float32_first_and_float64_last():
    X = blobs(2200, 3, 5, spread=1.5)
    machine = KernelKMeans(Gaussian(2.0), 5, init=np.arange(5), tol=0).fit(X)
    assert said(machine).endswith("K in memory, in float32 first")
    K = Gaussian(2.0)(X)
    D = squared_distances(K, machine.labels_, np.ones(2200))
    np.testing.assert_array_equal(machine.labels_, D.argmin(axis=1))
    assert machine.inertia_ == pytest.approx(D.min(axis=1).sum(), rel=1e-12)
    assert (np.diff(machine.energies_) <= 0).all() and len(machine.energies_) == machine.n_iter_ + 1
    single = KernelKMeans(Gaussian(2.0), 5, init=np.arange(5), tol=0).fit(X.astype(np.float32))
    assert "float32" not in said(single)
    assert single.inertia_ == pytest.approx(machine.inertia_, rel=1e-5)


def test_values_beyond_float32():
    X = blobs(2100) * 1e10
    machine = KernelKMeans(Polynomial(2), 3, random_state=0, representation="full").fit(X)
    assert "float32" not in said(machine) and np.isfinite(machine.inertia_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_on_cuda(dtype):
    """In Triton's interpreter."""
    pytest.importorskip("torch", reason="needs torch and triton")
    pytest.importorskip("triton", reason="needs torch and triton")
    if os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("Triton runs natively here")
    import torch

    X = blobs(120).astype(dtype)
    for settings in ({}, {"normalized": True}, {"representation": Nystrom(n_centres=30)}):
        both = [
            KernelKMeans(Gaussian(1.0), 4, init=[0, 1, 2, 3], engine=engine, random_state=0, **settings).fit(
                X
            )
            for engine in (Tiled(), Cuda(device="cpu"))
        ]
        np.testing.assert_array_equal(both[0].labels_, both[1].labels_)
        np.testing.assert_allclose(both[0].energies_, both[1].energies_, rtol=1e-5)
        distances = both[1].transform(torch.as_tensor(X))
        assert isinstance(distances, torch.Tensor)
        np.testing.assert_allclose(distances.numpy(), both[0].transform(X), rtol=1e-3)


def test_memory(monkeypatch):
    """Without K: 8 bytes a point and cluster, and tiles."""
    monkeypatch.setattr(cluster_spaces, "_STORED", 0)
    X = blobs(5000, 3, 5).astype(np.float32)
    tracemalloc.start()
    KernelKMeans(Gaussian(1.0), 5, n_init=1, random_state=0, representation="full").fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5000 * 5000 * 4 / 3


def test_determinism():
    X = blobs(300, spread=2.0)
    for settings in ({}, {"representation": Nystrom(n_centres=40)}, {"normalized": True}, {"init": "greedy"}):
        a, b = (KernelKMeans(Gaussian(1.0), 5, random_state=3, **settings).fit(X) for _ in range(2))
        np.testing.assert_array_equal(a.labels_, b.labels_)
        np.testing.assert_array_equal(a.energies_, b.energies_)


# -- starts -----------------------------------------------------------------------------------------------


def test_starts():
    X = blobs(200, spread=1.5)
    kernel = Gaussian(1.0)
    by = {
        init: np.mean(
            [KernelKMeans(kernel, 4, init, n_init=1, random_state=s).fit(X).inertia_ for s in range(20)]
        )
        for init in ("random", "k-means++", "greedy")
    }
    assert by["greedy"] <= by["k-means++"] * 1.01 and by["greedy"] <= by["random"]
    index = [5, 60, 100, 150]
    a = KernelKMeans(kernel, 4, init=index).fit(X)
    b = KernelKMeans(kernel, 4, init=X[index]).fit(X)
    c = KernelKMeans(kernel, 4, init=a.start_).fit(X)
    for other in (b, c):
        np.testing.assert_array_equal(other.start_, a.start_)
        np.testing.assert_array_equal(other.energies_, a.energies_)
    many = KernelKMeans(kernel, 4, init="random", n_init=30, random_state=0).fit(X)
    assert many.inertia_ <= by["greedy"]


def test_no_iterations():
    X = blobs(50)
    machine = KernelKMeans(Linear(), 2, init=[0, 1], max_iter=0).fit(X)
    np.testing.assert_array_equal(machine.predict(X), machine.labels_)
    assert machine.n_iter_ == 0 and len(machine.energies_) == 1


def test_a_run_that_is_cut_short_says_so():
    X = blobs(300, spread=2.0)
    for kernel in (Linear(), Gaussian(1.0)):
        with pytest.warns(ConvergenceWarning, match="its limit of 1 iterations: raise max_iter"):
            machine = KernelKMeans(kernel, 4, init=[0, 1, 2, 3], max_iter=1).fit(X)
        np.testing.assert_array_equal(machine.predict(X), machine.labels_)
        assert -machine.score(X) == pytest.approx(machine.inertia_)


def test_fewer_different_points_than_clusters():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 5, axis=0)
    for kernel in (Linear(), Gaussian(1.0)):
        with pytest.warns(ConvergenceWarning, match="only 2 of 3 clusters have points"):
            machine = KernelKMeans(kernel, 3, random_state=0).fit(X)
        assert machine.inertia_ == pytest.approx(0, abs=1e-12)
        np.testing.assert_array_equal(machine.predict(X), machine.labels_)
        D = machine.transform(X)
        assert np.isinf(D).any(axis=0).sum() == 1 and D.min(axis=1).max() < 1e-6


# -- points of other kinds --------------------------------------------------------------------------------


def test_precomputed():
    X, Z = blobs(80), blobs(10, seed=0)
    kernel = Gaussian(1.0)
    direct = KernelKMeans(kernel, 3, random_state=0).fit(X)
    machine = KernelKMeans(Precomputed(), 3, random_state=0).fit(kernel(X))
    assert said(machine).endswith("the given matrix")
    np.testing.assert_array_equal(machine.labels_, direct.labels_)
    np.testing.assert_allclose(machine.energies_, direct.energies_)
    np.testing.assert_array_equal(machine.predict(kernel(Z, X)), direct.predict(Z))
    for asked in (machine.transform, machine.score):
        with pytest.raises(ValueError, match="distances are unknown: predict does without"):
            asked(kernel(Z, X))
    for normalized in (False, True):
        settings = {"n_clusters": 3, "normalized": normalized, "random_state": 0}
        np.testing.assert_allclose(
            KernelKMeans(Precomputed(), **settings).fit_transform(kernel(X)),
            KernelKMeans(kernel, **settings).fit(X).transform(X),
            atol=1e-12,
        )
    finite = KernelKMeans(Finite(kernel(X)), 3, random_state=0).fit(np.arange(80))
    np.testing.assert_allclose(finite.transform(np.arange(80)), direct.transform(X), atol=1e-7)


def test_words():
    words = ["kernel", "kernels", "colonel", "banana", "bananas", "ananas", "kernes", "anana"]

    def letters(a, b):
        return len({*pairwise(a)} & {*pairwise(b)})

    for representation in ("auto", Nystrom(n_centres=8)):
        machine = KernelKMeans(letters, 2, random_state=0, representation=representation).fit(words)
        assert len({machine.labels_[i] for i in (0, 1, 2, 6)}) == 1
        assert len({machine.labels_[i] for i in (3, 4, 5, 7)}) == 1
        assert machine.predict(["banan"])[0] == machine.labels_[3]


def test_feature_names_of_the_distances():
    machine = KernelKMeans(n_clusters=2).fit(blobs(20))
    assert machine.get_feature_names_out().tolist() == ["kernelkmeans0", "kernelkmeans1"]


# -- files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "machine",
    [
        KernelKMeans(Gaussian(1.0), 3, random_state=0),
        KernelKMeans(Linear(), 3, random_state=0),
        KernelKMeans(Polynomial(2), 3, random_state=0, init=[0, 1, 2]),
        KernelKMeans(Gaussian(), 3, representation=Nystrom(n_centres=10), random_state=0),
        KernelKMeans(Gaussian(), 3, representation="features", random_state=0),
        KernelKMeans(Gaussian(), 3, normalized=True, random_state=0),
    ],
    ids=repr,
)
def test_save_and_load(machine, tmp_path):
    X = blobs(60)
    machine.fit(X)
    mercer.save(machine, tmp_path / "m.mercer")
    same = mercer.load(tmp_path / "m.mercer")
    assert repr(same) == repr(machine)
    np.testing.assert_array_equal(same.predict(X), machine.predict(X))
    np.testing.assert_array_equal(same.transform(X), machine.transform(X))
    np.testing.assert_array_equal(same.energies_, machine.energies_)


def test_files_that_do_not_fit_together():
    machine = KernelKMeans(Gaussian(1.0), 3, random_state=0).fit(blobs(20))
    machine.masses_, machine.squared_norms_ = machine.masses_[:2], machine.squared_norms_[:2]
    with pytest.raises(ValueError, match="do not fit together"):
        check(machine)
    machine.masses_ = machine.masses_[:1]
    with pytest.raises(ValueError, match="squared_norms_ of a KernelKMeans is not"):
        check(machine)


# -- refusals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings, match",
    [
        ({"n_clusters": 0}, "n_clusters must be a whole number of at least 1, got 0"),
        ({"n_clusters": 2.5}, "n_clusters must be a whole number of at least 1, got 2.5"),
        ({"n_clusters": True}, "n_clusters must be a whole number"),
        ({"n_clusters": 21}, "n_clusters=21 is more than there are points: n_samples=20"),
        ({"n_init": 0}, "n_init must be a whole number of at least 1"),
        ({"max_iter": -1}, "max_iter must be a whole number of at least 0"),
        ({"tol": -1.0}, "tol must be a number of at least 0"),
        ({"tol": float("nan")}, "tol must be a number of at least 0"),
        ({"normalized": "yes"}, "normalized must be True or False"),
        (
            {"init": "kmeans"},
            "init must be one of 'k-means\\+\\+', 'greedy', 'random' or an array, got 'kmeans'",
        ),
        ({"init": [0, 1]}, "an array of 3 indices, 20 labels or .* of 3 points; got an array of shape"),
        ({"init": [0, 0, 1]}, "indices must be different ones of 0 … 19, got \\[0, 0, 1\\]"),
        ({"init": [0, 1, 20]}, "indices must be different ones of 0 … 19"),
        ({"init": np.arange(20)}, "labels must lie in 0 … 2, got 0 … 19"),
        ({"init": np.zeros((3, 5))}, "got an array of shape \\(3, 5\\)"),
        ({"init": None}, "init must be one of"),
        ({"init": np.full((3, 2), np.nan)}, "NaN"),
        ({"representation": Lasso()}, "there is no penalty here: Features\\(\\)"),
        ({"kernel": Linear(), "normalized": True}, "take a kernel without negative values"),
        ({"kernel": Gaussian(-1.0)}, "sigma must be a positive number"),
        ({"random_state": "x"}, "random_state must be"),
    ],
)
def test_refusals(settings, match):
    with pytest.raises(ValueError, match=match):
        KernelKMeans(**{"n_clusters": 3, **settings}).fit(blobs(20))


@pytest.mark.parametrize(
    "weights, match",
    [
        (-np.ones(20), "nonnegative"),
        (np.zeros(20), "at least one non-zero"),
        (np.r_[np.ones(2), np.zeros(18)], "more than there are points with a weight: n_samples=2"),
        (np.full(20, np.nan), "NaN"),
    ],
)
def test_refused_weights(weights, match):
    with pytest.raises(ValueError, match=match):
        KernelKMeans(n_clusters=3).fit(blobs(20), sample_weight=weights)


def test_points_that_are_too_large():
    with pytest.raises(ValueError, match="NaN or infinity"):
        KernelKMeans(Polynomial(9), 2, representation=Full()).fit(1e200 * blobs(20))
    with pytest.raises(ValueError, match="NaN"):
        KernelKMeans(n_clusters=2).fit([[0.0], [np.nan]])
