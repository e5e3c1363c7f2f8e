"""Operators that are matrices in memory."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np

from mercer._memory import available_memory
from mercer._threads import one_blas_thread
from mercer._xp import issparse
from mercer.operators.base import Operator, row_blocks
from mercer.operators.factor import Factor
from mercer.operators.spectrum import Eigenbasis, spectrum_of

# What is used many times is kept in memory if it takes no more than this share of what is free.
STORED_SHARE = 0.3

# Numbers that are copied at a time.
_COPIED = 1 << 23


class Matrix(Operator):
    """A matrix in memory, dense or sparse.

    Examples
    --------
    >>> import numpy as np
    >>> A = Matrix(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> A @ np.ones(2)
    array([3., 7.])
    >>> A.among(columns=np.array([1])).dense()
    array([[2.],
           [4.]])
    """

    def __init__(self, values: Any):
        self.values = values
        self.shape, self.dtype = values.shape, values.dtype

    def blocks(self):
        width = self.shape[1]
        if issparse(self.values):  # what takes room is what is not 0
            width = max(self.values.nnz // max(self.shape[0], 1), 1)
        for rows in row_blocks((self.shape[0], width), self.dtype):
            yield rows, self.values[rows]

    def sandwich(self, V, middle):
        if not issparse(self.values):
            return super().sandwich(V, middle)
        # Taking rows out of a sparse matrix copies them: all at once is faster.
        return self.adjoint(middle(slice(0, self.shape[0]), self @ V))

    def __matmul__(self, V):
        return np.asarray(self.values @ np.asarray(V).astype(self.dtype, copy=False), dtype=np.float64)

    def adjoint(self, U):
        return np.asarray(self.values.T @ np.asarray(U).astype(self.dtype, copy=False), dtype=np.float64)

    def among(self, rows=None, columns=None):
        if rows is None:
            return Matrix(self.values[:, columns]) if columns is not None else self
        return Matrix(self.values[rows] if columns is None else self.values[np.ix_(rows, columns)])

    def rows(self, index):
        picked = self.values[index]
        return np.asarray(picked.toarray() if issparse(picked) else picked, dtype=np.float64)

    def columns(self, index):
        picked = self.values[:, index]
        return picked.toarray() if issparse(picked) else picked

    def sparse(self):
        return self.values.tocsr() if issparse(self.values) else None

    def dense(self):
        if issparse(self.values):
            return self.values.toarray()
        out = np.empty(self.values.shape, self.values.dtype)
        # Some rows at a time: gigabytes in one go would keep an interruption waiting.
        step = max(_COPIED // max(out.shape[1], 1), 1)
        for i in range(0, len(out), step):
            out[i : i + step] = self.values[i : i + step]
        return out

    def diag(self):
        return np.asarray(self.values.diagonal(), dtype=np.float64)

    def into_factor(
        self, shift: float = 0.0, max_jitter: float = 1e-2, scale: np.ndarray | None = None
    ) -> Factor:
        """As `factor`, in the place of the matrix, which is given up."""
        values, self.values = self.values, None
        return Factor(values, shift, scale, max_jitter)

    def into_spectrum(self, scale: np.ndarray | None = None) -> Eigenbasis:
        """As `spectrum`, in the place of the matrix, which is given up."""
        values, self.values = self.values, None
        return spectrum_of(values.astype(np.float64, copy=False), scale)


class Identity(Operator):
    """The identity: the penalty of a representation by explicit features.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.operators import Identity
    >>> Identity(2) @ np.array([3.0, 4.0])
    array([3., 4.])
    """

    def __init__(self, size: int):
        self.shape, self.dtype = (size, size), np.dtype(np.float64)

    def __matmul__(self, V):
        return np.asarray(V, dtype=np.float64)

    adjoint = __matmul__

    def dense(self):
        return np.eye(self.shape[0])

    def diag(self):
        return np.ones(self.shape[0])

    def blocks(self):
        yield slice(0, self.shape[0]), self.dense()


class L1(Identity):
    """Stands for the penalty λ(ρ‖c‖₁ + ½(1 − ρ)‖c‖²): no quadratic form, and only some solvers take it.

    Parameters
    ----------
    size : int
    ratio : float, default=1.0
        ρ between 0 and 1: at 1 it is λ‖c‖₁.
    positive : bool, default=False
        Only coefficients c ≥ 0 are looked at.

    Examples
    --------
    >>> from mercer.operators import L1
    >>> L1(3).shape, L1(2, ratio=0.5).value(np.array([[3.0], [-1.0]]))
    ((3, 3), 4.5)
    """

    def __init__(self, size: int, ratio: float = 1.0, positive: bool = False):
        super().__init__(size)
        self.ratio, self.positive = ratio, positive

    def value(self, C: np.ndarray) -> float:
        """ρ‖c‖₁ + ½(1 − ρ)‖c‖²"""
        return self.ratio * float(np.abs(C).sum()) + 0.5 * (1 - self.ratio) * float(np.square(C).sum())

    def left(self, C: np.ndarray, G: np.ndarray, lam: float) -> np.ndarray:
        """What is left of the slopes at c of the whole objective, where G are those of all but the penalty.

        At c = 0 the slope of least size is taken.
        """
        price = lam * self.ratio
        V = G + lam * (1 - self.ratio) * C
        if self.positive:
            return np.where(C > 0, np.abs(V + price), np.maximum(-V - price, 0))
        return np.where(C != 0, np.abs(V + price * np.sign(C)), np.maximum(np.abs(V) - price, 0))

    def beyond(self, G: np.ndarray) -> np.ndarray:
        """How large the slopes are that would move c = 0: their size, or −G where c ≥ 0."""
        return np.maximum(-G, 0) if self.positive else np.abs(G)

    def conjugate(self, G: np.ndarray, lam: float) -> float:
        """The largest value of −⟨G, c⟩ less the penalty, over all c; with ρ = 1 maybe infinite."""
        above = np.maximum(self.beyond(G) - lam * self.ratio, 0)
        if self.ratio == 1:
            return 0.0 if not above.any() else np.inf
        return float(np.square(above).sum()) / (2 * lam * (1 - self.ratio))


def in_memory(A: Operator, share: float = STORED_SHARE, most_doubles: int | None = None) -> Operator:
    """A as a matrix if it takes at most this share of the memory that is free, else A itself.

    `most_doubles`: what would take more bytes in float64 is kept in float32.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.engines import Tiled
    >>> from mercer.kernels import Gaussian
    >>> from mercer.operators import Matrix, in_memory
    >>> isinstance(in_memory(Tiled().operator(Gaussian(1.0), np.zeros((3, 1)))), Matrix)
    True
    """
    entries = A.shape[0] * A.shape[1]
    many = most_doubles is not None and 8 * entries > most_doubles
    dtype = np.dtype(np.float32) if many else A.dtype
    if isinstance(A, Matrix) or entries * dtype.itemsize > share * available_memory():
        return A
    return Matrix(A.dense() if dtype == A.dtype else A.fill(np.empty(A.shape, dtype)))


def blas_single_threaded(*operators: Operator) -> Any:
    """A context for many products in a row with operators that have threads of their own.

    BLAS's threads would go on spinning, for tens of milliseconds after every call, on cores the others need.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.operators import Matrix, blas_single_threaded
    >>> A = Matrix(np.eye(2))
    >>> with blas_single_threaded(A):
    ...     print(A @ (A @ np.ones(2)))
    [1. 1.]
    """
    return one_blas_thread() if any(A.threaded for A in operators) else nullcontext()
