"""Cholesky in place, in panels of our own.

LAPACK's threaded float64 factorisation crashes in some OpenBLAS builds from n ≈ 16,000 on; here
only small diagonal blocks go to LAPACK and the rest is matrix products, which are also what runs
fastest. The strict upper triangle is left alone: it still holds the matrix, so residuals can be
computed and a failed attempt repeated without a second n×n array.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import get_blas_funcs, get_lapack_funcs

_PANEL = 512


class NotPositiveDefinite(ArithmeticError):
    """A pivot was not positive."""


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
    """

    def __init__(self, A: np.ndarray, shift: float = 0.0, scale: np.ndarray | None = None, max_jitter: float = 1e-2):
        if scale is not None:
            for i in range(0, len(A), _PANEL):
                A[i : i + _PANEL] *= scale[i : i + _PANEL, None].astype(A.dtype)
                A[i : i + _PANEL] *= scale[None, :].astype(A.dtype)
        self.L = A
        self.n = len(A)
        self.diagonal = A.diagonal().astype(np.float64) + shift
        self.jitter = 0.0
        if self.n == 0:
            return
        mean = max(float(np.abs(self.diagonal).mean()), np.finfo(A.dtype).tiny)
        step = self.n * float(np.finfo(A.dtype).eps) * mean
        while True:
            np.fill_diagonal(A, self.diagonal + self.jitter)
            try:
                _factor_in_place(A)
                return
            except NotPositiveDefinite:
                self.jitter = 10 * self.jitter or step
                if self.jitter > max_jitter * mean:
                    raise NotPositiveDefinite(
                        "the matrix is not positive definite, even with a jitter of "
                        f"{self.jitter / 10:.1e} on its diagonal; is the kernel positive semidefinite "
                        "(mercer.kernels.check)? A larger lam helps too"
                    ) from None
                _mirror_upper(A)

    def solve(self, B: np.ndarray) -> np.ndarray:
        """(L Lᵀ)⁻¹ B, in float64 outside and the factor's precision inside."""
        return self.solve_upper(self.solve_lower(B))

    def solve_lower(self, B: np.ndarray) -> np.ndarray:
        """L⁻¹ B."""
        L, (trsm,) = self.L, get_blas_funcs(("trsm",), (self.L,))
        X = np.array(B, dtype=L.dtype, ndmin=2 if np.ndim(B) > 1 else 1)
        X = X[:, None] if X.ndim == 1 else X
        for j in range(0, self.n, _PANEL):
            k = min(j + _PANEL, self.n)
            if j:
                X[j:k] -= L[j:k, :j] @ X[:j]
            X[j:k] = trsm(1.0, np.asfortranarray(L[j:k, j:k]), X[j:k], lower=1)
        return X.reshape(np.shape(B)).astype(np.float64, copy=False)

    def solve_upper(self, B: np.ndarray) -> np.ndarray:
        """L⁻ᵀ B."""
        L, (trsm,) = self.L, get_blas_funcs(("trsm",), (self.L,))
        X = np.array(B, dtype=L.dtype, ndmin=2 if np.ndim(B) > 1 else 1)
        X = X[:, None] if X.ndim == 1 else X
        for j in range((self.n - 1) // _PANEL * _PANEL, -1, -_PANEL):
            k = min(j + _PANEL, self.n)
            if k < self.n:
                X[j:k] -= L[k:, j:k].T @ X[k:]
            X[j:k] = trsm(1.0, np.asfortranarray(L[j:k, j:k]), X[j:k], lower=1, trans_a=1)
        return X.reshape(np.shape(B)).astype(np.float64, copy=False)

    def multiply(self, V: np.ndarray) -> np.ndarray:
        """(A + shift·I) V from the untouched upper triangle, jitter not included."""
        V = np.asarray(V, dtype=np.float64)
        out = self.diagonal.reshape(-1, *([1] * (V.ndim - 1))) * V
        for j in range(0, self.n, _PANEL):
            k = min(j + _PANEL, self.n)
            # Converted panel by panel, so that float32 storage still gives a float64 residual.
            upper = np.triu(self.L[j:k, j:], 1).astype(np.float64)
            out[j:k] += upper @ V[j:]
            out[j:] += upper.T @ V[j:k]
        return out

    def inverse_diagonal(self) -> np.ndarray:
        """diag((L Lᵀ)⁻¹): squared column lengths of L⁻¹, a panel of columns at a time."""
        L, (trsm,) = self.L, get_blas_funcs(("trsm",), (self.L,))
        out = np.empty(self.n)
        for c in range(0, self.n, _PANEL):
            e = min(c + _PANEL, self.n)
            X = np.zeros((self.n - c, e - c), L.dtype)
            X[: e - c] = np.eye(e - c, dtype=L.dtype)
            for j in range(c, self.n, _PANEL):
                k = min(j + _PANEL, self.n)
                if j > c:
                    X[j - c : k - c] -= L[j:k, c:j] @ X[: j - c]
                X[j - c : k - c] = trsm(1.0, np.asfortranarray(L[j:k, j:k]), X[j - c : k - c], lower=1)
            out[c:e] = np.einsum("ij,ij->j", X, X, dtype=np.float64)
        return out

    def condition(self) -> float:
        """A cheap lower estimate of the condition number, from the pivots."""
        pivots = self.L.diagonal().astype(np.float64) if self.n else np.ones(1)
        return float((pivots.max() / pivots.min()) ** 2)


def _factor_in_place(A: np.ndarray) -> None:
    n = len(A)
    (potrf,) = get_lapack_funcs(("potrf",), (A,))
    (trsm,) = get_blas_funcs(("trsm",), (A,))
    buffer = np.empty(n * min(_PANEL, n), A.dtype)
    for j in range(0, n, _PANEL):
        k = min(j + _PANEL, n)
        panel = buffer[: (n - j) * (k - j)].reshape(n - j, k - j)
        if j:
            np.matmul(A[j:, :j], A[j:k, :j].T, out=panel)
            np.subtract(A[j:, j:k], panel, out=panel)
        else:
            panel[...] = A[:, :k]
        block, info = potrf(panel[: k - j], lower=1, clean=1)
        if info != 0 or not np.isfinite(block.diagonal()).all():
            raise NotPositiveDefinite(f"pivot {j + info}")
        lower = np.tril_indices(k - j)
        A[j:k, j:k][lower] = block[lower]
        if k < n:
            below = panel[k - j :].T  # Fortran order: solved in place
            solved = trsm(1.0, block, below, lower=1, overwrite_b=1)
            A[k:, j:k] = solved.T


def _mirror_upper(A: np.ndarray) -> None:
    """Rebuild the lower triangle from the upper one."""
    n = len(A)
    for j in range(0, n, _PANEL):
        k = min(j + _PANEL, n)
        A[k:, j:k] = A[j:k, k:].T
        block = np.triu(A[j:k, j:k], 1)
        A[j:k, j:k] = block + block.T + np.diag(A[j:k, j:k].diagonal())
