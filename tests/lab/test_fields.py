"""Values at the door."""

import numpy as np
import pytest

from mercer._http.refusal import Refusal, plain
from mercer.lab.fields import Fields, drawn


def test_numbers_that_are_drawn_keep_seven_figures():
    values = np.array([np.pi * 1e4, -1e-9, np.nan, 0.0])
    assert drawn(values) == [31415.93, -0.0, None, 0.0]
    assert drawn(np.array([np.pi * 1e-3])) == [0.003141593]
    assert drawn(np.zeros(2)) == [0.0, 0.0]
    rng = np.random.default_rng(0).normal(size=100)
    np.testing.assert_allclose(drawn(rng), rng, atol=1e-6)


def test_plain_values():
    assert plain({"a": np.float64("inf"), "b": (np.int64(1), [np.array([1.0, np.nan])])}) == {
        "a": None,
        "b": [1, [[1.0, None]]],
    }


@pytest.mark.parametrize(
    ("take", "words"),
    [
        (lambda f: f.number("a", 0, 1), "a: give a number from 0 to 1, not 'x'"),
        (lambda f: f.count("none", 1, 3), "none: give a whole number from 1 to 3, not None"),
        (lambda f: f.flag("a"), "a: give true or false"),
        (lambda f: f.word("a", ("y", "z")), "a: give one of y, z, not 'x'"),
        (lambda f: f.text("n", 3), "n: give text, not 5"),
        (lambda f: f.text("long", 3), "long: 9 characters are too many; 3 is the limit"),
        (lambda f: f.inner("inner").number("b", 0, 1), "inner.b: give a number"),
        (lambda f: f.inner("a"), "a: give an object"),
        (lambda f: f.only("a"), "n: is not known here; there are a"),
    ],
)
def test_refusals_name_the_field(take, words):
    fields = Fields({"a": "x", "n": 5, "long": "x" * 9, "inner": {"b": 2}})
    with pytest.raises(Refusal) as refusal:
        take(fields)
    assert refusal.value.status == 422 and words in refusal.value.problem
    assert refusal.value.field == words.partition(":")[0].partition(".")[0]


def test_defaults_stand_in_for_null():
    fields = Fields({"a": None})
    assert fields.number("a", 0, 1, 0.5) == 0.5 and fields.count("b", 0, 9, 3) == 3 and fields.flag("c", True)
    assert Fields({"n": 3.0}).count("n", 0, 5) == 3
