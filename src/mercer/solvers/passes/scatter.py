"""Mean and scatter of examples that live elsewhere, in orthonormal coordinates: one pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._xp import issparse
from mercer.operators import Composed, Elsewhere, Operator, Shifted
from mercer.rows.base import Totals

# Rows whose products are computed together.
_ROWS = 2048


class ScatterSums:
    """Sums over rows a of A about a point m near their mean: Σ 1, Σ (a − m), Σ (a − m)(a − m)ᵀ, Σ k(x, x).

    Nothing large is subtracted then, neither here nor when shards are added up. With T the last but one is
    that of Tᵀ(a − m).

    Parameters
    ----------
    mean : (p,) array, m
    T : (p, r) array, optional
    """

    def __init__(self, mean: np.ndarray, T: np.ndarray | None = None):
        self.mean, self.T = mean, T

    def __call__(self, A: Operator, y: Any, w: Any, first: int) -> Totals:
        near, norms = Shifted(A, self.mean), A.row_norms()
        squares = 0.0 if norms is None else float(norms @ norms)
        B: Operator = near if self.T is None else Composed(near, self.T)
        if A.remote:  # rows stay where they are
            return A.shape[0], B.adjoint(np.ones(A.shape[0])), near.gramian(None, self.T), squares
        p = B.shape[1]
        both = B.summed(_sums_of, (p + 1, p))
        return A.shape[0], both[p], both[:p], squares


def _sums_of(rows: slice, block: Any) -> np.ndarray:
    """Σ b bᵀ over rows b of a block and, below it, Σ b."""
    block = block.toarray() if issparse(block) else block
    p = block.shape[1]
    total = np.zeros((p + 1, p))
    # Sums in float32 would take half the time, and leave components of noise with a hundredth of the largest
    # variance: T amplifies rounding twice. Only some rows are written out in float64 at a time.
    for i in range(0, len(block), _ROWS):
        part = np.asarray(block[i : i + _ROWS], dtype=np.float64)
        total[:p] += part.T @ part  # recognised by NumPy as symmetric: half the work
        total[p] += part.sum(axis=0)
    return total


def spread(
    A: Operator, mean: np.ndarray, T: np.ndarray | None = None
) -> tuple[int, np.ndarray, np.ndarray, float]:
    """Of the rows of A, or of A T: their number, mean and scatter, and Σ k(x, x), from one pass.

    `mean` is a point near the mean of A's rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.engines import Tiled
    >>> from mercer.kernels import Gaussian
    >>> from mercer.operators import FacingColumns
    >>> from mercer.rows import ArrayRows
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> A = Elsewhere(ArrayRows(X, rows=20), FacingColumns(Tiled(), Gaussian(1.0), X[:3]), 3, X.dtype)
    >>> n, mean, scatter, squares = spread(A, np.ones(3))
    >>> bool(np.allclose(scatter, 49 * np.cov(Gaussian(1.0)(X, X[:3]).T)))
    True
    """
    # T amplifies rounding. Rows of float64 are transformed first, so that it does so once and not twice;
    # float32 rows carry more noise than that in any case, and half the work will do.
    first = T is not None and A.dtype == np.float64
    mean = np.asarray(mean, A.dtype).astype(np.float64)  # as it is subtracted
    work = ScatterSums(mean, T if first else None)
    n, sums, G, squares = A.adding(work)() if isinstance(A, Elsewhere) else work(A, None, None, 0)
    if T is not None:
        G = G if first else T.T @ G @ T
        mean, sums = mean @ T, sums if first else sums @ T
    scatter = G - np.outer(sums, sums) / n
    return n, mean + sums / n, 0.5 * (scatter + scatter.T), squares
