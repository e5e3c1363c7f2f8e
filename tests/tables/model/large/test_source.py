"""Parts of a table, and rows drawn from them."""

import os

import numpy as np
import pytest

from mercer.tables.model.large.source import LargeTable, SampledTable
from mercer.tables.reading import Table, TableError, write

TABLE = Table.of({"x": np.arange(3000.0), "city": ["Bonn", "Ulm", "Kiel"] * 1000})


def test_the_sample_does_not_depend_on_the_parts():
    samples = []
    for size in (3000, 700):
        drawn = SampledTable(40, seed=5)
        for start in range(0, 3000, size):
            rows = np.arange(start, min(start + size, 3000))
            drawn.add(TABLE.take(rows), rows)
        np.testing.assert_array_equal(drawn.table["x"], drawn.rows)
        samples.append(drawn)
    assert samples[0].table == samples[1].table and samples[0].count == 3000
    assert len(SampledTable(5, 0).rows) == 0
    with pytest.raises(ValueError, match="there are no rows"):
        _ = SampledTable(5, 0).table


def test_every_row_is_as_likely_as_any_other():
    first = []
    for seed in range(60):
        drawn = SampledTable(300, seed)
        drawn.add(TABLE, np.arange(3000))
        first.append(np.mean(drawn.rows < 1500))
    assert abs(np.mean(first) - 0.5) < 0.02


def test_kinds_are_those_of_the_first_time(tmp_path):
    path = write(TABLE, tmp_path / "a.csv")
    source = LargeTable(path, {"x": "text"}, ["city"])
    assert [table.kind("x") for table in source.parts()] == ["text"]
    assert source.kinds == {"x": "text"}
    (*_,) = (other := LargeTable(path)).parts()
    assert other.kinds == {"x": "number", "city": "text"}
    with pytest.raises(TableError, match="there is no column"):
        list(LargeTable(path, without=["town"]).parts())
    os.utime(path, (1, 1))
    with pytest.raises(ValueError, match="has changed while it was learned from"):
        list(source.parts())


def test_a_query_must_say_the_same_twice(tmp_path):
    """What has no size and time is known by its rows."""
    path = write(TABLE, tmp_path / "a.parquet")
    same, other = (LargeTable(f"select * from '{path}' order by {how}") for how in ("x", "random()"))
    assert [len(list(same.parts())) for _ in range(2)] == [1, 1]
    assert list(other.parts())
    with pytest.raises(ValueError, match="the query did not give the same rows in the same order twice"):
        list(other.parts())


def test_what_is_left_out_may_hold_anything(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,id\n" + "1,2\n" * 200 + "1,none\n")
    with pytest.raises(TableError, match=r"line 202, column 'id': 'none' is not a number.*'id': 'text'"):
        list(LargeTable(path).parts())
    assert [table.names for table in LargeTable(path, without=["id"]).parts()] == [("x",)]
