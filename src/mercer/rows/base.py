"""Examples that live elsewhere, in files or on other machines: read shard by shard, and never all at once."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

# What comes out of a shard and is added up over all of them.
Totals = tuple[Any, ...]
Task = Callable[..., Totals]
# Sums over branches of the tree in which bundles are added up, by level (0: one bundle) and number.
Branches = dict[tuple[int, int], Totals]
Change = Callable[["Shard"], "Shard"]

# Bytes of a shard's points, and the least rows worth a task of their own.
SHARD_BYTES = 8 << 20
_FEWEST_ROWS = 1 << 15
# Shards are first added up within so many bundles of neighbours, wherever they are computed: so the sums are
# the same numbers on one machine and on many.
_BUNDLES = 64
# Shards that are read while the one before is computed with.
_AHEAD = 2


_WATCHING: ContextVar[Callable[[int, int], None] | None] = ContextVar("watching", default=None)


@contextmanager
def watching(told: Callable[[int, int], None]) -> Iterator[None]:
    """Within this, passes say how far they are: `told` is called with the rows done, and those of the pass.

    Examples
    --------
    >>> from mercer.rows import ArrayRows
    >>> with watching(lambda done, count: print(done, "of", count)):
    ...     _ = ArrayRows(np.zeros((4, 1)), rows=2).total(lambda shard: (len(shard),))
    2 of 4
    4 of 4
    """
    before = _WATCHING.set(told)
    try:
        yield
    finally:
        _WATCHING.reset(before)


def watched() -> Callable[[int, int], None] | None:
    """Who is to be told how far passes are, if anybody."""
    return _WATCHING.get()


def counted(results: Iterable[Totals], sizes: Sequence[int]) -> Iterator[Totals]:
    """The results of shards of these sizes, in order; whoever watches is told as they come."""
    told, done, rows = watched(), 0, sum(sizes)
    for size, result in zip(sizes, results, strict=True):
        done += size
        if told is not None and size:
            told(done, rows)
        yield result


@dataclass(frozen=True, eq=False)
class Shard:
    """Some examples next to each other: points X (rows, d), targets or labels y, weights w, where there are.

    `first` is the number of the first of them among all rows.

    Examples
    --------
    >>> shard = Shard(np.array([[1.0], [2.0], [3.0]]), y=np.array([1, 2, 3]), first=10)
    >>> len(shard), shard.take(np.array([0, 2])).y
    (3, array([1, 3]))
    """

    X: np.ndarray
    y: np.ndarray | None = None
    w: np.ndarray | None = None
    first: int = 0

    def __len__(self) -> int:
        return len(self.X)

    def take(self, index: np.ndarray) -> Shard:
        """Some of its rows."""
        y, w = (None if a is None else a[index] for a in (self.y, self.w))
        return Shard(self.X[index], y, w, self.first)


class Largest:
    """A number (or array) of which the largest is kept where others are added up.

    Examples
    --------
    >>> (Largest(2.0) + Largest(3.0)).value
    array(3.)
    """

    def __init__(self, value: Any):
        self.value = np.asarray(value)

    def __add__(self, other: Largest) -> Largest:
        return Largest(np.maximum(self.value, other.value))


class Reservoir:
    """Numbers of some rows, drawn at random from those that were offered; drawn again, they are the same.

    Every row has a key of its own, and those with the smallest keys are kept: so it does not matter in which
    order, or on which machine, rows are offered.

    Examples
    --------
    >>> both = Reservoir.of(np.arange(100), 3, seed=1) + Reservoir.of(np.arange(100, 200), 3, seed=1)
    >>> both.count, bool((both.rows == Reservoir.of(np.arange(200), 3, seed=1).rows).all())
    (200, True)
    """

    def __init__(self, rows: np.ndarray, keys: np.ndarray, size: int, count: int):
        self.rows, self.keys, self.size, self.count = rows, keys, size, count

    @classmethod
    def of(cls, rows: np.ndarray, size: int, seed: int = 0) -> Reservoir:
        """So many, at most, of these rows."""
        return cls(rows, random_keys(rows, seed), size, len(rows))._kept()

    def _kept(self) -> Reservoir:
        if len(self.rows) > self.size:
            first = np.argpartition(self.keys, self.size)[: self.size]
            self.rows, self.keys = self.rows[first], self.keys[first]
        order = np.argsort(self.rows, kind="stable")
        self.rows, self.keys = self.rows[order], self.keys[order]
        return self

    def __add__(self, other: Reservoir) -> Reservoir:
        rows, keys = (np.concatenate(both) for both in ((self.rows, other.rows), (self.keys, other.keys)))
        return Reservoir(rows, keys, self.size, self.count + other.count)._kept()


def random_keys(rows: np.ndarray, seed: int) -> np.ndarray:
    """Random-looking 64-bit numbers, one for each number (the mixing steps of splitmix64).

    >>> bool((random_keys(np.arange(3), 1) == random_keys(np.array([0, 1, 2]), 1)).all())
    True
    """
    start = np.uint64(seed % 2**32 * 0xD1342543DE82EF95 % 2**64)
    # Row 0 with seed 0 would be mixed to 0, and always be drawn.
    z = (np.asarray(rows, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + start
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


class Rows:
    """Examples in shards. Contract: `shape`, `dtype`, `sizes`, and `shard(k)`, which reads the k-th.

    All work on them is a **task**: ``task(shard, *vectors)`` gives a tuple of arrays, and `total` adds these
    up over all shards. A task goes where the shards are, so it must be possible to pickle it; it is the same
    object from pass to pass, and may keep what it prepares, while `vectors` change. Here tasks run in this
    process, one shard after the other, the next ones being read meanwhile; with an attribute ``at_once``, a
    task is called for so many shards at the same time.

    Attributes
    ----------
    shape : (rows, features) of all points together
    dtype : of the points, float32 or float64
    sizes : tuple of int, the rows of each shard
    names : names of the features, or None
    has_y, has_w : are there targets, are there weights?
    target : name of the targets' column, or names, or None where it has none
    remarks : sentences about how they are read, for the plan
    on_workers : are they computed with on the workers of a cluster?

    Examples
    --------
    >>> class Counting(Rows):
    ...     shape, dtype, sizes = (6, 1), np.dtype(float), (3, 3)
    ...     def shard(self, k):
    ...         return Shard(np.arange(3.0 * k, 3 * k + 3)[:, None], first=3 * k)
    >>> Counting().total(lambda shard: (shard.X.sum(), len(shard)))
    (np.float64(15.0), 6)
    """

    shape: tuple[int, int]
    dtype: np.dtype
    sizes: tuple[int, ...]
    names: Sequence[str] | None = None
    has_y = False
    has_w = False
    target: str | tuple[str, ...] | None = None
    remarks: tuple[str, ...] = ()
    on_workers = False

    def shard(self, k: int) -> Shard:
        """Read the k-th shard; several threads may ask at the same time."""
        raise NotImplementedError

    def fingerprint(self) -> str:
        """A word that changes when the examples do: a checkpoint goes with the data it was made from."""
        raise NotImplementedError

    def recut(self, rows: int) -> Rows:
        """The same examples in shards of so many rows, where they can be cut anew; else as they are."""
        return self

    # -- work -------------------------------------------------------------------------------------

    def total(self, task: Task, *vectors: Any) -> Totals:
        """Σ over shards of task(shard, *vectors), entry by entry."""
        results = self.each(task, *vectors)
        return tree_sum([added(next(results) for _ in bundle) for bundle in bundles(len(self.sizes))])

    def each(self, task: Task, *vectors: Any) -> Iterator[Totals]:
        """task(shard, *vectors) of one shard after the other, in order."""
        shards, at_once = self._ahead(range(len(self.sizes))), getattr(task, "at_once", 1)
        results: Iterator[Totals] = (task(shard, *vectors) for shard in shards)
        if at_once > 1:
            results = _in_threads(lambda shard: task(shard, *vectors), shards, at_once, at_once - 1)
        yield from counted(results, self.sizes)

    def take(self, index: np.ndarray) -> Shard:
        """These rows, in the order of their numbers: one pass over the shards that hold them."""
        index = np.sort(np.asarray(index, dtype=np.int64))
        edges = np.searchsorted(index, np.cumsum([0, *self.sizes]))
        held = [k for k in range(len(self.sizes)) if edges[k] < edges[k + 1]]
        parts = [
            shard.take(index[edges[k] : edges[k + 1]] - shard.first)
            for k, shard in zip(held, self._ahead(held))
        ]
        return joined(parts)

    def _ahead(self, numbers: Iterable[int]) -> Iterator[Shard]:
        """Shards in this order, the next ones being read while one is in use."""
        return _in_threads(self.shard, numbers, 1, _AHEAD)

    # -- the same rows, seen otherwise --------------------------------------------------------------

    def changed(self, change: Change, dtype: Any = None, width: int | None = None) -> Rows:
        """Rows of which every shard has gone through `change` (which can be pickled) when it is read."""
        return ChangedRows(self, change, dtype, width)

    def standardised(self, about: Any = None) -> Rows:
        """Rows of (x − mean) / deviation, column by column; those that are constant become 0.

        Parameters
        ----------
        about : mercer.rows.Description, optional
            What is known about the rows; a pass over them finds it out. ``about.standardiser()`` is the
            change that new rows go through.
        """
        from mercer.rows.statistics import describe

        return self.changed((about or describe(self, sample=0)).standardiser())


class ChangedRows(Rows):
    """Rows that go through a function shard by shard, where they are."""

    def __init__(self, base: Rows, change: Change, dtype: Any = None, width: int | None = None):
        self.base, self.change = base, change
        self.shape = (base.shape[0], base.shape[1] if width is None else width)
        self.dtype = base.dtype if dtype is None else np.dtype(dtype)
        self.sizes = base.sizes
        # A change of the columns may know their names.
        self.names = getattr(change, "names", base.names if width is None else None)
        self.has_y, self.has_w, self.target = base.has_y, base.has_w, base.target
        self.on_workers = base.on_workers

    @property
    def remarks(self):
        return self.base.remarks

    def shard(self, k):
        return self.change(self.base.shard(k))

    def fingerprint(self):
        return self.base.fingerprint()

    def recut(self, rows):
        return self.base.recut(rows).changed(self.change, self.dtype, self.shape[1])

    def each(self, task, *vectors):
        return self.base.each(Changed(self.change, task), *vectors)

    def total(self, task, *vectors):
        return self.base.total(Changed(self.change, task), *vectors)

    def take(self, index):
        return self.change(self.base.take(index))


@dataclass(frozen=True)
class Changed:
    """A task on rows that are changed first."""

    change: Change
    task: Task

    @property
    def at_once(self) -> int:
        return getattr(self.task, "at_once", 1)

    def __call__(self, shard: Shard, *vectors: Any) -> Totals:
        return self.task(self.change(shard), *vectors)


def _in_threads(call: Callable[[Any], Any], items: Iterable[Any], threads: int, ahead: int) -> Iterator[Any]:
    """call(item) of one item after the other, so many further ones being under way while one is in use."""
    pool = ThreadPoolExecutor(threads, "mercer-rows")
    waiting: deque[Future[Any]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(copy_context().run, call, item))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        # Whoever interrupts us does not wait for a slow disk.
        pool.shutdown(wait=False, cancel_futures=True)


def rows_of_a_shard(n: int, d: int, itemsize: int, most: int = SHARD_BYTES) -> int:
    """How many rows a shard has, if nobody says: it depends on the data only, so that sums always agree."""
    fits = max(most // max(d * itemsize, 1), 1)
    return min(max(math.ceil(n / _BUNDLES), _FEWEST_ROWS), fits)


def cut(n: int, rows: int) -> tuple[int, ...]:
    """n rows in shards of so many, the last one with what is left."""
    whole, rest = divmod(n, rows)
    return (rows,) * whole + ((rest,) if rest else ())


def bundles(count: int) -> list[range]:
    """Numbers of neighbouring shards that are added up first."""
    edges = np.linspace(0, count, min(count, _BUNDLES) + 1).astype(int).tolist()
    return [range(a, b) for a, b in pairwise(edges)]


def added(results: Iterable[Totals]) -> Totals:
    """The sum of tuples, entry by entry, from the first to the last."""
    total: Totals | None = None
    for result in results:
        total = result if total is None else tuple(a + b for a, b in zip(total, result, strict=True))
    if total is None:
        raise ValueError("there are no rows to add anything up over")
    return total


def tree_sum(results: list[Totals]) -> Totals:
    """The sum of tuples, of pairs of pairs: the order does not depend on who computed them."""
    if not results:
        raise ValueError("there are no rows to add anything up over")
    [total] = folded({(0, i): result for i, result in enumerate(results)}, len(results)).values()
    return total


def folded(branches: Branches, count: int) -> Branches:
    """Sums of branches of a tree of `count` bundles, added up in pairs wherever both of a pair are there.

    Examples
    --------
    >>> folded({(0, 0): (1,), (0, 1): (2,), (0, 3): (4,), (0, 4): (5,)}, 5)
    {(0, 3): (4,), (1, 0): (3,), (2, 1): (5,)}
    """
    found, level, width = dict(branches), 0, count
    while width > 1:
        for i in range(0, width, 2):
            pair = [(level, i), (level, i + 1)][: width - i]
            if all(branch in found for branch in pair):
                found[level + 1, i // 2] = added([found.pop(branch) for branch in pair])
        level, width = level + 1, (width + 1) // 2
    return found


def joined(parts: list[Shard]) -> Shard:
    """Several shards as one."""
    if not parts:
        raise ValueError("no rows were asked for")
    first = parts[0]

    def together(name: str) -> np.ndarray | None:
        held = [getattr(part, name) for part in parts]
        return None if held[0] is None else np.concatenate(held)

    return replace(first, X=np.concatenate([part.X for part in parts]), y=together("y"), w=together("w"))
