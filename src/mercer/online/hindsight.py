"""The best fixed function for a stream that has been seen to its end."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer.estimators.base import KernelMachine
from mercer.kernels.base import Kernel
from mercer.losses import Loss
from mercer.losses.coding import TargetCoding
from mercer.representations import Nystrom

# A function in a ball is good enough when its loss is above the least by this part of that of f = 0.
_TOLERANCE = 1e-4
_TRIES, _LEAP = 60, 4.0


class HindsightMachine(KernelMachine):
    """The batch machine of a kernel and a loss, on targets that are coded already."""

    def __init__(self, kernel: Kernel, loss: Loss, lam: float):
        self.kernel, self.loss, self.lam = kernel, loss, lam
        self.representation = self.solver = self.engine = "auto"
        self.offset, self.random_state = False, 0

    def loss_for(self, y):
        return self.loss

    def _check_y(self, y):
        return y

    def _encode(self, loss, y):
        return y, TargetCoding(loss, False, y.shape[1])

    def _remarks(self, loss, targets):
        return iter(())


@dataclass(frozen=True, eq=False)
class Best:
    """f*, as it is known: at the examples, and by its norm."""

    loss: float  # Σ V(y_t, f(x_t))
    norm: float  # ‖f‖
    scores: np.ndarray  # (T, t) f(x_t)
    gap: float  # what the least value of the problem may be below this one; nan if that is not known
    multiplier: float  # the λ it is the solution for, apart from a factor


@dataclass(frozen=True, eq=False)
class Seen:
    """T examples of a stream, in the space f lives in, and what errors cost."""

    kernel: Kernel
    points: Any
    targets: np.ndarray
    loss: Loss

    def total(self, scores: np.ndarray) -> float:
        """Σ V(y_t, s_t)"""
        return float(np.sum(self.loss.value(self.targets, scores)))

    def penalised(self, lam: float, begin: HindsightMachine | None = None) -> tuple[Best, HindsightMachine]:
        """f minimising Σ [V(y_t, f(x_t)) + λ‖f‖²]: T times the objective of a batch machine with this λ."""
        machine = HindsightMachine(self.kernel, self.loss, lam)
        with warnings.catch_warnings():
            # Whether it converged is what the gap says.
            warnings.simplefilter("ignore", ConvergenceWarning)
            machine.fit_from(begin, self.points, self.targets)
        scores = np.asarray(machine.scores(self.points), np.float64)
        gap = machine.solution_.certificate.gap
        known = gap is not None and not isinstance(machine.plan_.representation, Nystrom)
        gap = len(self.targets) * float(gap) if gap is not None and known else math.nan
        return Best(self.total(scores), machine.function_.norm(), scores, gap, lam), machine

    def in_ball(self, radius: float, start: float) -> Best:
        """f minimising Σ V(y_t, f(x_t)) among those with ‖f‖ ≤ U; of several as good, one of small norm.

        For any μ > 0 and the minimiser f_μ of Σ [V + μ‖f‖²], Σ V(f_μ) + μT(‖f_μ‖² − U²) is no more than what
        is sought (Lagrange), and f_μ, scaled down to the ball where it lies outside, costs no less. The μ is
        looked for that brings the two together, from above.
        """
        goal = _TOLERANCE * self.total(np.zeros_like(self.targets))
        found: Best | None = None
        machine, least, mu = None, math.inf, start
        outside = inside = None  # (μ, ‖f_μ‖), the largest and the smallest such μ
        for _ in range(_TRIES):
            best, machine = self.penalised(mu, machine)
            factor = min(1.0, radius / best.norm) if best.norm > 0 else 1.0
            scores = factor * best.scores
            value = self.total(scores)
            below = best.loss + mu * len(self.targets) * (best.norm**2 - radius**2)
            apart = max(value - below, 0.0)
            if apart < least:
                # What the solver left undone makes the bound from below that much worse.
                least, found = apart, Best(value, factor * best.norm, scores, apart + best.gap, mu)
            if apart <= goal:
                break
            if best.norm > radius:
                outside = mu, best.norm
            else:
                inside = mu, best.norm
            mu = _between(outside, inside, radius)
        assert found is not None
        return found


def _between(outside: Any, inside: Any, radius: float) -> float:
    """The next μ: a power law through what is known, or a leap."""
    if outside is None:
        return inside[0] / _LEAP
    if inside is None:
        return _LEAP * outside[0]
    (low, far), (high, near) = outside, inside
    part = math.log(far / radius) / math.log(far / near) if near > 0 else 0.5
    return low * (high / low) ** min(max(part, 0.05), 0.95)
