"""What a kernel's spectrum and a target's coefficients say about how fast one can learn.

Conventions. L is the integral operator of k under the distribution of x; its eigenvalues μ_1 ≥ μ_2 ≥ … are
estimated by those of K/n. Capacity b: μ_i ~ i^−b. Source condition r: f* = L^r g with g square integrable, so
r = ½ means f* ∈ H_K. Then no estimator does better than n^−2rb/(2rb+1) in squared L² distance, and kernel
ridge regression does as well, up to r = 1, with λ = n^−b/(2rb+1) (Caponnetto and De Vito, 2007, whose c is
2r).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mercer._threads import interruptible
from mercer._xp import features_by
from mercer.features import NystromFeatures
from mercer.kernels import Kernel
from mercer.theory.experiments import Rate, fit_rate

# Rows whose features are held at once.
_BLOCK = 4096
# The least share of eigenvalues at either end that says nothing of a law.
_FEWEST = 8


@dataclass(frozen=True, eq=False)
class GramSpectrum:
    """Eigenvalues of K/n, and the target's energy along the eigenvectors.

    `values` are μ_i, falling; `energy` ⟨y, u_i⟩²/n, which is ⟨f*, e_i⟩² + σ²/n on average, or None without y.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.theory import spectrum
    >>> found = spectrum(np.diag([4.0, 2.0]), [1.0, 2.0])
    >>> found.values.tolist(), found.energy.tolist()
    ([2.0, 1.0], [0.5, 2.0])
    """

    values: np.ndarray
    energy: np.ndarray | None

    @property
    def n(self) -> int:
        """Number of examples."""
        return len(self.values)


def spectrum(K: Any, y: Any = None) -> GramSpectrum:
    """The spectrum of a kernel matrix, and where on it a target lies.

    K is an (n, n) array, y has n numbers.

    Examples
    --------
    >>> import numpy as np
    >>> spectrum(np.diag([4.0, 2.0]), [1.0, 2.0]).energy.tolist()
    [0.5, 2.0]
    """
    K = np.asarray(K, dtype=float)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not len(K):
        raise ValueError(f"K must be a square matrix, got shape {K.shape}")
    n = len(K)
    if y is None:
        return GramSpectrum(np.maximum(np.linalg.eigvalsh(K)[::-1], 0) / n, None)
    y = np.asarray(y, dtype=float)
    if y.shape != (n,):
        raise ValueError(f"y must have one number for each of the {n} examples, got shape {y.shape}")
    values, vectors = interruptible(lambda: np.linalg.eigh(K))
    return GramSpectrum(np.maximum(values[::-1], 0) / n, ((vectors.T @ y) ** 2 / n)[::-1])


@dataclass(frozen=True, eq=False)
class EffectiveDimension:
    """d(λ) for every λ, between `low` and `high`, which are equal where it is exact.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.theory import effective_dimension
    >>> d = effective_dimension(np.eye(4), [0.25, 2.5])         # Σ μ/(μ + λ), μ = ¼
    >>> d.low.round(4).tolist(), bool((d.low == d.high).all())
    ([2.0, 0.3636], True)
    """

    lams: np.ndarray
    low: np.ndarray
    high: np.ndarray


def effective_dimension(
    kernel: Any, lams: Any, X: Any = None, *, centres: int | None = None, random_state: int = 0
) -> EffectiveDimension:
    """d(λ) = tr K(K + nλI)⁻¹ = Σ μ_i/(μ_i + λ): how many directions ridge regression makes use of.

    With centres, K̂ = K(X,Z)K(Z,Z)⁺K(Z,X) lies below K, so tr K̂(K̂ + nλ)⁻¹ bounds d from below. x/(x + nλ)
    is concave, so what is left, E = K − K̂ of rank q = n − m, adds at most tr E(E + nλ)⁻¹ (Rotfel'd), which
    is at most q e/(e + nλ) with e = tr E/q (Jensen). No n × n matrix is made.

    `kernel` is a Kernel, with points X, or a kernel matrix, or a `GramSpectrum`. So many `centres` of the
    points are taken; all of them, without approximation, by default.

    Examples
    --------
    >>> import numpy as np
    >>> effective_dimension(np.eye(4), 0.25).low.tolist()           # Σ ¼/(¼ + ¼)
    [2.0]
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 1, 300)[:, None]
    >>> d = effective_dimension(Gaussian(0.3), 1e-3, X, centres=30)
    >>> exact = effective_dimension(Gaussian(0.3), 1e-3, X)
    >>> bool(d.low[0] <= exact.low[0] <= d.high[0]), round(float(d.high[0] - d.low[0]), 3)
    (True, 0.0)
    """
    lams = np.atleast_1d(np.asarray(lams, dtype=float))
    if not (lams > 0).all():
        raise ValueError("every λ must be positive")
    if isinstance(kernel, Kernel):
        if X is None:
            raise ValueError("a kernel needs points: give X, or a kernel matrix instead")
        if centres is not None:
            return _with_centres(kernel, lams, X, centres, random_state)
        kernel = kernel.resolve(X)(X)
    values = kernel.values if isinstance(kernel, GramSpectrum) else spectrum(kernel).values
    exact = (values / (values + lams[:, None])).sum(axis=1)
    return EffectiveDimension(lams, exact, exact)


def _with_centres(kernel: Kernel, lams: np.ndarray, X: Any, m: int, random_state: int) -> EffectiveDimension:
    map = NystromFeatures(kernel, m, random_state=random_state).fit(X)
    total: Any = 0.0
    left, n = 0.0, len(X)
    for i in range(0, n, _BLOCK):
        rows = X[i : i + _BLOCK]
        Phi = np.asarray(features_by(map.transform, rows), dtype=np.float64)
        total = total + Phi.T @ Phi
        left += float(np.sum(map.kernel_.diag(rows), dtype=np.float64) - np.sum(Phi**2))
    values = np.maximum(np.linalg.eigvalsh(total), 0) / n
    low = (values / (values + lams[:, None])).sum(axis=1)
    # Of so many directions left, with so much in all, d is largest where each has the same.
    count = max(n - len(values), 1)
    each = max(left, 0.0) / count
    high = low + count * each / (each + n * lams)
    # Eigenvalues are known up to rounding of the largest, and a change of one changes d by at most 1/λ of it.
    rounding = 4 * len(values) * np.finfo(np.float64).eps * values.max(initial=0.0) / lams
    return EffectiveDimension(lams, np.maximum(low - rounding, 0.0), high + rounding)


@dataclass(frozen=True)
class Decay(Rate):
    """μ_i ~ i^−b, or μ_i ~ exp(−b i): `exponent` is b, and the interval is as if the law were exact.

    It is of a `kind`, "polynomial" or "exponential", and was fitted to i from `first` to `last`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.theory import fit_decay
    >>> decay = fit_decay(np.arange(1.0, 201) ** -3)
    >>> decay.kind, round(decay.exponent, 6), decay.first < decay.last
    ('polynomial', 3.0, True)
    """

    kind: str
    first: int
    last: int

    def at(self, i: Any) -> np.ndarray:
        """The law at i."""
        if self.kind == "polynomial":
            return super().at(i)
        return self.constant * np.exp(-self.exponent * np.asarray(i, dtype=float))


def fit_decay(values: Any, kind: str | None = None, first: int = 3, last: int | None = None) -> Decay:
    """Fit a law to eigenvalues: a power of i or an exponential, whichever leaves less (or the one asked for).

    Parameters
    ----------
    values : μ_i, falling
    kind : "polynomial", "exponential" or None
    first, last : int
        Which i are used. By default the first two are left out, and those beyond n/10, which a sample of n
        does not show well; eigenvalues down at rounding never count.

    Examples
    --------
    >>> import numpy as np
    >>> i = np.arange(1, 401)
    >>> fit_decay(3.0 * i**-2.0).kind, round(fit_decay(3.0 * i**-2.0).exponent, 6)
    ('polynomial', 2.0)
    >>> fit_decay(0.5**i).kind, round(fit_decay(0.5**i).exponent, 4)
    ('exponential', 0.6931)
    """
    mu = np.asarray(values, dtype=float)
    if mu.ndim != 1 or kind not in (None, "polynomial", "exponential"):
        raise ValueError("values must be a vector, and kind 'polynomial', 'exponential' or None")
    if not np.isfinite(mu).all() or (np.diff(mu) > 0).any():
        raise ValueError("values must be finite numbers, the largest first")
    if first < 1:
        raise ValueError(f"eigenvalues are counted from 1, got first = {first!r}")
    usable = int(np.searchsorted(-mu, -len(mu) * np.finfo(float).eps * mu[0], side="left")) if len(mu) else 0
    stop = min(max(len(mu) // 10, first + _FEWEST) if last is None else last, usable)
    if stop - first + 1 < 3:
        raise ValueError(f"a law needs at least three eigenvalues above rounding; there are {usable}")
    i = np.arange(first, stop + 1)
    laws = {"polynomial": i.astype(float), "exponential": np.exp(i - i[0])}
    found = {}
    for name, x in laws.items():
        if kind in (None, name):
            rate = fit_rate(x, mu[i - 1])
            found[name] = rate, float(np.sum(np.log(mu[i - 1] / rate.at(x)) ** 2))
    best = min(found, key=lambda name: found[name][1])
    law = asdict(found[best][0])
    if best == "exponential":
        law["constant"] *= math.exp(law["exponent"] * int(i[0]))
    return Decay(**law, kind=best, first=first, last=stop)


@dataclass(frozen=True)
class Smoothness:
    """What data say of a problem's difficulty.

    Attributes
    ----------
    b : capacity, from the decay of eigenvalues
    r : source condition, from the decay of the target's coefficients
    energy : the law ⟨f*, e_i⟩² ~ i^−q that r comes from
    noise : σ², from the coefficients that are noise only
    exponent : a in the best possible rate n^−a, with these b and r

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.theory import CircleProblem, smoothness, spectrum
    >>> problem = CircleProblem(b=2, r=1.0, noise=0.01)
    >>> X, y = problem.draw(300, np.random.default_rng(0))
    >>> found = smoothness(spectrum(problem.kernel(X), y))
    >>> bool(1.5 < found.b < 2.5), bool(0.5 < found.r < 1.5)
    (True, True)
    """

    b: float
    r: float
    energy: Rate
    noise: float
    exponent: float


def smoothness(found: GramSpectrum, decay: Decay | None = None) -> Smoothness:
    """Estimate b and r, and the rate they allow, from the spectrum of K/n and a target.

    ⟨y, u_i⟩²/n is ⟨f*, e_i⟩² + σ²/n on average. The last half of them is taken for noise; means over i in
    [2^j, 2^{j+1}), that much taken off, are fitted by i^−q as far as they stand out. L^−r f* is square
    integrable for r < (q−1)/(2b).

    The spectrum must be made with y; `decay` is a polynomial law for its eigenvalues, fitted if not given.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.theory import CircleProblem, spectrum
    >>> problem = CircleProblem(b=2, r=1.0, noise=0.01)
    >>> X, y = problem.draw(500, np.random.default_rng(0))
    >>> s = smoothness(spectrum(problem.kernel(X), y))
    >>> round(s.b, 1), bool(abs(s.r - 1) < 0.3)
    (1.9, True)
    """
    if not isinstance(found, GramSpectrum):
        raise TypeError("smoothness is that of a spectrum: smoothness(spectrum(K, y))")
    if found.energy is None:
        raise ValueError("smoothness is that of a target: make the spectrum with y")
    if decay is None:
        decay = fit_decay(found.values, "polynomial")
    if decay.kind != "polynomial":
        raise ValueError(
            "eigenvalues that decay exponentially have no b: rates are nearly 1/n for every r > 0"
        )
    energy, n = found.energy, found.n
    floor = float(energy[n // 2 :].mean())
    centres, means = [], []
    for j in range(1, int(math.log2(max(n // 2, 2)))):
        part = energy[2**j - 1 : 2 ** (j + 1) - 1]
        # Noise alone has a standard error of floor·√(2/count) in this mean.
        if part.mean() - floor <= 3 * floor * math.sqrt(2 / len(part)):
            break
        centres.append(math.exp(np.log(np.arange(2**j, 2 ** (j + 1))).mean()))
        means.append(float(part.mean() - floor))
    if len(centres) < 3:
        raise ValueError(
            f"only {len(centres)} groups of coefficients stand out of the noise, and a law needs three: give "
            "more examples"
        )
    law = fit_rate(centres, means)
    r = max(law.exponent - 1, 0.0) / (2 * decay.exponent)
    exponent = minimax_exponent(decay.exponent, r) if r > 0 else 0.0
    return Smoothness(decay.exponent, r, law, n * floor, exponent)


def minimax_exponent(b: float, r: float, *, ridge: bool = False, norm: bool = False) -> float:
    """2rb/(2rb+1): the excess risk of the best estimator falls like n to the minus that.

    Eigenvalues decay like i^−b, b > 1, and f* = L^r g. Kernel `ridge` regression does not profit from r > 1.

    With `norm` it is (2r−1)b/(2rb+1), for ‖f̂ − f*‖² in the norm of H_K, for r > 1/2: otherwise f* is not in
    that space. It is the smaller of the two: to be near in norm is more than to be right on average. Ridge
    regression profits up to r = 3/2 there.

    Notes
    -----
    Theorem 22 of [003] has f* = C^γ z with z ∈ H_K, which is r = γ + 1/2, and n^−γ/(γ+1) for all spectra,
    which is this for b = 1, the slowest decay of a finite trace. It says so for 0 < γ ≤ 2; for ridge
    regression it is right up to γ = 1, after which the rate stays n^−1/2 (its bias is never less than a
    multiple of λ).

    Examples
    --------
    >>> round(minimax_exponent(2, 0.5), 4), minimax_exponent(2, 2.0, ridge=True)
    (0.6667, 0.8)
    >>> minimax_exponent(2, 1.0, norm=True)
    0.4
    >>> minimax_exponent(1, 0.25 + 1 / 2, norm=True) == 0.25 / (0.25 + 1)           # theorem 22, γ = 1/4
    True
    """
    if not (b > 0 and r > 0):
        raise ValueError(f"b and r must be positive, got {b!r} and {r!r}")
    if norm and not r > 0.5:
        raise ValueError(
            f"r must be more than 1/2, got {r!r}: otherwise f* = L^r g is not in H_K, and has no norm"
        )
    if ridge:
        r = min(r, 1.5 if norm else 1.0)
    s = 2 * r * b
    return (s - b if norm else s) / (s + 1)
