"""Arrow's columns and files, against pyarrow's own conversion and pandas."""

import datetime as dt
import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from mercer.tables.reading import Table, TableError, read
from mercer.tables.reading.arrow import coded, from_arrow, to_arrow

DAYS = [dt.datetime(2024, 1, 2, 3, 4, 5), None, dt.datetime(1900, 1, 1)]


@pytest.mark.parametrize(
    "kind",
    [
        pa.int8(),
        pa.uint64(),
        pa.float16(),
        pa.float32(),
        pa.float64(),
        pa.decimal128(9, 2),
        pa.decimal256(40, 2),
    ],
)
def test_numbers(kind):
    values = [1, None, 3]
    if pa.types.is_float16(kind):
        values = [None if v is None else np.float16(v) for v in values]
    if pa.types.is_decimal(kind):
        values = [None if v is None else decimal.Decimal(v) for v in values]
    np.testing.assert_array_equal(from_arrow(pa.array(values, kind)), [1, np.nan, 3])


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Tokyo"])
def test_moments_are_utc(unit, zone):
    column = pa.array(DAYS, pa.timestamp(unit, zone))
    expected = pd.Series([pd.Timestamp(d) if d else pd.NaT for d in DAYS]).to_numpy()
    np.testing.assert_array_equal(from_arrow(column), expected.astype("datetime64[us]"))


def test_days_durations_and_times():
    days = [dt.date(2024, 1, 2), None]
    for kind in (pa.date32(), pa.date64()):
        np.testing.assert_array_equal(
            from_arrow(pa.array(days, kind)), np.array(days, dtype="datetime64[us]")
        )
    for unit in ("s", "ms", "us", "ns"):
        np.testing.assert_array_equal(
            from_arrow(pa.array([dt.timedelta(seconds=90), None], pa.duration(unit))), [90, np.nan]
        )
    for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")):
        np.testing.assert_array_equal(from_arrow(pa.array([dt.time(0, 1, 30), None], kind)), [90, np.nan])


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_words(kind):
    column = pa.chunked_array(
        [pa.array(["ü", None, ""], kind), pa.array(["x", "ü"], kind), pa.array([], kind)]
    )
    assert from_arrow(column).tolist() == ["ü", None, None, "x", "ü"]
    assert from_arrow(column.slice(3)).tolist() == ["x", "ü"] and from_arrow(column.slice(5)).tolist() == []


def test_other_words():
    assert from_arrow(pa.array([True, None, False])).tolist() == ["true", None, "false"]
    assert from_arrow(pa.array([3, None, 1]).dictionary_encode()).tolist() == ["3", None, "1"]
    assert np.isnan(from_arrow(pa.nulls(2))).all()
    assert coded(pa.chunked_array([["a", None], ["b", "a"]])).codes.tolist() == [0, -1, 1, 0]


def everything():
    return pa.table(
        {
            "n": pa.array([1.5, None, 3.0]),
            "i": pa.array([1, 2, 2**40]),
            "w": pa.array(["a", None, "ü"]),
            "c": pa.array(["x", "y", "x"]).dictionary_encode(),
            "d": pa.array(DAYS, pa.timestamp("us", "UTC")),
            "f": pa.array([True, None, False]),
        }
    )


def expected():
    return Table.of(
        {"n": [1.5, None, 3], "i": [1, 2, 2**40], "w": ["a", None, "ü"], "c": ["x", "y", "x"], "d": DAYS,
         "f": ["true", None, "false"]}
    )  # fmt: skip


def files(tmp_path):
    table = everything()
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    pq.write_table(table, tmp_path / "b.pq", compression="zstd", version="1.0", use_dictionary=False)
    table.to_pandas().to_parquet(tmp_path / "pandas.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "a.feather")
    for name, writer in (("a.arrow", pa.ipc.new_file), ("a.arrows", pa.ipc.new_stream)):
        with writer(str(tmp_path / name), table.schema) as out:
            out.write_table(table, max_chunksize=2 if "s" in name[2:] else 3)
    return sorted(tmp_path.iterdir())


def test_files(tmp_path):
    for path in files(tmp_path):
        assert read(path) == expected(), path
        assert read(path, limit=2) == expected().take([0, 1]), path
        assert read(path, kinds={"i": "text"})["i"].tolist() == ["1", "2", str(2**40)]


def test_there_and_back():
    assert expected() == Table.of(to_arrow(expected()))
    assert to_arrow(expected()).column("n").null_count == 1


@pytest.mark.parametrize(
    "columns, message",
    [
        ({"a": [[1], [2]]}, "column 'a': values of type list"),
        ({"a": [{"b": 1}]}, "values of type struct"),
        ({"a": [b"x"]}, "values of type binary"),
        ({"a": [1.0, float("inf")]}, "row 2, column 'a': inf is not a finite number"),
        ({"a": pa.array([4_000_000], pa.date32())}, "row 1, column 'a': a date in the year"),
        ({"": [1]}, "has no name"),
        ({"a": pa.array([], pa.int64())}, "no rows"),
    ],
)
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_what_does_not_fit_is_named(tmp_path, columns, message, ending):
    path, table = tmp_path / f"a.{ending}", pa.table(columns)
    pq.write_table(table, path) if ending == "parquet" else pyarrow.feather.write_feather(table, path)
    with pytest.raises(TableError, match=message):
        read(path)


def test_names_must_differ(tmp_path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])
    with pa.ipc.new_file(str(tmp_path / "a.arrow"), table.schema) as out:
        out.write_table(table)
    with pytest.raises(TableError, match="columns 1 and 2 have the same name"):
        read(tmp_path / "a.arrow")


def test_what_would_not_fit_is_refused_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.tables.reading.budget.available_memory", lambda: 1 << 20)
    pq.write_table(pa.table({"a": np.zeros(1_000_000)}), tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 1 << 16
    with pytest.raises(TableError, match="reading it would take about 8 MiB"):
        read(tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet", limit=5).n_rows == 5


@pytest.mark.parametrize(
    "name, data",
    [
        ("a.parquet", b"PAR1" + b"x" * 50 + b"PAR1"),
        ("a.arrow", b"ARROW1\0\0" + b"x" * 50),
        ("b.arrow", b"\xff\xff\xff\xff\x10\0\0\0"),
        ("c.arrow", b"words"),
    ],
)
def test_broken_files(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(TableError, match=f"{name}: this is no sound"):
        read(tmp_path / name)
