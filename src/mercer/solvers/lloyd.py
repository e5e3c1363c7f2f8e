"""k-means in feature space: seeding by k-means++, and Lloyd's algorithm.

The energy of clusters C_1 … C_k of points with masses m is E = Σ_j Σ_{i∈C_j} m_i ‖ψ(x_i) − μ_j‖², with μ_j
the weighted mean of its cluster. ψ = φ and m = w are k-means; ψ(x) = φ(x)/d(x) and m_i = w_i d(x_i), where
d(x) = Σ_l w_l k(x, x_l) is the degree, are the normalised cut (Dhillon, Guan and Kulis, 2004). In both cases
Σ_{i∈C_j} m_i ψ(x_i) = Σ_{i∈C_j} w_i φ(x_i) = P_j, which is what `Sums` keep.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._notice import tell
from mercer._threads import parallel_map
from mercer.operators import Matrix
from mercer.solvers.cluster_sums import CoordinateSums, Sums
from mercer.solvers.eigen import largest_eigenpairs

# A squared distance below so many roundings of the squares it comes from counts as none.
ROUNDINGS = 64
# Of distances looked at together: 32 MB of doubles.
_ENTRIES = 1 << 22
# Where more points than this share of them are in doubt, all are looked at, without copying rows.
_DOUBTFUL = 0.6
# Eigenvectors only say where to begin.
_EIGEN_TOL, _EIGEN_PASSES = 1e-3, 60


@dataclass(frozen=True, eq=False)
class Cloud:
    """Points in feature space."""

    sums: Sums
    masses: np.ndarray  # (n,) m
    squares: np.ndarray  # (n,) ‖ψ(x_i)‖²
    scale: np.ndarray | None = None  # (n,) 1/d(x_i), or None where ψ = φ

    def gaps(self, index: np.ndarray) -> np.ndarray:
        """‖ψ(x_i) − ψ(x_l)‖² of all points with a few; what may be rounding is 0."""
        ends = self.squares[:, None] + self.squares[index]
        columns = self.sums.columns(index)
        if self.scale is not None:
            columns = columns * self.scale[:, None] * self.scale[index]
        gaps = ends - 2 * columns
        gaps[gaps <= ROUNDINGS * self.sums.precision * ends] = 0
        gaps[index, np.arange(len(index))] = 0
        return gaps


@dataclass(frozen=True, eq=False)
class LloydRun:
    """What a run of Lloyd's algorithm came to; status is "converged" or "max_iter"."""

    labels: np.ndarray  # (n,) the nearest mean of each point
    members: np.ndarray  # (n,) the clusters the means are of: labels, but for the last step of a short run
    powers: np.ndarray  # (k,) ‖P_j‖² of them
    totals: np.ndarray  # (k,) their masses
    energies: list[float]  # of the start, and after each iteration, the last of which may move nothing
    status: str

    @property
    def energy(self) -> float:
        return self.energies[-1]


def plain(sums: Sums) -> Cloud:
    """The cloud whose energy is that of k-means."""
    return Cloud(sums, sums.weights, sums.squares)


def normalised(sums: Sums) -> Cloud:
    """The cloud whose energy is the normalised cut, up to a constant."""
    degrees = sums.product(sums.weights[:, None])[:, 0]
    require_degrees(float(degrees.min()))
    return Cloud(sums, sums.weights * degrees, sums.squares / degrees**2, 1 / degrees)


def require_degrees(least: float) -> None:
    """Refuse degrees that can't be divided by, of which this is the least."""
    if not least > 0:
        raise ValueError(
            f"normalized=True divides by the degrees Σ_l k(x_i,x_l), and the least of them is {least:.3g}: "
            f"take a kernel without negative values, such as Gaussian, and if need be representation='full'"
        )


# -- seeding ----------------------------------------------------------------------------------------------


