"""The figure of a feature map: points that no line separates, lifted to where a plane does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from sklearn.base import clone

from mercer.estimators import KernelSVC
from mercer.features import ExplicitFeatures
from mercer.kernels import Kernel, Linear, Polynomial
from mercer.plot.bestline import MOST_POINTS, best_line
from mercer.plot.plane import answers, class_points, corners_around, examples, view
from mercer.plot.style import COLOURS, INK, dressed, in_space, legend, panels

# A machine that errs as little as it can: so large a price leaves hardly any slack.
_PRICE = 1e4
# The least share of the largest coordinate that is still seen beside it by what draws in space.
_SMALLEST = 1e-14
# Kernel of the text's own example, whose φ(x) = (x₁², √2 x₁x₂, x₂²).
_SQUARES = Polynomial(2, c=0.0)


def lift(
    X: Any, y: Any, phi: Any = None, axes: Sequence[Axes] | Axes | None = None, *, resolution: int = 100
) -> np.ndarray:
    """Points of two classes in the plane, and lifted by φ to space, where a plane w·φ(x) + b = 0 parts them.

    On the left are the points and what becomes of the plane there, a curve; on the right the points φ(x_i)
    and the plane, which is that of a support vector machine with a large C. Titles say how many points the
    best line and the plane get right; of more than 200 points the line is that of a support vector machine.

    Parameters
    ----------
    phi : feature map, kernel or function of (n, 2) points, optional
        A kernel stands for its explicit φ, so it must be a polynomial; a feature map is fitted to X. By
        default φ is that of the kernel (x·z)², (x₁², √2 x₁x₂, x₂²). Of more than three coordinates those are
        shown that matter: the distance from the plane, upwards, and the two main directions within it.
    axes : two Axes, the second made with ``projection="3d"``, or that one alone

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from mercer import plot
    >>> angle = np.linspace(0, 6, 20)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)]) * np.repeat([1, 2], 10)[:, None]
    >>> ax = Figure().add_subplot(projection="3d")
    >>> (ax,) = plot.lift(X, np.repeat(["in", "out"], 10), axes=ax)
    >>> ax.get_title()
    'a plane gets 100 % right'
    """
    X, y = examples(X, y, 2, "points to be lifted")
    classes = np.unique(y)
    if len(classes) != 2:
        raise ValueError(f"a lift is drawn for two classes, one label a point; got {len(classes)} classes")
    mapped, names = _feature_map(_SQUARES if phi is None else phi, X)
    Phi = _coordinates(mapped, X)
    second = y == classes[1]
    raised = _separator(Phi, second)
    title = f"a plane gets {_percent(raised.right(Phi, second))} right"
    corners = corners_around(X, 0.12, alone=1.0)
    field = answers(lambda points: raised.score(_coordinates(mapped, points)), corners, resolution)
    flat = _line_title(X, second)
    row = _axes(axes)
    space = in_space(row[-1])
    if len(row) == 2:
        _in_plane(row[0], X, y, field, corners)
        row[0].set_title(flat, fontsize=10)
    w, b = raised.w, raised.b
    if Phi.shape[1] > 3:
        Phi, w, b = _main_directions(Phi, w, b)
        names = ["along the plane", "along the plane", "distance from it"]
        space.view_init(elev=14)  # nearly from the side: what is above and what below shows
    _plane(space, Phi, w, b)
    class_points(space, Phi, y, classes)
    for axis in (space.xaxis, space.yaxis, space.zaxis):
        axis.set_major_locator(MaxNLocator(4))
    space.set(xlabel=names[0], ylabel=names[1], zlabel=names[2])
    space.set_title(title, fontsize=10)
    legend(row[0], loc="upper left")
    return row


def _feature_map(phi: Any, X: np.ndarray) -> tuple[Callable[[np.ndarray], Any], list[str]]:
    """(φ as a function of points, names of its coordinates)"""
    if isinstance(phi, Kernel):
        phi = ExplicitFeatures(phi)
    names = [f"φ{i}(x)" for i in "₁₂₃"]
    if hasattr(phi, "fit") and hasattr(phi, "transform"):
        phi = clone(phi).fit(X)
        if isinstance(phi, ExplicitFeatures):
            # People count from one, and so do the texts.
            names = [str(name) for name in phi.get_feature_names_out(["x₁", "x₂"])]
        return phi.transform, names
    if not callable(phi):
        raise TypeError(f"phi must be a feature map, a kernel or a function of points, got {phi!r}")
    return phi, names


def _coordinates(mapped: Callable[[np.ndarray], Any], X: np.ndarray) -> np.ndarray:
    found = mapped(X)
    Phi = np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=float)
    if Phi.ndim != 2 or len(Phi) != len(X) or Phi.shape[1] < 3:
        raise ValueError(
            f"phi must give at least three coordinates for each of {len(X)} points, got shape {Phi.shape}"
        )
    if not np.isfinite(Phi).all():
        raise ValueError("phi gives coordinates that are missing or infinite: measure X in other units")
    return Phi


class _Separator(NamedTuple):
    """f(z) = w·(z − centre) + height: far from 0, w·z + b would be lost in rounding."""

    w: np.ndarray
    centre: np.ndarray
    height: float

    @property
    def b(self) -> float:
        return self.height - float(self.w @ self.centre)

    def score(self, points: np.ndarray) -> np.ndarray:
        return (points - self.centre) @ self.w + self.height

    def right(self, points: np.ndarray, second: np.ndarray) -> float:
        """The share of points on the side of their class."""
        return float(((self.score(points) > 0) == second).mean())


def _separator(points: np.ndarray, second: np.ndarray) -> _Separator:
    """A support vector machine with a large C, fitted to points about 0 of size 1 in the same proportions."""
    centre = points.mean(axis=0)
    size = float(np.abs(points - centre).max())
    if not size > 0:
        raise ValueError("all points coincide, or φ sends them to one place, so nothing can part them")
    extent = np.ptp(points, axis=0)  # exactly 0 where all agree
    if len(extent) == 3 and (extent[extent > 0] < _SMALLEST * size).any():
        raise ValueError("coordinates differ too much in size to be drawn together: scale the features of X")
    machine = KernelSVC.from_C(_PRICE, kernel=Linear()).fit((points - centre) / size, second)
    w, height = np.ravel(machine.coef_), float(np.ravel(machine.intercept_)[0])
    return _Separator(w / size, centre, height)


def _line_title(X: np.ndarray, second: np.ndarray) -> str:
    """What a line in the plane can do: the best there is, where there are few enough points to find it."""
    if len(X) <= MOST_POINTS:
        return f"the best line gets {_percent(best_line(X, second) / len(X))} right"
    return f"the line of an SVM gets {_percent(_separator(X, second).right(X, second))} right"


def _axes(axes: Any) -> np.ndarray:
    if axes is None:
        from matplotlib import pyplot

        figure = pyplot.figure(figsize=(9, 4.2), layout="constrained")
        axes = [figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2, projection="3d")]
    return panels(axes, (1, 2), "a lift takes two Axes, the second in space, or that one alone", (4.5, 4.2))


def _in_plane(ax: Axes, X: np.ndarray, y: np.ndarray, field: Any, corners: np.ndarray) -> None:
    ax = dressed(ax, "x₁", "x₂", grid=False)
    view(ax, corners)
    U, V, found = field
    if found.min() < 0 < found.max():
        ax.contourf(U, V, found, levels=[found.min(), 0], colors=[COLOURS[0]], alpha=0.12)
        ax.contourf(U, V, found, levels=[0, found.max()], colors=[COLOURS[1]], alpha=0.12)
        ax.contour(U, V, found, levels=[0], colors=[INK], linewidths=1.4)
    class_points(ax, X, y, np.unique(y))
    ax.set_aspect("equal")


def _main_directions(Phi: np.ndarray, w: np.ndarray, b: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Three coordinates of many, in which the plane is horizontal at height 0."""
    length = float(np.linalg.norm(w))
    height = (Phi @ w + b) / length
    within = Phi - Phi.mean(axis=0)
    within = within - np.outer(within @ w, w) / length**2
    *_, directions = np.linalg.svd(within, full_matrices=False)
    return np.column_stack([within @ directions[:2].T, height]), np.array([0.0, 0.0, 1.0]), 0.0


def _plane(space: Any, Phi: np.ndarray, w: np.ndarray, b: float) -> None:
    """The plane w·φ + b = 0 over the box of the points, solved for the coordinate it is steepest in."""
    low, high = Phi.min(axis=0), Phi.max(axis=0)
    room = 0.05 * (high - low)
    k = int(np.argmax(np.abs(w) * np.maximum(high - low, 1e-12)))
    others = [j for j in range(3) if j != k]
    ends = np.array([[low[j] - room[j], high[j] + room[j]] for j in others])
    grid = np.empty((3, 41, 41))
    grid[others] = np.meshgrid(*(np.linspace(end[0], end[1], 41) for end in ends))
    grid[k] = -(b + w[others[0]] * grid[others[0]] + w[others[1]] * grid[others[1]]) / w[k]
    # What leaves the box would shrink the points.
    grid[k][(grid[k] < low[k] - 2 * room[k]) | (grid[k] > high[k] + 2 * room[k])] = np.nan
    space.plot_surface(*grid, color=COLOURS[2], alpha=0.35, linewidth=0, shade=False)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share == 1 or share < 0.995 else f"{100 * share:.1f} %"
