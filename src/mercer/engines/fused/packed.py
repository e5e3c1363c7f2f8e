"""Points in the order in which compiled loops read them, and the calls of these loops on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.engines.fused.code import block_product
from mercer.engines.fused.layout import Layout
from mercer.engines.fused.recipe import COLUMNS

if TYPE_CHECKING:
    from mercer.engines.fused.run import Fused


class Packed:
    """Columns of K, packed in tiles, with room for their entries of V."""

    def __init__(self, layout: Layout, Z: Any, first: int, tile: int, room: np.ndarray | None = None):
        self.first, self.count, self.tile = first, Z.shape[0], tile
        self.tiles = -(-self.count // tile)
        size = self.tiles * tile * layout.width
        self.data = np.empty(size, layout.dtype) if room is None else room[:size]
        layout.pack(Z, tile, self.tiles * tile, "z", self.data)
        self.address = self.data.ctypes.data
        self.table = self.data.reshape(self.tiles, layout.width, tile)

    def entries(self, v: np.ndarray, dtype: Any) -> np.ndarray:
        """v for these columns, 0 for the ones that only fill up the last tile."""
        out = np.zeros((self.tiles * self.tile, *v.shape[1:]), dtype)
        out[: self.count] = v[self.first : self.first + self.count]
        return out


class Times:
    """Products of a block of K in cache with a few columns, with sums in `sums` precision."""

    def __init__(self, entries: np.dtype, sums: np.dtype, columns: int):
        self.sums, self.item = sums, sums.itemsize
        # 7 columns are 4 + 2 + 1.
        self.parts, first = [], 0
        for size in sorted(COLUMNS, reverse=True):
            while columns - first >= size:
                both = (block_product(entries, sums, size, transposed) for transposed in (False, True))
                self.parts.append((first, *both))
                first += size

    def forward(self, K: int, rows: int, width: int, stride: int, V: int, v_stride: int, out: np.ndarray):
        """out = K Vᵀ (rows, t), float64. K and V are addresses; V is (t, width)."""
        address, t = out.ctypes.data, out.shape[1]
        for first, times, _ in self.parts:
            times(K, V + first * v_stride * self.item, address + 8 * first, rows, width, stride, v_stride, t)

    def backward(self, K: int, rows: int, width: int, stride: int, S: np.ndarray, out: int, o_stride: int):
        """out += Sᵀ K (t, width). K and out are addresses."""
        S = np.ascontiguousarray(S, self.sums)
        address, t = S.ctypes.data, S.shape[1]
        for first, _, times in self.parts:
            times(
                K,
                address + first * self.item,
                out + first * o_stride * self.item,
                rows,
                width,
                stride,
                t,
                o_stride,
            )


class PackedRows:
    """PackedRows of K, packed; `fill` computes entries of some of them."""

    def __init__(self, fused: Fused, X: Any, job: str):
        self.fused, self.layout = fused, fused.layout
        self.run, self.block = fused.code(job)
        self.count = X.shape[0]
        padded = -(-self.count // self.block) * self.block
        self.x = np.empty(padded * self.layout.width, fused.dtype)
        self.layout.pack(X, 1 if fused.blas else self.block, padded, "x", self.x)
        self.address = self.x.ctypes.data
        self.table = self.x.reshape(-1, self.layout.width) if fused.blas else None
        self.inner: np.ndarray | None = None

    def _loops(
        self, z: Packed, rows: tuple[int, int], tiles: tuple[int, int], out: int, v: Any, stride: int, m: int
    ):
        """Loops over some rows and tiles; with BLAS one tile at a time, after its inner products."""
        first, last = rows[0], -(-rows[1] // self.block) * self.block
        fixed = (self.address, z.address, *self.fused.addresses)
        tail = (self.fused.tile, stride, rows[1], m)
        if self.table is None:
            self.run(*fixed, None, v, out, first, last, *tiles, *tail)
            return
        if self.inner is None or len(self.inner) < last - first:
            self.inner = np.empty((last - first, self.fused.tile), self.fused.dtype)
        inner = self.inner[: last - first]
        address, L = inner.ctypes.data, self.layout
        for t in range(*tiles):
            offset = L.slots
            for size, group in zip(L.sizes, L.groups, strict=True):
                if group.loaded:
                    part = slice(offset, offset + size)
                    np.matmul(self.table[first:last, part], z.table[t, part], out=inner)
                offset += size
            self.run(*fixed, address, v, out, first, last, t, t + 1, *tail)

    def product(self, z: Packed, tiles: tuple[int, int], v: np.ndarray, height: int) -> np.ndarray:
        """K v over some tiles."""
        sums = np.zeros(-(-self.count // self.block) * self.block)
        for i in range(0, self.count, height):
            rows = (i, min(i + height, self.count))
            self._loops(z, rows, tiles, sums.ctypes.data, v.ctypes.data, 0, 0)
        return sums[: self.count]

    def keep(self, z: Packed, rows: tuple[int, int], K: int, stride: int, v: int, sums: np.ndarray) -> None:
        """Entries of these rows to the address K, and their product with v added to `sums`."""
        last = -(-rows[1] // self.block) * self.block
        # The loops count rows of `sums` from the first that is packed.
        out = sums.ctypes.data - 8 * rows[0]
        fixed = (self.address, z.address, *self.fused.addresses)
        self.run(*fixed, K, v, out, rows[0], last, 0, z.tiles, self.fused.tile, stride, 0, 0)

    def symmetric(
        self, z: Packed, tile: int, v: np.ndarray, out: np.ndarray, first: int, height: int
    ) -> None:
        """out += K v for rows `first` … and the columns from `tile` on, and for these columns as rows."""
        for i in range(0, self.count, height):
            rows = (i, min(i + height, self.count))
            self._loops(z, rows, (tile, z.tiles), out.ctypes.data, v.ctypes.data, first, 0)

    def fill(
        self, z: Packed, rows: tuple[int, int], tiles: tuple[int, int], out: int, stride: int, width: int
    ):
        """Entries of these rows and tiles to the address `out`; no more than `width` columns."""
        item, first = self.fused.dtype.itemsize, tiles[0] * self.fused.tile
        # The loops count rows from 0 and columns from the first tile that is packed.
        origin = out - (rows[0] * stride + first) * item
        self._loops(z, rows, tiles, origin, None, stride, first + width)
