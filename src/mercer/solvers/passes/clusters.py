"""Lloyd's algorithm over examples that live elsewhere: one pass over them an iteration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.operators import Elsewhere, Operator, blas_single_threaded
from mercer.rows.base import Largest, Totals, added
from mercer.solvers.cluster_sums import in_span
from mercer.solvers.journal import Journal, agreement, digest
from mercer.solvers.lloyd import ROUNDINGS, require_degrees

# Of distances looked at together: 32 MB of doubles.
_ENTRIES = 1 << 22


class Assigned:
    """Sums over examples, each of which goes to the nearest of k means.

    `coef` are coefficients of −2μ_j, `norms` ‖μ_j‖². They are w a(x), added up over each cluster; its mass;
    how many of its examples have a weight; Σ m (‖ψ − μ‖² − ‖ψ‖²); Σ m ‖ψ‖², if it is asked for; and the
    least degree. Masses m, degrees d and ψ are those of `solvers.lloyd`: where coefficients have one more
    column, it is that of d, and m = w d, ψ = φ/d. Otherwise m = w, d = 1 and ψ = φ.
    """

    def __call__(
        self, A: Operator, y: Any, w: Any, first: int, coef: np.ndarray, norms: np.ndarray, squares: bool
    ) -> Totals:
        seen: dict[int, Totals] = {}
        k, own = len(norms), np.ones(A.shape[0]) if w is None else w
        lengths = _squares(A) if squares else None

        def middle(rows: slice, S: np.ndarray) -> np.ndarray:
            D, d = _distances(S, norms)
            best, every = D.argmin(axis=1), np.arange(len(D))
            here, mass = own[rows], own[rows] * d
            seen[rows.start] = (
                np.bincount(best, mass, minlength=k),
                np.bincount(best[here > 0], minlength=k),
                float(mass @ D[every, best]),
                0.0 if lengths is None else float(here @ _over(lengths[rows], d)),
                Largest(-d.min()),
            )
            V = np.zeros_like(S)
            V[every, best] = here
            return V

        with blas_single_threaded(A):
            G = A.sandwich(coef, middle)
        # Threads come in any order; numbers are added up in that of the examples.
        return np.asarray(G, dtype=np.float64)[:, :k], *added(seen[i] for i in sorted(seen))


class Farther:
    """Examples far from their means, the farthest first, of which the first few are kept when more come."""

    def __init__(self, most: int, gaps: np.ndarray, labels: np.ndarray, masses: np.ndarray, rows: np.ndarray):
        first = np.argsort(-gaps, kind="stable")[:most]
        self.most, self.gaps, self.labels = most, gaps[first], labels[first]
        self.masses, self.rows = masses[first], rows[first]

    def __add__(self, other: Farther) -> Farther:
        names = ("gaps", "labels", "masses", "rows")
        return Farther(self.most, *(np.concatenate([getattr(a, v) for a in (self, other)]) for v in names))


class Farthest:
    """The examples that are farthest from the nearest of k means, with w times their rows of A."""

    def __call__(
        self, A: Operator, y: Any, w: Any, first: int, coef: np.ndarray, norms: np.ndarray, most: int
    ) -> Totals:
        n, squares = A.shape[0], _squares(A)
        own = np.ones(n) if w is None else w
        gaps, labels, masses = np.empty(n), np.empty(n, dtype=np.intp), own.copy()
        step = max(_ENTRIES // len(norms), 1)
        for i in range(0, n, step):
            part = slice(i, min(i + step, n))
            D, d = _distances(A.among(part) @ coef, norms)
            labels[part] = D.argmin(axis=1)
            masses[part] *= d
            squares[part] /= d * d
            gaps[part] = squares[part] + D[np.arange(len(D)), labels[part]]
        # What may be rounding is no distance.
        away = np.flatnonzero((own > 0) & (gaps > ROUNDINGS * float(np.finfo(A.dtype).eps) * squares))
        away = away[np.argsort(-gaps[away], kind="stable")[:most]]
        return (Farther(most, gaps[away], labels[away], masses[away], own[away, None] * A.rows(away)),)


class WeightedSum:
    """Σ w a(x) over all examples."""

    def __call__(self, A: Operator, y: Any, w: Any, first: int) -> Totals:
        return (A.adjoint(np.ones(A.shape[0]) if w is None else w),)


def _distances(S: np.ndarray, norms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """‖ψ − μ_j‖² − ‖ψ‖², and degrees, from products of rows of A with coefficients."""
    if S.shape[1] == len(norms):
        return S + norms, np.ones(len(S))
    d = S[:, -1]
    return _over(S[:, :-1], d[:, None]) + norms, d


def _over(values: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    """Divided by degrees, among which there may be a 0, of which somebody else says something."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return values / degrees


