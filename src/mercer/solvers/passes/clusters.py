"""Lloyd's algorithm over examples that live elsewhere: one pass over them an iteration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.operators import Elsewhere, Operator, blas_single_threaded
from mercer.rows.base import Totals, added
from mercer.solvers.cluster_sums import in_span
from mercer.solvers.lloyd import ROUNDINGS

# Of distances looked at together: 32 MB of doubles.
_ENTRIES = 1 << 22


class Assigned:
    """Sums over examples, each of which goes to the nearest of k means.

    `coef` are coefficients of −2μ_j, `norms` ‖μ_j‖². They are Aᵀ and the weights of each cluster, added up;
    how many of its examples have a weight; Σ w (‖φ − μ‖² − ‖φ‖²), and, if it is asked for, Σ w ‖φ‖².
    """

    def __call__(
        self, A: Operator, y: Any, w: Any, coef: np.ndarray, norms: np.ndarray, squares: bool
    ) -> Totals:
        seen: dict[int, Totals] = {}
        k = len(norms)

        def middle(rows: slice, S: np.ndarray) -> np.ndarray:
            D = S + norms
            best, every = D.argmin(axis=1), np.arange(len(D))
            own = np.ones(len(D)) if w is None else w[rows]
            fall = float(own @ D[every, best])
            seen[rows.start] = (
                np.bincount(best, own, minlength=k),
                np.bincount(best[own > 0], minlength=k),
                fall,
            )
            D[:] = 0
            D[every, best] = own
            return D

        with blas_single_threaded(A):
            G = A.sandwich(coef, middle)
        # Threads come in any order; numbers are added up in that of the examples.
        totals, counts, fall = added(seen[i] for i in sorted(seen))
        whole = 0.0
        if squares:
            own = np.ones(A.shape[0]) if w is None else w
            whole = float(own @ _squares(A))
        return np.asarray(G, dtype=np.float64), totals, counts, fall, whole


class Farther:
    """Examples far from their means, the farthest first, of which the first few are kept when more come."""

    def __init__(
        self, most: int, gaps: np.ndarray, labels: np.ndarray, weights: np.ndarray, rows: np.ndarray
    ):
        first = np.argsort(-gaps, kind="stable")[:most]
        self.most, self.gaps, self.labels = most, gaps[first], labels[first]
        self.weights, self.rows = weights[first], rows[first]

    def __add__(self, other: Farther) -> Farther:
        names = ("gaps", "labels", "weights", "rows")
        return Farther(self.most, *(np.concatenate([getattr(a, v) for a in (self, other)]) for v in names))


class Farthest:
    """The examples that are farthest from the nearest of k means, with their rows of A."""

    def __call__(self, A: Operator, y: Any, w: Any, coef: np.ndarray, norms: np.ndarray, most: int) -> Totals:
        n, squares = A.shape[0], _squares(A)
        own = np.ones(n) if w is None else w
        gaps, labels = np.empty(n), np.empty(n, dtype=np.intp)
        step = max(_ENTRIES // len(norms), 1)
        for i in range(0, n, step):
            part = slice(i, min(i + step, n))
            D = A.among(part) @ coef + norms
            labels[part] = D.argmin(axis=1)
            gaps[part] = squares[part] + D[np.arange(len(D)), labels[part]]
        # What may be rounding is no distance.
        away = np.flatnonzero((own > 0) & (gaps > ROUNDINGS * float(np.finfo(A.dtype).eps) * squares))
        away = away[np.argsort(-gaps[away], kind="stable")[:most]]
        return (Farther(most, gaps[away], labels[away], own[away], A.rows(away)),)


def _squares(A: Operator) -> np.ndarray:
    """‖φ(x)‖² of each row's point."""
    norms = A.row_norms()
    return A.row_squares() if norms is None else np.square(norms)


@dataclass(frozen=True, eq=False)
class Clusters:
    """What is known of clusters: sums of rows of A, weights and numbers of their examples."""

    G: np.ndarray  # (p, k)
    totals: np.ndarray  # (k,)
    counts: np.ndarray  # (k,)
    T: np.ndarray | None  # which makes A orthonormal

    @property
    def share(self) -> np.ndarray:
        return np.divide(1, self.totals, out=np.zeros(len(self.totals)), where=self.counts > 0)

    @property
    def powers(self) -> np.ndarray:
        """‖P_j‖² of the sums P_j."""
        return np.square(in_span(self.G, self.T)[0]).sum(axis=0)

    def means(self) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients of −2μ_j, and ‖μ_j‖²; infinite where there is none."""
        share = self.share
        return -2 * in_span(self.G, self.T)[1] * share, np.where(
            self.counts > 0, self.powers * share**2, np.inf
        )


@dataclass(frozen=True, eq=False)
class PassedRun:
    """What Lloyd's algorithm came to; see `solvers.lloyd.LloydRun`."""

    clusters: Clusters
    energies: list[float]
    status: str
    passes: int

    @property
    def powers(self) -> np.ndarray:
        return self.clusters.powers

    @property
    def totals(self) -> np.ndarray:
        return self.clusters.totals

    @property
    def energy(self) -> float:
        return self.energies[-1]


