"""Arrays as members: NumPy reads what is written, and nothing else is read."""

import io

import numpy as np
import pytest

from mercer.io.arrays import Entry, dtype_of, is_portable, portable, read, shape_of, write
from mercer.io.errors import ModelFileError

ARRAYS = [
    np.arange(12.0).reshape(3, 4),
    np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    np.arange(5, dtype=np.float32),
    np.array([np.nan, np.inf, -0.0], dtype=np.float16),
    np.arange(6, dtype=np.uint8).reshape(1, 6, 1),
    np.array([True, False]),
    np.array(["a", "größer", ""]),
    np.array([b"ab", b"c"]),
    np.array(["2024-02-29", "NaT"], dtype="datetime64[us]"),
    np.array([5, 7], dtype="timedelta64[s]"),
    np.array(3.5),
    np.empty((0, 7)),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}{a.shape}")
def test_round_trip(array):
    stored = portable(array)
    stream = io.BytesIO()
    write(stream, stored)
    entry = Entry.read(Entry.of(stored).line())
    assert stream.tell() == entry.size and entry.size - entry.data_bytes == len(entry.header)
    assert len(entry.header) % 64 == 0
    stream.seek(0)
    again = read(stream, entry)
    assert again.dtype == array.dtype and again.tobytes("A") == array.tobytes("A")
    assert again.shape == array.shape and (array.size == 0 or again.strides == stored.strides)
    stream.seek(0)
    theirs = np.load(stream, allow_pickle=False)  # an independent reader
    assert theirs.dtype == array.dtype and theirs.tobytes() == array.tobytes()


def test_portable():
    assert portable(np.arange(3, dtype=">f8")).dtype.str == "<f8"
    assert portable(np.arange(10.0)[::2]).tolist() == [0, 2, 4, 6, 8]
    assert portable(np.zeros(3, "<U0")).dtype.str == "<U1"
    for strange in (
        np.zeros(2, complex),
        np.zeros(2, object),
        np.zeros(2, "f8,i4"),
        np.zeros(2, np.longdouble),
    ):
        assert not is_portable(strange)


@pytest.mark.parametrize(
    "text", ["|O", "O", "f8", ">f8", "<c16", "|V8", "<f16", "<U0", "<M8", "f8,i4", "", None, 8]
)
def test_other_dtypes_are_refused(text):
    with pytest.raises(ModelFileError, match="none this format has"):
        dtype_of(text)


@pytest.mark.parametrize("shape", [[-1], [1.0], [True], ["3"], [1] * 17, [1 << 48], None, "3", (3,), {}])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ModelFileError, match="no shape"):
        shape_of(shape)


@pytest.mark.parametrize(
    "line", [None, {}, {"dtype": "<f8", "shape": [1]}, {"dtype": "<f8", "shape": [1], "order": "K"}]
)
def test_other_lines_are_refused(line):
    with pytest.raises(ModelFileError):
        Entry.read(line)


def test_members_that_are_not_what_the_manifest_says():
    stream = io.BytesIO()
    write(stream, np.arange(4.0))
    blob, entry = stream.getvalue(), Entry(np.dtype("<f8"), (4,), "C")
    with pytest.raises(ModelFileError, match="header"):
        read(io.BytesIO(blob), Entry(np.dtype("<f8"), (2, 2), "C"))
    with pytest.raises(ModelFileError, match="ends too early"):
        read(io.BytesIO(blob[:-1]), entry)
    letters = Entry(np.dtype("<U1"), (1,), "C")
    with pytest.raises(ModelFileError, match="no characters"):
        read(io.BytesIO(letters.header + b"\xff\xff\xff\xff"), letters)
    truths = Entry(np.dtype("|b1"), (1,), "C")
    with pytest.raises(ModelFileError, match="truth values"):
        read(io.BytesIO(truths.header + b"\x02"), truths)
