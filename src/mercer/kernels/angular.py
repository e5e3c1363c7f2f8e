"""Kernels of the angle between x and z: cosine and arc-cosine."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._xp import DualNumber, dual
from mercer.codegen.symbols import int_power
from mercer.kernels.base import Kernel
from mercer.kernels.dot import Linear
from mercer.kernels.separation import of_normalised
from mercer.kernels.statistics import DotProduct, SquaredDistance, squared_norms


class Angular(Kernel):
    """k(x,z) = profile(x·z, ‖x‖², ‖z‖²); a zero vector counts as having k = 0 with everything."""

    sparse = True

    def profile(self, s: Any, xx: Any, zz: Any, xp: Any) -> Any:
        """k as a function of x·z, x·x and z·z, in operations of the namespace xp."""
        raise NotImplementedError

    def _statistics(self, X, Z):
        S = DotProduct().pairwise(X, Z)
        xx, zz = squared_norms(X)[:, None], squared_norms(Z)[None, :]
        zero = (xx == 0) | (zz == 0)
        return S, _or_one(xx), _or_one(zz), zero

    def formula(self, tracer, view):
        s = tracer.statistic(DotProduct(), view)
        xx, zz = tracer.both("‖x‖², or 1", view, lambda X: _or_one(squared_norms(X)))
        # A zero vector has k = 0: numbers that are 0 for it and 1 for the others.
        x_is_there, z_is_there = tracer.both("x ≠ 0", view, lambda X: (squared_norms(X) > 0).astype(X.dtype))
        return self.profile(s, xx, zz, tracer) * (x_is_there * z_is_there)

    def pairwise(self, X, Z):
        S, xx, zz, zero = self._statistics(X, Z)
        K = self.profile(S, xx, zz, np)
        if zero.any():
            K[zero] = 0
        return K

    def gradient_x(self, X, Z):
        S, xx, zz, zero = self._statistics(X, Z)
        in_s = self.profile(DualNumber(S, np.ones_like(S)), DualNumber.of(xx), DualNumber.of(zz), dual).slope
        in_xx = self.profile(
            DualNumber.of(S), DualNumber(xx, np.ones_like(xx)), DualNumber.of(zz), dual
        ).slope
        slope = in_s[:, :, None] * Z[None, :, :] + 2 * in_xx[:, :, None] * X[:, None, :]
        return np.where(zero[:, :, None], 0, slope)

    def gradient_log_params(self, X, Z):
        return {}


def _or_one(a: np.ndarray) -> np.ndarray:
    return np.where(a == 0, 1, a)


class Cosine(Angular):
    """x·z/(‖x‖‖z‖)

    Examples
    --------
    >>> Cosine()([[3.0, 4.0]], [[1.0, 0.0]])
    array([[0.6]])
    """

    def profile(self, s, xx, zz, xp):
        return s / (xp.sqrt(xx) * xp.sqrt(zz))  # xx·zz may leave the range of float32

    def separation(self, X, Z, pairs):
        apart = pairs.statistic(SquaredDistance(), X, Z)
        return of_normalised(apart, *pairs.diagonals(Linear(), X, Z))

    def diagonal(self, X):
        return (squared_norms(X) > 0).astype(X.dtype)

    def rule(self):
        return "cosine: the linear kernel, normalised"


class ArcCosine(Angular):
    """(1/π)‖x‖ⁿ‖z‖ⁿ J_n(θ): an infinitely wide one-layer network with steps (n=0) or ramps (n=1, 2).

    With θ the angle between x and z: J₀ = π−θ, J₁ = sin θ + (π−θ)cos θ,
    J₂ = 3 sin θ cos θ + (π−θ)(1+2cos²θ).

    Parameters
    ----------
    order : 0, 1 or 2

    Examples
    --------
    >>> ArcCosine(order=1)([[1.0, 0.0]], [[0.0, 1.0]]).round(4)
    array([[0.3183]])
    """

    def __init__(self, order=1):
        self.order = order

    def validate(self):
        if self.order not in (0, 1, 2):
            raise ValueError(f"ArcCosine: order must be 0, 1 or 2, got {self.order!r}")

    def profile(self, s, xx, zz, xp):
        length = xp.sqrt(xx) * xp.sqrt(zz)
        cosine = xp.clip(s / length, -1.0, 1.0)
        theta = xp.arccos(cosine)
        rest = theta * -1.0 + float(np.pi)
        if self.order == 0:
            return rest * float(1 / np.pi)
        sine = xp.sin(theta)
        if self.order == 1:
            return length * (sine + rest * cosine) * float(1 / np.pi)
        value = sine * cosine * 3.0 + rest * (cosine * cosine * 2.0 + 1.0)
        return int_power(length, 2) * value * float(1 / np.pi)

    def diagonal(self, X):
        # J_n(0) = π·(1, 1, 3).
        xx = squared_norms(X)
        return (xx > 0) * xx**self.order * (3 if self.order == 2 else 1)

    def rule(self):
        return "arc-cosine: an expectation of products of a feature with itself (a random network)"
