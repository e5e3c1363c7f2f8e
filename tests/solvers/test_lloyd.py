"""Lloyd's algorithm and its seeding, against explicit features and all partitions there are."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.engines import Tiled
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.operators import FeatureOperator, Matrix
from mercer.solvers import cluster_sums
from mercer.solvers.cluster_sums import CoordinateSums, KernelSums, about_mean
from mercer.solvers.lloyd import (
    Means,
    Nearest,
    Tally,
    at_random,
    leading,
    lloyd,
    nearest_seed,
    normalised,
    plain,
    plus_plus,
)

RNG = np.random.default_rng(0)


def sums_of(K, weights=None, clusters=3):
    weights = np.ones(len(K)) if weights is None else weights
    return KernelSums(Matrix(K), weights, np.diag(K).copy(), clusters)


def energy_of(K, labels, weights=None):
    """Σ w ‖φ − mean‖², cluster by cluster, from pairs: Σ_{i,l} w_i w_l ‖φ_i − φ_l‖²/(2 Σw)."""
    weights = np.ones(len(K)) if weights is None else weights
    D = np.diag(K)[:, None] + np.diag(K)[None, :] - 2 * K
    total = 0.0
    for j in np.unique(labels):
        w = np.where(labels == j, weights, 0)
        total += w @ D @ w / (2 * w.sum()) if w.sum() > 0 else 0
    return total


def least_energy(K, clusters):
    """Over all partitions."""
    everything = np.array(list(product(range(clusters), repeat=len(K) - 1)))
    labels = np.column_stack([np.zeros(len(everything), dtype=int), everything])
    total = np.full(len(labels), np.trace(K))
    for j in range(clusters):
        Z = (labels == j).astype(float)
        total -= np.einsum("pi,ij,pj->p", Z, K, Z, optimize=True) / np.maximum(Z.sum(axis=1), 1)
    return total.min()


def explicit_lloyd(Phi, labels, clusters):
    """The textbook's, in coordinates."""
    energies = []
    for _ in range(100):
        means = np.array([Phi[labels == j].mean(axis=0) for j in range(clusters)])
        D = ((Phi[:, None, :] - means) ** 2).sum(axis=2)
        energies.append(D[np.arange(len(Phi)), labels].sum())
        fresh = D.argmin(axis=1)
        if (fresh == labels).all():
            return labels, [*energies, energies[-1]]
        labels = fresh
    raise AssertionError


def test_explicit_features_of_a_polynomial():
    X = RNG.standard_normal((60, 2))
    u, v = X.T
    Phi = np.column_stack([np.ones(60), 2**0.5 * u, 2**0.5 * v, u * u, 2**0.5 * u * v, v * v])
    K = Polynomial(2, c=1.0)(X)
    np.testing.assert_allclose(Phi @ Phi.T, K)
    start = RNG.integers(3, size=60)
    labels, energies = explicit_lloyd(Phi, start, 3)
    for sums in (sums_of(K), CoordinateSums(Matrix(Phi), np.ones(60), np.diag(K).copy(), 3)):
        run = lloyd(plain(sums), start, 100, 0.0)
        np.testing.assert_array_equal(run.labels, labels)
        np.testing.assert_allclose(run.energies, energies, rtol=1e-10)
        assert run.status == "converged"


def test_the_best_of_many_starts_is_the_best_of_all_partitions():
    for sigma in (0.3, 1.0, 3.0):
        K = Gaussian(sigma)(RNG.standard_normal((8, 2)))
        cloud = plain(sums_of(K, clusters=2))
        runs = [lloyd(cloud, RNG.integers(2, size=8), 100, 0.0) for _ in range(100)]
        best = min(runs, key=lambda run: run.energy)
        assert best.energy == pytest.approx(least_energy(K, 2), rel=1e-10)
        assert best.energy == pytest.approx(energy_of(K, best.labels), rel=1e-10)


def points(draw, n):
    """Points on a coarse grid, so that many coincide and many distances are equal."""
    whole = st.integers(-3, 3)
    return np.array(draw(st.lists(st.tuples(whole, whole), min_size=n, max_size=n)), dtype=float)


