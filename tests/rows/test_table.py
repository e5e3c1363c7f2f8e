"""Tables in shards: any order, several threads, in other processes, wide ones."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

from mercer.rows import open_rows
from mercer.rows.arrow import ParquetFiles
from mercer.rows.columns import choose
from mercer.rows.source import batch_rows
from mercer.rows.table import TableRows


@pytest.fixture
def numbered(save):
    x = np.arange(20_000)
    content = pa.table({"x": x.astype(np.float32), "y": x, "word": np.char.add("w", (x % 7).astype(str))})
    return {name: save(content, name) for name in ("t.parquet", "t.csv", "t.feather")}


@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.feather"])
@pytest.mark.parametrize("cache", [None, False])
def test_threads(numbered, name, cache):
    """Several threads read at the same time, each what it asked for."""
    rows = open_rows(numbered[name], "word", columns=["x"], rows=700, cache=cache)
    wanted = np.random.default_rng(0).integers(0, len(rows.sizes), 60).tolist()
    start = threading.Barrier(4)

    def read(part):
        start.wait()
        return [(k, rows.shard(k)) for k in part]

    with ThreadPoolExecutor(4) as pool:
        found = [pair for part in pool.map(read, [wanted[i::4] for i in range(4)]) for pair in part]
    for k, shard in found:
        expected = np.arange(700 * k, 700 * k + len(shard))
        assert np.array_equal(shard.X[:, 0], expected)
        assert np.array_equal(shard.y, np.char.add("w", (expected % 7).astype(str)))


def test_a_pass_reads_every_byte_once(numbered, monkeypatch):
    """In order, one reader goes on where it is, over all shards."""
    opened = []
    batches = ParquetFiles.batches
    monkeypatch.setattr(
        ParquetFiles,
        "batches",
        lambda self, first, columns: opened.append(first) or batches(self, first, columns),
    )
    rows = open_rows(numbered["t.parquet"], "y", columns=["x"], rows=700, cache=False)
    for n in (1, 2):
        assert rows.total(lambda shard: (shard.X.sum(dtype=float),))[0] == 20_000 * 19_999 / 2
        assert opened == [0] * n
    assert np.array_equal(rows.take(np.array([19_999, 5, 704])).y, [5, 704, 19_999])


def test_the_same_elsewhere(numbered, whole):
    for name, path in numbered.items():
        rows = open_rows(path, "y", columns=["x"], rows=3000, cache=False)
        copy = pickle.loads(pickle.dumps(rows))
        assert copy.sizes == rows.sizes and copy.fingerprint() == rows.fingerprint(), name
        assert np.array_equal(whole(copy).X, whole(rows).X)
    other = open_rows(path, "y", columns=["x"], rows=2000, cache=False)
    assert other.fingerprint() != rows.fingerprint()
    assert rows.recut(2000).fingerprint() == other.fingerprint()


def test_wide_tables_have_short_batches(save):
    names = [f"x{j}" for j in range(2000)]
    assert batch_rows(None, names) == 262 and batch_rows(None, ["x"]) == 65_536
    content = pa.table({name: np.full(300, j, dtype=np.float32) for j, name in enumerate(names)})
    rows = open_rows(save(content, "w.parquet"), cache=False)
    assert np.array_equal(rows.shard(0).X[299], np.arange(2000))


def test_text_that_loses_lines(numbered):
    """A file that changes while it is read is noticed; one that has fewer rows, too."""
    rows = open_rows(numbered["t.csv"], "y", columns=["x"], rows=9000, cache=False)
    rows.base.source.batches = lambda first, columns: (pa.record_batch({"x": [1.0], "y": [i]}) for i in [1])
    with pytest.raises(ValueError, match="ends early: there are 1 rows"):
        rows.shard(1)


def test_parts_that_are_read_whole(save, monkeypatch):
    monkeypatch.setattr("mercer.rows.table._MUCH", 1000)
    content = pa.table({"x": np.arange(5000.0)})
    rows = open_rows(save(content, "one.feather", chunksize=5000))
    assert "parts that can only be read whole" in rows.remarks[0]
    assert open_rows(save(content, "many.feather", chunksize=100)).remarks == ()
    assert open_rows(save(content, "one.parquet")).remarks == ()


def test_where_a_cache_does_not_pay(numbered, monkeypatch):
    """Many times the bytes of the file, and more than the memory for them: decoded anew."""
    source = ParquetFiles([numbered["t.parquet"]])
    columns = choose(source.schema, "t", ["x"], "y")
    monkeypatch.setattr("mercer.rows.table.available_memory", lambda: 0)
    monkeypatch.setattr(source, "stored_bytes", lambda names: 1000)
    assert TableRows(source, columns)._store is None and TableRows(source, columns).remarks == ()
    monkeypatch.setattr(source, "stored_bytes", lambda names: 10**6)
    assert TableRows(source, columns)._store is not None
