"""KernelPCA and KernelKMeans for examples that live elsewhere, against the same machines in memory."""

import pickle

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

import mercer.representations.base
from mercer import (
    KernelKMeans,
    KernelNeighborsClassifier,
    KernelOneClass,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
)
from mercer.estimators import unlabelled
from mercer.kernels import Gaussian, Linear, Polynomial, Spectrum
from mercer.representations import Features, Nystrom
from mercer.rows import ArrayRows

RNG = np.random.default_rng(0)
X = RNG.standard_normal((240, 3)) * [2.0, 1.0, 0.5]
Z = X[::12]
CENTRES = Nystrom(centres=Z)


def blobs(n=240, k=4, dtype=np.float64):
    rng = np.random.default_rng(3)
    return (3 * rng.standard_normal((k, 2))[rng.integers(0, k, n)] + rng.standard_normal((n, 2))).astype(
        dtype
    )


@pytest.fixture
def small_sample(monkeypatch):
    """Samples of 60 rows or so, in place of 20,000."""
    monkeypatch.setattr(unlabelled, "_SAMPLE", 60)
    monkeypatch.setattr(unlabelled, "_EACH_COORDINATE", 1)
    monkeypatch.setattr(unlabelled, "_EACH_CLUSTER", 1)


# -- components ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 37, 1000])
@pytest.mark.parametrize(
    "kernel, representation, away",
    [
        (Gaussian(2.0), CENTRES, 0.0),
        (Gaussian(40.0), CENTRES, 0.0),  # values that are nearly 1 everywhere
        (Polynomial(2), "auto", 0.0),
        (Gaussian(2.0), Features(n_features=20), 0.0),
        (Linear(), "auto", 1e4),
    ],
)
def test_components_are_those_in_memory(kernel, representation, away, rows, small_sample):
    Y = X + away
    there, here = (
        KernelPCA(kernel, n_components=3, representation=representation, random_state=0).fit(P)
        for P in (ArrayRows(Y, rows=rows), Y)
    )
    assert there.eigenvalues_ == pytest.approx(here.eigenvalues_, rel=1e-9)
    assert there.explained_variance_ratio_ == pytest.approx(here.explained_variance_ratio_, rel=1e-9)
    T = here.transform(Y)
    assert np.abs(there.transform(ArrayRows(Y, rows=50)) - T).max() < 1e-8 * np.abs(T).max()
    assert there.n_samples_seen_ == 240 and "one pass over all rows" in str(there.plan_)
    assert np.allclose(there.reconstruction_error(Y), here.reconstruction_error(Y), atol=1e-7)


def test_float32_rows_far_from_zero_against_sklearn():
    Y = (X + 1e4).astype(np.float32)
    machine, known = (
        KernelPCA(Linear(), n_components=2).fit(ArrayRows(Y, rows=50)),
        PCA(2, svd_solver="full").fit(Y.astype(float)),
    )
    assert machine.explained_variance_ == pytest.approx(known.explained_variance_, rel=1e-9)
    assert np.abs(np.abs(machine.components_) - np.abs(known.components_)).max() < 1e-9
    assert np.abs(machine.mean_ - known.mean_).max() < 1e-8
    assert machine.transform(ArrayRows(Y)).dtype == np.float32


def test_float32_kernel_values(monkeypatch):
    # As with problems too large for float64.
    monkeypatch.setattr(mercer.representations.base, "SMALL", 0)
    Y = X.astype(np.float32)
    machine = KernelPCA(Gaussian(20.0), n_components=4, representation=CENTRES)
    there, here, exact = (clone.fit(P) for clone, P in zip(copies(machine, 3), (ArrayRows(Y, rows=50), Y, X)))
    assert there.function_.points.dtype == np.float32
    # Kernel values near 1 are rounded to 6e-8, and their differences are what counts.
    assert there.eigenvalues_ == pytest.approx(here.eigenvalues_, rel=3e-4)
    assert there.eigenvalues_[:3] == pytest.approx(exact.eigenvalues_[:3], rel=1e-3)


