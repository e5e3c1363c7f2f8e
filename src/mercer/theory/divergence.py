"""How far apart two coins are, and which coins are no farther: the heart of the sharpest bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import rel_entr

# Halvings of [q, 1]: what is left is below the spacing of doubles.
_HALVINGS = 60


def binary_kl(q: Any, p: Any) -> Any:
    """kl(q‖p) = q ln(q/p) + (1−q) ln((1−q)/(1−p)), of coins that show heads with probability q and p.

    Parameters
    ----------
    q, p : float or array, in [0, 1]

    Examples
    --------
    >>> round(binary_kl(0.0, 0.5), 4), binary_kl(0.3, 0.3)          # ln 2
    (0.6931, 0.0)
    """
    q, p = np.asarray(q, dtype=float), np.asarray(p, dtype=float)
    if not (((q >= 0) & (q <= 1)).all() and ((p >= 0) & (p <= 1)).all()):
        raise ValueError("q and p are probabilities, between 0 and 1")
    value = np.maximum(rel_entr(q, p) + rel_entr(1 - q, 1 - p), 0)
    return float(value) if value.ndim == 0 else value


def kl_inverse(q: Any, c: Any) -> Any:
    """The largest p with kl(q‖p) ≤ c: if q was seen, p is the worst that is still near enough.

    kl(q‖·) rises from 0 at q to infinity at 1, so the interval is halved. The upper end is returned: a
    bound may be too large by a rounding error, but not too small.

    Parameters
    ----------
    q : float or array, in [0, 1]
    c : float or array, at least 0

    Examples
    --------
    >>> round(kl_inverse(0.0, 0.1), 4)                              # 1 − exp(−0.1)
    0.0952
    """
    q, c = np.broadcast_arrays(np.asarray(q, dtype=float), np.asarray(c, dtype=float))
    if not (((q >= 0) & (q <= 1)).all() and (c >= 0).all()):
        raise ValueError("q must lie between 0 and 1, and c must not be negative")
    low, high = q.copy(), np.ones_like(q)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        near = binary_kl(q, middle) <= c
        low, high = np.where(near, middle, low), np.where(near, high, middle)
    return float(high) if high.ndim == 0 else high
