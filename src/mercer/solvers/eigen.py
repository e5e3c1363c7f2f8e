"""The largest eigenpairs of a symmetric operator from products with blocks of vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer._notice import tell

# A pass costs as much for a few vectors as for one, and those beyond the wanted ones make it need fewer.
_BEYOND = 10
# Blocks kept until the best of them are taken and the others forgotten.
_BLOCKS = 8
# So many passes without progress, that near to the end, are put down to rounding; before, to a flat spectrum.
_PATIENCE, _NEAR = 6, 1e-4


@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """What was found, and how well; status is "converged", "stalled" (by rounding) or "max_iter"."""

    values: np.ndarray  # (k,) in decreasing order
    vectors: np.ndarray  # (n, k), orthonormal columns
    residuals: np.ndarray  # (k,) ‖A v − θ v‖, which bounds the distance of θ to an eigenvalue
    passes: int  # products with a block
    status: str


def largest_eigenpairs(
    apply: Callable[[np.ndarray], np.ndarray],
    n: int,
    count: int,
    rng: np.random.Generator,
    tol: float = 1e-6,
    max_passes: int = 200,
    start: np.ndarray | None = None,
) -> Eigenpairs:
    """The `count` largest eigenpairs of a symmetric n×n operator V ↦ A V, by randomised block Krylov.

    The space spanned by G, AG, A²G, … for a random block G holds the leading eigenvectors to ever higher
    accuracy. It is grown by a block a pass; when it has become too large, its best vectors are kept and it
    grows from there. Stops when ‖A v − θ v‖ ≤ tol·θ₁ for every pair: values are then accurate to about
    tol²·θ₁²/gap, vectors to tol·θ₁/gap. `start`, if given, is the first block.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.diag(1 / np.arange(1.0, 501))
    >>> found = largest_eigenpairs(lambda V: A @ V, 500, 3, np.random.default_rng(0))
    >>> found.values.round(6).tolist()
    [1.0, 0.5, 0.333333]
    """
    count = min(count, n)
    width = min(n, count + _BEYOND)
    room = min(n, _BLOCKS * width)
    V, AV = np.empty((n, room)), np.empty((n, room))
    S = np.zeros((room, room))  # Vᵀ A V
    block, _ = np.linalg.qr(rng.standard_normal((n, width)) if start is None else start)
    size = passes = waited = 0
    best = np.inf
    while True:
        end = size + block.shape[1]
        V[:, size:end] = block
        AV[:, size:end] = apply(block)
        passes += 1
        S[:end, size:end] = V[:, :end].T @ AV[:, size:end]
        S[size:end, :size] = S[:size, size:end].T
        size = end
        theta, Y = np.linalg.eigh((S[:size, :size] + S[:size, :size].T) / 2)
        theta, Y = theta[::-1], Y[:, ::-1]
        kept = min(width, size)
        vectors = V[:, :size] @ Y[:, :kept]
        left = AV[:, :size] @ Y[:, :kept] - vectors * theta[:kept]
        residuals = np.linalg.norm(left[:, :count], axis=0)
        scale = max(float(np.abs(theta).max()), np.finfo(float).tiny)
        worst = float(residuals.max(initial=0.0)) / scale
        status = "converged" if worst <= tol or size == n else ""
        waited = 0 if worst < 0.7 * best else waited + 1
        best = min(best, worst)
        tell("eigenvectors", passes, "residual", worst, tol)
        if not status and waited >= _PATIENCE and worst <= _NEAR:
            status = "stalled"
        if not status and passes >= max_passes:
            status = "max_iter"
        if not status:
            if size + width > room and room < n:
                V[:, :kept], AV[:, :kept] = vectors, left + vectors * theta[:kept]
                S[:kept, :kept] = np.diag(theta[:kept])
                size = kept
            block = _orthonormal(left, V[:, :size], scale)[:, : n - size]
            if block.shape[1] == 0:  # nothing leads out of this space: what is left is rounding
                status = "stalled"
        if status:
            return Eigenpairs(theta[:count], vectors[:, :count], residuals, passes, status)


def _orthonormal(W: np.ndarray, V: np.ndarray, scale: float) -> np.ndarray:
    """An orthonormal basis of what W adds to the span of V, but for rounding."""
    for _ in range(2):  # once more for what rounding left of V
        W = W - V @ (V.T @ W)
    Q, R = np.linalg.qr(W)
    U, sizes, _ = np.linalg.svd(R)
    W = Q @ U[:, sizes > 1e-14 * scale]
    # A direction that was almost within the span has, made longer, a part of it again.
    if W.shape[1] and sizes[W.shape[1] - 1] < 1e-8 * scale:
        W, _ = np.linalg.qr(W - V @ (V.T @ W))
    return W
