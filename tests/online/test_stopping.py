"""When to end: the rule as a value, and the rows it holds out."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import StratifiedShuffleSplit

from mercer.online import Stopping


def test_it_is_a_value():
    rule = Stopping(1e-4, 3, 0.2)
    assert clone(rule) == rule and eval(repr(rule)) == rule and rule != Stopping()
    rule.validate()


def test_rows_keep_their_order_and_classes_their_shares():
    y = np.array([0] * 60 + [1] * 40)
    learned, judged = Stopping(held_out=0.25).split(y, True, 7)
    assert (np.diff(learned) > 0).all() and (np.diff(judged) > 0).all()
    assert sorted([*learned, *judged]) == list(range(100))
    assert np.bincount(y[judged]).tolist() == [15, 10]
    theirs = next(StratifiedShuffleSplit(1, test_size=0.25, random_state=7).split(np.zeros((100, 1)), y))
    assert set(theirs[1]) == set(judged)
    assert not np.array_equal(judged, Stopping(held_out=0.25).split(y, True, 8)[1])


def test_nothing_held_out():
    learned, judged = Stopping().split(np.zeros(5), False, 0)
    assert learned.tolist() == [0, 1, 2, 3, 4] and len(judged) == 0


@pytest.mark.parametrize("wrong", [-0.1, 1.0, 2, True, "0.2", None, np.nan])
def test_parts_that_are_none(wrong):
    with pytest.raises(ValueError, match="held_out must be a part"):
        Stopping(held_out=wrong).validate()
