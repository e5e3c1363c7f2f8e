"""From tables to points: which columns, in which order, out of what; and as scikit-learn sees it."""

import datetime
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelRidge
from mercer.tables.model import Columns
from mercer.tables.model.encoders import Category, Date, Number
from mercer.tables.reading import Table, TableError

RNG = np.random.default_rng(0)
N = 60
DAYS = np.datetime64("2023-01-01T00:00", "us") + np.arange(N) * np.timedelta64(11 * 24 * 60 + 37, "m")


def mixed():
    """A table of every kind, without gaps."""
    return {
        "size": RNG.normal(50, 10, N),
        "city": RNG.choice(["Bonn", "Ulm", "Kiel"], N),
        "sold": DAYS,
        "old": RNG.choice(["yes", "no"], N),
    }


MIXED = mixed()


# -- columns that say nothing ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values, reason",
    [
        (np.ones(N), "constant"),
        (np.full(N, np.nan), "empty"),
        ([None] * N, "empty"),
        (["a"] * N, "constant"),
        (["a"] * (N - 2) + [None] * 2, "constant"),
        ([f"person {i}" for i in range(N)], "60 different values in 60 rows: names or free text"),
        (np.full(N, np.datetime64("2024-01-01", "us")), "constant"),
        (np.full(N, np.datetime64("NaT", "us")), "empty"),
        (1e9 + np.zeros(N), "constant"),
        (
            [f"{i % 28 + 1}.{i % 12 + 1}.2024" for i in range(N)],
            "60 different values in 60 rows: names or free text; dates must be written 2024-01-31",
        ),
    ],
)
def test_left_out_with_a_reason(values, reason):
    columns = Columns().fit({"a": values, "b": np.arange(N)})
    assert columns.dropped_ == {"a": reason}
    assert columns.get_feature_names_out().tolist() == ["b"] and columns.origin_.tolist() == [1]
    # It may then hold anything, or not be there.
    expected = columns.transform({"b": [3.0]})
    for other in ([None], ["x"], [7.0]):
        assert (columns.transform({"a": other, "b": [3.0]}) == expected).all()


@pytest.mark.parametrize("name", ["id", "Id", "customer_id", "row", "Index", "Unnamed: 0", "key", "order no"])
def test_numbers_of_rows(name):
    """Counted from anywhere, in any order, with few gaps; unless the name says it could be something else."""
    for values in (
        np.arange(N),
        np.arange(N)[::-1] + 1000,
        RNG.permutation(N),
        np.delete(np.arange(N + 5), 7),
    ):
        columns = Columns().fit({name: values, "b": RNG.standard_normal(len(values))})
        assert columns.dropped_ == {name: "numbers the rows"}
    for values in (np.arange(N) * 10, RNG.integers(0, 9, N), np.arange(N) + 0.5 * (np.arange(N) % 2)):
        assert Columns().fit({name: values}).dropped_ == {}
    assert Columns().fit({"week": np.arange(N), "acid": np.arange(N)}).dropped_ == {}


def test_words_of_columns_left_out_are_not_kept():
    """Names of people have no place in a model."""
    columns = Columns().fit({"who": [f"person {i}" for i in range(N)], "city": MIXED["city"]})
    who, city = columns.schema_.columns
    assert who.categories == () and set(city.categories) == {"Bonn", "Kiel", "Ulm"}
    assert b"person 7" not in pickle.dumps(columns)


def test_nothing_left():
    with pytest.raises(ValueError, match=r"no column is left to learn from \(a: constant; b: empty\)"):
        Columns().fit({"a": np.ones(5), "b": np.full(5, np.nan)})


def test_infinite_numbers():
    with pytest.raises(TableError, match="'a'.*inf is not a finite number"):
        Columns().fit({"a": [1.0, np.inf]})
    held = Table({"a": np.array([1.0, np.inf, 2.0])})  # what a reader would not let in
    with pytest.raises(TableError, match="'a': inf is not a finite number"):
        Columns().fit(held)


# -- tables ------------------------------------------------------------------------------------------


def test_where_outputs_come_from():
    columns = Columns().fit(MIXED)
    names = columns.get_feature_names_out().tolist()
    assert len(names) == len(columns.origin_) == columns.transform(MIXED).shape[1]
    for name, origin in zip(names, columns.origin_, strict=True):
        assert name.startswith(columns.schema_.columns[origin].name)
    assert [type(e) for e in columns.encoders_] == [Number, Category, Date, Category]
    assert columns.n_features_in_ == 4


def test_every_container_gives_the_same():
    frame = pd.DataFrame(MIXED)
    records = [dict(zip(MIXED, row, strict=True)) for row in zip(*MIXED.values(), strict=True)]
    tables = {
        "dict": MIXED,
        "pandas": frame,
        "pandas categories": frame.astype({"city": "category"}),
        "polars": pl.DataFrame(MIXED),
        "pyarrow": pa.table({k: pa.array(v) for k, v in MIXED.items()}),
        "records": records,
        "Table": Table.of(MIXED),
    }
    columns = Columns().fit(MIXED)
    expected = columns.transform(MIXED)
    for name, table in tables.items():
        np.testing.assert_array_equal(Columns().fit(table).transform(MIXED), expected, err_msg=name)
        np.testing.assert_array_equal(columns.transform(table), expected, err_msg=name)


