"""Teleports: a mean that hardly matters moves into the cluster with the most energy, and Lloyd goes on.

Where Lloyd's algorithm ends, no mean can be moved a little to any use. To do without a mean j costs
Σ_{i∈C_j} m_i (‖ψ_i − next mean‖² − ‖ψ_i − μ_j‖²); in good clusters energies are about in balance, so the
mean that costs least to do without is worth more in the cluster with the most energy. (The text has it the
other way round: the mean of a cluster with high energy moves to where energies are low.) Such a move may
raise the energy before it lowers it, so it is kept only if Lloyd's algorithm comes to less than before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.solvers.lloyd import Cloud, LloydRun, Means, Tally, draw, lloyd


@dataclass(frozen=True, eq=False)
class Standing:
    """Of each point the two nearest means, and how far they are (squared)."""

    labels: np.ndarray
    second: np.ndarray
    gaps: np.ndarray
    second_gaps: np.ndarray

    @classmethod
    def of(cls, cloud: Cloud, members: np.ndarray) -> Standing:
        """About the means of these clusters."""
        cloud.sums.restart(members)
        means = Means(cloud, members, Tally.of(cloud, members))
        n = len(members)
        labels, second = np.empty(n, np.intp), np.empty(n, np.intp)
        gaps, second_gaps = cloud.squares.copy(), cloud.squares.copy()

        def store(rows: Any, D: np.ndarray) -> None:
            every = np.arange(len(D))
            labels[rows] = best = D.argmin(axis=1)
            gaps[rows] += D[every, best]
            D[every, best] = np.inf
            second[rows] = following = D.argmin(axis=1)
            second_gaps[rows] += D[every, following]

        means.distances(store)
        return cls(labels, second, np.maximum(gaps, 0), np.maximum(second_gaps, 0))


def teleported(
    cloud: Cloud,
    run: LloydRun,
    tries: int,
    max_iter: int,
    tol: float,
    rng: np.random.Generator,
    refill: bool = True,
) -> LloydRun:
    """What Lloyd's algorithm comes to after at most so many teleports; the energy only falls.

    After one that was of no use the cluster with the next most energy is tried.

    Examples
    --------
    >>> from mercer.operators import Matrix
    >>> from mercer.solvers.cluster_sums import CoordinateSums
    >>> from mercer.solvers.lloyd import plain
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0], [20.0], [21.0]])
    >>> cloud = plain(CoordinateSums(Matrix(X), np.ones(6), X[:, 0] ** 2, 3))
    >>> stuck = lloyd(cloud, np.array([0, 1, 2, 2, 2, 2]), 100, 0.0)
    >>> found = teleported(cloud, stuck, 3, 100, 0.0, np.random.default_rng(0))
    >>> round(stuck.energy, 6), round(found.energy, 6)
    (101.0, 1.5)
    """
    passed: set[int] = set()
    for _ in range(tries):
        if np.count_nonzero(run.totals) < 2:
            break
        standing = Standing.of(cloud, run.members)
        k = cloud.sums.clusters
        energies = np.bincount(standing.labels, cloud.masses * standing.gaps, minlength=k)
        cost = cloud.masses * (standing.second_gaps - standing.gaps)
        costs = np.where(run.totals > 0, np.bincount(standing.labels, cost, minlength=k), np.inf)
        leaving = int(costs.argmin())
        into = [j for j in np.argsort(-energies, kind="stable") if j != leaving and j not in passed]
        if not into or energies[into[0]] <= 0:
            break
        labels = _moved_into(cloud, standing, leaving, int(into[0]), rng)
        found = lloyd(cloud, labels, max_iter, tol, refill)
        if found.energy < run.energy - tol * abs(run.energy):
            later = [e for e in found.energies if e < run.energy]
            run, passed = replace(found, energies=[*run.energies, *later]), set()
        else:
            passed.add(int(into[0]))
    return run


def _moved_into(
    cloud: Cloud, standing: Standing, leaving: int, into: int, rng: np.random.Generator
) -> np.ndarray:
    """Labels once mean `leaving` is at a point of `into`: the best of a few, drawn as by k-means++."""
    gone = standing.labels == leaving
    labels = np.where(gone, standing.second, standing.labels)
    gaps = np.where(gone, standing.second_gaps, standing.gaps)
    inside = cloud.masses * standing.gaps * (standing.labels == into)
    drawn = draw(inside, 2 + int(math.log(cloud.sums.clusters)), rng)
    distances = cloud.gaps(drawn)
    best = int((cloud.masses @ np.minimum(distances, gaps[:, None])).argmin())
    nearer = distances[:, best] < gaps
    nearer[drawn[best]] = True
    labels[nearer] = leaving
    return labels
