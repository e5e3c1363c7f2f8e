"""Arrays in memory, in memory-mapped and in .npy files: the same rows."""

import numpy as np
import pytest

from mercer.rows import ArrayRows
from mercer.rows.arrays import ArrayFile, array_of, look_at


def test_files_are_read_and_not_mapped(tmp_path):
    X = np.random.default_rng(0).random((50, 3)).astype(np.float32)
    np.save(tmp_path / "x.npy", X)
    file = ArrayFile.open(tmp_path / "x.npy")
    assert file.shape == X.shape and len(file) == 50 and file.dtype == np.float32
    for rows in (slice(0, 50), slice(3, 9), slice(49, 60), slice(7, 7)):
        assert np.array_equal(file[rows], X[rows])
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for view in (mapped, mapped[10:], mapped[5:20]):
        made = array_of(view)
        assert isinstance(made, ArrayFile) and np.array_equal(made[0 : len(view)], view)
    for view in (mapped[::2], mapped[:, 1:], np.load(tmp_path / "x.npy", mmap_mode="c")):
        assert array_of(view) is view  # rows do not lie in the file as they do here
        assert np.array_equal(ArrayRows(view).shard(0).X, view)
    assert array_of(X) is X


def test_a_file_that_is_cut_short_later(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.zeros((50, 3)))
    rows = ArrayRows(path, rows=10)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(OSError, match="cut short while it was read"):
        rows.shard(4)


@pytest.mark.parametrize(
    "dtype, found", [("f2", "f4"), ("f4", "f4"), ("f8", "f8"), ("i4", "f8"), ("?", "f8")]
)
def test_kinds_of_numbers(dtype, found):
    rows = ArrayRows(np.ones((3, 2), dtype))
    assert rows.dtype == np.dtype(found) == rows.shard(0).X.dtype and rows.shard(0).X.flags.c_contiguous


def test_what_is_refused(tmp_path):
    np.save(tmp_path / "f.npy", np.asfortranarray(np.zeros((3, 2))))
    for X, said in (
        (np.zeros(3), "rows and columns"),
        (np.array([["a"]]), "must hold numbers"),
        (np.zeros((3, 0)), "no columns"),
        (tmp_path / "f.npy", "stored column by column"),
    ):
        with pytest.raises(ValueError, match=said):
            ArrayRows(X)
    with pytest.raises(ValueError, match="X has 3 rows, the weights 2"):
        ArrayRows(np.zeros((3, 1)), np.zeros(3), np.zeros(2))


def test_fingerprints():
    """They change with the numbers, the targets and the cut."""
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6)
    found = {
        ArrayRows(X, y).fingerprint(),
        ArrayRows(X + 1, y).fingerprint(),
        ArrayRows(X, y + 1).fingerprint(),
        ArrayRows(X, y, rows=2).fingerprint(),
        ArrayRows(X[:5], y[:5]).fingerprint(),
    }
    assert len(found) == 5 and ArrayRows(X.copy(), y).fingerprint() in found
    assert look_at(np.zeros((0, 2))) == "[]"
    assert ArrayRows(X, y, rows=2).recut(3).sizes == (3, 3)
