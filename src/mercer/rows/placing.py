"""How examples come to the workers of a cluster, and come back when a worker is lost.

Each origin makes portions as futures of Dask. Files are read by the workers themselves; arrays of this
process are sent, and sent again if they are lost; blocks of Dask's own arrays and data frames stay where they
are.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from mercer.rows.base import Rows, Shard, bundles
from mercer.rows.portions import HeldPortion, Parcel, as_it_is, ends, held_portion, read_portion

# What a list of futures has become.
Gather: TypeAlias = Callable[[list[Any]], list[Any]]
# An object whose arrays take more than this holds its examples; what takes less says where they are.
_LIGHT = 1 << 20


class Origin:
    """Where portions come from: `make`, and what `Rows` has to know."""

    shape: tuple[int, int]
    dtype: np.dtype
    sizes: tuple[int, ...]
    names: Sequence[str] | None
    has_y: bool
    has_w: bool
    target: str | tuple[str, ...] | None = None
    remarks: tuple[str, ...] = ()
    bundles: list[range]
    # Can a portion be made on any worker, so that work is shared anew when workers come and go?
    anywhere = True

    def make(self, client: Any, wanted: Sequence[int], workers: Sequence[str | None]) -> list[Any]:
        """Futures of portions with these numbers, each on its worker; None: where Dask would have it."""
        raise NotImplementedError

    def forget(self) -> None:
        """What was sent may have been lost with a worker: it is sent again when it is needed."""

    def fingerprint(self, client: Any, gather: Gather, portions: list[Any]) -> str:
        raise NotImplementedError

    def recut(self, rows: int) -> Origin:
        return self


def sent(client: Any, parcel: Parcel) -> Any:
    """The future of a parcel. A light one stays with the scheduler, too: no lost worker takes it along."""
    if parcel.__sizeof__() <= _LIGHT:
        return client.submit(as_it_is, parcel, pure=False)
    return client.scatter(parcel, hash=False)


def bundle_bytes(origin: Origin, bundle: range) -> int:
    """Bytes of the points, targets and weights of some shards, about."""
    width = origin.shape[1] * origin.dtype.itemsize + 8 * (origin.has_y + origin.has_w)
    return width * sum(origin.sizes[k] for k in bundle)


class _RowsOrigin(Origin):
    """Any rows: what `Rows` has to know is what they know."""

    def __init__(self, rows: Rows):
        self.rows = rows
        self.shape, self.dtype, self.sizes, self.names = rows.shape, rows.dtype, rows.sizes, rows.names
        self.has_y, self.has_w = rows.has_y, rows.has_w
        self.target, self.remarks = rows.target, rows.remarks
        self.bundles = bundles(len(self.sizes))

    def fingerprint(self, client, gather, portions):
        return self.rows.fingerprint()

    def recut(self, rows):
        return type(self)(self.rows.recut(rows))


class ReadOrigin(_RowsOrigin):
    """Rows that every worker can read: files on a disk they share."""

    def __init__(self, rows: Rows):
        super().__init__(rows)
        self._parcel: Any = None

    def forget(self):
        self._parcel = None

    def make(self, client, wanted, workers):
        if self._parcel is None:
            self._parcel = sent(client, Parcel(self.rows))

        def made(some, worker):
            place = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
            numbers = [self.bundles[i] for i in some]
            sizes = [bundle_bytes(self, bundle) for bundle in numbers]
            return client.map(read_portion, [self._parcel] * len(some), numbers, sizes, pure=False, **place)

        return _by_worker(made, wanted, workers)


class SentOrigin(_RowsOrigin):
    """Rows that only this process has: they are sent to the workers."""

    def make(self, client, wanted, workers):
        def made(some, worker):
            parts = [[self.rows.shard(k) for k in self.bundles[i]] for i in some]
            portions = [HeldPortion(self.bundles[i], part) for i, part in zip(some, parts, strict=True)]
            place = None if worker is None else [worker]
            try:
                return client.scatter(portions, workers=place, hash=False)
            except KeyError:  # the scheduler's, and of no other kind
                raise ConnectionError(f"the worker {worker} has gone") from None

        return _by_worker(made, wanted, workers)


def _by_worker(made: Any, wanted: Sequence[int], workers: Sequence[str | None]) -> list[Any]:
    """Futures of portions: made(some of them, their worker), in the order in which they are wanted."""
    found: dict[int, Any] = {}
    for worker in dict.fromkeys(workers):
        some = [i for i, where in zip(wanted, workers, strict=True) if where == worker]
        found.update(zip(some, made(some, worker), strict=True))
    return [found[i] for i in wanted]


def origin_of_rows(rows: Rows) -> Origin:
    """Rows that travel as a few words (or numbers) are read by the workers, others are sent."""
    buffers: list[Any] = []
    try:
        # Arrays are not copied for this: they are handed to the callback as they are.
        words = pickle.dumps(rows, protocol=5, buffer_callback=buffers.append)
    except (pickle.PicklingError, TypeError, AttributeError):
        return SentOrigin(rows)
    light = len(words) + sum(b.raw().nbytes for b in buffers) <= _LIGHT
    return ReadOrigin(rows) if light else SentOrigin(rows)


# -- collections of Dask --------------------------------------------------------------------------


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
    """

    anywhere = False

    def __init__(self, client: Any, gather: Gather, X: Any, y: Any = None, w: Any = None):
        frame = hasattr(X, "columns")
        columns = [name for name in (y, w) if isinstance(name, str)]
        for name in columns:
            if not frame or name not in X.columns:
                there = f"the data frame has {list(X.columns)}" if frame else "X is no data frame"
                raise ValueError(f"there is no column {name!r}: {there}")
        self.has_y, self.has_w = y is not None, w is not None
        self.names = [str(c) for c in X.columns if c not in columns] if frame else None
        self.target = y if isinstance(y, str) else None
        X = X if frame else _whole_rows(X)
        self._X = _blocks(X)
        self._others = [value if isinstance(value, str) else _fitting(value, X) for value in (y, w)]
        self._edges: list[int] = []
        points = client.compute(self._X)
        if any(isinstance(other, np.ndarray) for other in self._others):
            rows = gather(client.map(len, points, pure=False))
            self._edges = np.concatenate([[0], np.cumsum(rows)]).astype(int).tolist()
        parts = self._parts(client, points, range(len(self._X)))
        self._take_in(gather(client.map(_seen, parts, pure=False)))
        # Blocks are computed once: the first portions are made of these.
        self._at_hand = dict(enumerate(parts))

    def _take_in(self, seen: list[tuple[int, int, str]]) -> None:
        """What the blocks say of themselves: rows, columns, type."""
        self._numbers = [i for i, (rows, *_) in enumerate(seen) if rows]
        if not self._numbers:
            raise ValueError("there are no rows in any of the blocks")
        kept = [seen[i] for i in self._numbers]
        widths = sorted({width for _, width, _ in kept})
        if len(widths) > 1:
            raise ValueError(f"blocks of rows have different numbers of columns: {widths}")
        single = all(np.dtype(dtype) in (np.float32, np.float16) for *_, dtype in kept)
        self.dtype = np.dtype(np.float32 if single else np.float64)
        self.sizes = tuple(rows for rows, *_ in kept)
        self.shape = (sum(self.sizes), widths[0])
        self.bundles = bundles(len(self.sizes))
        self._firsts = np.concatenate([[0], np.cumsum(self.sizes)]).astype(int).tolist()

    def _parts(self, client: Any, points: list[Any], wanted: Sequence[int]) -> list[Any]:
        """Futures of shards of these blocks, whose points are there."""
        others = []
        for other, what in zip(self._others, ("y", "the weights"), strict=True):
            if other is None or isinstance(other, str):
                others.append([other] * len(wanted))
            elif isinstance(other, np.ndarray):
                if len(other) != self._edges[-1]:
                    raise ValueError(f"X has {self._edges[-1]:,} rows, {what} {len(other):,}")
                pieces = [other[self._edges[i] : self._edges[i + 1]] for i in wanted]
                others.append(client.scatter(pieces, hash=False))
            else:
                others.append(client.compute([other[i] for i in wanted]))
        return client.map(_part, points, *others, pure=False)

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


