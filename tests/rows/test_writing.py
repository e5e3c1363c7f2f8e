"""Columns into files, block by block: what others read of them, and what happens when it fails."""

import errno
import os

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from mercer.rows import open_rows
from mercer.rows import writing as module
from mercer.rows.writing import write_blocks

SCORES = np.random.default_rng(0).standard_normal(1000)
LABELS = np.where(SCORES > 0, "yes, really", 'a "no"')


def blocks(size=300, **more):
    for start in range(0, 1000, size):
        part = slice(start, start + size)
        yield {
            "label": LABELS[part],
            "score, raw": SCORES[part].astype(np.float32),
            "n": np.arange(1000)[part],
        }


@pytest.mark.parametrize("name", ["p.parquet", "p.csv", "p.tsv"])
def test_as_pandas_reads_it(tmp_path, name):
    path = tmp_path / name
    assert write_blocks(path, blocks()) == 1000
    if name == "p.parquet":
        frame = pd.read_parquet(path)
        assert frame["score, raw"].dtype == np.float32
    else:
        frame = pd.read_csv(path, sep="\t" if name == "p.tsv" else ",")
    assert frame.columns.tolist() == ["label", "score, raw", "n"]
    assert frame["label"].tolist() == LABELS.tolist() and frame["n"].tolist() == list(range(1000))
    assert np.array_equal(frame["score, raw"].astype(np.float32), SCORES.astype(np.float32))
    assert os.listdir(tmp_path) == [name]


def test_arrays(tmp_path):
    write_blocks(tmp_path / "p.npy", ({"p": SCORES[i : i + 300]} for i in range(0, 1000, 300)))
    assert np.array_equal(np.load(tmp_path / "p.npy"), SCORES)
    write_blocks(tmp_path / "q.npy", ({"a": SCORES[:3], "b": SCORES[3:6]} for _ in range(2)))
    assert np.array_equal(np.load(tmp_path / "q.npy"), np.tile(SCORES[:6].reshape(2, 3).T, (2, 1)))
    with pytest.raises(ValueError, match="hold numbers here"):
        write_blocks(tmp_path / "r.npy", blocks())


def test_missing_values(tmp_path):
    write_blocks(tmp_path / "p.csv", [{"x": np.array([1.5, np.nan])}])
    assert (tmp_path / "p.csv").read_text() == "x\n1.5\n\n"
    write_blocks(tmp_path / "p.parquet", [{"x": np.array([1.5, np.nan])}])
    assert pq.read_table(tmp_path / "p.parquet")["x"].null_count == 0  # NaN stays the number it was


@pytest.mark.parametrize("name", ["p.parquet", "p.csv", "p.npy"])
def test_nothing_is_replaced_unasked(tmp_path, name):
    path = tmp_path / name
    path.write_text("mine")

    def never():
        raise AssertionError("computed for nothing")
        yield

    with pytest.raises(FileExistsError, match="is there already, and is not replaced unasked"):
        write_blocks(path, never())
    assert path.read_text() == "mine"
    write_blocks(path, [{"x": SCORES}], replace=True)
    assert path.read_bytes()[:4] != b"mine"


def test_a_file_that_appears_meanwhile(tmp_path):
    path = tmp_path / "p.csv"

    def slow():
        yield {"x": SCORES}
        path.write_text("mine")

    with pytest.raises(FileExistsError):
        write_blocks(path, slow())
    assert path.read_text() == "mine" and os.listdir(tmp_path) == ["p.csv"]


@pytest.mark.parametrize("name", ["p.parquet", "p.csv", "p.npy"])
def test_a_full_disk(tmp_path, monkeypatch, name):
    """An error that names the file; the old one is as it was, and nothing else is left."""
    path = tmp_path / name
    path.write_text("old")

    def full():
        yield {"x": SCORES}
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match=f"no part of it is left, make room and try again: .*{name}") as error:
        write_blocks(path, full(), replace=True)
    assert error.value.errno == errno.ENOSPC
    assert path.read_text() == "old" and os.listdir(tmp_path) == [name]


def test_a_real_limit(tmp_path):
    """Whatever writes, a limit of the system ends in the same words."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    big = {"x": np.random.default_rng(0).random(200_000)}
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
        for name in ("p.parquet", "p.csv", "p.npy"):
            with pytest.raises(OSError, match="no part of it is left"):
                write_blocks(tmp_path / name, [big, big])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "name, content, error, said",
    [
        ("p.xyz", [{"x": SCORES}], ValueError, "must end in one of .parquet"),
        ("nowhere/p.csv", [{"x": SCORES}], FileNotFoundError, "no such folder"),
        ("p.csv", [], ValueError, "no rows"),
        ("p.npy", [], ValueError, "no rows"),
        ("p.csv", [{"x": SCORES}, {"y": SCORES}], ValueError, "columns \\['y'\\], and the first one had"),
        ("p.csv", [{"x": SCORES, "y": SCORES[1:]}], ValueError, "different lengths"),
        ("p.parquet", [{"x": SCORES[:, None]}], ValueError, "columns have one axis"),
    ],
)
def test_what_is_refused(tmp_path, name, content, error, said):
    with pytest.raises(error, match=said):
        write_blocks(tmp_path / name, content)
    assert os.listdir(tmp_path) == []


def test_folders_that_can_not_be_written(tmp_path, monkeypatch):
    monkeypatch.setattr(module.os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match="nothing can be written in this folder"):
        write_blocks(tmp_path / "p.csv", [{"x": SCORES}])
    monkeypatch.undo()
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(IsADirectoryError, match="this is a folder"):
        write_blocks(tmp_path / "folder.csv", [{"x": SCORES}], replace=True)


def test_there_and_back(tmp_path, whole):
    write_blocks(tmp_path / "p.parquet", blocks())
    found = whole(open_rows(tmp_path / "p.parquet", "label", rows=170))
    assert found.y.tolist() == LABELS.tolist() and np.array_equal(found.X[:, 1], np.arange(1000))
