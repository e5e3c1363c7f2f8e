"""Decoded rows on disk: the same as decoded anew; found again, stale, private, and where the disk is full."""

import errno
import gc
import json
import os
import pickle
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from mercer.rows import cached as module
from mercer.rows import open_rows
from mercer.rows.cached import RowStore, row_bytes, temporary_place
from mercer.rows.columns import CodedWords, WholeNumbers, choose


@pytest.fixture
def opened(table, save, tmp_path):
    def made(cache, name="t.parquet", **options):
        path = tmp_path / name
        if not path.exists():
            save(table, name)
        chosen = {"columns": ["a", "b", "c", "price"], "rows": 150} | options
        return open_rows(path, chosen.pop("y", "city"), "w", cache=cache, **chosen)

    return made


def same(a, b):
    assert np.array_equal(a.X, b.X) and a.X.dtype == b.X.dtype
    assert np.array_equal(a.y, b.y) and np.array_equal(a.w, b.w)


@pytest.mark.parametrize("name", ["t.parquet", "t.csv"])
@pytest.mark.parametrize("y", ["city", "c", "b"])
def test_kept_and_found_again(opened, whole, tmp_path, monkeypatch, name, y):
    columns = [c for c in ("a", "b", "c", "price") if c != y]
    expected = whole(opened(False, name, y=y, columns=columns))
    folder = tmp_path / "cache"
    rows = opened(folder, name, y=y, columns=columns)
    same(whole(rows), expected)
    assert [p.name for p in folder.iterdir() if p.name.startswith(".")] == []
    (kept,) = folder.iterdir()
    assert np.array_equal(np.load(kept / "X.npy"), expected.X)  # plain files
    again = opened(folder, name, y=y, columns=columns)

    def never(*_):
        raise AssertionError("it was decoded although it is kept")

    monkeypatch.setattr("mercer.rows.table.decoded", never)
    same(whole(again), expected)
    same(whole(again.recut(77)), expected)
    same(whole(pickle.loads(pickle.dumps(again))), expected)
    assert again.fingerprint() == rows.fingerprint()


def test_stale_and_spoilt(opened, table, save, whole, tmp_path):
    folder = tmp_path / "cache"
    whole(opened(folder))
    (first,) = folder.iterdir()
    save(table.slice(1), "t.parquet")
    assert whole(opened(folder)).X.shape == (999, 4)
    (second,) = folder.iterdir()  # what was made of the old file is gone
    assert second.name != first.name and second.name.partition("-")[0] == first.name.partition("-")[0]
    expected = whole(opened(False))
    for spoil in (
        lambda: (second / "about.json").write_text("{"),
        lambda: (second / "about.json").write_text(json.dumps({"version": 1, "rows": 10**15, "labels": []})),
        lambda: (second / "X.npy").write_bytes(b"no array"),
        lambda: os.truncate(second / "X.npy", 2000),
        lambda: (second / "w.npy").unlink(),
    ):
        spoil()
        same(whole(opened(folder)), expected)
        assert np.array_equal(np.load(second / "X.npy"), expected.X)


def test_other_columns_are_kept_beside(opened, whole, tmp_path):
    folder = tmp_path / "cache"
    whole(opened(folder)), whole(opened(folder, columns=["a"]))
    assert len(list(folder.iterdir())) == 2


def test_private_folders_go_away(opened, whole, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "temporary_place", lambda: tmp_path)
    rows = opened(None)
    whole(rows)
    (folder,) = tmp_path.glob("mercer-rows-*")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700 and (folder / "about.json").exists()
    copy = pickle.loads(pickle.dumps(rows))
    del rows
    gc.collect()
    assert not folder.exists()
    assert len(whole(copy).X) == 1000  # what another process kept is gone: decoded anew


