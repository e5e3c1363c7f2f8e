"""Sums over all local alignments of two strings, as Python that is also compiled.

M(i, j) is the sum over all that end with x_i beside z_j. With w(g) what a gap of g letters multiplies by,

    M(i, j) = e^{β s(x_i, z_j)} (1 + Σ_{i'<i, j'<j} w(i−i'−1) w(j−j'−1) M(i', j')),

and since w(g+1) = extend·w(g) from g = 1 on, sums over gaps go from one letter to the next: first along a
row, then down the columns. All numbers are positive: where floats overflow, the sums are infinite in the end,
and the logarithms of the same numbers are computed instead.
"""

# mypy: ignore-errors
# ruff: noqa: F821, UP037, E741  (annotations are types of the compiled subset)

from __future__ import annotations

from math import exp, log, log1p

import numpy as np

# The logarithm of 0, as far as sums go.
NOTHING = -1e300
# Sums up to here are taken as they are.
LARGEST = 1e300


def log_sum(a: float, b: float) -> float:
    high = a if a > b else b
    low = b if a > b else a
    return high + log1p(exp(low - high))


def alignments(
    a: "i64[:]",
    start: int,
    first: int,
    last: int,
    b: "i64[:,:]",
    l: int,
    m: int,
    odds: "f64[:,:]",
    begin: float,
    extend: float,
    S: "f64[:,:]",
    total: float,
) -> float:
    """1 + ΣM, over the letters of a from the first to the last; S and total are those of the letters before.

    S holds sums up to each column: over all rows so far, the last row alone, and those before.
    """
    if first == 0:
        for j in range(m + 1):
            S[0, j] = 0.0
            S[1, j] = 0.0
            S[2, j] = 0.0
    for i in range(first, last):
        letter = a[start + i]
        gap = 0.0
        here = 0.0
        corner = S[0, 0]
        for j in range(m):
            gap = extend * gap + begin * here
            here = odds[letter, b[j, l]] * (1.0 + corner)
            total += here
            corner = S[0, j + 1]
            down = extend * S[2, j + 1] + begin * S[1, j + 1]
            S[2, j + 1] = down
            S[1, j + 1] = here + gap
            S[0, j + 1] = here + gap + down
    return total


def log_alignments(
    a: "i64[:]",
    start: int,
    first: int,
    last: int,
    b: "i64[:,:]",
    l: int,
    m: int,
    scores: "f64[:,:]",
    begin: float,
    extend: float,
    S: "f64[:,:]",
    total: float,
) -> float:
    """log(1 + ΣM), all in logarithms, those of the factors included."""
    if first == 0:
        for j in range(m + 1):
            S[0, j] = NOTHING
            S[1, j] = NOTHING
            S[2, j] = NOTHING
    for i in range(first, last):
        letter = a[start + i]
        gap = NOTHING
        here = NOTHING
        corner = S[0, 0]
        for j in range(m):
            gap = log_sum(extend + gap, begin + here)
            here = scores[letter, b[j, l]] + log_sum(0.0, corner)
            total = log_sum(total, here)
            corner = S[0, j + 1]
            down = log_sum(extend + S[2, j + 1], begin + S[1, j + 1])
            S[2, j + 1] = down
            S[1, j + 1] = log_sum(here, gap)
            S[0, j + 1] = log_sum(S[1, j + 1], down)
    return total


def alignments_of_rows(
    codes: "i64[:]",
    starts: "i64[:]",
    first: int,
    last: int,
    b: "i64[:,:]",
    ends: "i64[:]",
    count: int,
    scores: "f64[:,:]",
    odds: "f64[:,:]",
    begin: float,
    extend: float,
    S: "f64[:,:]",
    out: "f64[:,:]",
):
    """log(1 + ΣM) of some strings with each of the first `count` columns of b."""
    for k in range(first, last):
        start = starts[k]
        n = starts[k + 1] - start
        for l in range(count):
            total = alignments(codes, start, 0, n, b, l, ends[l], odds, exp(begin), exp(extend), S, 1.0)
            if total < LARGEST:
                out[k, l] = log(total)
            else:
                out[k, l] = log_alignments(codes, start, 0, n, b, l, ends[l], scores, begin, extend, S, 0.0)


def alignments_in_numpy(a, b, scores, begin, extend):
    """The same for one string and any number of columns, all in logarithms; letter −1 is after the end."""
    table = np.pad(scores, ((0, 0), (0, 1)), constant_values=-np.inf)
    m, width = b.shape
    row, gaps, corner = (np.full((m + 1, width), -np.inf) for _ in range(3))
    total = np.zeros(width)
    for letter in a:
        here = table[letter][b] + np.logaddexp(0, corner[:-1])
        total = np.logaddexp(total, np.logaddexp.reduce(here, axis=0))
        gaps[1:] = np.logaddexp(extend + gaps[1:], begin + row[1:])
        gap = np.full(width, -np.inf)
        for j in range(m):
            row[j + 1] = np.logaddexp(here[j], gap)
            gap = np.logaddexp(extend + gap, begin + here[j])
        corner[1:] = np.logaddexp(row[1:], gaps[1:])
    return total
