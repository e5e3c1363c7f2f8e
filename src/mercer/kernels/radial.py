"""Kernels of the distance ‖x−z‖: Gaussian, Laplacian, rational quadratic."""

from __future__ import annotations

import math

import numpy as np

from mercer._params import is_number, require_positive
from mercer._xp import issparse
from mercer.kernels.order import Order
from mercer.kernels.profiled import Profiled
from mercer.kernels.statistics import L1Distance, SquaredDistance, Statistic, squared_norms

# Distances between so many points tell a length scale.
_SAMPLE = 1000


class Radial(Profiled):
    """k(x,z) = profile(‖x−z‖²): give `profile(r2, xp)`, optionally `frequencies`.

    The length scale named first in ``positive`` is found by the median heuristic when it is None.

    Examples
    --------
    >>> from mercer.kernels import Radial
    >>> class Cauchy(Radial):
    ...     def profile(self, r2, xp):
    ...         return 1 / (1 + r2)
    >>> Cauchy()([[0.0]], [[0.0], [1.0], [3.0]])
    array([[1. , 0.5, 0.1]])
    """

    statistic: Statistic = SquaredDistance()

    @property
    def width(self):  # type: ignore[override]
        return "sigma" if "sigma" in self.log_params else ""

    def from_data(self, X):
        return {
            name: median_distance(self.statistic, X) for name in self.positive if getattr(self, name) is None
        }

    def amplitude(self):
        return 1.0

    def falls_with_distance(self, view):
        """`induced_order` of a class whose profile is nonnegative and falls strictly."""
        return Order("l1" if isinstance(self.statistic, L1Distance) else "l2", view, True)

    def by_its_spectrum(self):
        """`strictly` of a class whose spectral density is nowhere 0."""
        return f"the {type(self).__name__} kernel has a spectral density that is positive everywhere"


class Gaussian(Radial):
    """exp(−‖x−z‖²/2σ²)

    Parameters
    ----------
    sigma : float, optional
        Width σ > 0. None: the median distance between training points, found at fit.

    Examples
    --------
    >>> Gaussian(2.0)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    >>> Gaussian().resolve([[0.0], [1.0], [3.0]])
    Gaussian(sigma=2.0)
    """

    positive = log_params = ("sigma",)
    infinitely_divisible = True
    induced_order = Radial.falls_with_distance
    strictly = Radial.by_its_spectrum

    def __init__(self, sigma=None):
        self.sigma = sigma

    @classmethod
    def from_gamma(cls, gamma: float) -> Gaussian:
        """exp(−gamma·‖x−z‖²), as scikit-learn writes it: σ = 1/√(2·gamma).

        >>> Gaussian.from_gamma(2.0)
        Gaussian(sigma=0.5)
        """
        return cls((2 * _rate(gamma, "√(d·X.var()/2)", "√(d/2)")) ** -0.5)

    def profile(self, r2, xp):
        return xp.exp(r2 * (-0.5 / (self.sigma * self.sigma)))

    def frequencies(self, rng, count, d):
        return rng.standard_normal((count, d)) / self.sigma

    def density(self, W):
        constant = W.shape[1] * math.log(self.sigma / math.sqrt(2 * math.pi))
        return np.exp(constant - 0.5 * squared_norms(self.sigma * W))

    def raised(self, p):
        return Gaussian(self.sigma / math.sqrt(p))

    def rule(self):
        return "Gaussian: its spectral density is a Gaussian, so Bochner's theorem applies"


