"""A density on a rectangle, constant on each pixel, and its exact integrals over polygons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.voronoi.cells import Rectangle, Rings

# Where Gauss' rule with two points looks, from the middle in half widths: exact for cubic polynomials.
_GAUSS = np.array([-1.0, 1.0]) / np.sqrt(3.0)
# A density given as a function is asked at so many points at once.
_AT_ONCE = 2**20


class PixelDensity:
    """ρ on [0, width] × [0, height], the longer side being 1, constant on each of rows × columns pixels.

    Values are divided by the largest (``peak``), so that no unit is too large or too small.
    """

    def __init__(self, values: np.ndarray, size: np.ndarray):
        """values: the first row is the lowest."""
        self.peak = float(values.max())
        self.values = values / self.peak
        self.size = size
        rows, columns = values.shape
        self.pixel = size / (columns, rows)
        self.x = np.linspace(0.0, size[0], columns + 1)
        # ∫ ρ tᵐ dt along each row from its left end up to each pixel, m = 0, 1, 2.
        self.sums = [
            np.pad(np.cumsum(self.values * np.diff(self.x**m / m), axis=1), ((0, 0), (1, 0)))
            for m in (1, 2, 3)
        ]
        self.mass = float(self.sums[0][:, -1].sum() * self.pixel[1])

    @classmethod
    def of(cls, density: Any, box: Rectangle, resolution: int) -> PixelDensity:
        """From None (uniform), an image whose first row is the top, or a function of points."""
        if density is None:
            values = np.ones((1, 1))
        elif callable(density):
            values = _averages(density, box, resolution)
        else:
            values = _image(density)
        if not values.any():
            raise ValueError("the density is zero everywhere: there is nothing to represent")
        return cls(values, box.size)

    def moments(self, rings: Rings) -> np.ndarray:
        """∫ρ, ∫ρx, ∫ρy, ∫ρx², ∫ρy² over each polygon (corners counter-clockwise): shape (k, 5).

        By Green's theorem ∫ρ dx dy = ∮ F dy, where F(x, y) = ∫₀ˣ ρ(t, y) dt. Edges are cut where they cross
        from pixel to pixel; on a piece F is a polynomial of degree at most 3 (with x² in the integral), which
        Gauss' rule integrates exactly. So the cost goes with the length of the edges, not with areas.
        """
        a, b = rings.corners, rings.corners[rings.next]
        edge, start, end = self._pieces(a, b)
        owner, k = rings.owner[edge], len(rings.counts)
        middle, half = (start + end) / 2, (end - start) / 2
        direction = b[edge] - a[edge]
        inside = a[edge] + middle[:, None] * direction
        last = np.array(self.values.T.shape) - 1
        column, row = np.minimum((inside / self.pixel).astype(int), last).T
        rho, left = self.values[row, column], self.x[column]
        before = [sums[row, column] for sums in self.sums]
        total = np.zeros((5, k))
        for shift in _GAUSS:
            x, y = (a[edge] + (middle + shift * half)[:, None] * direction).T
            F0, F1, F2 = (f + rho * (x**m - left**m) / m for m, f in enumerate(before, start=1))
            for i, f in enumerate((F0, F1, F0 * y, F2, F0 * y**2)):
                total[i] += np.bincount(owner, f * half * direction[:, 1], minlength=k)
        return total.T

    def _pieces(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Edges a→b cut at the lines between pixels: for each piece its edge and, along it, start and end."""
        edges = np.arange(len(a))
        owners, places = [edges, edges], [np.zeros(len(a)), np.ones(len(a))]
        for axis in (0, 1):
            u, v = a[:, axis] / self.pixel[axis], b[:, axis] / self.pixel[axis]
            first = np.floor(np.minimum(u, v)) + 1
            count = np.maximum(np.ceil(np.maximum(u, v)) - first, 0).astype(int)
            edge = np.repeat(edges, count)
            line = first[edge] + np.arange(len(edge)) - np.repeat(np.cumsum(count) - count, count)
            owners.append(edge)
            places.append(np.clip((line - u[edge]) / (v - u)[edge], 0.0, 1.0))
        owner, place = np.concatenate(owners), np.concatenate(places)
        order = np.lexsort((place, owner))
        owner, place = owner[order], place[order]
        same = owner[1:] == owner[:-1]
        return owner[:-1][same], place[:-1][same], place[1:][same]

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n independent points distributed as ρ."""
        p = self.values.ravel() / self.values.sum()
        row, column = np.divmod(rng.choice(p.size, n, p=p), self.values.shape[1])
        return (np.column_stack([column, row]) + rng.random((n, 2))) * self.pixel

    def image(self) -> np.ndarray:
        """The pixels as a picture, first row at the top, in the units they came in."""
        return self.peak * self.values[::-1]


def _image(density: Any) -> np.ndarray:
    image = np.asarray(density)
    if image.ndim != 2 or not image.size or image.dtype.kind not in "buif":
        raise ValueError(
            "density must be None (uniform), a function of points of shape (n, 2), or an image: a 2-D array "
            f"of numbers; got an array of shape {image.shape} and type {image.dtype}"
        )
    return _checked(image.astype(float), "pixels")[::-1]


def _averages(density: Callable[[np.ndarray], Any], box: Rectangle, resolution: int) -> np.ndarray:
    """A function's mean on each pixel, by Gauss' rule with 2 × 2 points."""
    columns, rows = np.maximum(np.ceil(resolution * box.size - 1e-9), 1).astype(int).tolist()
    x, y = (
        (np.arange(count)[:, None] + (1 + _GAUSS) / 2).ravel() * length / count
        for count, length in ((columns, box.size[0]), (rows, box.size[1]))
    )
    values = np.empty(len(x) * len(y))
    step = max(_AT_ONCE // len(x), 1)
    for first in range(0, len(y), step):
        X, Y = np.meshgrid(x, y[first : first + step])
        points = box.outward(np.column_stack([X.ravel(), Y.ravel()]))
        found = np.asarray(density(points), dtype=float)
        if found.shape != (len(points),):
            raise ValueError(
                "density must be vectorised: for points of shape (n, 2) it returns n values; "
                f"for {points.shape} it returned shape {found.shape}"
            )
        values[first * len(x) : first * len(x) + len(found)] = found
    return _checked(values, "values").reshape(rows, 2, columns, 2).mean(axis=(1, 3))


def _checked(values: np.ndarray, what: str) -> np.ndarray:
    if not np.isfinite(values).all():
        raise ValueError(f"the density has {what} that are not finite (nan or infinite)")
    if (values < 0).any():
        raise ValueError(f"a density is never negative, and the smallest of its {what} is {values.min():g}")
    return values
