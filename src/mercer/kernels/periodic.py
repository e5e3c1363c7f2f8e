"""Kernels of functions that repeat."""

from __future__ import annotations

import numpy as np

from mercer.kernels.base import Profiled
from mercer.kernels.statistics import CircleDistance


class Periodic(Profiled):
    """exp(−2 Σ_k sin²(π(x_k−z_k)/p)/ℓ²): the Gaussian kernel on circles of circumference p.

    Parameters
    ----------
    period : float > 0
    scale : float > 0

    Examples
    --------
    >>> Periodic(period=1.0, scale=1.0)([[0.0]], [[3.0]])
    array([[1.]])
    """

    positive = log_params = ("period", "scale")
    infinitely_divisible = True

    def __init__(self, period=1.0, scale=1.0):
        self.period = period
        self.scale = scale

    def validate(self):
        if self.period is None or self.scale is None:
            raise ValueError("Periodic: period and scale must be positive numbers, not None")
        super().validate()

    @property
    def statistic(self):  # type: ignore[override]
        return CircleDistance(self.period)

    def profile(self, s, xp):
        return xp.exp(s * (-0.5 / (self.scale * self.scale)))

    def gradient_log_params(self, X, Z):
        k = self._plain()
        S = k.statistic.pairwise(X, Z)
        return {
            "period": k._profile_slope(S) * k.statistic.gradient_log_period(X, Z),
            "scale": k.profile(S, np) * S / k.scale**2,
        }

    def amplitude(self):
        return 1.0

    def frequencies(self, rng, count, d):
        # exp((cos t − 1)/ℓ²) is the characteristic function of a difference of two Poisson numbers of
        # mean 1/2ℓ²: all frequencies are multiples of 2π/p.
        rate = 0.5 / self.scale**2
        return (rng.poisson(rate, (count, d)) - rng.poisson(rate, (count, d))) * (2 * np.pi / self.period)

    def rule(self):
        return "periodic: the Gaussian kernel pulled back through x ↦ (cos 2πx/p, sin 2πx/p)"