def copies(machine, count):
    return [type(machine)(**machine.get_params(deep=False)) for _ in range(count)]


def test_repeated_rows_and_ways_on():
    Y = np.repeat(X[:6], 40, axis=0)
    there, here = (
        machine.fit(P)
        for machine, P in zip(
            copies(KernelPCA(Gaussian(1.0), representation=CENTRES), 2), (ArrayRows(Y, rows=64), Y)
        )
    )
    assert there.n_components_ == here.n_components_ == 5  # of six points, centred
    assert there.eigenvalues_ == pytest.approx(here.eigenvalues_, rel=1e-9)
    # Batches in memory may follow, and a copy says the same.
    there.partial_fit(X)
    both = KernelPCA(Gaussian(1.0), representation=CENTRES).fit(np.vstack([Y, X]))
    assert there.eigenvalues_[:5] == pytest.approx(both.eigenvalues_[:5], rel=1e-9)
    assert np.array_equal(pickle.loads(pickle.dumps(there)).transform(X), there.transform(X))
    assert there.inverse_transform(there.transform(X[:3])).shape == (3, 3)


def test_what_is_chosen_and_learned_from_a_sample(small_sample):
    rows = ArrayRows(X, np.full(240, np.nan), rows=50)  # targets are not looked at
    machine = KernelPCA(n_components=2, random_state=0).fit(rows)
    assert isinstance(machine.representation, str) and machine.plan_.representation == Nystrom(240)
    assert machine.plan_.examples == 240 and machine.plan_.memory > 0 and machine.kernel_.sigma > 0
    again = KernelPCA(n_components=2, random_state=0).fit_transform(rows)
    assert np.allclose(again, machine.transform(X), atol=1e-12)


# -- clusters -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rows, dtype", [(1, np.float64), (37, np.float64), (1000, np.float64), (37, np.float32)]
)
@pytest.mark.parametrize(
    "kernel, representation",
    [(Gaussian(2.0), "centres"), (Gaussian(2.0), Features(n_features=20)), (Linear(), "auto")],
)
def test_clusters_are_those_in_memory_from_the_same_start(kernel, representation, dtype, rows, small_sample):
    Y = blobs(dtype=dtype)
    representation = Nystrom(centres=Y[::12]) if representation == "centres" else representation
    machine = KernelKMeans(kernel, 4, representation=representation, random_state=0, tol=0.0)
    there = machine.fit(ArrayRows(Y, rows=rows))
    # The sample again, its clusters, and where all points lie among them.
    sample = ArrayRows(Y).take(np.sort(np.random.default_rng(0).choice(240, 60, replace=False))).X
    start = KernelKMeans(kernel, 4, representation=representation, random_state=0, tol=0.0).fit(sample)
    labels = start.predict(Y)
    here = KernelKMeans(kernel, 4, init=labels, representation=representation, random_state=0, tol=0.0).fit(Y)
    tol = 1e-9 if dtype == np.float64 else 1e-5
    assert there.n_iter_ == here.n_iter_ > 1
    assert there.energies_ == pytest.approx(here.energies_, rel=tol)
    assert there.masses_ == pytest.approx(here.masses_) and there.inertia_ == there.energies_[-1]
    assert np.array_equal(there.predict(ArrayRows(Y, rows=50)), here.labels_)
    assert np.allclose(there.transform(Y), here.transform(Y), atol=10 * tol)
    assert np.allclose(there.means_(Y), here.means_(Y), atol=10 * tol)
    assert "passes over all rows" in str(there.plan_)


