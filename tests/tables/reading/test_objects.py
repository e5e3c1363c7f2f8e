"""Python's values as columns."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from mercer.tables.reading.errors import Stray
from mercer.tables.reading.objects import as_kind, as_word, bounded_dates, finite, from_objects


def test_numbers_of_all_types():
    values = [1, 2.5, None, np.int8(3), np.float32(0.5), Decimal("1.25"), Fraction(1, 4), pd.NA, float("nan")]
    np.testing.assert_array_equal(from_objects(values), [1, 2.5, np.nan, 3, 0.5, 1.25, 0.25, np.nan, np.nan])
    np.testing.assert_array_equal(from_objects([Decimal("NaN"), Decimal("sNaN"), "x"]), [None, None, "x"])
    assert np.isnan(from_objects([None, pd.NA, pd.NaT])).all()


def test_words_and_logical_values():
    assert from_objects(["a", None, "", np.str_("b")]).tolist() == ["a", None, None, "b"]
    assert type(from_objects([np.str_("b")])[0]) is str
    assert from_objects([True, np.bool_(False), None]).tolist() == ["true", "false", None]


def test_dates_of_all_types():
    zone = timezone(timedelta(hours=2))
    values = [date(2024, 1, 2), datetime(2024, 1, 2, 3), datetime(2024, 1, 2, 3, tzinfo=zone), None, pd.NaT,
              pd.Timestamp("2024-01-02"), np.datetime64("2024-01-02T03", "ns"),
              datetime(2024, 1, 2, tzinfo=UTC)]  # fmt: skip
    expected = [
        "2024-01-02",
        "2024-01-02T03",
        "2024-01-02T01",
        "NaT",
        "NaT",
        "2024-01-02",
        "2024-01-02T03",
        "2024-01-02",
    ]
    np.testing.assert_array_equal(from_objects(values), np.array(expected, dtype="datetime64[us]"))


def test_mixed_values_are_words_unless_nearly_all_are_numbers():
    assert from_objects([1, "x", 2.0, True]).tolist() == ["1", "x", "2", "true"]
    with pytest.raises(Stray, match="'x' is not a number, but 40 of the 41 values") as caught:
        from_objects([1] * 20 + ["x"] + [2] * 20)
    assert caught.value.row == 20
    with pytest.raises(Stray, match="'x' is not a date"):
        from_objects([date(2024, 1, 1)] * 20 + ["x"])
    assert from_objects(["x"] * 40 + [1])[-1] == "1"


@pytest.mark.parametrize("value", [[1], {"a": 1}, 1j, b"bytes", object()])
def test_other_types_are_refused(value):
    with pytest.raises(Stray, match="not a number, word or date"):
        from_objects([1, value])


@pytest.mark.parametrize("value", [float("inf"), 10**400, np.float64("-inf")])
def test_infinite_numbers_are_refused(value):
    with pytest.raises(Stray, match="not a finite number") as caught:
        from_objects([1, value])
    assert caught.value.row == 1
    with pytest.raises(Stray):
        finite(np.array([0, np.inf]))


def test_kinds_may_be_said():
    assert from_objects([1] * 30 + ["x"], "text")[-2:].tolist() == ["1", "x"]
    np.testing.assert_array_equal(from_objects(["1", 2, "NA"], "number"), [1, 2, np.nan])
    with pytest.raises(Stray, match="'x' is not a number"):
        from_objects([1, "x"], "number")
    assert from_objects(["2024-01-01", date(2024, 1, 2)], "date").dtype == "datetime64[us]"
    assert from_objects([None], "text").tolist() == [None]
    assert np.isnat(from_objects([None], "date")).all()


def test_kinds_of_columns_change_where_that_makes_sense():
    assert as_kind(np.array([12.0, 0.1, np.nan]), "text").tolist() == ["12", "0.1", None]
    assert as_kind(np.array(["2024-01-01", "2024-01-01T10:00"], "datetime64[us]"), "text").tolist() == [
        "2024-01-01",
        "2024-01-01T10:00:00",
    ]
    with pytest.raises(Stray):
        as_kind(np.array([1.0]), "date")
    with pytest.raises(Stray):
        as_kind(np.array(["2024-01-01"], "datetime64[us]"), "number")
    same = np.zeros(2)
    assert as_kind(same, None) is same and as_kind(same, "number") is same
    assert np.isnat(as_kind(np.full(2, np.nan), "date")).all()


def test_writing_out():
    values = [1, 1.0, 0.1, 1e300, -0.0, True, "a", date(2024, 1, 2), np.float32(0.5), Decimal("1.10")]
    expected = ["1", "1", "0.1", "1e+300", "0", "true", "a", "2024-01-02", "0.5", "1.10"]
    assert [as_word(value) for value in values] == expected


def test_dates_outside_four_digits_are_refused():
    for text in ("10000-01-01", "0000-12-31", "-0001-01-01"):
        with pytest.raises(Stray, match="between the years 1 and 9999"):
            bounded_dates(np.array([text], dtype="datetime64[D]"))
    with pytest.raises(Stray, match="years 1 and 9999"):
        from_objects([np.datetime64("20000-01-01")])
    assert bounded_dates(np.array(["9999-12-31", "NaT"], dtype="datetime64[D]")).dtype == "datetime64[us]"
