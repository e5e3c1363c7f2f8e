"""Files that must stay as they are: what counts as a change, and what is no ordinary file."""

import os
import pickle
import shutil
import socket
from types import SimpleNamespace

import pytest

from mercer.rows.files import FoundFile, require_ordinary

CHANGED = "a.txt has changed since it was opened"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("12345")
    os.utime(path, ns=(10**18, 10**18))
    return path


def test_sizes_and_times(path, rewrite):
    found = FoundFile(path)
    found.check()
    os.chmod(path, 0o600)  # which says nothing of what is in it
    found.check()
    rewrite(path, b"54321")
    with pytest.raises(ValueError, match=CHANGED):
        found.check()
    found = FoundFile(path)
    with open(path, "a") as file:
        file.write("6")
    os.utime(path, ns=(found.written, found.written))
    with pytest.raises(ValueError, match=CHANGED):
        found.check()
    path.unlink()
    with pytest.raises(FileNotFoundError):
        found.check()


def test_another_file_in_its_place(path):
    """It is told even if size and time are the same; a number that changes by itself is nothing."""
    found = FoundFile(path)
    copy = pickle.loads(pickle.dumps(found))
    other = shutil.copy2(path, path.with_name("b"))
    about = os.stat(path)
    names = ("st_size", "st_mtime_ns", "st_ctime_ns", "st_mode")
    found.check(SimpleNamespace(**{name: getattr(about, name) for name in names}, st_ino=about.st_ino + 1))
    os.replace(other, path)
    if os.stat(path).st_ctime_ns != about.st_ctime_ns:  # clocks of file systems go in steps
        with pytest.raises(ValueError, match=CHANGED):
            found.check()
    copy.check()  # another process may see a copy


def test_what_is_read_meanwhile(path, rewrite):
    """Nothing is handed on that was read after a change, nor what the reader makes of it."""
    ended = []

    def reading(fail_at=None):
        try:
            for i in range(4):
                if i == fail_at:
                    raise ZeroDivisionError
                yield i
        finally:
            ended.append(True)

    assert list(FoundFile(path).checked(reading())) == [0, 1, 2, 3]
    with pytest.raises(ZeroDivisionError):
        list(FoundFile(path).checked(reading(2)))
    for fail_at in (None, 1):
        items = FoundFile(path).checked(reading(fail_at))
        assert next(items) == 0
        rewrite(path)
        with pytest.raises(ValueError, match=CHANGED):
            next(items)
    items = FoundFile(path).checked(iter_of := reading())
    next(items)
    items.close()
    assert len(ended) == 5 and next(iter_of, "ended") == "ended"
    items = FoundFile(path).checked(reading())
    assert [next(items) for _ in range(4)] == [0, 1, 2, 3]
    rewrite(path)
    with pytest.raises(ValueError, match=CHANGED):  # when it has been read to its end
        next(items)


@pytest.mark.skipif(os.name != "posix", reason="there are no named pipes")
def test_no_ordinary_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names of sockets must be short
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind("socket")
        for name, said in (
            ("pipe", "named pipe"),
            ("socket", "socket"),
            (".", "folder"),
            ("/dev/null", "device"),
        ):
            with pytest.raises(OSError, match=f"this is a {said}, and no ordinary file: '{name}'"):
                require_ordinary(name)
