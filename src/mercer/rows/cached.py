"""Decoded rows kept on disk, as plain .npy files: a later pass reads them without decoding anything."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
import threading
import uuid
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from mercer._files import replacing
from mercer.rows.arrays import ArrayFile
from mercer.rows.base import Shard
from mercer.rows.columns import ChosenColumns, CodedWords, WholeNumbers
from mercer.rows.npy import HEADER, header
from mercer.rows.source import Identity

# So much of the disk stays free for others: a share of it, and never less than this.
RESERVE_SHARE, RESERVE_BYTES = 0.05, 1 << 30
# A target with more words than this is a text, and no label.
MOST_LABELS = 100_000
_VERSION = 2
_MISSING = -1


class RowStore:
    """Decoded rows in files X.npy, y.npy and w.npy of a folder, filled in any order.

    Words are kept as numbers, with the list of them in about.json, which is written last: a folder without it
    is not complete. Beside whole numbers, absent.npy says which of them are missing.

    Parameters
    ----------
    folder : Path of the folder the files are in
    columns : what is kept
    final : Path, optional
        Where the folder goes when it is complete, to be found again. Without it, it is removed when this
        object is, or when the process ends.
    """

    def __init__(self, folder: Path, columns: ChosenColumns, final: Path | None = None):
        self.folder, self.columns, self.final = folder, columns, final
        self.spans: list[tuple[int, int]] = []
        self.labels: dict[str, int] = {}
        self.rows: int | None = None
        self._lock = threading.Lock()
        kinds = {"X": columns.dtype, "w": np.dtype(np.float64), "y": columns.y_dtype}
        self._kinds: dict[str, tuple[np.dtype, tuple[int, ...]]] = {
            "X": (columns.dtype, (len(columns.features),))
        }
        if columns.target is not None:
            kind = np.dtype(np.int32) if columns.words else kinds["y"]
            several = () if isinstance(columns.target, str) else (len(columns.targets),)
            self._kinds["y"] = (np.dtype(kind), several)
        if columns.whole:
            self._kinds["absent"] = (np.dtype(bool), ())
        if columns.weight is not None:
            self._kinds["w"] = (np.dtype(np.float64), ())
        self._remove = weakref.finalize(self, _removed, folder, os.getpid())

    # -- made or found ------------------------------------------------------------------------------

    @classmethod
    def private(cls, columns: ChosenColumns, need: int, where: Path | None = None) -> RowStore:
        """One in a folder that only this user can read, which is removed in the end."""
        place = where or temporary_place()
        _require_room(place, need)
        return cls(Path(tempfile.mkdtemp(prefix="mercer-rows-", dir=place)), columns)

    @classmethod
    def kept(cls, place: Path, columns: ChosenColumns, identity: Identity, need: int) -> RowStore:
        """The one in a user's folder that goes with these files and columns: as it is, or a new one."""
        final = place / _key(identity, columns)
        if (found := cls.found(final, columns)) is not None:
            return found
        _require_room(place, need)
        folder = place / f".{final.name}.{uuid.uuid4().hex}.tmp"
        folder.mkdir(mode=0o700)
        return cls(folder, columns, final)

    @classmethod
    def found(cls, folder: Path, columns: ChosenColumns) -> RowStore | None:
        """A complete one in this folder, which stays where it is; None if there is none that is sound."""
        try:
            about = json.loads((folder / "about.json").read_text("utf-8"))
            rows, labels = about["rows"], about["labels"]
            sound = about["version"] == _VERSION and isinstance(rows, int) and rows >= 0
            sound = sound and all(isinstance(label, str) for label in labels)
            if not sound:
                return None
            store = cls(folder, columns)
            store._remove.detach()
            store.rows, store.spans = rows, [(0, rows)] if rows else []
            store.labels = {label: i for i, label in enumerate(labels)}
            for name, (dtype, width) in store._kinds.items():
                array = ArrayFile.open(folder / f"{name}.npy")
                if array.shape != (rows, *width) or array.dtype != dtype:
                    return None
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return store

    # -- filled and read ----------------------------------------------------------------------------

    def covers(self, first: int, stop: int) -> bool:
        """Are these rows here?"""
        return any(a <= first and stop <= b for a, b in self.spans)

    def put(self, first: int, X: np.ndarray, y: Any, w: np.ndarray | None) -> None:
        """Keep rows from number `first` on; y is as `ChosenColumns.y` gives it."""
        with self._lock:
            arrays = {"X": X, "y": y, "w": w}
            if isinstance(y, CodedWords):
                arrays["y"] = self._coded(y)
            elif isinstance(y, WholeNumbers):
                arrays |= {"y": y.values, "absent": y.absent}
            _require_room(self.folder, sum(np.asarray(arrays[name]).nbytes for name in self._kinds))
            for name in self._kinds:
                array = np.ascontiguousarray(arrays[name])
                size = array.nbytes // max(len(array), 1)
                with open(self.folder / f"{name}.npy", "ab", buffering=0):
                    pass  # made, where it is not there
                with open(self.folder / f"{name}.npy", "r+b", buffering=0) as file:
                    file.seek(HEADER + first * size)
                    _written(file, array)
            self._add(first, first + len(X))

    def get(self, first: int, stop: int) -> Shard:
        """Rows that it holds."""
        found = {}
        for name, (dtype, width) in self._kinds.items():
            file = ArrayFile(self.folder / f"{name}.npy", (stop, *width), dtype, HEADER)
            found[name] = file[first:stop]
        y = found.get("y")
        if self.columns.words and y is not None:
            if len(y) and not _MISSING <= y.min() <= y.max() < len(self.labels):
                raise ValueError(f"the cache {self.folder} is not sound: remove it")
            y = CodedWords(y, tuple(self.labels)).array()
        elif y is not None and "absent" in found:
            y = WholeNumbers(y, found["absent"]).array()
        return Shard(found["X"], y, found.get("w"), first)

    def finish(self, rows: int) -> None:
        """All rows are here: write what is to be known about them, and move to the final place."""
        with self._lock:
            if self.rows is not None:
                return
            for name, (dtype, width) in self._kinds.items():
                with open(self.folder / f"{name}.npy", "r+b") as file:
                    file.write(header((rows, *width), dtype))
                    if self.final is not None:
                        file.flush()
                        os.fsync(file.fileno())
            about = {"version": _VERSION, "rows": rows, "labels": list(self.labels)}
            with replacing(self.folder / "about.json", text=True) as out:
                json.dump(about, out)
            self.rows = rows
            if self.final is not None:
                self._settle(self.final)

    def discard(self) -> None:
        """Remove it now."""
        self._remove()

    def _settle(self, final: Path) -> None:
        for old in final.parent.glob(final.name.partition("-")[0] + "-*"):
            if old != final:  # made from the same files, which have changed since
                shutil.rmtree(old, ignore_errors=True)
        if final.exists() and RowStore.found(final, self.columns) is None:
            shutil.rmtree(final, ignore_errors=True)
        try:
            os.rename(self.folder, final)
        except OSError:
            if RowStore.found(final, self.columns) is None:
                raise
            # Somebody else was faster, with the same rows.
            shutil.rmtree(self.folder, ignore_errors=True)
        self._remove.detach()
        self.folder = final

    def _coded(self, y: CodedWords) -> np.ndarray:
        own = [self.labels.setdefault(word, len(self.labels)) for word in y.words]
        if len(self.labels) > MOST_LABELS:
            raise ValueError(
                f"column {self.columns.target!r} has more than {MOST_LABELS:,} different words: it is a "
                "text, and can't be a label"
            )
        return np.array([*own, _MISSING], dtype=np.int32)[y.codes]

    def _add(self, first: int, stop: int) -> None:
        merged: list[tuple[int, int]] = []
        for a, b in sorted([*self.spans, (first, stop)]):
            if merged and a <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(b, merged[-1][1]))
            else:
                merged.append((a, b))
        self.spans = merged