def plus_plus(cloud: Cloud, clusters: int, rng: np.random.Generator, candidates: int = 1) -> np.ndarray:
    """k-means++: indices of points, each next one drawn with probability ∝ m_i times its squared distance to
    the nearest so far.

    The energy of these k points as centres is at most 8(2 + ln k) times the least of all, in expectation
    (Arthur and Vassilvitskii, 2007). With more than one candidate, the best of that many draws is taken:
    lower energies in practice, without that guarantee.
    """
    masses = cloud.masses
    seeds = draw(masses, 1, rng).tolist()
    nearest = cloud.gaps(np.array(seeds))[:, 0]
    while len(seeds) < clusters:
        fresh = draw(masses * nearest, candidates, rng)
        if len(fresh) == 0:  # no point is away from all seeds: there are too few different ones
            rest = np.setdiff1d(np.flatnonzero(masses > 0), seeds)
            return np.array(seeds + rng.choice(rest, clusters - len(seeds), replace=False).tolist())
        gaps = np.minimum(cloud.gaps(fresh), nearest[:, None])
        best = int(np.argmin(masses @ gaps))
        seeds.append(int(fresh[best]))
        nearest = gaps[:, best]
    return np.array(seeds)


def draw(weights: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Indices drawn with probability ∝ weights; none where all weights are 0."""
    edges = np.cumsum(weights)
    if not edges[-1] > 0:
        return np.zeros(0, dtype=np.intp)
    found = np.searchsorted(edges, rng.random(count) * edges[-1], side="right")
    # Rounding may lead past the last point that has any weight.
    return np.minimum(found, np.flatnonzero(weights)[-1])


def at_random(cloud: Cloud, clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Indices of different points, each as likely as the others."""
    return rng.choice(np.flatnonzero(cloud.masses > 0), clusters, replace=False)


def nearest_seed(cloud: Cloud, seeds: np.ndarray) -> np.ndarray:
    """The position in `seeds` of the nearest one, for each point; of equally near ones, the first."""
    best = np.full(len(cloud.masses), np.inf)
    labels = np.zeros(len(best), dtype=np.intp)
    step = max(_ENTRIES // len(best), 1)
    for j in range(0, len(seeds), step):
        gaps = cloud.gaps(seeds[j : j + step])
        first = gaps.argmin(axis=1)
        gap = gaps[np.arange(len(best)), first]
        closer = gap < best
        best[closer], labels[closer] = gap[closer], j + first[closer]
    return labels


def leading(cloud: Cloud, clusters: int, rng: np.random.Generator) -> tuple[np.ndarray, Cloud]:
    """Which points have mass, and these in the k coordinates that hold most of them.

    The energy in these coordinates is that of all of feature space but for what the smaller eigenvalues of
    m^½ ⟨ψ, ψ⟩ m^½ contribute: k-means there is spectral clustering.
    """
    seen = np.flatnonzero(cloud.masses > 0)
    root = np.sqrt(cloud.masses[seen])
    inner = root if cloud.scale is None else root * cloud.scale[seen]

    def apply(V: np.ndarray) -> np.ndarray:
        spread = np.zeros((len(cloud.masses), V.shape[1]))
        spread[seen] = inner[:, None] * V
        return inner[:, None] * cloud.sums.product(spread)[seen]

    pairs = largest_eigenpairs(apply, len(seen), clusters, rng, _EIGEN_TOL, _EIGEN_PASSES)
    H = pairs.vectors * np.sqrt(np.maximum(pairs.values, 0)) / root[:, None]
    masses, squares = cloud.masses[seen], np.einsum("ij,ij->i", H, H)
    return seen, plain(CoordinateSums(Matrix(H), masses, squares, clusters))


# -- Lloyd ------------------------------------------------------------------------------------------------


def lloyd(cloud: Cloud, labels: np.ndarray, max_iter: int, tol: float, refill: bool = True) -> LloydRun:
    """Each point to the nearest mean, each mean to its points, until nothing moves; the energy never rises.

    An empty cluster is given the point that is farthest from its mean, which lowers the energy, too; without
    `refill` it stays empty. Stops when an iteration lowers the energy by no more than `tol` of it; an
    increase can only be rounding, and ends the run before that step.
    """
    sums = cloud.sums
    whole = float(cloud.masses @ cloud.squares)

    def energy_of(means: Means) -> float:
        energy = whole - float((means.powers * means.share).sum())
        # Below 0 by more than rounding where K is a graph's matrix and no kernel's.
        nothing = abs(energy) <= ROUNDINGS * sums.precision * whole
        return max(energy, 0.0) if nothing else energy

    members = np.array(labels, dtype=np.intp)
    sums.restart(members)
    tally = Tally.of(cloud, members)
    means, nearest = Means(cloud, members, tally), Nearest(cloud)
    energies, status = [energy_of(means)], "max_iter"
    for _ in range(max_iter):
        labels = after = nearest.to(means)
        moved = _moved(cloud, members, after)
        count = tally.changed(cloud, moved, members, after)
        if refill and not count.counts.all():
            after = _refilled(means, labels, count.counts)
            moved = _moved(cloud, members, after)
            count = tally.changed(cloud, moved, members, after)
        if len(moved):
            sums.move(moved, members[moved], after)
            fresh = Means(cloud, after, count)
        if len(moved) == 0 or energy_of(fresh) >= energies[-1]:
            return LloydRun(
                labels, members, means.powers, tally.totals, [*energies, energies[-1]], "converged"
            )
        members, means, tally = after, fresh, count
        energies.append(energy_of(means))
        tell("k-means", len(energies) - 1, "energy", energies[-1])
        if energies[-2] - energies[-1] <= tol * energies[-1]:
            status = "converged"
            break
    # The means have followed their points, so some points may have another mean nearest.
    labels = nearest.to(means)
    energies[-1] = min(energies[-1], float(cloud.masses @ means.gaps(labels)))
    return LloydRun(labels, members, means.powers, tally.totals, energies, status)


def _moved(cloud: Cloud, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Points with mass that are in another cluster than before."""
    moved = np.flatnonzero(before != after)
    return moved[cloud.masses[moved] > 0]


@dataclass(frozen=True, eq=False)
class Tally:
    """How many points with mass each cluster has, and their mass."""

    counts: np.ndarray
    totals: np.ndarray

    @classmethod
    def of(cls, cloud: Cloud, labels: np.ndarray, rows: Any = slice(None)) -> Tally:
        """That of some points."""
        k, masses = cloud.sums.clusters, cloud.masses[rows]
        mine = labels[rows]
        return cls(np.bincount(mine[masses > 0], minlength=k), np.bincount(mine, masses, minlength=k))

    def changed(self, cloud: Cloud, moved: np.ndarray, before: np.ndarray, after: np.ndarray) -> Tally:
        """That after some points have moved."""
        gone, come = Tally.of(cloud, before, moved), Tally.of(cloud, after, moved)
        counts = self.counts - gone.counts + come.counts
        # Of an emptied cluster rounding might leave a mass.
        return Tally(counts, np.where(counts > 0, self.totals - gone.totals + come.totals, 0.0))


class Means:
    """The means of clusters, from the sums as they are now."""

    def __init__(self, cloud: Cloud, members: np.ndarray, tally: Tally):
        self.cloud, sums = cloud, cloud.sums
        self.powers = sums.powers(members)
        self.filled = tally.counts > 0
        self.share = np.divide(1, tally.totals, out=np.zeros(len(tally.totals)), where=self.filled)
        P = sums.coordinates()
        self.coordinates = None if P is None else P * self.share

    def shifts(self, before: Means) -> np.ndarray:
        """How far each mean is from where it was; infinitely far where there is none, or was none."""
        assert self.coordinates is not None and before.coordinates is not None
        shifts = np.linalg.norm(self.coordinates - before.coordinates, axis=0)
        return np.where(self.filled == before.filled, shifts, np.inf)

    def distances(self, function: Callable[[Any, np.ndarray], None], index: np.ndarray | None = None) -> None:
        """function(rows, ‖ψ(x) − μ_j‖² − ‖ψ(x)‖²) for blocks of (some) points, several at a time."""
        sums, scale = self.cloud.sums, self.cloud.scale
        norms = np.where(self.filled, self.powers * self.share**2, np.inf)
        scores = sums.scores(-2 * self.share)
        n, step = len(self.cloud.masses) if index is None else len(index), sums.height()
        blocks = [slice(i, min(i + step, n)) for i in range(0, n, step)]

        def some(blocks: list[slice]) -> None:
            for block in blocks:
                rows = block if index is None else index[block]
                D = scores(rows)
                if scale is not None:
                    D = D * scale[rows, None]
                D += norms.astype(D.dtype, copy=False)
                function(rows, D)

        threads = min(sums.threads, len(blocks))
        parallel_map(some, [blocks[t::threads] for t in range(threads)], threads)

    def gaps(self, labels: np.ndarray) -> np.ndarray:
        """The squared distance of each point to the mean with its label."""
        gaps = self.cloud.squares.copy()

        def add(rows: slice, D: np.ndarray) -> None:
            gaps[rows] += D[np.arange(len(D)), labels[rows]]

        self.distances(add)
        return np.maximum(gaps, 0)


class Nearest:
    """Who is nearest to which mean, while means move.

    In coordinates it is known how far they move. A point that is nearer to its own mean than to any other by
    more than that stays where it is without a look at its distances (Hamerly, 2010): in later iterations
    most points do.
    """

    def __init__(self, cloud: Cloud):
        n = len(cloud.masses)
        self.cloud = cloud
        self.means: Means | None = None
        self.labels = np.zeros(n, dtype=np.intp)
        # No other mean is nearer than the own one is far, plus this.
        self.lead = np.zeros(n)

    def to(self, means: Means) -> np.ndarray:
        """The nearest of these means, for each point."""
        labels, lead, squares = self.labels, self.lead, self.cloud.squares
        bounded = means.coordinates is not None

        def store(rows: Any, D: np.ndarray) -> None:
            best = D.argmin(axis=1)
            labels[rows] = best
            if bounded:
                every = np.arange(len(D))
                own = np.maximum(squares[rows] + D[every, best], 0)
                D[every, best] = np.inf
                lead[rows] = np.sqrt(np.maximum(squares[rows] + D.min(axis=1), 0)) - np.sqrt(own)

        means.distances(store, self._doubtful(means) if bounded else None)
        self.means = means
        return labels.copy()

    def _doubtful(self, means: Means) -> np.ndarray | None:
        """Points that may have another mean nearest now; None for all."""
        if self.means is None:
            return None
        shifts = means.shifts(self.means)
        most = int(shifts.argmax())
        if np.isinf(shifts[most]):
            return None
        # The own mean may have gone, and another come: the one that moved most or, for its points, the next.
        lost = shifts + shifts[most]
        lost[most] = shifts[most] + np.delete(shifts, most).max(initial=0.0)
        self.lead -= lost[self.labels]
        index = np.flatnonzero(self.lead <= 0)
        return None if len(index) > _DOUBTFUL * len(self.labels) else index


def _refilled(means: Means, labels: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Labels where every empty cluster has the farthest point of those whose cluster has others."""
    cloud, counts = means.cloud, counts.copy()
    gaps, labels = means.gaps(labels), labels.copy()
    away = (cloud.masses > 0) & (gaps > ROUNDINGS * cloud.sums.precision * cloud.squares)
    candidates = np.flatnonzero(away)
    farthest = iter(candidates[np.argsort(-gaps[candidates], kind="stable")])
    for j in np.flatnonzero(counts == 0):
        i = next((i for i in farthest if counts[labels[i]] > 1), None)
        if i is None:  # fewer different points than clusters
            break
        counts[labels[i]] -= 1
        labels[i], counts[j] = j, 1
    return labels
