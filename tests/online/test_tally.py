"""Measures of a stream, against their definitions."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, log_loss, mean_absolute_error, mean_squared_error

from mercer._state import check
from mercer.online import Tally

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("sizes", [(100,), (1, 2, 97), (30, 70)])
def test_regression(sizes):
    truth, said = RNG.standard_normal(100), RNG.standard_normal(100)
    tally, at = Tally("regression", window=20), 0
    for n in sizes:
        tally.update(Tally.errors(truth[at : at + n], said[at : at + n]))
        at += n
    for found, rows in ((tally.total, slice(None)), (tally.late, slice(-20, None))):
        assert found["MAE"] == pytest.approx(mean_absolute_error(truth[rows], said[rows]))
        assert found["RMSE"] == pytest.approx(mean_squared_error(truth[rows], said[rows]) ** 0.5)


def test_classification():
    truth, P = RNG.integers(0, 2, 90), RNG.dirichlet([1, 1], 90)
    right = P.argmax(axis=1) == truth
    tally = Tally("classification", window=200)
    tally.update(Tally.mistakes(right, P[np.arange(90), truth]))
    assert tally.total["accuracy"] == pytest.approx(accuracy_score(truth, P.argmax(axis=1)))
    assert tally.total["log loss"] == pytest.approx(log_loss(truth, P))
    assert tally.late == pytest.approx(tally.total)
    tally.note()
    assert tally.history[0].tolist() == pytest.approx([90, *tally.total.values(), *tally.late.values()])
    plain = Tally("classification")
    plain.update(Tally.mistakes(right, None))
    assert set(plain.total) == {"accuracy"}
    certain = Tally("classification")
    certain.update(Tally.mistakes(np.zeros(1), np.zeros(1)))
    assert np.isfinite(certain.total["log loss"])


def test_several_predictions_of_one_number():
    errors = Tally.errors(np.array([1.0, 2.0]), np.array([[1.0, 3.0], [2.0, 2.0]]))
    np.testing.assert_allclose(errors, [[1, 2], [0, 0]])


def test_nothing_yet():
    assert Tally("regression").total == Tally("regression").late == {}  # not 0, which is perfect
    for options in ({"task": "thing"}, {"task": "regression", "window": 0}):
        with pytest.raises(ValueError, match="must be"):
            Tally(**options)


def test_files_that_lie():
    good = Tally("regression", window=5)
    good.update(np.zeros((3, 2)))
    check(good)
    for change in (
        {"count": -1},
        {"sums": np.zeros(3)},
        {"recent": np.zeros((4, 2))},
        {"history": np.zeros(5)},
    ):
        with pytest.raises(ValueError, match="make no sense| is not "):
            check(replace(good, **change))
