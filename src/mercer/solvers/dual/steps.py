"""The inner loops of the dual solver. The innermost moves two coordinates a step, or one without an offset:

    minimise ½ cᵀKc + gᵀc + κ Σ|c_k| over lower ≤ c ≤ upper, from where c and the gradient g are

on a block of K that lies in cache. With an offset Σc must not change: the pair (i, j) goes to
(c_i + t, c_j − t), where i is the coordinate that most wants to grow and j the one whose partnership
promises the largest decrease, (slope)²/curvature. Without one, the coordinate of the largest decrease
moves alone. Where Σ|c| must not change either, coordinates are of one sign each, by their box, and both of a
pair are of the same side. All this is Python that is also compiled; who moves is found by scans, emitted as
vectors (`scans.py`) or, where there is no LLVM, NumPy's (below). `add_rows` adds up chosen rows of a matrix.
"""

# mypy: ignore-errors
# ruff: noqa: F821, UP037  (annotations are types of the compiled subset)

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# What is added to a slope in a direction in which there is no way.
BIG = 1e30
# Curvatures below this are rounding where k(x, x) is about 1: of points that coincide, say.
LEAST = {"float64": 1e-12, "float32": 1e-6}


class BlockAt(NamedTuple):
    """Of each: its row of K, K_kk, where it is, the gradient, its bounds and the curvature of its loss.

    g + up and g + down are the slopes to the right and to the left. With two `sides` up and down are those of
    coordinates that are not negative, far_up and far_down those of coordinates that are not positive.
    """

    K: "T[:,:]"
    diagonal: "T[:]"
    c: "f64[:]"
    g: "T[:]"
    lower: "f64[:]"
    upper: "f64[:]"
    extra: "f64[:]"
    up: "T[:]"
    down: "T[:]"
    far_up: "T[:]"
    far_down: "T[:]"
    kink: float
    least: float
    sides: float


class Scans(NamedTuple):
    """Who moves. Found: i and j.

    Scores: the last step, the steepest slope upwards, the violation, the least curvature there is.
    """

    scores: "T[:]"
    found: "i64[:]"
    rise: "function(T[:], T[:], T[:], T[:], T[:], i64[:])"
    gain: "function(T[:], T[:], T[:], T[:], T[:], i64[:])"
    alone: "function(T[:], T[:], T[:], T[:], T[:], T[:], i64[:])"


def set_borders(at: BlockAt, k: int):
    """What must be added to g_k for the slopes upwards and downwards; ±BIG where it is at its bound."""
    c = at.c[k]
    up = at.kink if c >= 0.0 else -at.kink
    down = at.kink if c > 0.0 else -at.kink
    up = up if c < at.upper[k] else BIG
    down = down if c > at.lower[k] else -BIG
    if at.sides > 0.0 and at.lower[k] < 0.0:
        at.far_up[k] = up
        at.far_down[k] = down
    else:
        at.up[k] = up
        at.down[k] = down


def end_of(at: BlockAt, k: int, sign: float) -> float:
    """How far c_k goes that way: to its bound, or to the kink at 0 before it."""
    if at.kink > 0.0 and at.c[k] * sign < 0.0:
        return 0.0
    return at.upper[k] if sign > 0.0 else at.lower[k]


def shift(at: BlockAt, k: int, t: float, sign: float):
    """c_k += t, exactly to the end if that is all the way; the curvature of the loss joins g_k."""
    end = end_of(at, k, sign)
    at.c[k] = end if abs(t) >= abs(end - at.c[k]) else at.c[k] + t
    at.g[k] = at.g[k] + t * at.extra[k]
    set_borders(at, k)


def move_pair(at: BlockAt, i: int, j: int, slope: float) -> float:
    curvature = at.diagonal[i] + at.diagonal[j] - 2.0 * at.K[i, j]
    t = slope / (curvature if curvature > at.least else at.least)
    reach_i = abs(end_of(at, i, 1.0) - at.c[i])
    reach_j = abs(end_of(at, j, -1.0) - at.c[j])
    t = reach_i if t > reach_i else t
    t = reach_j if t > reach_j else t
    shift(at, i, t, 1.0)
    shift(at, j, -t, -1.0)
    return t


def move_one(at: BlockAt, i: int) -> float:
    up = -(at.g[i] + at.up[i])
    down = at.g[i] + at.down[i]
    sign = 1.0 if up > down else -1.0
    t = (up if up > down else down) / at.diagonal[i]
    reach = abs(end_of(at, i, sign) - at.c[i])
    t = reach if t > reach else t
    shift(at, i, sign * t, sign)
    return sign * t


