"""Compiled entry points and arrays that lie: an exception or a right answer; more of them: benchmarks."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("llvmlite")

SCRIPT = "import sys; sys.path.append(sys.argv[1]); import lies; print(sum(lies.run(60, 7).values()))"


def test_lies_end_in_an_exception_or_a_right_answer():
    """In a process of its own: what must not happen would end it."""
    command = [sys.executable, "-X", "faulthandler", "-c", SCRIPT, str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() == "60"