@st.composite
def problems(draw):
    n = draw(st.integers(2, 25))
    clusters = draw(st.integers(1, min(n, 6)))
    kernel = draw(st.sampled_from([Linear(), Gaussian(0.5), Gaussian(2.0), Polynomial(3)]))
    weights = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), dtype=float)
    labels = np.array(draw(st.lists(st.integers(0, clusters - 1), min_size=n, max_size=n)))
    return kernel, points(draw, n), weights + (weights.sum() == 0), labels, clusters


@given(problems())
def test_the_energy_never_rises(problem):
    kernel, X, weights, labels, clusters = problem
    K = kernel(X)
    for single in (False, True):
        given_K = K.astype(np.float32) if single else K
        cloud = plain(sums_of(given_K, weights, clusters))
        cloud.sums.squares = np.diag(K).copy()
        run = lloyd(cloud, labels, 50, 0.0)
        assert (np.diff(run.energies) <= 0).all() and run.status == "converged"
        exact, slack = energy_of(K, run.members, weights), np.trace(K) * 3
        assert run.energy == pytest.approx(exact, abs=(1e-5 if single else 1e-11) * max(slack, 1))
        # No cluster is empty while there are different points to be had.
        filled = len(np.unique(run.members[weights > 0]))
        if kernel != Polynomial(3) and not single:
            assert filled >= min(clusters, len(np.unique(X[weights > 0], axis=0)))


def test_a_cluster_that_loses_its_points_gets_the_farthest():
    X = np.array([[0.0], [0.1], [10.0], [10.1], [10.2], [14.0]])
    # The mean of the first cluster, 5, is nobody's nearest; 14 is farthest from its own, which is 11.4.
    run = lloyd(plain(sums_of(Linear()(X))), np.array([0, 1, 0, 2, 2, 2]), 1, 0.0)
    assert run.members.tolist() == [1, 1, 2, 2, 2, 0]
    assert run.energies[1] < run.energies[0]


def test_all_clusters_empty_but_one():
    K = Gaussian(1.0)(RNG.standard_normal((30, 2)))
    run = lloyd(plain(sums_of(K, clusters=6)), np.zeros(30, dtype=int), 100, 0.0)
    assert len(np.unique(run.labels)) == 6 and (np.diff(run.energies) <= 0).all()


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("group", [1, 10_000])
def test_moves_are_changes_of_the_sums(stored, group, monkeypatch):
    monkeypatch.setattr(cluster_sums, "_LARGE_GROUP", group)
    X, weights = RNG.standard_normal((200, 3)), RNG.uniform(0, 2, 200)
    kernel = Gaussian(1.0)
    K = Matrix(kernel(X)) if stored else Tiled().operator(kernel, X)
    k = 8
    sums = KernelSums(K, weights, np.ones(200), k)
    labels = RNG.integers(k, size=200)
    sums.restart(labels)
    for count in (1, 20, 60, 150, 199):
        index = np.sort(RNG.choice(200, count, replace=False))
        fresh = labels.copy()
        fresh[index] = (labels[index] + RNG.integers(1, k, size=count)) % k
        sums.move(index, labels[index], fresh)
        labels = fresh
        V = np.eye(k)[labels] * weights[:, None]
        np.testing.assert_allclose(sums.S, kernel(X) @ V, rtol=1e-10)
        np.testing.assert_allclose(sums.powers(labels), np.diag(V.T @ kernel(X) @ V), rtol=1e-10)


def test_moves_in_coordinates(monkeypatch):
    monkeypatch.setattr(cluster_sums, "_ROWS", 16)
    monkeypatch.setattr(cluster_sums, "_NEAR", 256)
    A, weights = RNG.standard_normal((200, 3)), RNG.uniform(0, 2, 200)
    T = RNG.standard_normal((3, 2))
    sums = CoordinateSums(Matrix(A), weights, np.ones(200), 4, T)
    labels = RNG.integers(4, size=200)
    sums.restart(labels)
    for count in (1, 90, 150):
        index = RNG.choice(200, count, replace=False)
        fresh = labels.copy()
        fresh[index] = (labels[index] + 1) % 4
        sums.move(index, labels[index], fresh)
        labels = fresh
    P = (A @ T).T @ (np.eye(4)[labels] * weights[:, None])
    np.testing.assert_allclose(sums.powers(labels), (P**2).sum(axis=0))
    scores, factors = sums.scores(np.arange(4.0)), np.arange(4.0)
    np.testing.assert_allclose(scores(slice(None)), A @ T @ P * factors)
    np.testing.assert_allclose(scores(np.array([7, 3])), (A @ T @ P * factors)[[7, 3]])
    V = RNG.standard_normal((200, 2))
    np.testing.assert_allclose(sums.product(V), A @ T @ T.T @ A.T @ V)


