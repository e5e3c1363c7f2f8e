"""What figures of points share: checked examples, the window, what a machine says there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from scipy.sparse import issparse

from mercer._params import require_count
from mercer._warnings import unheard
from mercer.kernels import Precomputed
from mercer.plot.style import MANY_COLOURS, MARKERS, number
from mercer.plot.text import plain

# Coordinates beyond these can't be squared, or are no longer told apart by what draws them.
_LARGEST, _LEAST = 1e140, 1e-140
# How far all points may lie from 0, in units of the room around them, for that room to be seen.
_FAR = 1e6


def finite(X: Any, what: str) -> np.ndarray:
    """Numbers that can be drawn: at least one, none missing, none too large or too close to each other."""
    if issparse(X):
        raise ValueError(f"{what}: X is sparse, and points that are drawn are not: pass X.toarray()")
    try:
        X = np.asarray(X, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what}: X must be an array of numbers ({error})") from error
    if not X.size:
        raise ValueError(f"{what}: X is empty, so there is nothing to draw")
    if not np.isfinite(X).all():
        raise ValueError(f"{what}: X has entries that are missing or infinite: leave these rows out")
    apart = np.ptp(X, axis=0).max()
    if np.abs(X).max() > _LARGEST or 0 < apart < _LEAST:
        raise ValueError(
            f"{what}: coordinates above {_LARGEST:g}, or less than {_LEAST:g} apart, can't be drawn: "
            "measure X in other units"
        )
    return X


def features(X: Any, count: int, what: str) -> np.ndarray:
    """Points with one coordinate or two, or an error that says what has so many."""
    shape = np.shape(X)
    if not issparse(X) and (len(shape) != 2 or shape[1] != count):
        need = " in the plane: two features are needed" if count == 2 else ": one feature is needed"
        raise ValueError(f"{what}{need}, X of shape (n, {count}), got {shape}")
    return finite(X, what)


def labels_of(y: Any, n: int) -> np.ndarray:
    """One label for each of n points, none of them missing; a column (n, 1) is taken for what it holds."""
    y = np.asarray(y)
    y = y[:, 0] if y.shape == (n, 1) else y
    if y.shape != (n,):
        raise ValueError(f"y must have one label a point: shape ({n},), got {y.shape}")
    if any(_missing(label) for label in y.tolist()):
        raise ValueError("some labels are missing (None or NaN): leave these points out, or name them")
    try:
        np.unique(y)
    except TypeError as error:
        raise ValueError(f"labels must be of one kind, all text or all numbers ({error})") from error
    return y


def _missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):  # what pandas calls missing is neither equal nor unequal to itself
        return True


def classes_of(machine: Any, count: int, what: str) -> Any:
    """The classes of a fitted classifier of points with so many coordinates, or an error that tells why."""
    classes = getattr(machine, "classes_", None)
    if classes is None or np.ndim(classes) != 1:
        raise TypeError(f"{what}: a fitted classifier is needed, and this {type(machine).__name__} is none")
    if len(classes) < 2:
        raise ValueError(f"{what}: two classes or more are needed, and the machine knows only {classes[0]}")
    kernel = getattr(machine, "kernel", None)
    if isinstance(kernel, Precomputed) or (isinstance(kernel, str) and kernel == "precomputed"):
        raise ValueError(
            f"{what}: a precomputed kernel knows nothing of new points, at which a machine is asked"
        )
    wants = getattr(machine, "n_features_in_", count)
    if wants != count:
        raise ValueError(f"{what}: points here have {count} features, and the machine takes {wants}")
    return classes


def examples(X: Any, y: Any, count: int, what: str, machine: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """(points, their labels), checked against each other and against what a machine knows."""
    X = features(X, count, what)
    y = labels_of(y, len(X))
    if machine is not None:
        classes = np.asarray(classes_of(machine, count, what)).tolist()
        known = set(classes)
        # Not `np.isin`, to which the text "True" is the same as the truth value.
        if strange := [label for label in y.tolist() if label not in known]:
            raise ValueError(
                f"y must have one of the classes {classes} for each of {len(X)} points, got {strange[0]!r}"
            )
    return X, y


def corners_around(points: np.ndarray, margin: float, alone: float | None = None) -> np.ndarray:
    """((left, bottom), (right, top)) of these points and a margin, a share of their extent.

    Where all points agree in a coordinate, the margin is that share of `alone`.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    extent = high - low
    if alone is not None:
        extent = np.where(extent > 0, extent, np.maximum(alone, np.abs(low) / _FAR))
    return np.array([low - margin * extent, high + margin * extent])


