"""What a pass over rows tells: counts, means, deviations, extremes, a sample for quantiles, categories."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.rows.base import Rows, Shard

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
# Rows of a piece that sums are centred within.
_PIECE = 1 << 13
# A column whose deviation is less than this share of its largest value is constant but for rounding.
_CONSTANT = 1e-13


class ColumnMoments:
    """Counts, means and centred sums of squares of columns, which can be added up.

    Two parts with means a, b and counts n, m have the mean a + (b − a) m/(n+m), and the centred sum of
    squares S + T + (b − a)² nm/(n+m): no large squares are subtracted, however far from 0 the columns are.

    Examples
    --------
    >>> a = ColumnMoments.of(np.array([[1e8], [1e8 + 1]]))
    >>> both = a + ColumnMoments.of(np.array([[1e8 + 2], [np.nan]]))
    >>> both.mean - 1e8, both.variance, both.missing
    (array([1.]), array([0.66666667]), array([1]))
    """

    def __init__(self, count: Any, mean: Any, squares: Any, least: Any, most: Any, missing: Any):
        self.count, self.mean, self.squares = count, mean, squares
        self.least, self.most, self.missing = least, most, missing

    @classmethod
    def of(cls, values: np.ndarray) -> ColumnMoments:
        """Those of the columns of an array (n, d)."""
        values = values[:, None] if values.ndim == 1 else values
        total: ColumnMoments | None = None
        for start in range(0, max(len(values), 1), _PIECE):
            part = cls._piece(values[start : start + _PIECE])
            total = part if total is None else total + part
        assert total is not None
        return total

    @classmethod
    def _piece(cls, values: np.ndarray) -> ColumnMoments:
        # Column after column in memory: sums along it are fast, and made in pairs, hence nearly exact.
        columns = np.ascontiguousarray(values.T, dtype=np.float64)
        missing = np.zeros(len(columns), dtype=np.int64)
        absent = None
        if np.isnan(columns.sum()):
            absent = np.isnan(columns)
            missing = absent.sum(axis=1)
        count = columns.shape[1] - missing
        some = np.maximum(count, 1)

        def without(value: float) -> np.ndarray:
            return columns if absent is None else np.where(absent, value, columns)

        mean = without(0.0).sum(axis=1) / some
        apart = columns - mean[:, None]
        if absent is not None:
            apart[absent] = 0.0
        # The sum of deviations is not exactly 0: what is left corrects the mean, and then the squares.
        rest = apart.sum(axis=1) / some
        squares = np.einsum("ij,ij->i", apart, apart) - count * rest**2
        least = without(np.inf).min(axis=1, initial=np.inf)
        most = without(-np.inf).max(axis=1, initial=-np.inf)
        return cls(count, mean + rest, np.maximum(squares, 0.0), least, most, missing)

    def __add__(self, other: ColumnMoments) -> ColumnMoments:
        count = self.count + other.count
        share = other.count / np.maximum(count, 1)
        apart = other.mean - self.mean
        return ColumnMoments(
            count,
            np.where(self.count == 0, other.mean, self.mean + apart * share),
            self.squares + other.squares + np.where(self.count == 0, 0.0, apart**2 * self.count * share),
            np.minimum(self.least, other.least),
            np.maximum(self.most, other.most),
            self.missing + other.missing,
        )

    @property
    def variance(self) -> np.ndarray:
        """Mean squares of deviations."""
        return self.squares / np.maximum(self.count, 1)

    @property
    def deviation(self) -> np.ndarray:
        """Standard deviations; 0 for columns that are constant but for rounding."""
        sd = np.sqrt(self.variance)
        size = np.maximum(np.abs(self.least), np.abs(self.most))
        return np.where((self.least == self.most) | (sd <= _CONSTANT * size), 0.0, sd)


class Sample:
    """A uniform sample of rows, without replacement, which can be added up.

    Every row has a number made from its place and a seed that looks random, and the rows with the least ones
    are the sample: it is the same whichever way rows are cut, and wherever they are.

    Examples
    --------
    >>> rows = Shard(np.arange(10.0)[:, None])
    >>> first, rest = rows.take(np.arange(4)), replace(rows.take(np.arange(4, 10)), first=4)
    >>> parts = Sample.of(first, 3) + Sample.of(rest, 3)
    >>> np.array_equal(parts.rows.X, Sample.of(rows, 3).rows.X)
    True
    """

    def __init__(self, size: int, keys: np.ndarray, index: np.ndarray, rows: Shard):
        self.size, self.keys, self.index, self.rows = size, keys, index, rows

    @classmethod
    def of(cls, shard: Shard, size: int, seed: int = 0, among: int | None = None) -> Sample:
        """That of a shard's rows; if they are `among` so many rows, most can't be in the sample of all."""
        index = shard.first + np.arange(len(shard), dtype=np.int64)
        keys = row_keys(index, seed)
        # The least `size` of n keys lie below this share of all possible ones, but for a chance of 1e-15.
        share = 1.0 if among is None else (size + 8 * np.sqrt(size) + 32) / max(among, 1)
        near = np.arange(len(keys)) if share >= 1 else np.flatnonzero(keys < np.uint64(share * 2.0**64))
        return cls(size, keys[near], index[near], shard.take(near))._least()

    def __add__(self, other: Sample) -> Sample:
        def both(a: np.ndarray | None, b: np.ndarray | None) -> np.ndarray | None:
            return None if a is None or b is None else np.concatenate([a, b])

        mine, theirs = self.rows, other.rows
        rows = Shard(np.concatenate([mine.X, theirs.X]), both(mine.y, theirs.y), both(mine.w, theirs.w))
        keys = np.concatenate([self.keys, other.keys])
        return Sample(self.size, keys, np.concatenate([self.index, other.index]), rows)._least()

    def _least(self) -> Sample:
        order = np.argsort(self.keys, kind="stable") if len(self.keys) <= self.size else _smallest(self)
        return Sample(self.size, self.keys[order], self.index[order], replace(self.rows.take(order), first=0))


def _smallest(sample: Sample) -> np.ndarray:
    if not sample.size:
        return np.zeros(0, dtype=np.intp)
    most = np.partition(sample.keys, sample.size - 1)[sample.size - 1]
    part = np.flatnonzero(sample.keys <= most)[: sample.size]
    return part[np.argsort(sample.keys[part], kind="stable")]


def row_keys(index: np.ndarray, seed: int = 0) -> np.ndarray:
    """A 64-bit number for every row's place that looks random (splitmix64)."""
    with np.errstate(over="ignore"):
        z = (index.astype(np.uint64) + np.uint64(1)) * _GOLDEN + np.uint64(seed) * np.uint64(
            0xD1B54A32D192ED03
        )
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