def test_points_that_can_not_change_are_not_looked_at(monkeypatch):
    """Bounds: the same nearest means as by all distances, from a part of them."""
    centres = 6 * RNG.standard_normal((5, 3))
    A = centres[RNG.integers(5, size=2000)] + 1.5 * RNG.standard_normal((2000, 3))
    sums = CoordinateSums(Matrix(A), np.ones(2000), Matrix(A).row_squares(), 5)
    looked, usual = [], CoordinateSums.scores

    def counted(self, factors):
        found = usual(self, factors)

        def score(rows):
            D = found(rows)
            looked.append(len(D))
            return D

        return score

    cloud, labels = plain(sums), RNG.integers(5, size=2000)
    sums.restart(labels)
    nearest, total = Nearest(cloud), 0
    monkeypatch.setattr(CoordinateSums, "scores", counted)
    for _ in range(12):
        means = Means(cloud, labels, Tally.of(cloud, labels))
        fresh = nearest.to(means)
        D = ((A[:, None, :] - means.coordinates.T) ** 2).sum(axis=2)
        np.testing.assert_array_equal(fresh, D.argmin(axis=1))
        moved = np.flatnonzero(fresh != labels)
        sums.move(moved, labels[moved], fresh)
        labels, total = fresh, total + 2000
    assert sum(looked) < 0.6 * total


def test_float32_sums_are_added_in_float64():
    A = np.full((100_000, 1), np.float32(1) + np.float32(1e-3))
    sums = CoordinateSums(Matrix(A), np.ones(100_000), np.ones(100_000), 1)
    sums.restart(np.zeros(100_000, dtype=int))
    assert sums.G[0, 0] == pytest.approx(A.sum(dtype=np.float64), rel=1e-6)


def test_centred_operators():
    class Map:
        def transform(self, X):
            return X**2

    X = RNG.standard_normal((50, 3)) + 5
    lazy, mean = about_mean(FeatureOperator(Map(), X, 3))
    stored, same = about_mean(Matrix(X**2))
    np.testing.assert_allclose(mean, (X**2).mean(axis=0))
    np.testing.assert_allclose(mean, same)
    for A in (lazy, lazy.among(np.arange(50)), stored):
        np.testing.assert_allclose(A.dense(), X**2 - mean)
    np.testing.assert_allclose(lazy.rows(np.array([3])), X[3:4] ** 2 - mean)
    np.testing.assert_allclose(lazy.row_squares(), ((X**2 - mean) ** 2).sum(axis=1))


# -- seeding ----------------------------------------------------------------------------------------------


def test_seeds_are_drawn_by_squared_distance():
    """From 0, the points at 1 and 2 are drawn as 1 to 4 (and not as 4 to 1)."""
    cloud = plain(sums_of(Linear()(np.array([[0.0], [1.0], [2.0]])), clusters=2))
    rng, counts = np.random.default_rng(0), np.zeros(3)
    for _ in range(6000):
        first, second = plus_plus(cloud, 2, rng)
        counts[second] += first == 0
    assert counts[2] / counts[1] == pytest.approx(4, rel=0.15)


