"""Which examples are the same point, and an order of points that is not the order they came in."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._xp import issparse


def distinct(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """(number of the point of each row, a number for each point by which points are in random order).

    The order depends on the points themselves only, not on their rows: what is drawn by it is drawn again
    from the same points in another order, or from points of which some are repeated.

    Examples
    --------
    >>> point, _ = distinct(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]))
    >>> bool(point[0] == point[2] != point[1])
    True
    """
    if issparse(X):
        codes = _sparse_codes(X.tocsr())
    elif isinstance(X, np.ndarray) and X.dtype.kind in "fiub":
        codes = _codes(X.reshape(X.shape[0], -1))
    else:
        return _objects(X)
    order, point = np.unique(codes, return_inverse=True)
    return point.reshape(-1), order


def _objects(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Objects are told apart if they can be hashed, and come in the order of their rows, shuffled."""
    try:
        first: dict[Any, int] = {}
        point = np.array([first.setdefault(x, len(first)) for x in X])
    except TypeError:
        point = np.arange(X.shape[0])
    count = int(point.max()) + 1
    return point, np.random.default_rng(0).permutation(count).astype(np.uint64)


def _bits(values: np.ndarray) -> np.ndarray:
    """Numbers as 64 bits, mixed (by splitmix64's finaliser), 0 and −0 being the same."""
    with np.errstate(over="ignore"):
        z = np.ascontiguousarray(values, dtype=np.float64).__add__(0.0).view(np.uint64)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def _factors(count: int) -> np.ndarray:
    """Odd factors, one a column."""
    return np.random.default_rng(1).integers(0, 2**63, count, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


def _codes(X: np.ndarray) -> np.ndarray:
    """64 bits for every row: different ones for different rows but for a chance of n²/2⁶⁵."""
    out = np.zeros(X.shape[0], dtype=np.uint64)
    for j, factor in enumerate(_factors(X.shape[1])):
        out += _bits(X[:, j]) * factor
    return out


def _sparse_codes(X: Any) -> np.ndarray:
    """The same, of which zeros are no part (their bits are 0)."""
    terms = np.append(_bits(X.data) * _factors(X.shape[1])[X.indices], np.uint64(0))
    sums = np.append(np.uint64(0), np.cumsum(terms, dtype=np.uint64))
    return sums[X.indptr[1:]] - sums[X.indptr[:-1]]
