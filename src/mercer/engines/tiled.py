"""The CPU engine: compiled loops for kernels with a formula, NumPy on tiles that stay in cache for others."""

from __future__ import annotations

import ctypes
import math
import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._threads import cpu_count, parallel_map, stopping_point
from mercer._xp import issparse
from mercer.codegen.formula import Formula
from mercer.codegen.symbols import NotTraceable
from mercer.engines.base import Engine
from mercer.kernels.composite import PreparedParts
from mercer.kernels.formula import trace
from mercer.operators.kernel import KernelOperator, require_columns, require_room

if TYPE_CHECKING:
    from mercer.engines.fused.run import Fused

# A tile of K and the few temporaries its profile makes should stay near a core. Square tiles, because
# every tile prepares its own rows and columns (centring, norms).
_TILE_BYTES = 2 << 20
# Below this many pairs a second thread costs more than it brings.
_PAIRS_WORTH_THREADS = 1 << 17
# Below this many pairs NumPy is done before a loop would be compiled or even loaded.
_PAIRS_WORTH_CODE = 1 << 21
# The same of coordinates of pairs, for points with many.
_COORDINATES_WORTH_CODE = 1 << 27
# Columns that rows will face again and again, a few at a time, are worth a loop from here on.
_COLUMNS_WORTH_CODE = 256
# Compiling takes longer than in proportion to the steps of a formula; up to here it is about a second.
_MOST_STEPS = 400
# Sparse points are written out, zeros and all, up to this size: compiled loops more than make up for it.
_FILLED_BYTES = 256 << 20
# Freed blocks up to this size are kept by the C library, which goes no further than 32 MB; and glibc's names.
_KEPT_BYTES = 24 << 20
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


class Tiled(Engine):
    """Kernel products on the CPU in tiles, never with K in memory.

    A kernel with a formula (all kernels on vectors here, sums, products, … of them) is traced and compiled
    to one loop in this processor's widest vectors; compiling takes about a tenth of a second, once, and the
    code is kept in ``MERCER_CACHE_DIR`` (by default the user's cache folder). Other kernels, large sparse
    points, and machines where LLVM does not work are served by NumPy, block by block.

    Parameters
    ----------
    threads : int, optional
        Threads over tiles; None: all cores this process may use.
    fused : bool, optional
        Use compiled loops? None: where there are pairs enough to pay for them.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).standard_normal((100, 3))
    >>> K = Tiled().operator(Gaussian(1.0), X)
    >>> bool(np.allclose(K @ np.ones(100), Gaussian(1.0)(X) @ np.ones(100)))
    True
    """

    name = "tiled"
    # `makes` is set below, where the class of its operators is known.

    def __init__(self, threads=None, fused=None):
        self.threads = threads
        self.fused = fused

    def validate(self):
        if self.fused not in (None, True, False):
            raise ValueError(f"Tiled: fused must be True, False or None, got {self.fused!r}")
        if self.threads is not None and (type(self.threads) is not int or self.threads < 1):
            raise ValueError(f"Tiled: threads must be a positive integer or None, got {self.threads!r}")

    def expecting(self, pairs):
        return self.replace(fused=True) if self.fused is None and pairs >= _PAIRS_WORTH_CODE else self

    def single_threaded(self):
        return self.replace(threads=1)


class _Columns:
    """What is prepared of a kernel and its columns, shared by all operators that have these columns."""

    def __init__(self, kernel: Any):
        self.kernel = kernel
        self._formula: Formula | Exception | None = None
        self.loops: Fused | None = None
        # Will few rows at a time face these columns, again and again?
        self.lasting = False

    def formula(self) -> Formula:
        """The kernel's formula, traced once; raises what tracing it raised."""
        if self._formula is None:
            try:
                self._formula = trace(self.kernel)
            except Exception as reason:
                self._formula = reason
        if isinstance(self._formula, Exception):
            raise self._formula
        return self._formula

    def with_others(self) -> _Columns:
        """The same kernel, for other columns."""
        other = _Columns(self.kernel)
        other._formula = self._formula
        return other


