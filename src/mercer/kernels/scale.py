"""Length scales read off the data."""

from __future__ import annotations

import numpy as np

from mercer.kernels.statistics import SquaredDistance, Statistic

_SAMPLE = 1000


def median_distance(statistic: Statistic, X) -> float:
    """Median distance between (at most 1000 evenly spread) points.

    When more than half of the pairs coincide the median would be 0; then the mean of the
    nonzero distances is taken, and 1 if all points are equal.
    """
    n = X.shape[0]
    if n > _SAMPLE:
        # A fixed permutation: evenly strided rows would alias with periodic or sorted tables.
        X = X[np.sort(np.random.default_rng(0).permutation(n)[:_SAMPLE])]
        n = _SAMPLE
    S = statistic.pairwise(X, X)[np.triu_indices(n, 1)].astype(np.float64)
    distances = np.sqrt(S) if isinstance(statistic, SquaredDistance) else S
    if distances.size == 0:
        return 1.0
    median = float(np.median(distances))
    if median > 0:
        return median
    positive = distances[distances > 0]
    return float(positive.mean()) if positive.size else 1.0
