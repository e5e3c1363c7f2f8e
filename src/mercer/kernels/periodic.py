"""Kernels of functions that repeat."""

from __future__ import annotations

import math

import numpy as np

from mercer.kernels.profiled import Profiled
from mercer.kernels.statistics import CircleDistance


class Periodic(Profiled):
    """exp(−2 Σ_k sin²(π(x_k−z_k)/p)/σ²): the Gaussian kernel on circles of circumference p.

    Parameters
    ----------
    period : float > 0
    sigma : float > 0
        Width σ.

    Examples
    --------
    >>> Periodic(period=1.0, sigma=1.0)([[0.0]], [[3.0]])
    array([[1.]])
    """

    positive = log_params = ("period", "sigma")
    infinitely_divisible = True
    width = "period"

    def __init__(self, period=1.0, sigma=1.0):
        self.period = period
        self.sigma = sigma

    @property
    def statistic(self):  # type: ignore[override]
        return CircleDistance(self.period)

    def profile(self, s, xp):
        return xp.exp(s * (-0.5 / (self.sigma * self.sigma)))

    def gradient_log_params(self, X, Z):
        k = self._plain()
        S = k.statistic.pairwise(X, Z)
        return {
            "period": k._profile_slope(S) * k.statistic.gradient_log_period(X, Z),
            "sigma": k.profile(S, np) * S / k.sigma**2,
        }

    def amplitude(self):
        return 1.0

    def frequencies(self, rng, count, d):
        # exp((cos t − 1)/σ²) is the characteristic function of a difference of two Poisson numbers of
        # mean 1/2σ²: all frequencies are multiples of 2π/p.
        rate = 0.5 / self.sigma**2
        return (rng.poisson(rate, (count, d)) - rng.poisson(rate, (count, d))) * (2 * np.pi / self.period)

    def density(self, W):
        raise NotImplementedError(
            "the spectrum of a periodic kernel is lines at multiples of 2π/period, and has no density"
        )

    def raised(self, p):
        return Periodic(self.period, self.sigma / math.sqrt(p))

    def rule(self):
        return "periodic: the Gaussian kernel pulled back through x ↦ (cos 2πx/p, sin 2πx/p)"
