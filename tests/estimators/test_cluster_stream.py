"""k-means by batches: against scikit-learn's, against a plain loop, and what is kept."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.cluster import MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer import KernelKMeans
from mercer.features import RandomFourierFeatures
from mercer.functions import KernelFunction
from mercer.kernels import Finite, Gaussian, Linear, Polynomial, Precomputed
from mercer.representations import Features, Nystrom
from mercer.solvers.mini_batches import Batch, RunningMeans


def batches(count=12, n=60, d=3, clusters=4, seed=0):
    rng = np.random.default_rng(seed)
    centres = 4 * rng.standard_normal((clusters, d))
    return [centres[rng.integers(0, clusters, n)] + 0.8 * rng.standard_normal((n, d)) for _ in range(count)]


def weights_of(parts, seed=1):
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 4, len(X)).astype(float) + (np.arange(len(X)) < 9) for X in parts]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_linear_kernel_is_mini_batch_k_means(weighted, sparse):
    parts = batches()
    weights = weights_of(parts) if weighted else [None] * len(parts)
    form = csr_array if sparse else np.asarray
    ours = KernelKMeans(Linear(), n_clusters=4, init=np.arange(4))
    theirs = MiniBatchKMeans(4, init=parts[0][:4], n_init=1, reassignment_ratio=0, random_state=0)
    for X, w in zip(parts, weights, strict=True):
        ours.partial_fit(form(X), sample_weight=w)
        theirs.partial_fit(X, sample_weight=w)
        np.testing.assert_allclose(ours.centroids_, theirs.cluster_centers_, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(ours.predict(form(parts[3])), theirs.predict(parts[3]))
    assert ours.n_batches_ == len(parts)
    assert ours.masses_.sum() == pytest.approx(
        sum(len(X) if w is None else w.sum() for X, w in zip(parts, weights, strict=True))
    )


def loop(parts, weights, rows, first):
    """The plain one, in coordinates: labels of the first batch are given, then nearest means."""
    k = int(first.max()) + 1
    W = rows(parts[0])
    masses = np.array([weights[0][first == j].sum() for j in range(k)])
    means = np.array([weights[0][first == j] @ W[first == j] / masses[j] for j in range(k)])
    for X, w in zip(parts[1:], weights[1:], strict=True):
        W = rows(X)
        labels = np.square(W[:, None] - means).sum(axis=2).argmin(axis=1)
        for j in range(k):
            mine = labels == j
            if w[mine].sum() > 0:
                total = masses[j] + w[mine].sum()
                means[j] = (masses[j] * means[j] + w[mine] @ W[mine]) / total
                masses[j] = total
    return means, masses


def test_centres_are_a_plain_loop_in_their_coordinates():
    parts = batches()
    weights = weights_of(parts)
    kernel, Z = Gaussian(3.0), parts[0][10:35]
    root = np.linalg.inv(np.linalg.cholesky(kernel(Z))).T
    first = kernel.squared_distance(parts[0], parts[0][:4]).argmin(axis=1)
    means, masses = loop(parts, weights, lambda X: kernel(X, Z) @ root, first)
    machine = KernelKMeans(kernel, 4, init=np.arange(4), representation=Nystrom(centres=Z))
    for X, w in zip(parts, weights, strict=True):
        machine.partial_fit(X, sample_weight=w)
    T = batches(1, seed=5)[0]
    np.testing.assert_allclose(machine.means_(T), kernel(T, Z) @ root @ means.T, atol=1e-6)
    np.testing.assert_allclose(machine.masses_, masses)
    np.testing.assert_allclose(machine.squared_norms_, np.square(means).sum(axis=1), rtol=1e-5)
    D = 1 - 2 * kernel(T, Z) @ root @ means.T + np.square(means).sum(axis=1)
    np.testing.assert_allclose(machine.transform(T), np.sqrt(D), rtol=1e-5)


@pytest.mark.parametrize("kernel", [Polynomial(2), Gaussian(3.0)], ids=repr)
def test_features_are_a_plain_loop_in_their_coordinates(kernel):
    parts = batches()
    weights = weights_of(parts)
    map = RandomFourierFeatures(kernel, 40, random_state=0) if kernel == Gaussian(3.0) else None
    representation = "auto" if map is None else Features(map)
    machine = KernelKMeans(kernel, 4, init=parts[0][:4], representation=representation, random_state=0)
    for X, w in zip(parts, weights, strict=True):
        machine.partial_fit(X, sample_weight=w)
    fitted = machine.means_.map
    first = kernel.squared_distance(parts[0], parts[0][:4]).argmin(axis=1)
    means, masses = loop(parts, weights, lambda X: np.asarray(fitted.transform(X)), first)
    np.testing.assert_allclose(machine.means_.coef.T, means, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(machine.masses_, masses)


def test_far_from_the_origin_and_in_float32():
    parts = batches()
    near = KernelKMeans(Linear(), 4, init=parts[0][:4])
    far = KernelKMeans(Linear(), 4, init=1e6 + parts[0][:4])
    single = KernelKMeans(Linear(), 4, init=parts[0][:4].astype(np.float32))
    for X in parts:
        near.partial_fit(X)
        far.partial_fit(1e6 + X)
        single.partial_fit(X.astype(np.float32))
    np.testing.assert_allclose(far.centroids_ - 1e6, near.centroids_, atol=1e-8)
    np.testing.assert_allclose(single.centroids_, near.centroids_, atol=1e-4)


def test_what_is_kept_is_bounded():
    sizes = []
    machine = KernelKMeans(Gaussian(3.0), 4, representation=Nystrom(20), random_state=0)
    for count, X in enumerate(batches(30)):
        machine.partial_fit(X)
        machine.labels_ = machine.labels_[:0]  # these are of the last batch only
        if count in (1, 29):
            sizes.append(len(pickle.dumps(machine)))
    assert abs(sizes[1] - sizes[0]) < 200
    assert isinstance(machine.means_, KernelFunction) and len(machine.means_) == 20
    assert machine.plan_.reasons and "centres" in "; ".join(machine.plan_.reasons)


def test_automatic_coordinates():
    X = batches(1, n=150)[0]
    assert isinstance(KernelKMeans(Gaussian(3.0), 4).partial_fit(X).plan_.representation, Nystrom)
    assert isinstance(KernelKMeans(Polynomial(2), 4).partial_fit(X).plan_.representation, Features)


def test_labels_and_energy_are_those_of_the_last_batch():
    machine = KernelKMeans(Gaussian(3.0), 4, representation="nystrom", random_state=0)
    for X in batches(5):
        machine.partial_fit(X)
        np.testing.assert_array_equal(machine.labels_, machine.predict(X))
        assert machine.inertia_ == pytest.approx(-machine.score(X)) == machine.energies_[-1]
    assert not hasattr(machine, "start_")


def test_batches_go_on_from_a_fit_and_from_a_file(tmp_path):
    parts = batches(8)
    whole = KernelKMeans(Linear(), 4, random_state=0).fit(np.concatenate(parts[:4]))
    assert whole.masses_.sum() == 240
    ours = pickle.loads(pickle.dumps(whole))
    means, masses = whole.centroids_.copy(), whole.masses_.copy()
    for X in parts[4:]:
        mercer.save(ours, tmp_path / "means.mercer")
        ours = mercer.load(tmp_path / "means.mercer").partial_fit(X)
        labels = np.square(X[:, None] - means).sum(axis=2).argmin(axis=1)
        for j in range(4):
            total = masses[j] + (labels == j).sum()
            means[j] = (masses[j] * means[j] + X[labels == j].sum(axis=0)) / total
            masses[j] = total
    np.testing.assert_allclose(ours.centroids_, means, rtol=1e-9)
    again = ours.fit(np.concatenate(parts[:4]))
    assert not hasattr(again, "n_batches_")
    np.testing.assert_allclose(again.inertia_, whole.inertia_)


def test_batches_may_be_small_and_weightless():
    parts = batches(3)
    machine = KernelKMeans(Linear(), 4, random_state=0).partial_fit(parts[0])
    other = pickle.loads(pickle.dumps(machine))
    machine.partial_fit(parts[1], sample_weight=(np.arange(60) < 20).astype(float))
    np.testing.assert_allclose(machine.centroids_, other.partial_fit(parts[1][:20]).centroids_, rtol=1e-12)
    machine.partial_fit(parts[2][:1])
    assert machine.masses_.sum() == 81 and machine.labels_.shape == (1,)


def test_empty_clusters_get_the_farthest_points():
    X = np.array([[0.0], [0.0], [10.0], [10.0]])
    machine = KernelKMeans(Linear(), 4, random_state=0)
    with pytest.warns(ConvergenceWarning, match="only 2 of 4 clusters have points"):
        machine.partial_fit(X)
    # 30 is farther than 24, and a second 30 is no other point.
    machine.partial_fit([[30.0], [0.0], [24.0], [30.0], [10.0]])
    assert sorted(machine.centroids_.ravel().tolist()) == pytest.approx([0.0, 15.0, 24.0, 30.0])
    assert (machine.masses_ > 0).all()


def test_empty_clusters_may_be_dropped():
    X = np.array([[0.0], [0.0], [10.0], [10.0]])
    machine = KernelKMeans(Linear(), 4, random_state=0, empty="drop").partial_fit(X)
    assert len(machine.masses_) == 2 and sorted(machine.centroids_.ravel().tolist()) == [0.0, 10.0]
    machine.partial_fit([[30.0], [1.0]])
    assert len(machine.masses_) == 2 and machine.masses_.sum() == 6
    assert set(machine.predict([[0.0], [40.0]])) == {0, 1}


@pytest.mark.parametrize(
    "kernel, representation", [(Linear(), "auto"), (Gaussian(3.0), "full"), (Gaussian(3.0), "nystrom")]
)
def test_dropped_by_a_fit(kernel, representation):
    """Three of the starting points are nobody's nearest."""
    X = batches(1, n=80, clusters=3)[0]
    start = np.zeros(80, int)
    start[:40], start[40:] = 1, 4  # of six labels only two are used
    start[0] = 5
    machine = KernelKMeans(kernel, 6, init=start, representation=representation, empty="drop", random_state=0)
    machine.fit(X)
    k = len(machine.masses_)
    assert k <= 3 and machine.means_.outputs == len(machine.squared_norms_) == k
    assert (machine.masses_ > 0).all() and set(machine.labels_) == set(range(k))
    np.testing.assert_array_equal(machine.predict(X), machine.labels_)
    assert (np.diff(machine.energies_) <= 0).all()
    assert machine.inertia_ == pytest.approx(-machine.score(X), rel=1e-6)
    kept = KernelKMeans(kernel, 6, init=start, representation=representation, random_state=0).fit(X)
    assert len(kept.masses_) == 6 and (kept.masses_ > 0).all()


