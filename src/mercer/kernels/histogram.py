"""Kernels of histograms (nonnegative vectors): three of chi-squared, and intersection."""

from __future__ import annotations

from mercer.kernels.profiled import Profiled
from mercer.kernels.statistics import ChiSquare, HarmonicMean, Intersection, SkewedChiSquare


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

    def raised(self, p):
        return ChiSquared(self.gamma * p)

    def rule(self):
        return "chi-squared: χ² is conditionally negative definite on histograms (Schoenberg)"


class AdditiveChiSquared(_Histogram):
    """Σ_k 2 x_k z_k/(x_k+z_k) for nonnegative vectors, 0/0 being 0: the harmonic means of their entries.

    It is ½ Σ (x_k+z_k) − ½ χ²(x,z) with the χ² of `ChiSquared`, linear in the size of histograms, and the sum
    of one-dimensional kernels. `AdditiveChiSquaredFeatures` has a short feature map for it.
    (``additive_chi2_kernel`` of scikit-learn is −χ², which is no kernel.)

    Examples
    --------
    >>> AdditiveChiSquared()([[1.0, 0.5]], [[3.0, 0.5]])
    array([[2.]])
    """

    statistic = HarmonicMean()

    def profile(self, s, xp):
        return s

    def rule(self):
        return "additive chi-squared: xz/(x+z) = ∫₀^∞ xe^(−tx)·ze^(−tz) dt, an inner product"


class SkewedChiSquared(Profiled):
    """Π_k 2√((x_k+c)(z_k+c))/(x_k+z_k+2c) for vectors with all entries above −c.

    A function of log(x+c) − log(z+c): of two small counts it sees the ratio, the less so the larger c is.
    `SkewedChiSquaredFeatures` has random features for it.

    Parameters
    ----------
    c : float > 0
        What is added to every entry ("skewedness" in scikit-learn).

    Examples
    --------
    >>> SkewedChiSquared(c=1.0)([[0.0, 2.0]], [[3.0, 2.0]]).round(4)
    array([[0.8]])
    """

    positive = log_params = ("c",)
    # 1/cosh is the Fourier transform of a law that is infinitely divisible (Meixner's).
    infinitely_divisible = True

    def __init__(self, c=1.0):
        self.c = c

    @property
    def statistic(self):  # type: ignore[override]
        return SkewedChiSquare(self.c)

    def points(self, X):
        X = super().points(X)
        if X.size and not X.min() > -self.c:
            raise ValueError(
                f"SkewedChiSquared(c={self.c:g}): all entries must be larger than −c, found {X.min():.3g}"
            )
        return X

    def profile(self, s, xp):
        return xp.exp(s * -1.0)

    def gradient_log_params(self, X, Z):
        k = self._plain()
        return {"c": -k.pairwise(X, Z) * k.statistic.gradient_log_c(X, Z)}

    def rule(self):
        return "skewed chi-squared: 1/cosh of half the difference of log(x+c), a Fourier transform"

    def strictly(self):
        return (
            "the skewed chi-squared kernel has, in log(x+c), a spectral density that is positive everywhere"
        )


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
