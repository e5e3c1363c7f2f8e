"""Arrays in memory, in memory-mapped and in .npy files: the same rows."""

import pickle

import numpy as np
import pandas as pd
import pytest

from mercer import KernelRidge
from mercer.representations import Nystrom
from mercer.rows import ArrayRows, open_rows
from mercer.rows.arrays import ArrayFile, array_of, look_at
from mercer.rows.base import watching
from mercer.rows.missing import BesideRows


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
        assert not isinstance(array_of(view), ArrayFile)  # rows do not lie in the file as they do here
        assert isinstance(pickle.loads(pickle.dumps(array_of(view))), np.ndarray)
        assert np.array_equal(ArrayRows(view).shard(0).X, view)
    assert array_of(X) is X


CHANGED = "x.npy has changed since it was opened: open the rows again"


@pytest.mark.parametrize("given", ["path", "mapped", "written", "strided"])
@pytest.mark.parametrize("as_", ["X", "y", "w", "beside"])
def test_a_file_that_changes(tmp_path, rewrite, given, as_):
    """Other numbers in it, or fewer, are an error at the next shard, whatever the array is."""
    path = tmp_path / "x.npy"
    shape = (120, 1) if as_ == "X" else (120,)
    np.save(path, np.zeros(shape))
    opened = path if given == "path" else np.load(path, mmap_mode="r+" if given == "written" else "r")
    if given == "written":
        opened[5] = 2.0
    opened = opened[::2] if given == "strided" else opened[:60] if given != "path" else opened
    n = 120 if given == "path" else 60
    arguments = {"X": np.ones((n, 1)), "y": None, "w": None} | ({} if as_ == "beside" else {as_: opened})
    rows = ArrayRows(**arguments, rows=10)
    if as_ == "beside":
        rows = BesideRows(rows, opened)
    copy = pickle.loads(pickle.dumps(rows))
    for one in (rows, copy):
        assert len(one.shard(0)) == 10
    rewrite(path)
    with pytest.raises(ValueError, match=CHANGED):
        rows.shard(1)
    if given != "strided":
        with pytest.raises(ValueError, match=CHANGED):
            copy.shard(1)
    rewrite(path, path.read_bytes()[:300])
    with pytest.raises(ValueError, match=CHANGED):
        rows.shard(4)


def test_a_fit_to_a_file_that_changes(tmp_path, rewrite):
    X = np.random.default_rng(0).random((400, 1))
    np.save(tmp_path / "x.npy", X)
    told = []

    def change(done, count):
        told.append(done)
        if len(told) == 5:
            rewrite(tmp_path / "x.npy")

    machine = KernelRidge(lam=0.1, representation=Nystrom(centres=X[:5]))
    with watching(change), pytest.raises(ValueError, match=CHANGED):
        machine.fit(open_rows(tmp_path / "x.npy", X[:, 0], rows=100))


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
    X = np.zeros((3, 1))
    for options, said in (
        ({"y": np.zeros(3), "w": np.zeros(2)}, "X has 3 rows, the weights 2"),
        ({"w": 1.0}, "X has 3 rows, the weights is a single value"),
        ({"w": np.ones((3, 1))}, "weights are one number a row, and sample_weight has the shape \\(3, 1\\)"),
        ({"w": np.ones(3, complex)}, "the weights can't be complex128"),
        ({"w": ["a", "b", "c"]}, "the weights can't be <U1"),
        ({"w": np.array([1, "b", 3], dtype=object)}, "the weights can't be object"),
        ({"y": np.ones(3, complex)}, "y can't be complex128"),
        ({"y": np.ma.array([1, 2, 3], mask=[0, 1, 0])}, "y is an array with masked values: .*filled"),
        ({"X": np.ma.array(X, mask=X == 0)}, "X is an array with masked values"),
    ):
        for kind in (ArrayRows, lambda X, y=None, w=None: BesideRows(ArrayRows(X), y, w)):
            with pytest.raises(ValueError, match=said):
                kind(**{"X": X} | options)


def test_lists_and_masks_without_effect():
    X = np.ma.array(np.arange(6.0).reshape(3, 2), mask=False)
    objects, masked = np.array([1, 2.0, True], dtype=object), np.ma.array([1, 2, 3])
    for w in ([1, 2, 3], objects, masked, pd.Series([1, 2, 3], index=[5, 6, 7])):
        shard = ArrayRows(X, ["a", "b", "a"], w).shard(0)
        assert type(shard.X) is np.ndarray and shard.X.tolist() == X.tolist() and shard.y.tolist() == [*"aba"]
        assert shard.w.dtype.kind in "if" and shard.w[:2].tolist() == [1, 2]


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
