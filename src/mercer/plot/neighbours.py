"""Figures of nearest neighbours: how many one asks decides how rough the regions are, and how often wrong."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from mercer.estimators import KernelNeighborsClassifier
from mercer.plot.classification import decision_regions
from mercer.plot.style import COLOURS, dressed, legend, number, panels, whole_ticks


def neighbours(
    machine: Any,
    X: Any,
    y: Any,
    counts: Sequence[int] = (1, 5, 25),
    axes: Sequence[Axes] | None = None,
    *,
    resolution: int = 100,
) -> np.ndarray:
    """What R nearest neighbours say where in the plane, for several R side by side.

    Parameters
    ----------
    machine : fitted KernelNeighborsClassifier with two features and at most six classes
        It is not changed; its own R does not matter.
    X : array, shape (n, 2)
    y : array, shape (n,)
    counts : whole numbers
        One figure for each R.
    axes : as many Axes, optional

    Returns
    -------
    array of Axes

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from mercer import KernelNeighborsClassifier
    >>> X = np.random.default_rng(0).random((60, 2))
    >>> machine = KernelNeighborsClassifier().fit(X, X[:, 0] > X[:, 1])
    >>> panels = neighbours(machine, X, X[:, 0] > X[:, 1], (1, 15), Figure().subplots(1, 2), resolution=20)
    >>> [ax.get_title() for ax in panels]
    ['R = 1', 'R = 15']
    """
    if not isinstance(machine, KernelNeighborsClassifier):
        raise TypeError(f"regions are drawn for a KernelNeighborsClassifier, got {machine!r}")
    check_is_fitted(machine, "n_neighbors_")
    counts = list(counts)
    if not counts:
        raise ValueError("counts is empty: give at least one number of neighbours")
    most = machine.n_samples_fit_
    if wrong := [r for r in counts if not (isinstance(r, (int, np.integer)) and 1 <= r <= most)]:
        raise ValueError(f"counts must be whole numbers from 1 to the {most} examples, got {wrong[0]!r}")
    needed = f"{len(counts)} numbers of neighbours need as many Axes"
    row = panels(axes, (len(counts),), needed, (4.2, 3.8))
    for i, (count, ax) in enumerate(zip(counts, row, strict=True)):
        asked = copy(machine)
        asked.n_neighbors_ = int(count)
        decision_regions(asked, X, y, ax, resolution=resolution)
        ax.set_title(f"R = {count}", fontsize=10)
        # One legend serves all.
        if i < len(row) - 1 and (legend := ax.get_legend()) is not None:
            legend.remove()
    return row


def neighbour_errors(machine: Any, ax: Axes | None = None, *, colour: str = COLOURS[0]) -> Axes:
    """The leave-one-out error against R, the R that was chosen marked.

    Parameters
    ----------
    machine : fitted KernelNeighborsClassifier or KernelNeighborsRegressor with n_neighbors="auto"

    Examples
    --------
    >>> from mercer import KernelNeighborsRegressor
    >>> from mercer.plot import axes
    >>> machine = KernelNeighborsRegressor().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 4.0, 9.0])
    >>> ax = neighbour_errors(machine, axes())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['R = 1: 9']
    """
    if not len(errors := getattr(machine, "loo_errors_", ())):
        raise ValueError(
            "no leave-one-out errors to draw: fit the machine to two or more examples with "
            "n_neighbors='auto', which looks at all R"
        )
    best, classes = machine.n_neighbors_, is_classifier(machine)
    least = f"{errors[best - 1]:.1%}" if classes else number(errors[best - 1])
    ax = dressed(ax, "R", "left out and wrong" if classes else "squared error, left out")
    ax.plot(np.arange(1, len(errors) + 1), errors, color=colour, linewidth=1.6)
    ax.plot(best, errors[best - 1], "o", color=COLOURS[1], markersize=7, label=f"R = {best}: {least}")
    whole_ticks(ax.xaxis)
    if classes:
        ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    return legend(ax)