def test_dropped_where_rows_live_elsewhere(tmp_path):
    X = np.repeat([[0.0, 0.0], [9.0, 9.0]], 50, axis=0)
    np.save(tmp_path / "rows.npy", X)
    machine = KernelKMeans(Linear(), 4, empty="drop", random_state=0).fit(str(tmp_path / "rows.npy"))
    assert sorted(machine.centroids_[:, 0].tolist()) == pytest.approx([0.0, 9.0])


def test_teleports_of_a_machine():
    """More tries never come to a higher energy, and here they come to a lower one."""
    X = batches(1, n=400, d=2, clusters=20, seed=3)[0]
    for kernel in (Linear(), Gaussian(2.0)):
        plain, moved = (
            KernelKMeans(kernel, 20, init="random", n_init=1, teleports=t, random_state=1).fit(X)
            for t in (0, 40)
        )
        assert moved.inertia_ < 0.95 * plain.inertia_
        assert (np.diff(moved.energies_) <= 1e-9 * moved.inertia_).all()
        assert moved.inertia_ == pytest.approx(-moved.score(X), rel=1e-6)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"representation": "full"}, "keeps all points"),
        ({"normalized": True}, "degrees"),
        ({"kernel": Precomputed()}, "all its points at once"),
        ({"kernel": Finite(np.eye(60))}, "all its points at once"),
        ({"empty": "keep"}, "empty must be one of 'teleport', 'drop', got 'keep'"),
        ({"teleports": -1}, "teleports must be"),
        ({"n_clusters": 61}, "more than there are points: n_samples=60"),
    ],
)
def test_refused(parameters, message):
    X = batches(1)[0]
    with pytest.raises(ValueError, match=message):
        KernelKMeans(**{"kernel": Gaussian(1.0), "n_clusters": 2, **parameters}).partial_fit(X)


