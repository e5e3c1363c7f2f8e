"""Figures of classification: soft regions, those of neighbours, the margin, confusion, small images."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.patheffects import Normal, Stroke
from matplotlib.ticker import PercentFormatter
from scipy.ndimage import distance_transform_edt
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from mercer.estimators import KernelNeighborsClassifier
from mercer.plot.plane import (
    answers,
    class_points,
    classes_of,
    corners_around,
    examples,
    labels_of,
    on_white,
    shares,
    text_on,
    tinted,
    told_apart,
    view,
)
from mercer.plot.style import (
    BESIDE,
    BLUE,
    COLOURS,
    INK,
    MANY_COLOURS,
    bare,
    dressed,
    legend,
    number,
    panels,
    whole_ticks,
)
from mercer.plot.text import plain

_LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9)


def decision_regions(machine: Any, X: Any, y: Any, ax: Axes | None = None, *, resolution: int = 100) -> Axes:
    """What a classifier of points in the plane says where: the surer, the stronger the colour.

    The machine is a fitted classifier; with ``predict_proba`` the colour is as strong as the probability,
    without it is all or nothing. Each of at most twelve classes has its own marker as well as its own colour;
    of more than six, the largest region of each has its name written into it, too.

    Examples
    --------
    >>> from mercer import KernelLogistic, plot
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], ["a", "b", "b", "a"]
    >>> ax = plot.decision_regions(KernelLogistic(lam=0.01).fit(X, y), X, y, plot.axes(), resolution=20)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a', 'b']
    """
    classes = told_apart(classes_of(machine, 2, "regions"))
    X, y = examples(X, y, 2, "regions", machine)
    corners = corners_around(X, 0.08, alone=1.0)
    U, V, P = answers(lambda points: shares(machine, points), corners, resolution)
    ax = dressed(ax, grid=False)
    view(ax, corners)
    for j, colour in enumerate(MANY_COLOURS[: len(classes)]):
        # By how much class j leads the best of the others. Levels lie on top of each other: no seams.
        lead = P[:, :, j] - np.delete(P, j, axis=2).max(axis=2)
        if lead.max() <= 0:
            continue
        ax.contourf(U, V, lead, levels=[0, 2], colors=[colour], alpha=0.10)
        for level in _LEVELS:
            if P[:, :, j].max() > level:
                ax.contourf(U, V, P[:, :, j], levels=[level, 2], colors=[colour], alpha=0.09)
        if j and lead.min() < 0:
            ax.contour(U, V, lead, levels=[0], colors=[INK], linewidths=1.2)
    class_points(ax, X, y, classes)
    if len(classes) > len(COLOURS):
        _name_regions(ax, U, V, P.argmax(axis=2), classes)
    return legend(ax, **BESIDE)


def _name_regions(ax: Axes, U: np.ndarray, V: np.ndarray, winner: np.ndarray, classes: Any) -> None:
    """The name of each class, deepest inside of what it wins."""
    halo = [Stroke(linewidth=3, foreground="white", alpha=0.85), Normal()]
    for j, label in enumerate(classes):
        depth = distance_transform_edt(np.pad(winner == j, 1))[1:-1, 1:-1]
        if depth.max() < 2:  # nothing that a name would fit into
            continue
        place = np.unravel_index(np.argmax(depth), depth.shape)
        look: Any = {"ha": "center", "va": "center", "fontsize": 12, "weight": "bold", "path_effects": halo}
        ax.text(U[place], V[place], plain(label, 12), color=MANY_COLOURS[j], **look)


def margin(machine: Any, X: Any, y: Any, ax: Axes | None = None, *, resolution: int = 150) -> Axes:
    """The border of a support vector machine in the plane, its margin, and the support vectors ringed.

    The machine is a fitted `KernelSVC` with two classes, X and y the examples it was fitted to.

    Examples
    --------
    >>> from mercer import KernelSVC, plot
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], ["a", "b", "b", "a"]
    >>> ax = plot.margin(KernelSVC(lam=0.01).fit(X, y), X, y, plot.axes(), resolution=20)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a', 'b', 'support vectors']
    """
    if not all(hasattr(machine, name) for name in ("classes_", "support_", "decision_function")):
        raise TypeError(
            f"a margin is that of a fitted machine with support vectors, such as KernelSVC, and this "
            f"{type(machine).__name__} has none"
        )
    if len(machine.classes_) != 2:
        raise ValueError(f"a margin lies between two classes, and here are {len(machine.classes_)}")
    X, y = examples(X, y, 2, "a margin", machine)
    if len(X) <= max(machine.support_, default=-1):
        raise ValueError("X and y must be the examples that the machine was fitted to, and they are fewer")
    ax = decision_regions(machine, X, y, ax, resolution=resolution)
    corners = np.array([ax.get_xlim(), ax.get_ylim()]).T
    U, V, scores = answers(machine.decision_function, corners, resolution)
    for level in (-1, 1):
        if scores.min() < level < scores.max():
            ax.contour(U, V, scores, levels=[level], colors=[INK], linewidths=0.9, linestyles="dashed")
    ring: Any = {"markersize": 9, "markerfacecolor": "none", "markeredgecolor": INK, "markeredgewidth": 0.9}
    ax.plot(*X[machine.support_].T, "o", **ring, label="support vectors")
    return legend(ax, **BESIDE)


def confusion(y: Any, predicted: Any, ax: Axes | None = None, *, colour: str = BLUE) -> Axes:
    """How many examples of each class were taken for which; the shade is the share of the true class.

    Examples
    --------
    >>> from mercer import plot
    >>> ax = plot.confusion(["a", "b", "b"], ["a", "b", "a"], plot.axes())
    >>> sorted(text.get_text() for text in ax.texts)
    ['1', '1', '1']
    """
    from sklearn.metrics import confusion_matrix

    y = labels_of(y, len(y))
    predicted = labels_of(predicted, len(y))
    labels = np.unique(np.concatenate([y, predicted]))
    counts = confusion_matrix(y, predicted, labels=labels)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    ax = bare(ax)
    for i, j in np.argwhere(counts > 0):
        # Few mistakes should still be seen: the square root lifts small shares.
        shade = 0.9 * float(np.sqrt(share[i, j]))
        fill = on_white(tinted(np.array(shade), colour))
        ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=fill, linewidth=0))
        look: Any = {"ha": "center", "va": "center", "fontsize": 9, "color": text_on(fill)}
        ax.text(j, i, str(counts[i, j]), **look)
    for ticks in (ax.set_xticks, ax.set_yticks):
        ticks(range(len(labels)), [plain(label) for label in labels])
    ax.set_xlim(-0.5, len(labels) - 0.5)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set(aspect="equal", xlabel="predicted", ylabel="true")
    return ax


def image_sheet(images: Any, captions: Any, ax: Axes | None = None, *, columns: int = 8) -> Axes:
    """Small grey images in rows, each with a line below: dark strokes on light or light on dark alike.

    Images have shape (n, height, width); larger means more ink.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import plot
    >>> plot.image_sheet(np.eye(8)[None], ["a diagonal"], plot.axes()).texts[0].get_text()
    'a diagonal'
    """
    images = np.asarray(images, dtype=float)
    ax = bare(ax)
    ax.set(xticks=[], yticks=[])
    n, height, width = images.shape
    step_x, step_y = 1.5 * width, 1.75 * height
    for i, (image, caption) in enumerate(zip(images, captions, strict=True)):
        row, column = divmod(i, columns)
        x, y = column * step_x, row * step_y
        ink = (image - image.min()) / (np.ptp(image) or 1)
        sides = (x, x + width, y + height, y)
        ax.imshow(tinted(ink, COLOURS[0]), extent=sides, origin="upper", interpolation="none")
        words = "\n".join(plain(line, 40) for line in str(caption).split("\n"))
        ax.text(x + width / 2, y + 1.12 * height, words, ha="center", va="top", fontsize=9, color=INK)
    rows = -(-n // columns)
    ax.set_xlim(-0.25 * width, min(n, columns) * step_x - 0.25 * width)
    ax.set_ylim(rows * step_y - 0.1 * height, -0.1 * height)
    ax.set_aspect("equal")
    return ax


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

    The machine is a fitted `KernelNeighborsClassifier`; its own R does not matter. There are as many Axes as
    counts.

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
    X, y = examples(X, y, 2, "regions", machine)
    needed = f"{len(counts)} numbers of neighbours need as many Axes"
    row = panels(axes, (len(counts),), needed, (4.2, 3.8))
    for i, (count, ax) in enumerate(zip(counts, row, strict=True)):
        asked = copy(machine)
        asked.n_neighbors_ = int(count)
        decision_regions(asked, X, y, ax, resolution=resolution)
        ax.set_title(f"R = {count}", fontsize=10)
        # One legend serves all.
        if i < len(row) - 1 and (made := ax.get_legend()) is not None:
            made.remove()
    return row


def neighbour_errors(machine: Any, ax: Axes | None = None, *, colour: str = BLUE) -> Axes:
    """The leave-one-out error against R, the R that was chosen marked.

    The machine is a fitted `KernelNeighborsClassifier` or `KernelNeighborsRegressor` with n_neighbors="auto".

    Examples
    --------
    >>> from mercer import KernelNeighborsRegressor, plot
    >>> machine = KernelNeighborsRegressor().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 4.0, 9.0])
    >>> ax = plot.neighbour_errors(machine, plot.axes())
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
