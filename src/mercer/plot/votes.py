"""The figure of a vote: a place, the R examples nearest to it, and the disk that holds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.patches import Circle

from mercer.plot.plane import class_points, examples, told_apart, window
from mercer.plot.style import INK, MANY_COLOURS, dressed, legend, panels
from mercer.plot.text import plain


def nearest(X: Any, y: Any, query: Any, counts: Sequence[int] = (1, 5, 15), axes: Any = None) -> np.ndarray:
    """The R examples nearest to a place in the plane, and the disk around it that holds them, for several R.

    The title of a panel has the class that wins and its share h of the R votes; ties go to the class of the
    nearest example among those that are level.

    Parameters
    ----------
    query : (2,) the place x that is asked for
    counts : numbers of neighbours R
    axes : one Axes a count

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from mercer import plot
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [3.0, 0.0]], ["a", "b", "b", "a"]
    >>> drawn = plot.nearest(X, y, [0.2, 0.2], (1, 3), Figure().subplots(1, 2))
    >>> [ax.get_title() for ax in drawn]
    ['R = 1: a, h = 1', 'R = 3: b, h = 0.667']
    """
    X, y = examples(X, y, 2, "neighbours")
    place = np.asarray(query, dtype=float)
    if place.shape != (2,) or not np.isfinite(place).all():
        raise ValueError(f"query must be one place in the plane, two finite numbers; got {query!r}")
    counts = list(counts)
    if not counts:
        raise ValueError("counts is empty: give at least one number of neighbours")
    if wrong := [r for r in counts if not (isinstance(r, (int, np.integer)) and 1 <= r <= len(X))]:
        raise ValueError(f"counts must be whole numbers from 1 to the {len(X)} examples, got {wrong[0]!r}")
    classes = told_apart(np.unique(y))
    row = panels(axes, (len(counts),), f"{len(counts)} numbers of neighbours need as many Axes", (3.5, 3.5))
    distance = np.linalg.norm(X - place, axis=1)
    order = np.argsort(distance, kind="stable")
    reach = distance[order[max(counts) - 1]]  # the largest disk fits into every panel
    for ax, count in zip(row, counts, strict=True):
        near = order[: int(count)]
        winner, share = _vote(y[near])
        colour = MANY_COLOURS[int(np.searchsorted(classes, winner))]
        ax = dressed(ax, grid=False)
        disk: Any = {"facecolor": colour, "alpha": 0.15, "linewidth": 0}
        ax.add_patch(Circle((place[0], place[1]), float(distance[near[-1]]), **disk))
        edge: Any = {"fill": False, "edgecolor": INK, "linewidth": 1.2}
        ax.add_patch(Circle((place[0], place[1]), float(distance[near[-1]]), **edge))
        rays = [np.array([place, X[i]]) for i in near]
        ax.add_collection(LineCollection(rays, colors=INK, linewidths=0.8, alpha=0.7))
        class_points(ax, X, y, classes)
        ax.plot(
            *place, "P", color=INK, markersize=10, markeredgecolor="white", markeredgewidth=0.8, label="x"
        )
        window(ax, np.vstack([X, place - reach, place + reach]), 0.05, alone=1.0)
        ax.set_aspect("equal")
        ax.set_title(f"R = {count}: {plain(winner).strip()}, h = {share:.3g}", fontsize=10)
    legend(row[-1], loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return row


def _vote(labels: np.ndarray) -> tuple[Any, float]:
    """(the class with the most votes, its share) of labels in order of their distance."""
    names, first, votes = np.unique(labels, return_index=True, return_counts=True)
    level = np.flatnonzero(votes == votes.max())
    best = level[np.argmin(first[level])]
    return names[best], float(votes[best] / len(labels))
