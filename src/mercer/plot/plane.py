"""What figures of points share: points in the plane or on a line, the window, what a machine says there."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba


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
