"""Bookkeeping for sums Σ α_i k(x_i,·): which points coincide, and which few would do."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from mercer._xp import issparse, n_points, take
from mercer.engines import Engine
from mercer.functions.base import as_columns
from mercer.kernels import Kernel

# The greedy selection keeps an (n, kept) array of doubles; past this many entries it gives up.
_BASIS_ENTRIES = 1 << 26
# A point whose squared distance to the span of the kept ones is below this share adds only rounding.
_DEPENDENT = 1e-13


def stack(A: Any, B: Any) -> Any:
    """The points of A, then those of B."""
    if issparse(A) or issparse(B):
        from scipy.sparse import csr_array, vstack

        return vstack([csr_array(A), csr_array(B)], format="csr")
    if A.ndim != B.ndim:
        raise ValueError(
            "the points of the two functions have different forms, so they can't be put together"
        )
    return np.concatenate([A, B])


def keys(points: Any) -> list[Any]:
    """A hashable value for each point, equal for equal points."""
    if issparse(points):
        points = points.copy()
        points.sum_duplicates()
        ends = zip(points.indptr[:-1], points.indptr[1:], strict=True)
        return [(points.indices[a:b].tobytes(), points.data[a:b].tobytes()) for a, b in ends]
    if points.dtype != object:
        # Adding 0.0 turns −0.0 into 0.0, whose bytes differ.
        return [row.tobytes() for row in (points + 0.0 if points.dtype.kind == "f" else points)]
    return [_object_key(x) for x in points]


def _object_key(x: Any) -> Any:
    try:
        hash(x)
    except TypeError:
        return id(x)  # the same object is the same point; more can't be told
    return type(x), x


def place(A: Any, B: Any) -> tuple[Any, np.ndarray]:
    """(points, where): A followed by what of B it lacks; point j of B is points[where[j]].

    Descent in a function space adds c·f to f and revisits points; without this its functions would
    double in length at each step.
    """
    n, m = n_points(A), n_points(B)
    if A is B:
        return A, np.arange(n)
    plain = not issparse(A) and not issparse(B) and A.dtype != object and B.dtype != object
    if plain and A.ndim == B.ndim and m <= n:
        run = _run(A, B)
        if run is not None:
            return A, np.arange(run, run + m)
        if m == 1:
            return stack(A, B), np.array([n])
    together = stack(A, B)
    key = keys(together)
    row: dict[Any, int] = {}
    for i in range(n):
        row.setdefault(key[i], i)
    where = np.empty(m, np.intp)
    new: list[int] = []
    for j in range(m):
        where[j] = row.setdefault(key[n + j], n + len(new))
        if where[j] == n + len(new):
            new.append(n + j)
    if not new:
        return A, where
    return (together if len(new) == m else take(together, [*range(n), *new])), where


def _run(A: np.ndarray, B: np.ndarray) -> int | None:
    """Where B occurs in A as consecutive points."""
    n, m = len(A), len(B)
    starts = A[: n - m + 1] == B[0]
    starts = np.flatnonzero(starts if A.ndim == 1 else starts.all(axis=1))
    # Few tries: among many copies of one point a search for the run could take n·m steps.
    return next((int(s) for s in starts[:8] if np.array_equal(A[s : s + m], B)), None)


def merge(points: Any, coef: np.ndarray) -> tuple[Any, np.ndarray]:
    """Equal points made one, their coefficients added; points with coefficient 0 left out."""
    row: dict[Any, int] = {}
    where = np.array([row.setdefault(key, len(row)) for key in keys(points)], dtype=np.intp)
    _, first = np.unique(where, return_index=True)
    total = np.zeros((len(first), *coef.shape[1:]), coef.dtype)
    np.add.at(total, where, coef)
    kept = np.flatnonzero(total.any(axis=1) if total.ndim == 2 else total)
    return take(points, first[kept]), total[kept]


def lightest(weights: np.ndarray, allowance: float) -> np.ndarray:
    """Positions left after dropping as many of the smallest weights as add up to the allowance."""
    order = np.argsort(weights, kind="stable")
    dropped = int(np.searchsorted(np.cumsum(weights[order]), allowance, side="right"))
    return np.sort(order[dropped:])


def greedy(
    kernel: Kernel, points: Any, coef: np.ndarray, engine: Engine, tol: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """(kept, coef): the projection of f onto few of its points, chosen one by one.

    Each step takes the point whose section removes most of the residual's norm, with a Newton basis
    (pivoted Cholesky) of the sections taken so far. None where the residual doesn't get below
    tol·‖f‖ with the memory and the precision there are.
    """
    n = n_points(points)
    alpha = as_columns(coef)
    K = engine.operator(kernel, points)
    residual = K.product(alpha)
    left = total = float(np.sum(alpha * residual))
    power = kernel.diagonal(points).astype(np.float64)
    floor = _DEPENDENT * power.max()
    basis = np.empty((n, 16))
    kept: list[int] = []
    steps: list[np.ndarray] = []
    while left > (0.99 * tol) ** 2 * total:
        free = power > floor
        gain = np.where(free, np.sum(residual**2, axis=1) / np.where(free, power, 1), 0)
        best, k = int(np.argmax(gain)), len(kept)
        if gain[best] <= 0 or n * (k + 1) > _BASIS_ENTRIES:
            return None
        if k == basis.shape[1]:
            basis = np.concatenate([basis, np.empty_like(basis)], axis=1)
        column = K.columns(np.array([best]))[:, 0]
        v = (column - basis[:, :k] @ basis[best, :k]) / np.sqrt(power[best])
        step = residual[best] / np.sqrt(power[best])
        basis[:, k] = v
        residual = residual - v[:, None] * step
        power = power - v * v
        power[best] = 0
        left -= float(step @ step)
        kept.append(best)
        steps.append(step)
    if not kept:
        return np.empty(0, np.intp), coef[:0]
    new = solve_triangular(basis[kept, : len(kept)], np.array(steps), lower=True, trans="T")
    return np.array(kept), new.reshape(len(kept), *coef.shape[1:])
