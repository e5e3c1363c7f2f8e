"""benchmarks/on_time: budgets, the wide tables, and what is said and kept of every call."""

import numpy as np
import pytest
from benchmarks import on_time
from benchmarks.accuracy.store import Store


def test_budgets():
    assert on_time.budget(0.5) == 46 and np.isclose(on_time.budget(2), 154)


@pytest.mark.parametrize("wide", [w for w in on_time.WIDE.values() if w.rows * w.columns < 5e5], ids=str)
def test_wide_tables(wide):
    X, y = wide.load()
    assert X.shape == (wide.rows, wide.columns) and len(y) == wide.rows
    assert len(np.unique(y)) == (wide.classes or wide.rows)
    again = wide.load()
    assert np.array_equal(X, again[0]) and np.array_equal(y, again[1])


def test_wide_tables_are_those_of_every_size():
    shapes = {(w.rows, w.columns) for w in on_time.WIDE.values()}
    assert shapes >= {(100, 3_000), (5_680, 276), (6_000, 784), (3_000, 5_000), (4_000, 30)}
    assert {w.classes for w in on_time.WIDE.values()} == {0, 2, 10, 100}


def call(name, **more):
    fields = {"minutes": 0.5, "threads": 1, "through": "fit", "version": "now", **more}
    return on_time.Call(name, **fields)


def test_a_process_that_does_not_end_is_ended(monkeypatch, tmp_path):
    """The command is replaced by one that sleeps, starts a process of its own, and is stopped with it."""
    monkeypatch.setattr(on_time, "_csv", lambda *_: ["sh", "-c", "sleep 60 & sleep 60"])
    monkeypatch.setattr(on_time, "limit", lambda call: 0.2)
    store = Store(tmp_path, on_time.FIELDS)
    (record,) = on_time.measured([call("wide-969x100", through="command")], store)
    assert record["status"] == "stopped" and record["seconds"] == 0.2
    assert (record["n"], record["d"], record["budget"]) == (969, 100, 46)


def test_seconds_are_those_that_the_process_says(monkeypatch, tmp_path):
    """Of the call alone; a command is timed as a whole, and one that fails says why."""
    store = Store(tmp_path, on_time.FIELDS)
    monkeypatch.setattr(on_time, "_fit", lambda call: ["sh", "-c", "echo noise; echo @@47.5"])
    (record,) = on_time.measured([call("wide-969x100")], store)
    assert (record["status"], record["seconds"], record["over"]) == ("ok", 47.5, 1.5)
    assert "OVER by 1.5 s" in on_time.line(record)
    monkeypatch.setattr(on_time, "_csv", lambda *_: ["sh", "-c", "echo no such luck >&2; exit 2"])
    (record,) = on_time.measured([call("wide-969x100", through="command")], store)
    assert (record["status"], record["message"]) == ("error", "no such luck") and "over" not in record
    assert "failed: no such luck" in on_time.line(record)
    assert len(store.read()) == 2


def test_what_was_measured_is_not_measured_again(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(on_time, "_fit", lambda call: ["sh", "-c", "echo @@20"])
    words = ["--sets", "wide-969x100,wide-1600x64", "--version", "now", "--store", str(tmp_path)]
    on_time.main(words)
    assert "2 of 2 calls to make" in capsys.readouterr().out
    on_time.main([*words[:1], "wide-969x100,wide-100x3000-2", *words[2:]])
    said = capsys.readouterr().out
    assert "1 of 2 calls to make" in said and "0 of 2 calls over their budget" in said
    assert "slowest took 0.43 of it" in said


def test_the_summary_names_the_worst_first():
    records = [
        {"set": name, "status": "ok", "seconds": seconds, "budget": 46.0, "over": seconds - 46}
        for name, seconds in (("a", 40.0), ("b", 50.0), ("c", 92.0))
    ]
    found = on_time.summary([*records, {"set": "d", "status": "error", "message": "no"}])
    assert found.splitlines() == [
        "2 of 3 calls over their budget",
        "  c: 2.00 budgets, +46.0 s",
        "  b: 1.09 budgets, +4.0 s",
        "failed: d",
    ]
