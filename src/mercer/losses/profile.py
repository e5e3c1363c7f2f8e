"""Losses of one variable: the margin y s, or the residual y − s."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from numpy.typing import ArrayLike

from mercer.losses.base import Array, Loss, aligned


class ProfileLoss(Loss):
    """V(y, s) = φ(m), where m falls or grows with s at slope ±1; a subclass gives φ and its derivatives."""

    @abstractmethod
    def argument(self, y: Array, s: Array) -> Array:
        """Return m."""

    @abstractmethod
    def direction(self, y: Array) -> Any:
        """Return dm/ds, which is 1 or −1."""

    @abstractmethod
    def profile(self, m: Array) -> Array:
        """Return φ(m)."""

    @abstractmethod
    def profile_grad(self, m: Array) -> Array:
        """Return φ'(m), or a subgradient."""

    def profile_hess(self, m: Array) -> Array:
        """Return φ''(m)."""
        return super().hess(m, m)  # which says that there is none

    def value(self, y: ArrayLike, s: ArrayLike) -> Array:
        return self.profile(self.argument(*self._given(y, s)))

    def grad(self, y: ArrayLike, s: ArrayLike) -> Array:
        y, s = self._given(y, s)
        return self.direction(y) * self.profile_grad(self.argument(y, s))

    def hess(self, y: ArrayLike, s: ArrayLike) -> Array:
        return self.profile_hess(self.argument(*self._given(y, s)))

    def _given(self, y: ArrayLike, s: ArrayLike) -> tuple[Array, Array]:
        self.validate()
        return aligned(y, s)
