"""Losses with kinks: examples near a kink are solved for in memory, all others stand for their slopes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer.solvers.coordinates import Primal
from mercer.solvers.passes.points import Point
from mercer.solvers.problem import Problem
from mercer.solvers.smooth import PrimalForm
from mercer.solvers.smoothing import Rounded, Smoothing, SmoothingTrack

# Newton steps for one window.
_STEPS = 200


class TiltedForm(PrimalForm):
    """A problem of some examples, plus a linear function ⟨tilt, u⟩: what others contribute.

    `level` is added to the objective, so that it is that of the whole problem.
    """

    def __init__(
        self, problem: Problem, primal: Primal, tilt: np.ndarray, u: np.ndarray, value: float | None
    ):
        self.tilt, self.level = tilt, 0.0
        super().__init__(problem, primal=primal)
        self.coef = u
        self.refresh()
        if value is not None:
            self.level = value - self.value
            self.refresh()
        self.measure()

    def measure(self):
        super().measure()
        self.gradient = self.gradient + self.tilt
        self.norm = float(np.linalg.norm(self.primal.size(self.gradient)))

    def refresh(self):
        super().refresh()
        self.penalty += (float((self.tilt * self.coef).sum()) + self.level) / self.problem.lam

    def shift(self, b):
        super().shift(b)
        self.penalty += float((self.tilt[-1] * b).sum()) / self.problem.lam

    def _direction(self, step):
        direction = super()._direction(step)
        direction.cross = direction.cross + (self.tilt * step).sum(axis=0) / (2 * self.problem.lam)
        return direction


class KinkWindow:
    """Some examples of a problem, in coordinates, and what they stand for.

    Parameters
    ----------
    primal : Primal, of these examples
    y, w : their targets and weights
    share : float
        The part of all examples that they were drawn from.
    problem : Problem, of which loss, λ and offset are taken
    """

    def __init__(self, primal: Primal, y: np.ndarray, w: np.ndarray | None, share: float, problem: Problem):
        self.primal = primal
        weights = np.full(len(y), share) if w is None else share * w
        # Its random numbers are its own, so that after a checkpoint they are the same again.
        self.problem = Problem(
            *(primal.Phi, primal.Phi, y, problem.loss, problem.lam, weights, problem.offset)
        )

    def solve(
        self, point: Point, mu: np.ndarray, tol: float, outputs: slice = slice(None)
    ) -> tuple[np.ndarray, np.ndarray]:
        """(u, μ) at the minimum of these examples' losses and the others' slopes, which are those at `point`.

        Down to a duality gap of tol, relative to the objective; for some of the outputs, if not for all.
        """
        problem, lam, u = self.problem, self.problem.lam, point.u[:, outputs]
        loss = Rounded.of(problem).at(mu).outputs(outputs)
        slopes = -loss.form.slope(loss.form.centre - self.primal.Phi @ u, loss.mu)
        own = self.primal.Phi.adjoint(problem.weighted(slopes)) / problem.n
        tilt = point.gradient[:, outputs] - 2 * lam * self.primal.penalise(u) - own
        if problem.offset:
            loss.owed = problem.n * tilt[-1]
        given = replace(problem, y=problem.y[:, outputs], loss=loss)
        form = TiltedForm(given, self.primal, tilt, u, float(point.values[outputs].sum()))
        track = SmoothingTrack(limit=_STEPS)
        loss = Smoothing().minimise(form, loss, track, tol)
        return form.coef, loss.mu


def solve_sample(sample: Problem, primal: Primal, tol: float) -> tuple[np.ndarray, np.ndarray]:
    """(u, μ) of the problem of a sample, in memory."""
    loss = Rounded.of(sample)
    form = PrimalForm(replace(sample, loss=loss), primal=primal)
    track = SmoothingTrack(limit=_STEPS)
    loss = Smoothing().minimise(form, loss, track, tol)
    return form.coef, loss.mu
