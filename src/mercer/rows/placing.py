"""How examples come to the workers of a cluster, and come back when a worker is lost.

Each origin makes portions as futures of Dask. Files are read by the workers themselves; arrays of this
process are sent, and sent again if they are lost. Blocks of Dask's own arrays and data frames, which stay
where they are, have a file of their own (`blocks`).
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from mercer.rows.base import Rows, bundles
from mercer.rows.portions import HeldPortion, Parcel, as_it_is, read_portion

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


def is_of_dask(value: Any) -> bool:
    """Is it an array, a data frame or a series of Dask's?"""
    return hasattr(value, "__dask_graph__") and hasattr(value, "to_delayed")
