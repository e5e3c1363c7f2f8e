"""Lloyd's algorithm over shards, against the one in memory from the same labels."""

import numpy as np
import pytest

from mercer.features import ExplicitFeatures
from mercer.kernels import Linear
from mercer.operators import Elsewhere, FacingFeatures, Matrix
from mercer.rows import ArrayRows
from mercer.solvers import lloyd
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
