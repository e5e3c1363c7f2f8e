"""What is asked: a table of targets people have, and what becomes of them."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mercer.tables.model.task import target_of

RNG = np.random.default_rng(0)
AMOUNTS = RNG.standard_normal(60)
COUNTS = np.arange(60) % 5
WORDS = np.array(["no", "yes"])[np.arange(60) % 2]

LABELS = {
    "words": (WORDS, ["no", "yes"]),
    "objects": (WORDS.astype(object), ["no", "yes"]),
    "list": (WORDS.tolist(), ["no", "yes"]),
    "series": (pd.Series(WORDS), ["no", "yes"]),
    "pandas categories": (pd.Series(WORDS, dtype="category"), ["no", "yes"]),
    "categorical": (pd.Categorical(WORDS), ["no", "yes"]),
    "polars": (pl.Series("t", WORDS), ["no", "yes"]),
    "arrow": (pa.array(WORDS.tolist()), ["no", "yes"]),
    "one column of a frame": (pd.DataFrame({"t": WORDS}), ["no", "yes"]),
    "a column of an array": (WORDS[:, None], ["no", "yes"]),
    "truth values": (WORDS == "yes", [False, True]),
    "truth values that may be missing": (pd.Series(WORDS == "yes", dtype="boolean"), [False, True]),
    "truth values as objects": ((WORDS == "yes").astype(object), ["false", "true"]),
    "integers": (COUNTS, [0, 1, 2, 3, 4]),
    "unsigned": (COUNTS.astype(np.uint8) + 7, [7, 8, 9, 10, 11]),
    "integers as objects": (COUNTS.astype(object), [0, 1, 2, 3, 4]),
    "integers that may be missing": (pd.Series(COUNTS, dtype="Int64"), [0, 1, 2, 3, 4]),
    "negative integers": (np.where(WORDS == "yes", 1, -1), [-1, 1]),
    "two whole numbers": (np.where(WORDS == "yes", 1.0, -1.0), [-1, 1]),
    "two numbers": (np.where(WORDS == "yes", 1.5, 2.5), ["1.5", "2.5"]),
    "words and numbers": ([("a" if v == "yes" else 1) for v in WORDS], ["1", "a"]),
    "numbers written out, few": (np.array(["1", "2", "3"] * 20), ["1", "2", "3"]),
}
NUMBERS = {
    "floats": AMOUNTS,
    "single precision": AMOUNTS.astype(np.float32),
    "half precision": AMOUNTS.astype(np.float16),
    "list": AMOUNTS.tolist(),
    "objects": AMOUNTS.astype(object),
    "decimals": [Decimal(f"{v:.3f}") for v in AMOUNTS],
    "series that may be missing": pd.Series(AMOUNTS, dtype="Float64"),
    "polars": pl.Series(AMOUNTS),
    "arrow": pa.chunked_array([AMOUNTS[:30], AMOUNTS[30:]]),
    "many integers": np.arange(60),
    "many integers as objects": np.arange(60).astype(object),
    "integers, each too seldom": np.arange(40) % 20,
    "three numbers with fractions": np.array([0.5, 1.5, 2.5] * 20),
    "durations": pd.Series(pd.to_timedelta(np.arange(60), "s")),
}


@pytest.mark.parametrize("name", LABELS)
def test_labels(name):
    y, classes = LABELS[name]
    found = target_of(y)
    assert found.task == "classification"
    assert np.unique(found.y).tolist() == classes
    assert found.y.shape == (60,)
    assert any(word in found.remark for word in ("labels", "values", "integers"))


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name):
    found = target_of(NUMBERS[name])
    assert found.task == "regression"
    assert found.y.dtype == np.float64 and np.isfinite(found.y).all()
    assert "holds numbers" in found.remark


def test_values_stay_what_they_were():
    np.testing.assert_array_equal(target_of(AMOUNTS.astype(object)).y, AMOUNTS)
    np.testing.assert_array_equal(target_of(NUMBERS["durations"]).y, np.arange(60.0))
    np.testing.assert_array_equal(target_of(NUMBERS["arrow"]).y, AMOUNTS)
    np.testing.assert_array_equal(target_of(WORDS).y, WORDS)
    assert target_of(COUNTS).y.dtype.kind == "i"


@pytest.mark.parametrize("first", [0, 1])
def test_counts_in_a_file_which_knows_no_integers(first):
    """A column of a table that counts 0, 1, … is labels; an array of floats (called y) is amounts."""
    counts = (np.arange(100) % 10 + first).astype(float)
    found = target_of(counts, name="digit")
    assert found.task == "classification" and found.y.dtype.kind == "i"
    assert f"counts from {first} to {9 + first}; say task='regression'" in found.remark
    assert target_of(counts).task == "regression"
    assert target_of(counts, "regression", "digit").task == "regression"
    # Gaps, many values or few rows: amounts.
    assert target_of(2 * counts, name="digit").task == "regression"
    assert target_of((np.arange(300) % 30).astype(float), name="digit").task == "regression"
    assert target_of(counts[:50], name="digit").task == "regression"


def test_what_is_said_is_done():
    assert target_of(COUNTS, "regression").y.dtype == np.float64
    assert target_of(WORDS == "yes", "regression").y.tolist() == [0.0, 1.0] * 30
    assert target_of([str(v) for v in AMOUNTS], "regression").y == pytest.approx(AMOUNTS)
    assert target_of(np.arange(60.0) % 30, "classification").y.dtype.kind == "i"
    assert target_of(AMOUNTS.round(), "classification").task == "classification"
    assert target_of(COUNTS, "classification").remark == "as asked"


MISSING = {
    "None": [None, *WORDS],
    "NaN": [np.nan, *AMOUNTS],
    "NaN among words": pd.Series([np.nan, *WORDS], dtype=object),
    "pandas words": pd.Series([None, *WORDS]),
    "pandas integers": pd.Series([pd.NA, *COUNTS.tolist()], dtype="Int64"),
    "pandas truth": pd.Series([pd.NA, *(WORDS == "yes").tolist()], dtype="boolean"),
    "arrow": pa.array([None, *AMOUNTS.tolist()]),
    "polars": pl.Series([None, *AMOUNTS.tolist()]),
}


@pytest.mark.parametrize("name", MISSING)
def test_missing(name):
    with pytest.raises(ValueError, match="'cost' is missing in 1 rows, first in row 1: drop them"):
        target_of(MISSING[name], name="cost")


REFUSED = {
    "infinite": ([1.0, np.inf, 2.0], None, "infinite in row 2"),
    "infinite objects": (np.array([1.5, np.inf, 2.0], dtype=object), None, "inf is not a finite number"),
    "dates": (pd.date_range("2020", periods=5), None, "holds dates; turn them into numbers"),
    "dates in a zone": (pd.Series(pd.date_range("2020", periods=5, tz="UTC")), None, "holds dates"),
    "dates of Python": ([datetime.date(2020, 1, i) for i in range(1, 9)], None, "holds dates"),
    "one class": (["a"] * 9, None, "the same value in every row: there is nothing to learn"),
    "one number": (np.ones(9), None, "the same value in every row"),
    "too many labels": (
        [f"name {i}" for i in range(30)],
        None,
        "30 different labels in 30 rows.*task='regression'",
    ),
    "empty": ([], None, "is empty"),
    "a matrix": (np.ones((5, 2)), None, r"one column, got an array of shape \(5, 2\)"),
    "one value": (3.0, None, "one column"),
    "an unknown task": (AMOUNTS, "ranking", "task must be 'regression' or 'classification', got 'ranking'"),
    "words as numbers": (["1", "2", "three"], "regression", "no number everywhere.*'three'"),
    "huge": (AMOUNTS * 1e200, None, "another unit"),
    "tiny": (AMOUNTS * 1e-200, None, "another unit"),
    "lists": ([[1, 2], [3, 4], [5, 6]], None, "one column"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    y, task, match = REFUSED[name]
    with pytest.raises(ValueError, match=match):
        target_of(y, task)


def test_large_offsets_are_fine():
    assert target_of(1e9 + AMOUNTS).task == "regression"
    assert target_of(1e90 * AMOUNTS).task == "regression"
