"""Figures of curves: a function and its bumps, a fit, quantiles, the λ path, a solver on its way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from mercer.functions import Function, KernelFunction
from mercer.plot.plane import asked, between, features, named
from mercer.plot.style import (
    ABOVE,
    BLUE,
    COLOURS,
    INK,
    dressed,
    legend,
    legend_above,
    log_ticks,
    number,
    panels,
    whole_ticks,
)
from mercer.plot.text import caption
from mercer.selection import Path
from mercer.solvers import Solution


def function_1d(
    f: Function,
    grid: Any,
    ax: Axes | None = None,
    *,
    terms: bool = False,
    label: str | None = "f",
    colour: str = BLUE,
) -> Axes:
    """A function of one variable and, if wanted, the bumps α_i k(x_i,·) it is the sum of.

    It is drawn on the grid, shape (m,); with `terms` each term of a `KernelFunction` is a shaded bump.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.functions import section
    >>> from mercer.kernels import Gaussian
    >>> from mercer import plot
    >>> k = Gaussian(1.0)
    >>> f = section(k, [0.0]) - 0.5 * section(k, [2.0])
    >>> ax = plot.function_1d(f, np.linspace(-3, 5, 50), plot.axes(), terms=True)
    >>> len(ax.lines)  # two bumps, the axis and f
    4
    """
    grid = np.asarray(grid, dtype=float)
    bumps = list(terms_of(f, grid)) if terms else []
    ax = dressed(ax, "x")
    ax.axhline(0, color=INK, linewidth=0.8)
    for _, bump in bumps:
        ax.fill_between(grid, bump, color=colour, alpha=0.12, linewidth=0)
        ax.plot(grid, bump, color=colour, alpha=0.5, linewidth=1)
    ax.plot(grid, f(grid[:, None]), color=colour, linewidth=2.2, label=caption(label))
    return legend(ax)


def terms_of(f: Any, grid: np.ndarray) -> Iterator[tuple[Any, np.ndarray]]:
    """(x_i, α_i k(x_i,·) on the grid) for every term of a sum of kernels."""
    if not isinstance(f, KernelFunction):
        raise TypeError(f"only a sum of kernels has bumps to draw, and this is {f!r}")
    for value, x in zip(np.ravel(f.coef), f.points, strict=True):
        yield x, value * f.kernel(grid[:, None], x[None])[:, 0]


def lam_path(path: Path, ax: Axes | None = None, *, label: str | None = None, colour: str = BLUE) -> Axes:
    """Leave-one-out error against λ, with the minimum marked.

    The path is from `mercer.selection.path`. The best λ is added to the label.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge, plot
    >>> from mercer.selection import path
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> ax = plot.lam_path(path(KernelRidge(), X, np.sin(X[:, 0])), plot.axes())
    >>> ax.get_xlabel()
    'λ'
    """
    ax = dressed(ax, "λ", "leave-one-out error (mean square)")
    order = np.argsort(path.lams)
    best = f"λ = {number(path.best_lam)}"
    name = best if label is None else f"{caption(label)}: {best}"
    ax.plot(path.lams[order], path.loo_mse[order], color=colour, linewidth=2, label=name)
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
    colour: str = BLUE,
    points: bool = True,
    residuals: bool = False,
) -> Axes:
    """The curve a machine fitted to points on a line, and the points.

    Parameters
    ----------
    machine : fitted regressor with one feature
    truth : function of an array of x: the curve the points came from, where one knows
    label : what the legend calls the fitted curve
    points : draw the points; False when a second curve joins a first
    residuals : draw what least squares makes small, the segments from each point to the curve

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge, plot
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> ax = plot.regression_1d(KernelRidge().fit(X, y), X, y, plot.axes(), truth=np.sin)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['examples', 'truth', 'f']
    """
    x = features(X, 1, "a curve")[:, 0]
    y = _targets(y, len(x))
    grid = np.linspace(x.min(), x.max(), 400)  # beyond the points a curve says little
    curve, fitted = (_said(machine, points) for points in (grid, x))
    if residuals and not y.shape[1] == fitted.shape[1] == 1:
        raise ValueError(
            f"residuals are drawn for one output: y has {y.shape[1]}, and the machine predicts "
            f"{fitted.shape[1]}"
        )
    ax = dressed(ax, "x", "y")
    if points:
        ax.plot(x, y, ".", color=INK, markersize=5, alpha=0.6, label="examples")
    if residuals:
        ax.vlines(x, y[:, 0], fitted[:, 0], color=INK, linewidth=0.9, alpha=0.6)
    if truth is not None:
        ax.plot(grid, truth(grid), "--", color=INK, linewidth=1.4, label="truth")
    ax.plot(grid, curve, color=colour, linewidth=2, label=caption(label))
    return legend(ax)


def _targets(y: Any, n: int) -> np.ndarray:
    """(n, outputs) numbers to draw."""
    y = np.asarray(y, dtype=float)
    y = y[:, None] if y.ndim == 1 else y
    if y.ndim != 2 or len(y) != n:
        raise ValueError(f"y must have one number for each of {n} points, or one row, got shape {y.shape}")
    return y


def _said(machine: Any, x: np.ndarray) -> np.ndarray:
    """(len(x), outputs) predictions of a fitted regressor of one feature."""
    wants = getattr(machine, "n_features_in_", 1)
    if not hasattr(machine, "predict") or wants != 1:
        raise ValueError(
            f"a curve needs a fitted regressor of one feature, and this {type(machine).__name__} "
            + (f"takes {wants}" if wants != 1 else "does not predict")
        )
    return np.asarray(asked(machine.predict, x[:, None]), dtype=float).reshape(len(x), -1)


def regressions(
    machines: Any,
    X: Any,
    y: Any,
    axes: Any = None,
    *,
    truth: Callable[[np.ndarray], np.ndarray] | None = None,
) -> np.ndarray:
    """Curves that several machines fitted to the same points on a line: one σ, λ or kernel a curve.

    Parameters
    ----------
    machines : {label: fitted regressor}, a sequence of them, or one
        Those without a label are called by ‖f‖.
    axes : one Axes for all curves, or as many as machines, for a panel each; None: a panel each
    truth : function of an array of x: the curve the points came from, where one knows

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge, plot
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> machines = {f"σ = {s:g}": KernelRidge(Gaussian(s), lam=1e-3).fit(X, y) for s in (0.1, 1.0, 10.0)}
    >>> (ax,) = plot.regressions(machines, X, y, plot.axes())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['examples', 'σ = 0.1', 'σ = 1', 'σ = 10']
    """
    found = named(machines)
    if len(found) > len(COLOURS):
        raise ValueError(f"at most {len(COLOURS)} curves can be told apart by colour, got {len(found)}")
    x = features(X, 1, "a curve")[:, 0]
    _targets(y, len(x))
    for _, machine in found:
        _said(machine, x[:1])
    needed = f"{len(found)} machines need as many Axes, or one for all"
    row = panels(axes, (1, len(found)), needed, (3.2, 3.0), sharey=True)
    together = len(row) == 1
    for j, (name, machine) in enumerate(found):
        ax, first = row[0 if together else j], j == 0 or not together
        shown = truth if first else None
        regression_1d(machine, X, y, ax, truth=shown, label=name, colour=COLOURS[j], points=first)
        if not together:
            ax.set_title(name, fontsize=10)
            ax.get_legend().remove()
            if j:
                ax.set_ylabel("")
    if together:
        legend_above(row[0], columns=3)
    return row


def predicted_vs_true(
    y: Any, predicted: Any, ax: Axes | None = None, *, label: str | None = None, colour: str = BLUE
) -> Axes:
    """Predictions against true values: on the diagonal they would be right.

    Examples
    --------
    >>> from mercer import plot
    >>> plot.predicted_vs_true([1.0, 2.0], [1.1, 1.8], plot.axes()).get_ylabel()
    'predicted'
    """
    y, predicted = np.asarray(y), np.asarray(predicted)
    ax = dressed(ax, "true", "predicted")
    low, high = min(y.min(), predicted.min()), max(y.max(), predicted.max())
    end = high if high > low else low + max(1.0, 1e-6 * abs(low))
    ax.axline((low, low), (end, end), color=INK, linewidth=1, dashes=(4, 3))
    ax.plot(
        y, predicted, "o", color=colour, markersize=5, alpha=0.65, markeredgewidth=0, label=caption(label)
    )
    return legend(ax)


def quantiles(
    machine: Any, X: Any, y: Any, ax: Axes | None = None, *, colour: str = BLUE, resolution: int = 400
) -> Axes:
    """Quantiles of y given x on a line: a band between each pair of levels, the points on top.

    The machine is a fitted `KernelRegressor` with ``loss=Quantile([…])``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor, plot
    >>> from mercer.losses import Quantile
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> machine = KernelRegressor(loss=Quantile([0.1, 0.5, 0.9]), lam=0.01).fit(X, np.sin(X[:, 0]))
    >>> ax = plot.quantiles(machine, X, np.sin(X[:, 0]), plot.axes())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['0.1 to 0.9', '0.5']
    """
    loss = getattr(machine, "loss_", None)
    levels = getattr(loss, "levels", None)
    if levels is None:
        raise ValueError(f"the machine must be fitted with a Quantile loss, not {loss!r}")
    x = features(X, 1, "a line")[:, 0]
    y = _targets(y, len(x))
    line = between(x.min(), x.max(), resolution)
    curves = _said(machine, line)
    ax = dressed(ax, "x", "y")
    order = np.argsort(levels)
    levels, curves = levels[order], curves[:, order]
    k = len(levels)
    for j in range(k // 2):
        label = f"{levels[j]:g} to {levels[k - 1 - j]:g}"
        band = curves[:, j], curves[:, k - 1 - j]
        ax.fill_between(line, *band, color=colour, alpha=0.18, linewidth=0, label=label)
    if k % 2:
        ax.plot(line, curves[:, k // 2], color=colour, linewidth=2, label=f"{levels[k // 2]:g}")
    ax.plot(x, y, ".", color=INK, markersize=4, alpha=0.7)
    return legend_above(ax, columns=k)


def convergence(
    solution: Solution, ax: Axes | None = None, *, label: str | None = None, colour: str = BLUE
) -> Axes:
    """Relative gradient norm (or residual) after each iteration.

    The solution is ``machine.solution_``; the label is its solver's name by default.

    Examples
    --------
    >>> from mercer import KernelLogistic, plot
    >>> machine = KernelLogistic(lam=0.1).fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    >>> plot.convergence(machine.solution_, plot.axes()).get_xlabel()
    'iteration'
    """
    ax = dressed(ax, "iteration", "gradient, relative to the start")
    history = np.array(solution.history or (solution.certificate.relative_gradient,), dtype=float)
    steps = np.arange(len(history)) + (solution.iterations - len(history) + 1)
    # An exact zero has no place on a logarithmic axis, and says no more than that rounding is reached.
    shown, size = np.maximum(history, np.finfo(float).eps), 5 if len(history) <= 60 else 0
    name = solution.solver if label is None else caption(label)
    ax.plot(steps, shown, "o-", color=colour, linewidth=2, markersize=size, label=name)
    log_ticks(ax, "y")
    whole_ticks(ax.xaxis)
    return legend(ax)
