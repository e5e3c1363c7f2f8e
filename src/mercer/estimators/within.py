"""The examples within a radius, in the distance a kernel induces or in any other: all of them, exactly.

A block of rows says who may be within, with room for rounding; the distances of these are computed again in
float64, pair by pair, and decide. What lies on the edge is within.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._threads import cpu_count
from mercer.engines import Engine
from mercer.estimators.distances import Distance, NamedDistance
from mercer.estimators.nearest import NeighbourSearch, diagonal
from mercer.kernels.base import Kernel
from mercer.kernels.dot import Linear
from mercer.kernels.points import double

# Room for rounding in blocks, relative to the numbers they are made of.
_ROOM = 1e-9
# Rows whose candidates a tree finds together.
_ROWS = 4096


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """Some examples near each of n points, one point's after the other's.

    Attributes
    ----------
    starts : (n + 1,) where those of a point begin
    index : positions of the examples
    distances : as many numbers; None where nobody asked
    """

    starts: np.ndarray
    index: np.ndarray
    distances: np.ndarray | None = None

    @classmethod
    def of_table(cls, index: np.ndarray, distances: np.ndarray | None = None) -> Neighbourhoods:
        """Of a table with a row of neighbours a point."""
        n, count = index.shape
        starts = np.arange(0, n * count + 1, count) if count else np.zeros(n + 1, np.intp)
        return cls(starts, index.ravel(), None if distances is None else distances.ravel())

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def counts(self) -> np.ndarray:
        return np.diff(self.starts)

    @property
    def owners(self) -> np.ndarray:
        """Whose neighbour each is."""
        return np.repeat(np.arange(len(self)), self.counts)

    def by_distance(self) -> Neighbourhoods:
        """The nearest first; of equally near ones the first in the data."""
        assert self.distances is not None
        by = np.lexsort((self.index, self.distances, self.owners))
        return Neighbourhoods(self.starts, self.index[by], self.distances[by])

    def in_lists(self, values: np.ndarray) -> np.ndarray:
        """An array of arrays, one a point."""
        lists = np.empty(len(self), dtype=object)
        for i in range(len(self)):
            lists[i] = values[self.starts[i] : self.starts[i + 1]]
        return lists


def within(search: NeighbourSearch, X: Any, radius: Any, engine: Engine) -> Neighbourhoods:
    """The examples at a distance of at most `radius` from each point, in the order of the data.

    X None: from each example, others. The radius is a number, or one for each point.

    >>> from mercer.engines import Tiled
    >>> search = NeighbourSearch(Linear(), np.array([[0.0], [1.0], [3.0]]), "blocks")
    >>> found = within(search, np.array([[0.5], [9.0]]), 0.5, Tiled())
    >>> found.index, found.counts
    (array([0, 1]), array([2, 0]))
    """
    same = X is None
    n = search.points.shape[0] if same else X.shape[0]
    if not same:
        search.require_lengths(X)
    radii = np.broadcast_to(np.asarray(radius, np.float64), (n,))
    plain = _power(search.kernel) if search.order is not None else 0
    if plain and search.way == "tree":
        rows, index, gaps = _by_tree(search, X, radii, plain)
    else:
        rows, index, gaps = _by_blocks(search, X, radii, plain, engine)
    if same:
        others = rows != index
        rows, index, gaps = rows[others], index[others], None if gaps is None else gaps[others]
    d = search.distances(X, index, gaps, rows)
    inside = np.flatnonzero(d <= radii[rows])
    rows, index, d = rows[inside], index[inside], d[inside]
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.intp)
    by = np.lexsort((index, rows))
    return Neighbourhoods(starts, index[by], d[by])


def _power(kernel: Kernel) -> int:
    """Which power of the distance is the norm by which points are ordered; 0 where none is known."""
    if isinstance(kernel, NamedDistance):
        return kernel.power
    return 2 if type(kernel) is Linear else 0


Pairs = tuple[np.ndarray, np.ndarray, Any]


def _by_tree(search: NeighbourSearch, X: Any, radii: np.ndarray, power: int) -> Pairs:
    assert search.order is not None
    p = 1 if search.order.norm == "l1" else 2
    points = double(search.gaps.points if X is None else search.coordinates(search.asked(X)))
    # A tree measures ‖x−z‖ itself; radii of squares have a root.
    reach = radii ** (power / p) * (1 + _ROOM)
    rows: list[np.ndarray] = []
    index: list[np.ndarray] = []
    for a in range(0, len(points), _ROWS):
        part = slice(a, a + _ROWS)
        found = search.tree.query_ball_point(points[part], reach[part], p=p, workers=cpu_count())
        rows.append(np.repeat(np.arange(a, a + len(found)), [len(near) for near in found]))
        index.extend(np.asarray(near, np.intp) for near in found)
    return _joined(rows), _joined(index), None


def _by_blocks(search: NeighbourSearch, X: Any, radii: np.ndarray, power: int, engine: Engine) -> Pairs:
    """Pairs that may be near enough and, where they can't be computed again, their gaps."""
    same = X is None
    seen = search.points if same else search.asked(X)
    taken = isinstance(search.kernel, Distance) and not power
    if power:
        kernel = search.gaps.kernel
        left = search.gaps.points if same else search.coordinates(seen)
        right = search.gaps.points
        possible = _of_norm(radii**power)
    elif taken:
        kernel, left, right = search.kernel, seen, search.points
        possible = _of_distance(radii)
    else:
        kernel, left, right = search.kernel, seen, search.points
        possible = _of_kernel(diagonal(kernel, left), diagonal(kernel, right), radii)
    if kernel.vectors:  # so that rounding is little beside the room for it
        left, right = double(left), double(right)
    keeps_gaps = taken or not kernel.vectors
    half = None if taken else diagonal(kernel, right) / 2
    found: dict[int, tuple[np.ndarray, ...]] = {}

    def step(rows: slice, K: np.ndarray) -> None:
        i, j = np.nonzero(possible(rows, K))
        gaps = np.zeros(0)
        if keeps_gaps:
            gaps = -K[i, j] if half is None else half[j] - K[i, j]
        found[rows.start] = (i + rows.start, j, gaps)

    engine.operator(kernel, left, right).reduce(step)
    rows, index, gaps = (_joined([found[a][part] for a in sorted(found)]) for part in range(3))
    return rows, index, gaps.astype(np.float64) if keeps_gaps else None


