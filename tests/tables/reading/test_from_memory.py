"""Everything people hold data in becomes the same table."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sparse
from hypothesis import given
from hypothesis import strategies as st

from mercer.tables.reading import Table, TableError

NUMBERS = [1.5, None, -2.0]
WORDS = ["a", None, "ü"]
DAYS = ["2024-01-01", None, "2024-02-29"]
FLAGS = [True, False, True]


@pytest.fixture
def expected():
    return Table(
        {
            "n": np.array([1.5, np.nan, -2.0]),
            "w": np.array(WORDS, dtype=object),
            "d": np.array(["2024-01-01", "NaT", "2024-02-29"], dtype="datetime64[us]"),
            "f": np.array(["true", "false", "true"], dtype=object),
        }
    )


def frames():
    days = np.array(["2024-01-01", "NaT", "2024-02-29"], dtype="datetime64[us]")
    columns = {"n": NUMBERS, "w": WORDS, "d": days, "f": FLAGS}
    arrow = pa.table({"n": NUMBERS, "w": WORDS, "d": pa.array(days), "f": FLAGS})
    yield "dict", columns
    yield "pandas", pd.DataFrame(columns)
    yield "pandas with pyarrow", arrow.to_pandas(types_mapper=pd.ArrowDtype)
    yield "pandas nullable", pd.DataFrame(columns).convert_dtypes()
    yield (
        "pandas with zones",
        pd.DataFrame(columns).assign(d=lambda t: t.d.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")),
    )
    yield "polars", pl.DataFrame({"n": NUMBERS, "w": WORDS, "d": days, "f": FLAGS})
    yield "polars categories", pl.DataFrame(columns).with_columns(pl.col("w").cast(pl.Categorical))
    yield "pyarrow", arrow
    yield "pyarrow batch", arrow.to_batches()[0]
    yield "pyarrow dictionary", arrow.set_column(1, "w", arrow["w"].dictionary_encode())
    yield (
        "records",
        [dict(zip(columns, row, strict=True)) for row in zip(NUMBERS, WORDS, days.tolist(), FLAGS)],
    )
    objects = np.array([NUMBERS, WORDS, days.tolist(), FLAGS], dtype=object).T
    yield "structured", np.array([(1.5, "a"), (2.5, "b")], dtype=[("n", float), ("w", "U1")])
    yield "rows", (objects.tolist(), list("nwdf"))
    yield "objects", (objects, list("nwdf"))


def test_a_record_is_one_row():
    """A dict of single values, of whatever kind; lists, arrays and series are columns, however short."""
    day = np.datetime64("2024-02-29", "us")
    for value in (1.5, np.float32(1.5), np.array(1.5)):
        record = {"n": value, "w": "ü", "d": day, "f": True, "gone": None}
        table = Table.of(record)
        assert table == Table.of({name: [v] for name, v in {**record, "n": 1.5}.items()})
        assert len(table) == 1 and table["n"].tolist() == [1.5] and table["w"].tolist() == ["ü"]
    assert len(Table.of({"w": "many letters"})) == 1
    for columns in ({"n": [1.5]}, {"n": np.array([1.5])}, {"n": pd.Series([1.5])}, {"n": (1.5,)}):
        assert Table.of(columns) == Table.of({"n": 1.5})
    assert len(Table.of({"n": []})) == 0
    for mixed in ({"n": 1.5, "w": ["a"]}, {"n": np.ones(2), "w": "ab"}, {"n": {1: 2}, "w": 1}):
        with pytest.raises(TableError, match="must be a list or an array, or every one a single value"):
            Table.of(mixed)
    for series in (pd.Series({"n": 1.5, "w": "a"}), pd.Series([1.5, 2.5])):
        with pytest.raises(TableError, match=r"to_frame\(\) for a column, X.to_dict\(\) for one row"):
            Table.of(series)


@pytest.mark.parametrize("X", [pytest.param(X, id=name) for name, X in frames()])
def test_the_same_table_from_all(X, expected):
    if isinstance(X, np.ndarray):
        assert Table.of(X) == Table.of({"n": [1.5, 2.5], "w": ["a", "b"]})
    else:
        assert (Table.of(*X) if isinstance(X, tuple) else Table.of(X)) == expected
    assert Table.of(Table.of(expected)) == expected


@given(st.integers(1, 5), st.integers(0, 4), st.sampled_from([np.float64, np.float32, np.int16, np.uint8]))
def test_arrays_of_numbers(d, n, dtype):
    X = np.arange(n * d).reshape(n, d).astype(dtype)
    table = Table.of(X)
    assert table.names == tuple(f"x{j + 1}" for j in range(d)) and table.n_rows == n
    for j, name in enumerate(table.names):
        np.testing.assert_array_equal(table[name], X[:, j])


def test_names_for_arrays_and_only_for_them():
    assert Table.of(np.eye(2), names=["a", "b"]).names == ("a", "b")
    with pytest.raises(TableError, match="1 names for 2 columns"):
        Table.of(np.eye(2), names=["a"])
    with pytest.raises(TableError, match="names already"):
        Table.of({"a": [1]}, names=["b"])


def test_sparse_matrices_are_made_dense_while_they_fit():
    X = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, -1.0]])
    for form in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil"):
        for make in (sparse.coo_matrix, sparse.coo_array):
            assert Table.of(make(X).asformat(form)) == Table.of(X), form
            assert Table.of(make(X).asformat(form), names="abc").names == ("a", "b", "c")
    with pytest.raises(TableError, match="too many for a table"):
        Table.of(sparse.dok_matrix((100_000, 100_000)))
    with pytest.raises(TableError, match="of shape 3"):
        Table.of(sparse.coo_array(np.ones(3)))
    with pytest.raises(TableError, match="too many for a table"):
        Table.of(sparse.csr_matrix((100_000, 100_000)))


def test_pandas_details():
    frame = pd.DataFrame(
        {"c": pd.Categorical([3, None, 1]), "t": pd.to_timedelta(["1s", None, "1min"]), 5: [1, 2, 3]}
    )
    table = Table.of(frame)
    assert table["c"].tolist() == ["3", None, "1"] and table.names == ("c", "t", "5")
    np.testing.assert_array_equal(table["t"], [1, np.nan, 60])
    with pytest.raises(TableError, match="same name"):
        Table.of(pd.DataFrame(np.eye(2), columns=["a", "a"]))
    with pytest.raises(TableError, match="same name"):
        Table.of(pd.DataFrame(np.eye(2), columns=[1, "1"]))


def test_records_may_lack_keys():
    table = Table.of([{"a": 1}, {"b": "x", "a": None}, {}])
    assert table.names == ("a", "b") and table["b"].tolist() == [None, "x", None]


def test_kinds_may_be_said():
    table = Table.of(
        {"a": ["1", "2"], "b": [1, 2], "c": ["2024-01-01", ""]},
        kinds={"a": "number", "b": "text", "c": "date", "z": "text"},
    )
    assert [table.kind(name) for name in "abc"] == ["number", "text", "date"]
    assert table["b"].tolist() == ["1", "2"]
    with pytest.raises(TableError, match="row 2, column 'a': 'x' is not a number"):
        Table.of([{"a": "1"}, {"a": "x"}], kinds={"a": "number"})
    with pytest.raises(ValueError, match="must be 'number', 'text' or 'date'"):
        Table.of({"a": [1]}, kinds={"a": "integer"})
    again = Table.of(table, kinds={"a": "text"})
    assert again["a"].tolist() == ["1", "2"]


def test_strings_in_memory_stay_words():
    assert Table.of({"a": ["1", "2"]}).kind("a") == "text"
    assert Table.of(np.array([["1", "2"]])).kind("x1") == "text"


@pytest.mark.parametrize(
    "X, message",
    [
        (np.zeros(3), "a ndarray of shape 3"),
        (np.zeros((2, 2, 2)), "shape 2×2×2"),
        (5, "a int of shape one value"),
        ("text", "a path is no table"),
        ([], "rows and columns"),
        (np.zeros((3, 0)), "shape 3×0"),
        ([[1, 2], [3]], "row 2: has 1 values, the first row 2"),
        ({"a": [1, 2], "b": [1]}, "column 'b': has 1 rows"),
        ({"a": "text", "b": [1]}, "column 'a': a column must be a list"),
        ({"a": np.eye(2)}, "column 'a': a column has one dimension"),
        ({"a": [1.0, np.inf]}, "row 2, column 'a': inf is not a finite number"),
        (np.array([[1.0, np.inf]]), "row 1, column 'x2': inf is not a finite number"),
        (np.eye(2) * 1j, "dtype complex128 are no numbers"),
        ({"a": [[1], [2]]}, "column 'a'.* is of type list"),
        ({"": [1]}, "no name"),
        (pd.DataFrame({"a": [1] * 30 + ["x"]}), "row 31, column 'a': 'x' is not a number"),
        (pl.LazyFrame({"a": [1]}), "collect"),
        (pa.table({"a": [[1]]}), "column 'a': values of type list"),
    ],
)  # fmt: skip
def test_what_is_no_table_is_refused(X, message):
    with pytest.raises(TableError, match=message):
        Table.of(X)