def temporary_place() -> Path:
    """A folder for temporary files that is on a disk, and not in memory."""
    for place in (tempfile.gettempdir(), "/var/tmp"):
        if os.path.isdir(place) and not _in_memory(place):
            return Path(place)
    raise OSError(errno.ENOSPC, "temporary folders are in memory; cache= takes a folder on a disk")


def row_bytes(columns: ChosenColumns) -> int:
    """Bytes of a decoded row."""
    y = 0 if columns.y_dtype is None else 4 if columns.words else columns.y_dtype.itemsize
    weight = 0 if columns.weight is None else 8
    several = y * max(len(columns.targets), 1)
    return len(columns.features) * columns.dtype.itemsize + several + weight + columns.whole


def _in_memory(place: str) -> bool:
    """Is it a file system without a disk below (tmpfs)?"""
    try:
        with open("/proc/mounts", encoding="utf-8", errors="replace") as file:
            mounts = [line.split()[1:3] for line in file]
    except OSError:
        return False
    real = os.path.realpath(place)
    above = [m for m in mounts if real == m[0] or real.startswith(m[0].rstrip("/") + "/")]
    return bool(above) and max(above, key=lambda m: len(m[0]))[1] in ("tmpfs", "ramfs")


def _require_room(place: Path, need: int) -> None:
    usage = shutil.disk_usage(place)
    reserve = max(int(usage.total * RESERVE_SHARE), RESERVE_BYTES)
    if usage.free - need < reserve:
        raise OSError(
            errno.ENOSPC,
            f"{need / 1e9:.2f} GB are needed and {usage.free / 1e9:.1f} GB free, of which "
            f"{reserve / 1e9:.1f} GB stay for others, in {place}",
        )


def _written(file: Any, array: np.ndarray) -> None:
    left = array.reshape(-1).view(np.uint8).data
    while len(left):
        left = left[file.write(left) :]


def _key(identity: Identity, columns: ChosenColumns) -> str:
    """A name for a folder: which columns of which files, and after the hyphen in which state they were."""
    paths = hashlib.sha256(repr(([path for path, _, _ in identity], columns)).encode()).hexdigest()[:16]
    state = hashlib.sha256(repr([found[1:] for found in identity]).encode()).hexdigest()[:16]
    return f"{paths}-{state}"


def _removed(folder: Path, pid: int) -> None:
    # A forked process has a copy of the object, and no right to the folder.
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)
