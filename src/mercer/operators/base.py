"""The contract of an operator: what a solver may ask of A and B."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mercer._memory import available_memory
from mercer._threads import cpu_count
from mercer._xp import issparse
from mercer.operators.factor import Factor
from mercer.operators.resident import Resident
from mercer.operators.spectrum import Eigenbasis, spectrum_of

Middle = Callable[[slice, np.ndarray], np.ndarray]
Step = Callable[[slice, Any], "np.ndarray | None"]

BLOCK_BYTES = 32 << 20
# Of the memory that is free, what matrices may take.
_SHARE = 0.7
# A factor of so many rows takes no longer than the iterations it spares.
_DIRECT_ROWS = 3000


class Operator:
    """A linear map A of shape (n, p).

    Required: ``shape``, ``dtype`` and `blocks`, which yields the rows in blocks. Everything else follows from
    these, and is overridden where something faster is known.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.operators import Operator
    >>> class Doubling(Operator):
    ...     def __init__(self, n):
    ...         self.shape, self.dtype = (n, n), np.dtype(float)
    ...     def blocks(self):
    ...         yield slice(0, self.shape[0]), 2 * np.eye(self.shape[0])
    >>> Doubling(2) @ np.array([1.0, 5.0]), Doubling(3).gramian().diagonal()
    (array([ 2., 10.]), array([4., 4., 4.]))
    """

    shape: tuple[int, int]
    dtype: np.dtype
    of_kernel = False  # are entries values of a kernel, computed whenever they are needed?
    dear = False  # does computing an entry again cost far more than keeping it?
    work = 0.0  # multiply-adds that computing an entry takes: 0 in memory, inf where nobody knows
    threaded = False  # do products run on threads of their own, which those of BLAS would disturb?
    semidefinite = False  # is it known by a rule that the matrix is positive semidefinite?
    remote = False  # do large matrices live elsewhere (on a GPU), and should not come to the host?
    single_faster = True  # is a factor in float32 much faster than one in float64, where factors live?
    direct_rows = _DIRECT_ROWS  # up to here a system is factored, wherever a few products would do, too

    @property
    def threads(self) -> int:
        """How many threads of this machine its products may take."""
        return cpu_count()

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """(rows, A[rows]) over all rows."""
        raise NotImplementedError

    # -- entries ----------------------------------------------------------------------------------

    def rows(self, index: Any) -> np.ndarray:
        """A[index] as a dense float64 array."""
        return np.asarray(self.among(index).dense(), dtype=np.float64)

    def columns(self, index: np.ndarray) -> np.ndarray:
        """A[:, index] in the operator's own precision."""
        return self.among(columns=index).dense()

    def dense(self) -> np.ndarray:
        """The matrix, in a fresh array the caller may overwrite."""
        return self.fill(np.empty(self.shape, self.dtype))

    def fill(self, out: np.ndarray) -> np.ndarray:
        """Write the matrix into `out`, and return it."""
        for rows, block in self.blocks():
            out[rows] = block.toarray() if issparse(block) else block
        return out

    def sparse(self) -> Any:
        """The matrix as SciPy's sparse rows, where that is how it is kept; None elsewhere."""
        return None

    def diag(self) -> np.ndarray:
        """The diagonal, in float64."""
        return np.diag(self.dense()).astype(np.float64)

    def row_norms(self) -> np.ndarray | None:
        """√k(x, x) of each row, where entries are values of a kernel; None where they are not."""
        return None

    # -- products ---------------------------------------------------------------------------------

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        """A V, in float64."""
        V = np.asarray(V)
        out = np.empty((self.shape[0], *V.shape[1:]))
        W = V.astype(self.dtype, copy=False)
        for rows, block in self.blocks():
            out[rows] = block @ W
        return out

    def adjoint(self, U: np.ndarray) -> np.ndarray:
        """Aᵀ U, in float64."""
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

        def step(rows, block):
            return weighted_gram(block, None if w is None else w[rows], T)

        size = self.shape[1] if T is None else T.shape[1]
        return self.summed(step, (size, size))

    def column_sums(self, w: np.ndarray) -> np.ndarray:
        """Aᵀ w as a column, from the same entries as `gramian`, in float64 throughout."""

        def step(rows, block):
            return (block.astype(np.float64, copy=False).T @ w[rows])[:, None]

        return self.summed(step, (self.shape[1], 1))

    def reduce(self, step: Step) -> list[np.ndarray | None]:
        """step(rows, A[rows]) for blocks of rows, in parallel where an engine can.

        For reductions the others do not cover. `step` returns an array or None; arrays may be added up on the
        way, so that of the list that comes back only the sum means anything.
        """
        total = None
        for rows, block in self.blocks():
            part = step(rows, block)
            if part is not None:
                total = part.astype(np.float64) if total is None else np.add(total, part, out=total)
        return [total]

    def summed(self, step: Step, shape: tuple[int, int]) -> np.ndarray:
        """The sum of what `step` gives, which has this shape."""
        parts = [part for part in self.reduce(step) if part is not None]
        total = parts.pop() if parts else np.zeros(shape)
        for part in parts:
            total = total + part
        return total

    def column_squares(self, w: np.ndarray | None = None) -> np.ndarray:
        """diag(Aᵀ diag(w) A)."""
        out = np.zeros(self.shape[1])
        for rows, block in self.blocks():
            squared = block.multiply(block) if issparse(block) else block * block
            out += squared.T @ (np.ones(block.shape[0]) if w is None else w[rows])
        return out

    def row_squares(self) -> np.ndarray:
        """diag(A Aᵀ)."""
        return np.concatenate([squares_of(block) for _, block in self.blocks()])

    # -- itself in other forms --------------------------------------------------------------------

    def among(self, rows: Any = None, columns: np.ndarray | None = None) -> Operator:
        """A[rows, columns], None meaning all, as an operator of the same kind where that can be."""
        from mercer.operators.dense import Matrix

        values = self.dense() if rows is None else self.dense()[rows]
        return Matrix(values if columns is None else values[:, columns])

    def columns_as_multiplied(self) -> np.ndarray | None:
        """Z, in float64, as products with K(X, Z) round it, where that is known.

        What they do to a centre they do to all its values. Next to K(Z, Z) at these points, products have no
        other errors than those of single values, which are all over the place.
        """
        return None

    def beside(self, A: Operator) -> Operator:
        """This K(Z, Z), for Z as products with A = K(X, Z) round it, where that is known."""
        return self

    def at(self, dtype: Any) -> Operator | None:
        """The same operator computed in another precision; None if it can't be."""
        return None

    def rounded(self) -> Operator:
        """The same operator for vectors rounded to its own precision: faster on some engines."""
        return self

    def resident(self) -> Resident:
        """The same operator for vectors that stay in the memory where it is computed."""
        return Resident(self)

    def single_threaded(self) -> Operator:
        """The same operator, for use in one of several threads at the same time."""
        return self

    def expecting(self, pairs: float) -> Operator:
        """The same operator, for work on so many entries in all that comes in small pieces."""
        return self

    # -- in memory, factored, decomposed: where large matrices live ---------------------------------

    def kept(self) -> Any:
        """The same with its entries kept where large matrices live; MemoryError where they find no room."""
        from mercer.operators.dense import Matrix

        return Matrix(self.dense())

    def factor(self, shift: float = 0.0, max_jitter: float = 1e-2, scale: np.ndarray | None = None) -> Any:
        """A Cholesky factor of S A S + shift·I, S = diag(scale), in A's precision.

        Wherever it lives, it takes and gives NumPy arrays: `solve`, `solve_lower`, `solve_upper`, `multiply`,
        `inverse`, `inverse_diagonal`, `log_determinant`, `condition`, `jitter` (see `Factor`).
        """
        return Factor(self.dense(), shift, scale, max_jitter)

    def spectrum(self, scale: np.ndarray | None = None) -> Eigenbasis:
        """S A S = Q Λ Qᵀ, S = diag(scale), in float64, for a symmetric A of no negative eigenvalues."""
        return spectrum_of(self.dense().astype(np.float64, copy=False), scale)

    def whitened_factor(
        self,
        L: Any,
        w: np.ndarray | None = None,
        scale: float = 1.0,
        shift: float = 0.0,
        max_jitter: float = 1e-2,
    ) -> Any:
        """A factor of scale·L⁻¹ Aᵀ diag(w) A L⁻ᵀ + shift·I, for a factor L of the same kind, in float64."""
        half = L.solve_lower(self.gramian(w))
        H = L.solve_lower(np.ascontiguousarray(half.T))
        H *= scale
        return Factor(H, shift, max_jitter=max_jitter)

    def free_bytes(self) -> int:
        """Bytes that its factors may take, where they live."""
        return int(_SHARE * available_memory())