@pytest.mark.parametrize("kernel, representation", [(Gaussian(3.0), "centres"), (Polynomial(2), Features())])
def test_normalised_cuts(kernel, representation, small_sample):
    Y, w = blobs(), np.random.default_rng(1).integers(0, 3, 240).astype(float)
    representation = Nystrom(centres=Y[::12]) if representation == "centres" else representation
    settings = dict(normalized=True, representation=representation, random_state=0, tol=0.0)
    there = KernelKMeans(kernel, 4, **settings).fit(ArrayRows(Y, w=w, rows=37))
    assert there.n_iter_ > 1 and (np.diff(there.energies_) <= 0).all()
    # In memory nothing moves from there.
    labels = there.predict(Y)
    here = KernelKMeans(kernel, 4, init=labels, **settings).fit(Y, sample_weight=w)
    assert here.n_iter_ == 1 and np.array_equal(here.labels_, labels)
    assert there.inertia_ == pytest.approx(here.inertia_, rel=1e-9)
    assert there.normalized_cut_ == pytest.approx(here.normalized_cut_, rel=1e-9)
    assert there.masses_ == pytest.approx(here.masses_, rel=1e-9)
    assert np.allclose(there.transform(Y), here.transform(Y), rtol=1e-6)
    with pytest.raises(ValueError, match="a kernel without negative values"):
        KernelKMeans(Linear(), 2, normalized=True).fit(ArrayRows(Y, rows=37))


def test_weights_are_repetitions(small_sample):
    Y, w = blobs(), np.random.default_rng(1).integers(0, 4, 240).astype(np.float32)
    init = Y[w > 0][:3]
    machine = KernelKMeans(
        Gaussian(2.0), 3, init=init, representation=Nystrom(centres=Y[::12]), random_state=0
    )
    weighted = copies(machine, 1)[0].fit(ArrayRows(Y, w=w, rows=31))
    repeated = np.repeat(Y, w.astype(int), axis=0)
    known = KernelKMeans(
        Gaussian(2.0), 3, init=weighted.predict(repeated), representation=Nystrom(centres=Y[::12]), tol=0.0
    ).fit(repeated)
    assert weighted.masses_.sum() == w.sum()
    assert weighted.inertia_ == pytest.approx(known.inertia_, rel=1e-9)
    assert weighted.score(ArrayRows(Y, w=w, rows=31)) == pytest.approx(-known.inertia_, rel=1e-9)
    assert weighted.score(Y, sample_weight=w) == pytest.approx(-known.inertia_, rel=1e-9)


def test_linear_clusters_far_from_zero_against_sklearn():
    Y = (blobs() + 1e4).astype(np.float32)
    machine = KernelKMeans(Linear(), 4, init=Y[:4], tol=0.0).fit(ArrayRows(Y, rows=50))
    known = KMeans(4, init=Y[:4].astype(float), n_init=1, tol=0.0, algorithm="lloyd").fit(Y.astype(float))
    assert machine.inertia_ == pytest.approx(known.inertia_, rel=1e-5)
    assert np.abs(machine.centroids_ - known.cluster_centers_).max() < 1e-3
    assert np.array_equal(machine.predict(ArrayRows(Y)), known.labels_)


def test_repeated_points_and_labels():
    Y, centres = np.repeat(X[:3], 30, axis=0), Nystrom(centres=X[:3])
    rows = ArrayRows(Y, rows=20)
    with pytest.warns(UserWarning, match="only 3 of 5 clusters have points"):
        machine = KernelKMeans(Gaussian(1.0), 5, representation=centres, random_state=0).fit(rows)
    assert machine.inertia_ == pytest.approx(0, abs=1e-9) and sorted(machine.masses_) == [0, 0, 30, 30, 30]
    machine = KernelKMeans(Gaussian(1.0), 3, representation=centres, random_state=0)
    labels = machine.fit_predict(rows)
    assert np.array_equal(labels, machine.predict(Y)) and len(set(labels.tolist())) == 3
    for name in ("labels_", "start_"):
        with pytest.raises(AttributeError, match=r"live elsewhere: predict\(rows\)"):
            getattr(machine, name)
    with pytest.raises(AttributeError, match="has no attribute 'nothing_'"):
        _ = machine.nothing_
    assert machine.fit_transform(rows).shape == (90, 3)
    assert np.array_equal(pickle.loads(pickle.dumps(machine)).predict(Y), machine.predict(Y))
    assert hasattr(machine.fit(Y), "labels_")


