"""Preconditioned conjugate gradients for several right-hand sides at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Apply = Callable[[np.ndarray], np.ndarray]

# No progress: over so many iterations the squared error falls by less than this part of all it has fallen.
_WINDOW = 60
_NO_PROGRESS = 1e-8


def _column_norms(R: np.ndarray) -> np.ndarray:
    return np.linalg.norm(R, axis=0)


@dataclass
class PCGResult:
    """x with M x ≈ b, and how it went."""

    x: np.ndarray
    final_residual: np.ndarray
    iterations: int
    residual: float
    history: list[float]
    condition: float | None
    stalled: bool


def pcg(
    apply: Apply,
    b: np.ndarray,
    precondition: Apply,
    *,
    tol: float,
    max_iter: int,
    x0: np.ndarray | None = None,
    patience: int | None = None,
    hopeless: Callable[[list[float]], bool] | None = None,
    size_of: Apply = _column_norms,
) -> PCGResult:
    """Solve M x = b for symmetric positive definite M given by its action on (n, t) blocks.

    Every column runs its own recurrence; one call of `apply` serves them all, and columns that have
    converged leave. `residual` is the largest ‖b − Mx‖/‖b‖ over the columns, in the norm `size_of`, and
    the iterate with the smallest residual is returned. Residuals may rise for hundreds of iterations
    before they fall; what falls in every one is the error in the norm of M. So `stalled` says that
    neither gets smaller any more, or, given `patience`, that the residual has not fallen for so many
    iterations, or that `hopeless`, shown the history after each iteration, gave up.
    """
    x = np.zeros_like(b) if x0 is None else x0.copy()
    r = b.copy() if x0 is None else b - apply(x)
    size = size_of(b)
    size[size == 0] = 1.0
    relative = size_of(r) / size
    best_x, best_r, best = x.copy(), r.copy(), relative.copy()
    history = [float(relative.max(initial=0.0))]
    active = np.flatnonzero(relative > tol)
    z = precondition(r[:, active])
    p = z.copy()
    rz = np.einsum("ij,ij->j", r[:, active], z)
    alphas: list[float] = []
    betas: list[float] = []
    since_best, iterations, stalled = 0, 0, False
    recent: deque[float] = deque(maxlen=_WINDOW)
    fallen = 0.0
    while len(active) and iterations < max_iter:
        Mp = apply(p)
        curvature = np.einsum("ij,ij->j", p, Mp)
        # A direction without curvature, or lost to rounding, ends its column.
        usable = (curvature > 0) & np.isfinite(curvature) & (rz > 0)
        alpha = np.where(usable, rz / np.where(usable, curvature, 1), 0.0)
        recent.append(float((alpha * rz / size[active] ** 2).sum()))
        fallen += recent[-1]
        x[:, active] += alpha * p
        r[:, active] -= alpha * Mp
        iterations += 1
        relative[active] = size_of(r[:, active]) / size[active]
        improved = active[relative[active] < best[active]]
        since_best = 0 if len(improved) else since_best + 1
        best[improved], best_x[:, improved] = relative[improved], x[:, improved]
        best_r[:, improved] = r[:, improved]
        history.append(float(relative.max()))
        if patience is None:
            stuck = since_best >= _WINDOW and sum(recent) <= _NO_PROGRESS * fallen
        else:
            stuck = since_best >= patience
        if hopeless is not None and hopeless(history):
            stuck = True
        if stuck or not usable.any() or history[-1] > 1e3:
            stalled = True
            break
        keep = usable & (relative[active] > tol)
        first_stays = bool(keep[0]) and active[0] == 0
        active = active[keep]
        if len(active) == 0:
            break
        z = precondition(r[:, active])
        rz_new = np.einsum("ij,ij->j", r[:, active], z)
        beta = rz_new / rz[keep]
        if first_stays:
            alphas.append(float(alpha[0]))
            betas.append(float(beta[0]))
        p = z + beta * p[:, keep]
        rz = rz_new
    return PCGResult(
        best_x,
        best_r,
        iterations,
        float(best.max(initial=0.0)),
        history,
        _ritz_condition(alphas, betas),
        stalled,
    )


def _ritz_condition(alphas: list[float], betas: list[float]) -> float | None:
    """Condition of the preconditioned system, from the Lanczos matrix CG builds on the way."""
    k = len(alphas)
    if k < 2 or min(alphas) <= 0:
        return None
    a = np.array(alphas)
    diagonal = 1 / a
    diagonal[1:] += np.array(betas[: k - 1]) / a[:-1]
    off = np.sqrt(np.array(betas[: k - 1])) / a[:-1]
    values = np.linalg.eigvalsh(np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1))
    return float(values[-1] / values[0]) if values[0] > 0 else None
