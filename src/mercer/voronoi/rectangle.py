"""A rectangle, and the coordinates computations are done in: lower left corner at 0, longer side 1."""

from __future__ import annotations

from typing import Any

import numpy as np

UNIT_SQUARE = ((0.0, 1.0), (0.0, 1.0))


class Rectangle:
    """[left, right] × [bottom, top], from ((left, right), (bottom, top)), which is checked."""

    def __init__(self, value: Any):
        message = (
            "rectangle must be ((left, right), (bottom, top)), finite, with left < right and bottom < top; "
            f"got {value!r}"
        )
        try:
            sides = np.asarray(value, dtype=float)
        except (TypeError, ValueError) as error:
            raise ValueError(message) from error
        if sides.shape != (2, 2) or not np.isfinite(sides).all():
            raise ValueError(message)
        self.low, self.high = sides.T
        self.lengths = self.high - self.low
        # Beyond these, coordinates could not be told apart, or areas would overflow.
        least = max(1e6 * np.spacing(np.abs(sides).max()), 1e-60)
        if not ((self.lengths > least) & (self.lengths < 1e60)).all():
            raise ValueError(message)
        (left, right), (bottom, top) = sides.tolist()
        self.sides = (left, right), (bottom, top)
        self.area, self.scale = float(self.lengths.prod()), float(self.lengths.max())
        # Width and height where the longer side is 1.
        self.size = self.lengths / self.scale

    def inward(self, points: np.ndarray) -> np.ndarray:
        """Points in computing coordinates."""
        return np.clip((points - self.low) / self.scale, 0.0, self.size)

    def outward(self, points: np.ndarray) -> np.ndarray:
        """Computed points in the rectangle's own coordinates."""
        return np.clip(self.low + self.scale * points, self.low, self.high)

    def points(self, value: Any) -> np.ndarray:
        """An array of points inside, shape (k, 2), checked."""
        points = np.array(value, dtype=float)
        if points.ndim != 2 or points.shape[1] != 2 or not len(points):
            raise ValueError(f"centres must be points in the plane, shape (k, 2), k ≥ 1; got {points.shape}")
        if not np.isfinite(points).all():
            raise ValueError("centres must be finite numbers")
        outside = ((points < self.low) | (points > self.high)).any(axis=1)
        if outside.any():
            first = points[outside][0].tolist()
            raise ValueError(
                f"{int(outside.sum())} of {len(points)} centres lie outside of the rectangle {self.sides}, "
                f"the first at {first}: move them inside, or pass a larger rectangle"
            )
        return points
