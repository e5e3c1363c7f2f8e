"""Linear separation in whole numbers: a separating vector, or a proof that there is none.

Rows a_1, …, a_n are separated by w if w·a_i ≥ 0 for the positive and w·a_i < 0 for the negative ones.
Exactly one of two things is there (Farkas): such a w, or weights u ≥ 0 with

    Σ_{+} u_i a_i = Σ_{−} u_i a_i ,   Σ_{−} u_i = 1.

With rows (x_i, 1) the last coordinate says that both sides have weight 1: a point that lies in both convex
hulls (Radon). Floats are fractions, so nothing here is rounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

# Above so many entries floating point makes a first guess, which is then checked exactly.
_LARGE = 400


@dataclass(frozen=True)
class Separation:
    """Either w, whole numbers, or the weights u of a proof that no w exists."""

    w: tuple[int, ...] | None
    weights: tuple[Fraction, ...] | None

    def __bool__(self) -> bool:
        return self.w is not None


def _whole(values: Any) -> tuple[list[int], int]:
    """(c v, c) for the smallest c > 0 that makes all of these numbers whole."""
    exact = [fraction(v) for v in values]
    common = math.lcm(*(v.denominator for v in exact))
    return [v.numerator * (common // v.denominator) for v in exact], common


def integer_rows(X: Any) -> np.ndarray:
    """Rows of whole numbers that are positive multiples of the rows of X."""
    return np.array([_whole(row)[0] for row in X], dtype=object)


def whole_multiples(X: np.ndarray) -> tuple[np.ndarray, int]:
    """(c X, c), of Python's numbers, for the smallest c > 0 that makes all entries whole."""
    if X.dtype.kind in "iu":
        return X.astype(object), 1
    flat, common = _whole(X.ravel())
    return np.array(flat, dtype=object).reshape(X.shape), common


def fraction(value: Any) -> Fraction:
    """A number as a fraction, exactly."""
    return Fraction(value.item() if isinstance(value, np.generic) else value)


def separate(rows: np.ndarray, y: np.ndarray) -> Separation:
    """Whole rows and their labels: w, or weights that prove that there is none. Both have been checked.

    >>> rows = integer_rows([[0, 1], [1, 1], [2, 1]])            # 0, 1 and 2 on the line
    >>> separate(rows, np.array([True, True, False])).w
    (-1, 1)
    >>> [str(u) for u in separate(rows, np.array([True, False, True])).weights]
    ['1/2', '1', '1/2']
    """
    if rows.size > _LARGE:
        guess = _guess(rows, y)
        if guess is not None:
            return guess
    return _simplex(rows, y)


def separates(w: Any, rows: np.ndarray, y: np.ndarray) -> bool:
    """Is w·a ≥ 0 for the positive rows and < 0 for the others, exactly?"""
    return bool(np.array_equal(rows.dot(np.array(w, dtype=object)) >= 0, y))


def proves(weights: Any, rows: np.ndarray, y: np.ndarray) -> bool:
    """Are the weights a proof that no w separates the rows?"""
    multiples, common = _whole(weights)
    u = np.array(multiples, dtype=object)
    signed = np.where(y, u, -u)
    return bool((u >= 0).all() and sum(u[~y]) == common and not signed.dot(rows).any())


def widest(A: np.ndarray, y: np.ndarray) -> Any:
    """The largest t, and its w, with ±a·w ≥ t for all rows and |w_j| ≤ 1, in floating point (HiGHS)."""
    from scipy.optimize import linprog

    n, d = A.shape
    return linprog(
        np.r_[np.zeros(d), -1.0],
        A_ub=np.c_[np.where(y[:, None], -A, A), np.ones(n)],
        b_ub=np.zeros(n),
        bounds=[(-1, 1)] * d + [(None, 1)],
        method="highs",
    )


