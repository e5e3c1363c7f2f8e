"""Products and matrices through the fused loops: tiles, threads, bounded memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from copy import copy
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from mercer._threads import one_blas_thread, parallel_map, stopping_point
from mercer.codegen.formula import Formula
from mercer.codegen.llvm.processor import host
from mercer.engines.fused.code import loops
from mercer.engines.fused.layout import Layout
from mercer.engines.fused.packed import Packed, PackedRows, Times

# Packed columns are kept for a pass over all rows: few bytes, but rows are packed again for every pass.
_PACKED_BYTES = 24 << 20
# From so many numbers a point on, copying an entry is cheaper than computing it again.
_MIRRORED_WIDTH = 48
_MIRROR = 512
# A block of K, or of inner products, that is written and read back should stay in cache; calls cost
# microseconds, and BLAS packs its operands at every one, so that smaller blocks are slower, not faster.
_BLOCK_BYTES = 2 << 20
_SYMMETRIC_COLUMNS = 1024
_TILE_BYTES = 24 << 10
_TILE = 256
_BLAS_TILE = 384
# PackedRows of a task: enough that packing and calling cost nothing, few enough that threads end together.
_ROWS = 4096
_TASKS_PER_THREAD = 8
# Tiles of columns over which a product with one column is summed up at once.
_TILES_OF_A_SUM = 8
# Between rows of a block: rows a power of two apart would compete for the same places in the cache.
_GAP = 16

Middle = Callable[[slice, np.ndarray], np.ndarray]


def _checked_columns(V: Any, m: int) -> np.ndarray:
    """V of a product with m columns of K: m rows of real numbers."""
    V = np.asarray(V)
    if V.ndim != 2 or V.shape[0] != m or V.dtype.kind not in "fiub":
        raise ValueError(
            f"V must be an array of numbers with {m} rows, one a column of K; got {V.dtype} {V.shape}"
        )
    return V


def _noticed(values: np.ndarray) -> np.ndarray:
    """These values, with the warning that NumPy would have given of numbers that are none."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.add.reduce(values, axis=None)
    if not np.isfinite(total) and not np.isfinite(values).all():
        warnings.warn(
            "kernel values, or products with them, are NaN or infinite: are the points (or coefficients) too "
            "large? Scale the features",
            RuntimeWarning,
            stacklevel=3,
        )
    return values


def _require_place(out: Any, shape: tuple[int, int], dtype: np.dtype) -> None:
    """Raise ValueError unless rows of K can be written into `out` where they are, and nowhere else."""
    if type(out) is not np.ndarray and not isinstance(out, np.memmap):
        raise TypeError(f"out must be an array, got {type(out).__name__}")
    item = dtype.itemsize
    good = out.dtype == dtype and out.shape == shape and out.flags.aligned and out.flags.writeable
    if not good or (shape[1] > 1 and out.strides[1] != item):
        raise ValueError(
            f"out must be a writeable, aligned array of {dtype} with shape {shape}, in rows; got "
            f"{out.dtype}, shape {out.shape}, strides {out.strides}"
        )
    if shape[0] > 1 and (out.strides[0] < shape[1] * item or out.strides[0] % item):
        raise ValueError(f"rows of out overlap or run backwards: strides are {out.strides}")


