"""Killed at any moment and taken up again, a stream ends as if nothing had happened, to the last bit."""

import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer._state import state_of

sys.path.insert(0, str(Path(__file__).parent))
import streams


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """One folder of streams that ran through, and one of streams that were killed."""
    folder = tmp_path_factory.mktemp("streams")
    table = streams.write_table(folder / "table.csv")
    whole, killed = folder / "whole", folder / "killed"
    whole.mkdir(), killed.mkdir()
    for name in streams.MACHINES:
        streams.stream(name, table, whole)
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    kills = [_until(chance.uniform(*share), table, killed, chance) for share in ((0.1, 0.4), (0.5, 0.8))]
    _until(2.0, table, killed, chance)
    return whole, killed, kills, seed


def _until(share, table, folder, chance):
    """Stream until so much of all is learned, and kill the process; where each machine was then."""
    command = [sys.executable, streams.__file__, str(table), str(folder)]
    places = dict.fromkeys(streams.MACHINES, 0)
    done = set()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            name, place = line.split()
            done |= {name} if place == "done" else set()
            places[name] = streams.ROWS if place == "done" else int(place)
            if sum(places.values()) > share * streams.ROWS * len(places):
                time.sleep(chance.random() * 0.02)
                process.kill()  # SIGKILL: nothing can be tidied up
                break
        else:
            assert done == set(streams.MACHINES)
    return places


@pytest.mark.parametrize("name", streams.MACHINES)
def test_killed_and_resumed_is_the_same_to_the_last_bit(run, name):
    whole, killed, kills, seed = run
    assert all(0 < places[name] < streams.ROWS for places in kills), seed
    # Files hold every array of the state, and the same state gives the same bytes.
    one, other = (mercer.load(folder / f"{name}.mercer") for folder in (whole, killed))
    assert one.position == other.position == streams.ROWS
    a, b = one.machine.learner_, other.machine.learner_
    for part, value in state_of(a).items():
        if isinstance(value, np.ndarray):
            assert value.tobytes() == getattr(b, part).tobytes(), (part, seed)
    assert one.machine.function_.coef.tobytes() == other.machine.function_.coef.tobytes(), seed
    assert (whole / f"{name}.csv").read_bytes() == (killed / f"{name}.csv").read_bytes(), seed
    assert (whole / f"{name}.mercer").read_bytes() == (killed / f"{name}.mercer").read_bytes(), seed


def test_nothing_is_left_behind_but_what_was_asked_for(run):
    whole, killed, *_ = run
    # A file that was being written when the end came keeps its other name.
    assert {p.name for p in killed.iterdir() if p.suffix != ".tmp"} == {p.name for p in whole.iterdir()}
