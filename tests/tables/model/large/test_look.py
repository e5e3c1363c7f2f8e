"""The first pass against the whole table in memory."""

import numpy as np
import pytest

from mercer.tables.model.large.look import look, numbered
from mercer.tables.model.large.source import LargeTable
from mercer.tables.model.schema import Schema
from mercer.tables.reading import Table, read, write


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr("mercer.tables.reading.parts._VALUES", 1000)


def _table(n=2500):
    rng = np.random.default_rng(0)
    x, word = rng.standard_normal(n), rng.choice(["a", "b", None], n, p=[0.5, 0.3, 0.2])
    x[::9], word[-1] = np.nan, "late"
    day = np.datetime64("2024-01-01", "us") + rng.integers(0, 100, n) * np.timedelta64(1, "D")
    day[5] = np.datetime64("NaT", "us")
    y = np.where(np.arange(n) < 1200, np.nan, x * 0 + 1.0)
    return Table.of({"x": x, "word": word, "day": day, "y": np.where(np.isnan(y), np.nan, np.arange(n))})


def test_what_all_rows_say_is_what_the_whole_table_says(small_parts, tmp_path):
    path = write(_table(), tmp_path / "a.parquet")
    whole, told = read(path), []
    there = ~np.isnan(whole["y"])
    seen = look(LargeTable(path), "y", 100, 0, told.append)
    assert (seen.rows, seen.absent, seen.first_absent) == (there.sum(), (~there).sum(), 1) and told
    assert len(seen.sample.table) == 100 and seen.sample.count == seen.rows
    for name in ("x", "word", "day", "y"):
        np.testing.assert_array_equal(seen.sample.table[name], whole[name][seen.sample.rows])
    assert seen.schema(Schema.of(seen.sample.table)) == Schema.of(whole.take(there))


def test_rows_have_the_numbers_they_have_in_the_file(small_parts, tmp_path):
    path = write(_table(), tmp_path / "a.parquet")
    parts = list(numbered(LargeTable(path), "y"))
    assert len(parts) > 2 and len(parts[0][0]) == 0  # all of its targets are missing
    assert all((table["y"] == rows).all() for table, rows, _ in parts)
    assert sorted(np.concatenate([np.concatenate(part[1:]) for part in parts])) == list(range(2500))


def test_names_are_not_counted(small_parts, tmp_path, monkeypatch):
    many = Table.of({"id": [f"row {i}" for i in range(3000)], "y": np.arange(3000.0)})
    path = write(many, tmp_path / "a.parquet")
    monkeypatch.setattr("mercer.tables.model.large.look._MOST_WORDS", 500)
    assert look(LargeTable(path), "y", 10, 0, lambda text: None).columns["id"].words is None
