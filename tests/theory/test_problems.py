"""A problem on few points: its sums against drawing, and counting how often bounds hold."""

import numpy as np
import pytest
from scipy.special import ndtr

from mercer.theory import Bound, PointsProblem, coverage

P = PointsProblem(m=16, noise=0.15, spread=0.3)
SCORES = np.random.default_rng(1).standard_normal(16)


def test_error_by_drawing():
    X, y = P.labels(200_000, np.random.default_rng(0))
    i = np.rint(X[:, 0] * 16 - 0.5).astype(int)
    assert np.mean(SCORES[i] * y <= 0) == pytest.approx(P.error(SCORES), abs=0.005)
    rng = np.random.default_rng(2)
    draws = SCORES[i] + 0.5 * rng.standard_normal(len(i))
    assert np.mean(draws * y <= 0) == pytest.approx(P.draw_error(SCORES, 0.5), abs=0.005)
    assert P.error(np.zeros(16)) == 1
    assert P.draw_error(np.zeros(16), 1.0) == pytest.approx(0.15 + 0.7 * ndtr(0))


def test_losses_by_drawing():
    X, y = P.numbers(200_000, np.random.default_rng(0))
    i = np.rint(X[:, 0] * 16 - 0.5).astype(int)
    error = np.abs(y - SCORES[i])
    assert np.minimum(error, 1).mean() == pytest.approx(P.capped_error(SCORES, 1), abs=0.005)
    assert np.mean(error**2) == pytest.approx(P.mean_loss(SCORES, np.square), rel=0.01)


def bound(value, delta=0.1, on_average=False):
    return Bound("A bound", "risk", value, 0.0, delta, "", False, on_average=on_average)


def test_counting():
    told = []
    found = coverage(lambda rng: [(bound(rng.random()), 0.5)], 400, progress=told.append)["A bound: risk"]
    assert 150 < found.held < 250 and not found.kept and found.promised == 0.9 and len(told) == 10
    assert found.slack == pytest.approx(0.0, abs=0.06) and found.repetitions == 400
    good = coverage(lambda rng: [(bound(0.07 + rng.random()), 0.1)], 400)["A bound: risk"]
    assert good.kept and 360 < good.held < 400


def test_averages():
    above = coverage(lambda rng: [(bound(rng.random(), 0.0, True), 0.45)], 400)["A bound: risk"]
    below = coverage(lambda rng: [(bound(rng.random(), 0.0, True), 0.6)], 400)["A bound: risk"]
    assert above.promised is None and above.kept and above.held < 300 and not below.kept
