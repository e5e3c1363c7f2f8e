"""Figures of a probability on pairs (x, y): its density and marginals, and what to expect of y given x."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from mercer.plot.plane import answers, asked, features, tinted
from mercer.plot.style import BLUE, COLOURS, INK, dressed, legend_above, pictured

Density = Callable[[np.ndarray], Any]
# Gregory's weights at the ends of a sum that stands for an integral: 1 in between, and exact to third order.
_ENDS = np.array([3 / 8, 7 / 6, 23 / 24])


def joint_density(
    density: Density,
    limits: Any,
    ax: Axes | None = None,
    *,
    samples: Any = None,
    colour: str = BLUE,
    resolution: int = 200,
) -> Axes:
    """A density π(x, y) as shades, with its two marginals along the sides, and examples drawn from it.

    The marginals ∫ π(x, y) dy and ∫ π(x, y) dx are integrals over what is shown; beside them, where samples
    are given, are their histograms.

    Parameters
    ----------
    density : function of (n, 2) points (x, y); it need not integrate to 1
    limits : ((left, right), (bottom, top)), outside of which next to nothing lies
    samples : (n, 2) pairs, optional

    Returns
    -------
    Axes
        Those of π; the marginals of x and of y are its ``child_axes``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import plot
    >>> bell = lambda points: np.exp(-0.5 * (points**2).sum(axis=1))
    >>> ax = plot.joint_density(bell, ((-4, 4), (-4, 4)), plot.axes(), resolution=60)
    >>> x, marginal = ax.child_axes[0].lines[0].get_data()
    >>> bool(np.allclose(marginal, np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi), atol=1e-3))
    True
    """
    x, y, P = _on_grid(density, limits, resolution)
    pairs = features(samples, 2, "samples") if samples is not None and np.size(samples) else None
    ax = _shaded(ax, x, y, P, colour)
    across, up = ax.inset_axes((0.0, 1.03, 1.0, 0.22)), ax.inset_axes((1.03, 0.0, 0.22, 1.0))
    sides = ((across, x, _weights(y) @ P, "x"), (up, y, P @ _weights(x), "y"))
    for side, places, masses, which in sides:
        total = (_weights(places) @ masses) * (places[1] - places[0])
        _marginal(side, places, masses / total, which, colour)
    if pairs is not None:
        ax.plot(*pairs.T, ".", color=COLOURS[1], markersize=4, alpha=0.7)
        for j, (side, places, _, which) in enumerate(sides):
            bins = np.linspace(places[0], places[-1], 25).tolist()
            along: Any = "vertical" if which == "x" else "horizontal"
            look: Any = {"density": True, "color": COLOURS[1], "alpha": 0.3, "orientation": along}
            if ((bins[0] <= pairs[:, j]) & (pairs[:, j] <= bins[-1])).any():
                side.hist(pairs[:, j], bins, **look)
    return ax


def conditional_mean(
    density: Density,
    limits: Any,
    ax: Axes | None = None,
    *,
    at: Sequence[float] = (),
    machine: Any = None,
    colour: str = BLUE,
    resolution: int = 300,
) -> Axes:
    """E(y | x) = ∫ y π(x, y) dy / ∫ π(x, y) dy over the density: the best that least squares can come to.

    Parameters
    ----------
    density, limits : as in `joint_density`
    at : values of x at which π(y | x) is drawn as a bump, its mean as a dot
    machine : fitted regressor, optional: its curve is drawn beside E(y | x)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import plot
    >>> around = lambda points: np.exp(-0.5 * (points[:, 1] - 2 * points[:, 0]) ** 2)
    >>> ax = plot.conditional_mean(around, ((-1, 1), (-8, 8)), plot.axes(), at=[0.5], resolution=100)
    >>> x, mean = ax.lines[0].get_data()
    >>> bool(np.allclose(mean, 2 * x, atol=1e-6))
    True
    """
    x, y, P = _on_grid(density, limits, resolution)
    places = [float(value) for value in np.atleast_1d(np.asarray(at, dtype=float))]
    outside = [value for value in places if not x[0] <= value <= x[-1]]
    if outside:
        raise ValueError(f"at must lie between {x[0]:g} and {x[-1]:g}, the limits of x; got {outside[0]!r}")
    slices = [_slice(density, value, y) for value in places]
    mean = _mean(y, P)
    ax = _shaded(ax, x, y, P, colour)
    ax.plot(x, mean, color=COLOURS[1], linewidth=2.4, label="E(y | x)")
    if machine is not None:
        found = np.asarray(asked(machine.predict, x[:, None])).reshape(len(x))
        ax.plot(x, found, color=COLOURS[2], linewidth=2, linestyle="--", label="fitted")
    width = 0.12 * (x[-1] - x[0])
    for j, (value, given) in enumerate(zip(places, slices, strict=True)):
        bump = value + width * given
        ax.plot(bump, y, color=INK, linewidth=1.2, label="π(y | x)" if j == 0 else None)
        ax.fill_betweenx(y, value, bump, color=INK, alpha=0.25, linewidth=0)
        ax.plot(value, float(_mean(y, given[:, None])[0]), "o", color=COLOURS[1], markersize=7)
    return legend_above(ax, columns=3)


def _weights(places: np.ndarray) -> np.ndarray:
    """w with w·f ≈ ∫ f over places one unit apart, exact where f is a constant: the ends count for less."""
    weights = np.ones(len(places))
    if len(places) >= 2 * len(_ENDS):
        weights[: len(_ENDS)], weights[-len(_ENDS) :] = _ENDS, _ENDS[::-1]
    else:
        weights[[0, -1]] = 0.5
    return weights


def _mean(y: np.ndarray, P: np.ndarray) -> np.ndarray:
    """∫ y p(y) dy / ∫ p(y) dy for every column p; nothing is to be expected where nothing is."""
    weights = _weights(y)
    mass = weights @ P
    known = np.where(mass > 1e-12 * mass.max(), mass, np.nan)
    # In units of the range, so that no scale of y is too small or too large to be multiplied.
    share = (weights * np.linspace(0, 1, len(y))) @ P / known
    return y[0] + (y[-1] - y[0]) * share


def _slice(density: Density, value: float, y: np.ndarray) -> np.ndarray:
    """π(y | x) at one x, up to a factor: its largest value is 1."""
    given = np.asarray(asked(density, np.column_stack([np.full_like(y, value), y])), dtype=float)
    if not given.max() > 0:
        raise ValueError(f"the density is 0 on the whole line x = {value:g}, so nothing is given there")
    return given / given.max()


def _on_grid(density: Density, limits: Any, resolution: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(x, y, density at (x_j, y_i) in row i and column j, up to a factor: its largest value is 1)"""
    ends = np.asarray(limits, dtype=float)
    if ends.shape != (2, 2) or not np.isfinite(ends).all() or not (ends[:, 0] < ends[:, 1]).all():
        raise ValueError(f"limits must be ((left, right), (bottom, top)), rising and finite; got {limits!r}")
    U, V, P = answers(density, ends.T, resolution)
    P = np.asarray(P, dtype=float)
    if P.shape != U.shape or not np.isfinite(P).all() or P.min() < 0 or not P.max() > 0:
        raise ValueError("a density gives one finite number for each point, none below 0 and some above it")
    return U[0], V[:, 0], P / P.max()


