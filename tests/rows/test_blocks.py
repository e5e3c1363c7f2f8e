"""Blocks of Dask's collections: columns go by their names, whatever pandas keeps in them."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from clusters import cluster_of
from mercer import KernelLogistic, KernelRidge
from mercer.engines import Dask
from mercer.kernels import Gaussian
from mercer.representations import Nystrom
from mercer.rows import open_rows

RNG = np.random.default_rng(0)
N = 60
X = RNG.standard_normal((N, 2))
FRAME = pd.DataFrame(X, columns=["a", "b"]).assign(y=X[:, 0] - X[:, 1], w=RNG.uniform(1, 2, N))
HOLES = FRAME.a.where(np.arange(N) % 20 != 7)  # NaN in rows 7, 27 and 47


@pytest.fixture(scope="module", autouse=True)
def client():
    with cluster_of(1, threads=2, processes=False, default=True) as client:
        yield client


def split(frame, parts=3):
    return dd.from_pandas(frame, npartitions=parts)


def glued(*parts, meta):
    """A frame of partitions that nobody compares with what the frame says it has."""
    delayed = [dask.delayed(part) for part in parts]
    return dd.from_delayed(delayed, meta=meta.iloc[:0], verify_meta=False)


def ridge():
    return KernelRidge(Gaussian(1.0), lam=1e-2, representation=Nystrom(centres=X[:10]))


def everything(rows):
    return rows.take(np.arange(rows.shape[0]))


def test_partitions_in_another_order():
    plain = FRAME[["a", "b", "y"]]
    frame = glued(plain[:30], plain[["y", "b", "a"]][30:].assign(more="words"), meta=plain)
    seen = everything(open_rows(frame, "y"))
    assert np.array_equal(seen.X, X) and np.array_equal(seen.y, FRAME.y)
    expected = ridge().fit(X, FRAME.y).predict(X)
    assert np.allclose(ridge().fit(frame, "y").predict(frame), expected, atol=1e-6)
    for other, words in (
        (plain.drop(columns="b"), "a partition of the data frame has no column 'b': it has 'a', 'y'"),
        (plain.rename(columns={"y": "a"}), "has two columns 'a'"),
        (plain.drop(columns="y"), "has no column 'y'"),
    ):
        with pytest.raises(ValueError, match=words):
            open_rows(glued(plain[:30], other[30:], meta=plain), "y")


def test_targets_of_the_frame_that_points_are_of(tmp_path):
    wide = FRAME.assign(**{f"c{i}": float(i) for i in range(20)})
    for i in range(8):
        wide[i * 7 : i * 7 + 7 + 4 * (i == 7)].to_parquet(tmp_path / f"{i}.parquet")
    frame = dd.read_parquet(sorted(map(str, tmp_path.glob("*.parquet"))))
    assert (
        len(frame["y"].to_delayed()) < frame.npartitions == 8
    )  # a lone column is read several files at a time
    seen = everything(open_rows(frame[["a", "b"]], frame["y"], frame["w"]))
    for got, column in ((seen.X[:, 0], "a"), (seen.X[:, 1], "b"), (seen.y, "y"), (seen.w, "w")):
        assert np.array_equal(got, FRAME[column])


def test_what_open_rows_is_asked_for():
    frame = FRAME.assign(a=HOLES)
    there = ~HOLES.isna()
    rows = open_rows(split(frame), "y", "w", columns=["b"], dtype=np.float32)
    seen = everything(rows)
    assert rows.names == ["b"] and rows.dtype == np.float32 and seen.X.dtype == np.float32
    assert np.array_equal(seen.X[:, 0], FRAME.b.astype(np.float32)) and np.array_equal(seen.w, FRAME.w)
    rows = open_rows(split(frame), "y", "w", missing="drop")
    assert rows.shape == (57, 2) and rows.remarks == ("3 of 60 rows with missing values are left out.",)
    assert np.array_equal(everything(rows).X, X[there]) and np.array_equal(everything(rows).w, FRAME.w[there])
    rows = open_rows(split(frame[["a", "b"]]), FRAME.y.to_numpy(), missing="median")
    assert np.array_equal(everything(rows).X[:, 0], HOLES.fillna(HOLES.median())) and rows.on_workers
    assert Dask().place(rows) is rows
    points = da.from_array(frame[["a", "b"]].to_numpy(), chunks=(20, 2))
    assert open_rows(points, missing="drop", dtype="float32").shape == (57, 2)
    assert np.array_equal(everything(open_rows(split(FRAME), ["y", "w"])).y, FRAME[["y", "w"]])


@pytest.mark.parametrize(
    "given, asked, words",
    [
        ("frame", {}, "column 'a' is missing in row 8: missing='drop' leaves"),
        ("frame", {"columns": ["b"], "y": "a"}, "the target 'a' is missing in row 8"),
        ("frame", {"columns": ["b"], "y": "a", "missing": "median"}, "the target 'a' is missing in row 8"),
        ("frame", {"missing": "mean"}, "missing must be one of"),
        ("frame", {"columns": ["bb"]}, "the data frame has no column 'bb': did you mean 'b'"),
        ("frame", {"columns": "b"}, r"a list of names, such as \['b'\]"),
        ("frame", {"columns": ["b", "b"]}, "names a column twice"),
        ("frame", {"columns": ["b", "y"], "y": "y"}, "can't be a feature and the target"),
        ("frame", {"columns": []}, "no column besides"),
        ("frame", {"rows": 10}, "shards as they are: X.repartition"),
        ("frame", {"cache": "folder"}, "cache= is for files"),
        ("frame", {"dtype": int}, "dtype must be float32 or float64"),
        ("array", {}, "column 1 is missing in row 8"),
        ("array", {"columns": ["a"]}, "an array has none"),
        ("empty", {"missing": "drop"}, "a value is missing in every row"),
        ("infinite", {"missing": "drop", "columns": ["b"]}, "column 'b' is infinite in row 60"),
    ],
)
def test_what_is_refused(given, asked, words):
    frame = FRAME.assign(a=HOLES)
    if given == "infinite":
        frame.loc[N - 1, "b"] = np.inf
    data = {"empty": frame.assign(b=np.nan)}.get(given, frame)
    whole = da.from_array(frame[["a", "b"]].to_numpy(), chunks=(20, 2)) if given == "array" else split(data)
    with pytest.raises(ValueError, match=words):
        open_rows(whole, **asked)


@pytest.mark.parametrize(
    "column, dtype",
    [
        (X[:, 0] > 0, np.float32),
        (pd.array(np.arange(N) % 5, dtype="Int8"), np.float32),
        (pd.array(np.arange(N), dtype="Int64"), np.float64),
        (pd.array(X[:, 0] > 0, dtype="boolean"), np.float32),
        (pd.array(X[:, 0], dtype="Float64"), np.float64),
    ],
)
def test_columns_that_pandas_keeps_otherwise(column, dtype):
    """Truth values, and numbers beside a mask, are numbers; what the mask hides is missing."""
    frame = pd.DataFrame({"a": X[:, 0].astype(np.float32), "c": column, "y": FRAME.y})
    rows = open_rows(split(frame), "y")
    assert rows.dtype == dtype
    assert np.array_equal(everything(rows).X[:, 1], np.asarray(column, dtype=float).astype(dtype))
    if not isinstance(column, np.ndarray):
        frame.loc[4, "c"] = pd.NA
        with pytest.raises(ValueError, match="column 'c' is missing in row 5"):
            open_rows(split(frame), "y")
        assert everything(open_rows(split(frame), "y", missing="drop")).X.shape == (N - 1, 2)
        middle = np.median(np.delete(np.asarray(column), 4).astype(float))
        assert everything(open_rows(split(frame), "y", missing="median")).X[4, 1] == middle


@pytest.mark.parametrize("labels", ["Int64", "boolean", "words", "string"])
def test_labels_keep_their_type(labels):
    sign = (FRAME.y > 0).to_numpy()
    y = {
        "Int64": pd.array(sign * 7, dtype="Int64"),
        "boolean": pd.array(sign, dtype="boolean"),
        "words": np.array(["no", "yes"], dtype=object)[sign * 1],
        "string": pd.array(np.array(["no", "yes"])[sign * 1], dtype="string"),
    }[labels]
    frame = FRAME[["a", "b"]].assign(y=y)
    machine = KernelLogistic(Gaussian(1.0), lam=0.1, representation=Nystrom(centres=X[:10]))
    whole = machine.fit(split(frame), "y").predict(FRAME[["a", "b"]][:5])
    frame.loc[50, "y"] = None
    with pytest.raises(ValueError, match="the target 'y' is missing in row 51"):
        machine.fit(split(frame), "y")
    found = machine.fit(open_rows(split(frame), "y", missing="drop"))
    assert found.classes_.tolist() == [
        *{"Int64": [0, 7], "boolean": [False, True]}.get(labels, ["no", "yes"])
    ]
    said = found.predict(FRAME[["a", "b"]][:5])
    assert said.dtype == whole.dtype and np.array_equal(said, whole)


def test_numbers_as_names_of_columns(tmp_path):
    frame = pd.DataFrame(X).assign(**{"2": FRAME.y}).rename(columns={"2": 2})
    machine = ridge().fit(split(frame), 2)
    expected = ridge().fit(X, FRAME.y).predict(X)
    assert machine.feature_names_in_.tolist() == ["0", "1"]
    for given in (frame, frame[[1, 2, 0]]):
        assert np.allclose(machine.predict(split(given)), expected, atol=1e-6)
    assert machine.score(split(frame), 2) == pytest.approx(machine.score(split(frame[[0, 1]]), FRAME.y))
    assert machine.write(split(frame), tmp_path / "answers.csv") == N


def test_columns_of_one_name():
    frame = split(pd.DataFrame(np.c_[X, FRAME.y], columns=["a", "a", "y"]))
    with pytest.raises(ValueError, match="has 2 columns called 'a': give each a name of its own"):
        ridge().fit(frame, "y")
    with pytest.raises(ValueError, match="2 columns called '1'"):
        open_rows(split(pd.DataFrame(X, columns=[1, "1"])))
    assert open_rows(frame, columns=["y"]).shape == (N, 1)


def test_questions_that_have_no_answer(tmp_path):
    machine = ridge().fit(split(FRAME), "y", "w")
    with pytest.raises(ValueError, match="the data frame has no column 'a': it has 'b', 'w'"):
        machine.predict(split(FRAME[["b", "w"]]))
    weights = FRAME.w.to_numpy()[:, None]
    for given in (weights, da.from_array(weights, chunks=(20, 1))):
        with pytest.raises(ValueError, match=r"one number a row, .*\(n, 1\)"):
            machine.score(split(FRAME[["a", "b"]]), FRAME.y.to_numpy(), given)
    with pytest.raises(ValueError, match="one number a row"):
        machine.score(open_rows(X), FRAME.y.to_numpy(), weights)
    with pytest.raises(AttributeError, match="no method 'fit' that answers for points: it has predict$"):
        machine.write(split(FRAME), tmp_path / "answers.csv", "fit")
