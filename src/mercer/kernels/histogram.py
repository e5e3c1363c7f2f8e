"""Kernels of histograms (nonnegative vectors): chi-squared and intersection."""

from __future__ import annotations

from mercer.kernels.profiled import Profiled
from mercer.kernels.statistics import ChiSquare, Intersection


class _Histogram(Profiled):
    def points(self, X):
        X = super().points(X)
        if X.size and X.min() < 0:
            raise ValueError(
                f"{type(self).__name__} compares histograms: all entries must be nonnegative, "
                f"found {X.min():.3g}"
            )
        return X


class ChiSquared(_Histogram):
    """exp(−γ Σ_k (x_k−z_k)²/(x_k+z_k)) for nonnegative vectors.

    Parameters
    ----------
    gamma : float > 0

    Examples
    --------
    >>> ChiSquared(gamma=1.0)([[1.0, 0.0]], [[0.0, 1.0]]).round(4)
    array([[0.1353]])
    """

    statistic = ChiSquare()
    positive = log_params = ("gamma",)
    infinitely_divisible = True
    width = "gamma"

    def __init__(self, gamma=1.0):
        self.gamma = gamma

    def profile(self, s, xp):
        return xp.exp(s * -self.gamma)

    def rule(self):
        return "chi-squared: χ² is conditionally negative definite on histograms (Schoenberg)"


class HistogramIntersection(_Histogram):
    """Σ_k min(x_k, z_k) for nonnegative vectors.

    Examples
    --------
    >>> HistogramIntersection()([[0.2, 0.8]], [[0.5, 0.5]])
    array([[0.7]])
    """

    statistic = Intersection()

    def profile(self, s, xp):
        return s

    def rule(self):
        return "histogram intersection: min(a,b) = ∫ 1[t≤a]·1[t≤b] dt, an inner product"
