"""One search: stages in their order, jobs side by side, and a clock."""

import itertools
import time
from dataclasses import dataclass

import pytest

from mercer.selection import search as module
from mercer.selection.search import Clock, search


@dataclass
class Made:
    what: int
    seconds: float = -1.0


def whats(trials):
    assert all(t.seconds >= 0 for t in trials)
    return [t.what for t in trials]


def test_trials_come_in_the_order_of_the_jobs():
    """Whichever thread is the first to end."""

    def late(k):
        time.sleep(0.02 * (4 - k))
        return [Made(k), Made(-k)]

    trials, seen = [], []
    search([lambda made: [lambda k=k: late(k) for k in (1, 2, 3)]], trials, Clock(60.0), seen.append)
    assert whats(trials) == [1, -1, 2, -2, 3, -3] and seen == [trials]
    assert trials[0].seconds == trials[1].seconds  # made together


def test_a_stage_sees_all_before_it_and_one_with_nothing_to_try_ends_it():
    def count(trials):
        return [lambda: [Made(len(trials))]] if len(trials) < 5 else []

    trials = []
    search(itertools.repeat(count), trials, Clock(60.0))
    assert whats(trials) == [0, 1, 2, 3, 4]
    search([count, lambda made: pytest.fail("it has ended")], trials, Clock(60.0))
    assert len(trials) == 5


def test_out_of_time_the_first_stage_is_tried_even_so():
    trials, clock = [], Clock(0.0)
    search(itertools.repeat(lambda made: [lambda: [Made(1)]]), trials, clock)
    assert whats(trials) == [1] and clock.ended


def test_what_was_tried_is_not_lost_with_an_interruption():
    def interrupted():
        raise KeyboardInterrupt

    trials = []
    with pytest.raises(KeyboardInterrupt):
        search([lambda made: [lambda: [Made(1)]], lambda made: [interrupted]], trials, Clock(60.0))
    assert whats(trials) == [1]


def test_the_clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    clock = Clock(10.0, started=100.0)
    assert (clock.left, clock.up()) == (10.0, False)
    now[0] = 104.0
    assert (clock.left, clock.up(), clock.ended) == (6.0, False, False)
    now[0] = 130.0
    assert (clock.left, clock.ended) == (0.0, False)  # nobody has asked
    assert clock.up() and clock.ended
    assert Clock.patient(1.0).seconds == 600 and Clock.patient(100.0).seconds == 2000
