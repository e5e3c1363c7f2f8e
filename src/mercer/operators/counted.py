"""K(X, Z) = Φ(X) Φ(Z)ᵀ for kernels with sparse feature vectors."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from mercer._threads import at_most, parallel_map
from mercer.operators.kernel import KernelOperator, require_columns, require_room

# Entries of a block of K that a thread computes at a time: 4 MB of doubles.
_ENTRIES = 1 << 19
# Features that at least such a share of the columns have, and up to so many of them, are multiplied by BLAS.
_SHARE, _MOST = 0.08, 2048


class CountedOperator(KernelOperator):
    """K(X, Z) of a kernel with `counts`: products take as long as there are features, not pairs.

    Features are made once, when the operator is bound. K V is Φ(X) (Φ(Z)ᵀ V): nothing of size n×m.
    """

    threaded = True

    @cached_property
    def _columns(self) -> Any:
        """Φ(Z), a column for each feature that occurs in Z."""
        with at_most(self.threads):
            return self.Z.csr(self.Z.vocabulary)

    @cached_property
    def _rows(self) -> Any:
        """Φ(X), with the columns of Φ(Z): no other feature matters."""
        with at_most(self.threads):
            return self._columns if self.symmetric else self.X.csr(self.Z.vocabulary)

    def diag(self):
        return self.X.squares() if self.symmetric else super().diag()

    def row_norms(self):
        return np.sqrt(self.X.squares())

    def product(self, V):
        require_columns(V, self.shape[1])
        dtype = np.result_type(self.dtype, V)
        return np.asarray(self._rows @ (self._columns.T @ V), dtype)

    def _sandwich(self, V, middle):
        S = middle(slice(0, self.shape[0]), np.asarray(self.product(V)))
        return np.asarray(self._columns @ (self._rows.T @ S), np.float64)

    def fill(self, out):
        n, m = self.shape
        require_room(out, n, m)
        if not n or not m:
            return out
        A, B = self._rows, self._columns
        common, rare = _by_frequency(B, min(_MOST, n))
        many, often = A[:, common].toarray(), B[:, common].toarray().T
        left, right = A[:, rare], B[:, rare].T.tocsr()
        height = max(_ENTRIES // m, 16)

        def some(first: int) -> None:
            rows = slice(first, min(first + height, n))
            block = many[rows] @ often
            if left.nnz:
                block += (left[rows] @ right).toarray()
            out[rows] = block

        parallel_map(some, range(0, n, height), self.threads)
        return out


def _by_frequency(B: Any, most: int) -> tuple[np.ndarray, np.ndarray]:
    """(features that many rows of B have, up to `most` of them; the others)

    What few rows have in common takes few products. What most of them have takes all, and as a table of
    numbers is multiplied much faster.
    """
    times = np.bincount(B.indices, minlength=B.shape[1])
    often = np.argsort(-times, kind="stable")[:most]
    common = np.sort(often[times[often] >= _SHARE * B.shape[0]])
    return common, np.setdiff1d(np.arange(B.shape[1]), common)
