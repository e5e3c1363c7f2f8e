"""Chosen rows of a matrix, added up without copies, in the part of Python that is compiled."""

# mypy: ignore-errors
# ruff: noqa: F821, UP037  (annotations are types of the compiled subset)

from __future__ import annotations


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
