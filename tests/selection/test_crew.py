"""Threads here and workers elsewhere do the same things, in order; a worker that dies costs time only."""

import os
import pickle
import signal
import threading
import time
from dataclasses import dataclass, field
from functools import partial
from uuid import uuid4

import numpy as np
import pytest

from clusters import cluster_of
from mercer._threads import cpu_count
from mercer.selection.crew import HERE, ClusterCrew
from mercer.selection.search import Clock, Sharing, search


@pytest.fixture(scope="module")
def client():
    """Two workers in threads of this process."""
    with cluster_of(2, processes=False) as client:
        yield client


@dataclass
class Tried:
    """What was tried, and where."""

    what: int
    thread: int = field(default_factory=threading.get_ident)
    seconds: float = 0.0


def square(number):
    return number**2


def deadly(folder, number):
    """Its worker dies once, if there is a file that it can take away first."""
    mark = folder / str(number)
    if number == 0:
        (folder / f"begun-{uuid4()}").touch()
        time.sleep(1.0)
    if mark.exists():
        mark.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def timed(clock, number):
    clock.ended = clock.ended or number == 2
    return clock.left


def cores(_):
    from threadpoolctl import threadpool_info

    np.ones((2, 2)) @ np.ones((2, 2))
    return cpu_count(), max(library["num_threads"] for library in threadpool_info())


def broken(number):
    raise ValueError(f"{number} is wrong")


def slow(seconds):
    time.sleep(seconds)


def test_in_order_and_nothing_is_left_behind(client):
    crew = ClusterCrew(client)
    for who in (HERE, crew):
        assert who.map(square, range(5)) == [0, 1, 4, 9, 16]
        with pytest.raises(ValueError, match="0 is wrong"):
            who.map(broken, [0])
    large = np.arange(300_000.0)  # goes to workers as data, and not with the tasks
    assert crew.map(lambda i: float(large[i]), [7, 70_000]) == [7.0, 70_000.0]
    assert crew.map(cores, range(3)) == [(1, 1)] * 3
    with crew.begun(slow, [0.2] * 4):
        pass
    assert crew.map(square, [3]) == [9]
    until = time.monotonic() + 5
    while client.futures and time.monotonic() < until:
        time.sleep(0.01)
    assert not client.futures


def test_a_worker_dies(tmp_path, monkeypatch):
    """What it was at is done by another; what others are at goes on."""
    monkeypatch.setattr("mercer.rows.watch._GRACE", 0.1)
    monkeypatch.setattr("mercer.rows.watch._LOOK", 0.05)
    (tmp_path / "1").touch()
    with cluster_of(2) as client:
        crew = ClusterCrew(client)
        assert crew.map(partial(deadly, tmp_path), range(6)) == list(range(6))
        assert len(list(tmp_path.iterdir())) == 1 and crew.map(getpid, range(2)) != [os.getpid()] * 2


def getpid(_):
    return os.getpid()


def test_a_clock_goes_on_and_comes_back(client):
    clock, crew = Clock(100.0, time.monotonic() - 40), ClusterCrew(client)
    assert 55 < pickle.loads(pickle.dumps(clock)).left <= 60
    assert all(50 < left <= 60 for left in crew.map(partial(timed, clock), [0, 1], clock))
    assert not clock.ended
    crew.map(partial(timed, clock), [1, 2], clock)
    assert clock.ended


def test_a_search_over_a_cluster(client):
    trials, crew = [], ClusterCrew(client)

    def stages():
        yield lambda made: [partial(several, k) for k in (1, 2)]
        yield lambda made: [Sharing(lambda: [Tried(n) for n in crew.map(square, [t.what for t in made])])]

    search(stages(), trials, Clock(60.0), crew=crew)
    assert [trial.what for trial in trials] == [1, -1, 2, -2, 1, 1, 4, 4]
    main = [trial.thread == threading.get_ident() for trial in trials]
    assert main == [False] * 4 + [True] * 4  # who shares work out does so from here


def several(k):
    return [Tried(k), Tried(-k)]


def test_what_workers_see(client, tmp_path):
    assert ClusterCrew(client).sees(tmp_path) and not ClusterCrew(client).sees(tmp_path / "nothing")
    with pytest.raises(TypeError, match="client must be a distributed.Client"):
        ClusterCrew("tcp://nowhere")
