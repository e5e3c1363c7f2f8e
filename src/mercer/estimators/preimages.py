"""From feature space back to points: a learned map, and the fixed-point iteration."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._xp import frozen
from mercer.estimators.regression import KernelRidge
from mercer.functions import Function
from mercer.functions.terms import stack
from mercer.kernels import Gaussian, Radial
from mercer.kernels.base import Kernel
from mercer.kernels.statistics import SquaredDistance
from mercer.kernels.unary import Scale

# Points to learn from: the way back is smooth, and a few thousand show it.
EXAMPLES = 2000
_STEPS, _STILL = 200, 1e-10


def learned(function: Function, intercept: np.ndarray, kernel: Kernel, points: Any) -> KernelRidge:
    """Kernel ridge regression from embeddings to points, λ by leaving one out."""
    if points is None or not kernel.vectors:
        raise ValueError(
            f"inverse_transform needs points to come back to, and {function!r} has none: it is there for "
            "kernels on vectors"
        )
    n = points.shape[0]
    Z = _dense(points if n <= EXAMPLES else points[np.linspace(0, n - 1, EXAMPLES).astype(int)])
    T = np.asarray(function(Z), dtype=np.float64) + intercept
    # Scores of later components are smaller, and as telling.
    width = np.maximum(T.std(axis=0), 1e-9 * max(float(T.std()), np.finfo(float).tiny))
    shape: Any = Gaussian(float(np.sqrt(2 * T.shape[1]))).scaled(width)
    return KernelRidge(shape, solver="cholesky", representation="full").fit(T, Z)


def sampled(held: Any, seen: int, X: Any) -> Any:
    """EXAMPLES of all rows so far, each as likely as any other: those held, of so many seen, and X."""
    free = max(EXAMPLES - (0 if held is None else held.shape[0]), 0)
    first = frozen(X[:free])
    kept = first if held is None else (stack(held, first) if first.shape[0] else held)
    late = np.arange(first.shape[0], X.shape[0])
    place = np.random.default_rng(seen).integers(0, seen + late + 1)
    into = place < kept.shape[0]
    if not into.any():
        return kept
    # Of rows that fall on the same place the last stays.
    source = dict(zip(place[into].tolist(), (kept.shape[0] + late[into]).tolist(), strict=True))
    rows = np.array([source.get(i, i) for i in range(kept.shape[0])])
    return stack(kept, X)[rows]


def _dense(Z: Any) -> np.ndarray:
    return np.asarray(Z.toarray() if hasattr(Z, "toarray") else Z, dtype=np.float64)


def fixed_point(function: Function, mean: Function, T: np.ndarray, start: np.ndarray) -> np.ndarray:
    """z nearest to μ + Σ t_j f_j in feature space, for k(x,z) = κ(‖x−z‖²): z ← Σ γ_i κ′_i x_i / Σ γ_i κ′_i.

    The right side is where the gradient of ‖φ(z) − Σ γ_i φ(x_i)‖² vanishes, with κ′ taken at z. It is not
    sure to descend, so what ends farther away than it began stays where it began.
    """
    kernel = function.kernel  # type: ignore[attr-defined]
    while isinstance(kernel, Scale):  # which moves no minimum
        kernel = kernel.kernel
    if not (isinstance(kernel, Radial) and isinstance(kernel.statistic, SquaredDistance)):
        raise ValueError(
            "the fixed-point iteration is for kernels of the distance ‖x−z‖ such as Gaussian, not "
            f"{kernel!r}: use preimage='learned'"
        )
    X = _dense(function.points)  # type: ignore[attr-defined]
    gamma = mean.coef[:, None] + function.coef @ T.T  # type: ignore[attr-defined]
    out = start.copy()
    for j, z in enumerate(start):
        out[j] = _one(kernel, X, gamma[:, j], z)
    return out


def _one(kernel: Radial, X: np.ndarray, gamma: np.ndarray, start: np.ndarray) -> np.ndarray:
    def nearness(z: np.ndarray) -> float:
        return float(kernel.pairwise(z[None], X)[0] @ gamma)

    z, size = start, float(np.ptp(X, axis=0).max()) or 1.0
    for _ in range(_STEPS):
        with np.errstate(divide="ignore", invalid="ignore"):
            weights = gamma * kernel.slope_statistic(z[None], X)[0]
        total = weights.sum()
        if not np.isfinite(total) or abs(total) <= 1e-12 * np.abs(weights).sum():
            break
        moved = weights @ X / total
        step, z = float(np.abs(moved - z).max()), moved
        if step <= _STILL * size:
            break
    return z if nearness(z) >= nearness(start) else start
