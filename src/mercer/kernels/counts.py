"""Feature vectors of things that are no vectors: sparse, with 64-bit numbers for features.

A string has a feature for every substring it could hold, a graph one for every subtree: too many to list, but
few are not 0. A feature's number is made of what it is (`mix`), the same in every process, so that nothing
has to be learned from data; two of N features have the same number with a probability of about N²/2⁶⁵ (one
in 400,000 for ten million of them).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from mercer._threads import cpu_count, parallel_map

# Features that are put in order at a time: 4 MB of them.
_AT_ONCE = 1 << 19
# Features that are made at a time, with what is needed on the way: some 100 MB.
_IN_PART = 1 << 21
# Features that are worked on at a time, some 200 MB of them; the first points tell how many a point has.
_WORKED_ON, _FIRST_LOOK = 1 << 22, 256
# Rows are sorted together whose lengths differ by less than one in so many.
_EIGHTH = 8
_GOLDEN, _FIRST, _SECOND = (
    np.uint64(c) for c in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)
# What `Counts.beside` marks features with: no part that anything else is made of.
_BESIDE = np.uint64(0xD1B54A32D192ED03)


def mix(number: np.ndarray, part: Any) -> np.ndarray:
    """The number of a feature that continues another one by `part`: a good hash of both (splitmix64).

    >>> import numpy as np
    >>> a, b = mix(np.zeros(2, np.uint64), np.array([1, 2]))
    >>> bool(a != b)
    True
    """
    with np.errstate(over="ignore"):  # single numbers warn where arrays do not
        x = np.asarray(number, np.uint64) * _FIRST + np.asarray(part).astype(np.uint64) + _GOLDEN
        x = (x ^ (x >> np.uint64(30))) * _FIRST
        x = (x ^ (x >> np.uint64(27))) * _SECOND
        return x ^ (x >> np.uint64(31))


def spread(first: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """first[i], first[i] + 1, … for every i, so many of them as lengths[i] says.

    >>> import numpy as np
    >>> spread(np.array([10, 40]), np.array([2, 3])).tolist()
    [10, 11, 40, 41, 42]
    """
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - (ends - lengths), lengths)


def different(ids: np.ndarray) -> np.ndarray:
    """Each number once, in order: `np.unique`, but by sorting, which here is three times as fast."""
    ids = np.sort(ids)
    return ids[np.append(True, ids[1:] != ids[:-1])] if len(ids) else ids


def _alike(lengths: np.ndarray) -> Iterator[np.ndarray]:
    """Rows in groups of about one length; those without features are left out."""
    rows = np.flatnonzero(lengths)
    rows = rows[np.argsort(lengths[rows], kind="stable")]
    sizes = lengths[rows]
    first = 0
    while first < len(rows):
        least = sizes[first]
        last = np.searchsorted(sizes, least + least // _EIGHTH, "right")
        last = min(last, first + max(_AT_ONCE // least, 1))
        yield rows[first:last]
        first = last


def _in_order(
    starts: np.ndarray, lengths: np.ndarray, ids: np.ndarray, values: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(how many different features each row has, these, their sums) for rows of about one length.

    They are sorted as rows of a table, whose shorter rows are filled up with the largest number there is:
    what is beyond a row's length after sorting is dropped.
    """
    width = lengths.max()
    here = np.arange(width) < lengths[:, None]
    table = np.full(here.shape, np.iinfo(np.uint64).max, np.uint64)
    from_ = spread(starts, lengths)
    table[here] = ids[from_]
    if values is None:
        table.sort(axis=1)
    else:
        order = np.argsort(table, axis=1, kind="stable")  # equal features are added in their order
        table = np.take_along_axis(table, order, axis=1)
        weights = np.zeros(here.shape)
        weights[here] = values[from_]
        weights = np.take_along_axis(weights, order, axis=1)[here]
    new = np.ones(here.shape, bool)
    new[:, 1:] = table[:, 1:] != table[:, :-1]
    new &= here
    found, at = table[new], np.flatnonzero(new[here])
    sums = (
        np.diff(at, append=len(from_)).astype(np.float64) if values is None else np.add.reduceat(weights, at)
    )
    return new.sum(axis=1), found, sums


