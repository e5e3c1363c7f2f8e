"""Voronoi cells of points in a rectangle, as convex polygons.

Computations are done where the rectangle's lower left corner is 0 and its longer side 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

UNIT_SQUARE = ((0.0, 1.0), (0.0, 1.0))
# Corners closer than this (the rectangle's longer side being 1) are one corner, split by rounding.
_SAME = 1e-11


@dataclass(frozen=True, eq=False)
class Cells:
    """A rectangle divided among centres. Iterating gives the polygons.

    Attributes
    ----------
    polygons : tuple of arrays, shape (corners, 2)
        One convex polygon a centre, corners counter-clockwise; no corners where a centre coincides with an
        earlier one, which has the cell.
    areas : array, shape (k,)
    sides : number of edges, those on the border of the rectangle included; shape (k,)
    inner : cells that don't touch the border: all their sides are shared with neighbours; shape (k,)

    Examples
    --------
    >>> from mercer.voronoi import cells
    >>> found = cells([[0.25, 0.5], [0.75, 0.5]])
    >>> len(found), found.areas.tolist(), [polygon.shape for polygon in found]
    (2, [0.5, 0.5], [(4, 2), (4, 2)])
    """

    polygons: tuple[np.ndarray, ...]
    areas: np.ndarray
    sides: np.ndarray
    inner: np.ndarray

    def __len__(self) -> int:
        return len(self.polygons)

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self.polygons)

    def __getitem__(self, index: int) -> np.ndarray:
        return self.polygons[index]

    @property
    def hexagons(self) -> float:
        """The share of six-sided cells among the inner ones; nan if there are none."""
        return float(np.mean(self.sides[self.inner] == 6)) if self.inner.any() else float("nan")


def cells(centres: Any, rectangle: Any = UNIT_SQUARE) -> Cells:
    """The points of a rectangle that are closer to one centre than to any other, for each centre.

    V_i = {x : |x − c_i| ≤ |x − c_j| for all j}.

    Centres, shape (k, 2), lie inside of the rectangle ((left, right), (bottom, top)).

    Examples
    --------
    >>> two = cells([[0.25, 0.5], [0.75, 0.5]])
    >>> two.areas.tolist(), two.sides.tolist()
    ([0.5, 0.5], [4, 4])
    >>> sorted(two[0].tolist())
    [[0.0, 0.0], [0.0, 1.0], [0.5, 0.0], [0.5, 1.0]]
    """
    box = Rectangle(rectangle)
    rings = unit_cells(box.inward(box.points(centres)), box.size)
    border = ((rings.corners <= _SAME) | (rings.corners >= box.size - _SAME)).any(axis=1)
    touching = np.bincount(rings.owner[border], minlength=len(rings.counts))
    sides, inner = rings.counts, (touching == 0) & (rings.counts > 0)
    areas = box.scale**2 * rings.areas()
    polygons = tuple(np.split(box.outward(rings.corners), np.cumsum(sides)[:-1]))
    for array in (*polygons, areas, sides, inner):
        array.flags.writeable = False
    return Cells(polygons, areas, sides, inner)


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


class Rings:
    """Polygons in one array: their corners one after the other, and how many each has."""

    def __init__(self, corners: np.ndarray, owner: np.ndarray, k: int):
        self.corners, self.owner = corners, owner
        self.counts = np.bincount(owner, minlength=k)
        self.first = np.cumsum(self.counts) - self.counts
        # The corner after each: the next in the array, but for the last of a polygon its first.
        self.next = np.arange(1, len(corners) + 1)
        some = self.counts > 0
        self.next[(self.first + self.counts)[some] - 1] = self.first[some]

    def kept(self, which: np.ndarray) -> Rings:
        """Only these corners."""
        return Rings(self.corners[which], self.owner[which], len(self.counts))

    def areas(self) -> np.ndarray:
        """½ Σ (x_j y_{j+1} − x_{j+1} y_j), seen from the first corner; positive if counter-clockwise."""
        seen = self.corners - self.corners[self.first[self.owner]]
        x, y = seen.T
        u, v = seen[self.next].T
        return np.bincount(self.owner, (x * v - u * y) / 2, minlength=len(self.counts))

    def turned(self) -> Rings:
        """All counter-clockwise."""
        position = np.arange(len(self.owner)) - self.first[self.owner]
        mirrored = self.first[self.owner] + self.counts[self.owner] - 1 - position
        clockwise = self.areas()[self.owner] < 0
        index = np.where(clockwise, mirrored, np.arange(len(self.owner)))
        return Rings(self.corners[index], self.owner, len(self.counts))

    def cut(self, axis: int, bound: float, sign: float) -> Rings:
        """The part of convex polygons where sign · (x_axis − bound) ≥ 0."""
        depth = sign * (self.corners[:, axis] - bound)
        inside = depth >= 0
        if inside.all():
            return self
        crossing = inside != inside[self.next]
        share = depth / np.where(crossing, depth - depth[self.next], 1.0)
        place = self.corners + share[:, None] * (self.corners[self.next] - self.corners)
        place[:, axis] = bound
        # Each corner, if it is inside, and then the place where the edge after it crosses the line.
        both = np.stack([self.corners, place], axis=1).reshape(-1, 2)
        stays = np.column_stack([inside, crossing]).ravel()
        return Rings(both[stays], np.repeat(self.owner, 2)[stays], len(self.counts))


def unit_cells(points: np.ndarray, size: np.ndarray) -> Rings:
    """The cells in [0, width] × [0, height], the longer side being 1."""
    from scipy.spatial import Voronoi

    # Four points far away make all cells bounded. Each point of the rectangle is closer to any centre than
    # to them, so that inside nothing changes.
    x, y = size / 2
    far = np.array([[-4.0, y], [5.0, y], [x, -4.0], [x, 5.0]])
    diagram = Voronoi(np.vstack([points, far]))
    # Coincident points share a region; the first of them has it.
    regions, owners = np.unique(diagram.point_region[: len(points)], return_index=True)
    order = np.argsort(owners)
    listed = [diagram.regions[region] for region in regions[order].tolist()]
    index = np.fromiter(chain.from_iterable(listed), dtype=int)
    owner = np.repeat(owners[order], [len(region) for region in listed])
    rings = Rings(diagram.vertices[index], owner, len(points))
    for axis in (0, 1):
        rings = rings.cut(axis, 0.0, 1.0).cut(axis, size[axis], -1.0)
    rings = rings.kept(np.abs(rings.corners[rings.next] - rings.corners).max(axis=1) > _SAME)
    return rings.kept(rings.counts[rings.owner] >= 3).turned()
