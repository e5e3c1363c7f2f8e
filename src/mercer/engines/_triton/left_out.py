"""Least squares on the device with one coefficient an example: leave-one-out with its slopes, and scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.engines._triton.dense import DeviceFactor
from mercer.engines._triton.matrix import memory_errors
from mercer.engines._triton.trees import Tree, Unknown, panel_bytes
from mercer.kernels.base import Kernel

_TINY = 1e-300
# Matrices of the size of the examples squared, at most at a time; more rows than these torch's factorisations
# may count in 32 bits.
_MATRICES, MOST_ROWS = 4, 46_000


def surface_bytes(n: int) -> int:
    """Bytes of the device that `left_out` takes for n examples."""
    return 8 * _MATRICES * n * n + panel_bytes(n)


def scores_bytes(n: int) -> int:
    """Bytes of the device that `scores` takes for n examples."""
    return 8 * n * (n + 3 * 1024) + panel_bytes(n)


def left_out(
    engine: Any, kernel: Kernel, X: np.ndarray, Y: np.ndarray, mu: float, offset: bool
) -> tuple[float, dict[str, Any], float] | None:
    """(L, its slopes in log θ, its slope in μ): see `mercer.engines.Engine.left_out`."""
    import torch

    tree = _tree(engine, kernel, X)
    if tree is None:
        return None
    n, t = Y.shape
    if n > MOST_ROWS:
        raise MemoryError(f"{n:,} examples are more than the {MOST_ROWS:,} that slopes are computed of there")
    _require_room(engine, n, surface_bytes(n))
    with memory_errors():
        points, Y = tree.points(X), tree.points(Y)
        K = tree.matrix(points)
        diagonal = K.diagonal()
        shift = max(mu, 1e-12 * float(diagonal.mean()))
        diagonal += shift
        L, failed = torch.linalg.cholesky_ex(K)
        del K, diagonal
        if int(failed):
            raise np.linalg.LinAlgError(
                f"K + μI is not positive definite in double precision at μ = {shift:.2g}"
            )
        P = torch.cholesky_inverse(L)
        del L
        if offset:
            sums = P.sum(1)
            P.addr_(sums, sums / sums.sum(), alpha=-1)
        A, p = P @ Y, P.diagonal().clone()
        E = A / p[:, None]
        B = P @ (E / p[:, None])
        R = P.mul_(((A * A).sum(1) / p**3).sqrt())
        M = R @ R.T
        del P, R
        M.addmm_(A, B.T, alpha=-0.5).addmm_(B, A.T, alpha=-0.5).mul_(2 / (n * t))
        error = max(float((E * E).mean()), _TINY)
        return error, tree.slopes(points, M), float(M.diagonal().sum())


def scores(
    engine: Any, kernel: Kernel, X: np.ndarray, Y: np.ndarray, mu: float, new: np.ndarray
) -> np.ndarray | None:
    """K(new, X) (K + μI)⁻¹ Y: see `mercer.engines.Engine.ridge_scores`."""
    tree = _tree(engine, kernel, X)
    if tree is None:
        return None
    _require_room(engine, len(X), scores_bytes(len(X)))
    with memory_errors():
        points = tree.points(X)
        C = DeviceFactor(tree.matrix(points), mu).solve(tree.points(Y))
        return tree.product(tree.points(new), points, C).cpu().numpy()


def _tree(engine: Any, kernel: Kernel, X: np.ndarray) -> Tree | None:
    import torch

    if not kernel.vectors or not isinstance(X, np.ndarray):
        return None
    try:
        return Tree(kernel, torch.device(engine.device), X)
    except Unknown:
        return None


def _require_room(engine: Any, n: int, need: int) -> None:
    free = engine.free_bytes()
    if need > free:
        raise MemoryError(
            f"kernel matrices of {n:,} examples take {need / 1e9:.1f} GB of the GPU's memory, and "
            f"{free / 1e9:.1f} GB are free: take fewer of them"
        )
