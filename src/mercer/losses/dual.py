"""Losses that are the upper envelope of lines or parabolas: what their dual problem looks like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mercer.losses.base import Loss, aligned

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class DualForm:
    """V(y, s) = max over lower ≤ a ≤ upper of a (centre − s) − kink |a| − ½ curvature a².

    One example after the other, the maximising a is −V'(y, s): by the representer theorem the coefficient
    of that example is C a with C = w/(2λn). So `lower` and `upper` make the box of the dual problem,
    `centre` its linear term; 0 lies in the box. The hinge loss has centre y and a between 0 and y, the
    absolute error has centre y and |a| ≤ 1, the squared one no bounds and curvature ½.

    Attributes
    ----------
    centre, lower, upper : arrays of the shape of y
    kink, curvature : numbers ≥ 0

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import EpsilonInsensitive
    >>> form = EpsilonInsensitive(epsilon=0.5).dual(np.array([[2.0]]))
    >>> form.value(np.array([[0.0]])), form.maximiser(np.array([[0.0]]))
    (array([[1.5]]), array([[1.]]))
    """

    centre: Array
    lower: Array
    upper: Array
    kink: float = 0.0
    curvature: float = 0.0

    def slope(self, r: Array, smoothing: Any = 0.0) -> Array:
        """The a of the maximum at residuals r = centre − s, with ½ smoothing a² taken off as well.

        Of several the smallest. Smoothing may be one number, or one for each output.
        """
        if self.kink:
            r = r - np.clip(r, -self.kink, self.kink)
        bend = self.curvature + smoothing
        if np.all(bend > 0):
            return np.clip(r / bend, self.lower, self.upper)
        return np.where(r > 0, self.upper, np.where(r < 0, self.lower, 0.0))

    def inside(self, r: Array, a: Array) -> Array:
        """Where the maximum is at no bound and at no kink, and so has curvature."""
        inside = (a > self.lower) & (a < self.upper)
        return inside & (np.abs(r) > self.kink) if self.kink else inside

    def maximiser(self, s: Array, smoothing: Any = 0.0) -> Array:
        """The a of the maximum at scores s."""
        return self.slope(self.centre - s, smoothing)

    def value(self, s: Array, smoothing: Any = 0.0) -> Array:
        """V(y, s), or with smoothing that much less than it at most: ½ smoothing max a²."""
        r = self.centre - s
        a = self.slope(r, smoothing)
        value = a * (r - 0.5 * (self.curvature + smoothing) * a)
        return value - self.kink * np.abs(a) if self.kink else value

    def rows(self, rows: Any) -> DualForm:
        """That of some examples."""
        return DualForm(self.centre[rows], self.lower[rows], self.upper[rows], self.kink, self.curvature)

    def conjugate(self, a: Array) -> Array:
        """V*(y, −a) for a in the box."""
        return -a * self.centre + self.kink * np.abs(a) + 0.5 * self.curvature * a * a


class Smoothed(Loss):
    """A loss with kinks, its kinks rounded off: max over a of … − ½ μ a² (Moreau's envelope).

    It lies below the loss, by no more than ½ μ max a², and its second derivative is 1/μ where it is not 0.

    Parameters
    ----------
    loss : Loss with a dual form
    mu : float > 0

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Absolute
    >>> Smoothed(Absolute(), mu=0.5).value(np.zeros((1, 2)), np.array([[0.25, 4.0]]))
    array([[0.0625, 3.75  ]])
    """

    def __init__(self, loss: Loss, mu: Any):
        self.loss = loss
        self.mu = mu

    @property
    def classification(self) -> bool:  # type: ignore[override]
        return self.loss.classification

    @property
    def curvature(self) -> float:  # type: ignore[override]
        return 1 / self.mu

    def given(self, y: ArrayLike, s: ArrayLike) -> tuple[DualForm, Array]:
        """The dual form of the loss for these targets, and the scores."""
        y, s = aligned(y, s)
        return self.loss.dual(y), s

    def value(self, y: ArrayLike, s: ArrayLike) -> Array:
        form, s = self.given(y, s)
        return form.value(s, self.mu)

    def grad(self, y: ArrayLike, s: ArrayLike) -> Array:
        form, s = self.given(y, s)
        return -form.maximiser(s, self.mu)

    def hess(self, y: ArrayLike, s: ArrayLike) -> Array:
        form, s = self.given(y, s)
        r = form.centre - s
        a = form.slope(r, self.mu)
        return (form.inside(r, a) / (form.curvature + self.mu)).astype(a.dtype, copy=False)
