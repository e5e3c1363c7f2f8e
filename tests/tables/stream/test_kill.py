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


@pytest.fixture
def run(tmp_path):
    """One folder of streams that ran through, and one of streams that were killed."""
    table = streams.write_table(tmp_path / "table.csv")
    whole, killed = tmp_path / "whole", tmp_path / "killed"
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


def test_killed_and_resumed_is_the_same_to_the_last_bit(run):
    whole, killed, kills, seed = run
    for name in streams.MACHINES:
        case = name, seed
        assert all(0 < places[name] < streams.ROWS for places in kills), case
        # Files hold every array of the state, and the same state gives the same bytes.
        one, other = (mercer.load(folder / f"{name}.mercer") for folder in (whole, killed))
        assert one.position == other.position == streams.ROWS
        a, b = one.machine.learner_, other.machine.learner_
        for part, value in state_of(a).items():
            if isinstance(value, np.ndarray):
                assert value.tobytes() == getattr(b, part).tobytes(), (part, *case)
        assert one.machine.function_.coef.tobytes() == other.machine.function_.coef.tobytes(), case
        for kind in ("csv", "mercer"):
            file = f"{name}.{kind}"
            assert (whole / file).read_bytes() == (killed / file).read_bytes(), case
    # Nothing is left but what was asked for; a file that was being written when the end came keeps its
    # other name.
    assert {p.name for p in killed.iterdir() if p.suffix != ".tmp"} == {p.name for p in whole.iterdir()}
