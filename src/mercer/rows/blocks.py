"""Blocks of Dask's arrays and data frames as shards: each stays where it lies, and its columns go by name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mercer.rows.base import Shard, bundles
from mercer.rows.columns import known
from mercer.rows.missing import check, require_way
from mercer.rows.placing import Gather, Origin, is_of_dask
from mercer.rows.portions import ends, held_portion


class DaskOrigin(Origin):
    """Dask's arrays, or a data frame: each block of rows is a shard, where it lies.

    Blocks without rows, as a filter leaves them, are left out. How many rows the others have is asked of
    the blocks themselves, once they are there.

    Parameters
    ----------
    client : distributed.Client
    gather : callable
        What a list of futures has become.
    X : Dask array or data frame
    y, w : names of columns of X, Dask arrays or series, or arrays; or None
    columns, dtype, missing
        As for `open_rows`. With missing="median" points may have NaN, and whoever asked fills them in.
    """

    anywhere = False

    def __init__(
        self,
        client: Any,
        gather: Gather,
        X: Any,
        y: Any = None,
        w: Any = None,
        columns: Sequence[str] | None = None,
        dtype: Any = None,
        missing: str = "error",
    ):
        self._taken = taken_of(X, y, w, columns, missing)
        self._asked_dtype = None if dtype is None else _float(dtype)
        self.has_y, self.has_w = y is not None, w is not None
        self.names, self.target = self._taken.names, self._taken.target
        X = _whole_rows(X) if self._taken.points is None else X
        self._X = _blocks(X)
        named = self._taken.y is not None, self._taken.w is not None
        self._others = [None if name else _fitting(value, X) for name, value in zip(named, (y, w))]
        self._edges: list[int] = []
        points = client.compute(self._X)
        if any(isinstance(other, np.ndarray) for other in self._others):
            rows = gather(client.map(len, points, pure=False))
            self._edges = np.concatenate([[0], np.cumsum(rows)]).astype(int).tolist()
        parts = self._parts(client, points, range(len(self._X)))
        seen = gather(client.map(seen_of, parts, points, taken=self._taken, pure=False))
        self._take_in(seen)
        self._require_sound(client, gather, parts, seen)
        # Blocks are computed once: the first portions are made of these.
        self._at_hand = dict(enumerate(parts))

    def _take_in(self, seen: list[SeenBlock]) -> None:
        """What the blocks say of themselves: rows, columns, type."""
        left, count = sum(block.left for block in seen), sum(block.rows + block.left for block in seen)
        self._numbers = [i for i, block in enumerate(seen) if block.rows]
        if not self._numbers and left:
            raise ValueError("a value is missing in every row: none is left (missing='median' fills them in)")
        if not self._numbers:
            raise ValueError("there are no rows in any of the blocks")
        if left:
            self.remarks = (f"{left:,} of {count:,} rows with missing values are left out.",)
        kept = [seen[i] for i in self._numbers]
        widths = sorted({block.width for block in kept})
        if len(widths) > 1:
            raise ValueError(f"blocks of rows have different numbers of columns: {widths}")
        single = all(np.dtype(block.dtype) in (np.float32, np.float16) for block in kept)
        self.dtype = self._asked_dtype or np.dtype(np.float32 if single else np.float64)
        self.sizes = tuple(block.rows for block in kept)
        self.shape = (sum(self.sizes), widths[0])
        self.bundles = bundles(len(self.sizes))
        self._firsts = np.concatenate([[0], np.cumsum(self.sizes)]).astype(int).tolist()

    def _require_sound(self, client: Any, gather: Gather, parts: list[Any], seen: list[SeenBlock]) -> None:
        """An error that says where the first value is missing, or infinite, if one is."""
        for first, i in zip(self._firsts, self._numbers):
            if not seen[i].sound:
                gather([client.submit(checked, parts[i], first, self._taken, pure=False)])

    def _parts(self, client: Any, points: list[Any], wanted: Sequence[int]) -> list[Any]:
        """Futures of shards of these blocks, whose points are there."""
        others = []
        for other, what in zip(self._others, ("y", "the weights"), strict=True):
            if other is None:
                others.append([None] * len(wanted))
            elif isinstance(other, np.ndarray):
                if len(other) != self._edges[-1]:
                    raise ValueError(f"X has {self._edges[-1]:,} rows, {what} {len(other):,}")
                pieces = [other[self._edges[i] : self._edges[i + 1]] for i in wanted]
                others.append(client.scatter(pieces, hash=False))
            else:
                others.append(client.compute([other[i] for i in wanted]))
        return client.map(part_of, points, *others, taken=self._taken, pure=False)

    def make(self, client, wanted, workers):
        blocks = [[self._numbers[k] for k in self.bundles[i]] for i in wanted]
        lost = [i for some in blocks for i in some if i not in self._at_hand]
        if lost:
            points = client.compute([self._X[i] for i in lost])
            self._at_hand.update(zip(lost, self._parts(client, points, lost), strict=True))
        parts = [[self._at_hand.pop(i) for i in some] for some in blocks]
        numbers = [self.bundles[i] for i in wanted]
        firsts = [[self._firsts[k] for k in bundle] for bundle in numbers]
        return client.map(held_portion, parts, numbers, firsts, [self.dtype.str] * len(numbers), pure=False)

    def fingerprint(self, client, gather, portions):
        rows = gather(client.map(ends, portions, pure=False))
        return hashlib.sha256(repr((self.shape, self.dtype.str, self.sizes, rows)).encode()).hexdigest()


# -- which columns ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Taken:
    """Columns of a data frame by the labels they have there, which need not be words; and what is missing.

    Attributes
    ----------
    points : labels of the features, or None: X is an array
    y : labels of the targets, or None where they are no columns of X
    w : label of the weights, as a tuple, or None
    single : is there one column of targets, which have one dimension then?
    missing : one of the `WAYS`
    """

    points: tuple[Any, ...] | None
    y: tuple[Any, ...] | None
    w: tuple[Any, ...] | None
    single: bool
    missing: str

    @property
    def names(self) -> list[str] | None:
        return None if self.points is None else [str(label) for label in self.points]

    @property
    def target(self) -> str | tuple[str, ...] | None:
        names = tuple(map(str, self.y or ()))
        return None if self.y is None else names[0] if self.single else names


def taken_of(X: Any, y: Any, w: Any, columns: Sequence[str] | None, missing: str) -> Taken:
    """The columns that are asked for, checked: they are there, each of them once."""
    require_way(missing)
    if not hasattr(X, "columns"):
        if columns is not None:
            raise ValueError(
                "columns= names columns of a data frame, and an array has none: X[:, [0, 2]] chooses some"
            )
        for name in (y, w):
            if isinstance(name, str):
                raise ValueError(f"there is no column {name!r}: X is no data frame")
        return Taken(None, None, None, True, missing)
    frame = _Labels(list(X.columns))
    if columns is not None and isinstance(columns, str):
        raise ValueError(f"columns must be a list of names, such as [{columns!r}]")
    single = _is_label(y)
    targets = (y,) if single else tuple(y) if frame.are_names(y) else ()
    weights = (w,) if _is_label(w) else ()
    beside = frame.found((*targets, *weights))
    points = frame.found(frame.others(beside) if columns is None else columns)
    if both := set(points) & set(beside):
        raise ValueError(f"column {min(map(str, both))!r} can't be a feature and the target at once")
    if len(set(points)) < len(points):
        raise ValueError("columns names a column twice")
    if not points:
        raise ValueError("the data frame has no column besides the target's and the weights'")
    count = len(targets)
    return Taken(points, beside[:count] or None, beside[count:] or None, single, missing)


class _Labels:
    """Labels of a data frame's columns, by their names: what `str` makes of them."""

    def __init__(self, labels: list[Any]):
        self.labels, self._names = labels, [str(label) for label in labels]

    def are_names(self, value: Any) -> bool:
        """Are these names of columns, and not targets?"""
        some = isinstance(value, (list, tuple)) and len(value) > 0
        return some and all(isinstance(name, str) and name in self._names for name in value)

    def others(self, labels: Iterable[Any]) -> list[Any]:
        return [label for label in self.labels if label not in set(labels)]

    def found(self, names: Iterable[Any]) -> tuple[Any, ...]:
        """Their labels."""
        for name in map(str, names := list(names)):
            known(name, self._names, "the data frame")
            if self._names.count(name) > 1:
                raise ValueError(
                    f"the data frame has {self._names.count(name)} columns called {name!r}: give each a name "
                    "of its own"
                )
        return tuple(self.labels[self._names.index(str(name))] for name in names)


