"""Functions drawn from a Gaussian process before any data, which can be called anywhere."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._xp import issparse
from mercer.kernels.base import Kernel
from mercer.kernels.dot import Dot
from mercer.kernels.points import double

# Cosines and sines that draws share, and how many draws share them. Each bundle has its own, so that the mean
# over bundles of the covariance they stand for is the kernel itself.
FEATURES = 2048
BUNDLE = 16
# Monomials of a polynomial kernel that are written out.
_MOST_MONOMIALS = 5000
# Points among which the covariance is compared with the kernel.
_COMPARED = 64
_ROWS_AT_ONCE = 4096


class _CosineOfDot(Dot):
    """cos(x·ω), between points and frequencies."""

    def profile(self, s, xp):
        return xp.cos(s)


class _SineOfDot(Dot):
    """sin(x·ω), between points and frequencies."""

    def profile(self, s, xp):
        return xp.sin(s)


class PriorDraws:
    """Functions f ~ GP(0, k), one a column, that can be called anywhere and agree from call to call.

    A translation-invariant kernel is an average of cosines (Bochner), so a function is
    √(2k(0)/p) Σ_j a_j cos ω_j·x + b_j sin ω_j·x with frequencies ω from the kernel's spectral density and
    normal a, b. Given ω it is a Gaussian process whose covariance is off by at most k(0)/√p, root mean
    square; every 16 functions have frequencies of their own, over which that error averages out. A polynomial
    kernel has its monomials with normal coefficients, which is exact. Sums of kernels have sums of functions.

    Parameters
    ----------
    kernel : Kernel
        Without parameters left to the data.
    d : coordinates of points
    count : number of functions
    rng : Generator
    engine : Engine
        What computes cosines, as products with the matrix of cos x·ω.
    features : int, default=2048
        p for each 16 functions.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.engines import Tiled
    >>> from mercer.kernels import Gaussian
    >>> f = PriorDraws(Gaussian(1.0), 1, 3, np.random.default_rng(0), Tiled())
    >>> X = np.linspace(0, 1, 4)[:, None]
    >>> f(X).shape, bool(np.allclose(f(X)[2:], f(X[2:])))
    ((4, 3), True)
    """

    def __init__(
        self,
        kernel: Kernel,
        d: int,
        count: int,
        rng: np.random.Generator,
        engine: Any,
        features: int = FEATURES,
    ):
        self.kernel, self.count, self.engine = kernel, count, engine
        self.terms = [_term(part, d, count, rng, engine, features) for part in _summands(kernel)]

    def __call__(self, points: Any) -> np.ndarray:
        """(m, count) values at points as the kernel takes them, in float64."""
        points = _rows(points)
        return sum((term(points) for term in self.terms), np.zeros((len(points), self.count)))

    def error(self, points: Any) -> float:
        """Root mean square, over pairs of some points, of (covariance of the functions − k), relative to
        k(x,x).

        Of the covariance that all bundles together stand for.
        """
        points = _rows(points[: max(_COMPARED, 1)])
        meant = self.kernel.pairwise(points, points)
        size = float(np.abs(np.diag(meant)).mean())
        off = sum(term.covariance(points) for term in self.terms) - meant
        return float(np.sqrt(np.square(off).mean())) / (size or 1.0)


class _Waves:
    """Bundles of random Fourier features, with normal coefficients."""

    def __init__(
        self, kernel: Kernel, d: int, count: int, rng: np.random.Generator, engine: Any, features: int
    ):
        half = max(features // 2, 1)
        self.count, self.amplitude = count, float(kernel.amplitude())
        # Few rows may come at a time, but they come often: worth a compiled loop.
        engine = engine.expecting(np.inf)
        self.bundles = []
        for start in range(0, count, BUNDLE):
            size = min(BUNDLE, count - start)
            waves = _rows(kernel.frequencies(rng, half, d))
            coefficients = rng.standard_normal((2, half, size)) * math.sqrt(self.amplitude / half)
            both = [engine.operator(wave, waves[:1], waves) for wave in (_CosineOfDot(), _SineOfDot())]
            self.bundles.append((waves, both, coefficients))

    def __call__(self, points):
        out = np.empty((len(points), self.count))
        for i, (_, (cosine, sine), (a, b)) in enumerate(self.bundles):
            columns = slice(i * BUNDLE, i * BUNDLE + a.shape[1])
            out[:, columns] = cosine.facing(points) @ a
            out[:, columns] += sine.facing(points) @ b
        return out

    def covariance(self, points):
        total = np.zeros((len(points), len(points)))
        for waves, _, _ in self.bundles:
            angle = points @ waves.T
            total += (np.cos(angle) @ np.cos(angle).T + np.sin(angle) @ np.sin(angle).T) / len(waves)
        return self.amplitude * total / len(self.bundles)


class _MonomialWeights:
    """The monomials of a polynomial kernel, with normal coefficients."""

    def __init__(self, weights: dict[tuple[int, ...], float], count: int, rng: np.random.Generator):
        self.monomials = list(weights)
        self.roots = np.sqrt(np.array(list(weights.values()), dtype=float))
        self.coefficients = rng.standard_normal((len(weights), count)) * self.roots[:, None]

    def _features(self, points):
        columns = [np.prod(points[:, list(a)], axis=1) for a in self.monomials]
        return np.stack(columns, axis=1) if columns else np.zeros((len(points), 0))

    def __call__(self, points):
        rows = range(0, len(points), _ROWS_AT_ONCE)
        parts = [self._features(points[i : i + _ROWS_AT_ONCE]) @ self.coefficients for i in rows]
        return np.concatenate(parts) if parts else np.zeros((0, self.coefficients.shape[1]))

    def covariance(self, points):
        Phi = self._features(points) * self.roots
        return Phi @ Phi.T


def _summands(kernel: Kernel) -> Iterator[Kernel]:
    """Kernels whose sum this one is."""
    from mercer.kernels.algebra import Sum
    from mercer.kernels.unary import Scale

    if isinstance(kernel, Sum):
        yield from _summands(kernel.left)
        yield from _summands(kernel.right)
    elif isinstance(kernel, Scale):
        yield from (part * kernel.factor for part in _summands(kernel.kernel))
    else:
        yield kernel


def _term(kernel: Kernel, d: int, count: int, rng: np.random.Generator, engine: Any, features: int) -> Any:
    if not kernel.vectors:
        raise _refusal(kernel)
    if kernel.expansion_size(d) <= _MOST_MONOMIALS:
        weights = kernel.expansion(d)
        if weights is not None:
            return _MonomialWeights(weights, count, rng)
    try:
        return _Waves(kernel, d, count, rng, engine, features)
    except NotImplementedError:
        raise _refusal(kernel) from None


def _refusal(kernel: Kernel) -> ValueError:
    return ValueError(
        f"functions can't be drawn from {kernel!r} everywhere at once: that needs a translation-invariant "
        "kernel "
        "(Gaussian, Laplacian, Matern, RationalQuadratic, Periodic), a polynomial one of few monomials, or "
        "sums of such; "
        "posterior(method='exact') draws from every kernel, at points given together"
    )


def _rows(points: Any) -> np.ndarray:
    points = double(points.toarray() if issparse(points) else points)
    if points.flags.writeable:
        points = points.copy()
        points.flags.writeable = False
    return points
