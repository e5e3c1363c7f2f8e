"""k-means by mini-batches: each batch goes to the nearest means, and each mean to all that came to it so far.

What is kept is one vector and one mass a cluster, however many batches there were. No point is looked at
again, so each counts where it went when it came, though means have moved since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.solvers.lloyd import ROUNDINGS

# Of coordinates and distances looked at together: 32 MB of doubles.
_ENTRIES = 1 << 22

# From a slice or an index array of points to their coordinates, (points, r), dense or sparse.
Rows = Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class Batch:
    """Points that came together: coordinates by row, ‖φ(x)‖², weights."""

    rows: Rows
    squares: np.ndarray
    weights: np.ndarray

    def blocks(self, width: int) -> Iterator[tuple[slice, Any]]:
        """Coordinates of a bounded number of points at a time."""
        n = len(self.weights)
        step = max(_ENTRIES // max(width, 1), 1)
        for i in range(0, n, step):
            part = slice(i, min(i + step, n))
            yield part, self.rows(part)


@dataclass(frozen=True, eq=False)
class RunningMeans:
    """Means of clusters in orthonormal coordinates, (r, k), and the mass that has come to each, (k,).

    A cluster without mass is empty: no point is near to it.

    Examples
    --------
    >>> means = RunningMeans(np.array([[0.0, 10.0]]), np.array([1.0, 1.0]))
    >>> X = np.array([[2.0], [13.0]])
    >>> after = means.after(Batch(lambda rows: X[rows], (X**2)[:, 0], np.array([1.0, 2.0])))
    >>> after.coordinates, after.masses
    (array([[ 1., 12.]]), array([2., 3.]))
    """

    coordinates: np.ndarray
    masses: np.ndarray

    def nearest(self, batch: Batch) -> tuple[np.ndarray, np.ndarray]:
        """The nearest mean of each point, of equally near ones the first; and its squared distance."""
        r, k = self.coordinates.shape
        norms = np.where(self.masses > 0, np.square(self.coordinates).sum(axis=0), np.inf)
        labels, gaps = np.empty(len(batch.weights), np.intp), np.empty(len(batch.weights))
        for part, rows in batch.blocks(r + k):
            D = norms - 2 * (rows @ self.coordinates)
            labels[part] = best = D.argmin(axis=1)
            gaps[part] = batch.squares[part] + D[np.arange(len(D)), best]
        return labels, np.maximum(gaps, 0)

    def after(self, batch: Batch, refill: bool = True) -> RunningMeans:
        """The means once these points have come; with `refill`, empty clusters get those farthest away."""
        r, k = self.coordinates.shape
        labels, gaps = self.nearest(batch)
        if refill and not (self.masses > 0).all():
            labels = self._refilled(labels, gaps, batch)
        added = np.bincount(labels, batch.weights, minlength=k)
        total = self.masses + added
        G = np.zeros((r, k))
        for part, rows in batch.blocks(r + k):
            V = np.zeros((part.stop - part.start, k))
            V[np.arange(len(V)), labels[part]] = batch.weights[part]
            G += rows.T @ V
        # A step towards the newcomers: sums of all that ever came would lose digits.
        step = np.divide(1, total, out=np.zeros(k), where=total > 0)
        return RunningMeans(self.coordinates + (G - self.coordinates * added) * step, total)

    def _refilled(self, labels: np.ndarray, gaps: np.ndarray, batch: Batch) -> np.ndarray:
        """Labels where every empty cluster has the farthest point of those whose cluster keeps others."""
        labels, seen = labels.copy(), batch.weights > 0
        k = len(self.masses)
        others = np.bincount(labels[seen], minlength=k) + (self.masses > 0)
        away = np.flatnonzero(seen & (gaps > ROUNDINGS * np.finfo(np.float64).eps * batch.squares))
        farthest = iter(away[np.argsort(-gaps[away], kind="stable")])
        taken: list[int] = []
        for j in np.flatnonzero(self.masses == 0):
            i = next((i for i in farthest if others[labels[i]] > 1 and _is_new(batch, i, taken)), None)
            if i is None:  # fewer different points than clusters
                break
            others[labels[i]] -= 1
            labels[i] = j
            taken.append(int(i))
        return labels


def _is_new(batch: Batch, i: int, taken: list[int]) -> bool:
    """Is point i none of those that are taken, nor a copy?"""
    if not taken:
        return True
    rows, own = _dense(batch.rows(np.array(taken))), _dense(batch.rows(np.array([i])))
    return not (rows == own).all(axis=1).any()


def _dense(rows: Any) -> np.ndarray:
    return rows.toarray() if hasattr(rows, "toarray") else rows