def _guess(rows: np.ndarray, y: np.ndarray) -> Separation | None:
    """By floating point, then checked; None if that does not settle it."""
    largest = [max(1, *map(abs, row)) for row in rows]
    A = np.array([[float(Fraction(v, top)) for v in row] for row, top in zip(rows, largest, strict=True)])
    found = widest(A, y)
    if found.status != 0:
        return None
    if found.x[-1] > 0:
        w = _primitive(found.x[:-1])
        if separates(w, rows, y):
            return Separation(w, None)
    # A vertex of the dual has few weights that are not 0: with those rows alone the proof is small.
    support = np.flatnonzero(np.abs(found.ineqlin.marginals) > 1e-12)
    if len(support) and not y[support].all():
        few = _simplex(rows[support], y[support])
        if few.weights is not None:
            weights = [Fraction(0)] * len(y)
            for i, u in zip(support.tolist(), few.weights, strict=True):
                weights[i] = u
            return Separation(None, tuple(weights))
    return None


def _simplex(rows: np.ndarray, y: np.ndarray) -> Separation:
    """Looks for the weights u by the simplex method; if there are none, its multipliers are w.

    Whole numbers with a common denominator (Edmonds, Bareiss): every division is exact. Bland's rule: the
    first column that helps, and of rows that tie the one whose variable comes first, so it ends.
    """
    n, d = rows.shape
    # One column an example: its signed row, and a 1 that counts negative ones. An artificial variable a row.
    table = np.zeros((d + 2, n + d + 2), dtype=object)
    table[:d, :n] = np.where(y[:, None], rows, -rows).T
    table[d, :n] = np.where(y, 0, 1)
    table[: d + 1, n : n + d + 1] = np.eye(d + 1, dtype=int)
    table[d, -1] = 1
    table[-1, :n] = -table[: d + 1, :n].sum(axis=0)
    table[-1, -1] = -1
    basis = list(range(n, n + d + 1))
    denominator = 1
    column: Any
    while True:
        entering = next((j for j in range(n) if table[-1, j] < 0), None)
        if entering is None:
            break
        column = table[:-1, entering]
        leaving = min(
            (i for i in range(d + 1) if column[i] > 0),
            key=lambda i: (Fraction(table[i, -1], column[i]), basis[i]),
        )
        pivot = table[leaving, entering]
        kept = table[leaving].copy()
        table = (table * pivot - np.outer(table[:, entering], kept)) // denominator
        table[leaving] = kept
        denominator, basis[leaving] = pivot, entering
    if table[-1, -1] == 0:
        weights = [Fraction(0)] * n
        for i, j in enumerate(basis):
            if j < n:
                weights[j] = Fraction(table[i, -1], denominator)
        assert proves(weights, rows, y)
        return Separation(None, tuple(weights))
    multipliers = [denominator - table[-1, n + i] for i in range(d)]
    w = _primitive([-v for v in multipliers])
    assert separates(w, rows, y)
    return Separation(w, None)


def _primitive(w: Any) -> tuple[int, ...]:
    """A positive multiple in whole numbers without a common factor."""
    multiples, _ = _whole(w)
    factor = math.gcd(*multiples) or 1
    return tuple(v // factor for v in multiples)


def nonnegative(features: Any, w: Any, rounding: int, exact_row: Any) -> np.ndarray:
    """Is w·φ(x) ≥ 0? In floating point, and where that is too close to call, exactly.

    `features` are the φ(x) in floating point, each with at most `rounding` roundings in it; `exact_row(i)` is
    the i-th in fractions.
    """
    top = max(map(abs, w), default=0) or 1
    floats = np.array([float(Fraction(v) / Fraction(top)) for v in w])
    with np.errstate(over="ignore", invalid="ignore"):
        scores = features @ floats
        size = np.abs(features) @ np.abs(floats)
        bound = (len(w) + rounding + 4) * np.finfo(float).eps * size + 1e-300
        out = scores >= 0
        unsure = np.flatnonzero(~(np.abs(scores) > bound))
    for i in unsure.tolist():
        out[i] = sum(a * b for a, b in zip(exact_row(i), w, strict=True)) >= 0
    return out
