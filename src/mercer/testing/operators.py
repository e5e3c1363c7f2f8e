"""The laws of operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._xp import issparse
from mercer.operators import Operator
from mercer.testing.common import fail, require_close, require_kind, scale


def check_operator(A: Operator, *, tol: float | None = None, random_state: int = 0) -> None:
    """Raise `LawViolation` if an operator breaks a law.

    The laws: `blocks` yields every row once, in order; `dense` is the same matrix in a fresh array;
    ``@``, `adjoint`, ``T``, `rows`, `diag`, `sandwich`, `gramian` and `column_squares` are what that
    matrix gives, and so are `factor` and `spectrum` where it is symmetric without negative eigenvalues;
    results are float64; inputs are left alone.

    Parameters
    ----------
    A : Operator
        A small one: its matrix is formed.
    tol : float, optional
        Relative tolerance; 1e-10 by default, 1e-4 for an operator in float32.
    random_state : int
        Seed of the vectors it is tried on.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.operators import Matrix
    >>> from mercer.testing import LawViolation, check_operator
    >>> check_operator(Matrix(np.arange(6.0).reshape(3, 2)))
    >>> class Wrong(Matrix):
    ...     def adjoint(self, U):
    ...         return 2 * super().adjoint(U)
    >>> try:
    ...     check_operator(Wrong(np.ones((3, 2))))
    ... except LawViolation as violation:
    ...     print(str(violation).split(":")[1])
     adjoint must be the transpose
    """
    require_kind(A, Operator, "check_operator")
    rng = np.random.default_rng(random_state)
    tol = (1e-4 if A.dtype == np.float32 else 1e-10) if tol is None else tol
    M = _matrix(A)
    _dense(A, M, tol)
    _products(A, M, rng, tol)
    _rows(A, M, tol)
    _reductions(A, M, rng, tol)
    if A.shape[0] == A.shape[1]:
        _close(A, "diag must be the diagonal", A.diag(), M.diagonal(), M, tol)
        _factored(A, M, rng, tol)


def _matrix(A: Operator) -> np.ndarray:
    """The matrix in float64, put together from its blocks."""
    law, (n, p) = "blocks must yield every row once, in order", A.shape
    M, done = np.empty((n, p)), 0
    for rows, block in A.blocks():
        if rows.start != done or block.shape != (rows.stop - rows.start, p):
            come = f"{rows.start} to {rows.stop}, in a block of shape {block.shape}"
            fail(A, law, f"after {done} rows come {come}")
        M[rows] = block.toarray() if issparse(block) else block
        done = rows.stop
    if done != n:
        fail(A, law, f"they end after {done} of {n} rows")
    return M


def _close(A: Operator, law: str, found: Any, expected: np.ndarray, M: np.ndarray, tol: float) -> None:
    if found.dtype != np.float64:
        fail(A, law, f"the result is {found.dtype}, not float64")
    limit = tol * max(scale(expected) if expected.size else 1.0, scale(M) if M.size else 1.0)
    require_close(A, law, found, expected, limit, "at ({}) it is {}, not {}")


def _dense(A: Operator, M: np.ndarray, tol: float) -> None:
    dense = A.dense()
    if dense.dtype not in (np.float32, np.float64):
        fail(A, "dense must hold floats", f"it is {dense.dtype}")
    _close(A, "dense must agree with blocks", dense.astype(np.float64), M, M, tol)
    dense[...] = 7.0
    _close(A, "dense must be a fresh array", A.dense().astype(np.float64), M, M, tol)


def _products(A: Operator, M: np.ndarray, rng: np.random.Generator, tol: float) -> None:
    n, p = A.shape
    for shape in ((), (1,), (3,)):
        V, U = rng.standard_normal((p, *shape)), rng.standard_normal((n, *shape))
        before = V.copy(), U.copy()
        _close(A, "@ must be the product", A @ V, M @ V, M, tol)
        _close(A, "adjoint must be the transpose", A.adjoint(U), M.T @ U, M, tol)
        _close(A, "T must be the transpose", A.T @ U, M.T @ U, M, tol)
        _close(A, "T must be the transpose", A.T.adjoint(V), M @ V, M, tol)
        if not (np.array_equal(V, before[0]) and np.array_equal(U, before[1])):
            fail(A, "inputs must be left alone", "a product changed them")


def _rows(A: Operator, M: np.ndarray, tol: float) -> None:
    n = A.shape[0]
    for index in (slice(0, n // 2), np.arange(n)[::-2]):
        _close(A, "rows must be rows", A.rows(index), M[index], M, tol)


def _factored(A: Operator, M: np.ndarray, rng: np.random.Generator, tol: float) -> None:
    """Where there is a Cholesky factor, with a shift of the size of the matrix."""
    n, size = len(M), scale(M) if M.size else 0.0
    if size == 0 or not np.array_equal(M, M.T) or np.linalg.eigvalsh(M)[0] < -1e-6 * size:
        return
    s, V = rng.uniform(0.5, 1.5, n), rng.standard_normal((n, 2))
    G = s[:, None] * M * s + size * np.eye(n)
    factor, spectrum = A.factor(size, scale=s), A.spectrum(s)
    inverse, tol = np.linalg.inv(G), 10 * n * tol  # the condition of G is at most n and a little
    _close(A, "factor must be that of S A S + shift·I", factor.solve(V), inverse @ V, inverse, tol)
    found = factor.inverse_diagonal()
    _close(A, "factor must have the inverse's diagonal", found, inverse.diagonal(), inverse, tol)
    found = spectrum.solutions(spectrum.rotated(V), np.array([size]))[0]
    _close(A, "spectrum must be that of S A S", found, inverse @ V, inverse, tol)


def _reductions(A: Operator, M: np.ndarray, rng: np.random.Generator, tol: float) -> None:
    n, p = A.shape
    V, shift, w = rng.standard_normal((p, 2)), rng.standard_normal((n, 2)), rng.uniform(0.5, 2, n)

    def middle(rows, S):
        return np.tanh(S) * w[rows, None] + shift[rows]

    expected = M.T @ (np.tanh(M @ V) * w[:, None] + shift)
    _close(A, "sandwich must be Aᵀ m(A V)", A.sandwich(V, middle), expected, M, tol)
    for weights, words in ((None, ""), (w, " with weights"), (w - 1.2, " with weights of both signs")):
        each = np.ones(n) if weights is None else weights
        G = M.T @ (each[:, None] * M)
        _close(A, f"gramian must be Aᵀ diag(w) A{words}", A.gramian(weights), G, M, tol)
        law = f"column_squares must be its diagonal{words}"
        _close(A, law, A.column_squares(weights), G.diagonal(), M, tol)
