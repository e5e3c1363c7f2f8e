"""A loss of your own: V(y, s) as a Python function, its derivatives given or found."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mercer.losses.base import Array, Loss, aligned, floating
from mercer.losses.coding import LabelCoding, TargetCoding
from mercer.losses.derivatives import by_torch, differences, scale_of

_EPS = float(np.finfo(np.float64).eps)
# Scores on which the way to derivatives is tried.
_TRIAL = np.array([-1.7, -0.6, 0.2, 0.9, 1.9])
# A change that survives so many halvings of its interval is a jump.
_HALVINGS = 30


class FunctionLoss(Loss):
    """A loss V(y, s) given by a Python function of arrays.

    Derivatives that are not given are found: by torch where it is installed and the function takes its
    tensors, else from differences in float64, to about 1e-12 of V for V' and 1e-9 for V''.

    Parameters
    ----------
    function : callable
        function(y, s) → V, for arrays y and s of one shape, entry by entry.
    gradient, hessian : callable, optional
        V' and V'', derivatives in s, of the same form. From a gradient without a hessian the latter is
        found by differences.
    classification : bool
        y are labels, coded ±1; more than two classes are done one against the rest.
    convex : bool
        V is convex in s. False: solvers start from several functions, keep the best stationary point they
        reach, and promise no more.

    Attributes
    ----------
    derivatives : str
        "given", "torch" or "numeric"; both where V' and V'' differ in that, as in "given, numeric".

    Notes
    -----
    When a machine meets its targets the loss is tried on a sample of them: V must have the right shape,
    be finite at s = 0 and have no jumps; it must be convex unless ``convex=False``; derivatives that were
    given must be those of V. The coding has the loss as it was found to be there: a kink makes it not
    ``smooth``, and solvers that need V' refuse it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor
    >>> from mercer.losses import FunctionLoss
    >>> def log_cosh(y, s):
    ...     return np.logaddexp(s - y, y - s) - np.log(2)
    >>> loss = FunctionLoss(log_cosh)
    >>> loss.grad([[1.0]], [[3.0]]).round(8), np.tanh(2.0).round(8)
    (array([[0.96402758]]), np.float64(0.96402758))
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> KernelRegressor(loss=loss).fit(X, X[:, 0]).solution_.status
    'converged'
    """

    # (function, "numpy" or "torch" for the arrays it takes, how derivatives are found): tried once.
    _way: tuple[Any, str, str] | None = None

    def __init__(self, function, gradient=None, hessian=None, *, classification=False, convex=True):
        self.function = function
        self.gradient = gradient
        self.hessian = hessian
        self.classification = classification
        self.convex = convex

    def __getstate__(self) -> dict[str, Any]:
        # What was found here (torch, say) need not be so where the loss is unpickled.
        return {k: v for k, v in self.__dict__.items() if k != "_way"}

    def validate(self) -> None:
        if not callable(self.function):
            raise TypeError(f"FunctionLoss: function must be callable, got {self.function!r}")
        for name, given in (("gradient", self.gradient), ("hessian", self.hessian)):
            if given is not None and not callable(given):
                raise TypeError(f"FunctionLoss: {name} must be callable or None, got {given!r}")

    @property
    def derivatives(self) -> str:
        some = np.array([1.0, -1.0 if self.classification else 2.0])
        found = "numeric" if self.gradient is not None else self._found(some)[1]
        first, second = ("given" if g is not None else found for g in (self.gradient, self.hessian))
        return first if first == second else f"{first}, {second}"

    # -- the function of the scores ---------------------------------------------------------------

    def value(self, y: ArrayLike, s: ArrayLike) -> Array:
        y, s, dtype = self._arrays(y, s)
        return self._call(self.function, y, s).astype(dtype, copy=False)

    def grad(self, y: ArrayLike, s: ArrayLike) -> Array:
        y, s, dtype = self._arrays(y, s)
        return self._grad(y, s).astype(dtype, copy=False)

    def hess(self, y: ArrayLike, s: ArrayLike) -> Array:
        y, s, dtype = self._arrays(y, s)
        if self.hessian is not None:
            return self._call(self.hessian, y, s).astype(dtype, copy=False)
        if self.gradient is not None:
            return differences(self._at(self.gradient, y), s, scale_of(y, s)).astype(dtype, copy=False)
        return self._derivative(y, s, 2).astype(dtype, copy=False)

    def _grad(self, y: Array, s: Array) -> Array:
        return self._derivative(y, s, 1) if self.gradient is None else self._call(self.gradient, y, s)

    def _arrays(self, y: ArrayLike, s: ArrayLike) -> tuple[Array, Array, np.dtype]:
        """y and s in float64 and of one shape, not to be written to; and the dtype of s."""
        self.validate()
        s = floating(s)
        y, wide = aligned(y, s.astype(np.float64))
        y, wide = np.broadcast_to(y, wide.shape), wide.view()
        wide.flags.writeable = False
        return y, wide, s.dtype

    def _at(self, function: Callable, y: Array) -> Callable[[Array], Array]:
        return lambda s: self._call(function, y, s)

    def _call(self, function: Callable, y: Array, s: Array) -> Array:
        """V (or a derivative that was given) as float64, whichever kind of array it takes."""
        return self._called(function, y, s, self._found(y)[0])

    def _called(self, function: Callable, y: Array, s: Array, takes: str) -> Array:
        if takes == "torch":
            import torch

            with torch.no_grad():
                result = function(*(torch.tensor(a, device="cpu") for a in (y, s))).numpy()
        else:
            # Overflow is no accident here: a line search steps back from inf.
            with np.errstate(all="ignore"):
                result = function(y, s)
        if np.iscomplexobj(result):
            raise ValueError(f"{self!r}: returned complex numbers; a loss is real")
        result = np.asarray(result, dtype=np.float64)
        if result.shape != s.shape:
            name = getattr(function, "__qualname__", repr(function))
            raise ValueError(
                f"{self!r}: {name} returned shape {result.shape} for arrays of shape {s.shape}; it must work "
                "entry by entry, without sums or means"
            )
        return result

    # -- derivatives that are not given -----------------------------------------------------------

    def _found(self, y: Array) -> tuple[str, str]:
        """(the arrays V takes, the way to its derivatives), tried once for each function."""
        if self._way is None or self._way[0] is not self.function:
            self.validate()
            some = np.unique(y)[:4] if y.size else np.ones(1)
            y, s = (a.ravel()[:, None] for a in np.meshgrid(some, _TRIAL))
            self._way = (self.function, *self._try(y, s))
        return self._way[1:]

    def _try(self, y: Array, s: Array) -> tuple[str, str]:
        installed = importlib.util.find_spec("torch") is not None
        troubles = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for takes in ("numpy", "torch") if installed else ("numpy",):
                try:
                    self._called(self.function, y, s, takes)
                    break
                except Exception as error:  # theirs, whatever it is; perhaps the function is one of tensors
                    troubles.append(error)
            else:
                raise self._told(troubles[0], s)
            if self.gradient is not None or not installed:
                return takes, "numeric"
            try:
                slopes, _ = (by_torch(self.function, y, s, order) for order in (1, 2))
            except Exception:
                return takes, "numeric"
        # A function may take tensors and lose their derivatives on the way.
        quotients = differences(lambda at: self._called(self.function, y, at, takes), s, scale_of(y, s))
        with np.errstate(all="ignore"):
            size = np.abs(quotients)
            wrong = np.abs(slopes - quotients) > 1e-5 * size + 1e-8 * np.nanmax(size, initial=0)
        return takes, "numeric" if wrong.any() else "torch"

    def _told(self, error: Exception, s: Array) -> Exception:
        """What a function not made for arrays should be like; other errors, and our own, as they are."""
        if not isinstance(error, TypeError | ValueError) or str(error).startswith(f"{self!r}:"):
            return error
        told = type(error)(
            f"{self!r} failed on arrays of shape {s.shape}: {error}. It is given arrays y and s and must "
            "work entry by entry: np.exp in the place of math.exp, np.where of if."
        )
        told.__cause__ = error
        return told

    def _derivative(self, y: Array, s: Array, order: int) -> Array:
        """V' or V''."""
        if self._found(y)[1] == "numeric":
            return differences(self._at(self.function, y), s, scale_of(y, s), order)
        result = by_torch(self.function, y, s, order)
        # torch's rules give NaN where a formula is singular though V is not.
        lost = ~np.isfinite(result)
        if lost.any():
            y, s = y[lost], s[lost]
            result[lost] = differences(self._at(self.function, y), s, scale_of(y, s), order)
        return result

    # -- the loss meets its targets ---------------------------------------------------------------

    def encode_labels(self, y: ArrayLike) -> tuple[Array, LabelCoding]:
        """Code labels as ±1, and try the loss on them."""
        if not self.classification:
            raise ValueError(
                f"{self!r} is a loss for numbers, not for labels; FunctionLoss(…, classification=True) "
                "says that V takes y = ±1."
            )
        targets, coding = super().encode_labels(y)
        return targets, replace(coding, loss=self.examined(targets))

    def encode_targets(self, y: ArrayLike) -> tuple[Array, TargetCoding]:
        """Turn numbers into targets, and try the loss on them."""
        targets, coding = super().encode_targets(y)
        return targets, replace(coding, loss=self.examined(targets))

    def examined(self, targets: Array) -> FunctionLoss:
        """This loss with what is found out about it there. ValueError if it is none that can be minimised."""
        y, zero, _ = self._arrays(targets, np.zeros(targets.shape))
        V = self._call(self.function, y, zero)
        if (bad := ~np.isfinite(V)).any():
            raise ValueError(
                f"{self!r}: V is {V[bad][0]} at y = {y[bad][0]:g}, s = 0, where solvers start; it must be "
                "finite there."
            )
        grids = [self._arrays(*grid)[:2] for grid in _grids(y)]
        sizes = [_nearby(self._call(self.function, *grid)) for grid in grids]
        out = copy(self)
        kinks = [self._kink(*grid, size) for grid, size in zip(grids, sizes, strict=True)]
        hint = next((kink for kink in reversed(kinks) if kink), None)
        out.smooth, out.refusal_hint = hint is None, hint or Loss.refusal_hint
        for check in (self._check_convex, out._check_derivatives):
            for grid, size in zip(grids, sizes, strict=True):
                check(*grid, size)
        return out

    def _kink(self, y: Array, s: Array, size: Array) -> str | None:
        """Refuse jumps of V; what to say of a jump of its slope."""
        y, size, a, b = y[:, 1:], size[:, 1:], s[:, :-1], s[:, 1:]
        f, h = self._at(self.function, y), (b - a) * 2.0**-_HALVINGS
        found = _sharpest(lambda a, b: f(b) - f(a), a, b, 1e-9 * size)
        if found is not None:
            i, at, jump = found
            raise ValueError(
                f"{self!r}: V jumps by {jump:g} at s = {at:g} (y = {y[i]:g}); no solver can minimise that. "
                "Take a continuous function in its place, as Logistic() is for the number of errors."
            )

        def bend(a, b):
            return (f(b + h) - f(b)) / h - (f(a) - f(a - h)) / h

        found = _sharpest(bend, a, b, 1e-5 * size / (b - a))
        if found is None:
            return None
        i, at, jump = found
        return (
            f"V has a kink at s = {at:g} (y = {y[i]:g}), where its slope jumps by {jump:g}; round it "
            "off, as Huber() does for Absolute() and SquaredHinge() for Hinge()"
        )

    def _check_convex(self, y: Array, s: Array, size: Array) -> None:
        V = self._call(self.function, y, s)
        for k in (1, 2, 5, 10, 20) if self.convex else ():
            a, middle, b = V[:, : -2 * k], V[:, k:-k], V[:, 2 * k :]
            # Half of each: the sum of two large numbers may be too large for a float.
            chord = a / 2 + b / 2
            with np.errstate(invalid="ignore"):
                limit = 1e-9 * (np.abs(a) + np.abs(b) + np.abs(middle)) + 1e-13 * size[:, k:-k]
                above = np.where(np.isfinite(chord) & np.isfinite(middle), middle - chord - limit, -1)
            i, j = np.unravel_index(above.argmax(), above.shape)
            if above[i, j] > 0:
                raise ValueError(
                    f"{self!r} is not convex in s: for y = {y[i, 0]:g}, V at s = {s[i, j + k]:g} is "
                    f"{middle[i, j]:g}, above {chord[i, j]:g}, the mean of V at s = {s[i, j]:g} and "
                    f"s = {s[i, j + 2 * k]:g}. Pass convex=False to allow it: then restarts look for the "
                    "best of several stationary points, and none is known to be the minimum."
                )

    def _check_derivatives(self, y: Array, s: Array, size: Array) -> None:
        """Derivatives lie between the one-sided difference quotients, at corners too.

        Where torch's do not, they are found from differences: this is called on a loss that is being made.
        """
        scale = scale_of(y, s)
        wrong = _beyond(self._grad(y, s), self._at(self.function, y), s, scale, 1e-5, size)
        name, of = "gradient says V'", "V"
        if wrong is not None and self.gradient is None:
            self._way, wrong = (self.function, self._found(y)[0], "numeric"), None  # torch misreads it
        if wrong is None and self.hessian is not None:
            name, of, second = "hessian says V''", "V'", self._call(self.hessian, y, s)
            wrong = _beyond(second, lambda at: self._grad(y, at), s, scale, 1e-3, size / scale)
        if wrong is not None:
            i, said, found = wrong
            raise ValueError(
                f"{self!r}: {name} = {said:g} at y = {y[i]:g}, s = {s[i]:g}, but differences of {of} say "
                f"{found:g}."
            )


