"""A rectangle, and the coordinates computations are done in: lower left corner at 0, longer side 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

UNIT_SQUARE = ((0.0, 1.0), (0.0, 1.0))


@dataclass(frozen=True)
class Rectangle:
    """[left, right] × [bottom, top]."""

    left: float
    right: float
    bottom: float
    top: float

    @classmethod
    def of(cls, value: Any) -> Rectangle:
        """From ((left, right), (bottom, top)), which is checked."""
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
        lengths = sides[:, 1] - sides[:, 0]
        # Beyond these, coordinates could not be told apart, or areas would overflow.
        spacing = np.spacing(np.abs(sides).max())
        if not ((lengths > 1e6 * spacing) & (lengths > 1e-60) & (lengths < 1e60)).all():
            raise ValueError(message)
        return cls(*(float(x) for x in sides.ravel()))

    @property
    def sides(self) -> tuple[tuple[float, float], tuple[float, float]]:
        return (self.left, self.right), (self.bottom, self.top)

    @property
    def corner(self) -> np.ndarray:
        return np.array([self.left, self.bottom])

    @property
    def lengths(self) -> np.ndarray:
        return np.array([self.right - self.left, self.top - self.bottom])

    @property
    def area(self) -> float:
        return float(self.lengths.prod())

    @property
    def scale(self) -> float:
        return float(self.lengths.max())

    @property
    def size(self) -> np.ndarray:
        """Width and height where the longer side is 1."""
        return self.lengths / self.scale

    def inward(self, points: np.ndarray) -> np.ndarray:
        """Points in computing coordinates."""
        return np.clip((points - self.corner) / self.scale, 0.0, self.size)

    def outward(self, points: np.ndarray) -> np.ndarray:
        """Computed points in the rectangle's own coordinates."""
        high = np.array([self.right, self.top])
        return np.clip(self.corner + self.scale * points, self.corner, high)

    def points(self, value: Any) -> np.ndarray:
        """An array of points inside, shape (k, 2), checked."""
        points = np.array(value, dtype=float)
        if points.ndim != 2 or points.shape[1] != 2 or not len(points):
            raise ValueError(f"centres must be points in the plane, shape (k, 2), k ≥ 1; got {points.shape}")
        if not np.isfinite(points).all():
            raise ValueError("centres must be finite numbers")
        outside = ((points < self.corner) | (points > [self.right, self.top])).any(axis=1)
        if outside.any():
            first = points[outside][0].tolist()
            raise ValueError(
                f"{int(outside.sum())} of {len(points)} centres lie outside of the rectangle {self.sides}, "
                f"the first at {first}: move them inside, or pass a larger rectangle"
            )
        return points
