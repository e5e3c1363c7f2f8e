"""The Matérn kernel of any smoothness: exponentials of polynomials, Bessel functions, mixtures of Gaussians.

With a = √(2ν)‖x−z‖/σ it is M(a) = 2^(1−ν)/Γ(ν) a^ν K_ν(a). Four ways lead to that number, by ν:

    ν = ½, 3/2, …, 31/2          e^−a times a polynomial
    ½ < ν ≤ 16                   power series near 0, a polynomial in 1/a times a^(ν−½) e^−a elsewhere
    ν < ½, or next to 1, 2, …    SciPy's Bessel function
    ν > 16                       a sum of some thirty Gaussians: M is their mixture over a Gamma law

The first two are straight formulas, which every engine compiles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from mercer._params import is_number
from mercer._xp import DualNumber, dual
from mercer.codegen.symbols import NotTraceable
from mercer.kernels.radial import Radial, student_density, student_vectors

# Half-integers up to here are polynomials; where a is larger than that e^−a is nothing,
# and the polynomial would overflow.
_MOST_HALF, _CLIPPED = 15.5, 200.0
# From here on mixtures of Gaussians are short.
_MIXED = 16.0
# Next to an integer M is a difference of two series, which cancel: so large a term costs one digit.
_CANCELS = 13.0
# What no distance reaches, and what is as good as 0: M differs from 1 by less than rounding.
_FAR, _NEAR = 1e30, 1e-18
_EPS = float(np.finfo(np.float64).eps)


class Matern(Radial):
    """Matérn kernel of smoothness ν > 0, with a = √(2ν)‖x−z‖/σ: 2^(1−ν)/Γ(ν) a^ν K_ν(a).

    For ν = 1/2, 3/2, 5/2, … it is e^{−a}, (1+a)e^{−a}, (1+a+a²/3)e^{−a}, …; K_ν is the modified Bessel
    function of the second kind. Functions of its space have ν + d/2 derivatives in L²; ν → ∞ is the Gaussian
    kernel.

    Parameters
    ----------
    nu : float > 0
    sigma : float, optional
        Width σ > 0. None: the median distance between training points.

    Notes
    -----
    Every engine compiles it, except for ν < 1/2, ν > 16, and ν that are almost 1, 2, 3, … (these themselves
    are compiled): there NumPy and SciPy compute it. In float32, with three columns, a product with K took
    0.25 ns a pair for ν = 3/2 and 9/2, 1.0 to 1.4 for ν = 1, 1.2 and 7.3, 25 for ν = 20 and 280 for ν = 0.3.
    Some ν have five digits in float32.

    Examples
    --------
    >>> Matern(1.5, sigma=1.0)([[0.0]], [[1.0]]).round(4)
    array([[0.4834]])
    >>> Matern(2.0, sigma=1.0)([[0.0]], [[1.0]]).round(4)
    array([[0.5075]])
    """

    positive = log_params = ("sigma",)
    # It is the Fourier transform of a Student density, and Student's laws are infinitely divisible.
    infinitely_divisible = True
    induced_order = Radial.falls_with_distance
    strictly = Radial.by_its_spectrum

    def __init__(self, nu=1.5, sigma=None):
        self.nu = nu
        self.sigma = sigma

    def validate(self):
        if not is_number(self.nu) or not 0 < self.nu < math.inf:
            raise ValueError(
                f"Matern: nu must be a positive number, got {self.nu!r}; nu → ∞ is Gaussian(sigma)"
            )
        super().validate()

    def profile(self, r2, xp):
        nu = float(self.nu)
        half = nu % 1 == 0.5
        if nu > (_MOST_HALF if half else _MIXED):
            return _mixed(nu, r2 * (0.5 / (self.sigma * self.sigma)), xp)
        a = xp.sqrt(r2) * (math.sqrt(2 * nu) / self.sigma)
        if half:
            return _of_half_integer(nu, a, xp)
        if nu < 0.5 or _pieces(nu).cancels:
            return _by_scipy(nu, a, xp)
        return _pieces(nu)(a, xp)

    def frequencies(self, rng, count, d):
        return student_vectors(rng, count, d, 2 * self.nu) / self.sigma

    def density(self, W):
        return student_density(W, float(self.nu), self.sigma)

    def raised(self, p):
        return Matern(0.5, self.sigma / p) if self.nu == 0.5 else None

    def rule(self):
        return "Matérn: its spectral density is a Student density, so Bochner's theorem applies"


def _horner(coefficients: tuple[float, ...], x: Any) -> Any:
    """A polynomial, its coefficients lowest first."""
    *lower, value = coefficients
    for c in reversed(lower):
        value = x * value + c
    return value


# -- ν = p + ½ ----------------------------------------------------------------------------------------------


def _of_half_integer(nu: float, a: Any, xp: Any) -> Any:
    decay = xp.exp(-a)
    if nu == 0.5:
        return decay
    return _horner(_polynomial(int(nu)), a if nu < 3 else xp.clip(a, 0.0, _CLIPPED)) * decay


@lru_cache(maxsize=64)
def _polynomial(p: int) -> tuple[float, ...]:
    """M(a) e^a for ν = p + ½: (p!/(2p)!) Σ_j (2p−j)!/(j!(p−j)!) (2a)^j."""
    f = math.factorial
    return tuple(f(p) * f(2 * p - j) * 2**j / (f(2 * p) * f(j) * f(p - j)) for j in range(p + 1))


# -- ½ < ν ≤ 16 ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Pieces:
    """M as a product of two functions, each of which is constant where the other one is not.

    With s = a/2 and x = s²: for s ≤ split M = A(x) + s^2ν B(x), for an integer ν A(x) + x^ν (B(x) − C(x)
    log x). Beyond it M falls from M(2·split) like (s/split)^(ν−½) e^−2(s−split) Q(y), y = 2·split/s − 1,
    where Q(1) = 1. (So that it is 1 to the last bit, Q is written as 1 + (y − 1) R(y).)
    """

    nu: float
    split: float
    A: tuple[float, ...]
    B: tuple[float, ...]
    C: tuple[float, ...]
    R: tuple[float, ...]

    @property
    def cancels(self) -> bool:
        """Are there terms so large that their difference has lost digits?"""
        return max(abs(c) * self.split ** (2 * k) for k, c in enumerate(self.A)) > _CANCELS

    def __call__(self, a: Any, xp: Any) -> Any:
        s = a * 0.5
        near = xp.clip(s, _NEAR, self.split)  # 0 has no logarithm
        x = near * near
        tail = _horner(self.B, x)
        if self.C:
            tail = (tail - xp.log(x) * _horner(self.C, x)) * x ** int(self.nu)
        else:
            tail = tail * near ** (2 * self.nu)
        inner = _horner(self.A, x) + tail
        far = xp.clip(s, self.split, _FAR)
        fallen = xp.log(far / self.split) * (self.nu - 0.5) - (far - self.split) * 2.0
        y = (2 * self.split) / far - 1.0
        return inner * (xp.exp(fallen) * ((y - 1.0) * _horner(self.R, y) + 1.0))


@lru_cache(maxsize=64)
def _pieces(nu: float) -> _Pieces:
    # Further out the series cancel; further in the polynomial in 1/a is longer. The larger ν, the later both.
    split = 0.97 + 0.19 * nu
    most = split * split
    A = _series(1 - nu, most, int(nu) if nu.is_integer() else None)
    if not nu.is_integer():
        B = tuple(-math.gamma(1 - nu) / math.gamma(1 + nu) * c for c in _series(1 + nu, most))
        return _Pieces(nu, split, A, B, (), _outer(nu, split))
    n = int(nu)
    sign = (-1) ** n / (math.gamma(n) * math.gamma(n + 1))
    C = tuple(sign * c for c in _series(1 + nu, most))
    B = tuple(c * (_digamma(k + 1) + _digamma(n + k + 1)) for k, c in enumerate(C))
    return _Pieces(nu, split, A, B, C, _outer(nu, split))


def _series(b: float, most: float, terms: int | None = None) -> tuple[float, ...]:
    """1/(k! b(b+1)…(b+k−1)), the coefficients of ₀F₁(b; x), as many as matter for x ≤ most."""
    out = [1.0]
    while terms is None or len(out) < terms:
        k = len(out)
        out.append(out[-1] / (k * (b + k - 1)))
        # Past −b terms only fall.
        if terms is None and k > -b and abs(out[-1]) * most**k < 0.1 * _EPS:
            break
    return tuple(out)


def _digamma(n: int) -> float:
    return math.fsum(1 / k for k in range(1, n)) - 0.5772156649015329


def _outer(nu: float, split: float) -> tuple[float, ...]:
    """R with √a e^a K_ν(a) ∝ 1 + (y − 1) R(y), y = 4·split/a − 1: a polynomial fitted to the integral."""

    def scaled(y):
        a = 4 * split / (1 + y)
        return np.sqrt(a) * _scaled_bessel(nu, a) / at_split

    at_split = math.sqrt(2 * split) * _scaled_bessel(nu, np.array([2 * split]))[0]
    fit = np.polynomial.Chebyshev.interpolate(scaled, 24)
    sizes = np.abs(fit.coef)
    some = int(np.argmax(sizes < 8 * _EPS * sizes.max()))  # what comes after is rounding
    Q = np.polynomial.Chebyshev(fit.coef[: some or None]).convert(kind=np.polynomial.Polynomial)
    R = (Q / Q(1.0)) // np.polynomial.Polynomial([-1.0, 1.0])
    return tuple(R.coef.tolist())


def _scaled_bessel(nu: float, a: np.ndarray) -> np.ndarray:
    """e^a K_ν(a) = ∫₀^∞ exp(−a(cosh t − 1)) cosh νt dt, by the trapezoidal rule, which is exact here."""
    # Where the integrand has fallen below rounding: a(cosh t − 1) > 45 + νt.
    end = np.arccosh(1 + (45 + nu * np.arccosh(1 + 45 / a) * 2) / a)
    t = np.linspace(0, 1, 401)[:, None] * end
    values = np.exp(-2 * a * np.sinh(t / 2) ** 2) * np.cosh(nu * t)
    values[0] /= 2
    return values.sum(axis=0) * end / 400


# -- ν > 16 --------------------------------------------------------------------------------------------------


def _mixed(nu: float, q: Any, xp: Any) -> Any:
    """E exp(−q/τ) with τ of the Gamma law of shape and rate ν, and q = r²/2σ²."""
    _require_arrays(nu, xp)
    # In the same order and precision, so that M is 1 to the last bit where q is 0.
    at_zero = _sum(nu, np.zeros(1, DualNumber.of(q).value.dtype), np)[0]
    return _sum(nu, q, xp) / at_zero


def _sum(nu: float, q: Any, xp: Any) -> Any:
    total = None
    for weight, rate in _mixture(nu):
        term = xp.exp(q * -rate) * weight
        total = term if total is None else total + term
    return total


@lru_cache(maxsize=64)
def _mixture(nu: float) -> tuple[tuple[float, float], ...]:
    """(weight, 1/τ): the trapezoidal rule in u = log τ, which converges as fast as for a Gaussian."""
    step = min(0.19, 0.6 / math.sqrt(nu))
    u = np.arange(-60, 61) * step
    log_weight = nu * (u - np.expm1(u))
    kept = log_weight > -40
    weights = np.exp(log_weight[kept])
    return tuple(zip((weights / weights.sum()).tolist(), np.exp(-u[kept]).tolist(), strict=True))


def _require_arrays(nu: float, xp: Any) -> None:
    if xp is not np and xp is not dual:
        raise NotTraceable(f"the Matérn kernel of ν = {nu:g} has no short formula")


# -- any ν --------------------------------------------------------------------------------------------------


def _by_scipy(nu: float, a: Any, xp: Any) -> Any:
    _require_arrays(nu, xp)
    if xp is np:
        return _bessel(nu, a)
    a = DualNumber.of(a)
    return DualNumber(_bessel(nu, a.value), _bessel_slope(nu, a.value) * a.slope)


def _bessel(nu: float, a: Any) -> Any:
    from scipy.special import gammaln, kve  # kernels are imported without it

    a = np.asarray(a)
    wide = a.astype(np.float64)
    safe = _for_bessel(nu, wide)
    logs = (1 - nu) * math.log(2) - gammaln(nu) + nu * np.log(safe) - safe
    return np.where(wide > 0, np.exp(logs) * kve(nu, safe), 1.0).astype(a.dtype)


def _bessel_slope(nu: float, a: Any) -> Any:
    """dM/da = −2^(1−ν)/Γ(ν) a^ν K_(ν−1)(a), and 0 at a = 0, whether there is a kink or not."""
    from scipy.special import gammaln, kve

    a = np.asarray(a)
    wide = a.astype(np.float64)
    safe = _for_bessel(nu, wide)
    logs = (1 - nu) * math.log(2) - gammaln(nu) + nu * np.log(safe) - safe
    return np.where(wide > 0, -np.exp(logs) * kve(abs(nu - 1), safe), 0.0).astype(a.dtype)


def _for_bessel(nu: float, a: np.ndarray) -> np.ndarray:
    """What SciPy's Bessel function takes: of smaller numbers M is 1 to rounding, of larger ones 0."""
    return np.clip(a, 1e-300 if nu < 0.5 else 1e-10, 1e4)