def test_arrays():
    X = RNG.standard_normal((30, 3))
    columns = Columns().fit(X)
    assert columns.get_feature_names_out().tolist() == ["x1", "x2", "x3"]
    expected = columns.transform(X)
    for same in (X.tolist(), np.asfortranarray(X), sp.csr_matrix(X), Table.of(X), X.astype(object)):
        np.testing.assert_array_equal(columns.transform(same), expected)
    single = X.astype(np.float32)
    np.testing.assert_allclose(Columns().fit(single).transform(single), expected, atol=1e-5)
    named = Columns().fit({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    np.testing.assert_array_equal(named.transform(X), expected)  # without names they go by place
    records = np.array([tuple(row) for row in X], dtype=[("c", float), ("b", float), ("a", float)])
    np.testing.assert_array_equal(named.transform(records), named.transform(X[:, ::-1]))


def test_columns_go_by_name():
    columns = Columns().fit(MIXED)
    shuffled = {name: MIXED[name] for name in ("old", "sold", "size", "city")}
    np.testing.assert_array_equal(columns.transform(shuffled), columns.transform(MIXED))
    np.testing.assert_array_equal(columns.transform({**MIXED, "more": ["x"] * N}), columns.transform(MIXED))


def test_absent_columns():
    columns = Columns().fit(MIXED)
    with pytest.raises(TableError, match="needs the columns 'size', 'old', not in this table"):
        columns.transform({"city": ["Ulm"], "sold": DAYS[:1]})
    with pytest.raises(TableError, match="the 4 columns of the training table"):
        columns.transform(np.ones((2, 3)))


def test_one_row_is_the_row_of_many():
    table = Table.of(MIXED)
    for outliers in ("keep", "squash"):
        columns = Columns(outliers).fit(table)
        Z = columns.transform(table)
        rows = np.vstack([columns.transform(table.take([i])) for i in range(N)])
        np.testing.assert_array_equal(rows, Z)


def test_missing_only_later():
    columns = Columns().fit(MIXED)
    none = {name: np.full(2, np.nan) for name in MIXED}
    Z = columns.transform(none)
    assert np.isfinite(Z).all() and (Z[0] == Z[1]).all()
    assert Z[0, 0] == 0


def test_no_rows():
    columns = Columns().fit(MIXED)
    assert columns.transform(Table.of(MIXED).take([])).shape == (0, columns.transform(MIXED).shape[1])


words = st.none() | st.text(max_size=3)
moments = st.none() | st.datetimes(
    min_value=datetime.datetime(1, 1, 2), max_value=datetime.datetime(9999, 12, 30)
)
finite = st.none() | st.floats(allow_nan=True, allow_infinity=False)
rows = st.fixed_dictionaries({"n": finite, "w": words, "d": moments, "i": st.integers(-(2**70), 2**70)})


@given(seen=st.lists(rows, min_size=3, max_size=25), new=st.lists(rows, min_size=1, max_size=4))
@settings(max_examples=60)
def test_any_table_becomes_finite_points(seen, new):
    """Whatever is in it, before and after: finite, of one width, each row by itself."""
    kinds = {"n": "number", "w": "text", "d": "date", "i": "number"}
    before, after = (
        Table.of({**Table.of(t, kinds=kinds).columns, "row": np.arange(len(t))}) for t in (seen, new)
    )
    columns = Columns().fit(before)
    Z, later = columns.transform(before), columns.transform(after)
    assert Z.shape == (len(seen), len(columns.get_feature_names_out()))
    assert later.shape == (len(new), Z.shape[1])
    assert np.isfinite(Z).all() and np.isfinite(later).all()
    np.testing.assert_array_equal(columns.transform(after.take([0])), later[:1])


# -- as scikit-learn sees it -------------------------------------------------------------------------


def test_clone_pickle_and_pipeline():
    columns = Columns("squash", max_categories=2).fit(MIXED)
    copy = clone(columns)
    assert copy.get_params() == {"outliers": "squash", "max_categories": 2, "texts": ()} and not hasattr(
        copy, "schema_"
    )
    again = pickle.loads(pickle.dumps(columns))
    np.testing.assert_array_equal(again.transform(MIXED), columns.transform(MIXED))
    pipeline = make_pipeline(Columns(), KernelRidge(lam=1e-3, offset=True)).fit(
        pd.DataFrame(MIXED), MIXED["size"]
    )
    assert pipeline.score(pd.DataFrame(MIXED), MIXED["size"]) > 0.5
    assert pipeline[:-1].get_feature_names_out()[0] == "size"


def test_not_fitted():
    for call in (lambda: Columns().transform(MIXED), lambda: Columns().get_feature_names_out()):
        with pytest.raises(NotFittedError):
            call()


def test_wrong_preparation():
    with pytest.raises(ValueError, match="outliers must be 'keep' or 'squash', got 'drop'"):
        Columns("drop").fit(MIXED)


def expected_failures(estimator):
    """It takes tables, and its errors speak of columns; scikit-learn's checks know arrays."""
    own_words = "the error is another sentence than the one the check looks for"
    return {
        "check_n_features_in_after_fitting": own_words,
        "check_complex_data": own_words,
        "check_estimators_empty_data_messages": own_words,
        "check_fit2d_predict1d": own_words,
        "check_fit2d_1sample": "one row is refused, every column being constant in it",
    }


@parametrize_with_checks([Columns(), Columns("squash")], expected_failed_checks=expected_failures)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
