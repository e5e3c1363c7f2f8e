"""What a solution is worth, from sums over examples that live elsewhere: see `solvers.certify`."""

from __future__ import annotations

import numpy as np

from mercer.rows.base import Totals
from mercer.solvers.certify import Measured, cost_of_imbalance, given_up, scale_of
from mercer.solvers.coordinates import Primal
from mercer.solvers.problem import Problem
from mercer.solvers.spans import EPS, space_of

# The curvature in b at hand tells what a better b would save only if that is less than this part of the
# objective of the best constant; of a parabola it always does.
_LOCAL = 1e-3


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

    def measured(
        self, coef: np.ndarray, intercept: np.ndarray, totals: Totals, start: float, dual: bool
    ) -> Measured:
        """From the sums of `FinalSums`, with the slopes of a smoothed loss if `dual`."""
        problem, n, lam = self.problem, self.problem.n, self.problem.lam
        values, _, young, G, slope, bends, leaning, shaken, sized, squares, size = totals
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
                imbalance = float(cost_of_imbalance(np.abs(slope) / n, bends / n).sum())
                if not problem.loss.quadratic and imbalance > _LOCAL * scale_of(self.sample):
                    imbalance = np.inf
                apart += imbalance
                # The best b moves slopes by V'' each, until they add up to 0, and the gradient with them.
                shift = np.divide(np.abs(slope), bends, out=np.zeros_like(bends), where=bends > 0)
                moved = float(np.linalg.norm(shift * leaning)) / n
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
