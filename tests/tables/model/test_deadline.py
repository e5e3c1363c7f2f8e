"""When a fit is over, and what is said of what was cut short."""

import pickle
import time
from types import SimpleNamespace

import pytest

from mercer._threads import Stopped, stop_when, stopping_point
from mercer.tables.model.deadline import _GRACE, _LATEST, Deadline


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until somebody moves its hands."""
    held = SimpleNamespace(now=1000.0)
    ours = SimpleNamespace(**{**vars(time), "monotonic": lambda: held.now, "time": lambda: 5e8 + held.now})
    monkeypatch.setattr("mercer.selection.search.time", ours)
    return held


def test_what_is_left(clock):
    deadline = Deadline(60.0)
    assert deadline.left == pytest.approx(_LATEST * 60 + _GRACE) and not deadline.passed()
    clock.now += 50
    assert deadline.left == pytest.approx(_LATEST * 60 + _GRACE - 50) and deadline.spent == pytest.approx(50)
    clock.now += 50
    assert deadline.left == 0 and deadline.passed()
    # It began earlier than it was made.
    assert Deadline(60.0, started=clock.now - 20).left == pytest.approx(_LATEST * 60 + _GRACE - 20)


def test_it_is_over_when_it_was_promised():
    """1.2 × the minutes + 10 seconds, whatever the minutes; what is left then is for the last words."""
    for seconds in (0.5, 5.0, 60.0, 3600.0):
        assert _LATEST * seconds + _GRACE < 1.2 * seconds + 10


def test_clocks_of_stages_end_with_it(clock):
    deadline = Deadline(10.0)
    assert deadline.clock(2.0).seconds == 2.0
    assert deadline.clock(1e6).seconds == deadline.left
    clock.now += 1e3
    assert deadline.clock(2.0).up()


def test_a_stage_is_cut_short_at_its_own_time_and_what_follows_is_not(clock):
    deadline, done = Deadline(100.0), []
    with deadline.stage("the fit", 5.0):
        stopping_point()
        done.append("begun")
        clock.now += 6
        stopping_point()
        done.append("never")
    with deadline.stage("the search"):
        stopping_point()
        done.append("after")
    assert done == ["begun", "after"] and deadline.cut == ["the fit"]
    stopping_point()  # nobody is to stop any more
    [said] = deadline.remarks()
    assert said.startswith("the time was up before the fit was done: ")


def test_a_stage_without_a_time_of_its_own_ends_with_the_deadline(clock):
    deadline = Deadline(10.0)
    with deadline.stage("the fit"):
        clock.now += _LATEST * 10 + _GRACE - 0.1
        stopping_point()
        clock.now += 0.2
        stopping_point()
    assert deadline.cut == ["the fit"]


def test_every_part_is_named_once_in_the_order_of_the_work():
    deadline = Deadline(10.0)
    assert deadline.remarks() == ()
    for name in ("the search", "the fit", "the search", "the tests"):
        deadline.cut_short(name)
    [said] = deadline.remarks()
    assert said.startswith("the time was up before the search, the fit and the tests were done")


def test_what_ends_everything_is_not_taken_for_the_end_of_a_stage(clock):
    """Somebody outside gives up: no stage swallows that, nor calls itself cut short."""
    deadline, given_up = Deadline(100.0), []
    with pytest.raises(Stopped), stop_when(lambda: bool(given_up)), deadline.stage("the fit", 5.0):
        given_up.append(True)
        stopping_point()
    assert deadline.cut == []


def test_of_two_stages_the_outer_one_ends_both(clock):
    deadline, done = Deadline(100.0), []
    with deadline.stage("the outer", 5.0):
        with deadline.stage("the inner", 50.0):
            clock.now += 10
            stopping_point()
        done.append("after the inner")
    assert done == [] and deadline.cut == ["the outer"]
    with deadline.stage("the outer one", 50.0):
        with deadline.stage("the inner one", 5.0):
            clock.now += 10
            stopping_point()
        done.append("after the inner")
    assert done == ["after the inner"] and deadline.cut == ["the outer", "the inner one"]


def test_errors_pass(clock):
    deadline = Deadline(10.0)
    with pytest.raises(KeyError), deadline.stage("the fit"):
        raise KeyError
    assert deadline.cut == []


def test_in_another_process_it_goes_on(clock):
    """Where the hands of the clock point elsewhere; what passed on the way there counts."""
    deadline = Deadline(100.0)
    deadline.cut_short("the search")
    clock.now += 30
    sent, left = pickle.dumps(deadline), deadline.left
    clock.now += 5
    there = pickle.loads(sent)
    assert there.left == pytest.approx(left - 5) and there.cut == ["the search"]
    there.cut_short("the fit")
    assert deadline.cut == ["the search"]
