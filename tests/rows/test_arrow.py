"""Parquet, Arrow files and datasets: the same rows as PyArrow reads at once, from any row on."""

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mercer.rows import open_rows
from mercer.rows.arrow import DatasetSource, IpcFiles, ParquetFiles


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


def test_files_that_change(table, save):
    path = save(table, "t.parquet")
    rows = open_rows(path, "price", columns=["a"], cache=False)
    save(table.slice(1), "t.parquet")
    with pytest.raises(ValueError, match="has changed since it was opened"):
        rows.shard(0)
