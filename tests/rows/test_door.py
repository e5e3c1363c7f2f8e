"""The door: what it takes, what is an array like any other, and what it refuses."""

import os
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pyarrow.dataset as ds
import pytest

from mercer.rows import ArrayRows, Rows, lives_elsewhere, open_rows
from mercer.rows import door as module
from mercer.rows.door import files_of


def test_what_lives_elsewhere(table, save, tmp_path, monkeypatch):
    path = save(table, "t.parquet")
    array = save(np.zeros((4, 2)), "x.npy")
    mapped = np.load(array, mmap_mode="r")
    for X in (
        path,
        str(path),
        tmp_path,
        [path],
        ds.dataset(table),
        ArrayRows(np.zeros((2, 1))),
        "missing.csv",
    ):
        assert lives_elsewhere(X), X
    for X in (
        [[0.0]],
        np.zeros((2, 2)),
        mapped,
        "a word",
        ["a", "b"],
        [],
        None,
        3,
        {"a": 1},
        table,
        ["no.csv"],
    ):
        assert not lives_elsewhere(X), X
    monkeypatch.setattr(module, "_SMALL", 1)
    monkeypatch.setattr(module, "_SHARE", 0.0)
    assert lives_elsewhere(mapped)


def test_nothing_is_imported_for_the_answer():
    programme = (
        "import sys, numpy, mercer.rows as rows; "
        "rows.lives_elsewhere('a.parquet'), rows.lives_elsewhere(numpy.zeros(3)); "
        "print([m for m in ('pyarrow', 'duckdb', 'dask', 'pandas') if m in sys.modules])"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", programme], capture_output=True, text=True, env=environment)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("kind", ["path", "memmap", "array"])
def test_arrays(save, whole, kind):
    rng = np.random.default_rng(0)
    X, y, w = rng.random((500, 3)).astype(np.float32), rng.random(500), rng.random(500)
    given = [save(a, f"{name}.npy") for name, a in zip("Xyw", (X, y, w))]
    given = given if kind == "path" else [np.load(path, mmap_mode="r") for path in given]
    given = [np.array(a) for a in given] if kind == "array" else given
    rows = open_rows(*given, rows=120)
    found = whole(rows)
    assert rows.dtype == np.float32 and np.array_equal(found.X, X)
    assert np.array_equal(found.y, y) and np.array_equal(found.w, w)
    assert whole(open_rows(given[0], dtype=np.float64)).X.dtype == np.float64
    with pytest.raises(ValueError, match="X has 500 rows, y 499"):
        open_rows(given[0], y[1:])


def test_targets_beside_a_table(table, save, whole):
    path, y = save(table, "t.csv"), np.arange(1000)
    for given in (y, y.tolist(), save(y, "y.npy"), str(save(y, "y.npy"))):
        rows = open_rows(path, given, np.ones(1000), columns=["a", "b"], rows=300)
        assert np.array_equal(whole(rows).y, y) and rows.has_y and rows.has_w
        assert np.array_equal(rows.take(np.array([700, 2])).y, [2, 700])
        assert np.array_equal(whole(rows.recut(99)).y, y)
    other = open_rows(path, y[::-1].copy(), columns=["a", "b"], rows=300)
    assert other.fingerprint() != open_rows(path, y, columns=["a", "b"], rows=300).fingerprint()
    again = open_rows(open_rows(path, columns=["a"]), y)
    assert np.array_equal(whole(again).y, y)
    with pytest.raises(ValueError, match="X has 1,000 rows, y 3"):
        open_rows(path, [1, 2, 3], columns=["a"])
    with pytest.raises(ValueError, match="X is rows already, so y is an array"):
        open_rows(again, "price")


def test_rows_that_are_opened_again(table, save, whole):
    """What is asked for is done, or refused."""
    path = save(table, "t.parquet")
    rows = open_rows(path, "price", columns=["a", "b", "c"], rows=300)
    assert open_rows(rows) is rows and open_rows(rows, cache=False) is rows
    again = open_rows(rows, columns=["c", "a"], dtype=np.float32, rows=70)
    expected = whole(open_rows(path, "price", columns=["c", "a"], dtype=np.float32))
    for one in (again, again.recut(90), pickle.loads(pickle.dumps(again))):
        found = whole(one)
        assert np.array_equal(found.X, expected.X) and found.X.dtype == np.float32 == one.dtype
        assert one.names == ("c", "a") and one.shape == (1000, 2) and np.array_equal(found.y, expected.y)
    assert max(again.sizes) == 70 and np.array_equal(again.take(np.array([5, 999])).X, expected.X[[5, 999]])
    for options, said in (
        ({"columns": ["a", "z"]}, "X has no column 'z'"),
        ({"columns": ["a", "a"]}, "twice"),
        ({"columns": "a"}, "must be a list"),
        ({"dtype": "int8"}, "dtype must be"),
        ({"rows": 0}, "one row at least"),
        ({"missing": "guess"}, "missing must be one of"),
        ({"cache": "folder"}, "cache= is for what is yet to be decoded"),
    ):
        with pytest.raises(ValueError, match=said):
            open_rows(rows, **options)
    with pytest.raises(ValueError, match="these rows have no names"):
        open_rows(ArrayRows(np.ones((2, 2))), columns=["a"])


def test_what_is_missing_in_rows_that_are_opened_again(save, whole):
    X = np.array([[1.0, 2.0], [np.nan, 4.0], [5.0, 6.0], [9.0, np.nan]])
    for rows in (ArrayRows(X, rows=2), open_rows(X, rows=2), open_rows(save(X, "x.npy"), rows=2)):
        assert np.array_equal(whole(open_rows(rows, missing="drop")).X, X[[0, 2]])
        assert np.array_equal(whole(open_rows(rows, missing="median")).X, [[1, 2], [5, 4], [5, 6], [9, 4]])
        assert whole(open_rows(rows, [1, 2, None, 4], missing="drop")).y.tolist() == [1]
    # What is missing in a column that nobody asks for any more is no matter, nor that rows were opened twice.
    path = save(X, "x.npy").with_suffix(".csv")
    path.write_text("a,b\n1,2\n,4\n5,6\n9,\n")
    rows = open_rows(path)
    assert whole(open_rows(open_rows(rows, dtype="float32"), missing="drop")).X.tolist() == [[1, 2], [5, 6]]
    b = open_rows(rows, columns=["b"])
    assert b.names == ("b",)
    assert whole(open_rows(b, missing="drop")).X.tolist() == [[2], [4], [6]]
    with pytest.raises(ValueError, match="'b' is missing in row 4"):
        whole(b)
    there = ArrayRows(X)
    there.on_workers = True
    for missing in ("drop", "median"):
        with pytest.raises(ValueError, match="on the workers of a cluster: drop or fill in"):
            open_rows(there, missing=missing)

    class Fixed(Rows):
        shape, dtype, sizes = (4, 2), np.dtype(float), (4,)

    assert open_rows(Fixed(), rows=4).sizes == (4,)
    with pytest.raises(ValueError, match="can't be cut anew into shards of rows=2"):
        open_rows(Fixed(), rows=2)


@pytest.mark.skipif(os.name != "posix", reason="there are no named pipes")
@pytest.mark.parametrize("name", ["p.parquet", "p.csv", "p.feather", "p.npy", "p.csv.gz"])
def test_pipes_are_not_waited_for(tmp_path, name):
    path, y = tmp_path / name, tmp_path / "y.npy"
    os.mkfifo(path)
    os.mkfifo(y)
    for given in ((path,), ([path],), (np.ones((2, 1)), y)):
        with pytest.raises(OSError, match="no ordinary file"):
            open_rows(*given)


def test_arrays_of_the_caller(whole):
    """Arrays in memory are read, not copied: who changes one changes the rows."""
    X = np.zeros((4, 1))
    rows = open_rows(X)
    X[2] = 5.0
    assert whole(rows).X[2, 0] == 5.0
    whole(rows).X[:] = 7.0
    assert X[2] == 5.0


def test_lists_folders_and_patterns(table, save, tmp_path):
    a, b = save(table, "d/a.parquet"), save(table, "d/deep/b.parquet")
    (tmp_path / "d" / "_SUCCESS").write_text("")
    (tmp_path / "d" / ".hidden.parquet").write_text("no file of ours")
    assert files_of(tmp_path / "d") == [a, b] and files_of([b, a]) == [b, a]
    assert files_of(str(tmp_path / "d" / "*.parquet")) == [a]
    assert files_of(str(tmp_path / "**" / "*.parquet")) == [a, b]
    assert open_rows(tmp_path / "d", "city", columns=["a"]).shape == (2000, 1)


@pytest.mark.parametrize(
    "X, error, said",
    [
        ("nowhere.csv", FileNotFoundError, "there is no file nowhere.csv"),
        ("nowhere/x.npy", FileNotFoundError, "nowhere"),
        ("s3://bucket/x.parquet", ValueError, "not on a disk of this machine: pyarrow.dataset"),
        ("no-*.csv", FileNotFoundError, "no file is called"),
        ("EMPTY", ValueError, "has no files"),
        ("MIXED", ValueError, "a.csv is text and .*b.parquet is Parquet: .* one format"),
        ("MIXED/c.xyz", ValueError, "unknown format: its name ends in none of .parquet"),
        ([], ValueError, "the list of files is empty"),
        (["MIXED/d.npy", "MIXED/d.npy"], ValueError, "several .npy"),
        (3.5, ValueError, "X must be a path.*got float"),
    ],
)
def test_what_is_refused(tmp_path, monkeypatch, X, error, said):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("EMPTY").mkdir()
    pathlib.Path("MIXED").mkdir()
    for name in ("a.csv", "b.parquet", "c.xyz", "d.npy"):
        pathlib.Path("MIXED", name).write_text("x")
    if said.startswith("a.csv"):
        pathlib.Path("MIXED", "c.xyz").unlink()
        pathlib.Path("MIXED", "d.npy").unlink()
    with pytest.raises(error, match=said):
        open_rows(X)


def test_arrays_that_lie(tmp_path, save):
    """Headers that promise more than there is, objects, other things: an error, and no memory is taken."""
    good = save(np.zeros((4, 2)), "x.npy").read_bytes()
    for shape, said in (("(10**15, 2)", "ends early|no .npy"), ("(999999999, 2)", "ends early")):
        path = tmp_path / "bad.npy"
        path.write_bytes(
            good.replace(b"(4, 2), }      " + b" " * (len(shape) - 8), f"{shape}, }}      ".encode())
        )
        with pytest.raises(ValueError, match=said):
            open_rows(path)
    for content, said in (
        (b"", "no .npy"),
        (good[:40], "no .npy"),
        (good[:-1], "ends early"),
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=said):
            open_rows(path)
    with pytest.raises(ValueError, match="objects"):
        open_rows(save(np.array([[None]], dtype=object), "o.npy"))
    with pytest.raises(ValueError, match="no columns"):
        open_rows(save(np.zeros((10**9, 0), dtype=np.float32), "e.npy"))
    with pytest.raises(ValueError, match="has no rows"):
        open_rows(save(np.zeros((0, 3)), "e.npy"))


def test_parameters_are_checked(table, save):
    path = save(table, "t.parquet")
    for options, said in (
        ({"rows": 0}, "one row at least"),
        ({"missing": "guess"}, "missing must be one of"),
        ({"y": "prize"}, "did you mean 'price'"),
    ):
        with pytest.raises(ValueError, match=said):
            open_rows(path, **({"columns": ["a"]} | options))
    with pytest.raises(ValueError, match="columns= names columns of a table"):
        open_rows(np.zeros((2, 2)), columns=["a"])
    with pytest.raises(ValueError, match="X is an array already, so y is an array"):
        open_rows(np.zeros((2, 2)), "a")
    with pytest.raises(ValueError, match="dtype must be"):
        open_rows(np.zeros((2, 2)), dtype="int8")