class Fused:
    """K(X, Z) of one formula, computed by compiled loops wherever it is needed."""

    def __init__(self, formula: Formula, X: Any, Z: Any, dtype: np.dtype, threads: int):
        for P in (X, Z):
            if not isinstance(P, np.ndarray) or P.ndim == 0 or not P.shape[0]:
                raise ValueError("compiled loops need points, in an array")
        if np.dtype(dtype) not in (np.float32, np.float64):
            raise ValueError(f"compiled loops compute in float32 or float64, not in {dtype}")
        self.layout = Layout(formula, X, Z, dtype)
        self.X, self.Z, self.dtype, self.threads = X, Z, np.dtype(dtype), threads
        self.n, self.m = X.shape[0], Z.shape[0]
        self._kept: list[Packed] | None = None
        self._code: dict[tuple[str, bool], tuple[Any, int]] = {}
        self.blas = any(g.loaded for g in self.layout.groups)
        self.tile = _BLAS_TILE if self.blas else self._columns_near()
        self.addresses = (self.layout.constants.ctypes.data, self.layout.dimensions.ctypes.data)

    def facing(self, X: np.ndarray, threads: int) -> Fused | None:
        """The same columns, packed once, with other rows; None where these want another layout."""
        if not self.layout.admits(X, self.Z):
            return None
        other = copy(self)
        other.X, other.n, other.threads = X, X.shape[0], threads
        return other

    def columns_only(self) -> Fused:
        """Without rows, for others to face."""
        self._columns()  # packed before they are shared
        other = copy(self)
        other.X, other.n = self.Z[:0], 0
        return other

    def _columns_near(self) -> int:
        """Columns of a tile that stays in the nearest cache."""
        point = max(self.layout.width, 1) * self.dtype.itemsize
        return min(max(_TILE_BYTES // point // 16 * 16, 32), _TILE)

    def _map(self, function: Callable[[Any], Any], items: Any) -> list[Any]:
        """`function` over `items` on this engine's threads, with BLAS on one each, even if there is one."""
        with one_blas_thread() if self.blas else nullcontext():
            return parallel_map(function, items, self.threads, blas=False)

    # -- pieces -----------------------------------------------------------------------------------

    def code(self, job: str) -> tuple[Any, int]:
        """(compiled loops, rows in a block of theirs)"""
        few = self.n <= 2
        if (job, few) not in self._code:
            direct = self.layout.groups and self.layout.groups[0].kind in ("difference", "exact")
            # Two vectors (of at most 16) at a time only where that divides a tile.
            small = direct and self.tile % 32 == 0
            rows, vectors = ((4, 2) if small else (8, 1)) if host().registers == 32 else (4, 1)
            if job.endswith("64") and self.dtype == np.float32:
                rows, vectors = (4, 1) if host().registers == 32 else (2, 1)  # sums take twice the registers
            if few:  # rows that only fill up a block would take as long as those that are asked for
                rows, vectors = 1, 2 if self.tile % 32 == 0 else 1
            self._code[job, few] = loops(self.layout.recipe(job, rows, vectors)), rows
        return self._code[job, few]

    def _columns_at_once(self) -> int:
        each = max(self.layout.width, 1) * self.dtype.itemsize  # a constant kernel has no numbers
        return max(_PACKED_BYTES // (each * self.tile), 1) * self.tile

    def _columns(self, keep: bool = False) -> Iterable[Packed]:
        """All columns, as many at a time as should be packed at once, in the same room unless kept.

        Where they fit at once they are packed once and for all.
        """
        step = self._columns_at_once()
        if self.m <= step:
            if self._kept is None:
                self._kept = [Packed(self.layout, self.Z, 0, self.tile)]
            return self._kept
        room = None if keep else np.empty(step * self.layout.width, self.dtype)
        starts = range(0, self.m, step)
        return (Packed(self.layout, self.Z[j : j + step], j, self.tile, room) for j in starts)

    def _tasks(self) -> list[slice]:
        most = _ROWS // 2 if self.blas else _ROWS
        shares = _TASKS_PER_THREAD * self.threads if self.threads > 1 else 1
        step = max(min(most, -(-self.n // shares)), 128)
        # At least one block a thread, if there are rows enough for that.
        step = max(min(step, -(-self.n // self.threads)), 16)
        return [slice(i, min(i + step, self.n)) for i in range(0, self.n, step)]

    def _height(self, width: int) -> int:
        """PackedRows of a block of K of this width that stays in cache; a multiple of every block of rows."""
        return max(_BLOCK_BYTES // (max(width, 1) * self.dtype.itemsize) // 16 * 16, 16)

    # -- products ---------------------------------------------------------------------------------

    def product(self, V: np.ndarray, double: bool) -> np.ndarray:
        """K V, (n, t) float64; sums and V in float64 if `double`, else in the points' precision."""
        V = _checked_columns(V, self.m)
        if V.shape[1] == 1 and self._halves():
            return _noticed(self._symmetric(V[:, 0], double)[:, None])
        out = np.zeros((self.n, V.shape[1]))
        for z in self._columns():
            if V.shape[1] == 1:
                self._one_column(z, V[:, 0], double, out[:, 0])
            else:
                self._several_columns(z, V, double, out)
        return _noticed(out)

    def _one_column(self, z: Packed, v: np.ndarray, double: bool, out: np.ndarray) -> None:
        v = z.entries(v, np.float64 if double else self.dtype)
        job = "product64" if double else "product32"
        height = self._height(self.tile) if self.blas else _ROWS
        # Sums begin anew at the same columns however many rows and threads there are: a row has the same
        # value alone as among others.
        edges = list(pairwise([*range(0, z.tiles, _TILES_OF_A_SUM), z.tiles]))

        def some(task):
            rows, several = task
            packed = PackedRows(self, self.X[rows], job)
            return rows, [packed.product(z, tiles, v, height) for tiles in several]

        tasks = self._tasks()
        # With few rows the columns are shared out among the threads.
        shares = [edges] if len(tasks) >= self.threads else [[edge] for edge in edges]
        for rows, sums in self._map(some, [(rows, several) for rows in tasks for several in shares]):
            for part in sums:
                out[rows] += part

    def _tiles_at_once(self) -> int:
        """Tiles that make about a thousand columns."""
        return max(_SYMMETRIC_COLUMNS // self.tile, 4)

    def _halves(self) -> bool:
        """Is K symmetric, and large enough for computing every pair once to pay?"""
        blocks = self.n // (self._tiles_at_once() * self.tile)
        return self.X is self.Z and self.m <= self._columns_at_once() and blocks >= 4 * self.threads

    def _symmetric(self, v: np.ndarray, double: bool) -> np.ndarray:
        """K(X, X) v, every pair computed once: a block of rows with itself, and with all that come later."""
        (z,) = self._columns()
        v = z.entries(v, np.float64 if double else self.dtype)
        bits = "64" if double else "32"
        several = self._tiles_at_once()
        size = several * self.tile
        blocks = [slice(i, min(i + size, self.n)) for i in range(0, self.n, size)]
        height = self._height(self.tile) if self.blas else size

        def share(mine):
            out = np.zeros(z.tiles * self.tile)
            for b in mine:
                stopping_point()
                rows = blocks[b]
                first, last = several * b, min(several * (b + 1), z.tiles)
                out[rows] += PackedRows(self, self.X[rows], "product" + bits).product(
                    z, (first, last), v, height
                )
                if last < z.tiles:
                    PackedRows(self, self.X[rows], "symmetric" + bits).symmetric(
                        z, last, v, out, rows.start, height
                    )
            return out

        # Early blocks meet more columns: dealt out there and back, every thread gets the same work.
        T = self.threads
        turns = [
            [b for b in range(len(blocks)) if min(b % (2 * T), 2 * T - 1 - b % (2 * T)) == t]
            for t in range(T)
        ]
        return np.sum(self._map(share, turns), axis=0)[: self.n]

    def _several_columns(self, z: Packed, V: np.ndarray, double: bool, out: np.ndarray) -> None:
        dtype = np.dtype(np.float64) if double else self.dtype
        V = np.ascontiguousarray(z.entries(V, dtype).T)
        times = Times(self.dtype, dtype, V.shape[0])
        several = 1 if self.blas else max(min(z.tiles, 1024 // self.tile), 1)
        stride = several * self.tile + _GAP
        height = self._height(stride)

        def some(rows):
            packed = PackedRows(self, self.X[rows], "fill")
            K = np.empty((height, stride), self.dtype)
            address, sums = K.ctypes.data, np.zeros((height, V.shape[0]))
            for i in range(0, packed.count, height):
                part = (i, min(i + height, packed.count))
                # The loops that follow take four rows at once.
                count = max(part[1] - i, 4)
                for t in range(0, z.tiles, several):
                    last = min(t + several, z.tiles)
                    width = (last - t) * self.tile
                    packed.fill(z, part, (t, last), address, stride, width)
                    v = V.ctypes.data + t * self.tile * dtype.itemsize
                    times.forward(address, count, width, stride, v, V.shape[1], sums)
                    out[rows.start + i : rows.start + part[1]] += sums[: part[1] - i]

        self._map(some, self._tasks())

    def sandwich(self, V: np.ndarray, middle: Middle, double: bool) -> np.ndarray:
        """Kᵀ m(K V), every entry of K computed once and used twice while it is in cache."""
        V = _checked_columns(V, self.m)
        dtype = np.dtype(np.float64) if double else self.dtype
        columns = list(self._columns(keep=True))
        width, t = sum(z.tiles * self.tile for z in columns), V.shape[1]
        W = np.ascontiguousarray(np.concatenate([z.entries(V, dtype) for z in columns]).T)
        times = Times(self.dtype, dtype, t)
        stride = width + _GAP
        height = self._height(stride)
        tasks = self._tasks()

        item, wide = self.dtype.itemsize, dtype.itemsize
        # One column is multiplied while entries are made; more of them, or BLAS's, from the finished block.
        fused = t == 1 and not self.blas

        def share(mine):
            total = np.zeros((t, width))
            K = np.empty((height, stride), self.dtype)
            address, sums = K.ctypes.data, np.zeros((height, t))
            for rows in mine:
                packed = PackedRows(
                    self, self.X[rows], ("keep64" if double else "keep32") if fused else "fill"
                )
                part = np.zeros((t, width), dtype)
                for i in range(0, packed.count, height):
                    stopping_point()
                    some = (i, min(i + height, packed.count))
                    count, first = some[1] - i, 0
                    sums[:] = 0
                    for z in columns:
                        size = z.tiles * self.tile
                        if fused:
                            v = W.ctypes.data + first * wide
                            packed.keep(z, some, address + first * item, stride, v, sums)
                        else:
                            packed.fill(z, some, (0, z.tiles), address + first * item, stride, size)
                        first += size
                    if not fused:
                        times.forward(address, max(count, 4), width, stride, W.ctypes.data, width, sums)
                    S = np.asarray(middle(slice(rows.start + i, rows.start + some[1]), sums[:count]))
                    if S.shape != (count, t):
                        raise ValueError(f"the middle of a product gave shape {S.shape} for {(count, t)}")
                    times.backward(address, count, width, stride, S, part.ctypes.data, width)
                total += part
            return total

        shares = [tasks[s :: self.threads] for s in range(min(self.threads, len(tasks)))]
        total = np.sum(self._map(share, shares), axis=0)
        first, out = 0, np.empty((self.m, t))
        for z in columns:
            out[z.first : z.first + z.count] = total[:, first : first + z.count].T
            first += z.tiles * self.tile
        return _noticed(out)

    # -- matrices ---------------------------------------------------------------------------------

    def fill(self, out: np.ndarray) -> np.ndarray:
        """K into `out`, whose rows must be contiguous; where pairs cost more than copying, each once."""
        _require_place(out, (self.n, self.m), self.dtype)
        half = self.X is self.Z and self.layout.width >= _MIRRORED_WIDTH
        tasks = self._tasks()
        for z in self._columns():
            self._map(partial(self._fill_rows, [z], out, half=half), tasks)
        if half:
            self._map(partial(self._mirror, out), tasks)
        return out

    def _mirror(self, out: np.ndarray, rows: slice) -> None:
        """What `_fill_rows` left out of these rows, from the columns where it is."""
        end = rows.start // self.tile * self.tile
        for j in range(0, end, _MIRROR):
            columns = slice(j, min(j + _MIRROR, end))
            out[rows, columns] = out[columns, rows].T

    def rows(self) -> Callable[[Any, np.ndarray], None]:
        """fill(rows, out) for whole rows, a slice or indices; columns are packed once and for all."""
        columns = list(self._columns(keep=True))

        def fill(rows: Any, out: np.ndarray) -> None:
            some = self.X[rows]
            if some.ndim != 2:
                raise ValueError(f"rows must be a slice or a list of indices, got {rows!r}")
            _require_place(out, (some.shape[0], self.m), self.dtype)
            if some.shape[0]:
                self._fill_rows(columns, out, some, local=True)

        return fill

    def _fill_rows(
        self, columns: list[Packed], out: np.ndarray, rows: Any, local: bool = False, half: bool = False
    ) -> None:
        """Whole rows of these columns into `out`, which holds all rows or, if `local`, only these points.

        With `half`, tiles left of the one with the diagonal are left out.
        """
        out = out if local else out[rows]
        packed = PackedRows(self, rows if local else self.X[rows], "fill")
        stride, height = out.strides[0] // out.itemsize, self._height(self.tile)
        for z in columns:
            skipped = max(rows.start - z.first, 0) // self.tile if half else 0
            if skipped >= z.tiles:
                continue
            first = skipped * self.tile
            for i in range(0, packed.count, height if self.blas else packed.count):
                part = (i, min(i + height, packed.count) if self.blas else packed.count)
                address = out.ctypes.data + (i * stride + z.first + first) * out.itemsize
                packed.fill(z, part, (skipped, z.tiles), address, stride, z.count - first)
            _noticed(out[:, z.first + first : z.first + z.count])
