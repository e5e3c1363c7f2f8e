"""Whether a table fits is known before it is read; what is done in how much memory, too."""

import sqlite3

import numpy as np
import pytest

from mercer.solvers import Passes
from mercer.solvers.cost import Shape
from mercer.tables.model.large.allowance import Allowance, bytes_of, too_large
from mercer.tables.reading import Table, write


@pytest.fixture
def table():
    return Table.of({"x": np.arange(2000.0), "y": np.arange(2000.0)})


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "arrow", "jsonl"])
def test_tables_larger_than_the_memory_are_too_large(table, tmp_path, ending):
    path = write(table, tmp_path / f"a.{ending}")
    assert too_large(path) is None and too_large(path, "1GB") is None
    assert too_large(path, "1kB").endswith("of memory, and 1 kB may be taken")


def test_free_memory_decides_if_nothing_is_said(table, tmp_path, monkeypatch):
    path = write(table, tmp_path / "a.parquet")
    monkeypatch.setattr("mercer.tables.model.large.allowance.available_memory", lambda: 10_000)
    assert too_large(path).endswith("8 kB are to be had")
    assert Allowance.of(None).allowed == 4096 and Allowance.of(None).expected > 2e8  # said in the remarks


def test_what_is_read_at_once_only_is_never_too_large(tmp_path):
    with sqlite3.connect(tmp_path / "a.sqlite") as base:
        base.execute("create table a (x real)")
    base.close()
    assert too_large(tmp_path / "a.sqlite", "1kB") is None


def test_centres_stay_within_memory_and_time():
    for memory in (300e6, 1e9, 20e9):
        allowance = Allowance(int(memory))
        m = allowance.centres(10**7, 20, 1, 1e9)
        need = Passes().memory(Shape(10**7, 20, 1, m, "centres"))
        assert m == 8000 or 0.3 * memory < need < 0.8 * memory
        assert allowance.centres(10**7, 20, 1, 60.0) <= m
    assert (
        Allowance(10**9).centres(10**9, 20, 1, 1.0) == 100 and Allowance(10**9).centres(30, 2, 1, 60.0) == 30
    )


@pytest.mark.parametrize("wrong", ["much", "-1GB", 0, True, None, [1], "1e9999GB"])
def test_amounts_that_are_none(wrong):
    with pytest.raises(ValueError, match="memory must be an amount such as '2GB'"):
        bytes_of(wrong)
