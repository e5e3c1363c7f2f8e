"""K(X, Z) = Φ(X) Φ(Z)ᵀ for kernels with sparse feature vectors."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from mercer._threads import parallel_map
from mercer.operators.kernel import KernelOperator, require_columns, require_room

# Entries of a block of K that a thread computes at a time: 4 MB of doubles.
_ENTRIES = 1 << 19
# Up to so many features, of which a row has at least such a share, BLAS multiplies whole rows.
_FEW, _SHARE = 2048, 0.02


class CountedOperator(KernelOperator):
    """K(X, Z) of a kernel with `counts`: products take as long as there are features, not pairs.

    Features are made once, when the operator is bound. K V is Φ(X) (Φ(Z)ᵀ V): nothing of size n×m.
    """

    threaded = True

    @cached_property
    def _columns(self) -> Any:
        """Φ(Z), a column for each feature that occurs in Z."""
        return self.Z.csr(self.Z.vocabulary)

    @cached_property
    def _rows(self) -> Any:
        """Φ(X), with the columns of Φ(Z): no other feature matters."""
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
        features = B.shape[1]
        if features <= _FEW and A.nnz >= _SHARE * n * features:
            out[...] = A.toarray() @ B.toarray().T
            return out
        height = max(_ENTRIES // m, 16)

        def some(first: int) -> None:
            rows = slice(first, min(first + height, n))
            out[rows] = (B @ A[rows].toarray().T).T if features <= 1 << 16 else (A[rows] @ B.T).toarray()

        parallel_map(some, range(0, n, height), self.threads, blas=False)
        return out
