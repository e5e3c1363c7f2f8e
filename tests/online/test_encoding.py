"""Columns of a stream as points."""

from dataclasses import replace

import numpy as np
import pytest

from mercer._state import check
from mercer.online import Encoding
from mercer.online.streams import LEVELS

RNG = np.random.default_rng(0)


def columns(n, words=("x", "y", None)):
    return {
        "a": np.where(RNG.random(n) < 0.1, np.nan, RNG.normal(1e6, 2.0, n)),
        "t": np.datetime64("2024-01-01", "us") + RNG.integers(0, 10**13, n).astype("m8[us]"),
        "w": RNG.choice(np.array(words, dtype=object), n),
    }


def test_means_and_deviations_are_those_of_all_rows_so_far():
    whole = columns(500)
    encoding = Encoding.begin(whole)
    at = 0
    for size in (1, 1, 2, 46, 150, 300):  # Welford's way one by one, Chan's in parts: no cancellation at 1e6
        part = {name: c[at : at + size] for name, c in whole.items()}
        encoding.learn(part)
        at += size
        known = whole["a"][:at][~np.isnan(whole["a"][:at])]
        if len(known) > 1:
            np.testing.assert_allclose(encoding.mean[0], known.mean(), rtol=1e-14)
            np.testing.assert_allclose(encoding.squares[0] / len(known), known.var(), rtol=1e-9)
    X = encoding.transform(whole)
    a = whole["a"]
    expected = np.where(np.isnan(a), 0, (a - np.nanmean(a)) / np.nanstd(a))
    np.testing.assert_allclose(X[:, 0], expected, atol=1e-7)
    days = whole["t"].astype(np.int64) / 86400e6
    np.testing.assert_allclose(X[:, 1], (days - days.mean()) / days.std(), atol=1e-9)


def test_words_get_places_in_the_order_they_come_until_there_are_none():
    first = {"w": np.array(["b", "a", None, "b"], dtype=object)}
    encoding = Encoding.begin(first)
    assert encoding.width == 6  # twice two, and two
    encoding.learn(first)
    assert encoding.transform(first).argmax(axis=1).tolist() == [0, 1, 0, 0]
    assert encoding.transform(first).sum(axis=1).tolist() == [1, 1, 0, 1]
    more = {"w": np.array(list("cdefgh"), dtype=object)}
    encoding.learn(more)
    assert encoding.transform(more).argmax(axis=1).tolist() == [2, 3, 4, 5, 5, 5]
    assert encoding.width == 6
    many = {"w": np.array([f"w{i}" for i in range(999)], dtype=object)}
    assert Encoding.begin(many).width == LEVELS


def test_as_they_are():
    part = {"a": np.array([1.0, np.nan, 5.0])}
    encoding = Encoding.begin(part, standardise=False)
    encoding.learn(part)
    assert encoding.transform(part).ravel().tolist() == [1.0, 3.0, 5.0]
    constant = Encoding.begin({"a": np.ones(3)})
    constant.learn({"a": np.ones(3)})
    assert constant.transform({"a": np.array([1.0, 3.0])}).ravel().tolist() == [0.0, 2.0]


def test_what_does_not_fit():
    encoding = Encoding.begin(columns(5))
    with pytest.raises(ValueError, match="no column 'w'"):
        encoding.transform({"a": np.zeros(1), "t": np.array(["2024"], "M8[us]")})
    wrong = columns(5) | {"a": np.array(["x"] * 5, dtype=object)}
    with pytest.raises(ValueError, match="column 'a' was number"):
        encoding.learn(wrong)
    nothing = columns(5) | {"w": np.full(5, np.nan)}  # words of which none is known look like numbers
    assert encoding.transform(nothing)[:, 2:].sum() == 0


GOOD = Encoding.begin(columns(50))
GOOD.learn(columns(50))


@pytest.mark.parametrize(
    "change",
    [
        {"kinds": ("number", "date", "thing")},
        {"names": ("a", "a", "w")},
        {"rooms": (99,)},
        {"rooms": ()},
        {"words": [{"x": 1}]},
        {"count": np.zeros(3)},
        {"mean": np.array([np.nan, 0.0])},
        {"squares": np.array([-1.0, 0.0])},
    ],
)
def test_files_that_lie(change):
    check(GOOD)
    with pytest.raises(ValueError, match="makes no sense| is not "):
        check(replace(GOOD, **change))
