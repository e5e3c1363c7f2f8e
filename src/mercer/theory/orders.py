"""tr(KL) for one order of the points behind K and many of those behind L: what tests of independence need."""

# ruff: noqa: F821, UP037  (annotations of the loop are types of the compiled subset)

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from mercer._threads import cpu_count, parallel_map
from mercer.codegen.subset.compiled import compiled
from mercer.features.centres import randomly_pivoted_cholesky
from mercer.operators import KernelOperator

# Numbers that are held at a time for many orders: 128 MB of doubles.
_ENTRIES = 1 << 24
# What a factor of K may leave out of its trace. Products of factors with together so many columns, as a
# multiple of n, take less time than sums over all pairs in random order.
_LEFT_OUT, _COLUMNS = 1e-12, 16
# Orders that a thread looks at, one after another.
_ORDERS = 16


class Centred:
    """HKH of a kernel matrix, H = I − 11ᵀ/n, as FFᵀ where F has few columns.

    `largest` is the largest entry of K, in absolute value.

    >>> from mercer.engines import Tiled
    >>> from mercer.kernels import Linear
    >>> K = Centred(Tiled().operator(Linear(), np.array([[1.0], [2.0], [4.0], [9.0]])))
    >>> K.squares.round(12), K.factor.shape, K.largest
    (array([ 9.,  4.,  0., 25.]), (4, 1), 81.0)
    """

    def __init__(self, K: KernelOperator):
        self.K, self.n = K, K.shape[0]
        diagonal = K.diag()
        self.largest = float(np.abs(diagonal).max())
        self.factor: np.ndarray | None = None
        self._whole: np.ndarray | None = None
        if K.semidefinite:
            rank = min(self.n // 2, int(4 * math.sqrt(_COLUMNS * self.n)))
            rng = np.random.default_rng(0)
            F, _ = randomly_pivoted_cholesky(diagonal, K.columns, rank, rng, tol=_LEFT_OUT)
            total = float(np.sum(diagonal))
            if total - float(np.sum(F**2)) <= 10 * _LEFT_OUT * total:
                self.factor = F - F.mean(axis=0)

    @property
    def whole(self) -> np.ndarray:
        """The matrix."""
        if self._whole is None:
            K = np.ascontiguousarray(self.K.dense(), dtype=np.float64)
            K -= K.mean(axis=0)
            K -= K.mean(axis=1)[:, None]
            self._whole = K
        return self._whole

    @property
    def squares(self) -> np.ndarray:
        """Its diagonal."""
        if self.factor is None:
            return np.diagonal(self.whole)
        return np.einsum("ij,ij->i", self.factor, self.factor)


def traces_in_orders(K: Centred, L: Centred, exchanges: int, rng: Any) -> tuple[np.ndarray, np.ndarray]:
    """tr(KL) and Σ K_ii L_ii, for L as it is, and then in random orders."""
    n, F, G = K.n, K.factor, L.factor
    step = max(_ENTRIES // n, 1)
    products, traces = [], []
    for done in range(0, exchanges + 1, step):
        count = min(step, exchanges + 1 - done)
        orders = rng.permuted(np.tile(np.arange(n), (count, 1)), axis=1)
        if not done:
            orders[0] = np.arange(n)
        diagonals = L.squares[orders] @ K.squares
        if F is not None and G is not None and F.shape[1] * G.shape[1] <= _COLUMNS * n:
            products.append(_by_factors(F, G, orders))
        else:
            products.append(_by_pairs(K.whole, L.whole, orders, diagonals))
        traces.append(diagonals)
    return np.concatenate(products), np.concatenate(traces)


def _by_factors(F: np.ndarray, G: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """‖FᵀG‖² for the rows of G in every order: one product for as many orders as fit."""
    out, columns = np.empty(len(orders)), max(G.shape[1], 1)
    step = max(_ENTRIES // (len(F) * columns), 1)
    for a in range(0, len(orders), step):
        some = orders[a : a + step]
        M = F.T @ G[some.T].reshape(len(F), -1)
        out[a : a + step] = np.sum(M.reshape(-1, len(some), G.shape[1]) ** 2, axis=(0, 2))
    return out


def _by_pairs(K: np.ndarray, L: np.ndarray, orders: np.ndarray, diagonals: np.ndarray) -> np.ndarray:
    """Σ K_ij L_p(i)p(j) for every order p; both matrices are symmetric, and the diagonals known."""
    out, loop = np.empty(len(orders)), _compiled()

    def some(a: int) -> None:
        here = range(a, min(a + _ORDERS, len(orders)))
        if loop is not None:
            loop(K, L, orders, out, here.start, here.stop, len(K))
        else:
            for b in here:
                p = orders[b]
                M = np.take(np.take(L, p, axis=0), p, axis=1)
                out[b] = (np.vdot(K, M) - diagonals[b]) / 2

    parallel_map(some, range(0, len(orders), _ORDERS), cpu_count())
    return 2 * out + diagonals


def below_diagonal(
    K: "f64[:,:]",  # type: ignore[name-defined]
    L: "f64[:,:]",  # type: ignore[name-defined]
    orders: "i64[:,:]",  # type: ignore[name-defined]
    out: "f64[:]",  # type: ignore[name-defined]
    first: int,
    last: int,
    n: int,
):
    """out[b] = Σ_{j<i} K_ij L_p(i)p(j) for the orders p from `first` to `last`."""
    for b in range(first, last):
        total = 0.0
        for i in range(n):
            p = orders[b, i]
            even = 0.0
            odd = 0.0
            j = 0
            while j + 1 < i:  # two sums, so that one need not wait for the other
                even += K[i, j] * L[p, orders[b, j]]
                odd += K[i, j + 1] * L[p, orders[b, j + 1]]
                j += 2
            if j < i:
                even += K[i, j] * L[p, orders[b, j]]
            total += even + odd
        out[b] = total


@cache
def _compiled() -> Any:
    return compiled([below_diagonal])
