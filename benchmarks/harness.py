"""Timing one thing in a process of its own: seconds, and peak memory beyond what was there before."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field

_WRAPPER = """
import json, time
from benchmarks.harness import memory_mark, memory_since
{setup}
mark = memory_mark()
times = []
for _ in range({repeat}):
    start = time.perf_counter()
    {statement}
    times.append(time.perf_counter() - start)
memory, total = memory_since(mark)
extra = {{}}
{report}
print("\\n@@" + json.dumps(dict(seconds=min(times), memory=memory, total=total, **extra)))
"""


@dataclass(frozen=True)
class Measured:
    """Best wall time of the repeats, memory in bytes, whatever else the script reported; or why it failed."""

    seconds: float = float("nan")
    memory: float = float("nan")
    total: float = float("nan")
    extra: dict = field(default_factory=dict)
    failure: str = ""

    def record(self) -> dict:
        """As a flat dictionary: numbers, or the failure alone."""
        if self.failure:
            return {"failure": self.failure}
        return {"seconds": self.seconds, "memory": self.memory, "total": self.total, **self.extra}


def measure(
    setup: str,
    statement: str,
    *,
    repeat: int = 1,
    report: str = "",
    timeout: float = 900,
    env: dict[str, str] | None = None,
) -> Measured:
    """Run `statement` after `setup` in a fresh interpreter, with `env` added to the environment."""
    script = _WRAPPER.format(
        setup=textwrap.dedent(setup), statement=statement, repeat=repeat, report=textwrap.dedent(report)
    )
    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", script],
            capture_output=True,
            text=True,
            timeout=timeout,
            env={**os.environ, **(env or {})},
        )
    except subprocess.TimeoutExpired:
        return Measured(failure=f"more than {timeout:.0f} s")
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        # A negative code is a signal: a segmentation fault has no last words.
        return Measured(
            failure=last[0][:120] if done.returncode > 0 else f"died of signal {-done.returncode}"
        )
    found = json.loads(done.stdout.rsplit("@@", 1)[1])
    known = {k: found.pop(k) for k in ("seconds", "memory", "total")}
    return Measured(**known, extra=found)


def trim() -> None:
    """Hand free memory back to the system, or what malloc has kept would be reused and count for nothing."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def memory_mark() -> int:
    """Bytes resident now, with the peak set back to that where the system can.

    Without this, whatever the setup (or the parent process, whose peak a child inherits in ru_maxrss)
    once needed would hide the first so many megabytes of what is measured.
    """
    try:
        trim()
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        return _status("VmRSS")
    except OSError:
        return _peak()


def memory_since(mark: int) -> tuple[int, int]:
    """(peak beyond the mark, peak) in bytes."""
    peak = _peak()
    return max(peak - mark, 0), peak


def _peak() -> int:
    try:
        return _status("VmHWM")
    except OSError:
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _status(key: str) -> int:
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(key):
                return int(line.split()[1]) * 1024
    raise OSError(f"no {key} in /proc/self/status")