def window(ax: Axes, points: np.ndarray, margin: float, alone: float | None = None) -> np.ndarray:
    """Show the corners around these points, and return them."""
    corners = corners_around(points, margin, alone)
    view(ax, corners)
    return corners


def view(ax: Axes, corners: np.ndarray) -> None:
    """Show what lies between two corners."""
    for scale, least in zip((ax.get_xscale(), ax.get_yscale()), corners[0], strict=True):
        if scale == "log" and least <= 0:
            raise ValueError("what is drawn reaches below 0, where a logarithmic axis ends: give linear Axes")
    ax.set_xlim(*corners[:, 0])
    ax.set_ylim(*corners[:, 1])


def answers(
    method: Callable[[np.ndarray], Any], corners: np.ndarray, resolution: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(U, V, what a machine says there) on a grid between two corners."""
    sides = np.linspace(corners[0], corners[1], require_count(resolution, "resolution", 2)).T
    U, V = np.meshgrid(*sides)
    found = np.asarray(asked(method, np.column_stack([U.ravel(), V.ravel()])))
    if found.ndim == 0 or len(found) != U.size:
        raise ValueError(f"one answer is needed for each of {U.size} points, got shape {found.shape}")
    return U, V, found.reshape(*U.shape, *found.shape[1:])


def between(low: float, high: float, resolution: int) -> np.ndarray:
    """So many places on a line."""
    return np.linspace(low, high, require_count(resolution, "resolution", 2))


def asked(method: Callable[[np.ndarray], Any], points: np.ndarray) -> Any:
    """What a machine says of a figure's own points, whatever its features were called at fit."""
    with unheard(UserWarning):
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


def text_on(fill: Any) -> str:
    """Black or white, whichever is read better on a colour; on any, one of them has a contrast above 4.5."""
    values = np.asarray(fill, dtype=float)[:3]
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    light = float(linear @ [0.2126, 0.7152, 0.0722])
    return "white" if 1.05 / (light + 0.05) > (light + 0.05) / 0.05 else "black"


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
        ax.plot(*X[y == label].T, marker, color=colour, markersize=size, **edge, label=plain(label))


def shares(machine: Any, points: np.ndarray) -> np.ndarray:
    """Probabilities of all classes, a row a point; 0 and 1 where a machine has none."""
    if hasattr(machine, "predict_proba"):
        return machine.predict_proba(points)
    return (machine.predict(points)[:, None] == machine.classes_[None, :]).astype(float)


def two_classes(machine: Any, X: Any, y: Any, count: int, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Checked examples, as by `examples`, of a machine that gives two classes their probabilities."""
    classes = getattr(machine, "classes_", None)
    if classes is None or not hasattr(machine, "predict_proba"):
        raise TypeError(f"{what} needs a fitted classifier with predict_proba, such as KernelLogistic")
    if len(classes) != 2:
        raise ValueError(f"{what} is drawn for two classes, and here are {len(classes)}")
    return examples(X, y, count, what, machine)


def same_classes(machines: list[tuple[str, Any]]) -> None:
    """Refuse machines of which one takes for the second class what is another class to the others."""
    first, *others = (np.asarray(getattr(machine, "classes_", ())).tolist() for _, machine in machines)
    for classes in others:
        if classes != first:
            raise ValueError(f"machines that are compared have the same classes: {first} is not {classes}")


def named(machines: Any) -> list[tuple[str, Any]]:
    """[(what it is called, machine)] of a machine, a sequence of them, or a dict of names and machines.

    Those without a name are called by the norm of their function, where there is one.
    """
    if isinstance(machines, Mapping):
        found = [(plain(name, 60), machine) for name, machine in machines.items()]
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


def symmetric(C: Any, what: str = "a covariance matrix") -> np.ndarray:
    """A square matrix of finite numbers that equals its transpose, as far as rounding lets it."""
    C = np.asarray(C, dtype=float)
    if C.ndim != 2 or C.shape[0] != C.shape[1] or not C.size or not np.isfinite(C).all():
        raise ValueError(f"{what} is square and finite, got shape {C.shape}")
    if not np.allclose(C, C.T, rtol=1e-6, atol=1e-8 * np.abs(C).max()):
        raise ValueError(f"{what} is symmetric, and this one is not")
    return C
