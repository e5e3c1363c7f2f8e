"""Figures of clusters: their cells in the plane, iteration by iteration, and the classes they hold."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from mercer.plot.plane import answers, two_features, window
from mercer.plot.style import BESIDE, COLOURS, INK, dressed, legend, number, whole_ticks

_MARKERS = "os^Dvp"


def cluster_cells(
    machine: Any, X: Any, ax: Axes | None = None, *, iteration: int | None = None, resolution: int = 150
) -> Axes:
    """Clusters in the plane: each point, and each place, in the colour of the nearest mean.

    Parameters
    ----------
    machine : fitted KernelKMeans with two features
    X : array, shape (n, 2)
        The points it was fitted to.
    iteration : int, optional
        Show how things stood after so many iterations; 0 is the start. None: the end.

    Examples
    --------
    >>> from mercer import KernelKMeans
    >>> from mercer.kernels import Linear
    >>> from mercer.plot import axes
    >>> X = [[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.0]]
    >>> machine = KernelKMeans(Linear(), n_clusters=2, random_state=0).fit(X)
    >>> cluster_cells(machine, X, axes(), resolution=20).get_title()
    'energy 1'
    >>> cluster_cells(machine, X, axes(), iteration=0, resolution=20).get_title().startswith("start, energy")
    True
    """
    points = two_features(X, "cells")
    check_is_fitted(machine, "means_")
    title, energy = "", machine.inertia_
    if iteration is not None:
        if isinstance(iteration, bool) or not isinstance(iteration, (int, np.integer)) or iteration < 0:
            raise ValueError(f"iteration must be a whole number from 0, the start, on; got {iteration!r}")
        title = "start, " if iteration == 0 else f"iteration {iteration}, "
        energy = machine.energies_[min(iteration, machine.n_iter_)]
        machine = _after(machine, X, iteration)
    ax = dressed(ax, grid=False)
    U, V, cells = answers(machine.predict, window(ax, points, 0.08, alone=1.0), resolution)
    for j in range(len(machine.masses_)):
        colour, inside = COLOURS[j % len(COLOURS)], (cells == j).astype(float)
        if inside.any():
            ax.contourf(U, V, inside, levels=[0.5, 2], colors=[colour], alpha=0.16)
        if inside.any() and not inside.all():
            ax.contour(U, V, inside, levels=[0.5], colors=[INK], linewidths=0.9)
        # Colours come again after six clusters, together with another marker.
        marker = _MARKERS[j // len(COLOURS) % len(_MARKERS)]
        ax.plot(*points[machine.labels_ == j].T, marker, color=colour, markersize=3.5, markeredgewidth=0)
    for centre in getattr(machine, "centroids_", ()):
        ax.plot(
            *centre, "o", markersize=9, markerfacecolor=to_rgba("white", 0.9), markeredgecolor=INK,
            markeredgewidth=1.6,
        )  # fmt: skip
    ax.set_title(f"{title}energy {number(energy)}", fontsize=10)
    return ax


def _after(machine: Any, X: Any, iteration: int) -> Any:
    """The machine as it was after so many iterations from the start of its best run."""
    early = clone(machine).set_params(init=machine.start_, max_iter=iteration, tol=0, kernel=machine.kernel_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return early.fit(X)


def cluster_classes(labels: Any, y: Any, ax: Axes | None = None) -> Axes:
    """How many examples of each class every cluster holds: a bar a cluster, a colour a class.

    Parameters
    ----------
    labels : int array, shape (n,)
        Clusters, such as ``machine.labels_``.
    y : array of class labels, shape (n,)
        At most twelve classes.

    Examples
    --------
    >>> from mercer.plot import axes
    >>> ax = cluster_classes([0, 0, 1, 1], ["a", "b", "b", "b"], axes())
    >>> [int(bar.get_height()) for bar in ax.patches]  # a in both clusters, then b
    [1, 0, 1, 2]
    """
    labels, y = np.asarray(labels), np.asarray(y)
    if labels.shape != y.shape or labels.ndim != 1:
        raise ValueError(f"one cluster and one class a point, got shapes {labels.shape} and {y.shape}")
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) > 2 * len(COLOURS):
        raise ValueError(f"at most {2 * len(COLOURS)} classes can be told apart, got {len(classes)}")
    ax = dressed(ax, "cluster", "points")
    ax.grid(False, axis="x")
    clusters = np.unique(labels)
    places, bottom = np.arange(len(clusters)), np.zeros(len(clusters))
    for c, name in enumerate(classes):
        counts = np.array([np.sum(codes[labels == j] == c) for j in clusters], dtype=float)
        # A second round of colours is paler.
        colour = to_rgba(COLOURS[c % len(COLOURS)], 0.95 if c < len(COLOURS) else 0.45)
        ax.bar(places, counts, 0.75, bottom=bottom, color=[colour], label=str(name))
        bottom += counts
    ax.set_xticks(places, [str(j) for j in clusters])
    return legend(ax, **BESIDE)


def cluster_energy(machine: Any, ax: Axes | None = None, *, colour: str = COLOURS[0]) -> Axes:
    """The energy after every iteration of the best run; it never rises.

    Parameters
    ----------
    machine : fitted KernelKMeans

    Examples
    --------
    >>> from mercer import KernelKMeans
    >>> from mercer.plot import axes
    >>> machine = KernelKMeans(n_clusters=2, random_state=0).fit([[0.0], [1.0], [4.0], [5.0]])
    >>> cluster_energy(machine, axes()).get_ylabel()
    'energy'
    """
    check_is_fitted(machine, "energies_")
    ax = dressed(ax, "iteration", "energy")
    ax.plot(np.arange(len(machine.energies_)), machine.energies_, "o-", color=colour, markersize=4)
    whole_ticks(ax.xaxis)
    return ax
