"""Missing values: where the first is, rows left out, medians; against pandas."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mercer import KernelLogistic
from mercer.rows import ArrayRows, open_rows
from mercer.rows.base import Shard
from mercer.rows.missing import Filled, check


@pytest.fixture
def frame():
    rng = np.random.default_rng(3)
    found = pd.DataFrame(
        {"a": rng.random(400), "b": rng.random(400), "city": rng.choice(["u", "v"], 400), "n": 1}
    )
    found.loc[[7, 300], "a"] = np.nan
    found.loc[[7, 200], "b"] = np.nan
    found.loc[150, "city"] = None
    found.loc[390:, "a"] = np.nan
    return found


@pytest.fixture(params=["t.parquet", "t.csv"])
def path(request, frame, tmp_path):
    path = tmp_path / request.param
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        pa.parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, row_group_size=90)
    return path


@pytest.mark.parametrize("cache", [None, False])
def test_left_out(frame, path, whole, cache):
    rows = open_rows(path, "city", columns=["a", "b"], rows=10, missing="drop", cache=cache)
    left = frame.dropna()
    found = whole(rows)
    assert rows.shape == (len(left), 2) and len(rows.sizes) == 39  # the last ten rows are a shard without any
    assert np.array_equal(found.X, left[["a", "b"]]) and found.y.tolist() == left["city"].tolist()
    assert found.y.dtype.kind == "U"
    assert rows.remarks == ("14 of 400 rows with missing values are left out.",)
    assert np.array_equal(whole(rows.recut(100)).X, found.X)
    assert np.array_equal(whole(pickle.loads(pickle.dumps(rows))).X, found.X)
    assert np.array_equal(rows.take(np.array([8, 380])).X, found.X[[8, 380]])


def test_medians(frame, path, whole):
    rows = open_rows(path, "n", columns=["a", "b"], rows=64, missing="median")
    expected = frame[["a", "b"]].fillna(frame[["a", "b"]].median())
    assert np.allclose(whole(rows).X, expected, rtol=1e-15)
    assert np.allclose(rows.take(np.array([7])).X, expected.iloc[[7]])
    with pytest.raises(ValueError, match="the target 'city' is missing in row 151"):
        open_rows(path, "city", columns=["a", "b"], missing="median")
    assert Filled(np.zeros(1)).points(np.array([[np.nan]], dtype=np.float32)).dtype == np.float32


def test_an_error_says_where(path):
    for columns, y, said in (
        (["a", "b"], "n", "column 'a' is missing in row 8: missing='drop'"),
        (["b"], "n", "column 'b' is missing in row 8"),
        (["n"], "city", "the target 'city' is missing in row 151"),
    ):
        rows = open_rows(path, y, columns=columns, rows=64)
        with pytest.raises(ValueError, match=said):
            for _ in rows.each(lambda shard: (len(shard),)):
                pass


def test_whole_numbers_with_holes(tmp_path, whole):
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(
        pa.table({"x": [1, None, 3], "y": [1, 2, None], "flag": [True, None, False]}), path
    )
    rows = open_rows(path, "y", columns=["x", "flag"], missing="drop")
    assert whole(rows).X.tolist() == [[1.0, 1.0]] and whole(rows).y.tolist() == [1]
    with pytest.raises(ValueError, match="'x' is missing in row 2"):
        open_rows(path, "y", columns=["x"]).shard(0)


KINDS = {
    "bool": pa.array([True, False, None, True, None, False]),
    "int8": pa.array([7, -7, None, 7, None, 3], pa.int8()),
    "uint64": pa.array([2**64 - 1, 2**60 + 1, None, 2**60, None, 0], pa.uint64()),
    "dictionary": pa.array([7, -7, None, 7, None, 3]).dictionary_encode(),
    "words": pa.array(["u", "vv", None, "u", None, "www"]),
    "float32": pa.array([0.5, 1, None, 3, None, 4], pa.float32()),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ending", ["parquet", "csv", "feather"])
@pytest.mark.parametrize("cache", [None, False, "folder"])
def test_labels_stay_what_they_are(tmp_path, save, whole, kind, ending, cache):
    """Wherever some are missing, and whether they come from a file or from what is kept of it."""
    column = KINDS[kind]
    column = column.dictionary_decode() if kind == "dictionary" and ending == "csv" else column
    if ending == "csv" and kind == "uint64":
        column = pa.array([2**60 + 1, 2**60, None, 5, None, 0])  # texts have no larger whole numbers
    path = save(pa.table({"x": np.arange(6.0), "y": column}), f"t.{ending}")
    expected = [value for value in column.to_pylist() if value is not None]
    rows = open_rows(
        path, "y", missing="drop", rows=2, cache=tmp_path / "kept" if cache == "folder" else cache
    )
    for _ in range(2):
        found = whole(rows)
        assert found.y.tolist() == expected and found.X[:, 0].tolist() == [0, 1, 3, 5]
        assert {rows.shard(k).y.dtype.kind for k in range(3)} == {found.y.dtype.kind}
        whole_kind = {"uint64": "i", "dictionary": "i", "int8": "i", "float32": "f"}.get(kind)
        if ending == "csv":
            assert found.y.dtype.kind == (whole_kind or found.y.dtype.kind)
        elif kind in ("bool", "int8", "uint64", "float32"):
            assert found.y.dtype == kind
    assert np.array_equal(whole(pickle.loads(pickle.dumps(rows))).y, found.y)
    with pytest.raises(ValueError, match="the target 'y' is missing in row 3"):
        open_rows(path, "y", rows=2, cache=False).shard(1)


def test_classes_of_truth_values(tmp_path, save):
    y = pa.array([None, *([True, False] * 20)])
    path = save(pa.table({"x": np.arange(41.0), "y": y}), "t.parquet")
    machine = KernelLogistic(lam=0.1).fit(open_rows(path, "y", missing="drop", rows=10))
    assert machine.classes_.dtype == bool and machine.predict(open_rows(path, columns=["x"])).dtype == bool


@pytest.mark.parametrize(
    "values, kind",
    [
        ([1, None, 2, 3], "i8"),
        ([True, None, False, True], "?"),
        (["a", None, "b", "c"], "<U1"),
        ([1, None, "b", 2], "O"),
        ([1.5, np.nan, 2.5, None], "f8"),
        ([np.float32(1), np.float32("nan"), np.float32(2), pd.NaT], "f4"),
        ([True, pd.NA, False, True], "?"),
    ],
)
def test_objects_beside(values, kind, whole):
    """Objects of one kind are an array of that kind, in all shards; others stay objects."""
    rows = open_rows(np.arange(4.0)[:, None], np.array(values, dtype=object), rows=2, missing="drop")
    kinds = [rows.shard(k).y.dtype for k in range(2)]
    assert kinds == [np.dtype(kind)] * 2 and whole(rows).y.tolist() == [v for v in values if not pd.isna(v)]
    with pytest.raises(ValueError, match="the target is missing in row 2: missing='drop'"):
        open_rows(np.arange(4.0)[:, None], np.array(values, dtype=object)).shard(0)


def test_days_that_are_missing(whole):
    days = np.array(["2020-01-01", "NaT", "2021-01-01"], dtype="M8[D]")
    rows = open_rows(np.arange(3.0)[:, None], days, missing="drop")
    assert np.array_equal(whole(rows).y, days[[0, 2]]) and whole(rows).y.dtype == days.dtype
    with pytest.raises(ValueError, match="the target is missing in row 2"):
        open_rows(np.arange(3.0)[:, None], days).shard(0)


@pytest.mark.parametrize("missing", ["error", "drop", "median"])
def test_infinity_is_not_missing(missing, tmp_path):
    """The error says so, and names the row by its number in the file."""
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n1,2,1\n" + ("" if missing == "error" else ",5,1\n") + "3,4,2\ninf,1,3\n")
    row = 3 if missing == "error" else 4
    with pytest.raises(ValueError, match=f"column 'a' is infinite in row {row}, and so not missing"):
        open_rows(path, "y", missing=missing).shard(0)
    path.write_text("a,b,y\n1,2,1\n,4,inf\n1,1,3\n")  # in a row that is left out
    if missing == "drop":
        assert open_rows(path, "y", missing=missing).shape == (2, 2)


def test_nothing_is_left():
    with pytest.raises(ValueError, match="none is left"):
        open_rows(np.full((3, 1), np.nan), missing="drop")
    with pytest.raises(ValueError, match="column 1 has no value at all"):
        open_rows(np.full((3, 1), np.nan), missing="median")
    X = np.ones((3, 1))
    assert open_rows(X, missing="median").shape == (3, 1) and open_rows(X, missing="drop").remarks == ()


@pytest.mark.parametrize(
    "shard, said",
    [
        (Shard(np.array([[1.0, np.inf]]), first=9), "column 'v' is infinite in row 10"),
        (Shard(np.array([[1.0, np.nan]], dtype=np.float32)), "column 'v' is missing in row 1"),
        (Shard(np.ones((1, 2)), np.array([[1.0, np.nan]])), "the target is missing"),
        (Shard(np.ones((1, 2)), np.array([-np.inf])), "the target is infinite"),
        (Shard(np.ones((1, 2)), None, np.array([np.nan])), "the weight is missing"),
        (Shard(np.ones((2, 2)), None, np.array([1.0, -1.0])), "a weight is negative in row 2"),
    ],
)
def test_check(shard, said):
    with pytest.raises(ValueError, match=said):
        check(shard, ("u", "v"))


def test_large_numbers_are_no_infinities():
    big = np.full((100, 1), 3e38, dtype=np.float32)  # their sum is none in float32
    check(Shard(big, np.array(["a"] * 100)))
    assert ArrayRows(big).shape == (100, 1)
