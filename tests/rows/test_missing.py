"""Missing values: where the first is, rows left out, medians; against pandas."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

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
