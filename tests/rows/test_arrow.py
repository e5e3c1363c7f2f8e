"""Parquet, Arrow files and datasets: the same rows as PyArrow reads at once, from any row on."""

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mercer.rows import open_rows
from mercer.rows.arrow import DatasetSource, IpcFiles, ParquetFiles, TableInMemory
from mercer.rows.base import watching
from mercer.rows.door import source_of


def joined(source, first, columns):
    return pa.Table.from_batches(list(source.batches(first, columns)))


@pytest.mark.parametrize(
    "kind, name, options",
    [
        (ParquetFiles, "t.parquet", {"row_group_size": 130}),
        (ParquetFiles, "t.parquet", {"compression": "zstd", "use_dictionary": False}),
        (IpcFiles, "t.feather", {"chunksize": 130}),
    ],
)
def test_every_part_can_be_entered(table, save, kind, name, options):
    source = kind([save(table, name, **options)])
    assert source.length == len(table) and source.schema.names == table.schema.names
    starts = {source.entry(row) for row in range(len(table))}
    assert 0 in starts and (len(starts) == 8 or "compression" in options)
    for first in starts:
        assert joined(source, first, ["price", "b"]).equals(table.select(["price", "b"]).slice(first)) or (
            joined(source, first, ["b", "price"]).equals(table.select(["b", "price"]).slice(first))
        )
        assert source.entry(first) == first


