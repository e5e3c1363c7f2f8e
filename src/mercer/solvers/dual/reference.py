"""The loop of `loop.py` in NumPy: what it is tested against, and what runs where there is no LLVM."""

from __future__ import annotations

from typing import Any

import numpy as np


def slopes(c: Any, g: Any, lower: Any, upper: Any, kink: float) -> tuple[np.ndarray, np.ndarray]:
    """Slopes of the objective to the right and to the left of every coordinate.

    +inf to the right where a coordinate is at its upper bound, −inf to the left where at its lower one.
    """
    if kink == 0:
        return np.where(c < upper, g, np.inf), np.where(c > lower, g, -np.inf)
    right = np.where(c < upper, g + np.where(c >= 0, kink, -kink), np.inf)
    return right, np.where(c > lower, g + np.where(c > 0, kink, -kink), -np.inf)


def _step(c: np.ndarray, k: int, want: float, lower: Any, upper: Any, kink: float) -> tuple[float, float]:
    """(how far c_k can go that way, where it then is): to its bound, or to the kink at 0 on the way."""
    bound = upper[k] if want > 0 else lower[k]
    end = 0.0 if kink > 0 and c[k] * want < 0 else float(bound)
    return abs(end - float(c[k])), end


def run(
    K: np.ndarray, diagonal: Any, c: Any, g: Any, lower: Any, upper: Any, extra: Any, *,
    limit: int, kink: float, tol: float, paired: bool,
) -> tuple[int, float, float]:  # fmt: skip
    """Coordinate steps until no slope exceeds tol; c and g are changed. (steps, violation before, after)"""
    before = -1.0
    least = 1e-12 if g.dtype == np.float64 else 1e-6
    for count in range(limit + 1):
        right, left = slopes(c, g, lower, upper, kink)
        if paired:
            i = int(np.argmin(right))
            slope = left - right[i]
            curvature = np.maximum(diagonal[i] + diagonal - 2 * K[i], least)
        else:
            slope, curvature = np.maximum(-right, left), diagonal
        violation = float(slope.max())
        before = violation if before < 0 else before
        if violation <= tol or count == limit:
            return count, max(before, 0.0), violation
        j = int(np.argmax(np.maximum(slope, 0) ** 2 / curvature))
        moves = [(i, 1.0), (j, -1.0)] if paired else [(j, 1.0 if -right[j] > left[j] else -1.0)]
        want = float(slope[j]) / float(curvature[j])
        reached = [_step(c, k, sign, lower, upper, kink) for k, sign in moves]
        want = min(want, *[reach for reach, _ in reached])
        for (k, sign), (reach, end) in zip(moves, reached, strict=True):
            c[k] = end if want >= reach else c[k] + sign * want
            g += (sign * want) * K[k]
            g[k] += sign * want * extra[k]
    raise AssertionError
