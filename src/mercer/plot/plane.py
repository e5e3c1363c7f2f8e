"""What figures of points share: points in the plane or on a line, the window, what a machine says there."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba

from mercer.plot.style import MANY_COLOURS, MARKERS, number


def features(X: Any, count: int, what: str) -> np.ndarray:
    """Points with one coordinate or two, or an error that says what has so many."""
    X = np.asarray(X, dtype=float)
    if X.ndim != 2 or X.shape[1] != count:
        need = "in the plane need two features" if count == 2 else "needs one feature"
        raise ValueError(f"{what} {need}: X must have shape (n, {count}), got {X.shape}")
    return X


def window(ax: Axes, points: np.ndarray, margin: float, alone: float | None = None) -> np.ndarray:
    """Show these points and a margin, a share of their extent; returns the corners, ((left, bottom), …).

    Where all points agree in a coordinate, the margin is that share of `alone`.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    room = margin * np.where((high > low) | (alone is None), high - low, alone or 0.0)
    corners = np.array([low - room, high + room])
    ax.set_xlim(*corners[:, 0])
    ax.set_ylim(*corners[:, 1])
    return corners


def answers(
    method: Callable[[np.ndarray], Any], corners: np.ndarray, resolution: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(U, V, what a machine says there) on a grid between two corners."""
    U, V = np.meshgrid(*np.linspace(corners[0], corners[1], resolution).T)
    found = np.asarray(asked(method, np.column_stack([U.ravel(), V.ravel()])))
    return U, V, found.reshape(*U.shape, *found.shape[1:])


def asked(method: Callable[[np.ndarray], Any], points: np.ndarray) -> Any:
    """What a machine says of a figure's own points, whatever its features were called at fit."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return method(points)


def tinted(strength: np.ndarray, colour: str) -> np.ndarray:
    """An image in one colour, as opaque at every place as its strength there, from 0 to 1."""
    image = np.empty((*strength.shape, 4))
    image[:] = to_rgba(colour)
    image[..., 3] = strength
    return image


def on_white(image: np.ndarray) -> np.ndarray:
    """A tinted image on white paper: what text on it needs, to be read on a light page and on a dark one."""
    return image[..., :3] * image[..., 3:] + 1 - image[..., 3:]


def text_on(strength: float) -> str:
    """The colour in which text is read on such a tint `on_white`: dark, but white where it is strong."""
    return "white" if strength > 0.75 else "#30363c"


def told_apart(classes: Any) -> Any:
    """These classes, if there are not too many to be told apart by colour."""
    if len(classes) > len(MANY_COLOURS):
        raise ValueError(
            f"at most {len(MANY_COLOURS)} classes can be told apart by colour, got {len(classes)}: "
            "draw some of them, or fit fewer"
        )
    return classes


def class_points(ax: Axes, X: np.ndarray, y: np.ndarray, classes: Any, size: float = 5.0) -> None:
    """Points of the plane, each class in its own colour and marker."""
    edge: Any = {"markeredgecolor": to_rgba("white", 0.8), "markeredgewidth": 0.5}
    for label, marker, colour in zip(classes, MARKERS, MANY_COLOURS, strict=False):
        ax.plot(*X[y == label].T, marker, color=colour, markersize=size, **edge, label=str(label))


def shares(machine: Any, points: np.ndarray) -> np.ndarray:
    """Probabilities of all classes, a row a point; 0 and 1 where a machine has none."""
    if hasattr(machine, "predict_proba"):
        return machine.predict_proba(points)
    return (machine.predict(points)[:, None] == machine.classes_[None, :]).astype(float)


def two_classes(machine: Any, y: Any, n: int, what: str) -> np.ndarray:
    """Is each of n examples one of the second class? Refused unless the machine tells two classes apart."""
    classes = getattr(machine, "classes_", None)
    if classes is None or not hasattr(machine, "predict_proba"):
        raise TypeError(f"{what} needs a fitted classifier with predict_proba, such as KernelLogistic")
    if len(classes) != 2:
        raise ValueError(f"{what} is drawn for two classes, and here are {len(classes)}")
    y = np.asarray(y)
    if y.shape != (n,) or not np.isin(y, classes).all():
        raise ValueError(f"y must have one of the classes {list(classes)} for each of {n} points")
    return y == classes[1]


def named(machines: Any) -> list[tuple[str, Any]]:
    """[(what it is called, machine)] of a machine, a sequence of them, or a dict of names and machines.

    Those without a name are called by the norm of their function, where there is one.
    """
    if isinstance(machines, Mapping):
        found = [(str(name), machine) for name, machine in machines.items()]
    else:
        many = machines if isinstance(machines, (list, tuple)) else [machines]
        found = [(_own_name(machine), machine) for machine in many]
    if not found:
        raise ValueError("there is no machine to draw: give at least one")
    return found


def _own_name(machine: Any) -> str:
    if (f := getattr(machine, "function_", None)) is not None:
        return f"‖f‖ = {number(f.norm())}"
    return type(machine).__name__