Possible = Callable[[slice, np.ndarray], np.ndarray]


def _of_norm(limits: np.ndarray) -> Possible:
    """Of blocks of −s, where s is a norm's."""

    def possible(rows: slice, K: np.ndarray) -> np.ndarray:
        _require_numbers(K)
        return np.greater_equal(K, -limits[rows, None] * (1 + _ROOM))

    return possible


def _of_distance(radii: np.ndarray) -> Possible:
    """Of blocks of −d."""

    def possible(rows: slice, K: np.ndarray) -> np.ndarray:
        _require_numbers(K)
        return np.greater_equal(K, -radii[rows, None])

    return possible


def _of_kernel(left: np.ndarray, right: np.ndarray, radii: np.ndarray) -> Possible:
    """Of blocks of k(x,z): k(x,x) + k(z,z) − 2k(x,z) ≤ r², as far as rounding leaves that open."""

    def possible(rows: slice, K: np.ndarray) -> np.ndarray:
        _require_numbers(K)
        here = left[rows, None]
        edge = here + right - radii[rows, None] ** 2 - _ROOM * (np.abs(here) + np.abs(right))
        return np.greater_equal(2 * K, edge)

    return possible


def _require_numbers(K: np.ndarray) -> None:
    if not np.isfinite(K).all():
        raise ValueError("distances of these points are NaN or infinite; are the points too large?")


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if parts else np.zeros(0, np.intp)