# -- what can't be ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "machine, words",
    [
        (KernelPCA(representation="full"), "use representation='nystrom' or 'features'"),
        (KernelKMeans(representation="full"), "use representation='nystrom' or 'features'"),
        (KernelPCA(Spectrum(2)), "as a list or an array"),
        (KernelKMeans("precomputed"), "as a list or an array"),
        (KernelKMeans(n_clusters=2, init=[0, 1]), "give 2 points to begin with"),
        (KernelPCA(n_components=0), "n_components"),
        (KernelPerceptron(), "load some"),
        (KernelNeighborsClassifier(), "load some"),
        (KernelOneClass(), "load some"),
    ],
)
def test_refusals_name_a_way_out(machine, words):
    rows = ArrayRows(X, (X[:, 0] > 0).astype(int))
    with pytest.raises(ValueError, match=words):
        machine.fit(rows) if "load" not in words else machine.fit(rows, (X[:, 0] > 0).astype(int))


def test_other_refusals():
    with pytest.raises(ValueError, match="open the rows without them"):
        KernelPCA().fit(ArrayRows(X, w=np.ones(240)))
    with pytest.raises(ValueError, match="row 8 has NaN or infinity in column 2"):
        bad = X.copy()
        bad[7, 1] = np.nan
        KernelKMeans().fit(ArrayRows(bad, rows=5))
    with pytest.raises(ValueError, match="load some"):
        KernelPCA(n_components=1).fit(X).partial_fit(ArrayRows(X))
    with pytest.raises(ValueError, match="n_clusters=8 is more than there are points"):
        KernelKMeans().fit(ArrayRows(X[:5]))


def test_a_mapped_array_is_an_array_to_machines_that_take_no_rows(tmp_path):
    y = (X[:, 0] > 0).astype(int)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "K.npy", Gaussian(1.0)(X))
    mapped, K = (np.load(tmp_path / name, mmap_mode="r") for name in ("X.npy", "K.npy"))
    for machine in (KernelPerceptron(), KernelNeighborsClassifier()):
        assert np.array_equal(machine.fit(mapped, y).predict(mapped), machine.fit(X, y).predict(X))
    assert np.array_equal(KernelOneClass().fit(mapped).predict(mapped), KernelOneClass().fit(X).predict(X))
    machine = KernelRidge("precomputed", lam=0.1)
    assert np.allclose(machine.fit(K, y).predict(K), machine.fit(np.array(K), y).predict(np.array(K)))


# -- where tasks travel -------------------------------------------------------------------------------------


class SentRows(ArrayRows):
    """Rows whose tasks are pickled, as they are on their way to another machine."""

    def each(self, task, *vectors):
        return super().each(*pickle.loads(pickle.dumps((task, *vectors))))


@pytest.mark.parametrize("representation", [CENTRES, Features(n_features=20)])
def test_tasks_can_be_sent(representation):
    kernel = Gaussian(2.0)
    rows, sent = (kind(X, rows=50, names=list("abc")) for kind in (ArrayRows, SentRows))
    here, there = (
        KernelPCA(kernel, n_components=2, representation=representation, random_state=0).fit(r)
        for r in (rows, sent)
    )
    assert np.allclose(here.transform(rows), there.transform(rows), atol=1e-12)
    assert here.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="columns"):
        here.transform(ArrayRows(X, names=list("abd")))
    here, there = (
        KernelKMeans(kernel, 3, representation=representation, random_state=0).fit(r) for r in (rows, sent)
    )
    assert there.inertia_ == pytest.approx(here.inertia_) and there.score(sent) == pytest.approx(
        -here.inertia_
    )
