"""How many points of two classes in the plane the best line can get right."""

from __future__ import annotations

import numpy as np

# Lines through all pairs are tried, which takes n³ steps.
MOST_POINTS = 200
# Points this close to a line, in units of what rounding leaves, lie on it.
_ROUNDING = 64 * np.finfo(float).eps


def best_line(X: np.ndarray, second: np.ndarray) -> int:
    """The most points that a line in the plane, either side for either class, puts on the right side.

    A line that parts points can be moved, without changing sides, until two of them lie on it. So it is
    enough to try the lines through all pairs. What lies on such a line is parted by turning it a little about
    one of its places: those before it go to one side, those after it to the other.

    Examples
    --------
    >>> corners = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    >>> best_line(corners, np.array([False, False, True, True]))
    3
    """
    sign = np.where(second, 1, -1)
    Z = X - X.mean(axis=0)
    Z = Z / (np.abs(Z).max() or 1.0)
    best = int(max((sign > 0).sum(), (sign < 0).sum()))  # all on one side
    for i in range(len(Z)):
        ways = Z - Z[i]
        lengths = np.linalg.norm(ways, axis=1)
        # In row j, on which side of the line from point i to point j the others lie.
        side = np.multiply.outer(ways[:, 0], ways[:, 1]) - np.multiply.outer(ways[:, 1], ways[:, 0])
        on = np.abs(side) <= _ROUNDING * np.maximum(lengths[:, None], 1e-300)
        agree = ((side * sign > 0) & ~on).sum(axis=1)
        off = (~on).sum(axis=1)
        besides = np.maximum(agree, off - agree)
        # A pair is met twice, from either of its points; and no line can gain more than what lies on it.
        for j in np.flatnonzero((lengths > 0) & (np.arange(len(Z)) > i) & (besides + on.sum(axis=1) > best)):
            here = np.flatnonzero(on[j])
            best = max(best, int(besides[j]) + _parted(ways[here] @ ways[j], sign[here]))
    return best


def _parted(places: np.ndarray, sign: np.ndarray) -> int:
    """The most points on a line that one cut puts on the right side; those at one place stay together."""
    cuts, where = np.unique(places, return_inverse=True)
    gains = np.bincount(where, weights=sign, minlength=len(cuts))
    before = np.concatenate([[0.0], np.cumsum(gains)])
    after = before[-1] - before
    # Right are as many more than wrong as the signs before the cut add up to, less those after it.
    lead = float(np.abs(before - after).max())
    return round((len(sign) + lead) / 2)
