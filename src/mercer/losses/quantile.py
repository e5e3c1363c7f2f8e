"""The pinball loss: quantiles of y given x, one or several at once."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from mercer.codegen.symbols import Symbol
from mercer.losses.base import Array, floating
from mercer.losses.coding import TargetCoding, numbers
from mercer.losses.dual import DualForm
from mercer.losses.regression import ResidualLoss


class Quantile(ResidualLoss):
    """Pinball loss: its minimiser is the q-quantile of y given x.

    With r = y − s, V(y, s) = q r if r ≥ 0, and (q − 1) r otherwise. At r = 0 the subgradient
    returned is 0.

    Several levels at once are several functions on the same examples, one column of predictions each. Every
    one is fitted by itself, and predictions at a point are put in the order of their levels. So they never
    cross, and the pinball loss can only become less by it (Chernozhukov, Fernández-Val and Galichon, 2010).

    Parameters
    ----------
    q : float or sequence of floats, default=0.5
        The levels, 0 < q < 1, all different. At 0.5 this is half the absolute error.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Quantile
    >>> Quantile(q=0.75).value(np.array([[1.0, -1.0]]), np.zeros((1, 2)))
    array([[0.75, 0.25]])
    >>> Quantile([0.1, 0.9]).link([[3.0, 2.0]])
    array([[2., 3.]])
    """

    smooth = False

    def __init__(self, q: float | Sequence[float] = 0.5):
        self.q = q

    @property
    def several(self) -> bool:
        """Were the levels given as a sequence?"""
        return not isinstance(self.q, Real)

    @property
    def alike(self) -> bool:  # type: ignore[override]
        return len(self.levels) == 1

    @property
    def levels(self) -> Array:
        """The levels, shape (t,)."""
        return np.atleast_1d(np.asarray(self.q, dtype=np.float64))

    def validate(self) -> None:
        try:
            q = self.levels
        except (TypeError, ValueError):
            q = np.array([np.nan])
        if q.ndim != 1 or q.size == 0 or not ((q > 0) & (q < 1)).all():
            raise ValueError(
                f"Quantile needs a level q strictly between 0 and 1, or several, got {self.q!r}; "
                "0.9 bounds nine tenths of the targets from above."
            )
        if len(np.unique(q)) < len(q):
            raise ValueError(f"Quantile: the levels must differ from each other, got {self.q!r}")

    def _q(self, like: Array) -> Array:
        """The levels, one for each column."""
        q = self.levels
        if len(q) > 1 and not isinstance(like, Symbol) and like.shape[-1] != len(q):
            raise ValueError(
                f"there are {len(q)} levels, so targets and scores need as many columns, got {like.shape}"
            )
        return q.astype(like.dtype)

    def profile(self, r: Array) -> Array:
        q = self._q(r)
        return np.maximum(q * r, (q - 1) * r)

    def profile_grad(self, r: Array) -> Array:
        q = self._q(r)
        return q * (r > 0) + (q - 1) * (r < 0)

    def dual(self, y: ArrayLike) -> DualForm:
        self.validate()
        y = floating(y)
        q = self._q(y)
        return DualForm(y, np.broadcast_to(q - 1, y.shape), np.broadcast_to(q, y.shape))

    def encode_targets(self, y: ArrayLike) -> tuple[Array, TargetCoding]:
        """Numbers to targets (n, t): with several levels, one column for each."""
        if not self.several:
            return super().encode_targets(y)
        self.validate()
        y = numbers(y)
        if y.ndim == 2 and y.shape[1] != 1:
            raise ValueError(f"several quantiles need one target an example, but y has shape {y.shape}")
        t = len(self.levels)
        return np.repeat(y.reshape(-1, 1), t, axis=1), TargetCoding(self, False, t)

    def link(self, s: ArrayLike) -> Array:
        """Scores, in the order of their levels."""
        s = floating(s)
        q = self.levels
        if len(q) == 1:
            return s
        out = np.empty_like(s)
        out[:, np.argsort(q)] = np.sort(s, axis=1)
        return out
