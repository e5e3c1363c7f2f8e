"""Where the dual solver gets its kernel values from: computed when needed, kept in part, or all in memory."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from mercer._threads import parallel_map
from mercer.codegen.subset.compiled import compiled
from mercer.operators import Operator
from mercer.solvers.dual.block import PADDING, padded
from mercer.solvers.dual.steps import add_rows

# Up to so many multiply-adds a compiled loop computes a kernel value about as fast as memory delivers it.
_CHEAP_WORK = 74
_FEWEST = 512


class KernelColumns:
    """A symmetric matrix K (n, n), of which blocks and products with a few columns are wanted.

    ``partial`` says whether a product for fewer rows costs less, ``same_set`` whether one with all columns of
    the last block costs less than one with some of them.
    """

    n: int
    dtype: np.dtype
    partial = False
    same_set = False

    def working_set(self, size: int) -> int:
        """How many coordinates to solve together, of at most `size`."""
        return min(size, self.n)

    def block(self, index: np.ndarray, out: np.ndarray) -> None:
        """Write K[index, index] into out."""
        raise NotImplementedError

    def add(self, g: np.ndarray, rows: np.ndarray | None, index: np.ndarray, factors: np.ndarray) -> None:
        """g[rows] += K[rows, index] @ factors; all rows if None."""
        raise NotImplementedError


class Computed(KernelColumns):
    """Kernel values computed by the engine whenever they are needed, and not kept."""

    partial = True

    def __init__(self, K: Any):
        self.K, self.n, self.dtype = K, K.shape[0], K.dtype
        self._rows: tuple[Any, Any] = (None, K)
        # Points travel to an engine that lives elsewhere: once a round is enough.
        self.same_set = K.remote
        self._last: tuple[Any, Any] = (None, None)

    def block(self, index, out):
        block = self.K.among(index, index)
        if self.same_set:
            self._last = index, block
        block.fill(out)

    def add(self, g, rows, index, factors):
        if rows is not self._rows[0]:
            self._rows = rows, self.K if rows is None else self.K.among(rows)
        here = self._rows[1]
        some = here.against(self._last[1]) if self._last[0] is index else here.among(columns=index)
        change = some @ factors
        g[slice(None) if rows is None else rows] += change


class Cached(Computed):
    """Rows are kept, as many as `size` bytes hold, the oldest making room: for kernels that cost."""

    partial = False

    def __init__(self, K: Any, size: int):
        super().__init__(K)
        self.stride = padded(self.n)
        self.capacity = max(min(int(size) // (self.stride * self.dtype.itemsize), self.n), 1)
        self.rows = np.zeros((self.capacity, self.stride), self.dtype)
        self.fill = K.row_filler()
        self.threads = K.threads
        self.slot = np.full(self.n, -1)
        self.owner = np.full(self.capacity, -1)
        self.next = 0

    def working_set(self, size):
        # Fewer, so that a row is computed only for coordinates that are likely to change.
        return min(size, max(_FEWEST, self.n // 16), self.n)

    def _fetch(self, index: np.ndarray) -> None:
        """Compute these rows into the next slots; there must be room for all of them at once."""
        if self.next + len(index) > self.capacity:
            self.next = 0
        here = slice(self.next, self.next + len(index))
        lost = self.owner[here]
        self.slot[lost[lost >= 0]] = -1
        self.fill(index, self.rows[here, : self.n])
        self.owner[here], self.slot[index] = index, np.arange(here.start, here.stop)
        self.next = here.stop

    def block(self, index, out):
        if not self.K.dear or 2 * len(index) > self.capacity:
            return super().block(index, out)
        # Where a value costs more than finding it again, the rows that will be wanted next serve the block.
        for part in self._parts(index[self.slot[index] < 0]):
            self._fetch(part)
        if (self.slot[index] < 0).any():  # what was there had to make room
            return super().block(index, out)
        out[...] = self.rows[self.slot[index]][:, index]
        return None

    def _parts(self, index):
        width = max(self.capacity // 2, 1)
        return [index[i : i + width] for i in range(0, len(index), width)]

    def add(self, g, rows, index, factors):
        known = self.slot[index] >= 0
        total = np.zeros(self.stride)
        combine(self.rows, self.slot[index[known]], factors[known], total, self.threads)
        missing, weights = index[~known], factors[~known]
        for part in self._parts(np.arange(len(missing))):
            self._fetch(missing[part])
            combine(self.rows, self.slot[missing[part]], weights[part], total, self.threads)
        g += total[: self.n]


class Stored(KernelColumns):
    """The whole matrix, in memory: all coordinates are then solved together."""

    def __init__(self, K: Operator):
        self.n, self.dtype = K.shape[0], K.dtype
        # Padded both ways: whatever the loops make of numbers that are none, they stay inside.
        self.values = np.zeros((padded(self.n), padded(self.n)), K.dtype)
        K.fill(self.values[: self.n, : self.n])

    def working_set(self, size):
        return self.n

    def add(self, g, rows, index, factors):
        total = np.zeros(len(self.values))
        combine(self.values, index, factors, total, 1)
        g += total[: self.n]


class Factored(KernelColumns):
    """K = Φ Φᵀ for explicit features Φ: a product with columns goes through the features."""

    def __init__(self, Phi: Operator):
        self.Phi, self.n, self.dtype = Phi, Phi.shape[0], Phi.dtype
        self._sparse = Phi.sparse()

    def _rows(self, index: np.ndarray) -> Any:
        return self.Phi.rows(index) if self._sparse is None else self._sparse[index]

    def block(self, index, out):
        rows = self._rows(index)
        out[...] = rows @ rows.T if self._sparse is None else (rows @ rows.T).toarray()

    def add(self, g, rows, index, factors):
        g += self.Phi @ (self._rows(index).T @ factors)


def columns_of(K: Operator, cache: int, block: int) -> KernelColumns:
    """The way to K's values that suits it, keeping at most `cache` bytes of them."""
    n = K.shape[0]
    # Is computing a value again about as fast as reading it?
    if n > block and K.of_kernel and (K.remote or K.work <= _CHEAP_WORK):
        return Computed(K)
    row = padded(n) * K.dtype.itemsize
    if n <= block or not K.of_kernel or (K.dear and n * row <= cache):
        return Stored(K)
    return Computed(K) if cache < 2 * row else Cached(K, cache)


