"""Operators made of others: features of points, other coordinates, another origin, a column of ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._xp import features_by, issparse
from mercer.operators.base import Operator, row_blocks
from mercer.operators.dense import Matrix

# Columns of a triangular factor that are multiplied together.
_PANEL = 256


class FeatureOperator(Operator):
    """Φ(X), computed block by block from a fitted feature map.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import RandomFourierFeatures
    >>> from mercer.operators import FeatureOperator
    >>> X = np.array([[1.0], [2.0]])
    >>> map = RandomFourierFeatures(n_features=6, random_state=0).fit(X)
    >>> Phi = FeatureOperator(map, X, map.transform(X).shape[1])
    >>> bool(np.allclose(Phi @ np.ones(Phi.shape[1]), map.transform(X).sum(axis=1)))
    True
    """

    def __init__(self, map: Any, X: Any, size: int):
        self.map, self.X = map, X
        dtype = np.dtype(getattr(X, "dtype", np.float64))
        self.shape, self.dtype = (X.shape[0], size), dtype if dtype.kind == "f" else np.dtype(np.float64)

    def blocks(self):
        for rows in row_blocks(self.shape, self.dtype):
            yield rows, features_by(self.map.transform, self.X[rows])

    def among(self, rows=None, columns=None):
        some = self if rows is None else FeatureOperator(self.map, self.X[rows], self.shape[1])
        return some if columns is None else Matrix(some.dense()[:, columns])


class Shifted(Operator):
    """A − 1 mᵀ, a block at a time: of rows that are far from 0 and near m nothing is lost to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> A = Shifted(Matrix(np.array([[10.0, 20.0], [12.0, 21.0]])), np.array([10.0, 20.0]))
    >>> A.dense()
    array([[0., 0.],
           [2., 1.]])
    >>> A.gramian()
    array([[4., 2.],
           [2., 1.]])
    """

    def __init__(self, A: Operator, mean: np.ndarray):
        self.A, self.mean, self.threaded = A, mean, A.threaded
        self.shape, self.dtype = A.shape, A.dtype

    def blocks(self):
        for rows, block in self.A.blocks():
            yield rows, self._moved(block)

    def _moved(self, block: Any) -> np.ndarray:
        return (block.toarray() if issparse(block) else block) - self.mean.astype(self.dtype, copy=False)

    def rows(self, index):
        return self.A.rows(index) - self.mean

    def among(self, rows=None, columns=None):
        if columns is None:
            return Shifted(self.A.among(rows), self.mean)
        return Shifted(self.A.among(rows, columns), self.mean[columns])

    def reduce(self, step):
        return self.A.reduce(lambda rows, block: step(rows, self._moved(block)))

    def adjoint(self, U):
        if not self.A.remote:
            return super().adjoint(U)
        # Where blocks are on a device they stay there; values of a kernel are near enough to 0 for float64.
        U = np.asarray(U)
        return self.A.adjoint(U) - np.multiply.outer(self.mean, U.sum(axis=0))

    def gramian(self, w=None, T=None):
        if not self.A.remote:
            return super().gramian(w, T)
        G, sums = self.A.gramian(w, T), self.A.adjoint(np.ones(self.shape[0]) if w is None else w)
        mean, total = self.mean, float(self.shape[0] if w is None else w.sum())
        if T is not None:
            mean, sums = mean @ T, sums @ T
        cross = np.outer(sums, mean)
        return G - cross - cross.T + total * np.outer(mean, mean)


class Composed(Operator):
    """A T for a small matrix T: A in other coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.operators import Composed, Matrix
    >>> Composed(Matrix(np.eye(2)), np.array([[1.0], [2.0]])) @ np.array([3.0])
    array([3., 6.])
    """

    def __init__(self, A: Operator, T: np.ndarray):
        self._upper = T.shape[0] == T.shape[1] and not np.tril(T, -1).any()
        self.A, self.T_, self.threaded = A, T, A.threaded
        self.shape, self.dtype = (A.shape[0], T.shape[1]), A.dtype

    def __matmul__(self, V):
        return self.A @ (self.T_ @ V)

    def adjoint(self, U):
        return self.T_.T @ self.A.adjoint(U)

    def among(self, rows=None, columns=None):
        return Composed(self.A.among(rows), self.T_ if columns is None else self.T_[:, columns])

    def rows(self, index):
        return self._times_T(self.A.rows(index))

    def _times_T(self, block: np.ndarray) -> np.ndarray:
        """At half the work if T is upper triangular."""
        size = self.shape[1]
        if not self._upper or size < 2 * _PANEL:
            return block @ self.T_
        out = np.empty((block.shape[0], size), np.result_type(block, self.T_))
        for j in range(0, size, _PANEL):
            k = min(j + _PANEL, size)
            np.matmul(block[:, :k], self.T_[:k, j:k], out=out[:, j:k])
        return out

    def blocks(self):
        # T amplifies rounding, so the product is taken in float64 whatever A comes in.
        for rows, block in self.A.blocks():
            yield rows, self._times_T(np.asarray(block, dtype=np.float64))

    def reduce(self, step):
        return self.A.reduce(
            lambda rows, block: step(rows, self._times_T(np.asarray(block, dtype=np.float64)))
        )

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
    """[A 1]: one more column of ones, for an offset.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.operators import Matrix, WithOnes
    >>> WithOnes(Matrix(np.array([[2.0], [3.0]]))).dense()
    array([[2., 1.],
           [3., 1.]])
    """

    def __init__(self, A: Operator):
        self.A, self.threaded = A, A.threaded
        self.shape, self.dtype = (A.shape[0], A.shape[1] + 1), A.dtype

    def __matmul__(self, V):
        return self.A @ V[:-1] + V[-1:] if V.ndim == 2 else self.A @ V[:-1] + V[-1]

    def adjoint(self, U):
        return np.concatenate([self.A.adjoint(U), np.sum(U, axis=0, keepdims=True)])

    def among(self, rows=None, columns=None):
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