def test_gone_with_the_process(save, table, tmp_path):
    path = save(table, "t.csv")
    programme = textwrap.dedent(
        f"""
        from mercer.rows import open_rows
        rows = open_rows({str(path)!r}, "price", columns=["a"])
        print(rows.base._store.folder)
        """
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", programme], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "mercer-rows-" in done.stdout and not Path(done.stdout.strip()).exists()


@pytest.mark.parametrize("name", ["t.parquet", "t.csv"])
@pytest.mark.parametrize("after", [0, 3])
@pytest.mark.parametrize("kept", [False, True])
def test_a_full_disk(opened, whole, tmp_path, monkeypatch, name, after, kept):
    """Nothing is kept, the rows are the same, a remark says so, and nothing stays behind."""
    expected = whole(opened(False, name))
    monkeypatch.setattr(module, "temporary_place", lambda: tmp_path)
    folder = tmp_path / "cache"
    write, calls = module._written, []

    def full(file, array):
        calls.append(1)
        if len(calls) > after:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(file, array)

    monkeypatch.setattr(module, "_written", full)
    rows = opened(folder if kept else None, name)
    for _ in range(2):
        same(whole(rows), expected)
    (said,) = rows.remarks
    assert "not kept on disk" in said and "No space left" in said
    assert not list(tmp_path.glob("mercer-rows-*")) and not (kept and list(folder.iterdir()))


@pytest.mark.parametrize("name", ["t.parquet", "t.csv"])
def test_a_disk_that_is_full_at_the_end(opened, whole, tmp_path, monkeypatch, name):
    expected = whole(opened(False, name))

    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module, "replacing", full)
    rows = opened(tmp_path / "cache", name)
    for _ in range(2):
        same(whole(rows), expected)
    assert "No space left" in rows.remarks[0] and not list((tmp_path / "cache").iterdir())


def test_limits_of_the_system(save, table, tmp_path):
    """The same with a real limit of file sizes."""
    resource = pytest.importorskip("resource")
    path = save(table, "t.parquet")
    programme = textwrap.dedent(
        f"""
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000))
        from mercer.rows import open_rows
        rows = open_rows({str(path)!r}, "price", columns=["a", "b"], rows=100, cache={str(tmp_path / "c")!r})
        total = sum(float(rows.shard(k).X.sum(dtype=float)) for k in range(10))
        print(total, rows.remarks)
        """
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", programme], capture_output=True, text=True, env=environment)
    assert resource and done.returncode == 0, done.stderr
    total, _, remarks = done.stdout.partition(" ")
    assert np.isclose(float(total), table["a"].to_numpy().sum(dtype=float) + table["b"].to_numpy().sum())
    assert "File too large" in remarks


def test_room_is_left_for_others(opened, whole, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "RESERVE_BYTES", 1 << 60)
    rows = opened(None)
    assert "stay for others" in rows.remarks[0] and len(whole(rows).X) == 1000
    monkeypatch.undo()
    assert opened(None).remarks == () and opened(False).remarks == ()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the owner of all files writes anywhere")
def test_folders_that_can_not_be_written(opened, tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o500)
    with pytest.raises(PermissionError):
        opened(folder)


def test_temporary_files_are_on_a_disk(monkeypatch):
    assert temporary_place().is_dir()
    monkeypatch.setattr(module, "_in_memory", lambda place: True)
    with pytest.raises(OSError, match="in memory"):
        temporary_place()


def test_whole_numbers_with_gaps(table, tmp_path):
    columns = choose(table.schema, "t", ["a"], "b")
    store, X = RowStore.private(columns, 0, tmp_path), np.ones((3, 1), dtype=np.float32)
    assert row_bytes(columns) == 4 + 2 + 1
    store.put(0, X, WholeNumbers(np.array([7, 0, -7], np.int16), np.array([False, True, False])), None)
    store.put(3, X, WholeNumbers(np.array([1, 2, 3], np.int16), np.zeros(3, dtype=bool)), None)
    store.finish(6)
    for one in (store, RowStore.found(store.folder, columns)):
        assert one.get(0, 3).y.tolist() == [7, None, -7] and one.get(2, 6).y.tolist() == [-7, 1, 2, 3]
        assert one.get(0, 6).y.dtype == np.int16


def test_in_any_order(table, tmp_path):
    """Rows are put and taken in any order; words that come later have later codes."""
    columns = choose(table.schema, "t", ["a"], "city")
    store = RowStore.private(columns, 0, tmp_path)
    X = np.arange(10, dtype=np.float32)[:, None]
    store.put(6, X[6:], CodedWords(np.array([0, 0, 1, -1]), ("u", "v")), None)
    assert store.covers(6, 10) and store.covers(7, 9) and not store.covers(5, 7)
    store.put(0, X[:6], CodedWords(np.array([0, 1, 0, 1, 0, 1]), ("v", "w")), None)
    assert store.covers(0, 10)
    store.finish(10)
    assert np.array_equal(np.load(store.folder / "X.npy"), X)
    assert store.get(2, 5).X.tolist() == [[2.0], [3.0], [4.0]]
    assert store.get(4, 10).y.tolist() == ["v", "w", "u", "u", "v", None]
    assert row_bytes(columns) == 8
    words = CodedWords(np.zeros(1, np.int64), tuple(map(str, range(module.MOST_LABELS + 1))))
    with pytest.raises(ValueError, match="'city' has more than 100,000 different words"):
        store.put(0, X[:1], words, None)
