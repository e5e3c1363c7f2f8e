"""Machine code kept on disk between runs. Whoever could write there could have it run, so nobody else may.

A folder is used if it is ours and nobody else may write to it; a file, if that holds of it, too, and it is a
plain file. Both are opened first and looked at afterwards, without following links, so that what is looked
at is what is read.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_FORMAT = b"mercer-code-1\n"
_HEAD = len(_FORMAT) + hashlib.sha256().digest_size
# Code of one recipe is some ten thousand bytes.
_MOST = 64 << 20
_OWNED = hasattr(os, "getuid")
# Opening a pipe would wait for somebody who writes to it. Windows has none of these, nor files named by a
# folder that is open.
_SAFELY = sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
_BY_FOLDER = os.open in os.supports_dir_fd


class _Foreign(OSError):
    """Somebody else's, or somebody else may write to it."""


def cache_folder() -> Path | None:
    """Where compiled code is kept between runs: MERCER_CACHE_DIR, or the user's cache folder."""
    chosen = os.environ.get("MERCER_CACHE_DIR")
    if chosen is not None:
        return Path(chosen) if chosen else None  # empty: keep nothing
    try:
        if sys.platform == "win32":
            base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # no home
        return None
    return base / "mercer"


def stored(key: str) -> bytes | None:
    """Machine code kept from an earlier run, if it is whole and ours."""
    try:
        with _opened(make=False) as (place, options):
            if place is None:
                return None
            with open(os.open(place(f"{key}.code"), os.O_RDONLY | _SAFELY, **options), "rb") as file:
                status = os.fstat(file.fileno())
                _require_ours(status)
                if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST:
                    return None
                data = file.read(status.st_size)
    except OSError:
        return None
    code = data[_HEAD:]
    return code if data[:_HEAD] == _FORMAT + _digest(key, code) else None


def store(key: str, code: bytes) -> None:
    """Keep machine code for the next run; where nothing can be written, nothing is kept."""
    with suppress(OSError), _opened(make=True) as (place, options):
        if place is not None:
            _write(place, options, key, _FORMAT + _digest(key, code) + code)


def _write(place: Any, options: dict[str, Any], key: str, data: bytes) -> None:
    """A file that appears under its name when it is whole."""
    temporary = place(f".{key}.{uuid.uuid4().hex}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFELY
    handle = os.open(temporary, flags, 0o600, **options)
    try:
        with open(handle, "wb") as file:
            file.write(data)
        both = {"src_dir_fd": options["dir_fd"], "dst_dir_fd": options["dir_fd"]} if options else {}
        os.replace(temporary, place(f"{key}.code"), **both)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary, **options)
        raise


def _digest(key: str, code: bytes) -> bytes:
    """Ties code to what it was made for: a file under another's name is not taken."""
    return hashlib.sha256(key.encode() + code).digest()


@contextmanager
def _opened(make: bool) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The folder: how a name in it is written, and what os.open is told; (None, {}) if it can't be used."""
    path = cache_folder()
    if path is None:
        yield None, {}
        return
    if make:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _BY_FOLDER:
        yield lambda name: path / name, {}
        return
    try:
        folder = _open_folder(path)
    except _Foreign:
        if make and "MERCER_CACHE_DIR" in os.environ:
            warnings.warn(
                f"compiled code is not kept in {path} (MERCER_CACHE_DIR): it is another user's, or others "
                "may write to it. Choose a folder of your own, and take that right away (chmod 700).",
                RuntimeWarning,
                stacklevel=2,
            )
        yield None, {}
        return
    try:
        yield str, {"dir_fd": folder}
    finally:
        os.close(folder)


def _open_folder(path: Path) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    if os.path.islink(path):  # of our own making it is as good as the folder it leads to
        _require_ours(os.lstat(path), writable=True)
    folder = os.open(path, flags)
    try:
        _require_ours(os.fstat(folder))
    except BaseException:
        os.close(folder)
        raise
    return folder


def _require_ours(status: os.stat_result, writable: bool = False) -> None:
    """Raise unless it is ours and, except for links, whose permissions mean nothing, only we may write."""
    if _OWNED and (status.st_uid != os.getuid() or (status.st_mode & 0o022 and not writable)):
        raise _Foreign
