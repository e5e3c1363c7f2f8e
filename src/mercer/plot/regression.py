"""Figures of regression: the λ path, a fitted curve, predictions against the truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from mercer.plot.plane import one_feature
from mercer.plot.style import ABOVE, COLOURS, INK, dressed, legend, log_ticks, number
from mercer.selection import Path


def lam_path(
    path: Path, ax: Axes | None = None, *, label: str | None = None, colour: str = COLOURS[0]
) -> Axes:
    """Leave-one-out error against λ, with the minimum marked.

    Call it again on the same Axes, with other labels and colours, to compare kernels.

    Parameters
    ----------
    path : Path
        From `mercer.selection.path`.
    ax : Axes, optional
    label : str, optional
        What the legend calls this curve; the best λ is added.
    colour : str

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.plot import axes
    >>> from mercer.selection import path
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> ax = lam_path(path(KernelRidge(), X, np.sin(X[:, 0])), axes())
    >>> ax.get_xlabel()
    'λ'
    """
    ax = dressed(ax, "λ", "leave-one-out error (mean square)")
    order = np.argsort(path.lams)
    best = f"λ = {number(path.best_lam)}"
    ax.plot(
        path.lams[order],
        path.loo_mse[order],
        color=colour,
        linewidth=2,
        label=best if label is None else f"{label}: {best}",
    )
    ax.plot(path.best_lam, path.loo_mse[path.best], "o", color=colour, markersize=7)
    log_ticks(ax, "x")
    return legend(ax, **ABOVE, ncols=2)


def regression_1d(
    machine: Any,
    X: Any,
    y: Any,
    ax: Axes | None = None,
    *,
    truth: Callable[[np.ndarray], np.ndarray] | None = None,
    label: str = "f",
    colour: str = COLOURS[0],
    points: bool = True,
) -> Axes:
    """The curve a machine fitted to points on a line, and the points.

    Parameters
    ----------
    machine : fitted regressor with one feature
    X : array, shape (n, 1)
    y : array, shape (n,)
    ax : Axes, optional
    truth : function of an array of x, optional
        The curve the points came from, where one knows.
    label : str
        What the legend calls the fitted curve.
    colour : str
    points : bool
        Draw the points; False when a second curve joins a first.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.plot import axes
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> ax = regression_1d(KernelRidge().fit(X, np.sin(X[:, 0])), X, np.sin(X[:, 0]), axes(), truth=np.sin)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['examples', 'truth', 'f']
    """
    x, y = one_feature(X, "a curve"), np.asarray(y)
    ax = dressed(ax, "x", "y")
    grid = np.linspace(x.min(), x.max(), 400)  # beyond the points a curve says little
    if points:
        ax.plot(x, y, ".", color=INK, markersize=5, alpha=0.6, label="examples")
    if truth is not None:
        ax.plot(grid, truth(grid), "--", color=INK, linewidth=1.4, label="truth")
    ax.plot(grid, machine.predict(grid[:, None]), color=colour, linewidth=2, label=label)
    return legend(ax)


def predicted_vs_true(
    y: Any, predicted: Any, ax: Axes | None = None, *, label: str | None = None, colour: str = COLOURS[0]
) -> Axes:
    """Predictions against true values: on the diagonal they would be right.

    Parameters
    ----------
    y, predicted : arrays of shape (n,)
    ax : Axes, optional
    label : str, optional
    colour : str

    Examples
    --------
    >>> from mercer.plot import axes
    >>> predicted_vs_true([1.0, 2.0], [1.1, 1.8], axes()).get_ylabel()
    'predicted'
    """
    y, predicted = np.asarray(y), np.asarray(predicted)
    ax = dressed(ax, "true", "predicted")
    low, high = min(y.min(), predicted.min()), max(y.max(), predicted.max())
    ax.axline(
        (low, low), (high, high) if high > low else (low + 1, low + 1), color=INK, linewidth=1, dashes=(4, 3)
    )
    ax.plot(y, predicted, "o", color=colour, markersize=5, alpha=0.65, markeredgewidth=0, label=label)
    return legend(ax)