class Laplacian(Radial):
    """exp(−‖x−z‖/σ), with the Euclidean norm or, on request, the ℓ1 norm.

    Parameters
    ----------
    sigma : float, optional
        Width σ > 0. None: the median distance (in the same norm) between training points.
    norm : "l2" or "l1"

    Examples
    --------
    >>> Laplacian(1.0)([[0.0, 0.0]], [[3.0, 4.0]]).round(6)
    array([[0.006738]])
    >>> Laplacian(1.0, norm="l1")([[0.0, 0.0]], [[3.0, 4.0]]).round(6)
    array([[0.000912]])
    """

    positive = log_params = ("sigma",)
    infinitely_divisible = True
    _statistics = {"l2": SquaredDistance(), "l1": L1Distance()}
    induced_order = Radial.falls_with_distance
    strictly = Radial.by_its_spectrum

    def __init__(self, sigma=None, norm="l2"):
        self.sigma = sigma
        self.norm = norm

    @classmethod
    def from_gamma(cls, gamma: float) -> Laplacian:
        """exp(−gamma·‖x−z‖₁), scikit-learn's Laplacian kernel: σ = 1/gamma, with the ℓ1 norm.

        >>> Laplacian.from_gamma(2.0)
        Laplacian(sigma=0.5, norm='l1')
        """
        return cls(1 / _rate(gamma, "d·X.var()", "d"), norm="l1")

    def validate(self):
        if self.norm not in self._statistics:
            raise ValueError(f"Laplacian: norm must be 'l2' or 'l1', got {self.norm!r}")
        super().validate()

    @property
    def statistic(self):  # type: ignore[override]
        return self._statistics.get(self.norm, SquaredDistance())

    def profile(self, s, xp):
        distance = s if self.norm == "l1" else xp.sqrt(s)
        return xp.exp(distance * (-1.0 / self.sigma))

    def frequencies(self, rng, count, d):
        if self.norm == "l1":
            return rng.standard_cauchy((count, d)) / self.sigma
        return student_vectors(rng, count, d, 1) / self.sigma

    def density(self, W):
        if self.norm == "l1":
            return np.prod(self.sigma / np.pi / (1 + (self.sigma * W) ** 2), axis=1)
        return student_density(W, 0.5, self.sigma)

    def raised(self, p):
        return Laplacian(self.sigma / p, norm=self.norm)

    def rule(self):
        return "Laplacian: its spectral density is a Cauchy density, so Bochner's theorem applies"


class RationalQuadratic(Radial):
    """(1 + ‖x−z‖²/(2ασ²))^{−α}: a mixture of Gaussians of many widths.

    Parameters
    ----------
    alpha : float > 0
    sigma : float, optional
        Width σ > 0. None: the median distance between training points.

    Examples
    --------
    >>> RationalQuadratic(alpha=1.0, sigma=1.0)([[0.0]], [[2.0]]).round(4)
    array([[0.3333]])
    """

    positive = log_params = ("alpha", "sigma")
    infinitely_divisible = True
    induced_order = Radial.falls_with_distance
    strictly = Radial.by_its_spectrum

    def __init__(self, alpha=1.0, sigma=None):
        self.alpha = alpha
        self.sigma = sigma

    def validate(self):
        if not is_number(self.alpha):
            raise ValueError(f"RationalQuadratic: alpha must be a positive number, got {self.alpha!r}")
        super().validate()

    def profile(self, r2, xp):
        return (r2 * (0.5 / (self.alpha * self.sigma * self.sigma)) + 1.0) ** (-self.alpha)

    def frequencies(self, rng, count, d):
        precision = rng.gamma(self.alpha, 1 / self.alpha, (count, 1))
        return rng.standard_normal((count, d)) * np.sqrt(precision) / self.sigma

    def density(self, W):
        return _mixed_density(W, float(self.alpha), float(self.sigma))

    def raised(self, p):
        return RationalQuadratic(self.alpha * p, self.sigma / math.sqrt(p))

    def rule(self):
        return "rational quadratic: a mixture of Gaussian kernels with positive weights"


