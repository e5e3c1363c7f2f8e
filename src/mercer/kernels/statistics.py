"""What a pair of points is reduced to before a kernel's profile sees it.

A statistic is a function of two vectors (‖x−z‖², x·z, ‖x−z‖₁, …) computed for all pairs of two
point sets, with its derivative in x. Kernels that share a statistic can share its computation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from mercer._xp import issparse

# Up to this dimension differences are taken coordinate by coordinate: exact, and no slower than BLAS.
_DIRECT_DIMENSIONS = 4
# The smallest number float32 divides by without losing digits.
_SMALLEST = float(np.finfo(np.float32).tiny)
# Numbers of this size can be subtracted and squared, those of near points, too, and the squares added up.
SQUARED = {np.dtype(np.float32): (1e-12, 1e15), np.dtype(np.float64): (1e-152, 1e152)}
_PAIRS_PER_CHUNK = 1 << 16
_NUMBERS_AT_ONCE = 1 << 23
# What numbers that differ are multiplied by, so that the difference is 1 or more.
_APART = 2.0**64


def squared_norms(X) -> np.ndarray:
    """‖x‖² of every row."""
    if issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def squares_fit(*sets) -> bool:
    """Can points be subtracted and squared in their precision? ValueError where float64 can't either.

    Of numbers too small squares are 0, and all points are one; of numbers too large they are infinite.
    """
    largest = max((_largest(P) for P in sets), default=0.0)
    dtype = np.result_type(*(P.dtype for P in sets))
    least, most = SQUARED[np.dtype(np.float32 if dtype == np.float32 else np.float64)]
    if largest == 0 or least <= largest <= most or not largest < math.inf:
        return True
    if dtype != np.float32:
        what = "large" if largest > most else "small"
        raise ValueError(
            f"the points are too {what}: of numbers of size {largest:.0e} no float64 can hold the squares; "
            f"multiply the features by {min(1 / largest, 1e300):.0e}, say, and the kernel's width with them"
        )
    return False


def _largest(P) -> float:
    values = P.data if issparse(P) else P
    return max(float(values.max()), -float(values.min())) if values.size else 0.0


def _beside(X, first, second) -> np.ndarray:
    """X with two more columns."""
    out = np.empty((X.shape[0], X.shape[1] + 2), X.dtype)
    out[:, :-2], out[:, -2], out[:, -1] = X, first, second
    return out


def _cached_rows(S: np.ndarray) -> Iterator[slice]:
    """Rows of a matrix in blocks that stay in a core's cache while every coordinate passes over them."""
    step = max(1, (1 << 15) // max(S.shape[1], 1))
    for a in range(0, S.shape[0], step):
        yield slice(a, a + step)


class Statistic:
    """Contract: pairwise(X, Z) → (n, m); gradient_x(X, Z) → (n, m, d), the derivative in x."""

    name = ""
    sparse = False
    # What engines know it by: "distance" (‖x−z‖²), "dot" (x·z), or "sum" of a `term` over coordinates.
    kind = "sum"
    # s(ax, az) = a·s(x, z), or a²·s(x, z) for the two above, for a > 0: a factor can be put into the points.
    homogeneous = False
    # Is it 0 where x = z?
    distance = False

    def fits(self, X, Z) -> bool:
        """Has the precision of the points room for the statistic?"""
        return True

    def pairwise(self, X, Z) -> np.ndarray:
        raise NotImplementedError

    def gradient_x(self, X, Z) -> np.ndarray:
        raise NotImplementedError

    def diag(self, X) -> np.ndarray:
        """The statistic of every point with itself."""
        raise NotImplementedError

    def paired(self, X, Z) -> np.ndarray:
        """The statistic of x_i and z_i, for two lists of points."""
        raise NotImplementedError

    def vjp_log_scales(self, X, W) -> np.ndarray:
        """Σ_ij W_ij ∂s(x_i, x_j)/∂log a_k, shape (d,), where a_k multiplies coordinate k of all points."""
        out = np.zeros(X.shape[1])
        step = max(1, _NUMBERS_AT_ONCE // max(X.size, 1))
        for a in range(0, len(X), step):
            here, w = X[a : a + step], W[a : a + step]
            # x_k ∂s/∂x_k of the first point, and of the second, the statistic being symmetric.
            out += np.einsum("ij,ijk,ik->k", w, self.gradient_x(here, X), here, optimize=True)
            w = W[:, a : a + step].T
            out += np.einsum("ij,ijk,ik->k", w, self.gradient_x(here, X), here, optimize=True)
        return out


class DotProduct(Statistic):
    """x·z"""

    name, kind = "x·z", "dot"
    sparse = homogeneous = True

    def pairwise(self, X, Z):
        S = X @ Z.T
        return S.toarray() if issparse(S) else S

    def gradient_x(self, X, Z):
        return np.broadcast_to(Z[None, :, :], (X.shape[0], *Z.shape))

    def diag(self, X):
        return squared_norms(X)

    def paired(self, X, Z):
        return np.asarray(X.multiply(Z).sum(axis=1)).ravel() if issparse(X) else np.einsum("ij,ij->i", X, Z)

    def vjp_log_scales(self, X, W):
        return 2 * np.einsum("ik,ik->k", X, W @ X)


class SquaredDistance(Statistic):
    """‖x−z‖², accurate for near-duplicates and for data far from the origin.

    The fast route ‖x‖² + ‖z‖² − 2x·z cancels badly when x and z are close compared with their
    size. So points are centred first, and the few pairs that are still too close are recomputed
    from their difference (as given: centring would round it).
    """

    name, kind = "‖x−z‖²", "distance"
    sparse = homogeneous = distance = True

    def fits(self, X, Z):
        return squares_fit(X, Z)

    def pairwise(self, X, Z):
        if issparse(X) or issparse(Z):
            return self._sparse(X, Z)
        if X.shape[1] <= _DIRECT_DIMENSIONS:
            return self._direct(X, Z)
        if len(X) == 1 and X is not Z:  # no more work than centring
            return squared_norms(Z - X)[None]
        # Subtracting one vector from all points changes no distance, only the rounding.
        centre = Z.mean(axis=0, dtype=np.float64).astype(Z.dtype) if len(Z) else 0
        same = X is Z
        Xc = X - centre
        Zc = Xc if same else Z - centre
        xx = squared_norms(Xc)
        zz = xx if same else squared_norms(Zc)
        if same:
            S = Xc @ Xc.T  # symmetric to the last bit
            S *= -2
            S += xx[:, None]
            S += zz[None, :]
        else:
            # The norms ride along as two more coordinates: one BLAS call, no further pass over S.
            S = _beside(Xc * -2, xx, 1) @ _beside(Zc, 1, zz).T
        # Relative error of an entry is about eps·‖x‖²/S: recompute where that exceeds a small bound.
        floor = (2e-2 if S.dtype == np.float32 else 2e-6) * xx
        close = floor[:, None] > S
        i, j = np.nonzero(close)
        if 20 * len(i) > S.size and S.dtype == np.float32:
            # Clusters far apart: cheaper once more in float64 than coordinate by coordinate.
            X = X.astype(np.float64)
            return self.pairwise(X, X if same else Z.astype(np.float64)).astype(np.float32)
        if 20 * len(i) > S.size:
            return self._direct(X, Z)
        self._mend(S, X, Z, i, j)
        return S

    @staticmethod
    def _mend(S, X, Z, i, j):
        """Compute some entries again, from differences."""
        for a in range(0, len(i), _PAIRS_PER_CHUNK):
            ia, ja = i[a : a + _PAIRS_PER_CHUNK], j[a : a + _PAIRS_PER_CHUNK]
            S[ia, ja] = squared_norms(X[ia] - Z[ja])

    @staticmethod
    def _direct(X, Z):
        S = np.zeros((len(X), len(Z)), np.result_type(X, Z))
        difference = np.empty_like(S)
        for k in range(X.shape[1]):
            np.subtract(X[:, k, None], Z[None, :, k], out=difference)
            np.multiply(difference, difference, out=difference)
            S += difference
        return S

    def _sparse(self, X, Z):
        # Centring would fill the zeros in. Double precision makes up for it (sparse products are bound
        # by memory traffic, so it costs little), and what rounding leaves of a zero is cleaned up.
        dtype = np.result_type(X.dtype, Z.dtype)
        same = X is Z
        X = X.astype(np.float64)
        Z = X if same else Z.astype(np.float64)
        xx, zz = squared_norms(X), squared_norms(Z)
        sums = xx[:, None] + zz[None, :]
        S = sums - 2 * DotProduct().pairwise(X, Z)
        if same:
            np.fill_diagonal(S, np.inf)  # 0, and nothing to compute again
        i, j = np.nonzero(2e-6 * sums > S)
        if 20 * len(i) <= S.size:
            self._mend(S, X, Z, i, j)
        else:
            S[64 * np.finfo(np.float64).eps * sums > S] = 0
        if same:
            np.fill_diagonal(S, 0)
        return S.astype(dtype, copy=False)

    def gradient_x(self, X, Z):
        return 2 * (X[:, None, :] - Z[None, :, :])

    def diag(self, X):
        return np.zeros(X.shape[0], X.dtype)

    def paired(self, X, Z):
        return squared_norms(X - Z)

    def vjp_log_scales(self, X, W):
        # Σ W_ij 2(x_i − x_j)², written out; centred, so that little cancels.
        X = X - X.mean(axis=0)
        own = (W.sum(axis=1) + W.sum(axis=0)) @ (X * X)
        return 2 * own - 4 * np.einsum("ik,ik->k", X, W @ X)


class _CoordinateSum(Statistic):
    """Σ_k t(x_k, z_k), accumulated one coordinate at a time so that no (n, m, d) array is made."""

    @staticmethod
    def term(x, z, xp):
        """t(x_k, z_k), in operations of the namespace xp."""
        raise NotImplementedError

    @staticmethod
    def term_slope(x, z):
        raise NotImplementedError

    def pairwise(self, X, Z):
        S = np.zeros((len(X), len(Z)), np.result_type(X, Z))
        columns = np.ascontiguousarray(Z.T)
        for rows in _cached_rows(S):
            here = S[rows]
            for k, z in enumerate(columns):
                here += self.term(X[rows, k, None], z[None, :], np)
        return S

    def gradient_x(self, X, Z):
        return np.stack([self.term_slope(X[:, k, None], Z[None, :, k]) for k in range(X.shape[1])], axis=-1)

    def diag(self, X):
        return self.paired(X, X)

    def paired(self, X, Z):
        return self.term(X, Z, np).sum(axis=1)


class L1Distance(_CoordinateSum):
    """‖x−z‖₁"""

    name = "‖x−z‖₁"
    homogeneous = distance = True

    @staticmethod
    def term(x, z, xp):
        return xp.abs(x - z)

    @staticmethod
    def term_slope(x, z):
        return np.sign(x - z)

    def vjp_log_scales(self, X, W):
        out, columns = np.zeros(X.shape[1]), np.ascontiguousarray(X.T)
        for rows in _cached_rows(W):
            distance = np.empty(W[rows].shape)
            for k, x in enumerate(columns):
                np.subtract(x[rows, None], x[None, :], out=distance)
                np.abs(distance, out=distance)
                distance *= W[rows]
                out[k] += distance.sum()
        return out


class ChiSquare(_CoordinateSum):
    """Σ (x−z)²/(x+z) for nonnegative vectors; 0/0 counts as 0."""

    name = "χ²(x,z)"
    homogeneous = distance = True

    def fits(self, X, Z):
        return squares_fit(X, Z)

    @staticmethod
    def term(x, z, xp):
        # x + z = 0 only where both are 0, and then so is the numerator.
        return (x - z) ** 2 / xp.maximum(x + z, _SMALLEST)

    @staticmethod
    def term_slope(x, z):
        total = x + z
        return (x - z) * (x + 3 * z) / np.where(total > 0, total, 1) ** 2


class Intersection(_CoordinateSum):
    """Σ min(x, z)"""

    name = "Σ min(x,z)"
    homogeneous = True

    @staticmethod
    def term(x, z, xp):
        return xp.minimum(x, z)

    @staticmethod
    def term_slope(x, z):
        # At a tie the two one-sided slopes are 1 and 0; their mean is the symmetric choice.
        return 0.5 * (1 - np.sign(x - z))


class Agreement(_CoordinateSum):
    """Σ [x = z], the number of coordinates that are equal.

    In formulas [x = z] is max(1 − |x − z|·2⁶⁴, 0): right for numbers of any kind but those that lie closer
    together than 2⁻⁶⁴.
    """

    name = "Σ [x=z]"

    @staticmethod
    def term(x, z, xp):
        return xp.maximum(1.0 - xp.abs(x - z) * _APART, 0.0)

    def pairwise(self, X, Z):
        S = np.zeros((len(X), len(Z)), np.result_type(X, Z))
        columns = np.ascontiguousarray(Z.T)
        for rows in _cached_rows(S):
            here = S[rows]
            for k, z in enumerate(columns):
                here += X[rows, k, None] == z
        return S

    def paired(self, X, Z):
        return (X == Z).sum(axis=1, dtype=np.result_type(X, Z))


class Differences(_CoordinateSum):
    """Σ [x ≠ z], the number of coordinates that differ.

    In formulas [x ≠ z] is min(|x − z|·2⁶⁴, 1): see `Agreement`.
    """

    name = "Σ [x≠z]"
    distance = True

    @staticmethod
    def term(x, z, xp):
        return xp.minimum(xp.abs(x - z) * _APART, 1.0)

    @staticmethod
    def term_slope(x, z):
        return 0 * (x - z)

    def pairwise(self, X, Z):
        S = np.zeros((len(X), len(Z)), np.result_type(X, Z))
        columns = np.ascontiguousarray(Z.T)
        for rows in _cached_rows(S):
            here = S[rows]
            for k, z in enumerate(columns):
                here += X[rows, k, None] != z
        return S

    def paired(self, X, Z):
        return (X != Z).sum(axis=1, dtype=np.result_type(X, Z))


class HarmonicMean(_CoordinateSum):
    """Σ 2xz/(x+z) for nonnegative vectors; 0/0 counts as 0."""

    name = "Σ 2xz/(x+z)"
    homogeneous = True

    @staticmethod
    def term(x, z, xp):
        # The product xz may leave the range of float32; by size, so that x and z are alike to the last bit.
        return 2 * xp.minimum(x, z) * (xp.maximum(x, z) / xp.maximum(x + z, _SMALLEST))

    @staticmethod
    def term_slope(x, z):
        total = x + z
        return 2 * (z / np.where(total > 0, total, 1)) ** 2


class SkewedChiSquare(_CoordinateSum):
    """Σ log cosh(½ log((x+c)/(z+c))) = ½ Σ log(1 + (x−z)²/(4(x+c)(z+c))), for entries above −c."""

    name = "skewed χ²(x,z)"
    distance = True

    def __init__(self, c: float):
        self.c = c

    def fits(self, X, Z):
        return squares_fit(X, Z)

    def term(self, x, z, xp):
        u = (x - z) ** 2 / xp.maximum(4 * ((x + self.c) * (z + self.c)), _SMALLEST)
        return 0.5 * (np.log1p(u) if xp is np else xp.log(1.0 + u))

    def term_slope(self, x, z):
        a = x + self.c
        return (x - z) / (2 * a * (a + z + self.c))

    def gradient_log_c(self, X, Z):
        """Derivative in log c."""
        return SkewedChiSquareFall(self.c).pairwise(X, Z)


class SkewedChiSquareFall(_CoordinateSum):
    """Σ −c (x−z)²/(2(x+c)(z+c)(x+z+2c)): the derivative of `SkewedChiSquare` in log c."""

    name = "skewed χ², in log c"

    def __init__(self, c: float):
        self.c = c

    def term(self, x, z, xp):
        a, b = x + self.c, z + self.c
        return (x - z) ** 2 * (-0.5 * self.c) / (a * b * (a + b))


class CircleDistance(_CoordinateSum):
    """Σ 4 sin²(π(x−z)/p): squared distance after wrapping each coordinate round a circle."""

    name = "circle"
    distance = True

    def __init__(self, period: float):
        self.period = period

    def term(self, x, z, xp):
        return 4 * xp.sin((x - z) * (math.pi / self.period)) ** 2

    def term_slope(self, x, z):
        return (4 * np.pi / self.period) * np.sin(2 * np.pi * (x - z) / self.period)

    def gradient_log_period(self, X, Z):
        """Derivative in log p."""
        return CircleTurn(self.period).pairwise(X, Z)


class CircleTurn(_CoordinateSum):
    """Σ −2φ sin φ with φ = 2π(x−z)/p: the derivative of `CircleDistance` in log p."""

    name = "circle, turned"

    def __init__(self, period: float):
        self.period = period

    def term(self, x, z, xp):
        angle = (x - z) * (2 * math.pi / self.period)
        return -2 * angle * xp.sin(angle)
