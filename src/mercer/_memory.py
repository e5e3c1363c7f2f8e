"""How much memory there is, asked of the operating system each time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import PurePosixPath

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

# Where the two kinds of control groups are mounted: limit, use, and what of the use can be had back at once.
_GROUPS = {
    "v2": ("memory.max", "memory.current", "inactive_file"),
    "v1": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


def available_memory() -> int:
    """Bytes that can be allocated now without swapping; limits of containers and of this process included.

    Examples
    --------
    >>> available_memory() > 0
    True
    """
    free = 1024 * _stat("/proc/meminfo", "MemAvailable:") or _physical() // 2
    return max(min([free, *_cgroups_left(), *_limits_left()]), 0)


def _physical() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 8 << 30  # Windows without help: a modest guess beats a refusal


# -- limits of this process (ulimit) --------------------------------------------------------------


def _limits_left() -> Iterator[int]:
    """What RLIMIT_AS and RLIMIT_DATA leave, where they are set."""
    if resource is None:
        return
    for limit, used in (("RLIMIT_AS", "VmSize:"), ("RLIMIT_DATA", "VmData:")):
        most = resource.getrlimit(getattr(resource, limit))[0]
        if most != resource.RLIM_INFINITY:
            yield most - 1024 * _stat("/proc/self/status", used)


# -- limits of containers (control groups) --------------------------------------------------------


def _cgroups_left() -> Iterator[int]:
    """What each group that this process is in leaves: every one above another limits it, too."""
    for folder, kind in _folders():
        limit, used, reclaimable = _GROUPS[kind]
        try:
            left = int(_text(f"{folder}/{limit}")) - int(_text(f"{folder}/{used}"))
        except (OSError, ValueError):  # not there, or "max"
            continue
        yield left + _stat(f"{folder}/memory.stat", reclaimable)


def _folders() -> Iterator[tuple[str, str]]:
    """Folders of the groups, from the innermost to the root.

    Inside a container the path may be that of the host, which is not there; the root is the container's then.
    """
    paths = {"v1": PurePosixPath("/"), "v2": PurePosixPath("/")}
    try:
        for line in _text("/proc/self/cgroup").splitlines():
            number, controllers, path = line.split(":", 2)
            if number == "0" and not controllers:
                paths["v2"] = PurePosixPath(path)
            elif "memory" in controllers.split(","):
                paths["v1"] = PurePosixPath(path)
    except (OSError, ValueError):
        pass
    for root, kind in (
        ("/sys/fs/cgroup", "v2"),
        ("/sys/fs/cgroup/unified", "v2"),
        ("/sys/fs/cgroup/memory", "v1"),
    ):
        for group in (paths[kind], *paths[kind].parents):
            if ".." not in group.parts:
                yield "/".join((root, *group.parts[1:])), kind


def _text(file: str) -> str:
    """What a file of the system says; read plainly, since every fit asks a dozen of them."""
    with open(file, "rb", buffering=0) as opened:
        return opened.read().decode()


def _stat(file: str, name: str) -> int:
    """A number that a file of the system has beside its name; 0 where that is not said."""
    try:
        for line in _text(file).splitlines():
            key, *values = line.split()
            if key == name:
                return int(values[0])
    except (OSError, ValueError, IndexError):
        pass
    return 0
