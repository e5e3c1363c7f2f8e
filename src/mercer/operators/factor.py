"""Cholesky in place, in panels of our own: small diagonal blocks go to LAPACK, the rest is NumPy's products.

LAPACK's threaded float64 factorisation crashes in some OpenBLAS builds from n ≈ 16,000 on, and SciPy's BLAS,
with its own threads, fights NumPy's for the cores.

The strict upper triangle is left alone: it still holds the matrix, so residuals can be computed and a
failed attempt repeated without a second n×n array.
"""

from __future__ import annotations

import numpy as np

from mercer._notice import tell_part
from mercer._threads import one_blas_thread, stopping_point

_PANEL = 384
# From so many rows on a factorisation takes long enough to say how far it is.
_LONG = 4096
# What multiplying by the inverse of a block may lose, relatively, before that is mended.
_ROUGH = 1e-11


class NotPositiveDefinite(ArithmeticError):
    """A pivot was not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.operators import Factor, NotPositiveDefinite
    >>> try:
    ...     Factor(np.array([[1.0, 2.0], [2.0, 1.0]]))
    ... except NotPositiveDefinite:
    ...     print("one eigenvalue is negative: add a shift")
    one eigenvalue is negative: add a shift
    """


class Factor:
    """A = L Lᵀ for a symmetric positive definite matrix, which is overwritten.

    Parameters
    ----------
    A : (n, n) array in C order, float32 or float64; its lower triangle becomes L
    shift : float
        Added to the diagonal: what is factored is A + shift·I.
    scale : (n,) array, optional
        Factor diag(scale) A diag(scale) + shift·I instead.
    max_jitter : float
        If a pivot fails, A + (shift + jitter)·I is tried with a growing jitter up to this multiple of the
        mean diagonal; the jitter used is reported.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.operators import Factor
    >>> A = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> x = Factor(A.copy()).solve(np.array([3.0, 3.0]))
    >>> bool(np.allclose(A @ x, 3.0))
    True
    """

    def __init__(
        self, A: np.ndarray, shift: float = 0.0, scale: np.ndarray | None = None, max_jitter: float = 1e-2
    ):
        if scale is not None:
            for i in range(0, len(A), _PANEL):
                A[i : i + _PANEL] *= scale[i : i + _PANEL, None].astype(A.dtype)
                A[i : i + _PANEL] *= scale[None, :].astype(A.dtype)
        self.L = A
        self.n = len(A)
        self.diagonal = A.diagonal().astype(np.float64) + shift
        self.jitter = 0.0
        self._blocks: list[tuple[int, int, _Inverse]] = []
        if self.n == 0:
            return
        if not np.isfinite(self.diagonal).all():
            raise NotPositiveDefinite("the matrix has NaN or infinity on its diagonal: k(x,x) must be finite")
        mean = max(float(np.abs(self.diagonal).mean()), np.finfo(A.dtype).tiny)
        step = self.n * float(np.finfo(A.dtype).eps) * mean
        while True:
            np.fill_diagonal(A, self.diagonal + self.jitter)
            try:
                self._blocks = _factor_in_place(A)
                return
            except NotPositiveDefinite:
                self.jitter = 10 * self.jitter or step
                if self.jitter > max_jitter * mean:
                    raise NotPositiveDefinite(
                        "the matrix is not positive definite, even with a jitter of "
                        f"{self.jitter / 10:.1e} on its diagonal; is the kernel positive semidefinite "
                        "(mercer.kernels.check)? A larger lam helps too"
                    ) from None
                mirror_upper(A)

    def __deepcopy__(self, memo: dict) -> Factor:
        return self  # nothing changes it, and it may fill the memory

    def leading(self, rows: int) -> Factor:
        """The factor of the first so many rows and columns: the same numbers, in the same place.

        Examples
        --------
        >>> A = np.array([[2.0, 1.0], [1.0, 2.0]])
        >>> Factor(A).leading(1).solve(np.array([3.0]))
        array([1.5])
        """
        if not 0 <= rows <= self.n:
            raise ValueError(f"a factor of {self.n:,} rows has no {rows:,} leading ones")
        part = object.__new__(Factor)
        part.L, part.n, part.jitter = self.L[:rows, :rows], rows, self.jitter
        part.diagonal = self.diagonal[:rows]
        part._blocks = [
            (j, min(k, rows), inverse.leading(rows - j)) for j, k, inverse in self._blocks if j < rows
        ]
        return part

    def solve(self, B: np.ndarray) -> np.ndarray:
        """(L Lᵀ)⁻¹ B, in float64 outside and the factor's precision inside."""
        return self.solve_upper(self.solve_lower(B))

    def solve_lower(self, B: np.ndarray) -> np.ndarray:
        """L⁻¹ B."""
        L, X = self.L, self._columns(B)
        for j, k, inverse in self._blocks:
            if j:
                X[j:k] -= L[j:k, :j] @ X[:j]
            X[j:k] = inverse.times(X[j:k])
        return X.reshape(np.shape(B)).astype(np.float64, copy=False)

    def solve_upper(self, B: np.ndarray) -> np.ndarray:
        """L⁻ᵀ B."""
        L, X = self.L, self._columns(B)
        for j, k, inverse in reversed(self._blocks):
            if k < self.n:
                X[j:k] -= L[k:, j:k].T @ X[k:]
            X[j:k] = inverse.transposed_times(X[j:k])
        return X.reshape(np.shape(B)).astype(np.float64, copy=False)

    def multiply_lower(self, V: np.ndarray) -> np.ndarray:
        """L V."""
        return self._multiplied(V, transposed=False)

    def multiply_upper(self, V: np.ndarray) -> np.ndarray:
        """Lᵀ V."""
        return self._multiplied(V, transposed=True)

    def _multiplied(self, V: np.ndarray, transposed: bool) -> np.ndarray:
        out = np.zeros(V.shape)
        for j in range(0, self.n, _PANEL):
            k = min(j + _PANEL, self.n)
            corner, below = np.tril(self.L[j:k, j:k]), self.L[k:, j:k]
            if transposed:
                out[j:k] = corner.T @ V[j:k] + below.T @ V[k:]
            else:
                out[j:k] += corner @ V[j:k]
                out[k:] += below @ V[j:k]
        return out

    def gram_factor(self, scale: float, shift: float) -> Factor:
        """The factor of scale·LᵀL + shift·I."""
        L = np.tril(self.L).astype(np.float64)
        return Factor(scale * (L.T @ L), shift)

    def _columns(self, B: np.ndarray) -> np.ndarray:
        X = np.array(B, dtype=self.L.dtype)
        return X[:, None] if X.ndim == 1 else X

    def multiply(self, V: np.ndarray) -> np.ndarray:
        """(A + shift·I) V from the untouched upper triangle, jitter not included."""
        V = np.asarray(V, dtype=np.float64)
        out = self.diagonal.reshape(-1, *([1] * (V.ndim - 1))) * V
        for j in range(0, self.n, _PANEL):
            k = min(j + _PANEL, self.n)
            block = np.triu(self.L[j:k, j:k], 1).astype(np.float64)
            out[j:k] += block @ V[j:k] + block.T @ V[j:k]
            # Converted panel by panel, so that float32 storage still gives a float64 residual.
            right = self.L[j:k, k:].astype(np.float64, copy=False)
            out[j:k] += right @ V[k:]
            out[k:] += right.T @ V[j:k]
        return out

    def inverse_diagonal(self) -> np.ndarray:
        """diag((L Lᵀ)⁻¹): squared column lengths of L⁻¹, a panel of columns at a time."""
        L, blocks = self.L, self._blocks
        out = np.empty(self.n)
        for first, (c, e, inverse) in enumerate(blocks):
            X = np.empty((self.n - c, e - c), L.dtype)
            X[: e - c] = inverse.values
            for j, k, inner in blocks[first + 1 :]:
                X[j - c : k - c] = -inner.times(L[j:k, c:j] @ X[: j - c])
            out[c:e] = np.einsum("ij,ij->j", X, X, dtype=np.float64)
        return out

    def inverse(self) -> np.ndarray:
        """(L Lᵀ)⁻¹ as an array, a panel of columns at a time."""
        out = np.empty((self.n, self.n))
        for c, e, _ in self._blocks:
            E = np.zeros((self.n, e - c))
            np.fill_diagonal(E[c:e], 1.0)
            out[:, c:e] = self.solve(E)
        return out

    def log_determinant(self) -> float:
        """log det (L Lᵀ), from the pivots."""
        return 2 * float(np.log(self.L.diagonal().astype(np.float64)).sum())

    def condition(self) -> float:
        """A cheap lower estimate of the condition number, from the pivots."""
        pivots = self.L.diagonal().astype(np.float64) if self.n else np.ones(1)
        return float((pivots.max() / pivots.min()) ** 2)


