"""Losses with something that has a price: a level, a margin or a tube, which ν finds."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mercer.losses import EpsilonInsensitive, Hinge, Loss
from mercer.losses.base import Array, NoMargin, aligned, floating
from mercer.losses.dual import DualForm


def require_share(nu: Any) -> None:
    """Raise ValueError unless ν is a share."""
    if isinstance(nu, bool) or not isinstance(nu, numbers.Real) or not 0 < float(nu) <= 1:
        raise ValueError(f"nu must be a number between 0 (not included) and 1, got {nu!r}")


class Below(Loss):
    """V(s) = max(0, −s): what lies below the level costs."""

    smooth = False
    prices_offset = True

    def value(self, y: ArrayLike, s: ArrayLike) -> Array:
        return np.maximum(-floating(s), 0)

    def grad(self, y: ArrayLike, s: ArrayLike) -> Array:
        s = floating(s)
        return -(s < 0).astype(s.dtype)

    def dual(self, y: ArrayLike) -> DualForm:
        y = floating(y)
        return DualForm(np.zeros_like(y), np.zeros_like(y), np.ones_like(y))


class NuHinge(Hinge):
    """V(y, s) = max(0, ρ − y s) with the margin ρ to be found: its kink lies 1 − ρ further than the hinge's.

    Scores divided by ρ have the margin 1, and the hinge loss with ρ times the λ.
    """

    prices_kink = True
    divides_scores = True

    def settled(self, kink: float, doubt: float = 0.0) -> tuple[Loss, float]:
        margin = 1 - kink
        if not margin > doubt:
            raise NoMargin(self.no_margin(margin))
        return Hinge(), margin

    def no_margin(self, margin: float) -> str:
        """Why there is nothing to divide by."""
        return (
            "nu is too small for these classes: so few examples may be on the wrong side of the margin that "
            f"it vanishes (it is {margin:.1e}); take a larger nu, or a kernel that tells the classes apart"
        )


class HardMargin(NuHinge):
    """V(y, s) = 0 where y s ≥ ρ, else ∞: nobody may be on the wrong side."""

    def value(self, y: ArrayLike, s: ArrayLike) -> Array:
        y, s = aligned(y, s)
        return np.where(y * s < np.abs(y), np.inf, 0.0)

    def grad(self, y: ArrayLike, s: ArrayLike) -> Array:
        return np.where(self.value(y, s) > 0, -np.inf * np.sign(y), 0.0)

    def dual(self, y: ArrayLike) -> DualForm:
        y = floating(y)
        return DualForm(y, np.where(y < 0, -np.inf, 0.0), np.where(y > 0, np.inf, 0.0))

    def no_margin(self, margin: float) -> str:
        return (
            "no function of this kernel tells these classes apart: the convex hulls of their images meet, to "
            f"rounding (a margin of {margin:.1e} is left), so there is no hard margin; give a finite C "
            "(lam > 0), or another kernel"
        )


class NuTube(EpsilonInsensitive):
    """The ε-insensitive loss with ε to be found."""

    prices_kink = True

    def __init__(self):
        super().__init__(0.0)

    def settled(self, kink: float, doubt: float = 0.0) -> tuple[Loss, float]:
        return EpsilonInsensitive(max(float(kink), 0.0)), 1.0
