"""What the workers of a cluster hold and do: portions of the shards, and tasks that are run on them.

Everything here runs in a process of the cluster. A task comes in a `Parcel`, which is opened once by each
process, so that what the task prepares (packed centres, compiled loops) lasts from pass to pass.
"""

from __future__ import annotations

import pickle
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import numpy as np

from mercer._memory import available_memory
from mercer._threads import one_blas_thread, stop_when, stopping_point
from mercer.rows.base import Branches, Rows, Shard, Totals, added, folded, joined

# Tasks that a process keeps open: those of a few fits at the same time.
_MOST_OPEN = 4
# The share of a worker's memory that shards read from files may take: Dask moves data to disk beyond it.
_SHARE = 0.5


# -- what is sent ---------------------------------------------------------------------------------


class Parcel:
    """An object that is pickled once, and opened once by each process it comes to."""

    def __init__(self, content: Any):
        from distributed.protocol.pickle import dumps

        self.token, self.data = uuid4().hex, dumps(content)

    def __sizeof__(self) -> int:
        return len(self.data)


@dataclass(frozen=True, eq=False)
class Arguments:
    """What a task is called with besides a shard."""

    values: tuple[Any, ...]

    def __sizeof__(self) -> int:
        return sum(getattr(value, "nbytes", 64) for value in self.values)


class _Open:
    """The content of a parcel. The first call prepares what all calls need, so the others wait for it."""

    def __init__(self, parcel: Parcel):
        self.content = pickle.loads(parcel.data)
        self._first, self._prepared = threading.Lock(), False

    def __call__(self, shard: Shard, *vectors: Any) -> Totals:
        if not self._prepared:
            with self._first:
                if not self._prepared:
                    found = self.content(shard, *vectors)
                    self._prepared = True
                    return found
        return self.content(shard, *vectors)


_open: OrderedDict[str, _Open] = OrderedDict()
_opening = threading.Lock()


def opened(parcel: Parcel) -> _Open:
    """The content of a parcel: the same object for all calls in this process."""
    with _opening:
        found = _open.pop(parcel.token, None) or _Open(parcel)
        _open[parcel.token] = found
        while len(_open) > _MOST_OPEN:
            _open.popitem(last=False)
        return found


# -- what is held ---------------------------------------------------------------------------------


def bytes_of(shard: Shard) -> int:
    """Bytes of its arrays."""
    return sum(a.nbytes for a in (shard.X, shard.y, shard.w) if a is not None)


class Portion:
    """The shards of one bundle, on a worker. Contract: `numbers`, theirs, and `shards(numbers)`."""

    numbers: Sequence[int]

    def shards(self, numbers: Sequence[int]) -> Iterator[Shard]:
        """Some of its shards, in this order."""
        raise NotImplementedError


class HeldPortion(Portion):
    """Shards that are in memory, and travel with it where another worker has to do their part."""

    def __init__(self, numbers: Sequence[int], shards: list[Shard]):
        self.numbers = numbers
        self._shards = [_sound(shard) for shard in shards]

    def __reduce__(self) -> tuple[Any, ...]:
        return HeldPortion, (self.numbers, self._shards)

    def __sizeof__(self) -> int:
        return sum(map(bytes_of, self._shards))

    def shards(self, numbers):
        return (self._shards[k - self.numbers[0]] for k in numbers)


def _sound(shard: Shard) -> Shard:
    """Rows one after the other in memory, at addresses that compiled loops can read: what comes over the
    wire may lie anywhere."""
    return replace(shard, X=np.require(shard.X, requirements=["C", "A"]))


class _Room:
    """Bytes of this process that are given away to shards."""

    def __init__(self) -> None:
        self._lock, self._taken = threading.Lock(), 0

    def take(self, wanted: int, most: int) -> int:
        """So many bytes, or as many as there are."""
        with self._lock:
            taken = max(min(wanted, most - self._taken), 0)
            self._taken += taken
            return taken

    def give_back(self, taken: int) -> None:
        with self._lock:
            self._taken -= taken


_room = _Room()


