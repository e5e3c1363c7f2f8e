"""Products with a block of K in cache: against NumPy, within bounds, nothing beside the result touched."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from mercer.engines.fused.code import block_product
from mercer.engines.fused.packed import Times
from mercer.engines.fused.recipe import COLUMNS

TYPES = [("f4", "f4"), ("f4", "f8"), ("f8", "f8")]
every_type = pytest.mark.parametrize("entries, sums", TYPES)


def block(rows, width, gap, dtype, seed=0):
    """(K, the buffer it lies in): what stands between its rows is NaN."""
    buffer = np.full((rows, width + gap), np.nan, dtype)
    buffer[:, :width] = np.random.default_rng(seed).standard_normal((rows, width))
    return buffer[:, :width], buffer


def precision(entries, sums):
    return 1e-14 if sums == "f8" else 1e-6


@every_type
@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("rows", [4, 5, 7, 8, 16, 19])
def test_times(rows, columns, entries, sums):
    width, gap = 128, 16
    K, buffer = block(rows, width, gap, entries)
    V, v_buffer = block(columns, width, 32, sums, seed=1)
    out = np.full((rows + 2, columns + 3), np.nan)
    times = block_product(entries, sums, columns, transposed=False)
    address = out[1:, 1:].ctypes.data
    times(
        buffer.ctypes.data, v_buffer.ctypes.data, address, rows, width, width + gap, width + 32, columns + 3
    )
    exact = K.astype(float) @ V.astype(float).T
    size = np.abs(K.astype(float)) @ np.abs(V.astype(float)).T
    found = out[1 : rows + 1, 1 : columns + 1].copy()
    assert (np.abs(found - exact) <= precision(entries, sums) * size).all()
    out[1 : rows + 1, 1 : columns + 1] = np.nan
    assert np.isnan(out).all()


@every_type
@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("rows", [1, 2, 7, 8, 9, 17])
def test_times_transposed(rows, columns, entries, sums):
    width, gap = 128, 16
    K, buffer = block(rows, width, gap, entries)
    S, s_buffer = block(rows, columns, 3, sums, seed=1)
    start, o_buffer = block(columns, width, 32, sums, seed=2)
    before = start.astype(float)
    times = block_product(entries, sums, columns, transposed=True)
    times(
        buffer.ctypes.data, s_buffer.ctypes.data, o_buffer.ctypes.data,
        rows, width, width + gap, columns + 3, width + 32,
    )  # fmt: skip
    exact = before + S.astype(float).T @ K.astype(float)
    size = np.abs(before) + np.abs(S.astype(float)).T @ np.abs(K.astype(float))
    assert (np.abs(o_buffer[:, :width] - exact) <= precision(entries, sums) * size).all()
    assert np.isnan(o_buffer[:, width:]).all()


@every_type
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5, 7, 10, 13])
def test_any_number_of_columns(columns, entries, sums):
    rows, width, stride = 11, 64, 80
    K, buffer = block(rows, width, stride - width, entries)
    V = np.random.default_rng(1).standard_normal((columns, width)).astype(sums)
    times = Times(np.dtype(entries), np.dtype(sums), columns)
    out = np.full((rows, columns), np.nan)
    times.forward(buffer.ctypes.data, rows, width, stride, V.ctypes.data, width, out)
    size = np.abs(K.astype(float)) @ np.abs(V.astype(float)).T
    assert (np.abs(out - K.astype(float) @ V.astype(float).T) <= precision(entries, sums) * size).all()
    back = np.zeros((columns, width), sums)
    S = np.asfortranarray(np.random.default_rng(2).standard_normal((rows, columns)))
    times.backward(buffer.ctypes.data, rows, width, stride, S, back.ctypes.data, width)
    exact = S.astype(sums).astype(float).T @ K.astype(float)
    assert (np.abs(back - exact) <= precision(entries, sums) * (np.abs(S).T @ np.abs(K.astype(float)))).all()


def test_sums_are_wide_where_entries_are_narrow():
    """Entries that would be lost in float32 sums are not in float64 ones."""
    K = np.ones((4, 1024), np.float32)
    V = np.full((1, 1024), 1e-9)
    V[0, 0] = 1e3
    out = np.empty((4, 1))
    Times(np.dtype("f4"), np.dtype("f8"), 1).forward(K.ctypes.data, 4, 1024, 1024, V.ctypes.data, 1024, out)
    assert np.allclose(out, 1e3 + 1023e-9, rtol=0, atol=1e-10)
