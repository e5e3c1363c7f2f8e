"""Timing one thing in a process of its own: seconds, and peak memory beyond what was there before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass

_WRAPPER = """
import json, resource, sys, time
{setup}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
times = []
for _ in range({repeat}):
    start = time.perf_counter()
    {statement}
    times.append(time.perf_counter() - start)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
extra = {{}}
{report}
found = dict(seconds=min(times), memory=(peak - before) * 1024, total=peak * 1024, **extra)
print("\\n@@" + json.dumps(found))
"""


@dataclass(frozen=True)
class Measured:
    """Best wall time of the repeats, memory in bytes, whatever else the script reported; or why it failed."""

    seconds: float = float("nan")
    memory: float = float("nan")
    total: float = float("nan")
    extra: dict | None = None
    failure: str = ""


def measure(setup: str, statement: str, *, repeat: int = 1, report: str = "", timeout: int = 900) -> Measured:
    """Run `statement` after `setup` in a fresh interpreter."""
    script = _WRAPPER.format(
        setup=textwrap.dedent(setup), statement=statement, repeat=repeat, report=textwrap.dedent(report)
    )
    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", script],
            capture_output=True,
            text=True,
            timeout=timeout,
            env=os.environ,
        )
    except subprocess.TimeoutExpired:
        return Measured(failure=f"more than {timeout} s")
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        # A negative code is a signal: a segmentation fault has no last words.
        return Measured(failure=last[0] if done.returncode > 0 else f"died of signal {-done.returncode}")
    found = json.loads(done.stdout.rsplit("@@", 1)[1])
    known = {k: found.pop(k) for k in ("seconds", "memory", "total")}
    return Measured(**known, extra=found)