@lru_cache(maxsize=2)
def _compiled(dtype: str) -> Any:
    return compiled([add_rows], dtype)


def _require_fitting(rows: np.ndarray, index: np.ndarray, factors: np.ndarray, out: np.ndarray) -> None:
    """Raise ValueError unless these rows can be combined without leaving an array."""
    if index.ndim != 1 or factors.shape != index.shape:
        raise ValueError(f"one factor for each index is needed, got {factors.shape} for {index.shape}")
    if rows.ndim != 2 or rows.dtype not in (np.float32, np.float64) or not rows.flags.aligned:
        raise ValueError(f"rows must be a matrix of float32 or float64, got {rows.dtype} {rows.shape}")
    item = rows.itemsize
    if rows.strides[1] != item or rows.strides[0] < rows.shape[1] * item or rows.strides[0] % item:
        raise ValueError(f"entries of rows must lie side by side, got strides {rows.strides}")
    if index.min() < 0 or index.max() >= len(rows):
        raise IndexError(f"there are {len(rows)} rows, and an index is {index.min()} or {index.max()}")
    if out.dtype != np.float64 or not out.flags.carray or out.shape != rows.shape[1:] or len(out) % PADDING:
        raise ValueError(
            f"out must be {rows.shape[1]} numbers of float64, a multiple of {PADDING}; got {out.dtype} "
            f"{out.shape}"
        )
    if np.may_share_memory(rows, out):
        raise ValueError("out shares memory with rows")


def combine(rows: np.ndarray, index: np.ndarray, factors: np.ndarray, out: np.ndarray, threads: int) -> None:
    """out += Σ_k factors[k]·rows[index[k]] in float64; rows are padded to whole vectors."""
    if len(index) == 0:
        return
    index = np.ascontiguousarray(index, dtype=np.int64)
    factors = np.ascontiguousarray(factors, dtype=np.float64)
    _require_fitting(rows, index, factors, out)
    run = _compiled(rows.dtype.name)
    if run is None:
        for i in range(0, len(index), 256):
            out += rows[index[i : i + 256]].T.astype(np.float64) @ factors[i : i + 256]
        return
    threads = threads if len(index) * len(out) > 1 << 20 else 1
    # Pieces that stay in cache with the sums.
    width = max(PADDING, min(4096, -(-len(out) // (threads * PADDING)) * PADDING))
    pieces = [(j, min(j + width, len(out))) for j in range(0, len(out), width)]

    def piece(span):
        run(rows, index, factors, out, len(index), *span)

    parallel_map(piece, pieces, threads, blas=False)
