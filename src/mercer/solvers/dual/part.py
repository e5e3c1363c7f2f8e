"""The dual problem of one output: its coefficients, their box, and what a solution of it is worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.losses.dual import DualForm
from mercer.solvers.dual.minimise import BoxQP
from mercer.solvers.problem import Problem


@dataclass(frozen=True, eq=False)
class Part:
    """Which coefficients of an output can move, their box, where they start, how well to solve for them."""

    rows: np.ndarray
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
        C = (np.ones(n) if problem.weights is None else problem.weights) / (2 * problem.lam * n)
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
        return cls(rows, qp, feasible(start, qp, pull), C, form, wanted, pull)

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


def _scale(problem: Problem, targets: np.ndarray) -> float:
    """What a score of 1 amounts to: 1 for labels, the spread of the targets for numbers."""
    if problem.loss.classification or not len(targets):
        return 1.0
    if problem.offset_price:
        # Scores are as large as coefficients add up to; of coefficients up to 1, this is LIBSVM's.
        return min(1.0, problem.offset_price * problem.n) / (2 * problem.lam * problem.n)
    spread = float(np.median(np.abs(targets - np.median(targets)))) or float(targets.std())
    return spread or 1.0


def feasible(c: np.ndarray, qp: BoxQP, total: float) -> np.ndarray:
    """The coefficients clipped to their box, and with an offset changed so that they add up to `total`."""
    c = np.clip(c, qp.lower, qp.upper)
    if not qp.paired:
        return c
    missing = total - float(c.sum())
    if abs(missing) <= 1e-13 * float(np.abs(c).sum()):  # rounding: to mend it would move zeros off zero
        return c
    room = qp.upper - c if missing > 0 else c - qp.lower
    if room.sum() < abs(missing) * (1 - 1e-12):
        raise ValueError(f"no coefficients within their bounds add up to {total:.6g}")
    before = np.concatenate([[0.0], np.cumsum(room)[:-1]])
    return c + np.sign(missing) * np.clip(abs(missing) - before, 0, room)