@given(
    sizes=st.lists(st.integers(0, 40), min_size=1, max_size=4).filter(any),
    group=st.integers(1, 30),
    rows=st.integers(1, 50),
    order=st.randoms(use_true_random=False),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_shards_of_several_files(tmp_path_factory, sizes, group, rows, order):
    """Whatever the files, groups of rows, shards, and the order in which they are asked for."""
    folder = tmp_path_factory.mktemp("parts")
    start = 0
    for number, size in enumerate(sizes):
        values = np.arange(start, start + size)
        pq.write_table(
            pa.table({"x": values.astype(np.float32), "y": values}),
            folder / f"{number}.parquet",
            row_group_size=group,
        )
        start += size
    found = open_rows(folder, "y", rows=rows, cache=False)
    assert found.shape == (start, 1) and found.dtype == np.float32 and sum(found.sizes) == start
    numbers = list(range(len(found.sizes)))
    order.shuffle(numbers)
    for k in numbers:
        shard = found.shard(k)
        expected = np.arange(shard.first, shard.first + len(shard))
        assert np.array_equal(shard.X[:, 0], expected) and np.array_equal(shard.y, expected)


def test_datasets(table, save, whole):
    save(table.slice(0, 400), "d/1.parquet")
    save(table.slice(400), "d/2.parquet")
    folder = save(table, "d.parquet").with_suffix("")
    made = ds.dataset(folder, format="parquet")
    every = whole(open_rows(made, "price", columns=["a", "b"], rows=300))
    assert np.array_equal(every.X[:, 0], table["a"].to_numpy())
    assert np.array_equal(every.y, table["price"].to_numpy())
    some = whole(open_rows(made.filter(ds.field("b") > 0), "price", columns=["a", "b"]))
    assert np.array_equal(some.y, table["price"].to_numpy()[table["b"].to_numpy() > 0])
    memory = whole(open_rows(ds.dataset(table), "city", columns=["a"]))
    assert memory.y.tolist() == table["city"].to_pylist()
    assert DatasetSource(made).identity() is None


def test_columns_in_the_names_of_folders(table, save, whole):
    save(table.slice(0, 400), "d/year=2020/1.parquet")
    folder = save(table.slice(400), "d/year=2021/1.parquet").parents[1]
    rows = open_rows(folder, "price", columns=["year", "a"])
    assert np.array_equal(whole(rows).X[:, 0], np.repeat([2020, 2021], [400, 600]))


@pytest.mark.parametrize("kind", ["table", "chunks", "batch"])
def test_tables_in_memory(table, save, whole, kind):
    """The same rows as of a Parquet file, from any row on, and never kept on disk."""
    given = {
        "table": table,
        "chunks": pa.concat_tables([table.slice(0, 301), table.slice(301, 0), table.slice(301)]),
        "batch": table.combine_chunks().to_batches()[0],
    }[kind]
    options = {"columns": ["a", "b", "c"], "rows": 130}
    expected = open_rows(save(table, "t.parquet"), "city", "w", cache=False, **options)
    for cache in (None, False):
        rows = open_rows(given, "city", "w", cache=cache, **options)
        assert rows.sizes == expected.sizes and rows.dtype == expected.dtype and rows.names == expected.names
        for name in "Xyw":
            assert np.array_equal(getattr(whole(rows), name), getattr(whole(expected), name))
        assert np.array_equal(rows.take(np.array([999, 3])).w, expected.take(np.array([3, 999])).w)
        assert rows.base._store is None and rows.remarks == ()
        assert pickle.loads(pickle.dumps(rows)).fingerprint() == rows.fingerprint()
    other = table.set_column(5, "w", pa.array(np.ones(1000)))
    assert open_rows(other, "city", "w", **options).fingerprint() != rows.fingerprint()
    left = pa.table({"x": [1.0, None, 3.0], "y": [True, False, None]})
    assert whole(open_rows(left, "y", missing="drop")).y.tolist() == [True]
    assert joined(TableInMemory(table), 700, ["b"]).equals(table.select(["b"]).slice(700))
    for wrong, said in ((table.slice(0, 0), "the table has no rows"), (table.select([]), "has no columns")):
        with pytest.raises(ValueError, match=said):
            open_rows(wrong, columns=["a"])
    with pytest.raises(ValueError, match="got RecordBatchReader"):
        open_rows(table.to_reader(), "city", columns=["a"])


def test_files_that_differ(table, save):
    first = save(table, "a.parquet")
    with pytest.raises(ValueError, match="different columns \\('price' is in one"):
        open_rows([first, save(table.drop_columns(["price"]), "b.parquet")], "city")
    wider = table.set_column(1, "b", table["b"].cast(pa.float64()))
    assert open_rows([first, save(wider, "c.parquet")], "price", columns=["b"]).shape == (2000, 1)
    words = table.set_column(1, "b", pa.array(["x"] * len(table)))
    with pytest.raises(ValueError, match="differ in type"):
        open_rows([first, save(words, "d.parquet")], "price", columns=["b"])


@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
def test_files_that_are_not_sound(table, save, name):
    path = save(table.select(["a", "b", "price"]), name)
    good = path.read_bytes()
    rng = np.random.default_rng(1)
    for size in (0, 3, 8, len(good) // 2, len(good) - 1):
        path.write_bytes(good[:size])
        with pytest.raises(ValueError, match=f"{name} is no sound"):
            open_rows(path, "price")
    refused = 0
    for i in range(60):  # bytes changed anywhere: an error that names the file, or numbers, never a crash
        bad = bytearray(good)
        # Most of them in the metadata, which are at the end.
        place = int(rng.integers(len(bad))) if i % 4 == 0 else -int(rng.integers(1, 1500))
        bad[place] ^= int(rng.integers(1, 256))
        path.write_bytes(bytes(bad))
        try:
            rows = open_rows(path, "price", cache=False)
            for k in range(len(rows.sizes)):
                rows.shard(k)
        except ValueError as error:
            refused += 1
            assert "missing in row" in str(error) or "infinite in row" in str(error) or name in str(error)
    assert refused or name == "t.feather"


def test_metadata_that_lie(table, save, monkeypatch):
    path = save(table, "t.parquet", row_group_size=300)
    for told, said in ((350, "there are 1,000"), (250, "there are more")):
        lying = type(
            "Lying",
            (ParquetFiles,),
            {"look": lambda self, path, told=told: (table.schema, [told] * 3 + [100])},
        )
        with pytest.raises(ValueError, match=f"metadata promise .* rows from row 1 on, and {said}"):
            for _ in lying([path]).batches(0, ["a"]):
                pass
    huge = type("Huge", (ParquetFiles,), {"look": lambda self, path: (table.schema, [1 << 50])})
    with pytest.raises(ValueError, match="which can't be"):
        huge([path])


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.csv", "d/b=2/t.parquet", "dataset"])
def test_files_that_change_while_they_are_read(table, save, rewrite, monkeypatch, name):
    """No batch is handed on that was read from the file as it is now."""
    monkeypatch.setattr("mercer.rows.source._MOST", 100)
    monkeypatch.setattr("mercer.rows.text._PIECE", 2000)
    options = {"chunksize": 100} if name.endswith("feather") else {}
    path = save(table.drop_columns(["b"]), "t.parquet" if name == "dataset" else name, **options)
    opened = path.parents[1] if name.startswith("d/") else path
    batches = source_of(ds.dataset(path) if name == "dataset" else opened).batches(0, ["a"])
    assert np.isclose(next(batches)["a"][0].as_py(), table["a"][0].as_py())
    rewrite(path)
    with pytest.raises(ValueError, match="^/.*t.(parquet|feather|csv) has changed since it was opened"):
        next(batches)


@pytest.mark.parametrize("cache", [None, "folder", False])
def test_a_first_pass_over_a_file_that_changes(table, save, rewrite, tmp_path, monkeypatch, cache):
    """Rows of the old and the new file are never mixed, and what is kept is never finished."""
    monkeypatch.setattr("mercer.rows.source._MOST", 100)
    path = save(table, "t.parquet", row_group_size=500)
    cache = tmp_path / "cache" if cache == "folder" else cache
    rows = open_rows(path, "price", columns=["a"], rows=100, cache=cache)
    told = []

    def change(done, count):
        told.append(done)
        if len(told) == 2:
            rewrite(path)

    with watching(change), pytest.raises(ValueError, match="has changed since it was opened"):
        rows.total(lambda shard: (len(shard),))
    assert told[-1] < 1000 and not [p for p in tmp_path.glob("cache/*") if not p.name.startswith(".")]


def test_files_that_change(table, save):
    path = save(table, "t.parquet")
    rows = open_rows(path, "price", columns=["a"], cache=False)
    save(table.slice(1), "t.parquet")
    with pytest.raises(ValueError, match="has changed since it was opened"):
        rows.shard(0)
