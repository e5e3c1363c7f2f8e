"""One output of the dual problem: its coordinates, where they start, and b (and κ) once they are found."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mercer.losses.dual import DualForm
from mercer.solvers.dual.minimise import BoxQP, feasible
from mercer.solvers.problem import Problem


@dataclass(frozen=True, eq=False)
class Part:
    """Which coefficients of an output can move, their box, where they start, how well to solve for them.

    `rows` are the examples, `at` that of every coordinate: the same, unless κ is to be found and examples
    may go either way. These come twice then, `net` adds up.
    """

    rows: np.ndarray
    at: np.ndarray
    qp: BoxQP
    start: np.ndarray
    C: np.ndarray
    form: DualForm
    tol: float
    offset_price: float

    @classmethod
    def of(cls, problem: Problem, j: int, tol: float | None) -> Part:
        n, y = problem.n, problem.y
        # Columns by themselves, unless the loss has something different to say of each.
        form, k = (problem.loss.dual(y[:, [j]]), 0) if problem.loss.alike else (problem.loss.dual(y), j)
        C = problem.w / (2 * problem.lam * n)
        rows = np.flatnonzero((C > 0) & (form.upper[:, k] > form.lower[:, k]))
        C = C[rows]
        centre, lower, upper = (
            np.asarray(a[rows, k], dtype=np.float64) for a in (form.centre, form.lower, form.upper)
        )
        form = DualForm(centre, lower, upper, form.kink, form.curvature)
        extra = form.curvature / C if form.curvature else np.zeros(len(rows))
        qp = BoxQP(centre, C * lower, C * upper, extra, form.kink, problem.offset)
        start = np.zeros(len(rows)) if problem.start is None else problem.start[rows, j].astype(np.float64)
        pull = problem.offset_price / (2 * problem.lam)
        wanted = tol if tol is not None else 1e-3 * _scale(problem, centre)
        at = rows
        if problem.kink_price:
            qp, copies = _sided(qp)
            at, start = np.tile(rows, copies), np.tile(start, copies)
            pull = 0.5 * problem.kink_price * float(C.sum())
            return cls(rows, at, qp, feasible(start, qp, pull), C, form, wanted, 0.0)
        return cls(rows, at, qp, feasible(start, qp, pull), C, form, wanted, pull)

    def net(self, c: np.ndarray) -> np.ndarray:
        """One coefficient an example."""
        return c.reshape(-1, len(self.rows)).sum(axis=0) if len(self.rows) else c

    @property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """The bounds of `net`."""
        return self.net(self.qp.lower), self.net(self.qp.upper)

    def moved(self, problem: Problem, c: np.ndarray, f: np.ndarray) -> tuple[float, float]:
        """(b, how much further out the kink is than the loss has it); f are scores without b.

        Free coefficients that are not negative lie at f + b + κ = centre, the others at f + b − κ.
        """
        if not self.qp.sided:
            return (self.offset(c, f) if problem.offset else 0.0), 0.0
        far = self.qp.far
        near, beyond = (-self._level(c, f, side) for side in (~far, far))
        return 0.5 * (near + beyond), 0.5 * (near - beyond)

    def _level(self, c: np.ndarray, f: np.ndarray, side: np.ndarray) -> float:
        """The slope of the free coefficients of a side, or the middle of where it may be."""
        right, left = (s[side] for s in self.qp.slopes(c, f - self.qp.centre + self.qp.extra * c))
        free = np.isfinite(right) & np.isfinite(left)
        if free.any():
            return float(right[free].mean())
        ends = [v for v in (right.min(initial=np.inf), left.max(initial=-np.inf)) if np.isfinite(v)]
        return float(np.mean(ends)) if ends else 0.0

    def offset(self, c: np.ndarray, f: np.ndarray) -> float:
        """b, for scores f without it: where free coefficients want it, or in the middle of where it may be.

        Where b has a price, as high as it may be: then only coefficients at their bound lie below the level.
        """
        right, left = self.qp.slopes(c, f - self.qp.centre + self.qp.extra * c)
        ends = [v for v in (right.min(initial=np.inf), left.max(initial=-np.inf)) if np.isfinite(v)]
        if self.offset_price:
            return -float(ends[0]) if ends else 0.0
        free = np.isfinite(right) & np.isfinite(left) & (right == left)
        if free.any():
            return -float(right[free].mean())
        return -float(np.mean(ends)) if ends else 0.0


def _sided(qp: BoxQP) -> tuple[BoxQP, int]:
    """The problem with Σ|c| fixed as well as Σc, and how many coordinates it has for each of these."""
    if not ((qp.lower < 0) & (qp.upper > 0)).any():
        return replace(qp, kink=0.0, sided=True), 1
    zero = np.zeros_like(qp.lower)
    lower, upper = np.concatenate([zero, qp.lower]), np.concatenate([qp.upper, zero])
    centre, extra = np.tile(qp.centre, 2), np.tile(qp.extra, 2)
    return BoxQP(centre, lower, upper, extra, 0.0, qp.paired, sided=True), 2


def _scale(problem: Problem, targets: np.ndarray) -> float:
    """What a score of 1 amounts to: 1 for labels, the spread of the targets for numbers."""
    if problem.loss.classification or not len(targets):
        return 1.0
    if problem.offset_price:
        # Scores are as large as coefficients add up to; of coefficients up to 1, this is LIBSVM's.
        return min(1.0, problem.offset_price * problem.n) / (2 * problem.lam * problem.n)
    spread = float(np.median(np.abs(targets - np.median(targets)))) or float(targets.std())
    return spread or 1.0
