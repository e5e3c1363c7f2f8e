"""Files that appear in one step: a reader finds the old file or the new one, never half of it."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO


def open_plain(path: str | os.PathLike[str]) -> BinaryIO:
    """A file for reading. A pipe, on which one would wait for a writer, or a device is refused."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "this is no ordinary file", os.fspath(path))
        return open(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


@contextmanager
def replacing(path: str | os.PathLike[str], *, text: bool = False) -> Iterator[IO[Any]]:
    """An open file that takes the place of `path` when the block ends, and vanishes if it fails.

    Parameters
    ----------
    path : where the file shall be
        A link stays a link; permissions of a file that is replaced are kept.
    text : bool
        Take text (UTF-8, line ends as written) instead of bytes.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with replacing(folder.name + "/note", text=True) as out:
    ...     _ = out.write("whole")
    >>> Path(folder.name, "note").read_text()
    'whole'
    >>> folder.cleanup()
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name[:100]}.{uuid.uuid4().hex}.tmp")
    # Nobody may read of a new file while it is made what they may not read of the old one.
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags, mode)

    form: dict[str, Any] = {"mode": "x", "encoding": "utf-8", "newline": ""} if text else {"mode": "xb"}
    try:
        with open(temporary, opener=opener, **form) as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
