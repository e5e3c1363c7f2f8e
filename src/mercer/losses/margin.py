"""Losses of the margin, V(y, s) = φ(y s) with y = ±1: for classification."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr

from mercer.losses.base import Array, ProfileLoss, aligned, exp, expit, floating
from mercer.losses.dual import DualForm


class MarginLoss(ProfileLoss):
    """V(y, s) = φ(y s) for y = ±1."""

    classification = True

    def argument(self, y: Array, s: Array) -> Array:
        return y * s

    def direction(self, y: Array) -> Array:
        return y


class Logistic(MarginLoss):
    """Logistic loss, V(y, s) = log(1 + exp(−y s)), y = ±1.

    θ(s) = 1 / (1 + exp(−s)) is then the probability of y = +1 (one of the texts behind this library
    has it the other way round).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Logistic
    >>> Logistic().value(np.array([[1.0, -1.0]]), np.array([[1e4, 1e4]]))
    array([[    0., 10000.]])
    >>> Logistic().probability(np.array([[0.0]]))
    array([[0.5]])
    """

    curvature = 0.25
    has_probability = True

    def profile(self, m: Array) -> Array:
        return np.logaddexp(0, -m)  # never forms the exponential of a large number

    def profile_grad(self, m: Array) -> Array:
        return -expit(-m)

    def profile_hess(self, m: Array) -> Array:
        return expit(m) * expit(-m)

    def conjugate(self, y: ArrayLike, u: ArrayLike) -> Array:
        # entr(a) = −a log a is −inf below 0, which gives the domain −1 ≤ y u ≤ 0.
        y, u = aligned(y, u)
        return -entr(-y * u) - entr(1 + y * u)

    def probability(self, s: ArrayLike) -> Array:
        return expit(floating(s))


class Hinge(MarginLoss):
    """Hinge loss of the support vector machine, V(y, s) = max(0, 1 − y s), y = ±1.

    At y s = 1 the subgradient returned is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Hinge
    >>> Hinge().value(np.array([[1.0, -1.0]]), np.array([[0.25, 0.25]]))
    array([[0.75, 1.25]])
    """

    smooth = False

    def profile(self, m: Array) -> Array:
        return np.maximum(1 - m, 0)

    def profile_grad(self, m: Array) -> Array:
        return -(m < 1).astype(m.dtype)

    def dual(self, y: ArrayLike) -> DualForm:
        y = floating(y)
        return DualForm(y, np.minimum(y, 0), np.maximum(y, 0))


class SquaredHinge(MarginLoss):
    """Squared hinge loss, V(y, s) = max(0, 1 − y s)², y = ±1.

    V'' is 2 for y s < 1 and 0 from y s = 1 on.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import SquaredHinge
    >>> SquaredHinge().value(np.array([[1.0, -1.0]]), np.array([[0.5, 0.5]]))
    array([[0.25, 2.25]])
    """

    curvature = 2.0

    def profile(self, m: Array) -> Array:
        return np.maximum(1 - m, 0) ** 2

    def profile_grad(self, m: Array) -> Array:
        return -2 * np.maximum(1 - m, 0)

    def profile_hess(self, m: Array) -> Array:
        return 2 * (m < 1).astype(m.dtype)

    def dual(self, y: ArrayLike) -> DualForm:
        y = floating(y)
        far = np.full_like(y, np.inf)
        return DualForm(y, np.where(y > 0, 0, -far), np.where(y > 0, far, 0), curvature=0.5)


class ModifiedHuber(MarginLoss):
    """Huber's loss for labels, V(y, s) = max(0, 1 − y s)² as far as y s ≥ −1, and −4 y s beyond, y = ±1.

    The squared hinge loss, but for examples that are far on the wrong side: there it is a line, so one wrong
    label counts no more than 4 for each unit of s. The best score is 2p − 1 if p is the probability of
    y = +1, so P(y = +1) = (1 + s)/2, held to [0, 1].

    References
    ----------
    T. Zhang, Solving large scale linear prediction problems using stochastic gradient descent algorithms,
    2004.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import ModifiedHuber
    >>> ModifiedHuber().value(np.array([[1.0, -1.0, 1.0]]), np.array([[0.5, 0.5, -3.0]]))
    array([[ 0.25,  2.25, 12.  ]])
    >>> ModifiedHuber().probability(np.array([[-2.0, 0.0, 0.5]]))
    array([[0.  , 0.5 , 0.75]])
    """

    curvature = 2.0
    has_probability = True

    def profile(self, m: Array) -> Array:
        return np.where(m >= -1, np.maximum(1 - m, 0) ** 2, -4 * m)

    def profile_grad(self, m: Array) -> Array:
        return -2 * np.minimum(np.maximum(1 - m, 0), 2)

    def profile_hess(self, m: Array) -> Array:
        return 2 * ((m < 1) & (m >= -1)).astype(m.dtype)

    def dual(self, y: ArrayLike) -> DualForm:
        y = floating(y)
        return DualForm(y, np.minimum(4 * y, 0), np.maximum(4 * y, 0), curvature=0.5)

    def probability(self, s: ArrayLike) -> Array:
        return (np.clip(floating(s), -1, 1) + 1) / 2


class Exponential(MarginLoss):
    """Exponential loss of boosting, V(y, s) = exp(−y s), y = ±1.

    Its best score is half the log-odds, so P(y = +1) = 1 / (1 + exp(−2 s)). Where exp(−y s) is too
    large for a float the loss is +inf.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Exponential
    >>> Exponential().value(np.array([[1.0, -1.0]]), np.zeros((1, 2)))
    array([[1., 1.]])
    """

    has_probability = True

    def profile(self, m: Array) -> Array:
        return exp(-m)

    def profile_grad(self, m: Array) -> Array:
        return -exp(-m)

    def profile_hess(self, m: Array) -> Array:
        return exp(-m)

    def conjugate(self, y: ArrayLike, u: ArrayLike) -> Array:
        y, u = aligned(y, u)
        return y * u - entr(-y * u)

    def probability(self, s: ArrayLike) -> Array:
        return expit(2 * floating(s))