def descend(at: BlockAt, scans: Scans, result: "f64[:]", size: int, paired: int, limit: int, tol: float):
    """Steps until no slope exceeds tol; the result: steps, violation before and after."""
    for k in range(size):
        at.up[k] = BIG
        at.down[k] = -BIG
        at.far_up[k] = BIG
        at.far_down[k] = -BIG
        set_borders(at, k)
    count = 0
    i = 0
    j = 0
    slope = 0.0
    scans.scores[0] = 0.0
    going = 1
    while going == 1:
        if paired == 1:
            scans.rise(at.K[i], at.K[j], at.g, at.up, scans.scores, scans.found)
            i = scans.found[0]
            scans.gain(at.K[i], at.diagonal, at.g, at.down, scans.scores, scans.found)
            j = scans.found[1]
            slope = at.g[j] + at.down[j] + scans.scores[1]
            if at.sides > 0.0:
                violation = scans.scores[2]
                scans.scores[0] = 0.0  # the last step is in g now
                scans.rise(at.K[i], at.K[j], at.g, at.far_up, scans.scores, scans.found)
                other = scans.found[0]
                scans.gain(at.K[other], at.diagonal, at.g, at.far_down, scans.scores, scans.found)
                if scans.scores[2] > violation:
                    i = other
                    j = scans.found[1]
                    slope = at.g[j] + at.far_down[j] + scans.scores[1]
                else:
                    scans.scores[2] = violation
        else:
            scans.alone(at.K[i], at.diagonal, at.g, at.up, at.down, scans.scores, scans.found)
            i = scans.found[0]
        violation = scans.scores[2]
        if count == 0:
            result[1] = violation if violation > 0.0 else 0.0
        if violation <= tol or count >= limit:
            going = 0
            result[0] = float(count)
            result[2] = violation
        else:
            scans.scores[0] = move_pair(at, i, j, slope) if paired == 1 else move_one(at, i)
            count += 1


# -- rows added up -------------------------------------------------------------------------------------


def add_rows(
    rows: "T[:,:]", index: "i64[:]", factors: "f64[:]", out: "f64[:]", count: int, low: int, high: int
):
    """out[j] += Σ_k factors[k] · rows[index[k], j] for low ≤ j < high, four rows at a time."""
    k = 0
    while k + 3 < count:
        a = index[k]
        b = index[k + 1]
        c = index[k + 2]
        d = index[k + 3]
        p = factors[k]
        q = factors[k + 1]
        r = factors[k + 2]
        s = factors[k + 3]
        for j in range(low, high):
            out[j] = out[j] + p * rows[a, j] + q * rows[b, j] + r * rows[c, j] + s * rows[d, j]
        k += 4
    while k < count:
        a = index[k]
        p = factors[k]
        for j in range(low, high):
            out[j] = out[j] + p * rows[a, j]
        k += 1


# -- in NumPy ------------------------------------------------------------------------------------------


def _rise(row_i, row_j, g, up, scores, found):
    g += scores[0] * (row_i[: len(g)] - row_j[: len(g)])
    wants = -(g + up)
    found[0] = np.argmax(wants)
    scores[1] = wants[found[0]]


def _gain(row, diagonal, g, down, scores, found):
    slope = g + down + scores[1]
    curvature = np.maximum(diagonal[found[0]] + diagonal - 2 * row[: len(g)], scores[3])
    found[1] = np.argmax(np.maximum(slope, 0) ** 2 / curvature)
    scores[2] = slope.max()


def _alone(row, diagonal, g, up, down, scores, found):
    g += scores[0] * row[: len(g)]
    slope = np.maximum(-(g + up), g + down)
    found[0] = np.argmax(np.maximum(slope, 0) ** 2 / diagonal)
    scores[2] = slope.max()


BY_NUMPY = (_rise, _gain, _alone)


def slopes(c, g, lower, upper, kink):
    """Slopes of the objective to the right and to the left of every coordinate.

    +inf to the right where a coordinate is at its upper bound, −inf to the left where at its lower one.
    """
    if kink == 0:
        return np.where(c < upper, g, np.inf), np.where(c > lower, g, -np.inf)
    right = np.where(c < upper, g + np.where(c >= 0, kink, -kink), np.inf)
    return right, np.where(c > lower, g + np.where(c > 0, kink, -kink), -np.inf)
