"""Rows on the workers of a Dask cluster: tasks go where the shards are, and only their sums come back."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np

from mercer.rows.arrays import ArrayRows
from mercer.rows.base import Changed, Rows, Shard, Task, Totals, counted, joined, watched
from mercer.rows.blocks import DaskOrigin
from mercer.rows.placing import Origin, is_of_dask, origin_of_rows, sent
from mercer.rows.portions import Arguments, Parcel, chosen, job, merged, single, whole
from mercer.rows.watch import Watch, found_client, is_passing

T = TypeVar("T")
# Threads of each worker, by its address.
Workers: TypeAlias = dict[str, int]

# Jobs for each thread of the cluster in a pass, at most; and seconds that are worth a further one.
_JOBS = 4
_WORTH_A_JOB = 1.0
# Results of jobs that one task adds up, and that come to us, where they are large.
_MERGED = 8
# Bytes from which vectors go to each worker once, and not with each job, and results are added up there.
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
    **choice
        Of Dask's collections: columns, dtype and missing, as for `open_rows`, which also fills in medians.

    Notes
    -----
    Shards are added up in the same order wherever they are computed, so that the sums are the same numbers on
    any number of workers, and on one machine (with one thread: each of a worker's threads runs a task of its
    own). Workers that are lost are replaced by others in the middle of a pass, without a change of the sums.

    Examples
    --------
    >>> import numpy as np
    >>> from distributed import Client
    >>> with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
    ...     rows = ClusterRows(np.arange(12.0).reshape(6, 2), client=client)
    ...     rows.total(lambda shard: (shard.X.sum(axis=0),))
    (array([30., 36.]),)
    """

    on_workers = True

    def __init__(
        self, X: Any, y: Any = None, w: Any = None, client: Any = None, patience: float = 60.0, **choice: Any
    ):
        self.client, self.patience = found_client(client), float(patience)
        self._watch, self._lock = Watch(self.client, self.patience), threading.RLock()
        self._watch.workers()
        self._origin = self._origin_of(X, y, w, choice)
        origin = self._origin
        self.shape, self.dtype, self.sizes, self.names = (
            origin.shape,
            origin.dtype,
            origin.sizes,
            origin.names,
        )
        self.has_y, self.has_w = origin.has_y, origin.has_w
        self.target, self.remarks = origin.target, origin.remarks
        self._bundles = origin.bundles
        self._weights = [sum(self.sizes[k] for k in bundle) for bundle in self._bundles]
        self._bundle_of = [i for i, bundle in enumerate(self._bundles) for _ in bundle]
        self._portions: list[Any] = [None] * len(self._bundles)
        self._owners: list[Any] = []
        self._workers: Workers = {}
        self._tasks: OrderedDict[tuple[int, ...], _Known] = OrderedDict()

    def _origin_of(self, X: Any, y: Any, w: Any, choice: dict[str, Any]) -> Origin:
        if is_of_dask(X):
            return self._watch.tried(
                lambda there: DaskOrigin(self.client, self._gather(there), X, y, w, **choice)
            )
        if choice:
            raise TypeError(f"{', '.join(choice)}: of Dask's collections only, and this is none of them")
        if isinstance(X, Origin):
            return X
        return origin_of_rows(X if isinstance(X, Rows) else ArrayRows(X, y, w))

    def recut(self, rows):
        return ClusterRows(self._origin.recut(rows), client=self.client, patience=self.patience)

    def fingerprint(self):
        def attempt(there: Workers) -> str:
            return self._origin.fingerprint(self.client, self._gather(there), self._ready(there))

        return self._tried(attempt)

    def _gather(self, there: Workers) -> Callable[[list[Any]], list[Any]]:
        return lambda futures: self._watch.values(futures, there)

    # -- work -------------------------------------------------------------------------------------

    def total(self, task, *vectors):
        run = _Pass(self, task, vectors)
        try:
            total = self._tried(run.attempt)
            if (told := watched()) is not None:
                told(self.shape[0], self.shape[0])
            return total
        finally:
            run.release()

    def _tried(self, attempt: Callable[[Workers], T]) -> T:
        """What attempt(workers) returns; if one is lost, what others have is not taken for granted."""
        try:
            return self._watch.tried(attempt, self._forget)
        except FileNotFoundError as error:
            error.add_note("Workers read files themselves: they must be on a disk that all of them see.")
            raise

    def _forget(self) -> None:
        with self._lock:
            self._workers = {}
            # What is neither there nor lost may never be either: the scheduler may not know it any more.
            self._portions = [None if _is_unfinished(f) else f for f in self._portions]
            self._origin.forget()
            for known in self._tasks.values():
                known.forget()

    def each(self, task, *vectors):
        given, known = _Given(vectors), self._known(task)

        def begun(k: int, there: Workers) -> Any:
            portion, client = self._ready(there)[self._bundle_of[k]], self.client
            return client.submit(single, known.parcel(client), portion, k, given.ready(client), pure=False)

        try:
            results = self._in_order(begun, range(len(self.sizes)), given.release)
            yield from counted(results, self.sizes)
        finally:
            given.release()

    def _in_order(self, begin: Any, items: Iterable[Any], again: Callable[[], None] = lambda: None) -> Any:
        """What begin(item, workers) becomes, item by item, a few under way; again() is before another try."""
        waiting: deque[tuple[Any, Any, Workers]] = deque()

        def begun(item: Any, there: Workers) -> tuple[Any, Any, Workers]:
            return item, begin(item, there), there

        def first() -> Any:
            item, future, there = waiting.popleft()
            try:
                return self._watch.values([future], there)[0]
            except Exception as error:
                if not is_passing(error):
                    raise
                again()
                return self._tried(lambda there: self._watch.values([begin(item, there)], there)[0])

        ahead = 2 * sum(self._watch.workers().values())
        try:
            for item in items:
                waiting.append(self._tried(partial(begun, item)))
                if len(waiting) > ahead:
                    yield first()
            while waiting:
                yield first()
        finally:
            for _, future, _ in waiting:
                future.release()

    def shard(self, k):
        def attempt(there: Workers) -> Shard:
            portion = self._ready(there)[self._bundle_of[k]]
            return self._watch.values([self.client.submit(whole, portion, k, pure=False)], there)[0]

        return self._tried(attempt)

    def take(self, index):
        index = np.sort(np.asarray(index, dtype=np.int64))
        edges = np.searchsorted(index, np.cumsum([0, *self.sizes]))
        wanted: dict[int, dict[int, np.ndarray]] = {}
        for k, i in enumerate(self._bundle_of):
            if edges[k] < edges[k + 1]:
                wanted.setdefault(i, {})[k] = index[edges[k] : edges[k + 1]]

        def attempt(there: Workers) -> list[Shard]:
            portions = self._ready(there)
            # One task for each worker: a trip to it takes longer than it does to pick the rows.
            by_worker: dict[Any, list[int]] = {}
            for i in wanted:
                by_worker.setdefault(self._owners[i], []).append(i)
            some = list(by_worker.values())
            asked = [[[things[i] for i in numbers] for numbers in some] for things in (portions, wanted)]
            found = self._watch.values(self.client.map(chosen, *asked, pure=False), there)
            numbers = [i for numbers in some for i in numbers]
            parts = dict(zip(numbers, (part for parts in found for part in parts), strict=True))
            return [parts[i] for i in wanted]

        return joined(self._tried(attempt))

    # -- what is sent -----------------------------------------------------------------------------

    def _known(self, task: Task) -> _Known:
        with self._lock:
            key = _identity(task)
            known = self._tasks.pop(key, None) or _Known(task)
            self._tasks[key] = known
            while len(self._tasks) > _TASKS:
                self._tasks.popitem(last=False)
            return known

    # -- where portions are -----------------------------------------------------------------------

    def _ready(self, workers: Workers) -> list[Any]:
        """Futures of all portions: those that are lost are made again, and work is shared anew if need be."""
        with self._lock:
            if workers != self._workers or any(map(_is_unfinished, self._portions)):
                self._place(workers)
            return list(self._portions)

    def _place(self, workers: Workers) -> None:
        """Make portions that are lost, and share all of them out among these workers."""
        there = [f for f in self._portions if f is not None]
        self._watch.done(there, {*self._workers, *workers})
        for future in there:
            if future.status == "error" and not is_passing(error := future.exception()):
                raise error
        owners = self._where(workers)
        lost = [i for i, f in enumerate(self._portions) if _is_lost(f) or owners[i] is None]
        moved = _fair(self._weights, owners, lost, workers) if self._origin.anywhere else lost
        if moved:
            places = [owners[i] for i in moved]
            for i, future in zip(moved, self._origin.make(self.client, moved, places), strict=True):
                self._portions[i] = future
            self._watch.done([self._portions[i] for i in moved], workers)
        self._owners, self._workers = self._where(workers), workers

    def _jobs(self, a_thread: int) -> list[list[int]]:
        with self._lock:
            return jobs_of(self._weights, self._owners, a_thread * sum(self._workers.values()))

    def _where(self, workers: Workers) -> list[str | None]:
        """The worker that has each portion, or None."""
        there = [f for f in self._portions if f is not None and f.status == "finished"]
        found = self.client.who_has(there) if there else {}
        owners: list[str | None] = []
        for future in self._portions:
            who = [] if future is None else [w for w in found.get(future.key, ()) if w in workers]
            owners.append(min(who) if who else None)
        return owners


