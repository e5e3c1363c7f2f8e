"""Axis-parallel rectangles, in any dimension."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.theory.learnability.classes import InSpace, TightestFit
from mercer.theory.learnability.inputs import as_points, beyond, item, show_number, whole


@dataclass(frozen=True)
class Box:
    """The points x with low ≤ x ≤ high in every coordinate.

    Examples
    --------
    >>> from mercer.theory.learnability import Box
    >>> box = Box((0, 0), (2, 1))
    >>> print(box), box.volume, box([[1, 1], [3, 0]]).tolist()
    [0, 2] × [0, 1]
    (None, 2, [True, False])
    """

    low: tuple[Any, ...]
    high: tuple[Any, ...]

    def __call__(self, X: Any) -> np.ndarray:
        X = as_points(X, len(self.low))
        low, high = (np.array(v, dtype=object if X.dtype == object else None) for v in (self.low, self.high))
        return ((low <= X) & (high >= X)).all(axis=1)

    @property
    def volume(self) -> Any:
        """Length, area, …"""
        return math.prod(b - a for a, b in zip(self.low, self.high, strict=True))

    def __str__(self) -> str:
        sides = zip(self.low, self.high, strict=True)
        return " × ".join(f"[{show_number(a)}, {show_number(b)}]" for a, b in sides)


class Rectangles(TightestFit, InSpace):
    """Axis-parallel rectangles [a₁, b₁] × … × [a_d, b_d]; what is found is the tightest fit.

    The smallest rectangle that holds all positive examples is consistent, or nothing is. It lies within the
    target, so that it errs in 2d strips along the sides only; that gives m ≥ (2d/ε) ln(2d/δ), in the plane
    (4/ε) ln(4/δ), see `sample_size`.

    Parameters
    ----------
    d : int or None
        Coordinates of a point; None takes them from the points.

    Examples
    --------
    >>> from mercer.theory.learnability import Rectangles, shatters
    >>> print(Rectangles(2).learn([[1, 1], [3, 2], [5, 5]], [1, 1, 0]))
    [1, 3] × [1, 2]
    >>> bool(shatters(Rectangles(2), [[0, 1], [0, -1], [1, 0], [-1, 0]]))
    True
    >>> Rectangles(3).vc_dimension
    6
    """

    def __init__(self, d=None):
        self.d = d

    @property
    def vc_dimension(self):
        return None if self.d is None else 2 * self.d

    parts = vc_dimension
    numbers = "a₁ b₁ a₂ b₂ …, for [a₁, b₁] × [a₂, b₂] × …"
    why = (
        "the 2d points ±e_j are shattered, because the tightest fit to some of them holds no other; "
        "of 2d + 1 points label one leftmost and one rightmost in every coordinate +: their rectangle "
        "holds all the others, of which one may be −"
    )

    def growth(self, n):
        n = whole("n", n, 0)
        return n * (n + 1) // 2 + 1 if self.d == 1 else None

    def candidates(self, n, rng):
        d = self.dimension()
        if n <= 2 * d:
            yield np.vstack([np.eye(d, dtype=int), -np.eye(d, dtype=int)])[:n]
        while True:
            yield rng.standard_normal((n, d))

    def tightest(self, X):
        return Box(tuple(map(item, X.min(axis=0))), tuple(map(item, X.max(axis=0))))

    def elsewhere(self, X):
        far = [beyond(column) for column in X.T]
        return Box(tuple(far), tuple(a + 1 for a in far))

    def from_numbers(self, values):
        if not values or len(values) % 2 or (self.d is not None and len(values) != 2 * self.d):
            raise ValueError(f"give {2 * self.d if self.d else 'two times d'} numbers, not {len(values)}")
        low, high = tuple(values[::2]), tuple(values[1::2])
        if any(a > b for a, b in zip(low, high, strict=True)):
            raise ValueError("no a may be above its b")
        return Box(low, high)
