"""How much memory there is, asked of the operating system each time."""

from __future__ import annotations

import os
from pathlib import Path


def available_memory() -> int:
    """Bytes that can be allocated now without swapping, container limits included."""
    free = _meminfo() or _physical() // 2
    limit = _cgroup_left()
    return free if limit is None else min(free, limit)


def _meminfo() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return None


def _physical() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 8 << 30  # Windows without help: a modest guess beats a refusal


def _cgroup_left() -> int | None:
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        try:
            return max(int(Path(limit).read_text()) - int(Path(used).read_text()), 0)
        except (OSError, ValueError):
            continue
    return None
