"""Intervals on the line, their unions, and axis-parallel rectangles in any dimension."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from mercer._params import require_count
from mercer.theory.learnability.classes import HypothesisClass, InSpace, TightestFit, sauer_bound
from mercer.theory.learnability.inputs import as_points, beyond, count_of, item, show_number


@dataclass(frozen=True)
class Interval:
    """The points from low to high; closed, or without its right end.

    Examples
    --------
    >>> h = Intervals().consistent([1, 2, 3], "-++")
    >>> h, str(h), h([2, 2.5, 4]).tolist()
    (Interval(low=2, high=3), '[2, 3]', [True, True, False])
    """

    low: Any
    high: Any
    closed: bool = True

    def __call__(self, X: Any) -> np.ndarray:
        x = as_points(X, 1)[:, 0]
        below = x <= self.high if self.closed else x < self.high
        return ((x >= self.low) & below).astype(bool)

    def __str__(self) -> str:
        return f"[{show_number(self.low)}, {show_number(self.high)}{']' if self.closed else ')'}"

    def __repr__(self) -> str:
        return f"Interval(low={self.low}, high={self.high}{'' if self.closed else ', closed=False'})"


@dataclass(frozen=True)
class IntervalUnion:
    """The points that lie in any of some intervals.

    Examples
    --------
    >>> print(UnionsOfIntervals(2).consistent([1, 2, 3, 4], "+-++"))
    [1, 1] ∪ [3, 4]
    """

    intervals: tuple[Interval, ...]

    def __call__(self, X: Any) -> np.ndarray:
        return np.any([h(X) for h in self.intervals], axis=0)

    def __str__(self) -> str:
        return " ∪ ".join(map(str, self.intervals))


@dataclass(frozen=True)
class Box:
    """The points x with low ≤ x ≤ high in every coordinate.

    Examples
    --------
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
        return " × ".join(str(Interval(*side)) for side in zip(self.low, self.high, strict=True))


class _OnTheLine(HypothesisClass):
    """Points are numbers; sets worth trying are 1, 2, …, n, and random ones. Sauer's bound is attained."""

    vc_dimension: int

    def points(self, X):
        return as_points(X, 1)

    def candidates(self, n, rng):
        yield np.arange(1, n + 1)[:, None]
        while True:
            yield rng.uniform(0, 1, (n, 1))

    def growth(self, n):
        return sauer_bound(n, self.vc_dimension)


class LeftIntervals(_OnTheLine):
    """Intervals [0, a), a > 0: the left end is fixed.

    What is found is the longest that holds no negative example, so it can err on one side only.

    Examples
    --------
    >>> from mercer.theory.learnability import LeftIntervals, shatters
    >>> H = LeftIntervals()
    >>> print(H.consistent([1, 2, 5], [1, 1, 0]))
    [0, 5)
    >>> bool(shatters(H, [3])), bool(shatters(H, [3, 4]))
    (True, False)
    >>> H.vc_dimension, H.growth(10)
    (1, 11)
    """

    vc_dimension, parts, numbers = 1, 1, "a, for [0, a)"
    why = (
        "a point x > 0 is + for a > x and − for a ≤ x; of two points 0 < x < z, whatever holds z holds "
        "x, so -+ is never realised (and points below 0 are always −)"
    )

    def find(self, X, y):
        x = X[:, 0]
        if (x[y] < 0).any():
            return None
        right = x[~y & (x >= 0)]
        if len(right):
            a = right.min()
            return Interval(0, item(a), closed=False) if a > 0 and (x[y] < a).all() else None
        return Interval(0, beyond(x[y]), closed=False)

    def from_numbers(self, values):
        (a,) = count_of(values, 1)
        if not a > 0:
            raise ValueError("a must be above 0")
        return Interval(0, a, closed=False)


