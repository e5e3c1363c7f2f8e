"""The CPU engine: compiled loops for kernels with a formula, NumPy on tiles that stay in cache for others."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from mercer._xp import issparse
from mercer.codegen.symbols import NotTraceable
from mercer.engines.base import Engine, require_columns, require_room
from mercer.engines.threads import cpu_count, parallel_map, stopping_point
from mercer.kernels.formula import trace

# A tile of K and the few temporaries its profile makes should stay near a core. Square tiles, because
# every tile prepares its own rows and columns (centring, norms).
_TILE_BYTES = 2 << 20
# Below this many pairs a second thread costs more than it brings.
_PAIRS_WORTH_THREADS = 1 << 17
# Below this many pairs NumPy is done before a loop would be compiled or even loaded.
_PAIRS_WORTH_CODE = 1 << 21
# Sparse points are written out, zeros and all, up to this size: compiled loops more than make up for it.
_FILLED_BYTES = 256 << 20


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
    >>> V = np.ones(100)
    >>> bool(np.allclose(Tiled().product(Gaussian(1.0), X, X, V), Gaussian(1.0)(X) @ V))
    True
    """

    name = "tiled"

    def __init__(self, threads=None, fused=None):
        self.threads = threads
        self.fused = fused

    def validate(self):
        if self.fused not in (None, True, False):
            raise ValueError(f"Tiled: fused must be True, False or None, got {self.fused!r}")
        if self.threads is not None and (not isinstance(self.threads, int) or self.threads < 1):
            raise ValueError(f"Tiled: threads must be a positive integer or None, got {self.threads!r}")

    def _threads(self, pairs: int) -> int:
        self.validate()
        _keep_freed_memory()
        if pairs < _PAIRS_WORTH_THREADS:
            return 1
        return self.threads or cpu_count()

    def _loops(self, kernel, X, Z):
        """The compiled loops for this kernel on these points; None where NumPy has to do, or does as well."""
        pairs = X.shape[0] * Z.shape[0]
        if kernel.vectors:
            kernel.validate()
            kernel.require_resolved()
        kernel.require_same_width(X, Z)
        if pairs and kernel.maps_points:
            kernel.require_maps(Z)
        if not pairs or self.fused is False or (self.fused is None and pairs < _PAIRS_WORTH_CODE):
            return None
        if result_dtype(kernel, X, Z) not in (np.float32, np.float64):
            return None
        if _too_sparse(X) or _too_sparse(Z):
            return None
        try:
            formula = trace(kernel)
            _require_compiler("float32" if X.dtype == np.float32 else "float64")
        except Exception:  # no formula, or no LLVM: `describe` says which
            return None
        from mercer.engines.fused.run import Fused

        full = _filled(X)
        X, Z = full, full if Z is X else _filled(Z)
        try:
            return Fused(formula, X, Z, result_dtype(kernel, X, Z), self._threads(pairs))
        except NotTraceable:  # seen only with the points at hand: a map that gives no vectors
            return None

    def _obstacle(self, kernel, X) -> str | None:
        """Why this kernel can't be compiled on these points; None if it can."""
        if _too_sparse(X):
            return "the points are sparse, and too many to be written out"
        try:
            trace(kernel)
            _require_compiler("float32" if X.dtype == np.float32 else "float64")
        except NotTraceable as reason:
            return str(reason)
        except Exception as error:
            return f"LLVM does not work here ({type(error).__name__}: {error})"
        return None

    def for_many(self, pairs):
        return Tiled(self.threads, True) if self.fused is None and pairs >= _PAIRS_WORTH_CODE else self

    def alone(self):
        return Tiled(1, self.fused)

    def describe(self, kernel, X, pairs):
        if self.fused is None and pairs < _PAIRS_WORTH_CODE:
            return None
        reason = "it was told not to" if self.fused is False else self._obstacle(kernel, X)
        if reason is None:
            return "kernel products by a compiled loop"
        return f"kernel products by NumPy blocks, no compiled loop: {reason}"

    @staticmethod
    def _side(dtype: np.dtype) -> int:
        return math.isqrt(_TILE_BYTES // dtype.itemsize)

    @classmethod
    def _columns(cls, m: int, dtype: np.dtype) -> list[slice]:
        side = cls._side(dtype)
        return [slice(j, min(j + side, m)) for j in range(0, m, side)]

    @classmethod
    def _rows(cls, n: int, m: int, threads: int, dtype: np.dtype) -> list[slice]:
        height = max(_TILE_BYTES // (dtype.itemsize * max(min(m, cls._side(dtype)), 1)), 16)
        # At least one tile per thread, if there are rows enough.
        height = max(min(height, -(-n // threads)), 1)
        return [slice(i, min(i + height, n)) for i in range(0, n, height)]

    def gram(self, kernel, X, Z=None, *, out=None):
        """K(X, Z), or the symmetric K(X, X), written into `out` if given."""
        symmetric = Z is None or Z is X
        Z = X if symmetric else Z
        n, m = X.shape[0], Z.shape[0]
        if out is None:
            out = np.empty((n, m), result_dtype(kernel, X, Z))
        require_room(out, n, m)
        if n == 0 or m == 0:
            return out
        loops = self._loops(kernel, X, Z)
        if loops is not None and out.dtype == loops.dtype and _whole_rows(out):
            return loops.fill(out)
        threads = self._threads(n * m)
        if symmetric:
            return self._symmetric_gram(kernel, X, out, threads)

        def fill(rows):
            Xi = X[rows]
            for columns in self._columns(m, out.dtype):
                out[rows, columns] = kernel.pairwise(Xi, Z[columns])

        parallel_map(fill, self._rows(n, m, threads, out.dtype), threads)
        return out

    def row_maker(self, kernel, X):
        loops = self._loops(kernel, X, X)
        if loops is None:
            return super().row_maker(kernel, X)
        some = loops.rows()

        def fill(index, out):
            if out.dtype != loops.dtype or not _whole_rows(out):
                raise ValueError(f"out must hold whole rows of {loops.dtype}")
            threads = self._threads(len(index) * X.shape[0])
            step = max(-(-len(index) // (4 * threads)), 16)
            parts = [slice(i, min(i + step, len(index))) for i in range(0, len(index), step)]
            parallel_map(lambda part: some(index[part], out[part]), parts, threads, blas=loops.blas)

        return fill

    def _symmetric_gram(self, kernel, X, out, threads):
        n = X.shape[0]
        side = self._side(out.dtype)
        blocks = [slice(i, min(i + side, n)) for i in range(0, n, side)]

        def fill(b):
            rows = blocks[b]
            Xi = X[rows]
            for c in range(b + 1):
                columns = blocks[c]
                tile = kernel.pairwise(Xi, Xi if c == b else X[columns])
                out[rows, columns] = tile
                if c != b:
                    out[columns, rows] = tile.T

        # Longest rows first, so that the threads finish together.
        parallel_map(fill, range(len(blocks) - 1, -1, -1), threads)
        return out

    def product(self, kernel, X, Z, V):
        """K(X, Z) V."""
        n, m = X.shape[0], Z.shape[0]
        require_columns(V, m)
        V2 = V[:, None] if V.ndim == 1 else V
        loops = self._loops(kernel, X, Z)
        if loops is not None:
            dtype = np.result_type(loops.dtype, V2)
            out = loops.product(V2, dtype == np.float64).astype(dtype, copy=False)
            return out[:, 0] if V.ndim == 1 else out
        out = np.zeros((n, V2.shape[1]), np.result_type(result_dtype(kernel, X, Z), V2))
        threads = self._threads(n * m)
        dtype = result_dtype(kernel, X, Z)

        def fill(rows):
            Xi = X[rows]
            for columns in self._columns(m, dtype):
                out[rows] += kernel.pairwise(Xi, Z[columns]) @ V2[columns]

        if n and m:
            parallel_map(fill, self._rows(n, m, threads, dtype), threads)
        return out[:, 0] if V.ndim == 1 else out

    def sandwich(self, kernel, X, Z, V, middle):
        """K(X,Z)ᵀ m(K(X,Z) V), each entry of K computed once."""
        require_columns(V, Z.shape[0])
        dtype = np.result_type(result_dtype(kernel, X, Z), V)
        loops = self._loops(kernel, X, Z)
        if loops is not None:
            return loops.sandwich(V, middle, dtype == np.float64).astype(dtype, copy=False)

        def step(rows, K):
            K = K.astype(dtype, copy=False)
            return K.T @ middle(rows, K @ V)

        parts = [p for p in self.reduce(kernel, X, Z, step) if p is not None]
        return sum(parts).astype(dtype, copy=False) if parts else np.zeros((Z.shape[0], V.shape[1]), dtype)

    def reduce(self, kernel, X, Z, step):
        """step(rows, K[rows]) for tiles of whole rows.

        `step` may return None, or an array; arrays are added up within a thread, in float64, so
        the list has one entry a thread and no more memory than that.
        """
        n, m = X.shape[0], Z.shape[0]
        threads = self._threads(n * m)
        dtype = result_dtype(kernel, X, Z)
        # Here a tile spans all of Z: fewer rows when m is large, but enough for BLAS to be busy.
        height = max(min((8 * _TILE_BYTES) // (dtype.itemsize * max(m, 1)), -(-n // threads)), 64)
        tiles = [slice(i, min(i + height, n)) for i in range(0, n, height)]

        loops = self._loops(kernel, X, Z)
        fill = self._blocks(kernel, X, Z, dtype) if loops is None else loops.rows()

        def run(share):
            total = None
            buffer = np.empty((height, m), dtype)
            for rows in share:
                stopping_point()
                K = buffer[: rows.stop - rows.start]
                fill(rows, K)
                part = step(rows, K)
                if part is not None:
                    total = part.astype(np.float64) if total is None else np.add(total, part, out=total)
            return total

        return parallel_map(run, [tiles[t::threads] for t in range(min(threads, len(tiles)))], threads)

    def _blocks(self, kernel, X, Z, dtype):
        """fill(rows, out): whole rows of K by NumPy."""
        strip = self._side(dtype)

        def fill(rows, out):
            for i in range(0, len(out), strip):
                Xi = X[rows.start + i : min(rows.start + i + strip, rows.stop)]
                for columns in self._columns(Z.shape[0], dtype):
                    out[i : i + strip, columns] = kernel.pairwise(Xi, Z[columns])

        return fill


def _too_sparse(X):
    return issparse(X) and X.shape[0] * X.shape[1] * X.dtype.itemsize > _FILLED_BYTES


def _filled(X):
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
    large, never touched block raises the threshold; elsewhere this does nothing.
    """
    np.empty(24 << 20, np.uint8)  # its limit is 32 MB


def result_dtype(kernel, X, Z):
    """The dtype of kernel values: that of the points if they are float arrays, else float64."""
    both = [A.dtype for A in (X, Z) if issparse(A) or isinstance(A, np.ndarray)]
    if kernel.vectors and len(both) == 2 and all(d.kind == "f" for d in both):
        return np.result_type(*both)
    return np.dtype(np.float64)
