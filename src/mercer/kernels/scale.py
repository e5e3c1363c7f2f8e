"""Length scales read off the data."""

from __future__ import annotations

import numpy as np

from mercer._xp import issparse
from mercer.kernels.statistics import SquaredDistance, Statistic

_SAMPLE = 1000


def median_distance(statistic: Statistic, X) -> float:
    """Median distance between distinct points (at most 1000 of them); 1 if all points are equal.

    Copies of a point count once, so that repeating or weighting rows leaves the kernel alone.
    """
    n = X.shape[0]
    if n > _SAMPLE:
        # A fixed permutation: evenly strided rows would alias with periodic or sorted tables.
        X = X[np.sort(np.random.default_rng(0).permutation(n)[:_SAMPLE])]
    X = X[_first_copies(X)]
    with np.errstate(over="ignore", invalid="ignore"):
        S = statistic.pairwise(X, X)[np.triu_indices(X.shape[0], 1)].astype(np.float64)
    distances = np.sqrt(S) if isinstance(statistic, SquaredDistance) else S
    median = float(np.median(distances)) if distances.size else 0.0
    if not np.isfinite(median):
        raise ValueError(
            f"the points are so large that distances between them are no {X.dtype} numbers: scale them first"
        )
    return median if median > 0 else 1.0


def _first_copies(X) -> np.ndarray:
    """Indices of rows that do not repeat an earlier one."""
    if issparse(X):
        X = X.copy()
        X.sum_duplicates()
        rows = [slice(a, b) for a, b in zip(X.indptr[:-1], X.indptr[1:])]
        keys = [(X.indices[r].tobytes(), X.data[r].tobytes()) for r in rows]
        return np.sort(list({k: i for i, k in reversed(list(enumerate(keys)))}.values())).astype(int)
    return np.sort(np.unique(np.asarray(X), axis=0, return_index=True)[1])