def is_of_dask(value: Any) -> bool:
    """Is it an array, a data frame or a series of Dask's?"""
    return hasattr(value, "__dask_graph__") and hasattr(value, "to_delayed")


def _whole_rows(X: Any) -> Any:
    """A Dask array whose blocks have all columns."""
    if X.ndim != 2:
        raise ValueError(f"X must have rows and columns, but its shape is {X.shape}")
    return X.rechunk({1: -1}) if X.numblocks[1] > 1 else X


def _blocks(collection: Any) -> list[Any]:
    """Blocks of rows of an array or a data frame, to be computed."""
    delayed = collection.to_delayed()
    return delayed.ravel().tolist() if isinstance(delayed, np.ndarray) else list(delayed)


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


def _part(X: Any, y: Any, w: Any) -> Shard:
    """One block as a shard; names of columns are those of a data frame."""
    columns = [name for name in (y, w) if isinstance(name, str)]
    y, w = (_column(X, value) for value in (y, w))
    if hasattr(X, "columns"):
        X = X.drop(columns=columns)
        kinds = {name: dtype for name, dtype in X.dtypes.items() if getattr(dtype, "kind", "O") not in "fiub"}
        if kinds:
            name, dtype = next(iter(kinds.items()))
            raise ValueError(
                f"the column {name!r} holds no numbers ({dtype}): leave it out, or make numbers of it"
            )
        X = X.to_numpy()
    X = np.asarray(X)
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X must hold numbers, got {X.dtype}")
    for other, what in ((y, "y"), (w, "the weights")):
        if other is not None and len(other) != len(X):
            raise ValueError(f"a block of X has {len(X):,} rows, that of {what} {len(other):,}")
    return Shard(X, y, w)


def _column(X: Any, value: Any) -> np.ndarray | None:
    if value is None:
        return None
    return np.asarray(X[value] if isinstance(value, str) else value)


def _seen(part: Shard) -> tuple[int, int, str]:
    return len(part), part.X.shape[1], part.X.dtype.str
