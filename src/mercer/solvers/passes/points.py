"""Where a minimisation is: a point in coordinates, what a pass measured there, and Hessians of a sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.rows.base import Reservoir, Totals
from mercer.solvers.coordinates import Primal
from mercer.solvers.problem import Problem

# Outputs up to this number have a Hessian each; more of them share one.
_OWN_HESSIANS = 4


@dataclass(frozen=True, eq=False)
class Point:
    """Coordinates u, and what is known there.

    `value` is the (smoothed) objective, `objective` that of V itself, `smoothing` what rounding kinks off
    costs, `gradient` that of `value` in u, `norm` its length in H_K; `near` are some examples near a kink, of
    each output or of any.
    """

    u: np.ndarray
    value: float
    objective: float
    smoothing: float
    gradient: np.ndarray
    imbalance: np.ndarray
    norm: float
    near: tuple[Reservoir, ...] = ()
    exact: bool = True  # measured, and not from a recurrence
    values: Any = None  # of each output, where outputs have kinks
    objectives: Any = None


class Measure:
    """u ↦ Point, at the price of a pass over the examples.

    Parameters
    ----------
    sums : vectors ↦ totals, as `Slopes` gives them
    primal : Primal
    lam : float
    n : number of examples
    heard : called after each pass
    bends : vectors ↦ totals, as `Bends` gives them, for a quadratic loss
    """

    def __init__(
        self,
        sums: Callable[..., Totals],
        primal: Primal,
        lam: float,
        n: int,
        heard: Callable[[], None] = lambda: None,
        bends: Callable[..., Totals] | None = None,
    ):
        self.sums, self.primal, self.lam, self.n, self.heard = sums, primal, lam, n, heard
        self.bends = bends
        self.passes = 0
        # Where it was measured last.
        self.last: Point | None = None

    def __call__(self, u: np.ndarray, mu: Any = None, reach: Any = None) -> Point:
        # Numbers of passes are the same wherever rows are; a seed from u would depend on its last digit.
        drawn = () if reach is None else (self.passes,)
        value, smooth, young, G, slope, *near = self.sums(*self.primal.back(u), mu, reach, *drawn)
        self.passes += 1
        self.heard()
        n, pulled = self.n, self.primal.penalise(u)
        each = self.lam * np.maximum((u * pulled).sum(axis=0), 0.0)
        penalty = float(each.sum())
        gradient = self.primal.pulled_back(G, slope) / n + 2 * self.lam * pulled
        norm = float(np.linalg.norm(self.primal.size(gradient)))
        point = Point(
            u,
            value=float(np.sum(smooth)) / n + penalty,
            objective=float(np.sum(value)) / n + penalty,
            smoothing=float(np.sum(young)) / n,
            gradient=gradient,
            imbalance=np.abs(slope) / n,
            norm=norm,
            near=tuple(near),
        )
        if mu is not None:
            point = replace(point, values=smooth / n + each, objectives=value / n + each)
        self.last = point
        return point

    def bent(self, d: np.ndarray) -> np.ndarray:
        """What the Hessian of a quadratic objective makes of d, at the price of a pass."""
        assert self.bends is not None
        G, slope = self.bends(*self.primal.back(d))
        self.passes += 1
        self.heard()
        return self.primal.pulled_back(G, slope) / self.n + 2 * self.lam * self.primal.penalise(d)


class Curvature:
    """Approximate inverses of the Hessian, from a sample of the examples: Falkon's idea, for any loss."""

    def __init__(self, sample: Problem, primal: Primal):
        self.sample, self.primal = sample, primal

    def inverse(self, u: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """R ↦ about H⁻¹R, for the Hessian at u."""
        D = self._bends(self.primal.Phi @ u)
        if self.sample.weights is not None:
            D = D * self.sample.weights[:, None]
        # Where no example has curvature there would be nothing to divide by.
        D = np.where(D.mean(axis=0) > 0, D, 1.0)
        if D.shape[1] > _OWN_HESSIANS or self.sample.loss.joint:
            D = D.mean(axis=1, keepdims=True)
        solves = [self._solve(D[:, j]) for j in range(D.shape[1])]

        def apply(R: np.ndarray) -> np.ndarray:
            if len(solves) == 1:
                return solves[0](R)
            return np.hstack([solve(R[:, j : j + 1]) for j, solve in enumerate(solves)])

        return apply

    def _solve(self, d: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        ridge, primal = 2 * self.sample.lam, self.primal
        if primal.explicit:
            return primal.hessian_factor(ridge, d).solve
        return primal.preconditioner(ridge, d, len(d), self.sample.rng)

    def _bends(self, scores: np.ndarray) -> np.ndarray:
        """V'' of the sample's examples."""
        y, loss = self.sample.y, self.sample.loss
        if not loss.curved:
            return np.full(scores.shape, loss.curvature or 1.0)
        return np.maximum(loss.hess(y, scores), 0)
