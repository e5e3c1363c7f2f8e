"""Rows of arrays: in memory, memory-mapped, or in .npy files, which are read piece by piece."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from mercer._files import open_plain
from mercer.rows.base import Rows, Shard, cut, rows_of_a_shard
from mercer.rows.files import FoundFile

# Rows that are looked at for a fingerprint.
_LOOKED_AT = 64


class ArrayFile:
    """An array in a file whose rows are read when they are asked for.

    No page of the file is mapped, so what has been read does not count as this process's memory.

    Parameters
    ----------
    path : path of the file
    shape, dtype : of the array
    offset : int
        Bytes of the file before it.
    found : FoundFile, optional
        The file as it must stay.
    """

    def __init__(
        self, path: Any, shape: tuple[int, ...], dtype: Any, offset: int, found: FoundFile | None = None
    ):
        self.path, self.shape, self.dtype, self.offset = Path(path), tuple(shape), np.dtype(dtype), offset
        self.found = found
        need = offset + self.dtype.itemsize * int(np.prod(shape, dtype=object))
        if (size := os.stat(self.path).st_size) < need:
            raise ValueError(f"{self.path} ends early: {size:,} bytes, and its header promises {need:,}")

    @classmethod
    def open(cls, path: Any) -> ArrayFile:
        """That of a .npy file; it holds numbers (or words), never objects."""
        with open_plain(path) as file:
            try:
                version = np.lib.format.read_magic(file)
                read = {
                    (1, 0): np.lib.format.read_array_header_1_0,
                    (2, 0): np.lib.format.read_array_header_2_0,
                }
                shape, fortran, dtype = read[version](file)
            except (ValueError, KeyError) as error:
                raise ValueError(f"{path} is no .npy file: {error}") from None
            if dtype.hasobject:
                raise ValueError(f"{path} holds Python objects, which are not read: save numbers")
            if fortran and len(shape) > 1:
                raise ValueError(
                    f"{path} is stored column by column; np.save(path, np.ascontiguousarray(X)) stores rows"
                )
            found = FoundFile(path, os.fstat(file.fileno()))
            return cls(path, shape, dtype, file.tell(), found)

    @classmethod
    def of_memmap(cls, array: np.ndarray) -> ArrayFile | None:
        """That of a memory-mapped array, if rows lie in the file as they do in the array."""
        name = getattr(array, "filename", None)
        base: Any = array
        while isinstance(base, np.ndarray) and base.base is not None and not isinstance(base.base, bytes):
            if not isinstance(base.base, np.ndarray):
                break
            base = base.base
        mode = getattr(array, "mode", "c")
        if name is None or mode == "c" or not array.flags.c_contiguous or not isinstance(base, np.memmap):
            return None
        if mode != "r":
            base.flush()  # what was written to the array is in the file from now on
        ahead = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        with open_plain(name) as file:
            found = FoundFile(name, os.fstat(file.fileno()))
        return cls(name, array.shape, array.dtype, base.offset + ahead, found)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> np.ndarray:
        first, stop, _ = rows.indices(len(self))
        count, width = max(stop - first, 0), int(np.prod(self.shape[1:], dtype=object))
        with open_plain(self.path) as file:
            file.seek(self.offset + first * width * self.dtype.itemsize)
            out = np.fromfile(file, self.dtype, count * width)
            if self.found is not None:
                self.found.check(os.fstat(file.fileno()))
        if len(out) != count * width:
            raise OSError(f"{self.path} ends early: it was cut short while it was read")
        return out.reshape(count, *self.shape[1:])


class MappedArray:
    """A memory-mapped array whose rows do not lie in the file as they do in the array. The file must stay."""

    def __init__(self, array: np.ndarray, path: str | os.PathLike[str]):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype
        self.found = FoundFile(path)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> np.ndarray:
        self.found.check()  # to read beyond the end of a file that is shorter now would end the process
        out = np.array(self.array[rows])
        self.found.check()
        return out

    def __reduce__(self) -> tuple[Any, ...]:
        # It travels as NumPy sends memory-mapped arrays: as numbers.
        return np.asarray, (self[slice(None)],)


def array_of(value: Any, name: str = "X") -> Any:
    """Paths of .npy files and memory-mapped arrays as arrays in files that must stay; arrays as they are."""
    if isinstance(value, (str, os.PathLike)):
        return ArrayFile.open(value)
    if isinstance(value, np.memmap):
        path = getattr(value, "filename", None)
        return ArrayFile.of_memmap(value) or (value if path is None else MappedArray(value, path))
    if isinstance(value, np.ma.MaskedArray):
        if np.ma.is_masked(value):
            raise ValueError(
                f"{name} is an array with masked values: leave them out, or make missing numbers of them by "
                ".astype(float).filled(np.nan), and open_rows(…, missing=…) says what becomes of these"
            )
        return value.data
    if value is None or (hasattr(value, "shape") and not hasattr(value, "to_numpy")):
        return value
    return np.asarray(value)


def beside(n: int, y: Any, w: Any) -> tuple[Any, Any]:
    """Targets and weights of n rows, as `array_of` has them; what can't be either is refused."""
    y, w = array_of(y, "y"), array_of(w, "sample_weight")
    if w is not None and w.dtype.kind == "O":
        with suppress(TypeError, ValueError):  # what is none is refused below
            w = np.asarray(w).astype(np.float64)
    for name, values, kinds in (("y", y, "fiubUSOmM"), ("the weights", w, "fiub")):
        if values is None:
            continue
        if values.dtype.kind not in kinds:
            raise ValueError(f"{name} can't be {values.dtype}: real numbers are wanted")
        if not values.shape or values.shape[0] != n:
            count = f"{values.shape[0]:,}" if values.shape else "is a single value"
            raise ValueError(f"X has {n:,} rows, {name} {count}")
    if w is not None and len(w.shape) != 1:
        raise ValueError(f"weights are one number a row, and sample_weight has the shape {w.shape}")
    return y, w