def _is_label(value: Any) -> bool:
    return isinstance(value, (str, int, np.integer)) and not isinstance(value, bool)


def _float(dtype: Any) -> np.dtype:
    asked = np.dtype(dtype)
    if asked not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {asked}")
    return asked


# -- blocks of collections --------------------------------------------------------------------------


def _whole_rows(X: Any) -> Any:
    """A Dask array whose blocks have all columns."""
    if X.ndim != 2:
        raise ValueError(f"X must have rows and columns, but its shape is {X.shape}")
    return X.rechunk({1: -1}) if X.numblocks[1] > 1 else X


def _blocks(collection: Any) -> list[Any]:
    """Blocks of rows of an array or a data frame, to be computed."""
    delayed: list[Any] = []
    # Dask, left to optimise, reads several files as one where few of their columns are asked for; blocks must
    # be those that are counted.
    for optimised in (True, False):
        found = collection.to_delayed(optimize_graph=optimised)
        delayed = found.ravel().tolist() if isinstance(found, np.ndarray) else list(found)
        if len(delayed) == collection.npartitions:
            break
    return delayed


def _fitting(other: Any, X: Any) -> Any:
    """Targets or weights in blocks like those of X; arrays of this process as they are."""
    if other is None:
        return None
    if not is_of_dask(other):
        return np.asarray(other)
    if getattr(other, "ndim", 1) > 1 and hasattr(other, "rechunk"):
        other = _whole_rows(other)
    if hasattr(other, "chunks") and hasattr(X, "chunks"):
        rows, wanted = other.chunks[0], X.chunks[0]
        if not np.isnan([*rows, *wanted]).any():
            if sum(rows) != sum(wanted):
                raise ValueError(f"X has {sum(wanted):,} rows, y or the weights {sum(rows):,}")
            other = other if rows == wanted else other.rechunk({0: wanted})
    blocks, count = _blocks(other), X.npartitions
    if len(blocks) != count:
        raise ValueError(
            f"X has {count} blocks of rows, y or the weights {len(blocks)}, and which rows belong together "
            "is not known: take both from one data frame, or call compute_chunk_sizes() on arrays first"
        )
    return blocks