# -- trying V out ---------------------------------------------------------------------------------


def _grids(targets: Array) -> list[tuple[Array, Array]]:
    """(y, s), each (m, g): some targets, and scores on both sides of 0 and of the target."""
    y = np.unique(targets)
    y = y[np.unique(np.linspace(0, len(y) - 1, 12).round().astype(int))][:, None]
    largest, spread = float(np.abs(y).max()), float(np.ptp(y))
    offsets = np.linspace(-2, 2, 41)
    grids = [
        y * 0 + 5 * offsets,
        y * 0 + (largest or 1.0) * offsets,
        y + (spread or largest or 1.0) * offsets,
    ]
    return [(np.broadcast_to(y, s.shape), s) for s in grids]


def _nearby(V: Array) -> Array:
    """The largest |V| among the neighbours on the grid: what rounding is relative to."""
    finite = np.pad(np.where(np.isfinite(V), np.abs(V), 0), ((0, 0), (5, 5)), mode="edge")
    return np.lib.stride_tricks.sliding_window_view(finite, 11, axis=1).max(axis=2)


def _beyond(slope: Array, f: Callable, s: Array, scale: Array, tol: float, size: Array) -> Any:
    """(index, slope, quotient) where a slope is farthest from the quotients of f; None if none is."""
    least, nearest, here = np.full(s.shape, np.inf), np.full(s.shape, np.nan), f(s)
    with np.errstate(all="ignore"):
        # Steps wide and narrow: it must disagree with all of them.
        for h in (step * scale for step in (2.0**-13, 2.0**-20, 2.0**-27)):
            behind, ahead = (here - f(s - h)) / h, (f(s + h) - here) / h
            between = np.clip(slope, np.minimum(behind, ahead), np.maximum(behind, ahead))
            limit = tol * np.maximum(np.abs(behind), np.abs(ahead)) + 16 * _EPS * size / h
            over = np.where(np.isnan(slope), np.inf, np.abs(slope - between) - limit)
            over = np.where(np.isfinite(behind) & np.isfinite(ahead), over, -np.inf)
            closer = (over < least) | np.isnan(nearest)
            least, nearest = np.where(closer, over, least), np.where(closer, (behind + ahead) / 2, nearest)
    worst = np.unravel_index(least.argmax(), least.shape)
    return (worst, slope[worst], nearest[worst]) if least[worst] > 0 else None


def _sharpest(change: Callable[[Array, Array], Array], a: Array, b: Array, noise: Array) -> Any:
    """(index, place, size) of a change that stays, however short the interval becomes; None if none does."""
    with np.errstate(all="ignore"):
        before = np.abs(change(a, b))
        for _ in range(_HALVINGS):
            middle = a + (b - a) / 2
            left = np.abs(change(a, middle)) > np.abs(change(middle, b))
            a, b = np.where(left, a, middle), np.where(left, middle, b)
        after = change(a, b)
        stays = np.isfinite(before) & (np.abs(after) > np.maximum(0.05 * before, noise))
        worst = np.unravel_index(np.where(stays, np.abs(after), -1).argmax(), after.shape)
    return (worst, b[worst], after[worst]) if stays[worst] else None