class _Pass:
    """One sum over all portions: jobs, and tasks that add up what they find."""

    def __init__(self, rows: ClusterRows, task: Task, vectors: tuple[Any, ...]):
        self.rows, self.task, self.vectors = rows, task, _Given(vectors)
        self.jobs: list[list[int]] = []
        self.results: list[Any] = []
        self.others: list[Any] = []

    def attempt(self, there: Workers) -> Totals:
        """The sum; what had been found before a worker was lost is used again."""
        begun = time.monotonic()
        rows, client = self.rows, self.rows.client
        portions = rows._ready(there)
        known = rows._known(self.task)
        if self.jobs:  # not for the first time: what was sent may be lost
            self._release([*self.others, *filter(_is_unfinished, self.results)])
            self.others = []
        else:
            self.jobs = rows._jobs(known.jobs_a_thread())
            self.results = [None] * len(self.jobs)
        missing = [j for j, f in enumerate(self.results) if _is_unfinished(f)]
        numbers = [self.jobs[j] for j in missing]
        some = [[portions[i] for i in job] for job in numbers]
        parcel, vectors, count = known.parcel(client), self.vectors.ready(client), len(portions)
        same = [[value] * len(missing) for value in (parcel, count, vectors)]
        futures = client.map(job, same[0], some, numbers, same[1], same[2], pure=False)
        for j, future in zip(missing, futures, strict=True):
            self.results[j] = future
        found = rows._watch.values(self._merged(count) if known.large else self.results, there, self._tell)
        [total] = merged(found, count).values()
        known.learn(time.monotonic() - begun, total)
        return total

    def _tell(self) -> None:
        """Say how many rows are done, if anybody asked."""
        if (told := watched()) is not None:
            done = [job for job, future in zip(self.jobs, self.results) if not _is_unfinished(future)]
            some = sum(self.rows._weights[i] for job in done for i in job)
            if 0 < some < self.rows.shape[0]:  # the last is told when all is added up
                told(some, self.rows.shape[0])

    def _merged(self, count: int) -> list[Any]:
        """Results of jobs, added up on the workers until few are left: they would fill our memory."""
        found = self.results
        while len(found) > _MERGED:
            some = [found[i : i + _MERGED] for i in range(0, len(found), _MERGED)]
            found = self.rows.client.map(merged, some, [count] * len(some), pure=False)
            self.others += found
        return found

    def release(self) -> None:
        """Let go of all that this pass has made: workers stop what they still do for it."""
        self._release([*self.results, *self.others])

    def _release(self, futures: list[Any]) -> None:
        for future in futures:
            if future is not None:
                future.release()
        self.vectors.release()


