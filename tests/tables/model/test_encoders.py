"""Numbers, words and dates as coordinates: what is missing, new or odd, and any numbers at all."""

import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.tables.model import Columns
from mercer.tables.model.encoders import Category
from mercer.tables.reading import TableError

RNG = np.random.default_rng(0)
N = 60
DAYS = np.datetime64("2023-01-01T00:00", "us") + np.arange(N) * np.timedelta64(11 * 24 * 60 + 37, "m")


def encoded(values, **params):
    """(encoder, outputs) of one column."""
    columns = Columns(**params).fit({"a": values})
    return columns.encoders_[0], columns.transform({"a": values})


# -- numbers -----------------------------------------------------------------------------------------


def test_numbers_have_mean_0_and_spread_1():
    _, Z = encoded(RNG.normal(1e6, 7, 500))
    assert Z.shape == (500, 1)
    assert Z.mean() == pytest.approx(0, abs=1e-9) and Z.std() == pytest.approx(1)


def test_squashed_numbers():
    x = np.concatenate([RNG.standard_normal(499), [1e9]])
    kept, squashed = (encoded(x, outliers=o)[1][:, 0] for o in ("keep", "squash"))
    # One outlier takes all of the spread, unless it is drawn in.
    assert kept[:-1].std() < 1e-5 and squashed[:-1].std() > 0.7
    assert squashed[-1] == pytest.approx(3, abs=1e-6)
    order = np.argsort(x)
    assert (np.diff(squashed[order]) >= 0).all()
    low, middle, high = np.quantile(x, [0.25, 0.5, 0.75])
    z = (x[0] - middle) / ((high - low) / 1.349)
    assert squashed[0] == pytest.approx(z / np.sqrt(1 + (z / 3) ** 2))


def test_squashing_where_quartiles_agree():
    """Mostly zeros: the standard deviation says how far the others lie."""
    x = np.zeros(100)
    x[:10] = np.arange(1, 11)
    encoder, Z = encoded(x, outliers="squash")
    assert encoder.spread == pytest.approx(x.std()) and encoder.centre == 0
    assert len(np.unique(Z)) == 11


def test_missing_numbers_lie_in_the_middle_and_are_marked():
    x = RNG.normal(5, 2, 100)
    x[::10] = np.nan
    encoder, Z = encoded(x)
    assert encoder.marks_missing and Z.shape == (100, 2)
    assert (Z[::10, 0] == 0).all() and (Z[::10, 1] > 0).all()
    assert (np.delete(Z[:, 1], np.s_[::10]) == 0).all()
    assert Z[1:10, 0] == pytest.approx((x[1:10] - np.nanmean(x)) / np.nanstd(x))


def test_few_missing_numbers_are_not_marked_in_a_long_table():
    x = RNG.standard_normal(1000)
    x[3] = np.nan
    encoder, Z = encoded(x)
    assert not encoder.marks_missing and Z.shape == (1000, 1) and Z[3, 0] == 0
    # In a short one a gap is a larger share.
    assert encoded(x[:40])[0].marks_missing


def test_missing_only_before():
    x = np.where(np.arange(N) % 4 == 0, np.nan, np.arange(N, dtype=float))
    columns = Columns().fit({"a": x})
    Z = columns.transform({"a": np.arange(N, dtype=float)})
    assert Z.shape == (N, 2) and (Z[:, 1] == 0).all()


def test_the_same_number_everywhere_it_is_known():
    """Known or not is all such a column says."""
    x = np.where(np.arange(N) % 3 == 0, np.nan, 1700.0)
    columns = Columns().fit({"a": x})
    assert columns.get_feature_names_out().tolist()[-1] == "a missing"
    known, gap = columns.transform({"a": [1700.0, None]})
    assert known[-1] == 0 and gap[-1] > 0


