"""Figures of clouds of points: by class, their covariance and its spectrum; clusters and what they hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.ticker import PercentFormatter
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils.validation import check_is_fitted

from mercer._params import require_count
from mercer._warnings import unheard
from mercer.plot.plane import answers, corners_around, features, finite, labels_of, symmetric, tinted, view
from mercer.plot.style import BESIDE, BLUE, COLOURS, INK, bare, dressed, in_space, legend, number, whole_ticks
from mercer.plot.text import plain

_MARKERS = "o^sDvP"


def cloud(
    X: Any, y: Any = None, ax: Axes | None = None, *, size: float = 4.0, labels: str | None = None
) -> Axes:
    """Points in the plane or in space, each class in its own colour and marker.

    Parameters
    ----------
    X : shape (n, 2) or (n, 3), for instance the first components of a PCA
    y : labels of the points, optional
    ax : for three columns one made with ``projection="3d"``
    size : of the markers, in points
    labels : what the axes are called: "component" gives "component 1", "component 2", …

    Examples
    --------
    >>> from mercer import plot
    >>> ax = plot.cloud([[0, 0], [1, 1], [2, 1]], ["a", "b", "b"], plot.axes())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a', 'b']
    """
    X = finite(X, "a cloud")
    if X.ndim != 2 or X.shape[1] not in (2, 3):
        raise ValueError(f"a cloud has two or three coordinates, shape (n, 2) or (n, 3); got {X.shape}")
    y = np.zeros(len(X), dtype=int) if y is None else labels_of(y, len(X))
    classes = np.unique(y)
    names = [plain(label) for label in classes]
    if len(classes) > len(COLOURS) * len(_MARKERS):
        most = len(COLOURS) * len(_MARKERS)
        raise ValueError(f"at most {most} classes can be told apart, got {len(classes)}")
    ax = in_space(ax) if X.shape[1] == 3 else dressed(ax)
    look: Any = {"markersize": size, "markeredgewidth": 0, "alpha": 0.7}
    for j, (label, name) in enumerate(zip(classes, names, strict=True)):
        ax.plot(*X[y == label].T, **_mark(j), **look, label=name if len(classes) > 1 else None)
    if labels is not None:
        for j, axis in enumerate("xyz"[: X.shape[1]], start=1):
            getattr(ax, f"set_{axis}label")(f"{labels} {j}")
    if X.shape[1] == 2:
        legend(ax, loc="upper left", bbox_to_anchor=(1.02, 1.0))
    else:  # the label of the third axis stands on the right
        most = max(36 // (4 + max(map(len, names))), 1)
        lines = math.ceil(len(classes) / most)
        columns = math.ceil(len(classes) / lines)
        legend(ax, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=columns, columnspacing=1.0)
    return ax


def _mark(j: int) -> dict[str, Any]:
    """How points of class j look: colours come again after six classes, together with another marker."""
    turn, colour = divmod(j, len(COLOURS))
    return {"linestyle": "none", "marker": _MARKERS[turn % len(_MARKERS)], "color": COLOURS[colour]}


def covariance(C: Any, ax: Axes | None = None, *, colours: tuple[str, str] = COLOURS[:2]) -> Axes:
    """A covariance matrix as an image: the larger the entry, the stronger its colour; one colour a sign.

    `colours` are those of positive and of negative entries.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import plot
    >>> plot.covariance(np.eye(3), plot.axes()).images[0].get_array().shape
    (3, 3, 4)
    """
    C = symmetric(C)
    positive, negative = colours
    strength = np.abs(C) / (np.abs(C).max() or 1)
    ink = np.where((C >= 0)[..., None], tinted(strength, positive), tinted(strength, negative))
    ax = bare(ax)
    ax.imshow(ink, origin="upper", interpolation="none")
    whole_ticks(ax.xaxis)
    whole_ticks(ax.yaxis)
    for colour, label, there in ((positive, "positive", C > 0), (negative, "negative", C < 0)):
        if there.any():
            ax.plot([], [], "s", color=colour, label=label)
    return legend(ax, **BESIDE)


def spectrum(
    values: Any, ax: Axes | None = None, *, total: float | None = None, share: float = 0.9, colour: str = BLUE
) -> Axes:
    """What share of the variance each principal component explains, and how many it takes to explain most.

    Given are eigenvalues of a covariance matrix, or the matrix, and the `total` variance, if these are only
    the first. Marked is the number of components that together explain this share.

    Examples
    --------
    >>> from mercer import plot
    >>> ax = plot.spectrum([4.0, 3.0, 2.0, 1.0], plot.axes())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['all so far', '90 % with 3']
    """
    values = np.asarray(values, dtype=float)
    if values.ndim == 2:
        values = np.linalg.eigvalsh(symmetric(values))
    values = np.sort(values)[::-1]
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise ValueError("values must be eigenvalues, finite numbers in one dimension, or a symmetric matrix")
    # Rounding leaves eigenvalues of −10⁻¹⁷ where there are none.
    if values[-1] < -1e-8 * np.abs(values).max():
        raise ValueError(f"variances are never negative, and the least eigenvalue is {values[-1]:g}")
    values = np.maximum(values, 0)
    total = float(values.sum()) if total is None else float(total)
    if not total > 0 or values.sum() > total * (1 + 1e-8):
        raise ValueError(f"the total must be positive and at least the sum of the values, got {total:g}")
    shares, places = values / total, np.arange(1, len(values) + 1)
    so_far = np.cumsum(shares)
    ax = dressed(ax, "component", "variance explained")
    ax.bar(places, shares, color=colour, alpha=0.75, linewidth=0)
    ax.plot(places, so_far, color=COLOURS[1], linewidth=2, label="all so far")
    enough = np.flatnonzero(so_far >= share - 1e-12)
    if len(enough):
        count = int(places[enough[0]])
        ax.plot(count, so_far[count - 1], "o", color=COLOURS[1], label=f"{100 * share:g} % with {count}")
    ax.set_xlim(0.4, len(values) + 0.6)
    ax.set_ylim(0, 1.02)
    whole_ticks(ax.xaxis)
    ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    return legend(ax, loc="center right")


def cluster_cells(
    machine: Any, X: Any, ax: Axes | None = None, *, iteration: int | None = None, resolution: int = 150
) -> Axes:
    """Clusters in the plane: each point, and each place, in the colour of the nearest mean.

    The machine is a fitted `KernelKMeans`, X its points. `iteration`: how things stood after so many; 0 is
    the start, None the end.

    Examples
    --------
    >>> from mercer import KernelKMeans, plot
    >>> from mercer.kernels import Linear
    >>> X = [[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.0]]
    >>> machine = KernelKMeans(Linear(), n_clusters=2, random_state=0).fit(X)
    >>> plot.cluster_cells(machine, X, plot.axes(), resolution=20).get_title()
    'energy 1'
    >>> plot.cluster_cells(machine, X, plot.axes(), iteration=0, resolution=20).get_title()
    'start, energy ...'
    """
    points = features(X, 2, "cells")
    check_is_fitted(machine, "means_")
    title, energy = "", machine.inertia_
    if iteration is not None:
        require_count(iteration, "iteration", 0, ", the start")
        title = "start, " if iteration == 0 else f"iteration {iteration}, "
        energy = machine.energies_[min(iteration, machine.n_iter_)]
        machine = _after(machine, X, iteration)
    corners = corners_around(points, 0.08, alone=1.0)
    U, V, cells = answers(machine.predict, corners, resolution)
    ax = dressed(ax, grid=False)
    view(ax, corners)
    for j in range(len(machine.masses_)):
        colour, inside = COLOURS[j % len(COLOURS)], (cells == j).astype(float)
        if inside.any():
            ax.contourf(U, V, inside, levels=[0.5, 2], colors=[colour], alpha=0.16)
        if inside.any() and not inside.all():
            ax.contour(U, V, inside, levels=[0.5], colors=[INK], linewidths=0.9)
        ax.plot(*points[machine.labels_ == j].T, **_mark(j), markersize=3.5, markeredgewidth=0)
    ring: Any = {"markerfacecolor": to_rgba("white", 0.9), "markeredgecolor": INK, "markeredgewidth": 1.6}
    for centre in getattr(machine, "centroids_", ()):
        ax.plot(*centre, "o", markersize=9, **ring)
    ax.set_title(f"{title}energy {number(energy)}", fontsize=10)
    return ax


def _after(machine: Any, X: Any, iteration: int) -> Any:
    """The machine as it was after so many iterations from the start of its best run."""
    early = clone(machine).set_params(init=machine.start_, max_iter=iteration, tol=0, kernel=machine.kernel_)
    early.set_params(teleports=0)  # these come after the last of them
    with unheard(ConvergenceWarning):  # fewer iterations are what was asked for
        return early.fit(X)


def cluster_classes(labels: Any, y: Any, ax: Axes | None = None) -> Axes:
    """How many examples of each class every cluster holds: a bar a cluster, a colour a class.

    `labels` are clusters, such as ``machine.labels_``, y at most twelve classes.

    Examples
    --------
    >>> from mercer import plot
    >>> ax = plot.cluster_classes([0, 0, 1, 1], ["a", "b", "b", "b"], plot.axes())
    >>> [int(bar.get_height()) for bar in ax.patches]  # a in both clusters, then b
    [1, 0, 1, 2]
    """
    labels, y = np.asarray(labels), np.asarray(y)
    if labels.shape != y.shape or labels.ndim != 1:
        raise ValueError(f"one cluster and one class a point, got shapes {labels.shape} and {y.shape}")
    classes, clusters = np.unique(y), np.unique(labels)
    if len(classes) > 2 * len(COLOURS):
        raise ValueError(f"at most {2 * len(COLOURS)} classes can be told apart, got {len(classes)}")
    ax = dressed(ax, "cluster", "points")
    ax.grid(False, axis="x")
    places, bottom = np.arange(len(clusters)), np.zeros(len(clusters))
    for c, (name, counts) in enumerate(zip(classes, contingency_matrix(y, labels), strict=True)):
        # A second round of colours is paler.
        colour = to_rgba(COLOURS[c % len(COLOURS)], 0.95 if c < len(COLOURS) else 0.45)
        ax.bar(places, counts, 0.75, bottom=bottom, color=[colour], label=plain(name))
        bottom += counts
    ax.set_xticks(places, [plain(j) for j in clusters])
    return legend(ax, **BESIDE)


def cluster_energy(machine: Any, ax: Axes | None = None, *, colour: str = BLUE) -> Axes:
    """The energy after every iteration of the best run of a fitted KernelKMeans; it never rises.

    Examples
    --------
    >>> from mercer import KernelKMeans, plot
    >>> machine = KernelKMeans(n_clusters=2, random_state=0).fit([[0.0], [1.0], [4.0], [5.0]])
    >>> plot.cluster_energy(machine, plot.axes()).get_ylabel()
    'energy'
    """
    check_is_fitted(machine, "energies_")
    ax = dressed(ax, "iteration", "energy")
    ax.plot(np.arange(len(machine.energies_)), machine.energies_, "o-", color=colour, markersize=4)
    whole_ticks(ax.xaxis)
    return ax
