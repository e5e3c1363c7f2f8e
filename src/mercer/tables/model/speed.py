"""How long fits with a kernel take, here and now: forecasts that rest on a second of measuring."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.engines import Tiled
from mercer.estimators.nested import keeps
from mercer.kernels import Kernel
from mercer.tables.model.effort import factor_speed

# Rows of the matrix by whose square the machine's speed is measured.
_PROBE = 1536
# Rows whose kernel matrix is computed for that, and coordinates in all pairs of them: no more than these, and
# no more than a share of the rows.
_ROWS, _COORDINATES, _SHARE = 2000, 4e9, 5
# Seconds, for each entry of a matrix, that keeping it, rounding it and a dozen products with it take.
_KEPT = 2e-8
# Products in a refinement where the matrix is not kept, and passes over the values of centres.
_REFINEMENTS, _PASSES = 10, 5
# Normal equations of centres, in double precision, run at this share of the speed of a factorisation.
_DOUBLE = 0.25
# Bytes a second that a matrix is read with.
_MEMORY = 2.5e10


@dataclass(frozen=True)
class Speed:
    """Of a factorisation, and of the values of a kernel.

    Attributes
    ----------
    factor : operations a second of a Cholesky factorisation in single precision
    value : seconds of an entry of K(X, X) in double precision
    """

    factor: float
    value: float

    @classmethod
    def of(cls, kernel: Kernel, X: np.ndarray) -> Speed:
        """Measured with the first rows, not the first time: then something may be compiled."""
        n, d = X.shape
        rows = int(min(_ROWS, np.sqrt(_COORDINATES / (d + 50)), max(n // _SHARE, 100), n))
        A = Tiled().operator(kernel, X[:rows])
        out = A.dense()
        return cls(factor_speed() / pace(), _least_seconds(lambda: A.fill(out)) / rows**2)

    def exact(self, n: int) -> float:
        """The forecast of machines of n rows and of the first of them, from one factor: see `fit_nested`."""
        products = self.value + _KEPT if keeps(n) else self.value * (1 + _REFINEMENTS)
        return n**3 / 3 / self.factor + n * n * products

    def iterated(self, n: int, iterations: int) -> float:
        """The forecast of so many products with a matrix in memory, in single precision."""
        return n * n * (self.value + iterations * 4 / _MEMORY)

    def centred(self, n: int, m: int) -> float:
        """The forecast of a machine with m centres."""
        return _PASSES * n * m * self.value + (n + 4 * m) * m**2 / (_DOUBLE * self.factor)

    def rows_within(self, seconds: float, most: int) -> int:
        """Rows, at most so many, of which exact machines take so long; 1,000 if there are as many."""
        rows = most
        while rows > 1000 and self.exact(rows) > seconds:
            rows = max(int(rows * 0.95), 1000)
        return rows

    def centres_within(self, seconds: float, n: int) -> int:
        """Nyström centres with which n rows take so long; 200 if there are as many rows."""
        m = min(n, 8000)
        while m > 200 and self.centred(n, m) > seconds:
            m = max(int(m * 0.95), 200)
        return m


def pace() -> float:
    """How many times as long as forecast a product of matrices takes here and now; at least 1.

    The machine may be slower than others, or busy: then fewer rows are fitted exactly than could be.
    """
    A = np.ones((_PROBE, _PROBE), np.float32)
    A @ A  # which wakes the threads of BLAS
    return max(_least_seconds(lambda: A @ A) / (2 * _PROBE**3 / factor_speed()), 1.0)


def _least_seconds(work: Callable[[], Any]) -> float:
    """Of three times: whoever is put aside for a moment is not slow."""
    taken = []
    for _ in range(3):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return min(taken)
