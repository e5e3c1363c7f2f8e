"""Products and matrices through the fused loops: packing, tiles, threads, bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mercer.engines.fused.code import loops
from mercer.engines.fused.layout import Layout
from mercer.engines.fused.target import host
from mercer.engines.threads import parallel_map
from mercer.kernels.formula import Formula

# Packed columns are kept for a pass over all rows: few enough bytes for the caches beyond the first.
_PACKED_BYTES = 8 << 20
# A block of K, or of inner products, that is written and read back stays in a core's own cache.
_BLOCK_BYTES = 512 << 10
_TILE = 256
_BLAS_TILE = 512
_ROWS = 1024


class Packed:
    """Columns of K, packed in tiles, with room for their entries of V."""

    def __init__(self, layout: Layout, Z: Any, first: int, tile: int):
        self.first, self.count, self.tile = first, Z.shape[0], tile
        self.tiles = -(-self.count // tile)
        self.data = np.empty(self.tiles * tile * layout.width, layout.dtype)
        layout.pack(Z, tile, self.tiles * tile, "z", self.data)
        self.table = self.data.reshape(self.tiles, layout.width, tile)

    def entries(self, v: np.ndarray, dtype: Any) -> np.ndarray:
        """v for these columns, 0 for the ones that only fill up the last tile."""
        out = np.zeros((self.tiles * self.tile, *v.shape[1:]), dtype)
        out[: self.count] = v[self.first : self.first + self.count]
        return out


class Fused:
    """K(X, Z) of one formula, computed by compiled loops wherever it is needed."""

    def __init__(self, formula: Formula, X: Any, Z: Any, dtype: np.dtype, threads: int):
        self.layout = Layout(formula, X, Z, dtype)
        self.X, self.Z, self.dtype, self.threads = X, Z, np.dtype(dtype), threads
        self.n, self.m = X.shape[0], Z.shape[0]
        self.blas = any(g.loaded for g in self.layout.groups)
        self.tile = _BLAS_TILE if self.blas else _TILE

    # -- pieces -----------------------------------------------------------------------------------

    def _run(self, job: str) -> tuple[Any, int]:
        """(compiled loops, rows in a block of theirs)"""
        small = self.layout.groups and self.layout.groups[0].kind == "difference"
        rows, vectors = (8, 2 if small else 1) if host().registers == 32 else (4, 1)
        if job == "product64" and self.dtype == np.float32:
            rows, vectors = rows // 2, 1  # sums take twice the registers
        return loops(self.layout.recipe(job, rows, vectors)), rows

    def _columns(self) -> Iterator[Packed]:
        """All columns, as many at a time as should be packed at once."""
        each = self.layout.width * self.dtype.itemsize
        step = max(_PACKED_BYTES // (each * self.tile), 1) * self.tile
        for j in range(0, self.m, step):
            yield Packed(self.layout, self.Z[j : j + step], j, self.tile)

    def _row_blocks(self, step: int) -> list[slice]:
        # At least one block a thread, if there are rows enough for that.
        step = max(min(step, -(-self.n // self.threads)), 16)
        return [slice(i, min(i + step, self.n)) for i in range(0, self.n, step)]

    def _packed_rows(self, rows: slice, block: int) -> tuple[np.ndarray, int]:
        X = self.X[rows]
        count = -(-X.shape[0] // block) * block
        out = np.empty(count * self.layout.width, self.dtype)
        return self.layout.pack(X, 1 if self.blas else block, count, "x", out), count

    def _call(self, run, x, z, rows, tiles, out, *, v=None, inner=None, stride=0, n=0, m=0) -> None:
        """The compiled loops over `rows` packed rows and the tiles from one to another."""
        inner, v = (None if a is None else a.ctypes.data for a in (inner, v))
        L = self.layout
        run(
            x.ctypes.data, z.data.ctypes.data, L.constants.ctypes.data, L.dimensions.ctypes.data,
            inner, v, out, 0, rows, *tiles, self.tile, stride, n, m,
        )  # fmt: skip

    def _inner_products(self, x: np.ndarray, z: Packed, t: int, out: np.ndarray) -> np.ndarray:
        """x·z for a block of rows and one tile, for every group that leaves them to BLAS."""
        L = self.layout
        rows = x.reshape(-1, L.width)
        offset = L.slots
        for size, group in zip(L.sizes, L.groups, strict=True):
            if group.loaded:
                np.matmul(rows[:, offset : offset + size], z.table[t, offset : offset + size], out=out)
            offset += size
        return out

    # -- products ---------------------------------------------------------------------------------

    def product(self, V: np.ndarray, double: bool) -> np.ndarray:
        """K V, (n, t) float64; sums and V in float64 if `double`, else in the points' precision."""
        out = np.zeros((self.n, V.shape[1]))
        for z in self._columns():
            if V.shape[1] == 1:
                self._one_column(z, V[:, 0], double, out[:, 0])
            else:
                self._several_columns(z, V, double, out)
        return out

    def _one_column(self, z: Packed, v: np.ndarray, double: bool, out: np.ndarray) -> None:
        run, block = self._run("product64" if double else "product32")
        v = z.entries(v, np.float64 if double else self.dtype)
        blocks = self._row_blocks(self._height(self.tile) if self.blas else _ROWS)
        # With few rows the columns are shared out among the threads.
        shares = 1 if len(blocks) >= self.threads else min(2 * self.threads, z.tiles)
        edges = np.linspace(0, z.tiles, shares + 1).astype(int).tolist()

        def some(task):
            rows, first, last = task
            x, count = self._packed_rows(rows, block)
            sums = np.zeros(count)
            if self.blas:
                inner = np.empty((count, self.tile), self.dtype)
                for t in range(first, last):
                    self._inner_products(x, z, t, inner)
                    self._call(run, x, z, count, (t, t + 1), sums.ctypes.data, v=v, inner=inner)
            else:
                self._call(run, x, z, count, (first, last), sums.ctypes.data, v=v)
            return rows, sums[: rows.stop - rows.start]

        tasks = [(rows, *edge) for rows in blocks for edge in zip(edges, edges[1:], strict=False)]
        for rows, sums in parallel_map(some, tasks, self.threads):
            out[rows] += sums

    def _several_columns(self, z: Packed, V: np.ndarray, double: bool, out: np.ndarray) -> None:
        V = z.entries(V, np.float64 if double else self.dtype)
        width = 1 if self.blas else max(min(z.tiles, 1024 // self.tile), 1)

        def some(rows):
            count = rows.stop - rows.start
            fill = self._filler(rows)
            K = np.empty((count, width * self.tile), self.dtype)
            for t in range(0, z.tiles, width):
                last = min(t + width, z.tiles)
                block = K[:, : (last - t) * self.tile]
                fill(z, t, last, block)
                entries = V[t * self.tile : last * self.tile]
                out[rows] += (block.astype(np.float64) if double else block) @ entries

        parallel_map(some, self._row_blocks(self._height(width * self.tile)), self.threads)

    def normal(self, V: np.ndarray, w: np.ndarray | None, double: bool) -> np.ndarray:
        """Kᵀ(w∘(K V)), every entry of K computed once and used twice while it is in cache."""
        dtype = np.dtype(np.float64) if double else self.dtype
        V = V.astype(dtype, copy=False)
        fill = self.rows()
        blocks = self._row_blocks(self._height(self.m))

        def share(mine):
            total = np.zeros((self.m, V.shape[1]))
            buffer = np.empty((blocks[0].stop, self.m), self.dtype)
            for rows in mine:
                K = buffer[: rows.stop - rows.start]
                fill(rows, K)
                if double:
                    K = K.astype(np.float64)
                S = K @ V
                if w is not None:
                    S *= w[rows] if w.ndim == 2 else w[rows, None]
                total += K.T @ S
            return total

        shares = [blocks[t :: self.threads] for t in range(min(self.threads, len(blocks)))]
        return np.sum(parallel_map(share, shares, self.threads), axis=0)

    # -- matrices ---------------------------------------------------------------------------------

    def _height(self, width: int) -> int:
        """Rows of a block of K of this width that stays in cache."""
        return max(_BLOCK_BYTES // (max(width, 1) * self.dtype.itemsize) // 16 * 16, 16)

    def _filler(self, rows: slice) -> Callable[..., None]:
        """fill(z, first, last, out): the entries of these rows and those tiles into `out`."""
        run, block = self._run("fill")
        x, padded = self._packed_rows(rows, block)
        count = rows.stop - rows.start
        inner = np.empty((padded, self.tile), self.dtype) if self.blas else None

        def fill(z: Packed, first: int, last: int, out: np.ndarray) -> None:
            stride = out.strides[0] // out.itemsize
            for t, end in [(t, t + 1) for t in range(first, last)] if self.blas else [(first, last)]:
                if inner is not None:
                    self._inner_products(x, z, t, inner)
                left = out.shape[1] - (t - first) * self.tile
                # Columns are counted from the first tile of the packed ones.
                start = out[:, (t - first) * self.tile :].ctypes.data - t * self.tile * out.itemsize
                m = t * self.tile + left
                self._call(run, x, z, padded, (t, end), start, inner=inner, stride=stride, n=count, m=m)

        return fill

    def fill(self, out: np.ndarray) -> np.ndarray:
        """K into `out`, whose rows must be contiguous."""
        for z in self._columns():

            def some(rows, z=z):
                self._filler(rows)(z, 0, z.tiles, out[rows, z.first : z.first + z.count])

            parallel_map(some, self._row_blocks(_ROWS // 4), self.threads)
        return out

    def rows(self) -> Callable[[slice, np.ndarray], None]:
        """fill(rows, out) for blocks of whole rows, columns packed once and for all."""
        columns = list(self._columns())

        def fill(rows: slice, out: np.ndarray) -> None:
            filler = self._filler(rows)
            for z in columns:
                filler(z, 0, z.tiles, out[:, z.first : z.first + z.count])

        return fill