def _shaded(ax: Axes | None, x: np.ndarray, y: np.ndarray, P: np.ndarray, colour: str) -> Axes:
    ax = pictured(ax, "x", "y")
    sides = (float(x[0]), float(x[-1]), float(y[0]), float(y[-1]))
    image = tinted(0.85 * P, colour)
    ax.imshow(image, origin="lower", extent=sides, aspect="auto", interpolation="bilinear")
    ax.set_autoscale_on(False)  # what lies outside of the limits is not shown
    return ax


def _marginal(side: Axes, places: np.ndarray, values: np.ndarray, which: str, colour: str) -> None:
    dressed(side, grid=False)
    side.set(xticks=[], yticks=[])
    for spine in side.spines.values():
        spine.set_visible(False)
    # Names stand inside, where an Axes above or beside this one can't cover them.
    look: Any = {"fontsize": 9, "color": INK, "transform": side.transAxes}
    if which == "x":
        side.plot(places, values, color=colour, linewidth=1.8)
        side.fill_between(places, values, color=colour, alpha=0.2, linewidth=0)
        side.set(xlim=(places[0], places[-1]), ylim=(0, None))
        side.text(0.01, 0.95, "π(x)", ha="left", va="top", **look)
    else:
        side.plot(values, places, color=colour, linewidth=1.8)
        side.fill_betweenx(places, values, color=colour, alpha=0.2, linewidth=0)
        side.set(ylim=(places[0], places[-1]), xlim=(0, None))
        side.text(0.97, 0.99, "π(y)", ha="right", va="top", **look)