@pytest.mark.parametrize("outliers", ["keep", "squash"])
@given(
    seen=st.lists(st.floats(allow_nan=True, allow_infinity=False), min_size=2, max_size=30),
    new=st.lists(st.floats(allow_nan=True, allow_infinity=False), min_size=1, max_size=5),
)
@settings(max_examples=80)
def test_any_numbers_become_finite_ones(outliers, seen, new):
    anchor = {"b": np.arange(len(seen), dtype=float)}
    columns = Columns(outliers).fit({"a": np.array(seen), **anchor})
    for values in (seen, new):
        Z = columns.transform({"a": np.array(values), "b": np.zeros(len(values))})
        assert np.isfinite(Z).all()
        assert np.isfinite(Z**2).all()
    if "a" not in columns.dropped_:
        number = columns.encoders_[0]
        assert np.isfinite([number.centre, number.spread]).all() and number.spread > 0


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1.0, 1e12, 1e300])
@pytest.mark.parametrize("outliers", ["keep", "squash"])
def test_units_do_not_matter(scale, outliers):
    x = RNG.standard_normal(50)
    assert encoded(x * scale, outliers=outliers)[1] == pytest.approx(
        encoded(x, outliers=outliers)[1], rel=1e-9
    )


def test_far_outside_of_what_was_seen():
    for outliers, limit in (("keep", 1e8), ("squash", 3.0)):
        columns = Columns(outliers).fit({"a": RNG.standard_normal(50)})
        Z = columns.transform({"a": [1e300, -1e300, 1.7e308]})
        assert Z[:, 0] == pytest.approx([limit, -limit, limit])


# -- words -------------------------------------------------------------------------------------------


def test_one_column_a_word():
    encoder, Z = encoded(["a", "b", "c", "b"] * 5)
    assert encoder == Category("a", ("b", "a", "c"), False)
    assert Z.shape == (20, 3) and ((Z > 0).sum(axis=1) == 1).all()
    words = Z[[1, 0, 2]]
    distances = np.abs(words[:, None] - words[None]).sum(axis=2)
    assert np.allclose(distances[~np.eye(3, dtype=bool)], distances[0, 1])


def test_two_words_take_one_column_as_far_apart_as_three():
    (_, two), (_, three) = encoded(["x", "y"] * 10), encoded(["x", "y", "z"] * 10)
    assert two.shape == (20, 1)
    assert np.abs(two[0] - two[1]).sum() == pytest.approx(np.abs(three[0] - three[1]).sum())


def test_words_never_seen():
    columns = Columns().fit({"three": ["a", "b", "c"] * 10, "two": ["x", "y", "x"] * 10})
    new = columns.transform([{"three": "Z", "two": "Z"}])[0]
    assert (new[:3] == 0).all()  # as far from all of them
    assert new[3] == pytest.approx(columns.transform([{"three": "a", "two": t} for t in "xy"])[:, 3].mean())
    gap = columns.transform([{"three": None, "two": None}])[0]
    assert (gap == new).all()


def test_missing_words_share_a_column_with_new_ones():
    encoder, Z = encoded(["a", "b", None] * 10)
    assert encoder.others and Z.shape == (30, 3)
    columns = Columns().fit({"a": ["a", "b", None] * 10})
    assert (columns.transform({"a": ["new"]}) == Z[2]).all()
    assert columns.get_feature_names_out().tolist() == ["a = a", "a = b", "a = other"]


def test_one_word_or_none():
    encoder, Z = encoded([None, "x"] * 10)
    assert encoder == Category("a", ("x",), True)
    assert np.abs(Z[0] - Z[1]).sum() > 1


def test_rare_words_are_one():
    words = ["a"] * 300 + ["b"] * 300 + [f"rare {i}" for i in range(20)]
    encoder, Z = encoded(words)
    assert set(encoder.levels) == {"a", "b"} and encoder.others
    assert (Z[-20:] == Z[-1]).all()


def test_no_more_words_than_asked_for():
    words = [f"w{i:02}" for i in range(40) for _ in range(i + 5)]
    assert len(encoded(words)[0].levels) == 30
    encoder, _ = encoded(words, max_categories=3)
    assert encoder.levels == ("w39", "w38", "w37") and encoder.others


def test_truth_values():
    names = [
        Columns().fit({"a": np.arange(20) % 2 == 0}).get_feature_names_out().tolist(),
        Columns().fit(pd.DataFrame({"a": np.arange(20) % 2 == 0})).get_feature_names_out().tolist(),
    ]
    assert names[0] == names[1] == ["a = true"]


