"""How much work a time budget buys."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from mercer.tables.model import effort
from mercer.tables.model.effort import (
    Effort,
    centres_within,
    fit_seconds,
    kernel_seconds,
    letters_within,
    text_rows,
)

SIZES = [
    (12, 1, 1),
    (300, 5, 1),
    (900, 30, 3),
    (1100, 20, 1),
    (3200, 2, 1),
    (5000, 8, 1),
    (50_000, 100, 10),
    (1_000_000, 20, 1),
]
SECONDS = [0.0, 0.1, 1.0, 5.0, 20.0, 60.0, 600.0]
sizes = pytest.mark.parametrize("n, d, outputs", SIZES)


@sizes
@pytest.mark.parametrize("seconds", SECONDS)
def test_within_the_time_or_at_the_floor(n, d, outputs, seconds):
    made = Effort.within(seconds, n, d, outputs)
    # On two cores and more it is done sooner.
    assert made.seconds(d, outputs) <= seconds * effort._SHARED or made.refine_rows <= 120
    assert made.screen_rows <= n and made.refine_rows <= made.final_rows <= n
    assert min(made.screen_rows, made.refine_rows) >= min(n, 102)
    assert made.finalists >= 2 and min(made.refine_steps, made.final_steps) >= 9


@sizes
def test_more_time_buys_no_less(n, d, outputs):
    bought = [Effort.within(seconds, n, d, outputs) for seconds in SECONDS]
    for less, more in pairwise(bought):
        assert less.refine_rows <= more.refine_rows and less.final_rows <= more.final_rows
        assert less.refine_steps <= more.refine_steps and less.finalists <= more.finalists
        assert less.seconds(d, outputs) <= more.seconds(d, outputs)


def test_enough_time_takes_all_that_helps():
    few, many = Effort.within(1e9, 800, 5, 1), Effort.within(1e9, 10_000, 5, 1)
    assert (few.refine_rows, few.final_rows, few.by_folds) == (800, 800, True)
    assert (many.refine_rows, many.final_rows, many.by_folds) == (1000, 3000, False)
    assert few.finalists == many.finalists == 3
    assert few.trees == many.trees == effort._TREES and few.metrics and many.metrics
    # Folds again and again where they judge; all rows for another look at λ.
    assert (few.repeats, many.repeats) == (effort._REPEATS, 1)
    assert (few.most_rows, many.most_rows) == (800, 10_000)
    assert (few.average_rows, many.average_rows) == (800, 3000)


@sizes
def test_what_is_left_out_first(n, d, outputs):
    """Forests, where they would take more than a share; a metric where its matrices would be too large."""
    for seconds in SECONDS:
        made = Effort.within(seconds, n, d, outputs)
        times = 4 if made.by_folds else 1
        assert made.trees in (0, effort._TREES)
        if made.trees:
            share = times * effort.growing_seconds(made.final_rows, d, made.trees)
            assert share <= 0.1 * seconds * effort._SHARED
        assert made.final_rows <= made.most_rows <= min(n, effort._MOST_AGAIN)
        assert made.average_rows <= made.most_rows and 1 <= made.repeats <= effort._REPEATS
        # So many repetitions fit, and one in any case.
        assert made.repeats == 1 or made.repeats * made.seconds(d, outputs) <= seconds * effort._SHARED
    assert not Effort.within(1e9, n, effort._MOST_COORDINATES + 1, outputs).metrics
    assert Effort.within(1e9, n, effort._MOST_COORDINATES, outputs).metrics


def test_two_cores_buy_more_than_one_and_no_more_than_many(monkeypatch):
    made = []
    for cores in (1, 2, 64):
        monkeypatch.setattr(effort, "cpu_count", lambda cores=cores: cores)
        made.append((Effort.within(8.0, 5000, 30, 1), fit_seconds(5000, 10)))
    (one, slow), (two, quicker), (many, quickest) = made
    assert one.final_rows < two.final_rows and two == replace(many, most_rows=two.most_rows)
    assert one.most_rows < two.most_rows < many.most_rows
    assert slow == pytest.approx(2 * quicker) and quickest == pytest.approx(slow / 16)


def test_forecasts_grow_with_sizes():
    base = Effort.within(1e9, 1000, 5, 1)
    assert base.seconds(5, 1) < base.seconds(50, 1) < base.seconds(50, 20)
    assert fit_seconds(1000, 5) < fit_seconds(2000, 5) < fit_seconds(2000, 500)


@pytest.mark.parametrize("n", [10, 150, 5000, 100_000, 10_000_000])
def test_centres(n):
    found = [centres_within(seconds, n) for seconds in (0.0, 0.5, 10.0, 1e6)]
    assert found == sorted(found)
    assert found[0] == min(n, 200) and found[-1] == min(n, 8000)
    assert all(isinstance(m, int) for m in found)
    # m² n operations are what they cost.
    middle = centres_within(5.0, n)
    assert middle <= 200 or middle == n or middle**2 * n <= 5.0 * effort._NORMAL_EQUATIONS * (1 + 1e-9)


def test_numbers_of_other_types():
    assert Effort.within(np.float64(2.0), 500, 4, 1) == Effort.within(2.0, 500, 4, 1)


def test_rows_to_try_texts_on():
    rows = [text_rows(seconds, 100, 5, 8) for seconds in (1e-3, 1, 10, 1e3)]
    assert rows == sorted(rows) and rows[0] == 120 and rows[-1] == 2000 and rows[1] < rows[2]
    assert text_rows(10, 10_000, 5, 8) < text_rows(10, 100, 5, 8)  # long texts take longer


def test_long_texts_are_forecast():
    assert fit_seconds(8000, 2, 2000) > 10 * fit_seconds(8000, 2, 20)
    few, many = centres_within(8.0, 8000, 2000), centres_within(8.0, 8000)
    assert 200 <= few < many and few * 8000 * 2000 * effort.COMPARED <= 8.0 * effort._NORMAL_EQUATIONS
    assert letters_within(5.0, 2000) == 2500 and letters_within(5.0, 0.0) == 5_000_000


def test_passes_take_longer_with_rows_centres_and_coordinates():
    base = kernel_seconds(10**6, 500, 10, 1)
    assert 10 < base < 60  # about half a minute on two cores
    assert kernel_seconds(2 * 10**6, 500, 10, 1) > 1.8 * base
    assert kernel_seconds(10**6, 1000, 10, 1) > 1.8 * base and kernel_seconds(10**6, 500, 30, 1) > 1.5 * base
