"""One search: stages in their order, jobs side by side, and a clock."""

import itertools
import time
from dataclasses import dataclass

import pytest

from mercer._threads import Stopped, stop_when, stopping_point
from mercer.selection import search as module
from mercer.selection.crew import HERE, Crew
from mercer.selection.search import Clock, Sharing, search


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


def test_a_job_under_way_is_given_up_at_its_stopping_point():
    """And has no trials; those beside it that were done keep theirs. The first stage is not asked."""
    clock, reached = Clock(1e6), []

    def first():
        stopping_point()
        return [Made(1)]

    def quick():
        return [Made(2)]

    def slow():
        clock.seconds = 0.0  # while it is at it
        reached.append("begun")
        stopping_point()
        pytest.fail("it was to be given up")

    def late():
        pytest.fail("it was not to be begun")

    trials, seen = [], []
    search(
        [lambda made: [first], lambda made: [quick, slow, late], lambda made: pytest.fail("it has ended")],
        trials,
        clock,
        lambda made: seen.append(len(made)),
        InOrder(),
    )
    assert whats(trials) == [1, 2] and reached == ["begun"] and clock.ended and seen == [1, 2]


def test_what_has_no_stopping_point_is_kept():
    clock = Clock(1e6)

    def slow():
        clock.seconds = 0.0
        return [Made(2)]

    trials = []
    search([lambda made: [lambda: [Made(1)]], lambda made: [slow]], trials, clock)
    assert whats(trials) == [1, 2] and not clock.ended  # nothing was left out


def test_who_gives_up_the_search_is_heard():
    """The job is not to blame: `Stopped` goes on to whoever asked for it."""
    asked, trials, clock = [], [], Clock(1e6)

    def slow():
        asked.append(True)
        stopping_point()
        pytest.fail("it was to be given up")

    with pytest.raises(Stopped), stop_when(lambda: bool(asked)):
        search([lambda made: [lambda: [Made(1)]], lambda made: [slow]], trials, clock)
    assert whats(trials) == [1] and not clock.ended


def test_both_clocks_are_up():
    """The outer one has the last word."""
    clock, trials = Clock(1e6), []

    def slow():
        clock.seconds = 0.0
        stopping_point()

    with pytest.raises(Stopped), stop_when(lambda: clock.seconds == 0):
        search([lambda made: [lambda: [Made(1)]], lambda made: [slow]], trials, clock)
    assert whats(trials) == [1] and clock.ended


def test_a_job_that_shares_its_work_out_is_given_up_in_its_parts():
    clock, parts = Clock(1e6), []

    def part(number):
        parts.append(number)
        clock.seconds = 0.0
        stopping_point()
        pytest.fail("it was to be given up")

    trials = []
    job = Sharing(lambda: HERE.map(part, range(50)))
    search([lambda made: [lambda: [Made(1)]], lambda made: [job]], trials, clock)
    assert whats(trials) == [1] and clock.ended and len(parts) < 50


class InOrder(Crew):
    """One after the other, in this thread."""

    def map(self, function, items, clock=None):
        return [function(item) for item in items]
