"""Losses for counts: how many, how often."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr

from mercer.losses.base import Array, Loss, aligned, exp, floating


class Poisson(Loss):
    """Poisson loss, V(y, s) = exp(s) − y s, y ≥ 0: the score is the logarithm of the expected count.

    `predict` returns exp(s). This is the negative log-likelihood without log y!, which doesn't depend
    on s. Where exp(s) is too large for a float the loss is +inf.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Poisson
    >>> s = np.log([[2.0, 3.0]])
    >>> Poisson().link(s)
    array([[2., 3.]])
    >>> bool(np.allclose(Poisson().grad([[2.0, 1.0]], s), [[0.0, 2.0]]))
    True
    """

    def check_targets(self, y: Array) -> None:
        if np.any(y < 0):
            raise ValueError(
                f"Poisson needs targets y ≥ 0, but the smallest is {y.min():g}; "
                "use Squared() if y can be negative."
            )

    def value(self, y: ArrayLike, s: ArrayLike) -> Array:
        y, s = aligned(y, s)
        return exp(s) - y * s

    def grad(self, y: ArrayLike, s: ArrayLike) -> Array:
        y, s = aligned(y, s)
        return exp(s) - y

    def hess(self, y: ArrayLike, s: ArrayLike) -> Array:
        y, s = aligned(y, s)
        return exp(s)

    def conjugate(self, y: ArrayLike, u: ArrayLike) -> Array:
        y, u = aligned(y, u)
        # entr(a) = −a log a is −inf below 0, which gives the domain u ≥ −y.
        return -entr(u + y) - (u + y)

    def link(self, s: ArrayLike) -> Array:
        return exp(floating(s))