class Transpose(Operator):
    """Aᵀ.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.operators import Matrix
    >>> Matrix(np.array([[1.0, 2.0]])).T @ np.array([3.0])
    array([3., 6.])
    """

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


def row_blocks(shape: tuple[int, int], dtype: np.dtype) -> Iterator[slice]:
    """The rows of a matrix, as many at a time as take some megabytes."""
    n, p = shape
    height = max(1, BLOCK_BYTES // max(p * dtype.itemsize, 1))
    for i in range(0, n, height):
        yield slice(i, min(i + height, n))


def squares_of(rows: Any) -> np.ndarray:
    """The squared norm of each of these rows, dense or sparse, in float64.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.operators import squares_of
    >>> squares_of(np.array([[3.0, 4.0]]))
    array([25.])
    """
    if issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)


def weighted_gram(block: Any, w: np.ndarray | None, T: np.ndarray | None = None) -> np.ndarray:
    """Kᵀ diag(w) K of a block of rows, or that of K T, in float64.

    Products of float32 entries need float64 sums: normal equations square the condition number.
    """
    if issparse(block):
        scaled = block if w is None else block.multiply(w[:, None]).tocsr()
        return (block.T @ scaled).toarray()
    K = block.astype(np.float64, copy=False)
    K = K if T is None else K @ T
    if w is None:
        return K.T @ K  # recognised by NumPy as symmetric: half the work
    if (w >= 0).all():
        root = K * np.sqrt(w)[:, None]
        return root.T @ root
    return K.T @ (K * w[:, None])