def test_numbers_as_words_and_words_as_numbers():
    """A column is read as the kind it had; 12 and 12.0 are the word 12."""
    codes = Columns().fit({"code": ["12", "15", "7"] * 10})
    assert (codes.transform({"code": [12, 15.0]}) == codes.transform({"code": ["12", "15"]})).all()
    sizes = Columns().fit({"size": np.arange(20.0)})
    assert (sizes.transform({"size": ["3", " 4.5 ", ""]}) == sizes.transform({"size": [3, 4.5, None]})).all()
    with pytest.raises(TableError, match=r"column 'size': 'three' is not a number"):
        sizes.transform({"size": ["three"]})


# -- dates -------------------------------------------------------------------------------------------


def test_dates_are_time_and_circles():
    encoder, Z = encoded(DAYS)
    assert encoder.circles == ("year", "week", "day")
    assert Z.shape == (N, 7)
    assert Z[:, 0].std() == pytest.approx(1) and (np.diff(Z[:, 0]) > 0).all()
    for k in (1, 3, 5):
        assert np.hypot(Z[:, k], Z[:, k + 1]) == pytest.approx(np.ones(N))


@pytest.mark.parametrize(
    "moment", ["2023-03-01T06:00", "2024-02-29T18:30", "2024-12-31T23:59", "1969-07-20T20:17"]
)
def test_angles_by_the_calendar(moment):
    """Against Python's calendar, leap years and times before 1970 included."""
    columns = Columns().fit({"a": DAYS})
    Z = columns.transform({"a": np.array([moment], dtype="datetime64[us]")})[0]
    t = datetime.datetime.fromisoformat(moment)
    second = t.hour * 3600 + t.minute * 60
    days = 366 if t.year % 4 == 0 else 365
    turns = [
        (t.timetuple().tm_yday - 1 + second / 86400) / days,
        (t.weekday() + second / 86400) / 7,
        second / 86400,
    ]
    for k, turn in enumerate(turns):
        angle = 2 * np.pi * turn
        assert Z[1 + 2 * k : 3 + 2 * k] == pytest.approx([np.cos(angle), np.sin(angle)], abs=1e-9)


def test_new_year_follows_the_old():
    columns = Columns().fit({"a": DAYS})
    old, new = columns.transform({"a": np.array(["2024-12-31T23:59", "2025-01-01T00:01"], "datetime64[us]")})
    assert np.abs(old - new).max() < 0.01


@pytest.mark.parametrize(
    "step, count, circles",
    [
        (np.timedelta64(1, "D"), 5, ()),
        (np.timedelta64(1, "D"), 30, ("week",)),
        (np.timedelta64(7, "D"), 100, ("year",)),
        (np.timedelta64(1, "h"), 30, ("day",)),
        (np.timedelta64(1, "D"), 800, ("year", "week")),
    ],
)
def test_only_circles_that_turn(step, count, circles):
    encoder, _ = encoded(np.datetime64("2024-01-01", "us") + np.arange(count) * step)
    assert encoder.circles == circles


def test_missing_dates():
    dates = DAYS.copy()
    dates[::6] = np.datetime64("NaT", "us")
    encoder, Z = encoded(dates)
    assert encoder.marks_missing and Z.shape == (N, 8)
    assert (Z[::6, :-1] == 0).all() and (Z[::6, -1] > 0).all() and (Z[1:6, -1] == 0).all()
    plain = Columns().fit({"a": DAYS})
    assert (plain.transform({"a": np.array(["NaT"], "datetime64[us]")}) == 0).all()


def test_dates_as_text_and_in_zones():
    columns = Columns().fit({"a": DAYS})
    zoned = pd.DataFrame({"a": pd.to_datetime(["2023-05-01T02:00+02:00"], utc=True)})
    as_text = columns.transform({"a": ["2023-05-01", "2023-05-01T00:00Z"]})
    assert (as_text == columns.transform({"a": np.array(["2023-05-01"] * 2, "datetime64[us]")})).all()
    assert (columns.transform(zoned) == as_text[:1]).all()
    with pytest.raises(TableError, match="'a'.*'soon' is not a date"):
        columns.transform({"a": ["soon"]})


def test_the_ends_of_the_calendar():
    columns = Columns().fit({"a": DAYS})
    ends = np.array(["0001-01-01", "9999-12-31T23:59"], dtype="datetime64[us]")
    assert np.isfinite(columns.transform({"a": ends})).all()
    assert np.isfinite(encoded(ends)[1]).all()
