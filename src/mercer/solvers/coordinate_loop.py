"""Coordinate descent on a quadratic function with prices on the sizes of its unknowns.

This is Python that is also compiled: each unknown in turn goes where it is best for the others as they are.
"""

# mypy: ignore-errors
# ruff: noqa: F821, UP037  (annotations are types of the compiled subset)

from __future__ import annotations


def descend(
    H: "f64[:,:]",
    r: "f64[:]",
    c: "f64[:]",
    price: "f64[:]",
    least: "f64[:]",
    largest: "f64[:]",
    n: int,
    sweeps: int,
    tol: float,
):
    """Lower ½(c − c₀)ᵀH(c − c₀) + rᵀ(c − c₀) + Σ price_j |c_j| over c ≥ least; r is kept at the slopes.

    `largest` is given the largest step of the last sweep, in units of slopes.
    """
    for sweep in range(sweeps):  # noqa: B007  (the subset knows no underscore)
        largest[0] = 0.0
        for j in range(n):
            h = H[j, j]
            if h > 0.0:
                here = c[j]
                z = here * h - r[j]
                z = max(z - price[j], 0.0) if z > 0.0 else min(z + price[j], 0.0)
                z = max(z / h, least[j])
                step = z - here
                if step != 0.0:
                    c[j] = z
                    largest[0] = max(largest[0], h * step if step > 0.0 else -h * step)
                    for k in range(n):
                        r[k] += step * H[j, k]
        if largest[0] <= tol:
            break
