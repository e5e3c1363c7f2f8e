"""Teleports: out of local minima, on planted clusters, and never up."""

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.operators import Matrix
from mercer.solvers.cluster_sums import CoordinateSums, KernelSums
from mercer.solvers.lloyd import at_random, lloyd, nearest_seed, normalised, plain
from mercer.solvers.teleport import Standing, teleported


def planted(seed=0, side=4, each=12):
    """Clouds on a lattice, far apart, and the energy of the partition into them."""
    rng = np.random.default_rng(seed)
    centres = 10.0 * np.array([[i, j] for i in range(side) for j in range(side)])
    truth = np.repeat(np.arange(side * side), each)
    X = centres[truth] + rng.standard_normal((len(truth), 2))
    means = np.array([X[truth == j].mean(axis=0) for j in range(side * side)])
    return X, side * side, float(np.square(X - means[truth]).sum())


def cloud_of(X, k, weights=None):
    w = np.ones(len(X)) if weights is None else weights
    return plain(CoordinateSums(Matrix(X), w, np.square(X).sum(axis=1), k))


def energy_of(X, labels, weights=None):
    w = np.ones(len(X)) if weights is None else weights
    total = 0.0
    for j in np.unique(labels):
        mine = labels == j
        mean = np.average(X[mine], axis=0, weights=w[mine])
        total += w[mine] @ np.square(X[mine] - mean).sum(axis=1)
    return total


@pytest.mark.parametrize("seed", range(6))
def test_planted_clusters_are_found_from_a_bad_start(seed):
    X, k, best = planted(seed)
    cloud, rng = cloud_of(X, k), np.random.default_rng(seed)
    stuck = lloyd(cloud, nearest_seed(cloud, at_random(cloud, k, rng)), 300, 0.0)
    found = teleported(cloud, stuck, 60, 300, 0.0, rng)
    assert found.energy == pytest.approx(best, rel=1e-9)
    assert stuck.energy > 1.5 * best  # there was something to do
    assert found.energy == pytest.approx(energy_of(X, found.labels), rel=1e-9)
    assert (np.diff(found.energies) <= 0).all() and found.energies[: len(stuck.energies)] == stuck.energies


@pytest.mark.parametrize("seed", range(5))
def test_the_energy_is_measured_and_never_rises(seed):
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((80, 3)), rng.integers(0, 4, 80).astype(float)
    cloud = cloud_of(X, 7, w)
    start = lloyd(cloud, nearest_seed(cloud, at_random(cloud, 7, rng)), 300, 0.0)
    found = teleported(cloud, start, 10, 300, 0.0, rng)
    assert found.energy <= start.energy
    seen = w > 0
    assert found.energy == pytest.approx(energy_of(X[seen], found.labels[seen], w[seen]), rel=1e-9)


def test_in_the_space_of_a_kernel_and_for_cuts():
    X, k, _ = planted(1, side=3)
    K = Gaussian(3.0)(X)
    sums = KernelSums(Matrix(K), np.ones(len(X)), np.diag(K).copy(), k)
    rng = np.random.default_rng(0)
    for look in (plain, normalised):
        cloud = look(sums)
        stuck = lloyd(cloud, np.minimum(np.arange(len(X)) // 30, k - 1), 300, 0.0)
        found = teleported(cloud, stuck, 40, 300, 0.0, rng)
        assert found.energy < 0.9 * stuck.energy
        assert len(np.unique(found.labels)) == k


def test_what_it_stands_on():
    """The two nearest means of each point, by hand."""
    X = np.array([[0.0], [1.0], [10.0], [12.0], [30.0]])
    standing = Standing.of(cloud_of(X, 3), np.array([0, 0, 1, 1, 2]))
    assert standing.labels.tolist() == [0, 0, 1, 1, 2] and standing.second.tolist() == [1, 1, 0, 0, 1]
    np.testing.assert_allclose(standing.gaps, [0.25, 0.25, 1.0, 1.0, 0.0])
    np.testing.assert_allclose(standing.second_gaps, [121.0, 100.0, 90.25, 132.25, 361.0])


def test_the_other_way_round_the_energy_rises():
    """A mean that leaves the cluster with the most energy for one with less makes things worse."""
    X = np.array([[0.0], [1.0], [10.0], [11.0], [20.0], [24.0]])
    best = energy_of(X, np.array([0, 0, 1, 1, 2, 2]))
    literal = energy_of(X, np.array([0, 2, 1, 1, 1, 1]))
    assert literal > 10 * best


def test_nothing_to_do():
    X = np.repeat([[0.0], [5.0]], 4, axis=0)
    cloud = cloud_of(X, 2)
    run = lloyd(cloud, np.repeat([0, 1], 4), 10, 0.0)
    assert teleported(cloud, run, 5, 10, 0.0, np.random.default_rng(0)) is run
    one = cloud_of(X, 1)
    run = lloyd(one, np.zeros(8, int), 10, 0.0)
    assert teleported(one, run, 5, 10, 0.0, np.random.default_rng(0)) is run


def test_empty_clusters_may_stay_empty():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    labels = np.array([0, 0, 1, 1])
    kept = lloyd(cloud_of(X, 3), labels, 10, 0.0, refill=False)
    assert kept.totals.tolist() == [2.0, 2.0, 0.0] and kept.energy == pytest.approx(1.0)
    filled = lloyd(cloud_of(X, 3), labels, 10, 0.0)
    assert filled.totals.all() and filled.energy == pytest.approx(0.5)
