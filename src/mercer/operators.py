"""A, B and friends: linear maps that know how to multiply, without being matrices in memory.

Vectors in and out are float64; what happens inside may be float32 (it is when the data are).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np

from mercer._xp import issparse
from mercer.engines import Engine, available_memory
from mercer.engines.base import weighted_gram
from mercer.engines.threads import one_blas_thread
from mercer.engines.tiled import result_dtype
from mercer.kernels.base import Kernel

Middle = Callable[[slice, np.ndarray], np.ndarray]

_BLOCK_BYTES = 32 << 20
_PANEL = 256
# What is used many times is kept in memory if it takes no more than this share of what is free.
STORED_SHARE = 0.3


class Operator:
    """A linear map of shape (n, p).

    Required: ``shape``, ``dtype``, `blocks` (which yields the rows in blocks). Everything else is
    derived from that and overridden where something faster is known.
    """

    shape: tuple[int, int]
    dtype: np.dtype
    # Are products computed by an engine, on threads of its own? By one that lives elsewhere?
    by_engine = False
    remote = False

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """(rows, A[rows]) over all rows."""
        raise NotImplementedError

    def rows(self, index: Any) -> np.ndarray:
        """A[index] as a dense float64 array."""
        return np.asarray(self.dense()[index], dtype=np.float64)

    def dense(self) -> np.ndarray:
        """The matrix, in a fresh array the caller may overwrite."""
        out = np.empty(self.shape, self.dtype)
        for rows, block in self.blocks():
            out[rows] = block
        return out

    def diag(self) -> np.ndarray:
        return np.diag(self.dense()).astype(np.float64)

    def among(self, rows: np.ndarray, columns: np.ndarray | None = None) -> Operator:
        """A[rows], or A[rows, columns], as an operator of the same kind where that can be."""
        values = self.dense()
        return Matrix(values[rows] if columns is None else values[np.ix_(rows, columns)])

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        V = np.asarray(V)
        out = np.empty((self.shape[0], *V.shape[1:]))
        W = V.astype(self.dtype, copy=False)
        for rows, block in self.blocks():
            out[rows] = block @ W
        return out

    def adjoint(self, U: np.ndarray) -> np.ndarray:
        """Aᵀ U."""
        U = np.asarray(U)
        out = np.zeros((self.shape[1], *U.shape[1:]))
        for rows, block in self.blocks():
            out += block.T @ U[rows].astype(self.dtype, copy=False)
        return out

    @property
    def T(self) -> Operator:
        return Transpose(self)

    def sandwich(self, V: np.ndarray, middle: Middle) -> np.ndarray:
        """Aᵀ m(A V) in one pass, where m acts on blocks of rows: middle(rows, (A V)[rows])."""
        out = np.zeros((self.shape[1], V.shape[1]))
        W = V.astype(self.dtype, copy=False)
        for rows, block in self.blocks():
            S = middle(rows, np.asarray(block @ W, dtype=np.float64))
            out += block.T @ S.astype(self.dtype, copy=False)
        return out

    def gramian(self, w: np.ndarray | None = None, T: np.ndarray | None = None) -> np.ndarray:
        """Aᵀ diag(w) A, or (A T)ᵀ diag(w) (A T), in float64 throughout."""
        size = self.shape[1] if T is None else T.shape[1]
        out = np.zeros((size, size))
        for rows, block in self.blocks():
            out += _weighted_gram(block, None if w is None else w[rows], T)
        return out

    def column_squares(self, w: np.ndarray | None = None) -> np.ndarray:
        """diag(Aᵀ diag(w) A)."""
        out = np.zeros(self.shape[1])
        for rows, block in self.blocks():
            squared = block.multiply(block) if issparse(block) else block * block
            out += squared.T @ (np.ones(block.shape[0]) if w is None else w[rows])
        return out


def _weighted_gram(block: Any, w: np.ndarray | None, T: np.ndarray | None = None) -> np.ndarray:
    if issparse(block):
        scaled = block if w is None else block.multiply(w[:, None]).tocsr()
        return (block.T @ scaled).toarray()
    return weighted_gram(block, w, T)


class Transpose(Operator):
    """Aᵀ."""

    def __init__(self, base: Operator):
        self.base = base
        self.shape, self.dtype = base.shape[::-1], base.dtype

    def __matmul__(self, V):
        return self.base.adjoint(V)

    def adjoint(self, U):
        return self.base @ U

    def dense(self):
        return np.ascontiguousarray(self.base.dense().T)

    def blocks(self):
        yield slice(0, self.shape[0]), self.dense()

    @property
    def T(self):
        return self.base


def in_memory(A: Operator, share: float = STORED_SHARE) -> Operator:
    """A as a matrix if it takes at most this share of the memory that is free, else A itself."""
    if isinstance(A, Matrix) or A.shape[0] * A.shape[1] * A.dtype.itemsize > share * available_memory():
        return A
    return Matrix(A.dense())


class Identity(Operator):
    """The identity: the penalty of a representation by explicit features."""

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
    """Stands for the penalty λ‖c‖₁: no quadratic form, and only solvers that declare it take it."""


class Matrix(Operator):
    """A matrix in memory, dense or sparse."""

    def __init__(self, values: Any):
        self.values = values
        self.shape, self.dtype = values.shape, values.dtype

    def blocks(self):
        n, p = self.shape
        width = max(1, _BLOCK_BYTES // max(p * self.dtype.itemsize, 1))
        for i in range(0, n, width):
            yield slice(i, min(i + width, n)), self.values[i : i + width]

    def __matmul__(self, V):
        return np.asarray(self.values @ np.asarray(V).astype(self.dtype, copy=False), dtype=np.float64)

    def adjoint(self, U):
        return np.asarray(self.values.T @ np.asarray(U).astype(self.dtype, copy=False), dtype=np.float64)

    def among(self, rows, columns=None):
        return Matrix(self.values[rows] if columns is None else self.values[np.ix_(rows, columns)])

    def rows(self, index):
        picked = self.values[index]
        return np.asarray(picked.toarray() if issparse(picked) else picked, dtype=np.float64)

    def dense(self):
        return self.values.toarray() if issparse(self.values) else self.values.copy()

    def diag(self):
        return np.asarray(self.values.diagonal(), dtype=np.float64)


def undisturbed(*operators: Operator) -> Any:
    """A context for many products in a row with operators that an engine computes.

    BLAS is held to one thread throughout. Its threads wait for more work by spinning, for tens of
    milliseconds after every call, on cores that the engine's own threads need.
    """
    return one_blas_thread() if any(A.by_engine for A in operators) else nullcontext()


class KernelOperator(Operator):
    """K(X, Z), computed tile by tile by an engine whenever it is needed.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.engines import Tiled
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> A = KernelOperator(Gaussian(1.0), X, X, Tiled())
    >>> bool(np.allclose(A @ np.ones(50), Gaussian(1.0)(X).sum(axis=1)))
    True
    """

    by_engine = True

    def __init__(self, kernel: Kernel, X: Any, Z: Any, engine: Engine):
        self.kernel, self.X, self.Z, self.engine = kernel, X, Z, engine
        self.shape = (X.shape[0], Z.shape[0])
        self.dtype = result_dtype(kernel, X, Z)
        self.remote = engine.remote

    def _product(self, X, Z, V):
        # V stays float64: entries may be float32, but sums of large terms that cancel may not.
        out = self.engine.product(self.kernel, X, Z, np.asarray(V, dtype=np.float64))
        return np.asarray(out, dtype=np.float64)

    def __matmul__(self, V):
        return self._product(self.X, self.Z, V)

    def adjoint(self, U):
        return self._product(self.Z, self.X, U)

    def rounded(self) -> Operator:
        """The same operator for vectors rounded to its own precision: faster on some engines."""
        return _Rounded(self)

    def rows(self, index):
        return np.asarray(self.engine.gram(self.kernel, self.X[index], self.Z), dtype=np.float64)

    def among(self, rows, columns=None):
        X = self.X[rows]
        Z = self.Z if columns is None else X if columns is rows else self.Z[columns]
        return KernelOperator(self.kernel, X, Z, self.engine)

    def columns(self, index):
        """K[:, index], in the operator's own dtype."""
        return self.engine.gram(self.kernel, self.X, self.Z[index])

    def dense(self):
        return self.engine.gram(self.kernel, self.X, self.Z)

    def at(self, dtype: Any) -> KernelOperator | None:
        """The same operator computed in another precision; None if its points have none."""
        if self.dtype == dtype:
            return self
        if not self.kernel.vectors:
            return None
        X = self.X.astype(dtype)
        Z = X if self.Z is self.X else self.Z.astype(dtype)
        return KernelOperator(self.kernel, X, Z, self.engine)

    def diag(self):
        if self.X is self.Z:
            return np.asarray(self.kernel.diagonal(self.X), dtype=np.float64)
        return super().diag()

    def blocks(self):
        n, m = self.shape
        width = max(1, _BLOCK_BYTES // max(m * self.dtype.itemsize, 1))
        for i in range(0, n, width):
            rows = slice(i, min(i + width, n))
            yield rows, self.engine.gram(self.kernel, self.X[rows], self.Z)

    def sandwich(self, V, middle):
        V = np.asarray(V, dtype=np.float64)
        return self.engine.sandwich(self.kernel, self.X, self.Z, V, middle)

    def gramian(self, w=None, T=None):
        return self.engine.gramian(self.kernel, self.X, self.Z, w, T)


class _Rounded(KernelOperator):
    def __init__(self, K: KernelOperator):
        super().__init__(K.kernel, K.X, K.Z, K.engine)

    def _product(self, X, Z, V):
        out = self.engine.product(self.kernel, X, Z, np.asarray(V, dtype=self.dtype))
        return np.asarray(out, dtype=np.float64)

    def sandwich(self, V, middle):
        return self.adjoint(middle(slice(0, self.shape[0]), self @ V))


class FeatureOperator(Operator):
    """Φ(X), computed block by block from a fitted feature map."""

    def __init__(self, map: Any, X: Any, size: int):
        self.map, self.X = map, X
        self.shape, self.dtype = (X.shape[0], size), np.dtype(X.dtype)

    def blocks(self):
        n, p = self.shape
        width = max(1, _BLOCK_BYTES // max(p * self.dtype.itemsize, 1))
        for i in range(0, n, width):
            yield slice(i, min(i + width, n)), self.map.transform(self.X[i : i + width])

    def among(self, rows, columns=None):
        some = FeatureOperator(self.map, self.X[rows], self.shape[1])
        return some if columns is None else Matrix(some.dense()[:, columns])

    def rows(self, index):
        return np.asarray(self.map.transform(self.X[index]), dtype=np.float64)


class _Factor:
    """Dense products with T, at half the work if it is upper triangular."""

    def __init__(self, T: np.ndarray):
        self.T = T
        self.upper = T.shape[0] == T.shape[1] and not np.tril(T, -1).any()

    def after(self, A: np.ndarray) -> np.ndarray:
        """A T."""
        size = self.T.shape[1]
        if not self.upper or size < 2 * _PANEL:
            return A @ self.T
        out = np.empty((A.shape[0], size), np.result_type(A, self.T))
        for j in range(0, size, _PANEL):
            k = min(j + _PANEL, size)
            np.matmul(A[:, :k], self.T[:k, j:k], out=out[:, j:k])
        return out


class Composed(Operator):
    """A T for a small matrix T: A in other coordinates."""

    def __init__(self, A: Operator, T: np.ndarray):
        self._factor = _Factor(T)
        self.A, self.T_, self.by_engine = A, T, A.by_engine
        self.shape, self.dtype = (A.shape[0], T.shape[1]), A.dtype

    def __matmul__(self, V):
        return self.A @ (self.T_ @ V)

    def adjoint(self, U):
        return self.T_.T @ self.A.adjoint(U)

    def among(self, rows, columns=None):
        return Composed(self.A.among(rows), self.T_ if columns is None else self.T_[:, columns])

    def rows(self, index):
        return self._factor.after(self.A.rows(index))

    def blocks(self):
        # T amplifies rounding, so the product is taken in float64 whatever A comes in.
        for rows, block in self.A.blocks():
            yield rows, self._factor.after(np.asarray(block, dtype=np.float64))

    def sandwich(self, V, middle):
        # See `gramian` for the order.
        if self.dtype == np.float64:
            return super().sandwich(V, middle)
        return self.T_.T @ self.A.sandwich(self.T_ @ V, middle)

    def gramian(self, w=None):
        # T amplifies rounding. In float64 the rows are transformed first, so that it does so once and not
        # twice; float32 rows carry more noise than that in any case, and the cheap order will do.
        if self.dtype == np.float64:
            return self.A.gramian(w, self.T_)
        G = self.T_.T @ self.A.gramian(w) @ self.T_
        return 0.5 * (G + G.T)


class WithOnes(Operator):
    """[A 1]: one more column of ones, for an offset."""

    def __init__(self, A: Operator):
        self.A, self.by_engine = A, A.by_engine
        self.shape, self.dtype = (A.shape[0], A.shape[1] + 1), A.dtype

    def __matmul__(self, V):
        return self.A @ V[:-1] + V[-1:] if V.ndim == 2 else self.A @ V[:-1] + V[-1]

    def adjoint(self, U):
        return np.concatenate([self.A.adjoint(U), np.sum(U, axis=0, keepdims=True)])

    def among(self, rows, columns=None):
        some = WithOnes(self.A.among(rows))
        return some if columns is None else Matrix(some.dense()[:, columns])

    def rows(self, index):
        inner = self.A.rows(index)
        return np.hstack([inner, np.ones((inner.shape[0], 1))])

    def blocks(self):
        for rows, block in self.A.blocks():
            block = block.toarray() if issparse(block) else block
            yield rows, np.hstack([block, np.ones((block.shape[0], 1), block.dtype)])

    def sandwich(self, V, middle):
        sums: list[np.ndarray] = []

        def shifted(rows, S):
            out = middle(rows, S + V[-1:])
            sums.append(out.sum(axis=0))
            return out

        inner = self.A.sandwich(V[:-1], shifted)
        return np.vstack([inner, sum(sums)])

    def gramian(self, w=None):
        weights = np.ones(self.shape[0]) if w is None else w
        edge = self.A.adjoint(weights)
        return np.block([[self.A.gramian(w), edge[:, None]], [edge[None, :], np.array([[weights.sum()]])]])

    def column_squares(self, w=None):
        total = self.shape[0] if w is None else w.sum()
        return np.append(self.A.column_squares(w), total)
