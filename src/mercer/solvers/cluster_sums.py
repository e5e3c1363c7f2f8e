"""Sums of clusters in feature space, and inner products with them: all that k-means asks of a kernel.

For weights w and clusters C_1 … C_k let P_j = Σ_{i∈C_j} w_i φ(x_i). A space keeps ⟨φ(x_i), P_j⟩ and ‖P_j‖² at
hand while points move from cluster to cluster, without φ where only K is known (`KernelSums`), or in
coordinates of the kernel, of features or of Nyström centres (`CoordinateSums`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._threads import cpu_count, parallel_map
from mercer._xp import issparse
from mercer.operators import FeatureOperator, Matrix, Operator, Shifted

# Of inner products at a time: a block that stays in cache or, where an engine computes it, is worth a call.
_NEAR, _FAR = 1 << 15, 1 << 20
# Rows whose float32 products are summed in float32 before they are added in float64: by an engine, or by
# BLAS, which may add them up one by one, so that fewer of them keep six digits.
_ROWS, _STORED_ROWS = 8192, 1024
# Rows of a stored matrix that are copied together: they should stay in cache until they are used.
_GATHERED = 256
# A stored matrix is multiplied whole from so many of its rows on: those that moved are copied first.
_WORTH_A_PASS = 1 / 3
# Changes are exact but for rounding; after so many of them for each point it is swept out.
_CHANGES = 4
# Products cluster by cluster: from so many points in each on, calls cost little.
_LARGE_GROUP = 256


class Sums:
    """Contract: `restart`, `move`, `powers`, `scores`, `columns`, `product`.

    Weights are w, squares ‖φ(x_i)‖², clusters k; `precision` is the relative rounding of inner products.
    """

    # How many blocks may be computed at a time.
    threads = 1

    def __init__(self, weights: np.ndarray, squares: np.ndarray, clusters: int, dtype: Any = np.float64):
        self.weights, self.squares, self.clusters = weights, squares, clusters
        self.precision = float(np.finfo(dtype).eps)

    def restart(self, labels: np.ndarray) -> None:
        """Take the clusters from these labels."""
        raise NotImplementedError

    def move(self, index: np.ndarray, old: np.ndarray, labels: np.ndarray) -> None:
        """Points `index` have left the clusters `old`; `labels` are now those of all points."""
        raise NotImplementedError

    def powers(self, labels: np.ndarray) -> np.ndarray:
        """‖P_j‖²."""
        raise NotImplementedError

    def height(self) -> int:
        """How many points `scores` should be asked for together."""
        return max(_NEAR // self.clusters, 1)

    def scores(self, factors: np.ndarray) -> Callable[[Any], np.ndarray]:
        """A function that gives ⟨φ(x_i), P_j⟩ f_j of points (a slice, indices) in an array of its own."""
        raise NotImplementedError

    def coordinates(self) -> np.ndarray | None:
        """P_j in coordinates in which norms are those of feature space; None if there are no such."""
        return None

    def columns(self, index: np.ndarray) -> np.ndarray:
        """⟨φ(x_i), φ(x_l)⟩ of all points with a few."""
        raise NotImplementedError

    def product(self, V: np.ndarray) -> np.ndarray:
        """K V."""
        raise NotImplementedError

    def _members(self, index: Any, *signed: tuple[np.ndarray, float]) -> np.ndarray:
        """V (points, k): for each (labels, sign) the weight of a point, with that sign, in its column."""
        w = self.weights[index]
        V = np.zeros((len(w), self.clusters))
        for labels, sign in signed:
            V[np.arange(len(w)), labels] += sign * w
        return V


class KernelSums(Sums):
    """By the kernel alone: S = K V with the members' weights in V is kept, n × k, and changed by moves.

    One product with all of K begins; then only columns of points that moved are multiplied.
    """

    def __init__(self, K: Operator, weights: np.ndarray, squares: np.ndarray, clusters: int):
        super().__init__(weights, squares, clusters, K.dtype)
        self.K, self.threads = K, cpu_count()
        self.S = np.zeros((K.shape[0], 0))
        self._moved = 0

    def restart(self, labels):
        self._moved = 0
        if not self.K.of_kernel:
            self.S = self.product(self._members(slice(None), (labels, 1.0)))
            return
        self.S = np.zeros((len(labels), self.clusters))
        self._add(np.arange(len(labels)), (labels, 1.0))

    def move(self, index, old, labels):
        n = len(labels)
        self._moved += len(index)
        stored = not self.K.of_kernel
        if self._moved > _CHANGES * n or len(index) > (_WORTH_A_PASS if stored else 0.7) * n:
            self.restart(labels)
            return
        new = labels[index]
        if not stored:
            self._add(index, (new, 1.0), (old, -1.0))
            return
        K: Any = self.K
        starts = range(0, len(index), _GATHERED)

        def change(mine: range) -> np.ndarray:
            total = np.zeros_like(self.S)
            for i in mine:
                part = slice(i, i + _GATHERED)
                rows = K.values[index[part]]
                V = self._members(index[part], (new[part], 1.0), (old[part], -1.0))
                total += rows.T @ V.astype(rows.dtype, copy=False)
            return total

        threads = min(self.threads, len(starts))
        for total in parallel_map(change, [starts[t::threads] for t in range(threads)], threads):
            self.S += total

    def _add(self, index: np.ndarray, *signed: tuple[np.ndarray, float]) -> None:
        """Add the product with some columns of K, which an engine computes."""
        # Weights of one sign: nothing cancels, and sums in float32 within a tile will do.
        K = self.K.rounded()
        if not self._by_cluster(len(index), len(signed)):
            some = K if len(index) == K.shape[0] else K.among(columns=index).rounded()
            self.S += some @ self._members(index, *signed)
            return
        # A point counts in one column only: cluster by cluster there are no products with zero.
        for labels, sign in signed:
            for j in range(self.clusters):
                some = index[labels == j]
                if len(some):
                    self.S[:, j] += K.among(columns=some).rounded() @ (sign * self.weights[some])

    def _by_cluster(self, count: int, passes: int) -> bool:
        """Is it quicker to compute every pair so many times with one column than once with one a cluster?"""
        if self.K.remote or count < _LARGE_GROUP * self.clusters * passes:
            return False
        # Another column costs two multiply-adds.
        return passes == 1 or 2 * self.clusters > (passes - 1) * self.K.work

    def powers(self, labels):
        own = self.S[np.arange(len(labels)), labels]
        return np.bincount(labels, self.weights * own, minlength=self.clusters)

    def scores(self, factors):
        return lambda rows: self.S[rows] * factors

    def columns(self, index):
        K: Any = self.K
        values = K.columns(index) if K.of_kernel else K.values[index].T
        return np.asarray(values, dtype=np.float64)

    def product(self, V):
        K: Any = self.K
        if K.of_kernel:
            return K @ V
        out, V = np.empty((K.shape[0], V.shape[1])), V.astype(K.dtype)
        step = max(_FAR // K.shape[1], 16)

        def fill(i: int) -> None:
            out[i : i + step] = K.values[i : i + step] @ V

        parallel_map(fill, range(0, K.shape[0], step), self.threads)
        return out


class CoordinateSums(Sums):
    """In coordinates: φ(x_i) is row i of A T, and only P_j is kept, p × k.

    With T, A holds values of the kernel with Nyström centres; P_j is then the sum's projection on their span,
    and `columns` gives ⟨φ(x_i), φ(x_l)⟩ of all points with those of an index, of which A T is only a part.
    """

    def __init__(
        self,
        A: Operator,
        weights: np.ndarray,
        squares: np.ndarray,
        clusters: int,
        T: np.ndarray | None = None,
        columns: Callable[[np.ndarray], np.ndarray] | None = None,
    ):
        super().__init__(weights, squares, clusters, A.dtype)
        self.A, self.T, self._columns = A, T, columns
        self.G = np.zeros((A.shape[1], clusters))
        self.coef = self._whitened = self.G
        self._rows = _ROWS
        if isinstance(A, Matrix):
            self.threads, self._rows = cpu_count(), _STORED_ROWS

    def restart(self, labels):
        self.G = np.zeros((self.A.shape[1], self.clusters))
        for i in range(0, len(labels), self._rows):
            rows = slice(i, min(i + self._rows, len(labels)))
            self._add(rows, (labels[rows], 1.0))

    def move(self, index, old, labels):
        if len(index) > len(labels) // 2:
            self.restart(labels)
            return
        for i in range(0, len(index), self._rows):
            part = index[i : i + self._rows]
            self._add(part, (labels[part], 1.0), (old[i : i + self._rows], -1.0))

    def _add(self, index: Any, *signed: tuple[np.ndarray, float]) -> None:
        self.G += self.A.among(index).adjoint(self._members(index, *signed))

    def powers(self, labels):
        self._whitened, self.coef = in_span(self.G, self.T)
        return np.square(self._whitened).sum(axis=0)

    def coordinates(self):
        return self._whitened

    def height(self):
        return super().height() if isinstance(self.A, Matrix) else max(_FAR // self.clusters, 1)

    def scores(self, factors):
        A: Any = self.A
        C = self.coef * factors
        if isinstance(A, Matrix) and not issparse(A.values):
            C = C.astype(A.dtype)
            return lambda rows: A.values[rows] @ C
        return lambda rows: A.among(rows) @ C

    def columns(self, index):
        if self._columns is not None:
            return np.asarray(self._columns(index), dtype=np.float64)
        return self.A @ self.A.rows(index).T

    def product(self, V):
        A: Any = self.A
        total = np.zeros((A.shape[1], V.shape[1]))
        for i in range(0, len(V), self._rows):
            total += A.among(slice(i, i + self._rows)).adjoint(V[i : i + self._rows])
        return A @ (total if self.T is None else self.T @ (self.T.T @ total))


def in_span(G: np.ndarray, T: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """P_j in orthonormal coordinates, and its coefficients, from sums G_j = Σ w a(x_i) of rows of A."""
    if T is None:
        return G, G
    whitened = T.T @ G
    return whitened, T @ whitened


def about_mean(A: Operator) -> tuple[Operator, np.ndarray]:
    """A about its mean, and the mean: distances between points far from 0 would be lost in rounding.

    Sparse rows stay as they are.
    """
    n, p = A.shape
    if isinstance(A, Matrix) and issparse(A.values):
        return A, np.zeros(p)
    total = np.zeros(p)
    for _, block in A.blocks():
        total += block.sum(axis=0, dtype=np.float64)
    mean = (total / n).astype(A.dtype)
    if isinstance(A, FeatureOperator):
        return Shifted(A, mean), mean.astype(np.float64)
    values: Any = A.values  # type: ignore[attr-defined]
    # By rows, because rows are what moves.
    return Matrix(np.subtract(values, mean, order="C")), mean.astype(np.float64)
