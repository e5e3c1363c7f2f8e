"""How much memory is free: asked of the system, limits of a container included."""

import subprocess
import sys
from pathlib import Path

import pytest

from mercer import _memory as memory
from mercer._memory import available_memory

GB = 1 << 30


@pytest.fixture
def files(monkeypatch):
    """A file system with only the files a test names."""
    contents = {}

    def read(file):
        if file not in contents:
            raise FileNotFoundError(file)
        return contents[file]

    monkeypatch.setattr(memory, "_text", read)
    return contents


def test_here():
    assert 1 << 20 < available_memory() < 1 << 50


def test_the_system_says(files):
    files["/proc/meminfo"] = "MemTotal: 9000000 kB\nMemAvailable: 4194304 kB\n"
    assert available_memory() == 4 * GB


def test_a_container_may_have_less(files):
    files["/proc/meminfo"] = "MemAvailable: 4194304 kB\n"
    files["/sys/fs/cgroup/memory.max"] = f"{3 * GB}\n"
    files["/sys/fs/cgroup/memory.current"] = f"{GB}\n"
    assert available_memory() == 2 * GB


def test_the_older_kind_of_container(files):
    files["/proc/meminfo"] = "MemAvailable: 4194304 kB\n"
    files["/sys/fs/cgroup/memory/memory.limit_in_bytes"] = f"{2 * GB}"
    files["/sys/fs/cgroup/memory/memory.usage_in_bytes"] = f"{GB}"
    assert available_memory() == GB


def test_a_container_without_limit(files):
    files["/proc/meminfo"] = "MemAvailable: 4194304 kB\n"
    files["/sys/fs/cgroup/memory.max"] = "max\n"
    files["/sys/fs/cgroup/memory.current"] = f"{GB}\n"
    assert available_memory() == 4 * GB


def test_over_the_limit_is_nothing_and_not_negative(files):
    files["/proc/meminfo"] = "MemAvailable: 4194304 kB\n"
    files["/sys/fs/cgroup/memory.max"] = str(GB)
    files["/sys/fs/cgroup/memory.current"] = str(2 * GB)
    assert available_memory() == 0


@pytest.mark.parametrize("text", [None, "", "MemAvailable: lots kB"])
def test_without_help_half_of_what_is_there(files, monkeypatch, text):
    if text is not None:
        files["/proc/meminfo"] = text
    monkeypatch.setattr(memory, "_physical", lambda: 6 * GB)
    assert available_memory() == 3 * GB


def test_physical_memory_or_a_guess(monkeypatch):
    assert memory._physical() >= 1 << 28

    def refuse(name):
        raise ValueError(name)

    monkeypatch.setattr(memory.os, "sysconf", refuse)
    assert memory._physical() == 8 * GB


@pytest.mark.parametrize(
    "groups, root, limit, used",
    [
        ("0::/user.slice/job\n", "/sys/fs/cgroup", "memory.max", "memory.current"),
        (
            "5:cpu,memory:/user.slice/job\n0::/\n",
            "/sys/fs/cgroup/memory",
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
        ),
    ],
)
def test_the_group_of_this_process_and_those_above_it(files, groups, root, limit, used):
    files["/proc/meminfo"] = "MemAvailable: 8388608 kB\n"
    files["/proc/self/cgroup"] = groups
    for folder, most in (("/user.slice/job", 5 * GB), ("/user.slice", 3 * GB), ("", 7 * GB)):
        files[f"{root}{folder}/{limit}"] = str(most)
        files[f"{root}{folder}/{used}"] = str(GB)
    assert available_memory() == 2 * GB
    files[f"{root}/user.slice/{limit}"] = "max"
    assert available_memory() == 4 * GB


def test_files_that_nobody_needs_are_no_use_of_memory(files):
    files["/proc/meminfo"] = "MemAvailable: 8388608 kB\n"
    files["/sys/fs/cgroup/memory.max"] = str(3 * GB)
    files["/sys/fs/cgroup/memory.current"] = str(3 * GB)
    files["/sys/fs/cgroup/memory.stat"] = f"anon {GB}\ninactive_file {2 * GB}\n"
    assert available_memory() == 2 * GB


@pytest.mark.skipif(memory.resource is None, reason="no limits of processes here")
@pytest.mark.parametrize("limit", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_limits_of_the_process(limit):
    """Half of what is said to be free can be had, and twice as much can not."""
    pytest.importorskip("resource")
    if not Path("/proc/self/status").exists():
        pytest.skip("what a process uses is asked of Linux")
    code = (
        "import resource\n"
        "from mercer._memory import available_memory, _stat\n"
        f"used = _stat('/proc/self/status', '{'VmSize:' if limit == 'RLIMIT_AS' else 'VmData:'}')\n"
        "most = 1024 * used + (200 << 20)\n"
        f"resource.setrlimit(resource.{limit}, (most, most))\n"
        "free = available_memory()\n"
        "assert 100 << 20 < free <= 200 << 20, free\n"
        "held = bytearray(free // 2)\n"
        "try:\n"
        "    bytearray(2 * free)\n"
        "except MemoryError:\n"
        "    print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout == "refused\n", done.stderr