class _Given:
    """Vectors of a pass: small ones go with the jobs, large ones once to each worker that needs them."""

    def __init__(self, vectors: tuple[Any, ...]):
        self._vectors = Arguments(vectors)
        self._sent: Any = None

    def ready(self, client: Any) -> Any:
        if self._vectors.__sizeof__() <= _LARGE:
            return self._vectors
        if _is_lost(self._sent):
            self._sent = client.scatter(self._vectors, hash=False)
        return self._sent

    def release(self) -> None:
        if self._sent is not None:
            self._sent.release()
            self._sent = None


class _Known:
    """What is known of a task: where it is, and how long it took and how much it gave the last time."""

    def __init__(self, task: Task):
        self.task, self.large = task, True
        self._seconds = math.inf
        self._parcel: Any = None

    def parcel(self, client: Any) -> Any:
        """The task as the workers have it: it goes there once, and not with each pass."""
        if self._parcel is None or self._parcel.status in _LOST:
            self._parcel = sent(client, Parcel(self.task))
        return self._parcel

    def forget(self) -> None:
        """It may have been lost with a worker: it is sent again."""
        self._parcel = None

    def jobs_a_thread(self) -> int:
        """Many jobs let fast workers help slow ones; in a short pass they take more time than they save."""
        return int(np.clip(self._seconds / _WORTH_A_JOB, 1, _JOBS))

    def learn(self, seconds: float, total: Totals) -> None:
        self._seconds = seconds
        self.large = sum(getattr(value, "nbytes", 0) for value in total) > _LARGE


def jobs_of(weights: Sequence[int], owners: Sequence[Any], least: int) -> list[list[int]]:
    """Portions in jobs of about the same weight, each on one worker; `least` of them, if there are as many.

    Examples
    --------
    >>> jobs_of([1] * 7, ["a", "a", "a", "a", "a", "b", "b"], 3)
    [[0, 1], [2, 3, 4], [5, 6]]
    """
    most = sum(weights) / least
    found = []
    for owner in dict.fromkeys(owners):
        numbers = [i for i, other in enumerate(owners) if other == owner]
        ends = np.cumsum([weights[i] for i in numbers])
        parts = min(max(round(ends[-1] / most), 1), len(numbers))
        # Where the middle of a portion is decides in which job it is.
        part = ((ends - np.array([weights[i] for i in numbers]) / 2) * parts / ends[-1]).astype(int)
        found += [[i for i, p in zip(numbers, part, strict=True) if p == q] for q in range(parts)]
    return [some for some in found if some]


def _fair(weights: list[int], owners: list[Any], moved: list[int], workers: Workers) -> list[int]:
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


def _is_lost(future: Any) -> bool:
    return future is None or future.status in _LOST


def _is_unfinished(future: Any) -> bool:
    return future is None or future.status != "finished"


def _identity(task: Any) -> tuple[int, ...]:
    """What tells a task from others: rows that are changed wrap it anew for each pass."""
    return (id(task.change), *_identity(task.task)) if isinstance(task, Changed) else (id(task),)
