"""The door: what a file is, what is refused, and what is said then."""

import io
import os
import pickle
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from mercer.tables.reading import Table, TableError, read


def test_content_comes_before_the_name(tmp_path):
    import pyarrow.feather
    import pyarrow.parquet as pq

    table = pyarrow.table({"a": [1.0, 2.0]})
    pq.write_table(table, tmp_path / "a.csv")
    pyarrow.feather.write_feather(table, tmp_path / "b.csv")
    assert read(tmp_path / "a.csv") == read(str(tmp_path / "b.csv")) == Table.of(table)
    (tmp_path / "plain").write_text("a,b\n1,2\n")
    assert read(tmp_path / "plain").names == ("a", "b")


def npz():
    out = io.BytesIO()
    np.savez(out, a=np.eye(2))
    return out.getvalue()


@pytest.mark.parametrize(
    "name, data, message",
    [
        ("a.npz", npz(), "ZIP archive"),
        ("a.csv", npz(), "ZIP archive"),
        ("a.npy", b"\x93NUMPY\1\0", "numpy.load"),
        ("a.pkl", pickle.dumps([1]), "can run any code"),
        ("a.csv", pickle.dumps([1], protocol=2), "can run any code"),
        ("a.pickle", b"cos\nsystem\n", "can run any code"),
        ("a.xlsx", b"PK\x03\x04", "save sheets as CSV"),
        ("a.xls", b"\xd0\xcf\x11\xe0", "Save the sheet as CSV"),
        ("a.csv.bz2", b"BZh9", "Unpack it"),
        ("a.csv.zst", b"\x28\xb5\x2f\xfd", "Unpack it"),
        ("a.h5", b"\x89HDF\r\n", "HDF5"),
        ("a.feather", b"FEA1", "version 1"),
        ("a.parquet", b"text", "does not begin as a Parquet file"),
        ("a.duckdb", b"text", "does not begin as a DuckDB file"),
        ("a.csv", b"", "the file is empty"),
        ("a.parquet", b"", "the file is empty"),
    ],
)
def test_what_is_no_table_is_refused_with_a_sentence(tmp_path, name, data, message):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(TableError, match=message) as caught:
        read(path)
    assert caught.value.path == str(path)


def test_no_file_a_folder_and_stranger_things(tmp_path):
    with pytest.raises(TableError, match=r"gone.csv: there is no such file"):
        read(tmp_path / "gone.csv")
    with pytest.raises(TableError, match="this is a folder"):
        read(tmp_path)
    with pytest.raises(TableError, match="it can not be read"):
        read("a\0b.csv")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.csv")  # opening it would wait for ever
        with pytest.raises(TableError, match="no ordinary file"):
            read(tmp_path / "pipe.csv")


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the administrator may read everything"
)
def test_a_file_one_may_not_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a\n1\n")
    path.chmod(0)
    with pytest.raises(TableError, match="it can not be read: .*ermission"):
        read(path)


def test_a_table_without_rows_if_that_will_do(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    csv, parquet = tmp_path / "a.csv", tmp_path / "a.parquet"
    csv.write_text("a,b,c,d\n")
    words = pa.schema([(name, pa.string()) for name in "abcd"])
    pq.write_table(words.empty_table(), parquet)
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as base:
        base.execute("create table t (a, b, c, d)")
    kinds = {"b": "text", "c": "date", "d": "D/M/Y"}
    for path in (csv, parquet, tmp_path / "a.sqlite"):
        found = read(path, kinds={"a": "number", **kinds}, empty=True)
        assert len(found) == 0
        assert [found.kind(name) for name in "abcd"] == ["number", "text", "date", "date"]
        with pytest.raises(TableError, match="no rows"):
            read(path, kinds=kinds)
    csv.write_text("a,b\n1,x\n")
    found = read(csv, query="select * from t where a > 5", empty=True)
    assert found.names == ("a", "b") and len(found) == 0
    csv.write_text("")
    with pytest.raises(TableError, match="the file is empty"):
        read(csv, empty=True)


def test_options_are_checked(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a\n1\n")
    for limit in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="limit must be"):
            read(path, limit=limit)
    with pytest.raises(TableError, match="table= .--table. is for databases"):
        read(path, table="a")
    with pytest.raises(ValueError, match="'number', 'text' or 'date'"):
        read(path, kinds={"a": "int"})
    with pytest.raises(TableError, match="the query is empty"):
        read(path, query=" ")
    with pytest.raises(TableError, match="selects no rows"):
        read(path, query="select * from t where a > 5")
