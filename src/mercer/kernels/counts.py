"""Feature vectors of things that are no vectors: sparse, with 64-bit numbers for features.

A string has a feature for every substring it could hold, a graph one for every subtree: too many to list, but
few are not 0. A feature's number is made of what it is (`mix`), the same in every process, so that nothing
has to be learned from data; two of N features have the same number with a probability of about N²/2⁶⁵ (one
in 400,000 for ten million of them).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from mercer._threads import cpu_count, parallel_map

# Rows whose features are put in order at a time.
_ROWS = 2048
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
    x = np.asarray(number, np.uint64) * _FIRST + np.asarray(part).astype(np.uint64) + _GOLDEN
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return x ^ (x >> np.uint64(31))


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
        n = len(starts) - 1

        def some(first: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            last = min(first + _ROWS, n)
            here = slice(starts[first], starts[last])
            rows = np.repeat(np.arange(last - first), np.diff(starts[first : last + 1]))
            order = np.lexsort((ids[here], rows))
            rows, found = rows[order], ids[here][order]
            new = np.ones(len(found), bool)
            new[1:] = (rows[1:] != rows[:-1]) | (found[1:] != found[:-1])
            at = np.flatnonzero(new)
            weights = np.ones(len(found)) if values is None else values[here][order]
            sums = np.add.reduceat(weights, at) if len(at) else np.zeros(0)
            return np.bincount(rows[at], minlength=last - first), found[at], sums

        parts = parallel_map(some, range(0, n, _ROWS), cpu_count(), blas=False)
        lengths = np.concatenate([np.zeros(1, np.int64), *(part[0] for part in parts)])
        return cls(
            np.cumsum(lengths),
            np.concatenate([np.zeros(0, np.uint64), *(part[1] for part in parts)]),
            np.concatenate([np.zeros(0), *(part[2] for part in parts)]),
        )

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
        where = np.arange(starts[-1]) + np.repeat(self.starts[:-1][index] - starts[:-1], lengths)
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

    def beside(self, other: Counts, mark: int) -> Counts:
        """The features of both, told apart by renumbering all of them: k₁ + k₂ of their inner products.

        Both sides are renumbered, or in (a + b) + b the two b would have the same features.
        """
        lengths = np.diff(self.starts) + np.diff(other.starts)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        ids, values = np.empty(starts[-1], np.uint64), np.empty(starts[-1])
        first = np.repeat(starts[:-1] - self.starts[:-1], np.diff(self.starts)) + np.arange(len(self.ids))
        after = starts[:-1] + np.diff(self.starts) - other.starts[:-1]
        second = np.repeat(after, np.diff(other.starts)) + np.arange(len(other.ids))
        ids[first], ids[second] = mix(self.ids, _BESIDE), mix(other.ids, _BESIDE + np.uint64(mark))
        values[first], values[second] = self.values, other.values
        return Counts.of(starts, ids, values)

    @cached_property
    def vocabulary(self) -> np.ndarray:
        """The features that occur, in order."""
        return np.unique(self.ids)

    def csr(self, vocabulary: np.ndarray) -> Any:
        """A SciPy matrix with a column for each feature of the vocabulary; others are left out."""
        from scipy.sparse import csr_array

        at = np.searchsorted(vocabulary, self.ids)
        known = np.zeros(len(at), bool)
        if len(vocabulary):
            known = np.take(vocabulary, at, mode="clip") == self.ids
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(known)])[self.starts]
        return csr_array((self.values[known], at[known], starts), shape=(len(self), len(vocabulary)))

    def inner(self, other: Counts) -> np.ndarray:
        """φ(x)·φ(z) for all pairs."""
        vocabulary = other.vocabulary
        return np.asarray((self.csr(vocabulary) @ other.csr(vocabulary).T).toarray())
