"""Rows of a table elsewhere: decoded batch by batch, and kept on disk where that is cheaper than decoding."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mercer._memory import available_memory
from mercer.rows.base import Rows, Shard, cut, rows_of_a_shard
from mercer.rows.cached import RowStore, row_bytes
from mercer.rows.columns import ChosenColumns, CodedWords, WholeNumbers
from mercer.rows.source import TableSource, said
from mercer.rows.text import NotWhole

# Readers that wait where they are, to go on with the next rows.
_WAITING = 2
# Reading .npy takes a fifth of the processor time of decoding Parquet. It only pays if the disk does not have
# to deliver many times the bytes: if they stay in memory that nobody needs, or are not many times more.
_MORE_BYTES = 4.0
# Bytes of a part of a file that are worth a remark if it can only be read whole.
_MUCH = 128 << 20


class Cursor:
    """A reader of a source at some row."""

    def __init__(self, source: TableSource, columns: ChosenColumns, first: int):
        self.position = source.entry(first)
        self._name = source.name
        self._batches = source.batches(self.position, columns.names)
        self._left: Any = None

    def read(self, first: int, stop: int) -> list[Any]:
        """Batches with the rows from `first` to before `stop`; those before are passed over."""
        found = []
        while self.position < stop:
            batch = self._next()
            if batch is None:
                raise ValueError(
                    f"{self._name} ends early: there are {self.position:,} rows, and there were at least "
                    f"{stop:,} before"
                )
            skipped = min(max(first - self.position, 0), len(batch))
            wanted = batch.slice(skipped, stop - self.position - skipped)
            end = skipped + len(wanted)
            self._left = batch.slice(end) if end < len(batch) else None
            self.position += end
            if len(wanted):
                found.append(wanted)
        return found

    def up_to(self, rows: int) -> list[Any]:
        """Batches with so many rows, fewer at the end, without copying them."""
        found, held = [], 0
        while held < rows and (batch := self._next()) is not None:
            wanted = batch.slice(0, rows - held)
            self._left = batch.slice(len(wanted)) if len(wanted) < len(batch) else None
            held += len(wanted)
            found.append(wanted)
        self.position += held
        return found

    def close(self) -> None:
        self._left = None
        self._batches.close()  # type: ignore[attr-defined]

    def _next(self) -> Any:
        if self._left is not None:
            batch, self._left = self._left, None
            return batch
        for batch in self._batches:
            if len(batch):
                return batch
        return None


class Cursors:
    """Readers of a source, each of which goes on where it is if the next rows are asked for."""

    def __init__(self, source: TableSource, columns: ChosenColumns):
        self.source, self.columns = source, columns
        self._waiting: list[Cursor] = []
        self._lock = threading.Lock()
        # Where only one reader may be open, one waits for the other.
        self._turn: Any = threading.Lock() if source.alone else nullcontext()

    def read(self, first: int, stop: int) -> list[Any]:
        """Batches with these rows."""
        with self._turn:
            cursor = self._taken(first)
            try:
                found = cursor.read(first, stop)
            except BaseException:
                cursor.close()
                raise
            with self._lock:
                self._waiting.append(cursor)
                late = self._waiting[: -1 if self.source.alone else -_WAITING]
                self._waiting = self._waiting[len(late) :]
            for old in late:
                old.close()
            return found

    def close(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for cursor in waiting:
            cursor.close()

    def _taken(self, first: int) -> Cursor:
        entry = self.source.entry(first)
        with self._lock:
            near = [c for c in self._waiting if entry <= c.position <= first]
            if near:
                best = max(near, key=lambda c: c.position)
                self._waiting.remove(best)
                return best
        if self.source.alone:
            self.close()
        return Cursor(self.source, self.columns, first)


class TableRows(Rows):
    """Rows of a table in files or of a query.

    What is missing is NaN (None among words, masked among whole targets); `mercer.rows.open_rows` says what
    becomes of it.

    Parameters
    ----------
    source : TableSource
    columns : ChosenColumns
    rows : int, optional
        Rows of a shard.
    cache : None, False or path
        Keep decoded rows on disk: None where it pays, in a private temporary folder; False never; a path: in
        that folder, to be found again by the next process.
    """

    def __init__(
        self, source: TableSource, columns: ChosenColumns, rows: int | None = None, cache: Any = None
    ):
        self.source, self.columns, self.cache = source, columns, cache
        self._asked = rows
        self._remarks: list[str] = []
        self._digest: str | None = None
        self._store, self._unplaced = self._place(), False
        if (size := source.read_whole() * row_bytes(columns)) > _MUCH:
            self._remarks.append(
                f"{source.name} has parts that can only be read whole, of {size / 1e9:.1f} GB: Parquet needs "
                "less memory."
            )
        if self._store is not None and self._store.rows is not None:
            n = self._store.rows
        elif source.length is not None:
            n = source.length
        else:
            n = self._first_pass()
        self._settle(n)

    def _settle(self, n: int) -> None:
        columns = self.columns
        if not n:
            raise ValueError(f"{self.source.name} has no rows")
        d = len(columns.features)
        self.shape, self.dtype, self.names = (n, d), columns.dtype, columns.features
        self.has_y, self.has_w = columns.target is not None, columns.weight is not None
        self.target = columns.target
        self.sizes = cut(n, self._asked or rows_of_a_shard(n, d, self.dtype.itemsize))
        self._first = np.concatenate([[0], np.cumsum(self.sizes)]).astype(int).tolist()
        self._cursors, self._lock = Cursors(self.source, columns), threading.Lock()

    @property
    def remarks(self) -> tuple[str, ...]:
        return tuple(self._remarks)

    def shard(self, k):
        first, stop = self._first[k], self._first[k + 1]
        store = self._store
        if store is not None and store.covers(first, stop):
            try:
                return store.get(first, stop)
            except OSError as error:
                self._without_store(f"it can't be read ({said(error)})")
        batches = self._cursors.read(first, stop)
        X, y, w = decoded(self.columns, batches)
        if self._unplaced:
            with self._lock:
                if self._unplaced:
                    self._store, self._unplaced = self._place(), False
        if (store := self._store) is not None:
            self._keep(store, first, X, y, w)
        return Shard(X, y.array() if isinstance(y, (CodedWords, WholeNumbers)) else y, w, first)

    def fingerprint(self):
        found = self.source.identity() if self._digest is None else self._digest
        return hashlib.sha256(repr((found, self.columns, self.shape, self.sizes)).encode()).hexdigest()

    def recut(self, rows):
        other = object.__new__(TableRows)
        other.__dict__.update(self.__dict__, _asked=rows)
        other._settle(self.shape[0])
        return other

    # -- what is kept -------------------------------------------------------------------------------

    def _place(self) -> RowStore | None:
        """Where decoded rows go, if anywhere."""
        length = self.source.length
        need = row_bytes(self.columns) * (length or 0)
        if self.cache is False or (self.cache is None and length is not None and not self._pays(need)):
            return None
        identity = self.source.identity()
        place = None if self.cache in (None, True) else Path(self.cache)
        if place is not None:
            os.makedirs(place, exist_ok=True)
        try:
            if place is not None and identity is not None:
                return RowStore.kept(place, self.columns, identity, need)
            return RowStore.private(self.columns, need, place)
        except OSError as error:
            if place is not None and not os.access(place, os.W_OK):
                raise
            self._without_store(said(error))
            return None

    def _pays(self, need: int) -> bool:
        stored = self.source.stored_bytes(self.columns.names)
        return stored is None or need <= max(_MORE_BYTES * stored, available_memory() / 2)

    def _keep(self, store: RowStore, first: int, X: np.ndarray, y: Any, w: np.ndarray | None) -> None:
        try:
            store.put(first, X, y, w)
            if store.covers(0, self.shape[0]):
                store.finish(self.shape[0])
                self._cursors.close()
        except OSError as error:
            self._without_store(said(error))

    def _without_store(self, why: str) -> None:
        store, self._store = self.__dict__.get("_store"), None
        if store is not None and store.rows is None:
            store.discard()
        how = (
            "every pass decodes anew" if self.source.length is not None else "every pass reads all text anew"
        )
        self._remarks.append(f"Decoded rows are not kept on disk, and {how}: {why}.")

    # -- rows whose number nobody knows -----------------------------------------------------------------

    def _first_pass(self) -> int:
        """Read all rows once, to count and keep them; again if a target turns out to have a fraction."""
        while True:
            try:
                return self._counted()
            except NotWhole as error:
                j = self.source.schema.get_field_index(error.column)
                if j < 0 or error.column not in self.columns.targets:
                    raise
                import pyarrow as pa

                floats = pa.field(error.column, pa.float64())
                self.source.schema = self.source.schema.set(j, floats)
                self.columns = replace(self.columns, y_dtype=np.dtype(np.float64))
                if self._store is not None:
                    self._store.discard()
                    self._store = self._place()
                    if self._store is not None and self._store.rows is not None:
                        return self._store.rows

    def _counted(self) -> int:
        identity = self.source.identity()
        digest = hashlib.sha256() if identity is None else None
        n = 0
        for first, X, y, w in self._pieces():
            n = first + len(X)
            if self._store is not None:
                try:
                    self._store.put(first, X, y, w)
                except OSError as error:
                    self._without_store(said(error))
            if digest is not None:
                digest.update(np.ascontiguousarray(X).data)
        if digest is not None:
            self._digest = digest.hexdigest()
        if self._store is not None and n:
            try:
                self._store.finish(n)
            except OSError as error:
                self._without_store(said(error))
        return n

    def _pieces(self) -> Iterator[tuple[int, np.ndarray, Any, np.ndarray | None]]:
        d = len(self.columns.features)
        size = self._asked or rows_of_a_shard(1 << 40, d, self.columns.dtype.itemsize)
        cursor = Cursor(self.source, self.columns, 0)
        try:
            while batches := cursor.up_to(size):
                first = cursor.position - sum(map(len, batches))
                yield (first, *decoded(self.columns, batches))
        finally:
            cursor.close()

    # -- in another process -----------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = {k: v for k, v in self.__dict__.items() if k not in ("_cursors", "_lock", "_store", "_first")}
        store = self._store
        state["_store"] = store.folder if store is not None and store.rows is not None else None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        folder = state.pop("_store")
        self.__dict__.update(state, _store=None, _remarks=[])
        # Rows that another process keeps are used where they can be seen; they are not ours to remove.
        if folder is not None:
            self._store = RowStore.found(folder, self.columns)
        # Else it makes a place of its own, once it has decoded something to put there.
        self._unplaced = self._store is None
        self._settle(self.shape[0])


def decoded(columns: ChosenColumns, batches: list[Any]) -> tuple[np.ndarray, Any, np.ndarray | None]:
    """Points, targets (as `ChosenColumns.y` gives them) and weights of some batches."""
    return columns.points(batches), columns.y(batches), columns.w(batches)