class _Inverse:
    """The inverse of a triangular block.

    Multiplying by it loses digits that substitution keeps, of badly conditioned blocks many. There what a
    product lacks is measured, and added. Factors in float32 are refined by those who use them.
    """

    def __init__(self, L: np.ndarray):
        self.values = inverse_lower(L)
        lost = float(np.finfo(np.float64).eps) * float(np.linalg.norm(L)) * float(np.linalg.norm(self.values))
        self.L = None if L.dtype != np.float64 or lost <= _ROUGH else L

    def leading(self, rows: int) -> _Inverse:
        """The inverse of the first so many rows and columns of L, which is a part of the inverse of all."""
        part = object.__new__(_Inverse)
        part.values = self.values[:rows, :rows]
        part.L = None if self.L is None else self.L[:rows, :rows]
        return part

    def times(self, B: np.ndarray) -> np.ndarray:
        """L⁻¹ B."""
        X = self.values @ B
        return X if self.L is None else X + self.values @ (B - self.L @ X)

    def transposed_times(self, B: np.ndarray) -> np.ndarray:
        """L⁻ᵀ B."""
        X = self.values.T @ B
        return X if self.L is None else X + self.values.T @ (B - self.L.T @ X)

    def divide(self, B: np.ndarray, out: np.ndarray) -> None:
        """B L⁻ᵀ into `out`."""
        if self.L is None:
            np.matmul(B, self.values.T, out=out)
        else:
            out[...] = self.times(B.T).T