@pytest.mark.parametrize("n", [60, 1500])
def test_batches_after_a_fit_of_all_points(n):
    """Its means are projected onto centres: onto all points if they are few, which changes nothing."""
    first, second = batches(2, n=n)
    machine = KernelKMeans(Gaussian(3.0), 4, random_state=0).fit(first)
    kernel, labels = Gaussian(3.0), machine.labels_
    machine.partial_fit(second)
    assert isinstance(machine.plan_.representation, Nystrom) and len(machine.means_) == min(n, 1000)
    # By hand, with all points: K-means in sums of kernels.
    W = np.eye(4)[labels] / np.bincount(labels)
    D = -2 * kernel(second, first) @ W + np.einsum("ij,ik,kj->j", W, kernel(first), W, optimize=True)
    V, counts = np.eye(4)[D.argmin(axis=1)], np.bincount(labels)
    total = counts + V.sum(axis=0)
    T = batches(1, seed=5)[0]
    expected = (kernel(T, first) @ (W * counts) + kernel(T, second) @ V) / total
    np.testing.assert_allclose(machine.masses_, total)
    # The second batch is projected onto points of the first.
    np.testing.assert_allclose(machine.means_(T), expected, atol=0.02 if n == 60 else 1e-3)


def test_refused_batches():
    X = batches(1)[0]
    with pytest.raises(ValueError, match="keeps all points"):
        KernelKMeans(Gaussian(1.0), 2, representation="full").fit(X).partial_fit(X)
    with pytest.raises(ValueError, match="features"):
        KernelKMeans(Linear(), 2).partial_fit(X).partial_fit(X[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        KernelKMeans(Linear(), 2).partial_fit(X).partial_fit(X * np.nan)


def test_blocks_of_a_large_batch(monkeypatch):
    from mercer.solvers import mini_batches

    X, w = np.random.default_rng(0).standard_normal((50, 3)), np.arange(50.0)
    means = RunningMeans(np.random.default_rng(1).standard_normal((3, 4)), np.array([1.0, 2.0, 0.0, 4.0]))
    batch = Batch(lambda rows: X[rows], np.square(X).sum(axis=1), w)
    whole = means.after(batch)
    monkeypatch.setattr(mini_batches, "_ENTRIES", 50)
    parts = means.after(batch)
    np.testing.assert_allclose(parts.coordinates, whole.coordinates, rtol=1e-12)
    np.testing.assert_array_equal(parts.masses, whole.masses)