class ArrayRows(Rows):
    """Rows of arrays in memory, memory-mapped arrays or .npy files.

    Parameters
    ----------
    X : array, memory-mapped array or path of a .npy file, shape (n, d)
    y, w : the same, shape (n,) or (n, t), and (n,); or None
    rows : int, optional
        Rows of a shard.
    names : names of the features

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> rows = ArrayRows(X, X[:, 0], rows=4)
    >>> rows.sizes, rows.total(lambda shard: (shard.X.sum(axis=0),))
    ((4, 2), (array([30., 36.]),))
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        w: Any = None,
        rows: int | None = None,
        names: Sequence[str] | None = None,
    ):
        self.X = array_of(X)
        if len(self.X.shape) != 2:
            raise ValueError(f"X must have rows and columns, but its shape is {self.X.shape}")
        self.y, self.w = beside(self.X.shape[0], y, w)
        if self.X.dtype.kind not in "fiub":
            raise ValueError(f"X must hold numbers, got {self.X.dtype}")
        self.shape = (int(self.X.shape[0]), int(self.X.shape[1]))
        if not self.shape[1]:
            raise ValueError("X has no columns")
        self.dtype = np.dtype(np.float32 if self.X.dtype in (np.float32, np.float16) else np.float64)
        self.names, self.has_y, self.has_w = names, y is not None, w is not None
        n, d = self.shape
        self.sizes = cut(n, rows or rows_of_a_shard(n, d, self.dtype.itemsize))
        self._first = np.concatenate([[0], np.cumsum(self.sizes)]).astype(int).tolist()

    def recut(self, rows):
        return ArrayRows(self.X, self.y, self.w, rows, self.names)

    def shard(self, k):
        rows = slice(self._first[k], self._first[k + 1])
        X = np.ascontiguousarray(np.asarray(self.X[rows]), dtype=self.dtype)
        y, w = (None if a is None else np.asarray(a[rows]) for a in (self.y, self.w))
        return Shard(X, y, w, rows.start)

    def fingerprint(self):
        digest = hashlib.sha256(repr((self.shape, self.dtype.str, self.sizes)).encode())
        for array in (self.X, self.y, self.w):
            if array is not None:
                digest.update(look_at(array).encode())
        return digest.hexdigest()


def look_at(array: Any) -> str:
    """Some rows of an array, evenly spread, as text."""
    return repr([np.asarray(array[row : row + 1]).tolist() for row in spread(array.shape[0])])


def spread(n: int) -> list[int]:
    """Some of n rows, evenly spread.

    >>> spread(3)
    [0, 1, 2]
    """
    return np.unique(np.linspace(0, max(n - 1, 0), min(n, _LOOKED_AT)).astype(int)).tolist()