# -- what is done where the blocks are --------------------------------------------------------------


class SeenBlock(NamedTuple):
    """What a block says of itself."""

    rows: int
    width: int
    dtype: str
    left: int  # rows that are left out, as a value is missing in them
    sound: bool  # is no other value missing, or infinite?


def part_of(X: Any, y: Any, w: Any, taken: Taken) -> Shard:
    """One block as a shard. Its columns may be in any order, and there may be others."""
    if taken.points is not None:
        _require_columns(X, (*taken.points, *(taken.y or ()), *(taken.w or ())))
    targets = None if y is None else _values(y)
    if taken.y is not None:
        columns = [_values(X[label]) for label in taken.y]
        targets = columns[0] if taken.single else _side_by_side(columns)
    weights = _values(X[taken.w[0]]) if taken.w is not None else None if w is None else _values(w)
    points = _points(X, taken.points)
    for other, what in ((targets, "y"), (weights, "the weights")):
        if other is not None and len(other.array) != len(points.array):
            raise ValueError(
                f"a block of X has {len(points.array):,} rows, that of {what} {len(other.array):,}"
            )
    if weights is not None and (weights.array.ndim != 1 or weights.array.dtype.kind not in "fiub"):
        shape = ", ".join(["n", *map(str, weights.array.shape[1:])])
        raise ValueError(f"weights are one number a row, got {weights.array.dtype} of the shape ({shape})")
    held = [points, targets, weights]
    if taken.missing == "drop":
        absent = np.logical_or.reduce([values.absent for values in held if values is not None])
        stay = np.flatnonzero(~absent)
        return Shard(*(None if values is None else values.array[stay] for values in held))  # type: ignore[arg-type]
    return Shard(*(None if values is None else values.marked() for values in held))  # type: ignore[arg-type]


