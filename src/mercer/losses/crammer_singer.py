"""The hinge loss that scores all classes of an example together."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mercer.losses.base import Array, Loss, aligned


class CrammerSinger(Loss):
    """Hinge loss for k classes, V(y, s) = max(0, 1 + max over l ≠ y of s_l − s_y).

    y is the class as a row of zeros with a one in it. The own class must be ahead of every other by 1; what
    the best of the others lacks of that is the loss. (`KernelSVC` asks pairs of classes, or one against
    the rest, each by itself.) It is the maximum over shares p ≥ 0, Σp = 1, of Σ_l p_l (s_l + 1 − y_l) − s_y,
    so that its slopes are p − y. With two classes it is `Hinge` of s₁ − s₀.

    At a kink the subgradient returned is the shortest one.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import CrammerSinger
    >>> y, s = np.array([[0.0, 1.0, 0.0]]), np.array([[0.0, 2.0, 1.5]])
    >>> CrammerSinger().value(y, s), CrammerSinger().grad(y, s)
    (array([0.5]), array([[ 0., -1.,  1.]]))
    """

    smooth = False
    classification = True
    joint = True
    simplex = True
    refusal_hint = "leave out solver=, which finds one for it, or use Multinomial()"

    def value(self, y: ArrayLike, s: ArrayLike) -> Array:
        y, s = _rows(y, s)
        return (s - (y * s).sum(axis=1, keepdims=True) + (1 - y)).max(axis=1)

    def grad(self, y: ArrayLike, s: ArrayLike) -> Array:
        y, s = _rows(y, s)
        wanted = s - (y * s).sum(axis=1, keepdims=True) + (1 - y)
        best = wanted == wanted.max(axis=1, keepdims=True)
        own = (best & (y == 1)).any(axis=1, keepdims=True)
        shares = best / best.sum(axis=1, keepdims=True).astype(s.dtype)
        return np.where(own, 0, shares - y).astype(s.dtype, copy=False)

    def conjugate(self, y: ArrayLike, u: ArrayLike) -> Array:
        """Return −Σ_l p_l (1 − y_l) with p = u + y, shape (n,); +inf where p is no row of shares.

        Membership is judged up to √eps, as for `Multinomial`.
        """
        y, u = _rows(y, u)
        p = u + y
        tolerance = np.sqrt(np.finfo(p.dtype).eps)
        inside = (p.min(axis=1) >= -tolerance) & (np.abs(p.sum(axis=1) - 1) <= tolerance)
        return np.where(inside, -(p * (1 - y)).sum(axis=1), np.inf)


def _rows(y: ArrayLike, s: ArrayLike) -> tuple[Array, Array]:
    y, s = aligned(y, s)
    if s.ndim != 2 or y.ndim != 2:
        raise ValueError(f"CrammerSinger needs y and scores of shape (n, k), got {y.shape} and {s.shape}.")
    return y, s
