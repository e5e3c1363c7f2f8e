"""Forecasts of fits: they grow with what is asked, and rest on what was measured."""

import numpy as np

from mercer.kernels import Laplacian
from mercer.tables.model import speed
from mercer.tables.model.speed import Speed, pace

KERNEL = Laplacian(2.0)
X = np.random.default_rng(0).uniform(-2, 2, (400, 2))


def test_pace_is_that_of_the_forecast_or_slower(monkeypatch):
    assert pace() >= 1
    monkeypatch.setattr(speed, "factor_speed", lambda: 1e30)
    assert pace() > 1e6


def test_forecasts_grow_with_what_is_asked():
    """And the sizes that are said to take so long do."""
    slow = Speed(factor=1e9, value=1e-7)
    assert slow.exact(2000) < slow.exact(4000) and slow.iterated(2000, 5) < slow.iterated(2000, 50)
    assert slow.centred(9000, 300) < slow.centred(9000, 600)
    for seconds in (30.0, 100.0, 300.0):
        rows, centres = slow.rows_within(seconds, 50_000), slow.centres_within(seconds, 50_000)
        assert slow.exact(rows) <= seconds < slow.exact(int(rows / 0.95) + 2)
        assert slow.centred(50_000, centres) <= seconds < slow.centred(50_000, int(centres / 0.95) + 2)
    assert slow.rows_within(0.0, 50_000) == 1000 and slow.rows_within(1e9, 50_000) == 50_000
    assert slow.centres_within(0.0, 50_000) == 200 and slow.centres_within(0.0, 30) == 30


def test_dear_kernels_are_forecast_to_take_longer():
    """A dozen terms take longer than one; of a small table nothing is measured that would take as long."""
    one, many = (
        Speed.of(kernel, np.tile(X, (10, 1))) for kernel in (KERNEL, sum([KERNEL] * 12, start=KERNEL))
    )
    assert many.value > one.value > 0
    assert Speed.of(KERNEL, X[:3]).value > 0
