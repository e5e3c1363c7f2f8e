"""A few thousand coordinates of the dual problem, with their block of K in cache."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from mercer.codegen.subset.compiled import Emitted, compiled
from mercer.solvers.dual.steps import BY_NUMPY, LEAST, BlockAt, Scans, descend

# Sizes come in whole multiples of this, whatever the vectors of the processor.
PADDING = 32
_LEAST = 1e-28


def padded(size: int) -> int:
    """The next whole multiple."""
    return -(-size // PADDING) * PADDING


class BlockOutcome(NamedTuple):
    steps: int
    before: float
    after: float


@lru_cache(maxsize=2)
def _compiled(dtype: str) -> tuple[Any, ...] | None:
    """(the loop, its three scans) in machine code; None where LLVM does not work."""

    def emit() -> str:
        from mercer.codegen.llvm.processor import host
        from mercer.solvers.dual.scans import scans_ir

        return scans_ir(host(), dtype)

    entries = {"float32": "f32[:]", "float64": "f64[:]"}[dtype]
    takes = {"rise": 5, "gain": 5, "alone": 6}
    try:
        scans = [
            Emitted([*[entries] * n, "i64[:]"], name, ("scans", dtype), emit) for name, n in takes.items()
        ]
    except Exception:  # no LLVM, or one that can't work here: NumPy does the same, slowly
        return None
    run = compiled([descend], dtype)
    return None if run is None else (run, *scans)


class Block:
    """Buffers for blocks of up to `size` coordinates, padded with coordinates that can't move.

    `whole` is the matrix of all coordinates, padded, if they are to be solved together.
    """

    def __init__(self, size: int, dtype: Any, whole: np.ndarray | None = None):
        if size < 0:
            raise ValueError(f"a block has at least 0 coordinates, got {size}")
        self.most, most = size, padded(size)
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.float32, np.float64):
            raise ValueError(f"blocks are of float32 or float64, not of {dtype}")
        self.size = self.padded = 0
        self._whole = None if whole is None else self._checked(whole, size, most)
        self._K = np.zeros((0, 0), self.dtype)
        self._room = np.zeros(0 if whole is not None else most * most, self.dtype)
        self._c, self._lower, self._upper, self._extra = (np.zeros(most) for _ in range(4))
        self._g, self._diagonal, *self._borders = (np.zeros(most, self.dtype) for _ in range(6))
        self._result = np.zeros(3)

    def _checked(self, whole: np.ndarray, size: int, most: int) -> np.ndarray:
        """The matrix of all coordinates as the loop reads it: whole rows, one after another, padded."""
        if whole.dtype != self.dtype or not whole.flags.c_contiguous or not whole.flags.aligned:
            raise ValueError(
                f"the matrix must be contiguous, of {self.dtype}; got {whole.dtype}, {whole.strides}"
            )
        if whole.ndim != 2 or min(whole.shape) < most:
            raise ValueError(f"{size} coordinates need {(most, most)} numbers, got {whole.shape}")
        return whole

    def matrix(self, size: int) -> np.ndarray:
        """Where the block of K for so many coordinates is to be written (or already is)."""
        if not 0 <= size <= self.most:
            raise ValueError(f"there is room for {self.most} coordinates, not for {size}")
        self.size, self.padded = size, padded(size)
        if self._whole is not None:
            self._K = self._whole
        else:
            self._K = self._room[: self.padded**2].reshape(self.padded, self.padded)
            self._K[size:], self._K[:, size:] = 0, 0
        return self._K[:size, :size]

    def solve(
        self,
        c: np.ndarray,
        g: np.ndarray,
        box: tuple[np.ndarray, np.ndarray, np.ndarray],
        kink: float,
        paired: bool,
        *,
        tol: float,
        limit: int,
        sided: bool = False,
    ) -> tuple[np.ndarray, BlockOutcome]:
        """New coordinates, from the gradient g at c, once `matrix` holds K; box: lower, upper, extra.

        `sided`: the sums of positive and of negative coordinates stay, each by itself.
        """
        n, m = self.size, self.padded
        if math.isnan(tol) or not 0 <= kink < math.inf:
            raise ValueError(f"tol must be a number and kink finite and nonnegative, got {tol} and {kink}")
        if not n:
            return np.zeros(0), BlockOutcome(0, 0.0, 0.0)
        given = zip((self._c, self._g, self._lower, self._upper, self._extra), (c, g, *box), strict=True)
        for here, values in given:
            here[:n], here[n:m] = values, 0
        # Where k(x, x) = 0 the problem is linear, and a step goes to the bound.
        self._diagonal[:n] = np.maximum(self._K.diagonal()[:n] + box[2], _LEAST)
        self._diagonal[n:m] = 1
        arrays = (self._diagonal, self._c, self._g, self._lower, self._upper, self._extra, *self._borders)
        # Of a kernel whose values are small, smaller ones are more than rounding.
        least = LEAST[self.dtype.name] * min(float(self._diagonal[:n].max()), 1.0)
        parts: Any = [self._K, *(a[:m] for a in arrays), kink, least, float(sided)]
        at = BlockAt(*parts)
        run, *scans = _compiled(self.dtype.name) or (descend, *BY_NUMPY)
        # Rows and columns beyond n are zero, and nothing there can move.
        who = Scans(np.array([0, 0, 0, least], self.dtype), np.zeros(2, np.int64), *scans)
        with np.errstate(over="ignore", invalid="ignore"):
            run(at, who, self._result, m, int(paired), limit, tol)
        steps, before, after = self._result.tolist()
        return self._c[:n].copy(), BlockOutcome(int(steps), before, after)
