"""What a solution is worth, from sums over examples that live elsewhere: see `solvers.certify`."""

from __future__ import annotations

import numpy as np

from mercer.rows.base import Totals
from mercer.solvers.certify import Measured, given_up, scale_of
from mercer.solvers.coordinates import Primal
from mercer.solvers.problem import Problem
from mercer.solvers.spans import EPS, space_of

# Offsets to look at, next to the one a step of Newton's method would take: the best one lies before the first
# of them at which the slope in b has changed its sign.
_BEYOND = (1.1, 4.0, 64.0)


class Assessment:
    """Measures points of a problem whose examples live elsewhere.

    Rounding of scores is looked at in the sample, where kernel values can be computed in float64.
    """

    def __init__(self, problem: Problem, primal: Primal):
        assert problem.sample is not None
        self.problem, self.sample, self.primal = problem, problem.sample, primal
        self.space = space_of(problem.sample, primal)

    def score_errors(self, coef: np.ndarray) -> np.ndarray:
        """(t,): by how much A c may be off."""
        return np.asarray(self.space.score_errors(coef, self.sample.A @ coef)).max(axis=0)

    def shifts(self, coef: np.ndarray, intercept: np.ndarray, imbalance: np.ndarray) -> np.ndarray:
        """(k, t): changes of b between which the best b probably is, for a slope in b of this size."""
        sample, loss = self.sample, self.problem.loss
        if not (self.problem.offset and loss.smooth and loss.convex):
            return np.zeros((0, len(intercept)))
        scores = sample.A @ coef + intercept
        bend = np.full(len(intercept), loss.curvature or 1.0)
        if loss.curved:
            bend = sample.data_hess(scores).sum(axis=0) / sample.n
        least = 64 * EPS * (1 + np.abs(scores).max(axis=0))
        step = np.divide(imbalance, bend, out=np.zeros_like(bend), where=bend > 0) + least
        return np.array([sign * far * step for far in _BEYOND for sign in (-1, 1)])

    def measured(
        self,
        coef: np.ndarray,
        intercept: np.ndarray,
        totals: Totals,
        shifts: np.ndarray,
        start: float,
        dual: bool,
    ) -> Measured:
        """From the sums of `FinalSums` for these shifts, with the slopes of a smoothed loss if `dual`."""
        problem, n, lam = self.problem, self.problem.n, self.problem.lam
        values, _, young, G, slope, turned, drawn, shaken, sized, squares, size = totals
        value, young = float(np.sum(values)), float(np.sum(young))
        penalty, penalty_error = self.space.penalty(coef, self.sample.A @ coef)
        objective = value / n + lam * penalty
        # Wrong scores tell on the objective and, times the slopes, on the bound from below.
        rounding = 2 * shaken / n + lam * penalty_error + 4 * EPS * abs(objective)
        summed = (sized + 4 * np.sqrt(squares)) / n
        gradient, blur, _ = self.space.lengths(G / n, np.zeros_like(G), summed, coef)
        gap, doubt, moved = None, 0.0, 0.0
        if problem.loss.convex and not (problem.offset and problem.loss.joint):
            apart = young / n
            if problem.offset and dual:
                # Slopes in a box must add up to 0, and some of them shrink; smooth ones follow b.
                part = given_up(2 * np.abs(slope), size)
                apart += float((part * values).sum()) / n
                moved = float(np.linalg.norm(part * sized)) / n
            elif problem.offset:
                far, length = _enclosed(slope, shifts, turned, drawn)
                apart += float((np.abs(slope) * far).sum()) / n
                moved = float(np.linalg.norm(length)) / n
            gap = (gradient + moved + blur) ** 2 / (4 * lam) + apart + rounding
            if problem.loss.quadratic:  # squared errors are not negative, so neither is the minimum
                gap = min(gap, objective + rounding)
            if problem.A.dtype == np.float32:
                doubt = max(gap - rounding - (gradient + moved) ** 2 / (4 * lam) - apart, 0.0)
        if problem.offset:
            gradient = float(np.hypot(gradient, np.linalg.norm(slope) / n))
        known = gap if gap is not None and np.isfinite(gap) else None
        unit = scale_of(self.sample)
        return Measured(
            *(intercept, objective, known, rounding, gradient, blur, start, unit, self.space.words, doubt)
        )


def _enclosed(
    slope: np.ndarray, shifts: np.ndarray, turned: np.ndarray, drawn: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """How far the best b is at most, for each output, and how much slopes change on the way there.

    The slope in b rises with b, and so does every V': where it has changed its sign we are beyond the best b,
    and slopes have changed by more than they would there. A step of that length gains no more than the slope
    times it. Infinite where no shift goes so far.
    """
    there = (np.sign(shifts) == -np.sign(slope)) & (np.sign(slope) * turned <= 0) & np.isfinite(drawn)
    far, length = (
        np.where(there, what, np.inf).min(axis=0, initial=np.inf) for what in (np.abs(shifts), drawn)
    )
    return np.where(slope == 0, 0.0, far), np.where(slope == 0, 0.0, length)
