"""The loop of a sweep: every coefficient in turn goes where it is best for the others as they are.

This is Python that is also compiled. What is kept besides the coefficients c is w = Σ c_i φ(x_i), so that the
slope in c_i and a step of it take as long as φ(x_i) has entries that are not 0.
"""

# mypy: ignore-errors
# ruff: noqa: F821, UP037  (annotations are types of the compiled subset)

from __future__ import annotations

from typing import NamedTuple

# What stands for no bound in comparisons.
HUGE = 1e300


class Sparse(NamedTuple):
    """Rows of features: those of example i are at starts[i] … starts[i+1] − 1."""

    starts: "i64[:]"
    features: "i32[:]"
    values: "T[:]"


class SweptAt(NamedTuple):
    """Of each coefficient: the row it belongs to, where it is, its box, curvature and φ·μ; then w and ‖μ‖².

    The curvature is ‖φ − μ‖², that of the loss (`extra`) and the price of Σc; μ is the mean of φ, or 0.
    """

    row: "i64[:]"
    c: "f64[:]"
    centre: "f64[:]"
    lower: "f64[:]"
    upper: "f64[:]"
    extra: "f64[:]"
    curvature: "f64[:]"
    along: "f64[:]"
    w: "f64[:]"
    kink: float
    price: float
    common: float


def add_up(rows: Sparse, which: "i64[:]", c: "f64[:]", w: "f64[:]", begin: int, end: int):
    """w += Σ c_k φ(x_i) of rows i = which[k], begin ≤ k < end."""
    for k in range(begin, end):
        factor = c[k]
        if factor != 0.0:
            i = which[k]
            for e in range(rows.starts[i], rows.starts[i + 1]):
                w[rows.features[e]] += factor * rows.values[e]


def inner(rows: Sparse, which: "i64[:]", w: "f64[:]", out: "f64[:]", begin: int, end: int):
    """out_k = w·φ(x_i) of rows i = which[k], begin ≤ k < end."""
    for k in range(begin, end):
        i = which[k]
        total = 0.0
        for e in range(rows.starts[i], rows.starts[i + 1]):
            total += rows.values[e] * w[rows.features[e]]
        out[k] = total


def sweep(rows: Sparse, at: SweptAt, order: "i64[:]", awake: "i64[:]", now: "f64[:]", begin: int, end: int):
    """Move the coefficients order[begin:end], and write down which of them should stay awake.

    now: the offset, what Σc is too large by, the steepest slopes seen to the left and to the right, those
    beyond which a coefficient at its bound may sleep, and μ·w.
    """
    beyond = now[1]
    high = now[2]
    low = now[3]
    mean = now[6]
    for a in range(begin, end):
        k = order[a]
        i = at.row[k]
        first = rows.starts[i]
        last = rows.starts[i + 1]
        # (φ − μ)·(w − μ Σc), with what is known of μ.
        g = now[0] + (at.price + at.common - at.along[k]) * beyond - mean - at.centre[k]
        for e in range(first, last):
            g += rows.values[e] * at.w[rows.features[e]]
        here = at.c[k]
        g += at.extra[k] * here
        right = g + (at.kink if here >= 0.0 else -at.kink)
        left = g + (at.kink if here > 0.0 else -at.kink)
        stay = 1
        if here < at.upper[k]:
            low = min(low, right)
        elif left < now[5]:
            stay = 0
        if here > at.lower[k]:
            high = max(high, left)
        elif right > now[4]:
            stay = 0
        awake[a] = stay
        # The least of ½ h (c − here)² + g (c − here) + κ|c| in the box, times h.
        h = at.curvature[k]
        z = here * h - g
        z = max(z - at.kink, 0.0) if z > 0.0 else min(z + at.kink, 0.0)
        z = min(max(z / h, at.lower[k]), at.upper[k])
        step = z - here
        if step != 0.0:
            at.c[k] = z
            beyond += step
            mean += step * at.along[k]
            for e in range(first, last):
                at.w[rows.features[e]] += step * rows.values[e]
    now[1] = beyond
    now[2] = high
    now[3] = low
    now[6] = mean