def on_side(ids: np.ndarray, side: int) -> np.ndarray:
    """Other numbers for features, by which those of one kernel in a sum are told from those of the other."""
    return mix(ids, _BESIDE + np.uint64(side))


def parts_of(make: Callable[[Any], Counts], points: Any) -> Iterator[Counts]:
    """What `make` makes of some of the points at a time, so that not all features are there at once.

    >>> import numpy as np
    >>> def one(points):
    ...     return Counts.of(np.arange(len(points) + 1), np.asarray(points, np.uint64))
    >>> [len(part) for part in parts_of(one, np.arange(300))]
    [256, 44]
    """
    n, first, height = points.shape[0], 0, _FIRST_LOOK
    while first < n or not first:
        part = make(points[first : first + height])
        yield part
        first, height = first + height, max(int(_WORKED_ON * len(part) / max(len(part.ids), 1)), 1)


class Counts:
    """Sparse rows: row i has ``values[k]`` at feature ``ids[k]`` for starts[i] ≤ k < starts[i+1].

    Numbers of features rise within a row. Like an array of points it has a shape, and rows are taken by a
    slice or by positions.

    >>> import numpy as np
    >>> A = Counts.of(np.array([0, 3, 4]), np.array([7, 5, 7], np.uint64).repeat([1, 1, 2])[:4])
    >>> len(A), A.squares().tolist(), A.inner(A).tolist()
    (2, [5.0, 1.0], [[5.0, 2.0], [2.0, 1.0]])
    """

    ndim = 1
    dtype = np.dtype(np.float64)

    def __init__(self, starts: np.ndarray, ids: np.ndarray, values: np.ndarray):
        self.starts, self.ids, self.values = starts, ids, values

    @classmethod
    def of(cls, starts: np.ndarray, ids: np.ndarray, values: np.ndarray | None = None) -> Counts:
        """From features in any order; what occurs several times is added up; without values all are 1."""
        lengths = np.diff(starts)
        blocks = list(_alike(lengths))

        def some(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            return _in_order(starts[rows], lengths[rows], ids, values)

        parts = parallel_map(some, blocks, cpu_count(), blas=False)
        found = np.zeros(len(lengths), np.int64)
        for rows, part in zip(blocks, parts, strict=True):
            found[rows] = part[0]
        out = cls.empty(found)
        for rows, (counts, features, sums) in zip(blocks, parts, strict=True):
            to = spread(out.starts[rows], counts)
            out.ids[to], out.values[to] = features, sums
        return out

    @classmethod
    def empty(cls, lengths: np.ndarray) -> Counts:
        """Rows of these lengths, to be filled."""
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        return cls(starts, np.empty(starts[-1], np.uint64), np.empty(starts[-1]))

    @classmethod
    def joined(cls, parts: list[tuple[np.ndarray, np.ndarray, float]]) -> Counts:
        """Features of several kinds, as (where rows start, features, what each of them is worth)."""
        lengths = [np.diff(starts) for starts, _, _ in parts]
        out = cls.empty(np.sum(lengths, axis=0))
        at = out.starts[:-1].copy()
        for (_, ids, worth), length in zip(parts, lengths, strict=True):
            to = spread(at, length)
            out.ids[to], out.values[to] = ids, worth
            at += length
        plain = all(worth == 1 for _, _, worth in parts)
        return cls.of(out.starts, out.ids, None if plain else out.values)

    @classmethod
    def stacked(cls, parts: list[Counts]) -> Counts:
        """The rows of all parts, one after the other; the list is emptied on the way, to make room."""
        lengths = [np.diff(part.starts) for part in parts]
        out = cls.empty(np.concatenate([np.zeros(0, np.int64), *lengths]))
        end = len(out.ids)
        while parts:
            part = parts.pop()
            here = slice(end - len(part.ids), end)
            out.ids[here], out.values[here], end = part.ids, part.values, here.start
        return out

    @classmethod
    def made(cls, some: Callable[[slice], Counts], sizes: np.ndarray) -> Counts:
        """The rows that `some` makes of parts of all points, small enough for memory and for threads.

        `sizes` says how many features are made for each point, before equal ones are added up.
        """
        ends = np.cumsum(sizes)
        cuts, first = [0], 0
        while first < len(sizes):
            before = ends[first - 1] if first else 0
            first = max(int(np.searchsorted(ends, before + _IN_PART, "right")), first + 1)
            cuts.append(first)
        slices = [slice(a, b) for a, b in itertools.pairwise(cuts)]
        return cls.stacked(parallel_map(some, slices, cpu_count(), blas=False))

    @property
    def shape(self) -> tuple[int]:
        return (len(self.starts) - 1,)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: Any) -> Counts:
        index = np.arange(len(self))[index]
        if len(index) and (index == np.arange(index[0], index[0] + len(index))).all():
            first, last = self.starts[index[0]], self.starts[index[-1] + 1]
            starts = self.starts[index[0] : index[-1] + 2] - first
            return Counts(starts, self.ids[first:last], self.values[first:last])
        lengths = np.diff(self.starts)[index]
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        where = spread(self.starts[:-1][index], lengths)
        return Counts(starts, self.ids[where], self.values[where])

    def _sums(self, terms: np.ndarray) -> np.ndarray:
        """Sums over rows, of which some may be empty."""
        if not len(self):
            return np.zeros(0)
        sums = np.add.reduceat(np.append(terms, 0.0), self.starts[:-1])
        return np.where(np.diff(self.starts) > 0, sums, 0.0)

    def squares(self) -> np.ndarray:
        """‖φ(x)‖² of every row."""
        return self._sums(self.values**2)

    def times(self, factors: np.ndarray) -> Counts:
        """Rows multiplied by one number each."""
        return Counts(self.starts, self.ids, self.values * np.repeat(factors, np.diff(self.starts)))

    def beside(self, other: Counts) -> Counts:
        """The features of both, told apart by renumbering all of them: k₁ + k₂ of their inner products.

        Both sides are renumbered, or in (a + b) + b the two b would have the same features.
        """
        mine, theirs = np.diff(self.starts), np.diff(other.starts)
        both = Counts.empty(mine + theirs)
        first, second = spread(both.starts[:-1], mine), spread(both.starts[:-1] + mine, theirs)
        both.ids[first], both.ids[second] = on_side(self.ids, 0), on_side(other.ids, 1)
        both.values[first], both.values[second] = self.values, other.values
        return Counts.of(both.starts, both.ids, both.values)

    @cached_property
    def vocabulary(self) -> np.ndarray:
        """The features that occur, in order."""
        parts = [self.ids[i : i + _IN_PART] for i in range(0, len(self.ids), _IN_PART)]
        return different(
            np.concatenate([self.ids[:0], *parallel_map(different, parts, cpu_count(), blas=False)])
        )

    def csr(self, vocabulary: np.ndarray) -> Any:
        """A SciPy matrix with a column for each feature of the vocabulary; others are left out."""
        from scipy.sparse import csr_array

        # Products read indices as often as values: short ones take less time, and less memory.
        short = np.int32 if max(len(self.ids), len(vocabulary)) < 1 << 31 else np.int64
        at, known = np.zeros(len(self.ids), short), np.zeros(len(self.ids), bool)

        def some(first: int) -> None:
            here = slice(first, first + _AT_ONCE)
            where = np.searchsorted(vocabulary, self.ids[here])
            at[here], known[here] = where, np.take(vocabulary, where, mode="clip") == self.ids[here]

        parallel_map(some, range(0, len(at), _AT_ONCE) if len(vocabulary) else (), cpu_count(), blas=False)
        values, starts = self.values, self.starts
        if not known.all():
            values, at = values[known], at[known]
            starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(known)])[starts]
        return csr_array((values, at, starts.astype(short)), shape=(len(self), len(vocabulary)))

    def inner(self, other: Counts) -> np.ndarray:
        """φ(x)·φ(z) for all pairs."""
        vocabulary = other.vocabulary
        return np.asarray((self.csr(vocabulary) @ other.csr(vocabulary).T).toarray())
