"""Losses of the residual, V(y, s) = ρ(y − s): for regression."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mercer._params import is_number
from mercer.losses.base import Array, ProfileLoss, floating
from mercer.losses.coding import LabelCoding
from mercer.losses.dual import DualForm


class ResidualLoss(ProfileLoss):
    """V(y, s) = φ(y − s)."""

    def argument(self, y: Array, s: Array) -> Array:
        return y - s

    def direction(self, y: Array) -> float:
        return -1.0


def _tube(y: ArrayLike, most: float, **shape: float) -> DualForm:
    """The dual form of a loss that is even in the residual: |a| ≤ most."""
    y = floating(y)
    bound = np.full_like(y, most)
    return DualForm(y, -bound, bound, **shape)


class Squared(ResidualLoss):
    """Least squares, V(y, s) = (y − s)².

    There is no factor 1/2, so the derivative is 2 (s − y) and kernel ridge solves (K + λ n I) c = y.
    It also classifies, by regression on ±1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Squared
    >>> y, s = np.array([[3.0]]), np.array([[1.0]])
    >>> Squared().value(y, s), Squared().grad(y, s)
    (array([[4.]]), array([[-4.]]))
    """

    quadratic = True
    curvature = 2.0

    def profile(self, r: Array) -> Array:
        return r * r

    def profile_grad(self, r: Array) -> Array:
        return 2 * r

    def profile_hess(self, r: Array) -> Array:
        return np.full_like(r, 2)

    def dual(self, y: ArrayLike) -> DualForm:
        return _tube(y, np.inf, curvature=0.5)

    def encode_labels(self, y: ArrayLike) -> tuple[Array, LabelCoding]:
        """Code labels as ±1: least squares is the one regression loss people classify with."""
        return LabelCoding.learn(self, y)


class Huber(ResidualLoss):
    """Squared near zero and linear beyond, so that outliers pull with bounded force.

    With r = y − s, V(y, s) = r² if |r| ≤ δ, and 2 δ |r| − δ² otherwise. Like `Squared` it has no
    factor 1/2: this is twice `scipy.special.huber`, and tends to `Squared` as δ grows.

    Parameters
    ----------
    delta : float, default=1.0
        δ > 0, the residual at which the square becomes a line.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Huber
    >>> Huber(delta=1.0).value(np.array([[0.5, 10.0]]), np.zeros((1, 2)))
    array([[ 0.25, 19.  ]])
    """

    curvature = 2.0

    def __init__(self, delta: float = 1.0):
        self.delta = delta

    def validate(self) -> None:
        if not (isinstance(self.delta, Real) and 0 < self.delta < np.inf):
            raise ValueError(
                f"Huber needs a positive number delta, got {self.delta!r}; "
                "take about the size of a residual that isn't an outlier, or use Absolute() for delta → 0."
            )

    def profile(self, r: Array) -> Array:
        # With c the residual clipped to [−δ, δ], both branches are c (2 r − c).
        c = np.clip(r, -float(self.delta), float(self.delta))
        return c * (2 * r - c)

    def profile_grad(self, r: Array) -> Array:
        return np.clip(2 * r, -2 * float(self.delta), 2 * float(self.delta))

    def profile_hess(self, r: Array) -> Array:
        return 2 * (np.abs(r) <= float(self.delta)).astype(r.dtype)

    def dual(self, y: ArrayLike) -> DualForm:
        self.validate()
        return _tube(y, 2 * float(self.delta), curvature=0.5)


class ScaledHuber(ResidualLoss):
    """Huber's loss of residuals in units of a scale σ, which is found together with f.

    With r = y − s, V(y, s) = σ H(r/σ), H(z) = z² if |z| ≤ ε and 2 ε |z| − ε² otherwise: `Huber` with δ = εσ,
    divided by σ. With ``scale=None`` what is minimised is

        σ + (1/n) Σ w_i σ H((y_i − f(x_i) − b)/σ) + λ‖f‖²

    over f, b and σ > 0, which is convex in all of them: Huber's proposal, as scikit-learn's HuberRegressor
    has it (with alpha = λn). So ε needs no units, and results don't change with those of y, if λ does. The
    machine's ``loss_.scale`` is the σ that was found; the certificate is that of f for this σ.

    Parameters
    ----------
    epsilon : float > 1, default=1.35
        Residuals beyond εσ count as outliers. At 1.35 estimates have 95 % of the efficiency of least squares
        where there are none, and errors are normal.
    scale : float > 0 or None, default=1.0
        σ, or one for each target; None: found at fit. Where f can pass through all targets, and λ is small
        enough to let it, nothing is left of σ.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor
    >>> from mercer.losses import ScaledHuber
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> y = 3 * X[:, 0] + 0.1 * np.cos(40 * X[:, 0]); y[5] = 50.0
    >>> machine = KernelRegressor("linear", ScaledHuber(scale=None), lam=1e-6).fit(X, y)
    >>> machine.coef_.round(1).tolist(), round(machine.loss_.scale, 2)
    ([3.0], 0.07)
    """

    def __init__(self, epsilon: float = 1.35, scale: Any = 1.0):
        self.epsilon = epsilon
        self.scale = scale

    def validate(self) -> None:
        if not (is_number(self.epsilon) and 1 < self.epsilon < np.inf):
            raise ValueError(
                f"ScaledHuber needs a number epsilon above 1, got {self.epsilon!r}: 1.35 is usual, and with "
                "1 or less every scale would be too large"
            )
        if self.scale is None:
            return
        try:
            scale = np.asarray(self.scale, dtype=np.float64)
        except (TypeError, ValueError):
            scale = np.array(np.nan)
        if scale.ndim > 1 or not ((scale > 0) & np.isfinite(scale)).all() or scale.size == 0:
            raise ValueError(
                f"ScaledHuber: scale must be positive, or None to be found at fit, got {self.scale!r}"
            )

    @property
    def unsettled(self) -> bool:  # type: ignore[override]
        return self.scale is None

    @property
    def alike(self) -> bool:  # type: ignore[override]
        return np.ndim(self.scale) == 0

    @property
    def curvature(self) -> float | None:  # type: ignore[override]
        return None if self.scale is None else float(2 / np.min(self.scale))

    def _sigma(self, like: Any) -> Any:
        """σ, one for all or one for each column."""
        if self.scale is None:
            raise ValueError("this loss has no scale yet: a machine finds it, and has it in loss_")
        return float(self.scale) if np.ndim(self.scale) == 0 else np.asarray(self.scale, like.dtype)

    def profile(self, r: Array) -> Array:
        sigma = self._sigma(r)
        most = float(self.epsilon) * sigma
        c = np.clip(r, -most, most)
        return c * (2 * r - c) / sigma

    def profile_grad(self, r: Array) -> Array:
        sigma, most = self._sigma(r), 2 * float(self.epsilon)
        return np.clip(2 * r / sigma, -most, most)

    def profile_hess(self, r: Array) -> Array:
        sigma = self._sigma(r)
        return 2 * (np.abs(r) <= float(self.epsilon) * sigma).astype(r.dtype) / sigma

    def dual(self, y: ArrayLike) -> DualForm:
        self.validate()
        y = floating(y)
        return _tube(y, 2 * float(self.epsilon), curvature=self._sigma(y) / 2)

    # -- the scale -----------------------------------------------------------------------------------

    def at(self, scale: Any) -> ScaledHuber:
        """The same with this scale."""
        return type(self)(self.epsilon, scale)

    def settled_as(self, losses: Sequence[ScaledHuber]) -> ScaledHuber:
        """The loss of outputs whose scales were found one by one."""
        scales = [loss.scale for loss in losses]
        return self.at(scales[0] if len(scales) == 1 else tuple(scales))

    def slope_in_scale(self, y: Array, s: Array, w: Array) -> float:
        """The derivative in σ of σ + (1/n) Σ w_i V(y_i, s_i), for one output; it rises with σ."""
        z = np.minimum(np.abs(y - s) / self._sigma(y), float(self.epsilon))
        return float(1 - (w @ np.square(z)).sum() / w.sum())

    def guessed(self, y: Array, w: Array) -> ScaledHuber:
        """With a scale from the median distance of targets from their median."""
        if self.scale is not None:
            return self
        y = y[w > 0]
        apart = np.abs(y - np.median(y, axis=0))
        typical = 1.4826 * np.median(apart, axis=0)
        scales = np.where(typical > 0, typical, np.where(apart.mean(axis=0) > 0, apart.mean(axis=0), 1.0))
        return self.at(float(scales[0]) if len(scales) == 1 else tuple(scales.tolist()))


class Absolute(ResidualLoss):
    """Absolute error, V(y, s) = |y − s|: its minimiser is a median.

    At y = s the subgradient returned is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Absolute
    >>> Absolute().value(np.zeros((1, 2)), np.array([[-2.0, 3.0]]))
    array([[2., 3.]])
    >>> Absolute().grad(np.zeros((1, 2)), np.array([[-2.0, 3.0]]))
    array([[-1.,  1.]])
    """

    smooth = False

    def profile(self, r: Array) -> Array:
        return np.abs(r)

    def profile_grad(self, r: Array) -> Array:
        return np.sign(r)  # 0 at 0

    def dual(self, y: ArrayLike) -> DualForm:
        return _tube(y, 1.0)


class EpsilonInsensitive(ResidualLoss):
    """Absolute error beyond a tube, V(y, s) = max(0, |y − s| − ε): the loss of support vector regression.

    Parameters
    ----------
    epsilon : float, default=0.1
        ε ≥ 0, the error that costs nothing. At |y − s| = ε the subgradient returned is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import EpsilonInsensitive
    >>> EpsilonInsensitive(epsilon=0.5).value(np.zeros((1, 3)), np.array([[-2.0, 0.25, 1.0]]))
    array([[1.5, 0. , 0.5]])
    """

    smooth = False

    def __init__(self, epsilon: float = 0.1):
        self.epsilon = epsilon

    def validate(self) -> None:
        if not (isinstance(self.epsilon, Real) and 0 <= self.epsilon < np.inf):
            raise ValueError(
                f"EpsilonInsensitive needs a number epsilon ≥ 0, got {self.epsilon!r}; "
                "take the error in y that doesn't matter, or 0 for the absolute error."
            )

    def profile(self, r: Array) -> Array:
        return np.maximum(np.abs(r) - float(self.epsilon), 0)

    def profile_grad(self, r: Array) -> Array:
        return np.sign(r) * (np.abs(r) > float(self.epsilon))

    def dual(self, y: ArrayLike) -> DualForm:
        self.validate()
        return _tube(y, 1.0, kink=float(self.epsilon))


class SquaredEpsilonInsensitive(ResidualLoss):
    """Squared error beyond a tube, V(y, s) = max(0, |y − s| − ε)²: as `LinearSVR` of liblinear may have it.

    Without kinks, so its solution is less sparse than that of `EpsilonInsensitive`; V'' is 2 outside of the
    tube and 0 inside. With ε = 0 it is `Squared`.

    Parameters
    ----------
    epsilon : float, default=0.1
        ε ≥ 0, the error that costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import SquaredEpsilonInsensitive
    >>> SquaredEpsilonInsensitive(epsilon=0.5).value(np.zeros((1, 3)), np.array([[-2.0, 0.25, 1.0]]))
    array([[2.25, 0.  , 0.25]])
    """

    curvature = 2.0

    def __init__(self, epsilon: float = 0.1):
        self.epsilon = epsilon

    def validate(self) -> None:
        if not (isinstance(self.epsilon, Real) and 0 <= self.epsilon < np.inf):
            raise ValueError(
                f"SquaredEpsilonInsensitive needs a number epsilon ≥ 0, got {self.epsilon!r}; "
                "take the error in y that doesn't matter, or Squared() for 0."
            )

    def profile(self, r: Array) -> Array:
        return np.maximum(np.abs(r) - float(self.epsilon), 0) ** 2

    def profile_grad(self, r: Array) -> Array:
        return 2 * np.sign(r) * np.maximum(np.abs(r) - float(self.epsilon), 0)

    def profile_hess(self, r: Array) -> Array:
        return 2 * (np.abs(r) > float(self.epsilon)).astype(r.dtype)

    def dual(self, y: ArrayLike) -> DualForm:
        self.validate()
        return _tube(y, np.inf, kink=float(self.epsilon), curvature=0.5)
