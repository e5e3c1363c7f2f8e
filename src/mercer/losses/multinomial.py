"""The loss that scores all classes of an example together."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr

from mercer.losses.base import Array, HessianRoot, Loss, aligned, exp, floating


class Multinomial(Loss):
    """Logistic loss for k classes, V(y, s) = log Σ_l exp(s_l) − Σ_l y_l s_l.

    y is the class as a row of zeros with a one in it (any row of weights that sums to one will do).
    The probability of class l is exp(s_l) / Σ_m exp(s_m), with a plus sign in the exponent (one of
    the texts behind this library has a minus). V, p and all derivatives are computed after taking
    the largest score off the others, so scores of any size are safe. With two classes it is
    `Logistic` of s₁ − s₀.

    `hess` is the diagonal p (1 − p) of the Hessian diag(p) − p pᵀ, whose largest eigenvalue is at
    most 1/2: that is `curvature`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Multinomial
    >>> y, s = np.array([[0.0, 1.0]]), np.array([[1e4, 1e4]])
    >>> Multinomial().probability(s)
    array([[0.5, 0.5]])
    >>> Multinomial().grad(y, s)
    array([[ 0.5, -0.5]])
    """

    classification = True
    joint = True
    curvature = 0.5
    has_probability = True

    def value(self, y: ArrayLike, s: ArrayLike) -> Array:
        y, s = _rows(y, s)
        best = s.argmax(axis=1)[:, np.newaxis]
        shifted = s - np.take_along_axis(s, best, axis=1)
        others = exp(shifted)
        # The best class adds exactly 1 to the sum; log1p of the rest keeps small losses accurate.
        np.put_along_axis(others, best, 0, axis=1)
        return np.log1p(others.sum(axis=1)) - (y * shifted).sum(axis=1)

    def grad(self, y: ArrayLike, s: ArrayLike) -> Array:
        y, s = _rows(y, s)
        return self.probability(s) - y

    def hess(self, y: ArrayLike, s: ArrayLike) -> Array:
        y, s = _rows(y, s)
        p = self.probability(s)
        return p * (1 - p)

    def hess_root(self, y: ArrayLike, s: ArrayLike) -> HessianRoot:
        """Return R = diag(√p) − p √pᵀ: then R Rᵀ = diag(p) − p pᵀ, because p sums to one."""
        y, s = _rows(y, s)
        p = self.probability(s)
        root = np.sqrt(p)

        def apply(v: Array) -> Array:
            v = root * v
            return v - p * v.sum(axis=1, keepdims=True)

        def adjoint(v: Array) -> Array:
            return root * (v - (p * v).sum(axis=1, keepdims=True))

        return HessianRoot(apply, adjoint, root * (1 - p))

    def conjugate(self, y: ArrayLike, u: ArrayLike) -> Array:
        """Return Σ_l a_l log a_l with a = u + y, shape (n,); +inf where a is no row of probabilities.

        Membership is judged up to √eps, since in floating point few rows sum to one exactly.
        """
        y, u = _rows(y, u)
        a = u + y
        tolerance = np.sqrt(np.finfo(a.dtype).eps)
        inside = (a.min(axis=1) >= -tolerance) & (np.abs(a.sum(axis=1) - 1) <= tolerance)
        return np.where(inside, -entr(np.maximum(a, 0)).sum(axis=1), np.inf)

    def probability(self, s: ArrayLike) -> Array:
        s = floating(s)
        e = exp(s - s.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)


def _rows(y: ArrayLike, s: ArrayLike) -> tuple[Array, Array]:
    y, s = aligned(y, s)
    if s.ndim != 2 or y.ndim != 2:
        raise ValueError(f"Multinomial needs y and scores of shape (n, k), got {y.shape} and {s.shape}.")
    return y, s
