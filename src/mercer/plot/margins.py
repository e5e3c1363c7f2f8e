"""Figures of losses with kinks: the margin and its support vectors, a fan of quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from mercer.plot.classification import decision_regions
from mercer.plot.plane import answers, asked, one_feature
from mercer.plot.style import BESIDE, COLOURS, INK, dressed, legend, legend_above


def margin(machine: Any, X: Any, y: Any, ax: Axes | None = None, *, resolution: int = 150) -> Axes:
    """The border of a support vector machine in the plane, its margin, and the support vectors ringed.

    Parameters
    ----------
    machine : fitted KernelSVC with two features and two classes
    X : array, shape (n, 2)
        The examples it was fitted to.
    y : array, shape (n,)
    ax : Axes, optional
    resolution : int
        Grid points a side.

    Examples
    --------
    >>> from mercer import KernelSVC
    >>> from mercer.plot import axes
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], ["a", "b", "b", "a"]
    >>> ax = margin(KernelSVC(lam=0.01).fit(X, y), X, y, axes(), resolution=20)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a', 'b', 'support vectors']
    """
    if len(machine.classes_) != 2:
        raise ValueError(f"a margin lies between two classes, and here are {len(machine.classes_)}")
    ax = decision_regions(machine, X, y, ax, resolution=resolution)
    corners = np.array([ax.get_xlim(), ax.get_ylim()]).T
    U, V, scores = answers(machine.decision_function, corners, resolution)
    for level in (-1, 1):
        if scores.min() < level < scores.max():
            ax.contour(U, V, scores, levels=[level], colors=[INK], linewidths=0.9, linestyles="dashed")
    ring: Any = {"markersize": 9, "markerfacecolor": "none", "markeredgecolor": INK, "markeredgewidth": 0.9}
    ax.plot(*np.asarray(X, dtype=float)[machine.support_].T, "o", **ring, label="support vectors")
    return legend(ax, **BESIDE)


def quantiles(
    machine: Any, X: Any, y: Any, ax: Axes | None = None, *, colour: str = COLOURS[0], resolution: int = 400
) -> Axes:
    """Quantiles of y given x on a line: a band between each pair of levels, the points on top.

    Parameters
    ----------
    machine : fitted KernelRegressor with ``loss=Quantile([…])`` and one feature
    X : array, shape (n, 1)
    y : array, shape (n,)
    ax : Axes, optional
    colour : str
    resolution : int
        Points of each curve.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor
    >>> from mercer.losses import Quantile
    >>> from mercer.plot import axes
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> machine = KernelRegressor(loss=Quantile([0.1, 0.5, 0.9]), lam=0.01).fit(X, np.sin(X[:, 0]))
    >>> [text.get_text() for text in quantiles(machine, X, np.sin(X[:, 0]), axes()).get_legend().get_texts()]
    ['0.1 to 0.9', '0.5']
    """
    levels = getattr(machine.loss_, "levels", None)
    if levels is None:
        raise ValueError(f"the machine must be fitted with a Quantile loss, not {machine.loss_!r}")
    x, y = one_feature(X, "a line"), np.asarray(y, dtype=float)
    ax = dressed(ax, "x", "y")
    line = np.linspace(x.min(), x.max(), resolution)
    curves = np.asarray(asked(machine.predict, line[:, None])).reshape(resolution, -1)
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
