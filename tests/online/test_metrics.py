"""Measures of a stream, against their definitions."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, log_loss, mean_absolute_error, mean_squared_error

from mercer._state import check
from mercer.online import Metrics

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("sizes", [(100,), (1, 2, 97), (30, 70)])
def test_regression(sizes):
    truth, said = RNG.standard_normal(100), RNG.standard_normal(100)
    metrics, at = Metrics("regression", window=20), 0
    for n in sizes:
        metrics.update(Metrics.errors(truth[at : at + n], said[at : at + n]))
        at += n
    for found, rows in ((metrics.total, slice(None)), (metrics.recent, slice(-20, None))):
        assert found["MAE"] == pytest.approx(mean_absolute_error(truth[rows], said[rows]))
        assert found["RMSE"] == pytest.approx(mean_squared_error(truth[rows], said[rows]) ** 0.5)


def test_classification():
    truth, P = RNG.integers(0, 2, 90), RNG.dirichlet([1, 1], 90)
    right = P.argmax(axis=1) == truth
    metrics = Metrics("classification", window=200)
    metrics.update(Metrics.mistakes(right, P[np.arange(90), truth]))
    assert metrics.total["accuracy"] == pytest.approx(accuracy_score(truth, P.argmax(axis=1)))
    assert metrics.total["log loss"] == pytest.approx(log_loss(truth, P))
    assert metrics.recent == pytest.approx(metrics.total)
    metrics.note()
    assert metrics.history[0].tolist() == pytest.approx(
        [90, *metrics.total.values(), *metrics.recent.values()]
    )
    plain = Metrics("classification")
    plain.update(Metrics.mistakes(right, None))
    assert set(plain.total) == {"accuracy"}
    certain = Metrics("classification")
    certain.update(Metrics.mistakes(np.zeros(1), np.zeros(1)))
    assert np.isfinite(certain.total["log loss"])


def test_several_predictions_of_one_number():
    errors = Metrics.errors(np.array([1.0, 2.0]), np.array([[1.0, 3.0], [2.0, 2.0]]))
    np.testing.assert_allclose(errors, [[1, 2], [0, 0]])


def test_nothing_yet():
    assert Metrics("regression").total == Metrics("regression").recent == {}  # not 0, which is perfect
    for options in ({"task": "thing"}, {"task": "regression", "window": 0}):
        with pytest.raises(ValueError, match="must be"):
            Metrics(**options)


def test_files_that_lie():
    good = Metrics("regression", window=5)
    good.update(np.zeros((3, 2)))
    check(good)
    for change in (
        {"count": -1},
        {"sums": np.zeros(3)},
        {"last": np.zeros((4, 2))},
        {"history": np.zeros(5)},
    ):
        with pytest.raises(ValueError, match="make no sense| is not "):
            check(replace(good, **change))
