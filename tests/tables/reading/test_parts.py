"""A file in parts is the file as a whole, and errors have the same place."""

import gzip
import sqlite3

import numpy as np
import pytest

from mercer.tables.reading import Table, TableError, read, write
from mercer.tables.reading.parts import comes_in_parts, held_bytes, parts

N = 3000


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr("mercer.tables.reading.parts._VALUES", 1000)
    monkeypatch.setattr("mercer.tables.reading.delimited._PIECE", 5000)


def _table():
    rng = np.random.default_rng(0)
    words = rng.choice(["Bonn", 'a "quote"', "two\nlines", "x,y;z", None], N)
    day = np.datetime64("2024-01-01", "us") + rng.integers(0, 100, N) * np.timedelta64(1, "D")
    x = rng.standard_normal(N)
    x[::7] = np.nan
    return Table.of({"x": x, "word": words, "day": day, "zip": ["00501"] * N})


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "parquet", "arrow", "jsonl"])
def test_parts_are_the_whole(tmp_path, ending):
    path = write(_table(), tmp_path / f"a.{ending}")
    found = list(parts(path))
    assert len(found) > 2 and Table.joined(found) == read(path) and comes_in_parts(path)


@pytest.mark.parametrize(
    "text", ["a;b\n1,5;x\n2;y\n", "a,b\n\n1,x\n\n2,y\n\n", '"a","b"\r\n1,x\r\n2,"y"', "﻿a\tb\n1\tx\n"]
)
def test_other_ways_of_writing(tmp_path, monkeypatch, text):
    monkeypatch.setattr("mercer.tables.reading.delimited._PIECE", 12)
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode())
    assert Table.joined(list(parts(path))) == read(path)


def test_what_is_wrong_has_its_place(tmp_path):
    lines = [f'{i},"two\nlines {i}"\n' for i in range(900)]
    path = tmp_path / "a.csv"
    for broken, words in (
        ("1\n", "1 cell where the header has 2"),
        ("one,x\n", "'one' is not a number.*kinds={'n': 'text'}"),
    ):
        path.write_text("n,word\n" + "".join(lines) + broken + "".join(lines))
        with pytest.raises(TableError, match=words) as caught:
            list(parts(path))
        assert caught.value.line == 2 + 2 * 900
    path.write_text("n,word\n" + "".join(lines) + '5,"open\n' * 3)
    with pytest.raises(TableError):
        list(parts(path))
    path.write_bytes("n,word\n".encode("utf-16") + b"1,2\n")
    with pytest.raises(TableError, match="UTF-16"):
        list(parts(path))
    for text, words in (("", "empty"), ("n,word\n", "no rows below"), ("\n\n", "empty")):
        path.write_text(text)
        with pytest.raises(TableError, match=words):
            list(parts(path))


def test_files_that_are_cut_short(tmp_path):
    path = write(_table(), tmp_path / "a.parquet")
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(TableError, match="no sound Parquet file"):
        list(parts(path))
    packed = tmp_path / "a.csv.gz"
    packed.write_bytes(gzip.compress(b"x\n" + b"1\n" * 90_000)[:-20])
    with pytest.raises(TableError, match="can not be read"):
        list(parts(packed))


def test_others_are_read_at_once_only(tmp_path):
    with sqlite3.connect(tmp_path / "a.sqlite") as base:
        base.execute("create table a (x real)")
        base.executemany("insert into a values (?)", [(float(i),) for i in range(9)])
    base.close()
    assert not comes_in_parts(tmp_path / "a.sqlite")
    assert [table["x"].tolist() for table in parts(tmp_path / "a.sqlite")] == [[*range(9)]]


def test_sizes_are_of_the_order_of_the_table(tmp_path):
    size = 8 * 4 * N
    for ending in ("csv", "csv.gz", "parquet", "arrow", "jsonl"):
        assert size / 2 < held_bytes(write(_table(), tmp_path / f"a.{ending}")) < 20 * size


def test_parts_of_wide_tables_have_few_rows(tmp_path):
    path = write(Table.of(np.zeros((300, 2000))), tmp_path / "a.parquet")
    assert [len(table) for table in parts(path)] == [262, 38]
