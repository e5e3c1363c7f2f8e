"""Where a minimisation is: a point in coordinates, what a pass measured there, and Hessians of a sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.losses.dual import Smoothed
from mercer.operators import Factor, Operator
from mercer.rows.base import Reservoir, Totals
from mercer.solvers.coordinates import Primal
from mercer.solvers.problem import Problem
from mercer.solvers.smoothing import falling_to_zero

# Outputs up to this number have a Hessian each; more of them share one.
_OWN_HESSIANS = 4


@dataclass(frozen=True, eq=False)
class Point:
    """Coordinates u, and what is known there.

    `value` is the (smoothed) objective, `objective` that of V itself, `smoothing` what rounding kinks off
    costs, `gradient` that of `value` in u, `norm` its length in H_K; `near` are some examples near a kink.
    """

    u: np.ndarray
    value: float
    objective: float
    smoothing: float
    gradient: np.ndarray
    imbalance: np.ndarray
    norm: float
    near: Reservoir | None = None


class Measure:
    """u ↦ Point, at the price of a pass over the examples.

    Parameters
    ----------
    sums : vectors ↦ totals, as `Slopes` gives them
    primal : Primal
    lam : float
    n : number of examples
    heard : called after each pass
    """

    def __init__(
        self,
        sums: Callable[..., Totals],
        primal: Primal,
        lam: float,
        n: int,
        heard: Callable[[], None] = lambda: None,
    ):
        self.sums, self.primal, self.lam, self.n, self.heard = sums, primal, lam, n, heard
        self.passes = 0

    def __call__(self, u: np.ndarray, mu: Any = None) -> Point:
        value, smooth, young, G, slope, *near = self.sums(*self.primal.back(u), mu)
        self.passes += 1
        self.heard()
        n, pulled = self.n, self.primal.penalise(u)
        penalty = self.lam * max(float((u * pulled).sum()), 0.0)
        gradient = self.primal.pulled_back(G, slope) / n + 2 * self.lam * pulled
        norm = float(np.linalg.norm(self.primal.size(gradient)))
        return Point(
            *(u, smooth / n + penalty, value / n + penalty, young / n),
            *(gradient, np.abs(slope) / n, norm, *near),
        )


class Curvature:
    """Approximate inverses of the Hessian, from a sample of the examples: Falkon's idea, for any loss.

    Only examples near a kink have curvature, and in a sample there may be few of these. So `focus` takes some
    of them in the place of the sample.
    """

    def __init__(self, sample: Problem, primal: Primal):
        self.sample, self.primal = sample, primal
        self.part = _Curved(primal, sample.y, sample.weights, 1.0)

    def focus(self, part: tuple[Operator, Any, Any], share: float) -> None:
        """From now on: these examples, which are drawn from a part of all, others having no curvature."""
        A, y, w = part
        self.part = _Curved(self.primal.facing(A), y, w, share)

    def inverse(self, u: np.ndarray, mu: Any = None) -> Callable[[np.ndarray], np.ndarray]:
        """R ↦ about H⁻¹R, for the Hessian at u."""
        part = self.part
        D = self._bends(part.y, part.primal.Phi @ u, mu)
        if part.weights is not None:
            D = D * part.weights[:, None]
        # Where no example has curvature there would be nothing to divide by.
        D = np.where(D.mean(axis=0) > 0, part.share * D, 1.0)
        if D.shape[1] > _OWN_HESSIANS or self.sample.loss.joint:
            D = D.mean(axis=1, keepdims=True)
        solves = [self._solve(D[:, j]) for j in range(D.shape[1])]

        def apply(R: np.ndarray) -> np.ndarray:
            if len(solves) == 1:
                return solves[0](R)
            return np.hstack([solve(R[:, j : j + 1]) for j, solve in enumerate(solves)])

        return apply

    def _solve(self, d: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        ridge, primal = 2 * self.sample.lam, self.part.primal
        if primal.explicit:
            H = primal.Phi.gramian(d) / len(d)
            H[np.diag_indices_from(H)] += ridge * primal.penalty
            return Factor(H).solve
        return primal.preconditioner(ridge, d, len(d), self.sample.rng)

    def _bends(self, y: np.ndarray, scores: np.ndarray, mu: Any) -> np.ndarray:
        """V'', or V_μ'', of examples."""
        loss = self.sample.loss
        if mu is not None:
            return Smoothed(loss, mu).hess(y, scores)
        if not loss.curved:
            return np.full(scores.shape, loss.curvature or 1.0)
        return np.maximum(loss.hess(y, scores), 0)

    def length(self, point: Point, d: np.ndarray, mu: Any) -> np.ndarray:
        """For each output the part of the step d, at most all of it, after which little slope is left.

        The slope at the beginning is known of all examples; how it changes on the way the sample says.
        """
        sample, lam = self.sample, self.sample.lam
        scores, along = self.primal.Phi @ point.u, self.primal.Phi @ d
        first = (point.gradient * d).sum(axis=0)
        square = (d * self.primal.penalise(d)).sum(axis=0)
        loss, w = Smoothed(sample.loss, mu), sample.weights

        def data(t: np.ndarray) -> np.ndarray:
            slopes = loss.grad(sample.y, scores + t * along) * along
            return (slopes.sum(axis=0) if w is None else w @ slopes) / sample.n

        before = data(np.zeros(len(first)))

        def slope(t: np.ndarray) -> np.ndarray:
            return first + data(t) - before + 2 * lam * t * square

        return falling_to_zero(slope, first)


@dataclass(frozen=True, eq=False)
class _Curved:
    """Examples whose Hessian is taken, and which share of all they stand for."""

    primal: Primal
    y: np.ndarray
    weights: np.ndarray | None
    share: float
