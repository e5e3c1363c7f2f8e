"""Figures of classification: soft regions in the plane, the margin, confusion, a sheet of small images."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle

from mercer.plot.plane import answers, two_features, window
from mercer.plot.style import BESIDE, COLOURS, INK, bare, dressed, legend, tinted

_LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9)
_MARKERS = "os^Dvp"


def decision_regions(machine: Any, X: Any, y: Any, ax: Axes | None = None, *, resolution: int = 100) -> Axes:
    """What a classifier of points in the plane says where: the surer, the stronger the colour.

    Parameters
    ----------
    machine : fitted classifier with two features and at most six classes
        With ``predict_proba`` the colour is as strong as the probability; without, it is all or nothing.
    X : array, shape (n, 2)
    y : array, shape (n,)
        Labels; each class has its own marker as well as its own colour.

    Examples
    --------
    >>> from mercer import KernelLogistic
    >>> from mercer.plot import axes
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], ["a", "b", "b", "a"]
    >>> ax = decision_regions(KernelLogistic(lam=0.01).fit(X, y), X, y, axes(), resolution=20)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a', 'b']
    """
    X, y = two_features(X, "regions"), np.asarray(y)
    classes = machine.classes_
    if len(classes) > len(COLOURS):
        raise ValueError(f"at most {len(COLOURS)} classes can be told apart by colour, got {len(classes)}")
    ax = dressed(ax, grid=False)
    corners = window(ax, X, 0.08, alone=1.0)
    U, V, P = answers(lambda points: _shares(machine, points), corners, resolution)
    for j, colour in enumerate(COLOURS[: len(classes)]):
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
    for j, label in enumerate(classes):
        ax.plot(
            *X[y == label].T,
            _MARKERS[j],
            color=COLOURS[j],
            markersize=5,
            markeredgecolor=to_rgba("white", 0.8),
            markeredgewidth=0.5,
            label=str(label),
        )
    return legend(ax, **BESIDE)


def _shares(machine: Any, points: np.ndarray) -> np.ndarray:
    if hasattr(machine, "predict_proba"):
        return machine.predict_proba(points)
    return (machine.predict(points)[:, None] == machine.classes_[None, :]).astype(float)


def margin(machine: Any, X: Any, y: Any, ax: Axes | None = None, *, resolution: int = 150) -> Axes:
    """The border of a support vector machine in the plane, its margin, and the support vectors ringed.

    Parameters
    ----------
    machine : fitted KernelSVC with two features and two classes
    X : array, shape (n, 2)
        The examples it was fitted to.
    y : array, shape (n,)

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


def confusion(y: Any, predicted: Any, ax: Axes | None = None, *, colour: str = COLOURS[0]) -> Axes:
    """How many examples of each class were taken for which; the shade is the share of the true class.

    Parameters
    ----------
    y, predicted : arrays of labels, shape (n,)

    Examples
    --------
    >>> from mercer.plot import axes
    >>> ax = confusion(["a", "b", "b"], ["a", "b", "a"], axes())
    >>> sorted(text.get_text() for text in ax.texts)
    ['1', '1', '1']
    """
    from sklearn.metrics import confusion_matrix

    labels = np.unique(np.concatenate([np.asarray(y), np.asarray(predicted)]))
    counts = confusion_matrix(y, predicted, labels=labels)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    ax = bare(ax)
    for i, j in np.argwhere(counts > 0):
        # Few mistakes should still be seen: the square root lifts small shares.
        shade = 0.9 * float(np.sqrt(share[i, j]))
        ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=colour, alpha=shade, linewidth=0))
        ink = "white" if share[i, j] > 0.3 else INK
        ax.text(j, i, str(counts[i, j]), ha="center", va="center", fontsize=9, color=ink)
    for ticks in (ax.set_xticks, ax.set_yticks):
        ticks(range(len(labels)), [str(label) for label in labels])
    ax.set_xlim(-0.5, len(labels) - 0.5)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set(aspect="equal", xlabel="predicted", ylabel="true")
    return ax


def image_sheet(images: Any, captions: Any, ax: Axes | None = None, *, columns: int = 8) -> Axes:
    """Small grey images in rows, each with a line below: dark strokes on light or light on dark alike.

    Parameters
    ----------
    images : array, shape (n, height, width)
        Larger means more ink.
    captions : n strings
    columns : int

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.plot import axes
    >>> image_sheet(np.eye(8)[None], ["a diagonal"], axes()).texts[0].get_text()
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
        ax.imshow(tinted(ink, COLOURS[0]), extent=(x, x + width, y + height, y), interpolation="none")
        ax.text(x + width / 2, y + 1.12 * height, caption, ha="center", va="top", fontsize=9, color=INK)
    rows = -(-n // columns)
    ax.set_xlim(-0.25 * width, min(n, columns) * step_x - 0.25 * width)
    ax.set_ylim(rows * step_y - 0.1 * height, -0.1 * height)
    ax.set_aspect("equal")
    return ax
