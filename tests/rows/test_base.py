"""Rows: sums over shards, rows by their numbers, the same rows changed."""

import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.rows import ArrayRows, Rows, Shard
from mercer.rows.base import (
    Largest,
    Reservoir,
    added,
    bundles,
    cut,
    joined,
    rows_of_a_shard,
    tree_sum,
)


@given(n=st.integers(1, 400), rows=st.integers(1, 50), seed=st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_sums_and_single_rows(n, rows, seed):
    rng = np.random.default_rng(seed)
    X, y, w = rng.random((n, 2)), rng.random(n), rng.random(n)
    found = ArrayRows(X, y, w, rows=rows)
    assert sum(found.sizes) == n and max(found.sizes) <= rows
    total, most, count = found.total(lambda s, v: (s.w @ s.X * v, Largest(s.y.max()), len(s)), 2.0)
    assert np.allclose(total, 2 * w @ X) and most.value == y.max() and count == n
    index = rng.choice(n, min(n, 20), replace=False)
    taken, order = found.take(index), np.sort(index)
    assert np.array_equal(taken.X, X[order]) and np.array_equal(taken.y, y[order])
    assert np.array_equal(taken.w, w[order])


@given(st.integers(0, 500))
def test_bundles(count):
    """Neighbours, every shard once, at most 64."""
    found = bundles(count)
    assert [k for bundle in found for k in bundle] == list(range(count)) and len(found) <= 64
    assert all(a.stop == b.start for a, b in pairwise(found)) and all(len(b) for b in found)


def test_trees():
    assert tree_sum([(k, k * k) for k in range(13)]) == (78, 650)
    assert added([("a",), ("b",), ("c",)]) == ("abc",)
    for empty in (added, tree_sum):
        with pytest.raises(ValueError, match="no rows"):
            empty([])
    with pytest.raises(ValueError, match="no rows were asked for"):
        joined([])


def test_sizes_depend_on_the_data_only():
    assert cut(10, 4) == (4, 4, 2) and cut(8, 4) == (4, 4) and cut(0, 4) == ()
    assert rows_of_a_shard(100, 9, 4) == 1 << 15
    assert rows_of_a_shard(10**8, 9, 4) == (8 << 20) // 36
    assert rows_of_a_shard(10**8, 10**9, 8) == 1


def test_changed():
    X = np.arange(10.0).reshape(5, 2)
    rows = ArrayRows(X, rows=2).changed(lambda s: Shard(2 * s.X[:, :1], s.y, s.w, s.first), np.float64, 1)
    assert rows.shape == (5, 1) and rows.sizes == (2, 2, 1) and rows.remarks == ()
    assert np.array_equal(rows.take(np.arange(5)).X, 2 * X[:, :1])
    assert rows.total(lambda s: (s.X.sum(),))[0] == 40 and rows.shard(2).X.tolist() == [[16.0]]
    assert rows.recut(5).sizes == (5,) and rows.recut(5).shape == (5, 1)
    assert rows.fingerprint() == ArrayRows(X, rows=2).fingerprint()


class Slow(Rows):
    """Counts what is read, and fails in the fifth shard if it shall."""

    shape, dtype, sizes = (8, 1), np.dtype(float), (1,) * 8

    def __init__(self, fails=False):
        self.fails, self.read, self.threads = fails, [], set()

    def shard(self, k):
        self.read.append(k)
        self.threads.add(threading.current_thread().name)
        if self.fails and k == 4:
            raise OSError("the disk is gone")
        return Shard(np.full((1, 1), float(k)), first=k)


def test_reading_ahead():
    """The next shards are read in another thread, and only some of them."""
    rows = Slow()
    each = rows.each(lambda shard: (shard.X[0, 0],))
    assert next(each) == (0.0,) and len(rows.read) <= 4
    assert [x for (x,) in each] == list(range(1, 8)) and rows.read == list(range(8))
    assert all(name.startswith("mercer-rows") for name in rows.threads)
    found = []
    with pytest.raises(OSError, match="the disk is gone"):
        for (x,) in Slow(fails=True).each(lambda shard: (shard.X[0, 0],)):
            found.append(x)
    assert found == [0, 1, 2, 3]


def test_several_shards_at_once():
    """A task that says so is called for several shards at the same time, and sums do not change."""
    together = threading.Barrier(3, timeout=10)

    class Task:
        at_once = 3

        def __call__(self, shard):
            together.wait()
            return (shard.X.sum(axis=0), [shard.first])

    X = np.random.default_rng(0).standard_normal((18, 2))
    rows = ArrayRows(X, rows=2)
    assert len(rows.sizes) == 9
    for some in (rows, rows.changed(lambda shard: shard)):
        total, first = some.total(Task())
        assert first == list(range(0, 18, 2)) and (total == rows.total(lambda s: (s.X.sum(axis=0),))[0]).all()


# -- drawn at random ---------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 200), st.integers(0, 30), st.integers(0, 2**40), st.data())
def test_a_reservoir_does_not_mind_order_or_partition(n, size, seed, data):
    rows = np.arange(n) * 7
    whole = Reservoir.of(rows, size, seed)
    order = np.array(data.draw(st.permutations(range(n))), dtype=int)
    edges = sorted(data.draw(st.lists(st.integers(0, n), max_size=4)))
    parts = [Reservoir.of(rows[part], size, seed) for part in np.split(order, edges)]
    data.draw(st.randoms()).shuffle(parts)
    both = sum(parts[1:], start=parts[0])
    assert np.array_equal(both.rows, whole.rows) and both.count == whole.count == n
    assert len(whole.rows) == min(n, size) and (np.diff(whole.rows) > 0).all()


def test_a_reservoir_is_uniform():
    """Every row is as likely as any other, and pairs of neighbours are as independent as they should be."""
    n, size, draws = 40, 10, 4000
    kept = np.zeros((draws, n))
    for seed in range(draws):
        kept[seed, Reservoir.of(np.arange(n), size, seed).rows] = 1
    share, spread = size / n, np.sqrt(size / n * (1 - size / n) / draws)
    assert np.abs(kept.mean(axis=0) - share).max() < 4.5 * spread
    together = (kept[:, :-1] * kept[:, 1:]).mean(axis=0)
    expected = share * (size - 1) / (n - 1)
    assert np.abs(together - expected).max() < 4.5 * np.sqrt(expected / draws)


def test_the_largest():
    found = Largest([1.0, 5.0]) + Largest([3.0, 2.0])
    assert found.value.tolist() == [3.0, 5.0]