class TiledOperator(KernelOperator):
    """K(X, Z) on the CPU: formula, compiled loops and packed columns are made once and kept."""

    threaded = True

    def __init__(self, engine: Tiled, kernel: Any, X: Any, Z: Any = None, prepared: _Columns | None = None):
        if prepared is None:
            super().__init__(engine, kernel, X, Z)
            given = X if Z is None else Z
            # Points that come prepared, from another operator, were looked at there.
            if self.shape[1] and kernel.maps_points and not isinstance(given, PreparedParts):
                kernel.require_maps(given)
        else:
            kernel.require_same_width(X, Z)
            self.bind(engine, kernel, X, Z)
        self._prepared = _Columns(kernel) if prepared is None else prepared
        self._loops_made: Fused | None = None
        self._loops_tried = False

    def _made(self, X, Z):
        same = Z is self.Z
        prepared = self._prepared if same else self._prepared.with_others()
        return type(self)(self.engine, self.kernel, X, Z, prepared)

    def facing(self, X):
        self._prepared.lasting = True
        return self._made(X, self.Z)

    # -- compiled loops ---------------------------------------------------------------------------

    def _threads(self, pairs: int) -> int:
        _keep_freed_memory()
        if pairs < _PAIRS_WORTH_THREADS:
            return 1
        return self.engine.threads or cpu_count()

    @property
    def work(self):
        if self.dear or self._obstacle() is not None or self.engine.fused is False:
            return np.inf
        return self.X.shape[1] + 10

    def _worth_code(self) -> bool:
        n, m = self.shape
        if not n * m:
            return False
        if self.engine.fused is not None:
            return self.engine.fused
        wide = self.X.shape[1] if getattr(self.X, "ndim", 1) == 2 else 1
        if n * m >= _PAIRS_WORTH_CODE or n * m * wide >= _COORDINATES_WORTH_CODE:
            return True
        return self._prepared.lasting and m >= _COLUMNS_WORTH_CODE

    def loops(self) -> Fused | None:
        """The compiled loops for this kernel on these points; None where NumPy has to do, or does as well."""
        if not self._loops_tried:
            if self._worth_code() and self._obstacle() is None and self.dtype.itemsize in (4, 8):
                self._loops_made = self._make_loops()
            self._loops_tried = True
        return self._loops_made

    def _make_loops(self) -> Fused | None:
        from mercer.engines.fused.run import Fused

        threads = self._threads(self.shape[0] * self.shape[1])
        X = _filled(self.X)
        earlier = self._prepared.loops
        if earlier is not None and earlier.dtype == self.dtype:
            made = earlier.facing(X, threads)
            if made is not None:
                return made
        try:
            Z = X if self.symmetric else _filled(self.Z)
            made = Fused(self._prepared.formula(), X, Z, self.dtype, threads)
        except NotTraceable:  # seen only with the points at hand: a map that gives no vectors
            return None
        self._prepared.loops = made.columns_only()
        return made

    def _obstacle(self) -> str | None:
        """Why this kernel can't be compiled on these points; None if it can."""
        if _too_sparse(self.X) or _too_sparse(self.Z):
            return "the points are sparse, and too many to be written out"
        try:
            steps = len(self._prepared.formula().programme.instructions)
            if steps > _MOST_STEPS:
                return f"compiling its formula of {steps} steps would take long"
            _require_compiler("float32" if self.dtype == np.float32 else "float64")
        except NotTraceable as reason:
            return str(reason)
        except Exception as error:
            return f"LLVM does not work here ({type(error).__name__}: {error})"
        return None

    def remark(self, pairs):
        if self.engine.fused is None and pairs < _PAIRS_WORTH_CODE:
            return None
        reason = "it was told not to" if self.engine.fused is False else self._obstacle()
        if reason is None:
            return "kernel products by a compiled loop"
        if not self.kernel.vectors:  # many kernels on strings and graphs have a compiled loop of their own
            return f"kernel products in blocks that the kernel fills itself, no compiled loop: {reason}"
        return f"kernel products by NumPy blocks, no compiled loop: {reason}"

    # -- tiles ------------------------------------------------------------------------------------

    def _side(self) -> int:
        return math.isqrt(_TILE_BYTES // self.dtype.itemsize)

    def _column_tiles(self) -> list[slice]:
        side, m = self._side(), self.shape[1]
        return [slice(j, min(j + side, m)) for j in range(0, m, side)]

    def _row_tiles(self, threads: int) -> list[slice]:
        n, m = self.shape
        height = max(_TILE_BYTES // (self.dtype.itemsize * max(min(m, self._side()), 1)), 16)
        # At least one tile per thread, if there are rows enough.
        height = max(min(height, -(-n // threads)), 1)
        return [slice(i, min(i + height, n)) for i in range(0, n, height)]

    # -- entries ----------------------------------------------------------------------------------

    def fill(self, out):
        n, m = self.shape
        require_room(out, n, m)
        if n == 0 or m == 0:
            return out
        loops = self.loops()
        if loops is not None and out.dtype == loops.dtype and _whole_rows(out):
            return loops.fill(out)
        threads = self._threads(n * m)
        if self.symmetric:
            return self._fill_symmetric(out, threads)

        def some(rows):
            Xi = self.X[rows]
            for columns in self._column_tiles():
                stopping_point()
                out[rows, columns] = self.entries(Xi, self.Z[columns])

        parallel_map(some, self._row_tiles(threads), threads)
        return out

    def _fill_symmetric(self, out: np.ndarray, threads: int) -> np.ndarray:
        blocks = self._column_tiles()

        def some(b):
            rows = blocks[b]
            Xi = self.X[rows]
            for c in range(b + 1):
                stopping_point()
                columns = blocks[c]
                tile = self.entries(Xi, Xi if c == b else self.X[columns])
                out[rows, columns] = tile
                if c != b:
                    out[columns, rows] = tile.T

        # Longest rows first, so that the threads finish together.
        parallel_map(some, range(len(blocks) - 1, -1, -1), threads)
        return out

    def row_filler(self):
        loops = self.loops()
        if loops is None:
            return super().row_filler()
        some = loops.rows()

        def fill(index, out):
            if out.dtype != loops.dtype or not _whole_rows(out):
                raise ValueError(f"out must hold whole rows of {loops.dtype}")
            threads = self._threads(len(index) * self.shape[1])
            step = max(-(-len(index) // (4 * threads)), 16)
            parts = [slice(i, min(i + step, len(index))) for i in range(0, len(index), step)]
            parallel_map(lambda part: some(index[part], out[part]), parts, threads, blas=loops.blas)

        return fill

    # -- products ---------------------------------------------------------------------------------

    def product(self, V):
        n, m = self.shape
        require_columns(V, m)
        V2 = V[:, None] if V.ndim == 1 else V
        dtype = np.result_type(self.dtype, V2)
        loops = self.loops()
        if loops is not None:
            out = loops.product(V2, dtype == np.float64).astype(dtype, copy=False)
            return out[:, 0] if V.ndim == 1 else out
        out = np.zeros((n, V2.shape[1]), dtype)
        threads = self._threads(n * m)

        def some(rows):
            Xi = self.X[rows]
            for columns in self._column_tiles():
                stopping_point()
                out[rows] += self.entries(Xi, self.Z[columns]) @ V2[columns]

        if n and m:
            parallel_map(some, self._row_tiles(threads), threads)
        return out[:, 0] if V.ndim == 1 else out

    def _sandwich(self, V, middle):
        """Each entry of K is computed once."""
        loops = self.loops()
        if loops is None:
            return super()._sandwich(V, middle)
        dtype = np.result_type(self.dtype, V)
        return loops.sandwich(V, middle, dtype == np.float64).astype(dtype, copy=False)

    def reduce(self, step):
        """step(rows, K[rows]) for tiles of whole rows.

        Arrays are added up within a thread, in float64, so the list has one entry a thread and no more memory
        than that.
        """
        n, m = self.shape
        threads = self._threads(n * m)
        # Here a tile spans all of Z: fewer rows when m is large, but enough for BLAS to be busy.
        most = (8 * _TILE_BYTES) // (self.dtype.itemsize * max(m, 1))
        height = max(min(most, -(-n // threads)), 64)
        tiles = [slice(i, min(i + height, n)) for i in range(0, n, height)]
        loops = self.loops()
        fill = self._fill_rows if loops is None else loops.rows()

        def run(share):
            total = None
            buffer = np.empty((height, m), self.dtype)
            for rows in share:
                stopping_point()
                K = buffer[: rows.stop - rows.start]
                fill(rows, K)
                part = step(rows, K)
                if part is not None:
                    total = part.astype(np.float64) if total is None else np.add(total, part, out=total)
            return total

        return parallel_map(run, [tiles[t::threads] for t in range(min(threads, len(tiles)))], threads)

    def _fill_rows(self, rows: slice, out: np.ndarray) -> None:
        """Whole rows of K by NumPy."""
        strip = self._side()
        for i in range(0, len(out), strip):
            Xi = self.X[rows.start + i : min(rows.start + i + strip, rows.stop)]
            for columns in self._column_tiles():
                out[i : i + strip, columns] = self.entries(Xi, self.Z[columns])


Tiled.makes = TiledOperator


def _too_sparse(X: Any) -> bool:
    return issparse(X) and X.shape[0] * X.shape[1] * X.dtype.itemsize > _FILLED_BYTES


def _filled(X: Any) -> Any:
    return X.toarray() if issparse(X) else X


def _whole_rows(out: np.ndarray) -> bool:
    """Are the entries of each row side by side, and rows a whole number of entries apart?"""
    return out.strides[1] == out.itemsize and out.strides[0] >= 0 and out.strides[0] % out.itemsize == 0


@lru_cache(maxsize=2)
def _require_compiler(dtype: str) -> None:
    from mercer.engines.fused.code import require_compiler

    require_compiler(dtype)


@lru_cache(maxsize=1)
def _keep_freed_memory() -> None:
    """Ask the C library to keep freed tiles for the next one.

    glibc returns freed blocks to the system above a threshold that follows the largest block freed so far;
    tiles would then be paged in anew each time, which costs more than computing them. Freeing one
    large, never touched block raises the threshold; elsewhere this does nothing. It follows nothing where
    the environment sets one, as Dask does for its workers: there we say it in so many words.
    """
    np.empty(_KEPT_BYTES, np.uint8)
    if "MALLOC_TRIM_THRESHOLD_" in os.environ:
        mallopt = getattr(ctypes.CDLL(None), "mallopt", lambda *_: None)
        mallopt(_M_MMAP_THRESHOLD, _KEPT_BYTES)
        mallopt(_M_TRIM_THRESHOLD, 2 * _KEPT_BYTES)