class Categories:
    """Values and how often each occurs, up to a number of them; `complete` is False if there are more.

    Examples
    --------
    >>> both = Categories.of(np.array(["b", "a", "b"])) + Categories.of(np.array(["c"]))
    >>> both.counts, both.complete
    ({'b': 2, 'a': 1, 'c': 1}, True)
    """

    def __init__(self, counts: dict[Any, int], most: int, complete: bool = True):
        self.counts, self.most, self.complete = counts, most, complete

    @classmethod
    def of(cls, values: np.ndarray, most: int = 10_000) -> Categories:
        """Those of an array; missing values are none, and numbers with a fraction are no categories."""
        if values.dtype.kind == "O":
            values = np.array([v for v in values.tolist() if v is not None], dtype=str)
        elif values.dtype.kind == "f":
            values = values[~np.isnan(values)]
            if (values != np.rint(values)).any():
                return cls({}, most, False)
        found, first, counts = np.unique(values, return_index=True, return_counts=True)
        order = np.argsort(first)
        return cls(dict(zip(found[order].tolist(), counts[order].tolist(), strict=True)), most)._bounded()

    def __add__(self, other: Categories) -> Categories:
        counts = dict(self.counts)
        for value, count in other.counts.items():
            counts[value] = counts.get(value, 0) + count
        return Categories(counts, self.most, self.complete and other.complete)._bounded()

    def _bounded(self) -> Categories:
        if len(self.counts) <= self.most:
            return self
        often = sorted(self.counts, key=lambda value: -self.counts[value])[: self.most]
        return Categories({value: self.counts[value] for value in often}, self.most, False)


