"""Files that rows are read from: ordinary ones, which stay as they are as long as they are read."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


class FoundFile:
    """A file as it was when it was found: another size or another time of writing means that it has changed.

    A file that took its place with the same size and time is told by its number in the file system. Numbers
    alone do not tell, since some file systems behind a network give a file a new one now and then: so the
    time at which the file came to its place must be another, too. Other processes, which may see a copy,
    compare sizes and times of writing only.

    Parameters
    ----------
    path : path of the file
    about : os.stat_result, optional
        What the system says of it, where that has been asked for already.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "a.txt")
    >>> _ = path.write_text("1")
    >>> found = FoundFile(path)
    >>> _ = path.write_text("12")
    >>> found.check()
    Traceback (most recent call last):
    ValueError: ...a.txt has changed since it was opened: open the rows again, and start over
    """

    def __init__(self, path: str | os.PathLike[str], about: os.stat_result | None = None):
        self.path = Path(path)
        about = os.stat(path) if about is None else about
        require_ordinary(path, about)
        self.size, self.written = about.st_size, about.st_mtime_ns
        self._place: tuple[int, int] | None = (about.st_ino, about.st_ctime_ns)

    def check(self, about: os.stat_result | None = None) -> None:
        """An error if the file has changed."""
        about = os.stat(self.path) if about is None else about
        same = (about.st_size, about.st_mtime_ns) == (self.size, self.written)
        if same and self._place is not None:
            number, since = self._place
            same = about.st_ino == number or about.st_ctime_ns == since
        if not same:
            raise ValueError(
                f"{self.path} has changed since it was opened: open the rows again, and start over"
            )

    def checked(self, items: Iterator[T]) -> Generator[T]:
        """What is read from the file, piece by piece, each of them handed on if the file is as it was."""
        return checked(items, lambda item: self.check())

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_place": None}


def checked(items: Iterator[T], check: Callable[[T | None], None]) -> Generator[T]:
    """What is read piece by piece, each handed on after check(piece), and check(None) before and in the end.

    So none comes from a file that was being written anew; and where reading one fails, that it was is the
    error that is raised.
    """
    check(None)
    try:
        while True:
            try:
                item = next(items)
            except StopIteration:
                return check(None)
            except Exception:
                check(None)
                raise
            check(item)
            yield item
    finally:
        items.close()  # type: ignore[attr-defined]


def require_ordinary(path: str | os.PathLike[str], about: os.stat_result | None = None) -> None:
    """Refuse pipes and sockets, on which one would wait for a writer for ever, and devices."""
    mode = (os.stat(path) if about is None else about).st_mode
    if not stat.S_ISREG(mode):
        kinds = ((stat.S_ISFIFO, "a named pipe"), (stat.S_ISSOCK, "a socket"), (stat.S_ISDIR, "a folder"))
        what = next((name for is_one, name in kinds if is_one(mode)), "a device")
        raise OSError(errno.EINVAL, f"this is {what}, and no ordinary file", os.fspath(path))
