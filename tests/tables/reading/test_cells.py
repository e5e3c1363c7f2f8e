"""What text is taken for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.tables.reading.cells import MISSING, Coded, dates_in, is_number, understood
from mercer.tables.reading.errors import Stray


def column(*words, **options):
    return understood(Coded.of(words), **options).values


def test_coding_keeps_the_order_and_counts_nothing_twice():
    coded = Coded.of(["b", None, "a", "b"])
    assert coded.words == ["b", "a"] and coded.codes.tolist() == [0, -1, 1, 0]


def test_numbers():
    found = column("1", " -2.5 ", "+3", ".5", "1e3", "7.", "1E-2", "-0", "007")
    np.testing.assert_array_equal(found, [1, -2.5, 3, 0.5, 1000, 7, 0.01, 0, 7])
    assert found.dtype == np.float64


@pytest.mark.parametrize(
    "word", ["1_000", "0x10", "١٢", "1,5", "1 2", "e5", ".", "+", "1e", "--1", "infinite", "12%"]
)
def test_what_is_no_number(word):
    assert not is_number(word)
    assert column(word).tolist() == [word]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_comes_back(value):
    assert column(repr(value))[0] == value


def test_missing_values():
    found = column("1", *MISSING, None, "-", " NA ", "2")
    assert np.flatnonzero(~np.isnan(found)).tolist() == [0, len(found) - 1]
    assert column("a", *sorted(MISSING), None)[1:].tolist() == [None] * (len(MISSING) + 1)
    assert column("2024-01-01", "-", "NA").astype(str).tolist()[1:] == ["NaT", "NaT"]
    assert np.isnan(column("", None, "NA")).all()
    assert column(None, kind="text").tolist() == [None]
    assert np.isnat(column("", kind="date")).all()


def test_a_dash_is_a_word_among_words():
    assert column("+", "-", "-").tolist() == ["+", "-", "-"]


def test_dates_are_utc():
    cases = {
        "2024-02-29": "2024-02-29",
        "2024-02-29 10:00": "2024-02-29T10:00",
        "2024-02-29T10:00:00.25Z": "2024-02-29T10:00:00.25",
        "2024-02-29T10:00+02:00": "2024-02-29T08:00",
        "2024-02-29T10:00:00-0530": "2024-02-29T15:30",
        "2024-02-29T00:30:00+01": "2024-02-28T23:30",
        "2024-02-29T10:00:00.123456789": "2024-02-29T10:00:00.123456",
    }
    found = column(*cases)
    assert found.dtype == "datetime64[us]"
    np.testing.assert_array_equal(found, np.array(list(cases.values()), dtype="datetime64[us]"))


@pytest.mark.parametrize(
    "word", ["2024-02-30", "2023-02-29", "2024-13-01", "24-01-01", "2024-1-1", "2024-01-01T24:00",
             "2024-01-01T10", "2024-W01-1", "20240101x", "0001-01-01T00:00+01:00", "01/02/2024",
             "2024-01-01T10:60"]
)  # fmt: skip
def test_what_is_no_date(word):
    assert column(word, "word").tolist() == [word, "word"]


def test_logical_values_have_one_spelling():
    assert column("TRUE", "False", "true", "").tolist() == ["true", "false", "true", None]
    assert column("TRUE", "maybe").tolist() == ["TRUE", "maybe"]


def test_one_word_among_many_numbers_is_refused_where_it_is_first():
    words = [str(i) for i in range(100)]
    words[30] = words[60] = "oops"
    with pytest.raises(
        Stray, match="'oops' is not a number, but 98 of the 100 values of this column are"
    ) as caught:
        column(*words)
    assert caught.value.row == 30 and caught.value.mixed
    assert column(*words, kind="text")[30] == "oops"
    days = ["2024-01-01"] * 30 + ["soon"]
    with pytest.raises(Stray, match="'soon' is not a date") as caught:
        column(*days)
    assert caught.value.row == 30


def test_more_words_make_a_column_of_words():
    assert column("12", "13", "oops").tolist() == ["12", "13", "oops"]
    assert column(*["1"] * 94, *"abcdef").dtype == object
    with pytest.raises(Stray):
        column(*["1"] * 95, *"abcde")
    # Shares are of rows, not of different words; missing values do not count.
    with pytest.raises(Stray):
        column(*["1"] * 95, *["x"] * 5, *[""] * 500)


def test_kinds_may_be_said():
    assert column("007", "12", kind="text").tolist() == ["007", "12"]
    with pytest.raises(Stray, match="'b' is not a number."):
        column("1", "b", "c", kind="number")
    with pytest.raises(Stray, match="'12' is not a date"):
        column("12", kind="date")


@pytest.mark.parametrize("word", ["inf", "-Infinity", "1e999", "+INF"])
def test_infinite_numbers_are_refused(word):
    with pytest.raises(Stray, match="not a finite number") as caught:
        column("1", "2", word)
    assert caught.value.row == 2
    assert column(word, "word")[0] == word


def test_decimal_commas_where_they_may_be():
    np.testing.assert_array_equal(column("1,5", "2", "-3,25e1", comma=True), [1.5, 2, -32.5])
    assert column("1,5", "2,5").tolist() == ["1,5", "2,5"]
    assert column("1.234,5", "2,5", comma=True).dtype == object


def test_dates_in_words():
    def words(*values):
        return np.array(values, dtype=object)

    found = dates_in(words("2024-01-01", None))
    assert found.values.dtype == "datetime64[us]" and np.isnat(found.values[1]) and found.kind == "date"
    assert dates_in(words("31.01.2024")).kind == "D.M.Y" and dates_in(words("1/31/2024")).kind == "M/D/Y"
    for other in (words("2024-01-01", "x"), words(None), words("1/2/2024"), words("7")):
        assert dates_in(other).values is other and dates_in(other).kind == "text"
    # All of them, not almost: strings in memory were words to whoever made them.
    assert dates_in(words(*["2024-01-01"] * 99, "x")).kind == "text"


def test_a_stray_date_is_refused_in_the_words_of_its_column():
    with pytest.raises(
        Stray, match="'31/02/2024' is not a date like 31/01/2024 or 2024-01-31, but 40 of the 41 values"
    ) as caught:
        column(*["31/01/2024"] * 40, "31/02/2024")
    assert caught.value.row == 40 and caught.value.mixed and caught.value.guessed
    with pytest.raises(Stray, match=r"'31\.02\.2024' is not a date like 31\.01\.2024 or 2024-01-31"):
        column(*["31.01.2024"] * 40, "31.02.2024")
    with pytest.raises(Stray, match="'12/31/2024' is not a date like 31/01/2024") as caught:
        column("12/31/2024", kind="D/M/Y")
    assert not caught.value.guessed
