"""Arrays as members of a model file: NumPy's own file format, version 1.0, in one fixed spelling.

What an array is (dtype, shape, order) stands in the manifest. The member's header repeats it in exactly
one way, so that it is compared and never parsed; other programmes read the member with ``numpy.load``.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from mercer.io.errors import ModelFileError

_MAGIC = b"\x93NUMPY\x01\x00"
_ALIGN = 64
_MOST_DIMENSIONS = 16
_CHUNK = 1 << 20
_LAST_CHARACTER = 0x10FFFF
_DTYPE = re.compile(
    r"\|b1|[|](?:i1|u1)|<(?:i|u)[248]|<f[248]|<U[1-9][0-9]{0,7}|\|S[1-9][0-9]{0,7}"
    r"|<[mM]8\[(?:Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\]"
)


def dtype_of(text: Any) -> np.dtype:
    """The dtype with this name, if it is one that files may hold: numbers, text, dates; no objects."""
    if not isinstance(text, str) or not _DTYPE.fullmatch(text):
        raise ModelFileError(f"it holds an array of type {text!r}, which is none this format has")
    return np.dtype(text)


def is_portable(array: np.ndarray) -> bool:
    """Is its dtype one that files hold?"""
    return _DTYPE.fullmatch(_stored_dtype(array).str) is not None


def portable(array: np.ndarray) -> np.ndarray:
    """The array as it is stored, little-endian and contiguous; itself where it is that already."""
    array = array.astype(_stored_dtype(array), copy=False)
    if array.flags.c_contiguous or array.flags.f_contiguous:
        return array
    return np.ascontiguousarray(array)


def _stored_dtype(array: np.ndarray) -> np.dtype:
    dtype = array.dtype.newbyteorder("<")
    # Text of width 0 is read as of width 1 by NumPy itself.
    return np.dtype(f"<{dtype.kind}1") if dtype.itemsize == 0 and dtype.kind in "US" else dtype


@dataclass(frozen=True)
class Entry:
    """A line of the manifest."""

    dtype: np.dtype
    shape: tuple[int, ...]
    order: str

    @classmethod
    def of(cls, array: np.ndarray) -> Entry:
        return cls(array.dtype, array.shape, "C" if array.flags.c_contiguous else "F")

    @classmethod
    def read(cls, line: Any) -> Entry:
        if not isinstance(line, dict) or set(line) != {"dtype", "shape", "order"}:
            raise ModelFileError("a line of its list of arrays has not the form this format gives it")
        if line["order"] not in ("C", "F"):
            raise ModelFileError(
                f"it holds an array in the order {line['order']!r}, which is neither C nor F"
            )
        return cls(dtype_of(line["dtype"]), shape_of(line["shape"]), line["order"])

    def line(self) -> dict[str, Any]:
        return {"dtype": self.dtype.str, "shape": list(self.shape), "order": self.order}

    @property
    def data_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def header(self) -> bytes:
        """What NumPy's version 1.0 puts before the data, padded to a multiple of 64 bytes."""
        fortran = self.order == "F"
        text = f"{{'descr': '{self.dtype.str}', 'fortran_order': {fortran}, 'shape': {self.shape!r}, }}"
        length = -(-(len(_MAGIC) + 2 + len(text) + 1) // _ALIGN) * _ALIGN - len(_MAGIC) - 2
        return _MAGIC + length.to_bytes(2, "little") + text.ljust(length - 1).encode("ascii") + b"\n"

    @property
    def size(self) -> int:
        """Bytes of the member."""
        return len(self.header) + self.data_bytes


def shape_of(sizes: Any) -> tuple[int, ...]:
    """A shape from a file: a short list of numbers that are not negative."""
    fine = isinstance(sizes, list) and len(sizes) <= _MOST_DIMENSIONS
    if not fine or not all(type(n) is int and 0 <= n < 1 << 48 for n in sizes):
        raise ModelFileError(f"it holds an array of shape {str(sizes)[:80]}, which is no shape")
    return tuple(sizes)


def write(stream: BinaryIO, array: np.ndarray) -> None:
    """Header and data of an array that `portable` returned."""
    entry = Entry.of(array)
    stream.write(entry.header)
    # In the order in which the data lie in memory, as one axis; no copy.
    stream.write((array if entry.order == "C" else array.T).reshape(-1).view(np.uint8).data)


def read(stream: BinaryIO, entry: Entry) -> np.ndarray:
    """The array a manifest line speaks of; `stream` holds as many bytes as it needs."""
    header = entry.header
    if stream.read(len(header)) != header:
        raise ModelFileError("the header of an array is not what the list of arrays says")
    flat = np.empty(math.prod(entry.shape), entry.dtype)
    data = flat.view(np.uint8).data
    for i in range(0, len(data), _CHUNK):
        part = data[i : i + _CHUNK]
        if stream.readinto(part) != len(part):  # type: ignore[attr-defined]
            raise ModelFileError("an array ends too early")
    # Values that no array made by NumPy has, and that it does not expect to meet.
    if entry.dtype.kind == "U" and flat.size and int(flat.view("<u4").max()) > _LAST_CHARACTER:
        raise ModelFileError("an array of text holds numbers that are no characters")
    if entry.dtype.kind == "b" and flat.size and int(flat.view(np.uint8).max()) > 1:
        raise ModelFileError("an array of truth values holds other values than 0 and 1")
    return flat.reshape(entry.shape, order=entry.order)  # type: ignore[call-overload]
