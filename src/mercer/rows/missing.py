"""What becomes of rows with missing values: an error, rows left out, or medians in their place."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.rows.arrays import beside, look_at
from mercer.rows.base import Rows, Shard, Totals
from mercer.rows.statistics import describe

WAYS = ("error", "drop", "median")


class SeenRows(Rows):
    """Rows of others, each shard of which is looked at when it is read."""

    def __init__(self, base: Rows):
        self.base = base
        self.shape, self.dtype, self.sizes, self.names = base.shape, base.dtype, base.sizes, base.names
        self.has_y, self.has_w, self.target = base.has_y, base.has_w, base.target

    @property
    def remarks(self):
        return self.base.remarks

    def fingerprint(self):
        return self.base.fingerprint()

    def recut(self, rows):
        return type(self)(self.base.recut(rows))


class BesideRows(SeenRows):
    """Rows whose targets, or weights, are arrays (or .npy files) of their own.

    Arrays in memory are read when they are needed, and not copied: they must stay as they are until a fit
    ends.
    """

    def __init__(self, base: Rows, y: Any = None, w: Any = None):
        super().__init__(base)
        self.y, self.w = beside(base.shape[0], y, w)
        self.has_y, self.has_w = base.has_y or y is not None, base.has_w or w is not None
        self.target = base.target if y is None else None

    def shard(self, k):
        shard = self.base.shard(k)
        rows = slice(shard.first, shard.first + len(shard))
        y = shard.y if self.y is None else np.asarray(self.y[rows])
        w = shard.w if self.w is None else np.asarray(self.w[rows])
        return replace(shard, y=y, w=w)

    def fingerprint(self):
        digest = hashlib.sha256(self.base.fingerprint().encode())
        for values in (self.y, self.w):
            if values is not None:
                digest.update(look_at(values).encode())
        return digest.hexdigest()

    def recut(self, rows):
        return BesideRows(self.base.recut(rows), self.y, self.w)


class WholeRows(SeenRows):
    """Rows of which none has a missing or infinite value: one that has is an error that says where."""

    points = True  # must none be missing?

    def __init__(self, base: Rows):
        super().__init__(base)
        self._sound: set[int] = set()

    def shard(self, k):
        shard = self.base.shard(k)
        if k not in self._sound:
            check(shard, self.names, self.target, self.points)
            self._sound.add(k)
        return shard


class KnownTargetRows(WholeRows):
    """Rows of which every one has a target and a weight, and points that may be missing, but not infinite."""

    points = False


class DroppedRows(SeenRows):
    """Rows without those in which a value is missing. A pass over them counts how many stay.

    Targets of one kind are an array of that kind, wherever some of them were missing.
    """

    def __init__(self, base: Rows):
        super().__init__(base)
        found = list(base.each(Staying(self.names, self.target)))
        kept = [count for count, _ in found]
        kinds = set().union(*(kinds for _, kinds in found))
        self._kind = kinds.pop() if len(kinds) == 1 else np.dtype(object)
        self._numbers = [k for k, count in enumerate(kept) if count]
        self.sizes = tuple(kept[k] for k in self._numbers)
        if not self.sizes:
            raise ValueError("a value is missing in every row: none is left (missing='median' fills them in)")
        self.shape = (sum(self.sizes), base.shape[1])
        self._first = [0, *np.cumsum(self.sizes).tolist()]
        self._left = base.shape[0] - self.shape[0]

    @property
    def remarks(self):
        left = f"{self._left:,} of {self.base.shape[0]:,} rows with missing values are left out."
        return (*self.base.remarks, *((left,) if self._left else ()))

    def shard(self, k):
        shard = self.base.shard(self._numbers[k])
        stay = ~_absent(shard)
        shard = replace(shard if stay.all() else shard.take(np.flatnonzero(stay)), first=self._first[k])
        if shard.y is None:
            return shard
        y = np.asarray(shard.y)
        return replace(shard, y=y if _kind_of(y.dtype) == self._kind else y.astype(self._kind))


@dataclass(frozen=True)
class Filled:
    """Numbers in the place of missing ones, a number a column, as a change of shards.

    >>> Filled(np.array([1.0, 2.0]))(Shard(np.array([[np.nan, 5.0]]))).X
    array([[1., 5.]])
    """

    values: np.ndarray

    def __call__(self, shard: Shard) -> Shard:
        return replace(shard, X=self.points(shard.X))

    def points(self, X: np.ndarray) -> np.ndarray:
        """The same for an array (n, d)."""
        absent = np.isnan(X)
        return np.where(absent, self.values.astype(X.dtype), X) if absent.any() else X


def require_way(missing: str) -> None:
    """Refuse what is none of the `WAYS`."""
    if missing not in WAYS:
        raise ValueError(f"missing must be one of {', '.join(map(repr, WAYS))}, got {missing!r}")


def completed(rows: Rows, missing: str) -> Rows:
    """Rows in which nothing is missing, in one of the `WAYS`."""
    require_way(missing)
    if missing == "error":
        return WholeRows(rows)
    if missing == "drop":
        return DroppedRows(rows)
    return filled(KnownTargetRows(rows))


def filled(rows: Rows) -> Rows:
    """Rows with the median of its column in the place of each missing number."""
    about = describe(rows)
    if not about.X.missing.any():
        return rows
    if (empty := np.flatnonzero(about.X.count == 0)).size:
        raise ValueError(
            f"column {_name(rows.names, empty[0])} has no value at all: leave it out by columns="
        )
    return rows.changed(Filled(about.quantile(0.5)))


def check(shard: Shard, names: Any = None, target: Any = None, points: bool = True, rows: Any = None) -> None:
    """An error that names column and row of the first value that is missing, or infinite.

    Without `points` these may be missing. `rows` are the places of the shard's rows, counted from its first,
    if there were others between them.
    """
    rows = np.arange(len(shard)) if rows is None else rows
    with np.errstate(over="ignore", invalid="ignore"):
        # One sum tells, nearly always, that all is well.
        sound = np.isfinite(np.add.reduce(shard.X, axis=None))
    if not sound and (wrong := ~np.isfinite(shard.X) if points else np.isinf(shard.X)).any():
        i, j = np.argwhere(wrong)[0]
        _refuse(shard.X[i, j], _name(names, j), shard.first + int(rows[i]))
    called = "the target" if target is None else f"the target {target!r}"
    for what, values in ((called, shard.y), ("the weight", shard.w)):
        if values is None:
            continue
        wrong = _absent_in(values, infinite=True)
        if wrong.any():
            i = int(np.flatnonzero(wrong)[0])
            value = values[i] if values.ndim == 1 else values[i][~np.isfinite(values[i])][0]
            _refuse(value, what, shard.first + int(rows[i]))
    if shard.w is not None and len(shard.w) and shard.w.min() < 0:
        row = shard.first + int(rows[np.argmin(shard.w)])
        raise ValueError(f"a weight is negative in row {row + 1:,}")


def _refuse(value: Any, where: str, row: int) -> None:
    if isinstance(value, (float, np.floating)) and np.isinf(value):
        raise ValueError(f"{where} is infinite in row {row + 1:,}, and so not missing: correct it")
    raise ValueError(
        f"{where} is missing in row {row + 1:,}: missing='drop' leaves such rows out, missing='median' puts "
        "the median of its column there (not for targets)"
    )


def _name(names: Any, j: int) -> str:
    return f"column {names[j]!r}" if names is not None else f"column {j + 1}"


def _absent_in(values: np.ndarray, infinite: bool = False) -> np.ndarray:
    """(n,) is something missing in this row?"""
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.getmaskarray(values)
    if values.dtype.kind == "O":
        return np.array([_is_missing(value) for value in values.tolist()], dtype=bool)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    if values.dtype.kind != "f":
        return np.zeros(len(values), dtype=bool)
    wrong = ~np.isfinite(values) if infinite else np.isnan(values)
    return wrong.any(axis=1) if wrong.ndim == 2 else wrong


def _is_missing(value: Any) -> bool:
    # NaN is not equal to itself, and pandas' NA does not say whether it is.
    equal = value == value
    return value is None or (equal is not True and equal is not np.True_)


def _absent(shard: Shard) -> np.ndarray:
    found = np.zeros(len(shard), dtype=bool)
    for values in (shard.X, shard.y, shard.w):
        if values is not None:
            found |= _absent_in(values)
    return found


def _kind_of(dtype: Any) -> np.dtype:
    """The kind of an array, or of values of a type; words are of one kind, however long they are."""
    found = np.dtype(dtype)
    return np.dtype(str) if found.kind == "U" else found


@dataclass(frozen=True)
class Staying:
    """A task: how many rows of a shard stay, and of which kinds their targets are; infinities are refused."""

    names: Any
    target: Any

    def __call__(self, shard: Shard) -> Totals:
        left = np.flatnonzero(~_absent(shard))
        shard = shard if len(left) == len(shard) else shard.take(left)
        check(shard, self.names, self.target, rows=left)
        if shard.y is None:
            return len(left), set()
        if shard.y.dtype != object:
            return len(left), {_kind_of(shard.y.dtype)}
        return len(left), {_kind_of(type(value)) for value in shard.y.tolist()}
