"""Figures of what can be learned: shattering, learning a rectangle, how often learning fails."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import PathPatch
from matplotlib.patches import Rectangle as Drawn
from matplotlib.path import Path

from mercer.plot.plane import answers, features, tinted, window
from mercer.plot.style import COLOURS, INK, bare, dressed, legend, legend_above, log_ticks, number, panels
from mercer.theory.learnability import Box, HypothesisClass, Rectangles, Simulation, sample_size
from mercer.theory.learnability.halfspaces import HalfSpaces, PolynomialSet
from mercer.theory.learnability.inputs import as_labels, signs

_POSITIVE, _NEGATIVE = COLOURS[0], COLOURS[1]
_GRID = 301
# More panels than this can't be told apart.
_MOST_POINTS = 5


def shattering(H: HypothesisClass, points: Any, axes: Sequence[Axes] | None = None) -> np.ndarray:
    """Every labelling of some points, and where a hypothesis with that labelling is +; or that there is none.

    A class on the line or in the plane and up to five points, shape (n, d), take 2ⁿ Axes.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from mercer import plot
    >>> from mercer.theory.learnability import Intervals
    >>> drawn = plot.shattering(Intervals(), [1, 2], Figure().subplots(1, 4))
    >>> [ax.get_title() for ax in drawn]
    ['--', '-+', '+-', '++']
    """
    H.validate()
    X = H.points(points)
    if X.ndim != 2 or X.shape[1] > 2 or len(X) > _MOST_POINTS:
        raise ValueError(
            f"a shattering can be drawn for up to {_MOST_POINTS} points in one or two dimensions, "
            f"got shape {X.shape}"
        )
    count = 1 << len(X)
    columns = min(count, 8 if count > 16 else 4)
    row = panels(axes, (count,), f"{count} labellings need {count} Axes", (1.7, 1.8), columns=columns)
    for ax, labels in zip(row, product((False, True), repeat=len(X)), strict=True):
        bare(ax).set(xticks=[], yticks=[])
        # A little more than the points; in one dimension a band.
        corners = window(ax, _in_plane(X), 0.35, alone=1 / 0.35)
        h = _with_room(H.find(X, np.array(labels)), X, np.array(labels), corners)
        if h is not None:
            _region(ax, h, X.shape[1], corners)
        # A labelling that defeats the class stands out.
        more, colour, width = ("", INK, 0.5) if h is not None else (": none", _NEGATIVE, 1.4)
        for spine in ax.spines.values():
            spine.set(visible=True, color=colour, linewidth=width)
        _points(ax, X, labels)
        ax.set_title(signs(labels) + more, fontsize=9, color=colour)
    return row


def learned_rectangle(target: Box, X: Any, y: Any, ax: Axes | None = None) -> Axes:
    """Learning a rectangle: the true one, the tightest fit to the examples, and between them where it errs.

    The target is a `Box` in the plane.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import plot
    >>> from mercer.theory.learnability import Box
    >>> X = np.random.default_rng(0).uniform(size=(50, 2))
    >>> target = Box((0.2, 0.3), (0.8, 0.7))
    >>> ax = plot.learned_rectangle(target, X, target(X), plot.axes(4, 4))
    >>> len(ax.patches)
    3
    """
    X = features(X, 2, "rectangles")
    if len(target.low) != 2:
        raise ValueError(f"a rectangle is drawn in the plane: the target has {len(target.low)} coordinates")
    labels = as_labels(y, len(X))
    fit: Any = Rectangles(2).learn(X, labels)
    ax = dressed(ax, grid=False)
    # What lies between the two rectangles: the target, with a hole where the fit is.
    outer, inner = _corners(target), _corners(fit)
    inside = labels.any()
    vertices = np.vstack([outer, inner[::-1]]) if inside else outer
    codes = [Path.MOVETO, *[Path.LINETO] * 3, Path.CLOSEPOLY] * (2 if inside else 1)
    missed = PathPatch(Path(vertices, codes), facecolor=to_rgba(_NEGATIVE, 0.25), edgecolor="none")
    for box, colour, style in ((target, INK, (0, (5, 3))), (fit, _POSITIVE, "-")):
        sides, label = np.subtract(box.high, box.low), "target" if box is target else "tightest fit"
        look: Any = {"edgecolor": colour, "linestyle": style, "linewidth": 1.6}
        ax.add_patch(Drawn(box.low, *sides, fill=False, **look, label=label))
    ax.add_patch(missed).set(label="where it errs", zorder=0.9)
    _points(ax, X, labels, size=18)
    window(ax, np.vstack([X, target.low, target.high]), 0.04)
    ax.set_aspect("equal")
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.06)}
    return legend(ax, **below, ncols=3, columnspacing=1.0, handlelength=1.4)


def failure_rates(
    simulation: Simulation, ax: Axes | None = None, *, delta: float | None = None, H: Any = None
) -> Axes:
    """How often the error exceeded ε, against the number of examples, with the bound beside it.

    It is from `mercer.theory.learnability.simulate`, with several m. The level δ is marked and, for a class
    H, the m that `sample_size` asks for.

    Examples
    --------
    >>> from mercer import plot
    >>> from mercer.theory.learnability import UniformBox, simulate
    >>> found = simulate(UniformBox([0.2, 0.2], [0.8, 0.8]), m=[20, 40, 80], epsilon=0.1, random_state=0)
    >>> ax = plot.failure_rates(found, plot.axes(), delta=0.05)
    >>> ax.get_xlabel()
    'examples m'
    """
    ax = dressed(ax, "examples m", f"P(error > {number(simulation.epsilon)})")
    m, rates = simulation.m, simulation.rates
    ax.fill_between(m, simulation.lower, simulation.upper, color=_POSITIVE, alpha=0.2, linewidth=0)
    trials = simulation.errors.shape[1]
    # No failure at all has no place on a logarithmic axis; the interval has.
    seen = np.where(rates > 0, rates, np.nan)
    ax.plot(m, seen, "o-", color=_POSITIVE, markersize=3.5, label=f"measured in {trials:,} trials")
    if np.isfinite(simulation.bounds).any():
        ax.plot(m, simulation.bounds, color=_NEGATIVE, linewidth=2, label="bound")
    if delta is not None:
        ax.axhline(delta, color=INK, linewidth=1, dashes=(4, 3), label=f"δ = {number(delta)}")
        if H is not None:
            enough = sample_size(H, epsilon=simulation.epsilon, delta=delta)
            ax.axvline(enough, color=INK, linewidth=1, dashes=(1, 2), label=f"m = {enough:,} suffices")
    log_ticks(ax, "y")
    ax.set(ylim=(max(0.3 / trials, 1e-6), 1.5), xlim=(float(m.min()), float(m.max())))
    return legend_above(ax, 2) if delta is not None else legend(ax)


def _with_room(h: Any, X: np.ndarray, y: np.ndarray, corners: np.ndarray) -> Any:
    """A hypothesis with the same labels that is easier on the eye: between the points, not through them."""
    drawn = h
    points = X.astype(float)
    if isinstance(h, Box):
        pad = 0.05 * np.ptp(corners, axis=0)[: X.shape[1]]
        drawn = Box(tuple(h.low - pad), tuple(h.high + pad))
    elif isinstance(h, PolynomialSet) and max(map(len, h.monomials)) == 1 and y.any() != y.all():
        from sklearn.svm import LinearSVC

        wide = LinearSVC(C=1e4, max_iter=100_000).fit(points, y)
        drawn = HalfSpaces().from_numbers([*wide.coef_[0].tolist(), float(wide.intercept_[0])])
    return drawn if h is None or np.array_equal(drawn(points), y) else h


def _region(ax: Axes, h: Any, d: int, corners: np.ndarray) -> None:
    (left, bottom), (right, top) = corners.tolist()
    if d == 2:
        inside = answers(h, corners, _GRID)[2]
    else:
        inside = h(np.linspace(left, right, 8 * _GRID)[:, None])[None, :]
        bottom, top = -0.25, 0.25
    image, sides = tinted(0.25 * inside, _POSITIVE), (left, right, bottom, top)
    ax.imshow(image, origin="lower", extent=sides, aspect="auto", interpolation="nearest")


def _points(ax: Axes, X: Any, labels: Any, size: float = 40) -> None:
    xy, y = _in_plane(X), np.asarray(labels)
    ax.scatter(xy[y, 0], xy[y, 1], s=size, color=_POSITIVE, zorder=3, linewidths=0)
    hollow: Any = {"facecolors": "none", "edgecolors": _NEGATIVE, "linewidths": 1.4}
    ax.scatter(xy[~y, 0], xy[~y, 1], s=size, zorder=3, **hollow)


def _in_plane(X: np.ndarray) -> np.ndarray:
    """Points as they are drawn: those on a line at height 0."""
    return X.astype(float) if X.shape[1] == 2 else np.c_[X.astype(float), np.zeros(len(X))]


def _corners(box: Box) -> np.ndarray:
    (a, b), (c, d) = box.low, box.high
    return np.array([[a, b], [c, b], [c, d], [a, d], [a, b]], dtype=float)
