"""Rows on the workers of a Dask cluster: tasks go where the shards are, and only their sums come back."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mercer.rows.arrays import ArrayRows
from mercer.rows.base import Changed, Rows, Shard, Task, Totals, joined
from mercer.rows.placing import DaskSource, Source, is_of_dask, source_of_rows
from mercer.rows.portions import Parcel, Vectors, chosen, merged, single, unit, whole
from mercer.rows.watch import Watch, found_client, is_passing

# Units of work for each thread of the cluster: so many that one that is slow is helped by the others.
_UNITS = 4
# So many results are worth a task that adds them up.
_WORTH_MERGING = 4
# Vectors larger than this go to each worker once, and not with each unit of work.
_LARGE = 1 << 16
# Tasks that stay ready on the workers: those of a few fits in threads of this process.
_TASKS = 4
# Futures that will not become anything any more.
_LOST = ("error", "cancelled", "lost")


class ClusterRows(Rows):
    """Rows on the workers of a Dask cluster.

    Parameters
    ----------
    X : Rows, array, Dask array or Dask data frame
        Rows of files are read by the workers, which have to see the same files; they stay in the workers'
        memory as far as there is room. Other rows and arrays are sent, once. Blocks of Dask's collections
        are used where they lie, and each is a shard.
    y, w : targets and weights
        Arrays, Dask arrays or series; or names of columns of a data frame.
    client : distributed.Client, optional
        None: the current one.
    patience : float
        Seconds to wait for a worker when there is none.

    Notes
    -----
    Shards are added up in the same order wherever they are computed, so that the sums are the same numbers on
    any number of workers, and on one machine (with one thread: each of a worker's threads runs a task of its
    own). Workers that are lost are replaced by others in the middle of a pass, without a change of the sums.

    Examples
    --------
    >>> import numpy as np
    >>> from distributed import Client
    >>> with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None) as client:
    ...     rows = ClusterRows(np.arange(12.0).reshape(6, 2), client=client)
    ...     rows.total(lambda shard: (shard.X.sum(axis=0),))
    (array([30., 36.]),)
    """

    def __init__(self, X: Any, y: Any = None, w: Any = None, client: Any = None, patience: float = 60.0):
        self.client, self.patience = found_client(client), float(patience)
        self._watch, self._lock = Watch(self.client, self.patience), threading.RLock()
        self._watch.workers()
        self._source = self._source_of(X, y, w)
        source = self._source
        self.shape, self.dtype, self.sizes, self.names = source.shape, source.dtype, source.sizes, source.names
        self.has_y, self.has_w = source.has_y, source.has_w
        self._bundles = source.bundles
        self._bundle_of = [i for i, bundle in enumerate(self._bundles) for _ in bundle]
        self._portions: list[Any] = [None] * len(self._bundles)
        self._owners: list[str] = []
        self._units: list[range] = []
        self._workers: dict[str, int] = {}
        self._parcels: OrderedDict[tuple[int, ...], tuple[Task, Any]] = OrderedDict()

    def _source_of(self, X: Any, y: Any, w: Any) -> Source:
        if isinstance(X, Source):
            return X
        if is_of_dask(X):
            return self._watch.tried(lambda: DaskSource(self.client, X, y, w))
        return source_of_rows(X if isinstance(X, Rows) else ArrayRows(X, y, w))

    def recut(self, rows):
        return ClusterRows(self._source.recut(rows), client=self.client, patience=self.patience)

    def fingerprint(self):
        return self._watch.tried(lambda: self._source.fingerprint(self.client, self._ready()))

    # -- work -------------------------------------------------------------------------------------

    def total(self, task, *vectors):
        run = _Pass(self, task, vectors)
        try:
            return self._watch.tried(run.attempt)
        finally:
            run.release()

    def each(self, task, *vectors):
        given = self._vectors(vectors)

        def begun(k: int) -> Any:
            portion = self._ready()[self._bundle_of[k]]
            return self.client.submit(single, self._parcel(task), portion, k, given, pure=False)

        yield from self._in_order(begun, range(len(self.sizes)))

    def _in_order(self, begin: Any, items: Iterable[Any]) -> Any:
        """What begin(item) becomes, item by item, a few of them being under way."""
        waiting: deque[tuple[Any, Any]] = deque()

        def first() -> Any:
            item, future = waiting.popleft()
            try:
                return self._watch.value(future)
            except Exception as error:
                if not is_passing(error):
                    raise
                return self._watch.tried(lambda: self._watch.value(begin(item)))

        ahead = 2 * sum(self._watch.workers().values())
        try:
            for item in items:
                waiting.append((item, self._watch.tried(lambda item=item: begin(item))))
                if len(waiting) > ahead:
                    yield first()
            while waiting:
                yield first()
        finally:
            for _, future in waiting:
                future.release()

    def shard(self, k):
        def attempt() -> Shard:
            portion = self._ready()[self._bundle_of[k]]
            return self._watch.value(self.client.submit(whole, portion, k, pure=False))

        return self._watch.tried(attempt)

    def take(self, index):
        index = np.sort(np.asarray(index, dtype=np.int64))
        edges = np.searchsorted(index, np.cumsum([0, *self.sizes]))
        wanted: dict[int, dict[int, np.ndarray]] = {}
        for k, i in enumerate(self._bundle_of):
            if edges[k] < edges[k + 1]:
                wanted.setdefault(i, {})[k] = index[edges[k] : edges[k + 1]]

        def begun(i: int) -> Any:
            return self.client.submit(chosen, self._ready()[i], wanted[i], pure=False)

        return joined(list(self._in_order(begun, wanted)))

    # -- what is sent -----------------------------------------------------------------------------

    def _parcel(self, task: Task) -> Any:
        """The task as the workers have it: it goes there once, and not with each pass."""
        with self._lock:
            key = _identity(task)
            kept, future = self._parcels.pop(key, (task, None))
            if future is None or future.status != "finished":
                future = self.client.scatter(Parcel(task), hash=False)
            self._parcels[key] = kept, future
            while len(self._parcels) > _TASKS:
                self._parcels.popitem(last=False)
            return future

    def _vectors(self, values: tuple[Any, ...]) -> Vectors:
        return Vectors(values)

    # -- where portions are -----------------------------------------------------------------------

    def _ready(self) -> list[Any]:
        """Futures of all portions: those that are lost are made again, and work is shared anew if need be."""
        with self._lock:
            workers = self._watch.workers()
            lost = [i for i, f in enumerate(self._portions) if f is None or f.status in _LOST]
            for future in (self._portions[i] for i in lost if self._portions[i] is not None):
                if future.status == "error" and not is_passing(error := future.exception()):
                    raise error
            if lost or workers != self._workers:
                self._place(workers, lost)
            return list(self._portions)

    def _place(self, workers: dict[str, int], lost: list[int]) -> None:
        """Make portions that are lost, share them out among these workers, and plan units of work."""
        owners = self._where(workers)
        moved = lost
        if self._source.anywhere:
            moved = sorted({*lost, *(i for i, owner in enumerate(owners) if owner is None)})
            moved = _fair(self._rows_of_bundles(), owners, moved, workers)
        if moved:
            places = [owners[i] for i in moved]
            for i, future in zip(moved, self._source.make(self.client, moved, places), strict=True):
                self._portions[i] = future
            self._watch.done(self._portions)
            owners = self._where(workers)
        self._units = planned(owners, _UNITS * sum(workers.values()))
        self._workers = workers

    def _rows_of_bundles(self) -> list[int]:
        return [sum(self.sizes[k] for k in bundle) for bundle in self._bundles]

    def _where(self, workers: dict[str, int]) -> list[str | None]:
        """The worker that has each portion, or None."""
        there = [f for f in self._portions if f is not None and f.status == "finished"]
        found = self.client.who_has(there) if there else {}
        owners: list[str | None] = []
        for future in self._portions:
            who = [] if future is None else [w for w in found.get(future.key, ()) if w in workers]
            owners.append(min(who) if who else None)
        return owners


class _Pass:
    """One sum over all portions: units of work, and tasks that add up their results."""

    def __init__(self, rows: ClusterRows, task: Task, vectors: tuple[Any, ...]):
        self.rows, self.task, self.vectors = rows, task, Vectors(vectors)
        self.units: list[range] = []
        self.results: dict[range, Any] = {}
        self.merges: list[Any] = []
        self.sent: Any = None

    def attempt(self) -> Totals:
        """The sum; what had been found before a worker was lost is used again."""
        rows, client = self.rows, self.rows.client
        portions = rows._ready()
        self.units = self.units or rows._units
        parcel, vectors = rows._parcel(self.task), self._given()
        missing = [u for u in self.units if u not in self.results or self.results[u].status in _LOST]
        some = [[portions[i] for i in u] for u in missing]
        futures = client.map(unit, [parcel] * len(some), some, [vectors] * len(some), pure=False)
        self.results.update(zip(missing, futures, strict=True))
        return rows._watch.value(self._merged(len(portions)))

    def _given(self) -> Any:
        """The vectors: small ones go with the units, large ones once to each worker that needs them."""
        if self.vectors.__sizeof__() <= _LARGE:
            return self.vectors
        if self.sent is None or self.sent.status != "finished":
            self.sent = self.rows.client.scatter(self.vectors, hash=False)
        return self.sent

    def _merged(self, count: int) -> Any:
        """The future of the sum of all units, in pairs of pairs, as `tree_sum` has it."""
        starts = {u.start: u for u in self.units}
        self.merges = []

        def tree(first: int, size: int) -> tuple[Any, int]:
            """The sum over `size` portions from the first on, and how many results it is made of."""
            here = range(first, min(first + size, count))
            if starts.get(first) == here:
                return self.results[here], 1
            left, a = tree(first, size // 2)
            if first + size // 2 >= count:
                return left, a
            right, b = tree(first + size // 2, size // 2)
            return ([left, right], a + b) if a + b < _WORTH_MERGING else (self._merge([left, right]), 1)

        found, _ = tree(0, 1 << (count - 1).bit_length())
        return self._merge(found) if isinstance(found, list) else found

    def _merge(self, results: list[Any]) -> Any:
        self.merges.append(self.rows.client.submit(merged, results, pure=False))
        return self.merges[-1]

    def release(self) -> None:
        """Let go of all that this pass has made: workers stop what they still do for it."""
        for future in [*self.merges, *self.results.values(), *([self.sent] if self.sent else [])]:
            future.release()


def planned(owners: Sequence[Any], least: int) -> list[range]:
    """Neighbouring portions in units of work: at least so many, each on one worker.

    A unit is a branch of the tree in which `tree_sum` adds up, so that it can be added up on its own.

    Examples
    --------
    >>> planned(["a", "a", "a", "a", "a", "b", "b"], 2)
    [range(0, 2), range(2, 4), range(4, 5), range(5, 6), range(6, 7)]
    """
    count, size = len(owners), 1
    while 2 * size * least <= count:
        size *= 2

    def split(first: int, size: int) -> list[range]:
        here = range(first, min(first + size, count))
        if size == 1 or len({owners[i] for i in here}) == 1:
            return [here] if here else []
        return split(first, size // 2) + split(first + size // 2, size // 2)

    return [u for first in range(0, count, size) for u in split(first, size)]


def _fair(
    weights: list[int], owners: list[Any], moved: list[int], workers: dict[str, int]
) -> list[int]:
    """Give portions that have no worker to those with the least for their threads; neighbours together.

    Workers that have more than their share give some away. Fills in `owners`, and returns what has moved.
    """
    threads = sum(workers.values())
    spare = {worker: sum(weights) * some / threads for worker, some in workers.items()}
    for i, owner in enumerate(owners):
        if i not in moved and owner is not None:
            spare[owner] -= weights[i]
    for i in reversed(range(len(owners))):
        if i not in moved and spare[owners[i]] <= -weights[i]:
            spare[owners[i]] += weights[i]
            moved = sorted([*moved, i])
    here = None
    for i in moved:
        if here is None or spare[here] < weights[i] / 2:
            here = max(spare, key=lambda worker: spare[worker])
        owners[i] = here
        spare[here] -= weights[i]
    return moved


def _identity(task: Any) -> tuple[int, ...]:
    """What tells a task from others: rows that are changed wrap it anew for each pass."""
    return (id(task.change), *_identity(task.task)) if isinstance(task, Changed) else (id(task),)
