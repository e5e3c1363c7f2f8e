"""Tables into files and back, and into other libraries."""

import csv
import json
import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.feather
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.tables.reading import Table, TableError, read, write
from mercer.tables.reading.cells import MISSING

ENDINGS = [
    ".csv",
    ".tsv",
    ".csv.gz",
    ".tsv.gz",
    ".jsonl",
    ".ndjson",
    ".jsonl.gz",
    ".parquet",
    ".arrow",
    ".feather",
]

words = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=10)
tables = st.integers(1, 6).flatmap(
    lambda n: st.dictionaries(
        words.map(str.strip).filter(bool),
        st.one_of(
            st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False), min_size=n, max_size=n),
            st.lists(st.none() | words, min_size=n, max_size=n),
            st.lists(st.none() | st.datetimes(), min_size=n, max_size=n),
        ),
        min_size=1,
        max_size=4,
    )
)


@given(tables.map(Table.of), st.sampled_from(ENDINGS))
def test_there_and_back(tmp_path_factory, table, ending):
    """Every file gives the table back, if it is told the kinds; delimited text trims words, and has no NA."""
    path = tmp_path_factory.getbasetemp() / f"back{ending}"
    kinds = {name: table.kind(name) for name in table.names}
    write(table, path)
    try:
        back = read(path, kinds=kinds)
    except TableError as error:  # a name such as "5" above numbers only
        assert ".csv" in ending or ".tsv" in ending
        assert "has numbers" in str(error)
        return
    assert back.names == table.names
    for name in table.names:
        if kinds[name] == "text" and ("csv" in ending or "tsv" in ending):
            logical = {seen for seen in back[name] if seen is not None} <= {"true", "false"}
            for seen, was in zip(back[name], table[name], strict=True):
                trimmed = None if was is None else was.strip(" \t\r\n")
                if logical and trimmed is not None:  # truth values are written in one way, whoever wrote them
                    trimmed = trimmed.lower()
                assert seen == trimmed or (seen is None and trimmed in MISSING)
        elif kinds[name] == "text":
            assert back[name].tolist() == table[name].tolist()
        else:
            np.testing.assert_array_equal(back[name], table[name])


TABLE = Table.of(
    {
        "n": [1.0, 0.1, None],
        "w": ['a, "b"', None, "x\ny"],
        "d": np.array(["2024-01-01", "NaT", "2024-01-01T10:00"], dtype="datetime64[us]"),
    }
)


def test_other_libraries_read_the_same(tmp_path):
    frame = pd.read_csv(write(TABLE, tmp_path / "a.csv"), parse_dates=["d"], date_format="ISO8601")
    assert Table.of(frame) == TABLE
    assert pl.read_csv(write(TABLE, tmp_path / "a.tsv"), separator="\t")["w"].to_list() == TABLE["w"].tolist()
    assert Table.of(pl.read_parquet(write(TABLE, tmp_path / "a.parquet"))) == TABLE
    assert Table.of(pyarrow.feather.read_table(write(TABLE, tmp_path / "a.feather"))) == TABLE
    lines = write(TABLE, tmp_path / "a.jsonl").read_text().splitlines()
    assert json.loads(lines[0]) == {"n": 1, "w": 'a, "b"', "d": "2024-01-01"}


def test_text_as_people_would_write_it(tmp_path):
    path = write(TABLE, tmp_path / "a.csv")
    assert path.read_bytes() == b'n,w,d\n1,"a, ""b""",2024-01-01\n0.1,,\n,"x\ny",2024-01-01T10:00:00\n'
    assert write(Table.of({"a": [None, 1]}), tmp_path / "b.csv").read_text() == 'a\n""\n1\n'


def test_the_same_table_gives_the_same_bytes(tmp_path):
    for ending in ENDINGS:
        first, second = (write(TABLE, tmp_path / f"{name}{ending}").read_bytes() for name in "ab")
        assert first == second


def test_a_failure_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")
    with pytest.raises(TableError, match="it can not be written"):
        write(Table.of({"a": ["\ud800"]}), path)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["a.csv"]
    with pytest.raises(TableError, match="it can not be written"):
        write(TABLE, tmp_path / "none" / "a.csv")


@pytest.mark.parametrize("name", ["a", "a.xlsx", "a.db", "a.parquet.gz"])
def test_other_endings_are_refused(tmp_path, name):
    with pytest.raises(TableError, match="These can: .arrow, .csv|These can: .csv"):
        write(TABLE, tmp_path / name)
    assert not list(tmp_path.iterdir())


FORMULAS = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1"]
WORDS = ["-1", "+3.5", "-", "=", "a=b", "1-2", "'quoted", "", "Köln", "-1e5"]


@pytest.mark.parametrize("ending, delimiter", [("csv", ","), ("tsv", "\t")])
def test_formulas_of_spreadsheets(tmp_path, ending, delimiter):
    """Words that begin as formulas do get an apostrophe, names of columns as well; numbers stay numbers."""
    words = [*FORMULAS, *WORDS]
    table = Table.of({"=n": np.arange(-5.0, len(words) - 5), "w": np.array(words, object)})
    with open(write(table, tmp_path / f"a.{ending}", raw=False), encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file, delimiter=delimiter)
    assert header == ["'=n", "w"]
    assert [row[1] for row in rows] == [f"'{w}" for w in FORMULAS] + WORDS
    assert [float(row[0]) for row in rows] == table["=n"].tolist()
    with open(write(table, tmp_path / f"b.{ending}"), encoding="utf-8", newline="") as file:
        assert [row[1] for row in list(csv.reader(file, delimiter=delimiter))[1:]] == words
