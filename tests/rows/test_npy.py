""".npy files that NumPy reads."""

import io

import numpy as np
import pytest

from mercer.rows.npy import HEADER, NpyAppender, header


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "?", "u2", "<U5"])
@pytest.mark.parametrize("shape", [(3,), (3, 2), (0, 4)])
def test_headers(dtype, shape):
    array = np.zeros(shape, dtype)
    start = header(shape, array.dtype)
    assert len(start) == HEADER
    found = np.load(io.BytesIO(start + array.tobytes()))
    assert found.shape == shape and found.dtype == array.dtype
    assert len(header((10**18, 10**9), array.dtype)) == HEADER


def test_appended():
    file, rng = io.BytesIO(), np.random.default_rng(0)
    out, parts = NpyAppender(file), [rng.random((n, 3)) for n in (2, 0, 5)]
    for part in parts:
        out.append(part)
    with pytest.raises(ValueError, match="can't follow"):
        out.append(np.zeros((1, 2)))
    with pytest.raises(ValueError, match="can't follow"):
        out.append(np.zeros((1, 3), np.float32))
    out.finish()
    assert np.array_equal(np.load(io.BytesIO(file.getvalue())), np.concatenate(parts)) and out.rows == 7
    with pytest.raises(ValueError, match="no rows"):
        NpyAppender(io.BytesIO()).finish()
    with pytest.raises(ValueError, match="are not written"):
        header((1,), np.dtype([(f"field{i}", "f8") for i in range(40)]))