class LloydPasses:
    """Lloyd's algorithm, as `solvers.lloyd.lloyd` has it, for examples whose labels are kept nowhere.

    Parameters
    ----------
    A : Elsewhere

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import ExplicitFeatures
    >>> from mercer.kernels import Linear
    >>> from mercer.operators import FacingFeatures
    >>> from mercer.rows import ArrayRows
    >>> X = np.array([[0.0], [1.0], [9.0], [11.0]])
    >>> map = ExplicitFeatures(Linear()).fit(X)
    >>> A = Elsewhere(ArrayRows(X, rows=3), FacingFeatures(map, 1, X.dtype), 1, X.dtype)
    >>> start = Clusters(np.array([[0.0, 2.0]]), np.ones(2), np.ones(2), None)
    >>> run = LloydPasses(A).run(start, max_iter=10, tol=0.0)
    >>> run.clusters.G * run.clusters.share, run.energies
    (array([[ 0.5, 10. ]]), [2.5, 2.5])
    """

    def __init__(self, A: Elsewhere):
        self.A = A
        self.assign, self.look = A.adding(Assigned()), A.adding(Farthest())
        self.passes, self.whole = 0, 0.0

    def run(self, start: Clusters, max_iter: int, tol: float) -> PassedRun:
        """From the means of other clusters, such as those of a sample, until the energy falls no more."""
        clusters, _ = self.assigned(start, squares=True)
        energies, status = [self.energy_of(clusters)], "max_iter"
        for _ in range(max_iter):
            found, _ = self.assigned(clusters)
            after = found if found.counts.all() else self.teleported(found, clusters)
            if self.energy_of(after) >= energies[-1]:
                return PassedRun(clusters, [*energies, energies[-1]], "converged", self.passes)
            clusters = after
            energies.append(self.energy_of(clusters))
            if energies[-2] - energies[-1] <= tol * energies[-1]:
                status = "converged"
                break
        # The means have followed their points, so some points may have another mean nearest.
        _, fall = self.assigned(clusters)
        energies[-1] = min(energies[-1], self.sound(self.whole + fall))
        return PassedRun(clusters, energies, status, self.passes)

    def assigned(self, before: Clusters, squares: bool = False) -> tuple[Clusters, float]:
        """Every example to the nearest mean: the clusters, and Σ w (‖φ − μ‖² − ‖φ‖²)."""
        self.passes += 1
        G, totals, counts, fall, whole = self.assign(*before.means(), squares)
        self.whole = whole if squares else self.whole
        return Clusters(G, totals, counts, before.T), fall

    def energy_of(self, clusters: Clusters) -> float:
        return self.sound(self.whole - float((clusters.powers * clusters.share).sum()))

    def sound(self, energy: float) -> float:
        """An energy that is 0 but for rounding is not negative."""
        nothing = abs(energy) <= ROUNDINGS * float(np.finfo(self.A.dtype).eps) * self.whole
        return max(energy, 0.0) if nothing else energy

    def teleported(self, found: Clusters, before: Clusters) -> Clusters:
        """Every empty cluster has the farthest example of those whose cluster has others."""
        self.passes += 1
        k = len(found.counts)
        # Of a cluster's examples the last is not taken, so that at most k are passed over.
        (far,) = self.look(*before.means(), k + int((found.counts == 0).sum()))
        G, totals, counts = found.G.copy(), found.totals.copy(), found.counts.copy()
        candidates = iter(range(len(far.gaps)))
        for j in np.flatnonzero(counts == 0):
            i = next((i for i in candidates if counts[far.labels[i]] > 1), None)
            if i is None:  # fewer different points than clusters
                break
            old, part = far.labels[i], far.weights[i] * far.rows[i]
            G[:, old] -= part
            totals[old] -= far.weights[i]
            counts[old] -= 1
            G[:, j], totals[j], counts[j] = part, far.weights[i], 1
        return Clusters(G, totals, counts, found.T)
