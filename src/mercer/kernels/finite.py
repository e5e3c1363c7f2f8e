"""Kernels on finite domains, given by their matrix; and precomputed Gram matrices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer._params import is_integer
from mercer._xp import frozen, issparse
from mercer.kernels.base import Kernel
from mercer.kernels.points import as_vectors
from mercer.kernels.witness import Verdict

# All eigenvalues of matrices up to here are a matter of a second.
LARGEST_EIGENPROBLEM = 1500


def square_symmetric(matrix: Any, what: str = "a kernel matrix") -> np.ndarray:
    """The matrix as a float array, or a ValueError that says what is wrong with it."""
    if issparse(matrix):
        matrix = matrix.toarray()
    M = np.asarray(matrix)
    if M.dtype.kind not in "fiub":
        raise ValueError(f"{what} must hold real numbers, got dtype {M.dtype}")
    if M.ndim != 2 or M.shape[0] != M.shape[1]:
        raise ValueError(f"{what} must be square (points × points), got shape {M.shape}")
    if M.dtype not in (np.float32, np.float64):
        M = M.astype(np.float64)
    if not np.isfinite(M).all():
        raise ValueError(f"{what} contains NaN or infinity")
    tolerance = (1e-4 if M.dtype == np.float32 else 1e-8) * (np.abs(M).max() if M.size else 0)
    if M.size and np.abs(M - M.T).max() > tolerance:
        i, j = np.unravel_index(np.argmax(np.abs(M - M.T)), M.shape)
        raise ValueError(
            f"{what} must be symmetric: entry ({i}, {j}) is {M[i, j]:.6g} but ({j}, {i}) is {M[j, i]:.6g}"
        )
    return M


class Finite(Kernel):
    """A kernel on {0, …, L−1}: k(i, j) = matrix[i, j]. Its space has dimension rank(matrix).

    Parameters
    ----------
    matrix : (L, L) symmetric positive semidefinite; a singular one is fine
    indefinite : bool
        Machines refuse a matrix with negative eigenvalues, unless this says that one is wanted.
    first : int
        What the first point is called: with 1 the domain is {1, …, L}, as in [000].

    Notes
    -----
    Points are integers. A new point outside the domain may be given by its row of kernel values
    with the L domain points; that is how precomputed matrices are used at prediction.

    Examples
    --------
    >>> k = Finite([[2.0, 1.0], [1.0, 2.0]])
    >>> k([0, 1, 1])
    array([[2., 1., 1.],
           [1., 2., 2.],
           [1., 2., 2.]])
    >>> k.dimension()
    2
    >>> Finite([[2.0, 1.0], [1.0, 2.0]], first=1)([1, 2])
    array([[2., 1.],
           [1., 2.]])
    """

    vectors = False

    def __init__(self, matrix, indefinite=False, first=0):
        self.matrix = matrix
        self.indefinite = indefinite
        self.first = first

    def validate(self):
        square_symmetric(self.matrix, "Finite: the matrix")
        if not is_integer(self.first):
            raise ValueError(
                f"Finite: first must be an integer, the name of the first point; got {self.first!r}"
            )

    def values(self) -> np.ndarray:
        """The matrix, dense, in float32 or float64."""
        M = self.matrix.toarray() if issparse(self.matrix) else np.asarray(self.matrix)
        return M if M.dtype in (np.float32, np.float64) else M.astype(np.float64)

    def __len__(self) -> int:
        return np.shape(self.matrix)[0]

    def domain(self) -> np.ndarray:
        """All its points, in the order of the matrix.

        >>> Finite([[2.0, 1.0], [1.0, 2.0]], first=1).domain()
        array([1, 2])
        """
        return np.arange(self.first, self.first + len(self), dtype=np.intp)

    def dimension(self) -> int:
        """Dimension of the space: the rank of the matrix."""
        return int(np.linalg.matrix_rank(self.values(), hermitian=True))

    def points(self, X):
        X = np.asarray(X)
        size = len(self)
        if X.ndim == 2 and X.shape[1] == 1 and size > 1:
            X = X[:, 0]
        if X.ndim == 2:
            if X.shape[1] != size:
                raise ValueError(
                    f"a new point is given by its kernel values with the {size} points of the domain; "
                    f"got rows of length {X.shape[1]}"
                )
            return as_vectors(X, what="a row of kernel values")
        if X.ndim != 1 or X.dtype.kind not in "iuf" or not np.array_equal(X, np.floor(X)):
            raise ValueError(f"points of a finite domain are integers {self._words()}")
        X = X.astype(np.intp)
        if len(X) and (X.min() < self.first or X.max() >= self.first + size):
            raise ValueError(
                f"points of this finite domain are integers {self._words()}, got {X.min()} … {X.max()}"
            )
        return X

    def _words(self) -> str:
        return f"{self.first} … {self.first + len(self) - 1}"

    def rows(self, X: np.ndarray) -> np.ndarray:
        """The numbers, from 0 on, of checked points' rows in the matrix."""
        return X - self.first if self.first else X

    def named(self, verdict: Verdict) -> Verdict:
        """A verdict on the matrix, the points of its witness called what they are here."""
        if verdict.points is None or not self.first:
            return verdict
        return replace(verdict, points=[self.first + p for p in verdict.points])

    def pairwise(self, X, Z):
        if X.ndim == 2 and Z.ndim == 2:
            raise ValueError("k between two points outside the domain is unknown: one side must be indices")
        if X.ndim == 2:
            return X[:, self.rows(Z)]
        if Z.ndim == 2:
            return Z[:, self.rows(X)].T
        return self.values()[np.ix_(self.rows(X), self.rows(Z))]

    def diagonal(self, X):
        if X.ndim == 2:
            raise ValueError(
                "k(x, x) of a point outside the domain is unknown: Finite(matrix of all points) with their "
                "numbers as X knows it"
            )
        return np.diag(self.values())[self.rows(X)]

    def require_same_width(self, X, Z):  # type: ignore[override]
        pass

    def rule(self):
        M = self.values()
        if len(M) > LARGEST_EIGENPROBLEM:
            return None
        values = np.linalg.eigvalsh(M) if M.size else np.zeros(1)
        if values[0] < -len(M) * np.finfo(M.dtype).eps * max(abs(values[-1]), abs(values[0])):
            return None
        return (
            f"a symmetric matrix whose smallest eigenvalue, {values[0]:.3g}, is not negative beyond rounding"
        )


class Precomputed(Kernel):
    """X is the Gram matrix itself: (n, n) at fit, (new points × n) at prediction.

    At fit it becomes ``Finite(matrix)`` with the training points 0 … n−1.

    Parameters
    ----------
    indefinite : bool
        Machines refuse a matrix with negative eigenvalues, unless this says that one is wanted.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> X, y = np.arange(5.0)[:, None], np.arange(5.0)
    >>> K = Gaussian(1.0)(X)
    >>> a = KernelRidge(kernel=Precomputed(), lam=0.1).fit(K, y).predict(K)
    >>> b = KernelRidge(kernel=Gaussian(1.0), lam=0.1).fit(X, y).predict(X)
    >>> bool(np.allclose(a, b))
    True
    """

    def __init__(self, indefinite=False):
        self.indefinite = indefinite

    def resolve(self, X, weights=None):
        return self

    def bind(self, X):
        M = frozen(square_symmetric(X, "a precomputed Gram matrix at fit"))
        return Finite(M, self.indefinite), np.arange(len(M))

    def points(self, X):
        raise ValueError(
            "Precomputed stands for a matrix: use it by itself in a machine, or Finite(matrix) on its own "
            "and in expressions"
        )