class ReadPortion(Rows, Portion):
    """Shards that are read where they are asked for, and stay in memory as far as there is room.

    It travels without what it has read, since that can be read anywhere. Which shards stay does not change
    from pass to pass: a pass goes through all of them in order, so that the one used last is needed last.
    """

    def __init__(self, parcel: Parcel, numbers: Sequence[int], size: int):
        self.numbers = numbers
        self._parcel, self._size = parcel, size
        self._kept: dict[int, Shard] = {}
        self._lock = threading.Lock()
        self._rows: Rows | None = None
        self._room_taken = _room.take(size, _most())
        self._room_left = self._room_taken
        weakref.finalize(self, _room.give_back, self._room_taken)

    def __reduce__(self) -> tuple[Any, ...]:
        return ReadPortion, (self._parcel, self.numbers, self._size)

    def __sizeof__(self) -> int:
        # What it will take: Dask asks once, before anything is read.
        return self._room_taken + 1000

    def shard(self, k):
        kept = self._kept.get(k)
        if kept is not None:
            return kept
        if self._rows is None:
            self._rows = opened(self._parcel).content
        shard = self._rows.shard(k)
        with self._lock:
            if (size := bytes_of(shard)) <= self._room_left and k not in self._kept:
                self._room_left -= size
                self._kept[k] = shard
        return shard

    def shards(self, numbers):
        return self._ahead(numbers)


def _most() -> int:
    """Bytes that shards may take in this process."""
    from distributed import get_worker

    try:
        limit = get_worker().memory_manager.memory_limit
    except ValueError:  # no worker is at work here
        limit = None
    return int(_SHARE * (limit or available_memory()))


# -- what is done ---------------------------------------------------------------------------------


def as_it_is(value: Any) -> Any:
    return value


def read_portion(parcel: Parcel, numbers: Sequence[int], size: int) -> ReadPortion:
    return ReadPortion(parcel, numbers, size)


def held_portion(
    parts: list[Shard], numbers: Sequence[int], firsts: Sequence[int], dtype: str
) -> HeldPortion:
    """Shards that were made where they are; each is told the number of its first row."""
    shards = [
        replace(part, X=np.asarray(part.X, dtype=dtype), first=first)
        for part, first in zip(parts, firsts, strict=True)
    ]
    return HeldPortion(numbers, shards)


def job(
    parcel: Parcel, portions: list[Portion], numbers: list[int], count: int, vectors: Arguments
) -> Branches:
    """Sums of a task over some of `count` portions, which have these numbers."""
    found: Branches = {}
    with stop_when(given_up()), one_blas_thread():
        for i, portion in zip(numbers, portions, strict=True):
            found[0, i] = added(_results(parcel, portion, portion.numbers, vectors))
            found = folded(found, count)
    return found


def _results(
    parcel: Parcel, portion: Portion, numbers: Sequence[int], vectors: Arguments
) -> Iterator[Totals]:
    task = opened(parcel)
    for shard in portion.shards(numbers):
        stopping_point()
        yield task(shard, *vectors.values)


def merged(parts: list[Branches], count: int) -> Branches:
    """What several jobs have found, added up as far as it can be."""
    return folded({branch: sums for part in parts for branch, sums in part.items()}, count)


def single(parcel: Parcel, portion: Portion, k: int, vectors: Arguments) -> Totals:
    """What a task gives for one shard."""
    with stop_when(given_up()), one_blas_thread():
        return next(_results(parcel, portion, [k], vectors))


def chosen(portions: list[Portion], wanted: list[dict[int, np.ndarray]]) -> list[Shard]:
    """Some rows of some shards of each portion, by their numbers among all rows."""
    return [_chosen(portion, some) for portion, some in zip(portions, wanted, strict=True)]


def _chosen(portion: Portion, wanted: dict[int, np.ndarray]) -> Shard:
    numbers = sorted(wanted)
    shards = portion.shards(numbers)
    return joined([shard.take(wanted[k] - shard.first) for k, shard in zip(numbers, shards, strict=True)])


def whole(portion: Portion, k: int) -> Shard:
    """One shard."""
    return next(iter(portion.shards([k])))


def ends(portion: Portion) -> list[Any]:
    """The first and the last row of each shard, by which the examples are told from others."""
    found = []
    for shard in portion.shards(portion.numbers):
        for array in (shard.X, shard.y, shard.w):
            if array is not None:
                found.append(np.asarray(array)[[0, -1]].tolist())
    return found


def given_up() -> Callable[[], bool]:
    """Has whoever asked for the task that runs here given it up?"""
    from distributed import get_worker

    try:
        worker = get_worker()
        state = worker.state.tasks[worker.get_current_task()]
    except (ValueError, KeyError, AttributeError):
        return lambda: False
    return lambda: state.state == "cancelled"