def seen_of(part: Shard, block: Any, taken: Taken) -> SeenBlock:
    """What is to be known of a block."""
    try:
        check(part, points=taken.missing != "median")
        sound = True
    except ValueError:
        sound = False
    return SeenBlock(len(part), part.X.shape[1], part.X.dtype.str, len(block) - len(part), sound)


def checked(part: Shard, first: int, taken: Taken) -> None:
    """Say in which row, the first of which has this number, a value is missing or infinite."""
    check(replace(part, first=first), taken.names, taken.target, points=taken.missing != "median")


@dataclass(frozen=True, eq=False)
class _Values:
    """Numbers or words in their own type, and the rows in which one is missing."""

    array: np.ndarray
    absent: np.ndarray
    # Entries that are missing where the array can't say so itself: pandas keeps them beside whole numbers.
    mask: np.ndarray | None = None

    def marked(self) -> np.ndarray:
        """With NaN, or None among words, for what is missing."""
        if self.mask is None or not self.mask.any():
            return self.array
        words = self.array.dtype.kind == "O"
        # Small whole numbers stay exact in small floats, so that float32 columns beside them stay float32.
        marked = self.array.astype(object if words else np.result_type(self.array, np.float16))
        marked[self.mask] = None if words else np.nan
        return marked


def _values(column: Any) -> _Values:
    """A series, or an array of this process or of Dask's."""
    own = getattr(getattr(column, "dtype", None), "numpy_dtype", None)  # of pandas' types with a mask
    if own is not None and np.dtype(own).kind in "fiub":
        mask = np.asarray(column.isna(), dtype=bool)
        filled = {"na_value": np.dtype(own).type(0)} if mask.any() else {}
        return _Values(column.to_numpy(dtype=own, **filled), mask, mask)
    array = np.asarray(column)
    if array.dtype.kind == "O":
        mask = np.reshape([_is_absent(value) for value in array.ravel().tolist()], array.shape).astype(bool)
        return _Values(array, _in_a_row(mask), mask)
    if array.dtype.kind == "f":
        return _Values(array, _in_a_row(np.isnan(array)))
    return _Values(array, np.zeros(len(array), dtype=bool))


def _points(X: Any, labels: tuple[Any, ...] | None) -> _Values:
    """The features of a block."""
    if labels is None:
        found = _values(X)
        if found.array.dtype.kind not in "fiub":
            raise ValueError(f"X must hold numbers, got {found.array.dtype}")
        return found
    X = X[list(labels)]
    for name, dtype in X.dtypes.items():
        if getattr(dtype, "kind", "O") not in "fiub":
            raise ValueError(
                f"the column {name!r} holds no numbers ({dtype}): leave it out, or make numbers of it"
            )
    if len(kinds := set(X.dtypes)) == 1 and isinstance(next(iter(kinds)), np.dtype):
        return _values(X.to_numpy())
    return _side_by_side([_values(X[label]) for label in labels])


def _side_by_side(columns: list[_Values]) -> _Values:
    absent = np.logical_or.reduce([values.absent for values in columns])
    return _Values(np.stack([values.marked() for values in columns], axis=1), absent)


def _in_a_row(mask: np.ndarray) -> np.ndarray:
    return np.any(mask, axis=tuple(range(1, mask.ndim)))


def _is_absent(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):  # pandas' NA is neither equal to itself nor not
        return True


def _require_columns(X: Any, labels: Sequence[Any]) -> None:
    """Partitions that Dask was told not to compare with the frame may have other columns than it says."""
    there = list(X.columns)
    for label in labels:
        if there.count(label) != 1:
            what = "two columns" if label in there else "no column"
            names = ", ".join(map(repr, there[:10]))
            raise ValueError(f"a partition of the data frame has {what} {label!r}: it has {names}")