def _factor_in_place(A: np.ndarray) -> list[tuple[int, int, _Inverse]]:
    """L over the lower triangle of A; returns the inverses of L's diagonal blocks."""
    n = len(A)
    inverses = []
    buffer = np.empty(n * min(_PANEL, n), A.dtype)
    for j in range(0, n, _PANEL):
        k = min(j + _PANEL, n)
        stopping_point()
        if n > _LONG:
            tell_part("factoring", j, n, "columns")
        panel = buffer[: (n - j) * (k - j)].reshape(n - j, k - j)
        if j:
            np.matmul(A[j:, :j], A[j:k, :j].T, out=panel)
            np.subtract(A[j:, j:k], panel, out=panel)
        else:
            panel[...] = A[:, :k]
        # Of blocks so small BLAS's threads would wait for each other longer than they work, by far where
        # other programmes want the cores, too.
        with one_blas_thread():
            try:
                block = np.linalg.cholesky(panel[: k - j])
            except np.linalg.LinAlgError:
                raise NotPositiveDefinite(f"in columns {j} to {k}") from None
            if not np.isfinite(block.diagonal()).all():
                raise NotPositiveDefinite(f"in columns {j} to {k}")
            inverse = _Inverse(block)
        inverses.append((j, k, inverse))
        lower = np.tril_indices(k - j)
        A[j:k, j:k][lower] = block[lower]
        if k < n:
            inverse.divide(panel[k - j :], A[k:, j:k])
    return inverses


def inverse_lower(L: np.ndarray) -> np.ndarray:
    """The inverse of a lower triangular matrix, by halves."""
    n = len(L)
    if n <= 64:
        return np.tril(np.linalg.inv(L))
    h = n // 2
    out = np.zeros_like(L)
    out[:h, :h], out[h:, h:] = inverse_lower(L[:h, :h]), inverse_lower(L[h:, h:])
    out[h:, :h] = -out[h:, h:] @ (L[h:, :h] @ out[:h, :h])
    return out


def mirror_upper(A: np.ndarray) -> None:
    """Rebuild the lower triangle of a symmetric matrix from its upper one, in place."""
    n = len(A)
    for j in range(0, n, _PANEL):
        k = min(j + _PANEL, n)
        A[k:, j:k] = A[j:k, k:].T
        block = np.triu(A[j:k, j:k], 1)
        A[j:k, j:k] = block + block.T + np.diag(A[j:k, j:k].diagonal())
