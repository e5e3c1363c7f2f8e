"""Figures of clouds of points: the points by class, their covariance, its spectrum."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from mercer.plot.style import BESIDE, COLOURS, INK, bare, dressed, legend, tinted, whole_ticks

_MARKERS = "o^sDvP"


def cloud(
    X: Any, y: Any = None, ax: Axes | None = None, *, size: float = 4.0, labels: str | None = None
) -> Axes:
    """Points in the plane or in space, each class in its own colour and marker.

    Parameters
    ----------
    X : array, shape (n, 2) or (n, 3)
        For instance the first components of a PCA.
    y : array, shape (n,), optional
        Labels of the points.
    ax : Axes, optional
        For three columns one made with ``projection="3d"``.
    size : float
        Of the markers, in points.
    labels : str, optional
        What the axes are called: "component" gives "component 1", "component 2", …

    Examples
    --------
    >>> from mercer.plot import axes
    >>> ax = cloud([[0, 0], [1, 1], [2, 1]], ["a", "b", "b"], axes())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a', 'b']
    """
    X = np.asarray(X, dtype=float)
    if X.ndim != 2 or X.shape[1] not in (2, 3):
        raise ValueError(f"a cloud has two or three coordinates, shape (n, 2) or (n, 3); got {X.shape}")
    y = np.zeros(len(X), dtype=int) if y is None else np.asarray(y)
    classes = np.unique(y)
    if y.shape != (len(X),):
        raise ValueError(f"y must have one label a point: shape ({len(X)},), got {y.shape}")
    if len(classes) > len(COLOURS) * len(_MARKERS):
        most = len(COLOURS) * len(_MARKERS)
        raise ValueError(f"at most {most} classes can be told apart, got {len(classes)}")
    ax = _in_space(ax) if X.shape[1] == 3 else dressed(ax)
    for j, label in enumerate(classes):
        turn, colour = divmod(j, len(COLOURS))
        ax.plot(
            *X[y == label].T,
            linestyle="none",
            marker=_MARKERS[turn],
            color=COLOURS[colour],
            markersize=size,
            markeredgewidth=0,
            alpha=0.7,
            label=str(label) if len(classes) > 1 else None,
        )
    if labels is not None:
        for j, axis in enumerate("xyz"[: X.shape[1]], start=1):
            getattr(ax, f"set_{axis}label")(f"{labels} {j}")
    if X.shape[1] == 2:
        legend(ax, loc="upper left", bbox_to_anchor=(1.02, 1.0))
    else:  # the label of the third axis stands on the right
        most = max(36 // (4 + max(len(str(label)) for label in classes)), 1)
        lines = math.ceil(len(classes) / most)
        columns = math.ceil(len(classes) / lines)
        legend(ax, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=columns, columnspacing=1.0)
    return ax


def _in_space(ax: Axes | None) -> Any:
    """Axes with three dimensions, in the look of the others."""
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.figure(layout="constrained").add_subplot(projection="3d")
    if not hasattr(ax, "zaxis"):
        raise ValueError('three coordinates need Axes in space: make them with projection="3d"')
    space: Any = ax
    space.patch.set_alpha(0)
    for axis in (space.xaxis, space.yaxis, space.zaxis):
        axis.pane.set_alpha(0)
        axis.label.set_color(INK)
        axis.label.set_fontsize(10)
        axis.line.set_color(INK)
    space.title.set_color(INK)
    space.tick_params(colors=INK, labelsize=8)
    return space


def covariance(C: Any, ax: Axes | None = None, *, colours: tuple[str, str] = COLOURS[:2]) -> Axes:
    """A covariance matrix as an image: the larger the entry, the stronger its colour; one colour a sign.

    Parameters
    ----------
    C : array, shape (d, d)
    colours : two colours
        Of positive and of negative entries.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.plot import axes
    >>> covariance(np.eye(3), axes()).images[0].get_array().shape
    (3, 3, 4)
    """
    C = _symmetric(C)
    positive, negative = colours
    strength = np.abs(C) / (np.abs(C).max() or 1)
    ink = np.where((C >= 0)[..., None], tinted(strength, positive), tinted(strength, negative))
    ax = bare(ax)
    ax.imshow(ink, interpolation="none")
    whole_ticks(ax.xaxis)
    whole_ticks(ax.yaxis)
    for colour, label, there in ((positive, "positive", C > 0), (negative, "negative", C < 0)):
        if there.any():
            ax.plot([], [], "s", color=colour, label=label)
    return legend(ax, **BESIDE)


def spectrum(
    values: Any,
    ax: Axes | None = None,
    *,
    total: float | None = None,
    share: float = 0.9,
    colour: str = COLOURS[0],
) -> Axes:
    """What share of the variance each principal component explains, and how many it takes to explain most.

    Parameters
    ----------
    values : array, shape (d,) or (d, d)
        Eigenvalues of a covariance matrix, or the matrix.
    total : float, optional
        The whole variance, if these are only the first eigenvalues; their sum by default.
    share : float
        Marked is the number of components that together explain this share.

    Examples
    --------
    >>> from mercer.plot import axes
    >>> ax = spectrum([4.0, 3.0, 2.0, 1.0], axes())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['all so far', '90 % with 3']
    """
    values = np.asarray(values, dtype=float)
    if values.ndim == 2:
        values = np.linalg.eigvalsh(_symmetric(values))
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


def _symmetric(C: Any) -> np.ndarray:
    C = np.asarray(C, dtype=float)
    if C.ndim != 2 or C.shape[0] != C.shape[1] or not C.size or not np.isfinite(C).all():
        raise ValueError(f"a covariance matrix is square and finite, got shape {C.shape}")
    if not np.allclose(C, C.T, rtol=1e-6, atol=1e-8 * np.abs(C).max()):
        raise ValueError("a covariance matrix is symmetric, and this one is not")
    return C