def _squares(A: Operator) -> np.ndarray:
    """‖φ(x)‖² of each row's point."""
    norms = A.row_norms()
    return A.row_squares() if norms is None else np.square(norms)


@dataclass(frozen=True, eq=False)
class Clusters:
    """What is known of clusters: sums of rows of A, masses and numbers of their examples."""

    G: np.ndarray  # (p, k)
    totals: np.ndarray  # (k,) masses
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
    normalised : bool
        Is it the normalised cut?
    journal : Journal, optional
        Notes how far it is.
    seen : array
        Numbers of the sample, which a checkpoint must be of, too.
    refill : bool
        Is an empty cluster given the farthest example, or left empty?

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

    def __init__(
        self,
        A: Elsewhere,
        normalised: bool = False,
        journal: Journal | None = None,
        seen: Any = (),
        refill: bool = True,
    ):
        self.A, self.normalised, self.refill = A, normalised, refill
        self.journal, self.seen = Journal() if journal is None else journal, np.asarray(seen, np.float64)
        self.degree = np.zeros((A.shape[1], 0))
        self._degree_shape = (A.shape[1], int(normalised))
        self.assign, self.look = A.adding(Assigned()), A.adding(Farthest())
        self.passes, self.whole = 0, 0.0

    def run(self, start: Clusters, max_iter: int, tol: float) -> PassedRun:
        """From the means of other clusters, such as those of a sample, until the energy falls no more."""
        with self.journal:
            return self._run(*self._begun(start), max_iter, tol)

    def _run(self, clusters: Clusters, energies: list[float], max_iter: int, tol: float) -> PassedRun:
        def falls() -> bool:
            return len(energies) < 2 or energies[-2] - energies[-1] > tol * energies[-1]

        while len(energies) <= max_iter and falls():
            found, _ = self.assigned(clusters)
            after = self.refilled(found, clusters) if self.refill else found
            if self.energy_of(after) >= energies[-1]:
                return PassedRun(clusters, [*energies, energies[-1]], "converged", self.passes)
            energies.append(self.energy_of(after))
            self._note(clusters, found, after, energies)
            clusters = after
        status = "max_iter" if falls() else "converged"
        # The means have followed their points, so some points may have another mean nearest.
        _, fall = self.assigned(clusters)
        energies[-1] = min(energies[-1], self.sound(self.whole + fall))
        return PassedRun(clusters, energies, status, self.passes)

    # -- beginning, and going on --------------------------------------------------------------------

    def _begun(self, start: Clusters) -> tuple[Clusters, list[float]]:
        """The clusters about the means of the start, or where a checkpoint says; and the energies so far."""
        k = len(start.totals)
        about: tuple[Any, ...]
        about = (self.A.rows_elsewhere.fingerprint(), self.A.shape, str(self.A.dtype), self.normalised, k)
        about = about if self.refill else (*about, "empty clusters stay")
        if self.journal.path is not None:
            state = self.journal.resume(digest("clusters", *about), self.seen, self.A.dtype)
            if state:
                return self._resumed(state, start)
        self.journal.begin()
        if self.normalised:
            self.passes += 1
            (total,) = self.A.adding(WeightedSum())()
            self.degree = in_span(total[:, None], start.T)[1]
        clusters, _ = self.assigned(start, squares=True)
        energies = [self.energy_of(clusters)]
        self._note(start, clusters, clusters, energies)
        return clusters, energies

    def _note(self, before: Clusters, found: Clusters, after: Clusters, energies: list[float]) -> None:
        """What a checkpoint needs; from `before` a pass found clusters whose energy can be measured again."""
        self.journal.note(
            {
                **{"sums": after.G, "masses": after.totals, "counts": after.counts + 0.0},
                **{"noted_sums": before.G, "noted_masses": before.totals},
                **{"noted_counts": before.counts + 0.0},
                **{"degree": self.degree, "energies": list(energies), "passes": self.passes},
                "way": [self.energy_of(found), self.whole],
            }
        )

    def _resumed(self, state: dict[str, Any], start: Clusters) -> tuple[Clusters, list[float]]:
        try:
            energies = self._require(state, start)
            before, clusters = (
                Clusters(state[f"{first}sums"], state[f"{first}masses"], state[f"{first}counts"], start.T)
                for first in ("noted_", "")
            )
            noted, self.whole = state["way"].tolist()
            passes, self.degree = int(state["passes"]), state["degree"]
        except (KeyError, ValueError, TypeError) as error:
            raise self.journal.damaged(error) from None
        there, _ = self.assigned(before)
        # Coordinates that are orthonormal by T have more rounding than entries of A.
        allowed = 10 * agreement(self.A.dtype) * self.whole
        self.journal.require_same("energy", noted, self.energy_of(there), allowed)
        # Where no cluster was empty, the pass has found those that go on; others have their energy, at least.
        same = all(
            np.allclose(found, kept, rtol=1e-3, atol=allowed)
            for found, kept in ((there.G, clusters.G), (there.totals, clusters.totals))
        )
        off = abs(self.energy_of(clusters) - energies[-1])
        if (there.counts.all() and not same) or not off <= allowed:
            raise self.journal.damaged(ValueError("its clusters are not those of its energies"))
        self.passes = passes
        return clusters, energies

    def _require(self, state: dict[str, Any], start: Clusters) -> list[float]:
        """Refuse a state that is not one of such clusters; the energies in it."""
        p, k = start.G.shape
        shapes: dict[str, tuple[int, ...]] = {"way": (2,), "degree": self._degree_shape}
        for first in ("noted_", ""):
            shapes |= {first + "sums": (p, k), first + "masses": (k,), first + "counts": (k,)}
        energies = state["energies"]
        for name, shape in shapes.items():
            array = state[name]
            if array.dtype != np.float64 or array.shape != shape or not np.isfinite(array).all():
                raise ValueError("its numbers are not those of this fit")
            if name.endswith(("masses", "counts")) and (array < 0).any():
                raise ValueError("it has masses below 0")
        if energies.ndim != 1 or not len(energies) or not (np.diff(energies) < 0).all():
            raise ValueError("its energies do not fall")
        # There are one or two passes an iteration, and one more at first for degrees.
        if not len(energies) <= state["passes"].item() <= 2 * len(energies) + 1:
            raise ValueError("it does not say how far it was")
        return energies.tolist()

    # -- passes -------------------------------------------------------------------------------------

    def assigned(self, before: Clusters, squares: bool = False) -> tuple[Clusters, float]:
        """Every example to the nearest mean: the clusters, and Σ m (‖ψ − μ‖² − ‖ψ‖²)."""
        self.passes += 1
        G, totals, counts, fall, whole, most = self.assign(*self.means(before), squares)
        require_degrees(-float(most.value))
        self.whole = whole if squares else self.whole
        return Clusters(G, totals, counts, before.T), fall

    def means(self, clusters: Clusters) -> tuple[np.ndarray, np.ndarray]:
        coef, norms = clusters.means()
        return np.hstack([coef, self.degree]), norms

    def energy_of(self, clusters: Clusters) -> float:
        return self.sound(self.whole - float((clusters.powers * clusters.share).sum()))

    def sound(self, energy: float) -> float:
        """An energy that is 0 but for rounding is not negative."""
        nothing = abs(energy) <= ROUNDINGS * float(np.finfo(self.A.dtype).eps) * self.whole
        return max(energy, 0.0) if nothing else energy

    def refilled(self, found: Clusters, before: Clusters) -> Clusters:
        """Every empty cluster has the farthest example of those whose cluster has others."""
        if found.counts.all():
            return found
        self.passes += 1
        k = len(found.counts)
        # Of a cluster's examples the last is not taken, so that at most k are passed over.
        (far,) = self.look(*self.means(before), k + int((found.counts == 0).sum()))
        G, totals, counts = found.G.copy(), found.totals.copy(), found.counts.copy()
        candidates = iter(range(len(far.gaps)))
        for j in np.flatnonzero(counts == 0):
            i = next((i for i in candidates if counts[far.labels[i]] > 1), None)
            if i is None:  # fewer different points than clusters
                break
            old = far.labels[i]
            G[:, old] -= far.rows[i]
            totals[old] -= far.masses[i]
            counts[old] -= 1
            G[:, j], totals[j], counts[j] = far.rows[i], far.masses[i], 1
        return Clusters(G, totals, counts, found.T)
