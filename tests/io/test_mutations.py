"""Mutated files give an error or a model that works, and run nothing. See mutations.py."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import mutations
import watch

from hasty import in_haste


def test_mutants():
    with in_haste():
        counts = mutations.run(300)
    assert sum(counts.values()) == 300
    # Most are wrong; where none is right any more, or none is refused, the test has lost its grip.
    assert counts["refused"] > 200 and counts["predicts"] > 5


@pytest.mark.parametrize(
    "act", [lambda: os.system("true"), lambda: eval("1"), lambda: subprocess.run(["true"]), lambda: exec("1")]
)
def test_the_watch_sees_what_is_run(act):
    with pytest.raises(watch.Ran), watch.watched():
        act()
    with watch.watched():
        pass
    assert eval("1") == 1


def test_the_watch_sees_time():
    with pytest.raises(watch.Hung), watch.in_time(1):
        time.sleep(5)