def _mixed_density(W: np.ndarray, alpha: float, sigma: float) -> np.ndarray:
    """Gaussian densities of deviation √τ/σ, mixed over τ of the Gamma law of shape and rate α.

    With q = σ²‖ω‖²/2 and z = 2√(αq) it is (σ²/2π)^(d/2) α^α/Γ(α) · 2 (q/α)^(ν/2) K_ν(z), ν = α − d/2, which
    at ω = 0 is finite for ν > 0 only.
    """
    from scipy.special import kve  # kernels are imported without it

    d = W.shape[1]
    nu, q = alpha - d / 2, 0.5 * squared_norms(sigma * W)
    constant = d * math.log(sigma / math.sqrt(2 * math.pi)) + alpha * math.log(alpha) - math.lgamma(alpha)
    top = math.exp(constant + math.lgamma(nu) - nu * math.log(alpha)) if nu > 0 else math.inf
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        z = 2 * np.sqrt(alpha * q)
        bessel = kve(nu, z)
        found = np.exp(constant + math.log(2) + 0.5 * nu * np.log(q / alpha) - z) * bessel
    # Next to 0 the Bessel function is too large for a float, and the density at its top.
    return np.where((q > 0) & np.isfinite(bessel), found, top)


def _rate(gamma, by_spread: str, by_number: str) -> float:
    """gamma as a number; what σ is where scikit-learn would find it from the data."""
    if isinstance(gamma, str) and gamma in ("scale", "auto"):
        raise ValueError(
            f"gamma={gamma!r} needs the data: with d features it is σ = "
            f"{by_spread if gamma == 'scale' else by_number}; without a width, the median distance is taken"
        )
    return require_positive(gamma, "gamma")


def student_vectors(rng: np.random.Generator, count: int, d: int, degrees: float) -> np.ndarray:
    """Multivariate Student vectors: Gaussians over an independent √(χ²/degrees)."""
    return rng.standard_normal((count, d)) / np.sqrt(rng.chisquare(degrees, (count, 1)) / degrees)


def student_density(W: np.ndarray, nu: float, sigma: float) -> np.ndarray:
    """Density at the rows of W of such vectors with 2ν degrees of freedom, divided by σ."""
    d = W.shape[1]
    constant = math.lgamma(nu + d / 2) - math.lgamma(nu) + d * math.log(sigma / math.sqrt(2 * nu * math.pi))
    return np.exp(constant - (nu + d / 2) * np.log1p(squared_norms(sigma * W) / (2 * nu)))


def median_distance(statistic: Statistic, X) -> float:
    """Median distance between distinct points (at most 1000 of them); 1 if all points are equal.

    Copies of a point count once, so that repeating or weighting rows leaves the kernel alone.
    """
    n = X.shape[0]
    if n > _SAMPLE:
        # A fixed permutation: evenly strided rows would alias with periodic or sorted tables.
        X = X[np.sort(np.random.default_rng(0).permutation(n)[:_SAMPLE])]
    X = X[_first_copies(X)]
    with np.errstate(over="ignore", invalid="ignore"):
        S = statistic.pairwise(X, X)[np.triu_indices(X.shape[0], 1)].astype(np.float64)
    distances = np.sqrt(S) if isinstance(statistic, SquaredDistance) else S
    median = float(np.median(distances)) if distances.size else 0.0
    if not np.isfinite(median):
        raise ValueError(
            f"the points are so large that distances between them are no {X.dtype} numbers: scale them first"
        )
    return median if median > 0 else 1.0


def _first_copies(X) -> np.ndarray:
    """Indices of rows that do not repeat an earlier one."""
    if issparse(X):
        X = X.copy()
        X.sum_duplicates()
        rows = [slice(a, b) for a, b in zip(X.indptr[:-1], X.indptr[1:])]
        keys = [(X.indices[r].tobytes(), X.data[r].tobytes()) for r in rows]
        return np.sort(list({k: i for i, k in reversed(list(enumerate(keys)))}.values())).astype(int)
    return np.sort(np.unique(np.asarray(X), axis=0, return_index=True)[1])