@dataclass(frozen=True)
class Standardise:
    """x ↦ (x − mean) / deviation, as a change of shards; constant columns become 0.

    Examples
    --------
    >>> change = Standardise(np.array([1.0, 5.0]), np.array([2.0, 0.0]))
    >>> change(Shard(np.array([[3.0, 5.0]]))).X
    array([[1., 0.]])
    """

    mean: np.ndarray
    deviation: np.ndarray

    def __call__(self, shard: Shard) -> Shard:
        return replace(shard, X=self.points(shard.X))

    def points(self, X: np.ndarray) -> np.ndarray:
        """The same for an array (n, d). float32 is subtracted in float64: the mean may be large."""
        X = np.asarray(X)
        dtype = np.dtype(np.float32 if X.dtype in (np.float32, np.float16) else np.float64)
        scale = np.where(self.deviation > 0, 1 / np.where(self.deviation > 0, self.deviation, 1.0), 0.0)
        out = np.empty(X.shape, dtype=dtype)
        for start in range(0, len(X), _PIECE):
            piece = slice(start, start + _PIECE)
            out[piece] = (X[piece] - self.mean) * scale
        return out


@dataclass(frozen=True)
class FirstPass:
    """The task behind `describe`."""

    sample: int
    seed: int
    categories: int
    rows: int

    def __call__(self, shard: Shard) -> tuple[Any, ...]:
        found: tuple[Any, ...] = (
            ColumnMoments.of(shard.X),
            Sample.of(shard, self.sample, self.seed, self.rows),
        )
        y = shard.y
        if y is None:
            return found
        number = y.dtype.kind in "fiub"
        counts = Categories.of(y, self.categories) if y.ndim == 1 else 0
        return (*found, ColumnMoments.of(y) if number else 0, counts)


@dataclass(frozen=True)
class Description:
    """What one pass over rows tells.

    Attributes
    ----------
    rows : int
    X : ColumnMoments of the points' columns
    y : ColumnMoments of the targets, or None if they are words, or absent
    categories : Categories of the targets, or None if they are absent, or several
    sample : Sample, uniform, without replacement

    Examples
    --------
    >>> from mercer.rows import ArrayRows
    >>> about = describe(ArrayRows(np.array([[1.0], [2.0], [6.0]])))
    >>> about.rows, about.X.mean, about.X.least, about.quantile(0.5)
    (3, array([3.]), array([1.]), array([2.]))
    """

    rows: int
    X: ColumnMoments
    y: ColumnMoments | None
    categories: Categories | None
    sample: Sample

    def quantile(self, q: Any) -> np.ndarray:
        """Quantiles of the points' columns, in the sample; missing values are none.

        From m rows, the share of all rows below an answer differs from q by about √(q(1−q)/m).
        """
        return np.nanquantile(self.sample.rows.X.astype(np.float64), q, axis=0)

    def standardiser(self) -> Standardise:
        """The change that brings mean 0 and deviation 1."""
        return Standardise(self.X.mean, self.X.deviation)


def describe(rows: Rows, sample: int = 10_000, seed: int = 0, categories: int = 10_000) -> Description:
    """Counts, means, deviations, extremes, missing values, a sample and categories, in one pass.

    Parameters
    ----------
    rows : Rows
    sample : int
        Rows of the sample.
    seed : int
        Another seed, another sample.
    categories : int
        Different values of the targets that are counted at most.

    Returns
    -------
    Description

    Examples
    --------
    >>> from mercer.rows import ArrayRows
    >>> X = np.arange(2000.0).reshape(1000, 2) + 1e6
    >>> about = describe(ArrayRows(X, np.arange(1000) % 3, rows=300))
    >>> about.X.mean - 1e6, about.quantile(0.5) - 1e6, about.categories.counts
    (array([ 999., 1000.]), array([ 999., 1000.]), {0: 334, 1: 333, 2: 333})
    """
    found = rows.total(FirstPass(sample, seed, categories, rows.shape[0]))
    if not rows.has_y:
        return Description(rows.shape[0], found[0], None, None, found[1])
    moments, counts = found[2:]
    return Description(
        rows.shape[0],
        found[0],
        moments if isinstance(moments, ColumnMoments) else None,
        counts if isinstance(counts, Categories) else None,
        found[1],
    )
