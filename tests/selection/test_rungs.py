"""Successive halving: many settings on few rows, few on many."""

from itertools import pairwise

import numpy as np
import pytest

from mercer.selection.dimensions import Space
from mercer.selection.objectives import row_order
from mercer.selection.proposals import Proposals, rungs_of
from mercer.selection.tuning import TuningTrial, best_of

SPACE = Space.of({"a": (1e-2, 1e2), "b": (1e-4, 1e2)})


def test_rungs():
    assert rungs_of(10, 4000) == (10,) and rungs_of(4000, 4000) == (4000,)
    for n in (4001, 10_000, 1_000_000):
        rungs = rungs_of(n, 4000)
        assert rungs[-1] == n and rungs[0] + 1 >= 4000 / 3 and rungs[0] <= 4000
        assert all(b / a == pytest.approx(3, rel=1e-3) for a, b in pairwise(rungs))


def test_every_beginning_of_the_order_has_every_class():
    labels = np.repeat(["a", "b", "c"], [9000, 900, 100])
    order = row_order(10_000, labels, 0)
    assert np.array_equal(np.sort(order), np.arange(10_000))
    for count in (100, 1000, 3333):
        shares = [np.mean(labels[order[:count]] == c) for c in "abc"]
        assert shares == pytest.approx([0.9, 0.09, 0.01], abs=1.5 / count)
    assert not np.array_equal(order, row_order(10_000, labels, 1))
    plain = row_order(50, None, 0)
    assert np.array_equal(np.sort(plain), np.arange(50)) and np.array_equal(plain, row_order(50, None, 0))


def run(rungs, count, score, affordable=lambda rows: True, space=SPACE):
    trials = []
    for _ in range(count):
        step = Proposals(space, np.full(len(space.axes), 0.5), 0).step(trials, rungs, affordable)
        if step is None:
            break
        u, rows = step
        trials.append(
            TuningTrial(space.params(u), score(rows, **space.params(u)), (), 0.0, rows, tuple(u.tolist()))
        )
    return trials


def drifting(rows, a, b):
    """The best a and b go down as rows go up."""
    k = np.log10(rows / 1000)
    return -((np.log10(a) - 0.5 + 0.3 * k) ** 2) - 0.5 * (np.log10(b) + 1 + 0.6 * k) ** 2


def test_half_as_many_trials_a_rung():
    rungs = (1000, 3000, 9000, 27000)
    trials = run(rungs, 60, drifting)
    assert [sum(t.rows == r for t in trials) for r in rungs] == [32, 16, 8, 4]
    best = best_of(trials)
    assert best.rows == 27000
    # What is best with the fewest rows is 0.55 below the optimum with all of them.
    assert drifting(27000, **best.params) > -0.1


def test_the_best_of_a_rung_rises():
    trials = run((10, 30), 12, drifting)
    first = next(t for t in trials if t.rows == 30)
    earlier = [t for t in trials[: trials.index(first)] if t.rows == 10]
    assert first.point == max(earlier, key=lambda t: t.score).point


def test_what_can_not_be_paid_for_is_not_tried():
    trials = run((10, 30, 90), 30, drifting, affordable=lambda rows: rows < 90)
    assert {t.rows for t in trials} == {10, 30}


def test_small_spaces_reach_the_top():
    one = run((10, 30, 90), 20, lambda rows: 1.0, space=Space.of({}))
    assert [t.rows for t in one] == [10, 30, 90]
    few = run(
        (10, 30), 20, lambda rows, k: {"a": 1.0, "b": 3.0, "c": 2.0}[k], space=Space.of({"k": list("abc")})
    )
    assert (
        sum(t.rows == 10 for t in few) == 3 and best_of(few).params == {"k": "b"} and best_of(few).rows == 30
    )


def test_failures_do_not_rise():
    trials = run((10, 30), 20, lambda rows, a, b: np.nan if a > 1 else -a)
    assert all(t.ok for t in trials if t.rows == 30)
    assert {t.rows for t in run((10, 30), 10, lambda rows, a, b: np.nan)} == {10}