class Intervals(TightestFit, _OnTheLine):
    """Closed intervals [a, b], a ≤ b. What is found is the shortest that holds all positive examples.

    The text asks for a < b, which on finitely many points makes no difference.

    Examples
    --------
    >>> from mercer.theory.learnability import Intervals, shatters
    >>> H = Intervals()
    >>> bool(shatters(H, [0, 1]))
    True
    >>> print(shatters(H, [0, 1, 2]))
    Intervals() does not shatter these 3 points: no hypothesis labels them +-+.
    >>> H.vc_dimension, H.growth(10)
    (2, 56)
    """

    vc_dimension, parts, numbers = 2, 2, "a b, for [a, b]"
    why = (
        "two points: none, one or both lie in an interval, as one likes; of three, an interval that "
        "holds the outer two holds the inner one, so +-+ is never realised"
    )

    def tightest(self, X):
        return Interval(item(X.min()), item(X.max()))

    def elsewhere(self, X):
        far = beyond(X[:, 0])
        return Interval(far, far + 1)

    def from_numbers(self, values):
        a, b = count_of(values, 2)
        if a > b:
            raise ValueError("a must not be above b")
        return Interval(a, b)


class UnionsOfIntervals(_OnTheLine):
    """Unions of at most k closed intervals.

    Examples
    --------
    >>> from mercer.theory.learnability import UnionsOfIntervals, shatters
    >>> H = UnionsOfIntervals(2)
    >>> bool(shatters(H, [1, 2, 3, 4])), shatters(H, [1, 2, 3, 4, 5]).defeat
    (True, '+-+-+')
    >>> H.vc_dimension, H.growth(5)                  # 31 of 32
    (4, 31)
    """

    def __init__(self, k=2):
        self.k = k

    def validate(self):
        require_count(self.k, "k")

    @property
    def vc_dimension(self):
        return 2 * self.k

    @property
    def why(self):
        k = self.k
        return (
            f"a labelling of points in order is realised if its + form at most {k} runs; {2 * k} points "
            f"have no more, but {2 * k + 1} labelled +-+…+ have {k + 1}"
        )

    def find(self, X, y):
        if not y.any():
            return IntervalUnion((Intervals().elsewhere(X),))
        places: dict[Any, bool] = {}
        for value, label in zip(map(item, X[:, 0]), y.tolist(), strict=True):
            if places.setdefault(value, label) != label:
                return None  # one place, two labels
        runs = [list(run) for inside, run in groupby(sorted(places), key=places.__getitem__) if inside]
        return IntervalUnion(tuple(Interval(r[0], r[-1]) for r in runs)) if len(runs) <= self.k else None

    def from_numbers(self, values):
        if not values or len(values) % 2 or len(values) > 2 * self.k:
            raise ValueError(f"give two numbers an interval, for at most {self.k} intervals")
        pairs = zip(values[::2], values[1::2], strict=True)
        return IntervalUnion(tuple(Intervals().from_numbers(list(pair)) for pair in pairs))

    @property
    def numbers(self):
        return f"a b c d …, for [a, b] ∪ [c, d] ∪ …, at most {self.k} of them"


class Rectangles(TightestFit, InSpace):
    """Axis-parallel rectangles [a₁, b₁] × … × [a_d, b_d]; what is found is the tightest fit.

    The smallest rectangle that holds all positive examples is consistent, or nothing is. It lies within the
    target, so that it errs in 2d strips along the sides only; that gives m ≥ (2d/ε) ln(2d/δ), in the plane
    (4/ε) ln(4/δ), see `sample_size`.

    Points have d coordinates; None takes their number from the points.

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

    parts, parts_each = vc_dimension, 2
    numbers = "a₁ b₁ a₂ b₂ …, for [a₁, b₁] × [a₂, b₂] × …"
    why = (
        "the 2d points ±e_j are shattered, because the tightest fit to some of them holds no other; "
        "of 2d + 1 points label one leftmost and one rightmost in every coordinate +: their rectangle "
        "holds all the others, of which one may be −"
    )

    def growth(self, n):
        return sauer_bound(n, 2) if self.d == 1 else None

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
