""".npy files that are written piece by piece: at their end, or anywhere if the shape is known."""

from __future__ import annotations

import io
import os
from typing import BinaryIO

import numpy as np

# Room for the header, so that the shape can be written at the end.
HEADER = 256


def header(shape: tuple[int, ...], dtype: np.dtype) -> bytes:
    """The first bytes of a .npy file, always as many.

    >>> import io
    >>> array = np.load(io.BytesIO(header((2,), np.dtype("<f4")) + np.ones(2, "<f4").tobytes()))
    >>> array
    array([1., 1.], dtype=float32)
    """
    buffer = io.BytesIO()
    about = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, about)
    start = buffer.getvalue()
    if len(start) > HEADER:
        raise ValueError(f"arrays of {dtype} are not written")
    # The length of the header is in its bytes 8 and 9; it is filled up by blanks, and ends by a line end.
    filled = start.rstrip(b"\n ").ljust(HEADER - 1) + b"\n"
    return filled[:8] + (HEADER - 10).to_bytes(2, "little") + filled[10:]


class NpyAppender:
    """Rows that are appended to an open file; `finish` writes how many they were.

    >>> file = io.BytesIO()
    >>> out = NpyAppender(file)
    >>> out.append(np.array([[1, 2]])), out.append(np.array([[3, 4]])), out.finish()
    (None, None, None)
    >>> np.load(io.BytesIO(file.getvalue())).tolist()
    [[1, 2], [3, 4]]
    """

    def __init__(self, file: BinaryIO):
        self.file, self.rows = file, 0
        self.dtype: np.dtype | None = None
        self.width: tuple[int, ...] = ()

    def append(self, block: np.ndarray) -> None:
        """Write some more rows, of the kind of the first ones."""
        if self.dtype is None:
            self.dtype, self.width = block.dtype, block.shape[1:]
            self.file.write(header((0, *self.width), self.dtype))
        if block.dtype != self.dtype or block.shape[1:] != self.width:
            raise ValueError(
                f"rows of {block.dtype} and shape {block.shape[1:]} can't follow rows of {self.dtype} and "
                f"shape {self.width}"
            )
        self.file.write(np.ascontiguousarray(block).data)
        self.rows += len(block)

    def finish(self) -> None:
        """Write the number of rows into the header."""
        if self.dtype is None:
            raise ValueError("there are no rows to write")
        self.file.seek(0)
        self.file.write(header((self.rows, *self.width), self.dtype))
        self.file.seek(0, os.SEEK_END)