def test_weights_count_in_draws():
    weights = np.array([1.0, 0.0, 3.0, 2.0])
    cloud = plain(sums_of(np.eye(4), weights, 3))
    rng = np.random.default_rng(0)
    firsts = np.bincount([plus_plus(cloud, 1, rng)[0] for _ in range(3000)], minlength=4)
    np.testing.assert_allclose(firsts / 3000, weights / 6, atol=0.03)
    assert all(sorted(plus_plus(cloud, 3, rng)) == [0, 2, 3] for _ in range(20))
    assert all(sorted(at_random(cloud, 3, rng)) == [0, 2, 3] for _ in range(20))


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.0)], ids=repr)
def test_the_guarantee_of_k_means_plus_plus(kernel):
    """E[energy] ≤ 8(2 + ln k) times the least; and more candidates do better still."""
    centres = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])
    X = np.vstack([c + np.random.default_rng(1).standard_normal((3, 2)) for c in centres])
    K, rng, means = kernel(X), np.random.default_rng(0), {}
    cloud = plain(sums_of(K))
    for candidates in (1, 3):
        found = []
        for _ in range(1000):
            seeds = plus_plus(cloud, 3, rng, candidates)
            found.append(cloud.gaps(seeds).min(axis=1).sum())
        means[candidates] = np.mean(found)
    least = least_energy(K, 3)
    assert least <= means[3] < means[1] <= 8 * (2 + np.log(3)) * least


def test_seeds_are_different_points_while_there_are_some():
    X = np.repeat([[0.0], [1.0], [5.0]], 4, axis=0)
    cloud = plain(sums_of(Gaussian(1.0)(X), clusters=5))
    for candidates in (1, 3):
        seeds = plus_plus(cloud, 5, np.random.default_rng(0), candidates)
        assert len(np.unique(seeds)) == 5 and len(np.unique(X[seeds])) == 3


def test_nearest_seed():
    X = RNG.standard_normal((40, 2))
    K, seeds = Gaussian(1.0)(X), np.array([3, 17, 29])
    D = ((X[:, None] - X[seeds]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(nearest_seed(plain(sums_of(K)), seeds), D.argmin(axis=1))


# -- normalised cuts --------------------------------------------------------------------------------------


def cut_of(K, labels):
    """Σ_j cut(C_j, others)/vol(C_j)."""
    degrees = K.sum(axis=1)
    return sum(K[labels == j][:, labels != j].sum() / degrees[labels == j].sum() for j in np.unique(labels))


def test_the_energy_is_the_normalised_cut_up_to_a_constant():
    K = Gaussian(1.0)(RNG.standard_normal((40, 2)))
    cloud = normalised(sums_of(K))
    degrees = K.sum(axis=1)
    weighted = K / np.outer(degrees, degrees)
    constant = (np.diag(K) / degrees).sum() - 3
    for _ in range(5):
        run = lloyd(cloud, RNG.integers(3, size=40), 0, 0.0)
        assert energy_of(weighted, run.members, degrees) == pytest.approx(constant + cut_of(K, run.members))
        run = lloyd(cloud, run.members, 100, 0.0)
        assert run.energy == pytest.approx(constant + cut_of(K, run.members))
        assert run.energy == pytest.approx(energy_of(weighted, run.members, degrees))
        assert (np.diff(run.energies) <= 0).all()


def test_leading_coordinates_are_the_best_ones():
    """Their inner products are the best approximation of rank k, masses counted."""
    K, weights = Gaussian(1.0)(RNG.standard_normal((30, 2))), RNG.integers(0, 3, 30).astype(float)
    cloud = normalised(sums_of(K, weights))
    seen, small = leading(cloud, 3, np.random.default_rng(0))
    np.testing.assert_array_equal(seen, np.flatnonzero(weights))
    H = small.sums.A.values
    scale = np.sqrt(cloud.masses[seen]) * cloud.scale[seen]
    values, vectors = np.linalg.eigh(scale[:, None] * K[np.ix_(seen, seen)] * scale)
    best = (vectors[:, -3:] * values[-3:]) @ vectors[:, -3:].T
    root = np.sqrt(cloud.masses[seen])
    np.testing.assert_allclose(root[:, None] * (H @ H.T) * root, best, atol=1e-8)
    assert values[-1] == pytest.approx(1)


def test_degrees_must_be_positive():
    with pytest.raises(ValueError, match="the least of them is -"):
        normalised(sums_of(Linear()(np.array([[1.0], [-2.0], [-3.0]]))))
