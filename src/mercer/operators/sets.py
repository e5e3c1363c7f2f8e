"""K(X, Z) between sets, from the matrix of the kernel on their elements."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np

from mercer.kernels.sets import MeanEmbedding, segments, summed
from mercer.operators.kernel import KernelOperator, require_room

# Elements of Z that rows of the inner matrix are computed for at a time: 32 MB for the least of tiles.
_ELEMENTS = 1 << 16


class SetsOperator(KernelOperator):
    """K(X, Z) of a `MeanEmbedding`: rows of the inner kernel's matrix, by the engine, added up set by set."""

    threaded = True
    kernel: MeanEmbedding

    def fill(self, out):
        require_room(out, *self.shape)
        out[...] = 0
        rows, columns = self.X.filled, self.Z.filled
        if len(rows) and len(columns):
            A = self.X[rows]
            sums = self._sums(A, A if self.symmetric else self.Z[columns])
            pairs = self.X.lengths[rows].astype(float)[:, None] * self.Z.lengths[columns]
            out[np.ix_(rows, columns)] = sums / pairs
        if self.symmetric:  # to the last bit, whatever rounding did
            out[...] = np.tril(out) + np.tril(out, -1).T
        return out

    def _sums(self, A: Any, B: Any) -> np.ndarray:
        """Sums of the inner kernel's values between the elements of each two sets, none of them empty."""
        sums, lock = np.zeros((len(A), len(B))), Lock()
        elements = int(B.starts[-1])
        for c in range(0, elements, _ELEMENTS):
            d = min(c + _ELEMENTS, elements)
            there, across = segments(B.starts, c, d)
            whole = A is B and d - c == elements
            inner = self.engine.operator(self.kernel.kernel, A.elements, None if whole else B.elements[c:d])

            def step(tile, K, there=there, across=across):
                here, cuts = segments(A.starts, tile.start, tile.stop)
                S = summed(K, cuts, across)
                with lock:  # tiles may meet within a set
                    sums[here, there] += S

            inner.reduce(step)
        return sums
