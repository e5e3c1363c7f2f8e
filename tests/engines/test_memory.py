"""How much memory is free: asked of the system, limits of a container included."""

from pathlib import Path

import pytest

from mercer.engines import available_memory, memory

GB = 1 << 30


@pytest.fixture
def files(monkeypatch):
    """A file system with only the files a test names."""
    contents = {}

    def read(self, *args, **kwargs):
        if str(self) not in contents:
            raise FileNotFoundError(self)
        return contents[str(self)]

    monkeypatch.setattr(Path, "read_text", read)
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
