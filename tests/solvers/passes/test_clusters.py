"""Lloyd's algorithm over shards, against the one in memory from the same labels."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer import KernelKMeans
from mercer.estimators import unlabelled
from mercer.features import ExplicitFeatures
from mercer.kernels import Gaussian, Linear
from mercer.operators import Elsewhere, FacingFeatures, Matrix
from mercer.representations import Nystrom
from mercer.rows import ArrayRows
from mercer.rows.base import watching
from mercer.solvers import Checkpoint, CheckpointError, lloyd
from mercer.solvers.cluster_sums import CoordinateSums
from mercer.solvers.passes.clusters import Clusters, LloydPasses


def over_rows(X, w=None, rows=7):
    map = ExplicitFeatures(Linear()).fit(X)
    return LloydPasses(
        Elsewhere(ArrayRows(X, w=w, rows=rows), FacingFeatures(map, X.shape[1], X.dtype), 2, X.dtype)
    )


def from_points(Z):
    """A start at these points."""
    return Clusters(Z.T.astype(np.float64), np.ones(len(Z)), np.ones(len(Z)), None)


def in_memory(X, w, Z, max_iter=100):
    w = np.ones(len(X)) if w is None else w
    labels = np.square(X[:, None] - Z).sum(axis=2).argmin(axis=1)
    sums = CoordinateSums(Matrix(X), w, np.square(X).sum(axis=1), len(Z))
    return lloyd.lloyd(lloyd.plain(sums), labels, max_iter, 0.0), sums


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_iter", [0, 2, 100])
def test_it_is_the_algorithm_in_memory(weighted, max_iter):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 2))
    w = rng.integers(0, 3, 150).astype(float) if weighted else None
    run = over_rows(X, w).run(from_points(X[:6]), max_iter, 0.0)
    known, sums = in_memory(X, w, X[:6], max_iter)
    sums.restart(known.members)
    assert run.status == known.status and len(run.energies) == len(known.energies)
    assert np.allclose(run.energies, known.energies, rtol=1e-12)
    assert np.allclose(run.totals, known.totals) and np.allclose(run.clusters.G, sums.G, atol=1e-12)
    assert np.allclose(run.powers, known.powers)


@pytest.mark.parametrize("rows", [1, 5, 100])
def test_empty_clusters_get_the_farthest_points(rows):
    X = np.random.default_rng(1).standard_normal((60, 2))
    X[7] = 10.0  # far away
    X[20], X[21] = -5.0, -5.5  # and others
    # Two of the starts are nearest to no point.
    Z = np.array([[0.0, 0.0], [90.0, 0.0], [0.5, 0.5], [95.0, 0.0]])
    w = np.ones(60)
    w[7] = 0  # it is absent
    run = over_rows(X, w, rows).run(from_points(Z), 100, 0.0)
    known, _ = in_memory(X, w, Z)
    assert (run.clusters.counts > 0).all() and np.allclose(run.energies, known.energies, rtol=1e-12)
    assert np.allclose(run.totals, known.totals)


def test_fewer_points_than_clusters():
    X = np.repeat([[0.0, 1.0], [2.0, 3.0]], 10, axis=0)
    for Z, masses in (
        ([[0.0, 1.0], [2.0, 3.0], [9.0, 9.0]], [10, 10, 0]),
        ([[0.0, 1.0], [9.0, 9.0], [8.0, 8.0]], [9, 10, 1]),
    ):
        run, (known, _) = (
            over_rows(X).run(from_points(np.array(Z)), 100, 0.0),
            in_memory(X, None, np.array(Z)),
        )
        assert run.energy == known.energy == 0
        assert run.totals.tolist() == known.totals.tolist() == masses
        assert np.isinf(run.clusters.means()[1]).tolist() == [m == 0 for m in masses]


def test_a_tolerance_ends_it_and_the_energy_never_rises():
    X = np.random.default_rng(2).standard_normal((400, 2))
    short, long = (over_rows(X, rows=64).run(from_points(X[:9]), 100, tol) for tol in (0.05, 0.0))
    assert short.status == long.status == "converged" and len(short.energies) < len(long.energies)
    assert (np.diff(long.energies) <= 0).all()
    # The start, an iteration each, and one more for the distances to the last means.
    assert short.passes == len(short.energies) + 1


class Stopped(BaseException):
    pass


def stopped(machine, rows, path, shards):
    """A fit that ends after so many shards."""

    def told(done, count):
        nonlocal shards
        shards -= 1
        if shards < 0:
            raise Stopped

    with watching(told), pytest.raises(Stopped):
        machine.fit(rows, checkpoint=Checkpoint(path, minutes=0))


@pytest.mark.parametrize(
    "params",
    [
        {"kernel": Gaussian(0.7), "representation": Nystrom(15), "random_state": 3},
        {"kernel": Linear(), "random_state": None},
        {"kernel": Gaussian(0.7), "representation": Nystrom(15), "normalized": True, "random_state": 3},
    ],
)
def test_a_checkpoint(params, monkeypatch, tmp_path):
    """Begun again, it goes on, to the same bits; not with other rows, nor from numbers that no fit wrote."""
    monkeypatch.setattr(unlabelled, "_SAMPLE", 40)
    monkeypatch.setattr(unlabelled, "_EACH_COORDINATE", 1)
    monkeypatch.setattr(ArrayRows, "fingerprint", lambda self: "")
    drawn, take = [], ArrayRows.take
    monkeypatch.setattr(ArrayRows, "take", lambda self, index: (drawn.append(index), take(self, index))[1])
    X = np.random.default_rng(4).standard_normal((300, 2))
    rows, path = ArrayRows(X, rows=60), tmp_path / "a"
    machine = KernelKMeans(n_clusters=5, tol=0.0, n_init=1, **params)
    # Five shards a pass, the first of which is a look at all rows.
    stopped(machine, rows, path, 22)
    with np.load(path) as state:
        state = dict(state)
    if params["random_state"] is None:
        whole = clone(machine).set_params(random_state=int(state["seed"])).fit(rows)
    else:
        whole = clone(machine).fit(rows)
    assert len(whole.energies_) > len(state["energies"]) > 1
    data, other = path.read_bytes(), X.copy()
    hidden = np.setdiff1d(np.arange(300), drawn[0])[:6]
    other[hidden] += 0.1
    with pytest.raises(CheckpointError, match="other data: at its point the energy was"):
        clone(machine).fit(ArrayRows(other, rows=60), checkpoint=path)
    with pytest.raises(CheckpointError, match="another fit"):
        clone(machine).set_params(n_clusters=6).fit(rows, checkpoint=path)
    assert path.read_bytes() == data
    for name, value in (
        ("passes", 10**18),
        ("sums", state["sums"].T),
        ("sums", 1.5 * state["sums"]),
        ("sums", state["sums"][:, ::-1].copy()),
        ("masses", -state["masses"]),
        ("masses", 1.5 * state["masses"]),
        ("energies", state["energies"][::-1]),
        ("energies", 0.9 * state["energies"]),
        ("way", state["way"] * np.nan),
        ("degree", np.zeros(3)),
    ):
        with path.open("wb") as file:
            np.savez(file, **{**state, name: value})
        with pytest.raises(CheckpointError, match="damaged"):
            clone(machine).fit(rows, checkpoint=path)
    path.write_bytes(data)
    stopped(clone(machine), rows, path, 16)  # once more
    again = clone(machine).fit(rows, checkpoint=path)
    assert not path.exists() and np.array_equal(again.energies_, whole.energies_)
    assert np.array_equal(again.masses_, whole.masses_) and again.plan_.reasons == whole.plan_.reasons
    assert np.array_equal(again.predict(X), whole.predict(X))
    with pytest.raises(ValueError, match="live elsewhere"):
        machine.fit(X, checkpoint=path)
