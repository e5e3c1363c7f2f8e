"""One pass over the examples a step: quasi-Newton steps upon the Hessian of a sample."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.solvers.passes.points import Curvature, Measure, Point

# Pairs (step, change of the gradient) that are remembered.
_REMEMBERED = 20
# A step must bring this part of what the slope at its beginning promises.
_ENOUGH = 1e-4
# Steps that are tried along one direction.
TRIALS = 12
# Changes of the objective below this, relative to it, are rounding.
_SLACK = 1e-13


class QuasiNewton:
    """Steps downhill, one pass each: L-BFGS whose first guess at the inverse Hessian comes from a sample.

    For a quadratic objective the length of each step is exact without another pass, and the steps are those
    of preconditioned conjugate gradients.

    Parameters
    ----------
    measure : Measure
    curvature : Curvature
    quadratic : bool, of the objective
    """

    def __init__(self, measure: Measure, curvature: Curvature, quadratic: bool):
        self.measure, self.curvature, self.quadratic = measure, curvature, quadratic
        self.pairs: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=_REMEMBERED)
        self.inverse: Callable[[np.ndarray], np.ndarray] | None = None
        # Where the sample's Hessian was taken.
        self.at: np.ndarray | None = None

    def renew(self, u: np.ndarray) -> None:
        """Begin anew, with the sample's Hessian at u."""
        self.pairs.clear()
        self.inverse, self.at = self.curvature.inverse(u), u

    def state(self) -> dict[str, Any]:
        """What a checkpoint needs."""
        if self.at is None:
            return {}
        steps, changes = ([pair[i] for pair in self.pairs] for i in (0, 1))
        return {
            "hessian_at": self.at,
            "steps": np.array(steps).reshape(-1, *self.at.shape),
            "changes": np.array(changes).reshape(-1, *self.at.shape),
        }

    def restore(self, state: dict[str, Any], shape: tuple[int, int]) -> None:
        """Go on from where `state` was taken, of coordinates of this shape."""
        if "hessian_at" not in state:
            return
        at, steps, changes = (state[name] for name in ("hessian_at", "steps", "changes"))
        numbers = all(
            array.dtype == np.float64 and np.isfinite(array).all() for array in (at, steps, changes)
        )
        fits = at.shape == shape and steps.shape[1:] == shape and steps.shape == changes.shape
        if not (numbers and fits and len(steps) <= _REMEMBERED):
            raise ValueError("its steps are not those of this fit")
        self.renew(at)
        self.pairs.extend(zip(steps, changes, strict=True))

    def step(self, point: Point) -> Point | None:
        """The next point; None if no step downhill was found."""
        if self.inverse is None:
            self.renew(point.u)
        d = -self._applied(point.gradient)
        slope = float((d * point.gradient).sum())
        if not slope < 0 and self.pairs:
            self.pairs.clear()
            d = -self._applied(point.gradient)
            slope = float((d * point.gradient).sum())
        if not slope < 0:
            return None
        new = self._along(point, d, slope)
        if new is not None:
            s, y = new.u - point.u, new.gradient - point.gradient
            if float((s * y).sum()) > 1e-12 * float(np.linalg.norm(s) * np.linalg.norm(y)):
                self.pairs.append((s, y))
        return new

    def _along(self, point: Point, d: np.ndarray, slope: float) -> Point | None:
        if self.quadratic:
            return self._exact(point, d, slope)
        t, slack = 1.0, _SLACK * abs(point.value)
        for _ in range(TRIALS):
            with np.errstate(over="ignore", invalid="ignore"):
                new = self.measure(point.u + t * d)
            if np.isfinite(new.value) and np.isfinite(new.norm):
                if new.value <= point.value + _ENOUGH * t * slope + slack:
                    # Near the minimum a decrease drowns in rounding; then a step is judged by its slopes.
                    drowned = -_ENOUGH * t * slope <= 10 * slack
                    if not (drowned and float((new.gradient * d).sum()) > -0.9 * slope):
                        return new
                # The parabola through both values and the first slope.
                excess = new.value - point.value - t * slope
                t *= float(np.clip(-slope * t / (2 * excess), 0.1, 0.5)) if excess > 0 else 0.5
            else:
                t *= 0.1
        return None

    def _exact(self, point: Point, d: np.ndarray, slope: float) -> Point | None:
        """Where a quadratic objective is least along d."""
        bent = self.measure.bent(d)
        curvature = float((bent * d).sum())
        if not (np.isfinite(curvature) and curvature > 0):
            return None
        t = -slope / curvature
        gradient = point.gradient + t * bent
        value = point.value + t * slope + 0.5 * t * t * curvature
        norm = float(np.linalg.norm(self.measure.primal.size(gradient)))
        return replace(
            point, u=point.u + t * d, value=value, objective=value, gradient=gradient, norm=norm, exact=False
        )

    def _applied(self, R: np.ndarray) -> np.ndarray:
        """About H⁻¹R."""
        assert self.inverse is not None
        R, used = R.copy(), []
        for s, y in reversed(self.pairs):
            rho = 1 / float((s * y).sum())
            a = rho * float((s * R).sum())
            R -= a * y
            used.append((s, y, rho, a))
        R = self.inverse(R)
        for s, y, rho, a in reversed(used):
            R = R + (a - rho * float((y * R).sum())) * s
        return R
