"""Changes are found soon, and rarely where there are none."""

from dataclasses import replace

import numpy as np
import pytest

from mercer._state import check
from mercer.online import MeanShift


def alarms(losses, **options):
    detector = MeanShift(**options)
    return [t for t, v in enumerate(losses) if detector.update(v).drift_detected]


def test_false_alarms_are_as_rare_as_promised():
    found = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        found += bool(alarms(rng.random(3000) < rng.uniform(0.02, 0.5), delta=0.05))
    assert found <= 6  # 60 δ = 3, and Bernstein's inequality leaves room


def test_a_change_is_found_and_found_once():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        t = np.arange(6000)
        found = alarms(rng.random(6000) < np.where(t < 4000, 0.1, 0.4))
        assert len(found) == 1 and 4000 < found[0] < 4400
        numbers = np.abs(rng.standard_normal(6000)) * np.where(t < 4000, 1.0, 2.5)
        found = alarms(numbers)
        assert len(found) == 1 and 4000 < found[0] < 4400


def test_learning_is_no_change():
    rng = np.random.default_rng(0)
    losses = rng.random(5000) < 0.5 / (1 + np.arange(5000) / 200)
    assert alarms(losses) == []
    # What was learned is the measure: half of the first error rate is a change now.
    worse = np.concatenate([losses, rng.random(600) < 0.25])
    assert len(alarms(worse)) == 1


def test_as_rivers_detectors():
    river = pytest.importorskip("river.drift")
    losses = np.random.default_rng(0).random(4000) < np.where(np.arange(4000) < 2000, 0.1, 0.5)
    adwin, ours = river.ADWIN(), MeanShift()
    for v in losses:
        adwin.update(v)
        ours.update(v)
    assert isinstance(adwin.drift_detected, bool) and isinstance(ours.drift_detected, bool)


def test_what_is_no_number_is_passed_over():
    detector = MeanShift(window=8)
    for v in (np.nan, np.inf, 1.0):
        detector.update(v)
    assert detector.seen == 1


@pytest.mark.parametrize("options", [{"window": 3}, {"window": True}, {"delta": 0.0}, {"delta": 2.0}])
def test_what_makes_no_sense(options):
    with pytest.raises(ValueError, match="must"):
        MeanShift(**options)


def test_files_that_lie():
    good = MeanShift(window=8)
    for v in np.random.default_rng(0).random(50):
        good.update(v)
    check(good)
    for change in ({"count": -1.0}, {"seen": 1.5}, {"recent": np.zeros(3)}, {"mean": np.nan}):
        with pytest.raises(ValueError, match="makes no sense| is not "):
            check(replace(good, **change))
