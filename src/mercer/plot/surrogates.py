"""The figure that compares losses: what they cost beside the 0–1 loss, which all of them bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from mercer._params import require_count
from mercer._resolve import loss_of
from mercer.losses import Loss
from mercer.plot.style import INK, MANY_COLOURS, dressed, legend_above, linear, number
from mercer.plot.text import plain

_STYLES = ("-", "--", "-.", ":")
# Larger margins are never met, and their squares overflow.
_MOST = 1e100


def losses(
    kinds: Sequence[Any] = ("hinge", "logistic", "squared_hinge", "exponential"),
    ax: Axes | None = None,
    *,
    limits: tuple[float, float] = (-2.5, 2.5),
    resolution: int = 401,
) -> Axes:
    """Losses against the margin y·s, all of them above the 0–1 loss, which is 1 where y·s ≤ 0 and else 0.

    A loss that is less than 1 somewhere on the wrong side is drawn times the least factor that mends it, and
    the legend says so: log(1 + exp(−y·s)) is log 2 at 0 and becomes log(1 + exp(−y·s)) / log 2.

    Parameters
    ----------
    kinds : losses, their names, or functions V(y, s) of labels ±1
    limits : the least and the largest margin drawn; 0 lies between them

    Examples
    --------
    >>> from mercer import plot
    >>> ax = plot.losses(["hinge", "logistic"], plot.axes())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['0–1', 'Hinge', 'Logistic × 1.44']
    """
    kinds = [kinds] if isinstance(kinds, (str, Loss)) or callable(kinds) else list(kinds)
    if not 1 <= len(kinds) <= len(MANY_COLOURS):
        raise ValueError(f"between one and {len(MANY_COLOURS)} losses can be compared, got {len(kinds)}")
    if np.shape(limits) != (2,) or not -_MOST < limits[0] < 0 < limits[1] < _MOST:
        raise ValueError(
            f"limits must be two numbers with 0, where right turns to wrong, between them, and neither "
            f"beyond {_MOST:g}; got {limits}"
        )
    low, high = limits
    m = np.union1d(np.linspace(low, high, require_count(resolution, "resolution", 2)), [0.0])
    curves = [_bound(kind, m) for kind in kinds]
    ax = linear(dressed(ax, "margin y·s", "loss"))
    ax.axvline(0, color=INK, linewidth=0.8, dashes=(4, 3))
    ax.step([low, 0, high], [1, 1, 0], where="pre", color=INK, linewidth=3, alpha=0.8, label="0–1")
    top = 1.0
    for j, (label, values) in enumerate(curves):
        style: Any = {"color": MANY_COLOURS[j], "linestyle": _STYLES[j % len(_STYLES)], "linewidth": 2}
        ax.plot(m, values, **style, label=label)
        top = max(top, float(np.interp(0.6 * low, m, values)))
    ax.set_xlim(low, high)
    # What grows fastest may leave the figure, so that the place where the losses differ is seen.
    ax.set_ylim(-0.05, min(top, 1 - 1.4 * low) * 1.05)
    return legend_above(ax, columns=3)


def _bound(kind: Any, m: np.ndarray) -> tuple[str, np.ndarray]:
    """(what the legend calls a loss, its values at these margins, lifted above the 0–1 loss)"""
    loss = loss_of(kind, classification=True)
    with np.errstate(over="ignore", invalid="ignore"):
        values = _of_margin(loss, m)
    function = getattr(kind, "func", kind)  # what a partial is made of
    name = type(loss).__name__ if isinstance(kind, (str, Loss)) else getattr(function, "__name__", "loss")
    name = plain(name)
    if not np.isfinite(values).all():
        raise ValueError(f"{name} is not finite at all margins from {m[0]:g} to {m[-1]:g}: set limits")
    factor = _factor(loss, values[m <= 0])
    return name if factor == 1 else f"{name} × {number(factor)}", factor * values


def _of_margin(loss: Loss, m: np.ndarray) -> np.ndarray:
    """V as a function of the margin, if it is one."""
    name = type(loss).__name__
    if loss.joint:
        raise ValueError(f"{name} is a loss of several scores at once, and has no margin y·s to be drawn by")
    try:
        loss.check_targets(np.array([1.0, -1.0]))
        right, left = (loss.value(y * np.ones((len(m), 1)), y * m[:, None]) for y in (1.0, -1.0))
    except ValueError as error:
        raise ValueError(f"{name} does not take labels ±1, so it can't be compared: {error}") from error
    if np.shape(right) != (len(m), 1) or not np.allclose(right, left, rtol=1e-6, atol=1e-9):
        raise ValueError(f"{name} treats y = +1 and y = −1 differently: it is no function of the margin y·s")
    return np.asarray(right)[:, 0]


def _factor(loss: Loss, wrong: np.ndarray) -> float:
    """The least factor, 1 at least, with which a loss is at least 1 at all margins that are wrong."""
    least = float(wrong.min())
    if least <= 0:
        raise ValueError(
            f"{loss!r} is {least:g} at a margin that is wrong, so no multiple of it bounds the 0–1 loss"
        )
    return 1.0 if least >= 1 else 1.0 / least
