"""Preconditioned conjugate gradients for several right-hand sides at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer._notice import tell
from mercer._threads import stopping_point
from mercer.operators.resident import add, column_dots, column_norms, like, picked, put, times

Apply = Callable[[np.ndarray], np.ndarray]
# (columns at work, α, rᵀP⁻¹r) of an iteration: of these Lanczos' tridiagonal matrices are made.
Step = tuple[np.ndarray, np.ndarray, np.ndarray]

# No progress: over so many iterations the squared error falls by less than this part of all it has fallen.
_WINDOW = 60
_NO_PROGRESS = 1e-8
# Residuals so many times as large as that of x = 0 (or of the start, if that is larger) lead nowhere.
DIVERGED = 1e3


@dataclass(frozen=True, eq=False)
class Start:
    """Where conjugate gradients begin: x, b − Mx, and the next direction (None: the steepest)."""

    x: np.ndarray
    r: np.ndarray
    p: np.ndarray | None = None


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
    patience: int | None = None,
    hopeless: Callable[[list[float]], bool] | None = None,
    size_of: Apply = column_norms,
    steps: list[Step] | None = None,
    start: Start | None = None,
    noted: Callable[[int, Start], None] | None = None,
) -> PCGResult:
    """Solve M x = b for symmetric positive definite M given by its action on (n, t) blocks.

    Every column runs its own recurrence; one call of `apply` serves them all, and columns that have
    converged leave. `residual` is the largest ‖b − Mx‖/‖b‖ over the columns, in the norm `size_of`, and
    the iterate with the smallest residual is returned. Residuals may rise for hundreds of iterations
    before they fall; what falls in every one is the error in the norm of M. So `stalled` says that
    neither gets smaller any more, or, given `patience`, that the residual has not fallen for so many
    iterations, or that `hopeless`, shown the history after each iteration, gave up. `steps`, if given, is
    told of every iteration. b may be a tensor, in which case vectors stay where that is. `noted` is shown
    every iteration, and `start` is what it was shown: the recurrence goes on from there.
    """
    x, r = (0 * b, like(b)) if start is None else (like(start.x), like(start.r))
    size = size_of(b)
    size[size == 0] = 1.0
    relative = size_of(r) / size
    diverged = DIVERGED * max(float(relative.max(initial=0.0)), 1.0)
    best = _Best(like(x), like(r), relative.copy())
    active = np.flatnonzero(relative > tol)
    z = precondition(picked(r, active))
    p = like(z) if start is None or start.p is None else start.p[:, active]
    rz = column_dots(picked(r, active), z)
    progress = _Progress([float(relative.max(initial=0.0))], patience, hopeless)
    lanczos: list[tuple[float, float]] = []
    iterations, stalled = 0, False
    while len(active) and iterations < max_iter:
        stopping_point()
        Mp = apply(p)
        alpha, usable = _lengths(p, Mp, rz)
        fallen = float((alpha * rz / size[active] ** 2).sum())
        if steps is not None:
            steps.append((active, alpha, rz))
        add(x, active, times(p, alpha))
        add(r, active, times(Mp, -alpha))
        iterations += 1
        relative[active] = size_of(picked(r, active)) / size[active]
        tell("conjugate gradients", iterations, "residual", float(relative.max()), tol)
        stuck = progress.stuck(float(relative.max()), fallen, best.improved(x, r, relative, active))
        if stuck or not usable.any() or relative.max() > diverged:
            stalled = True
            break
        keep = usable & (relative[active] > tol)
        first_stays = bool(keep[0]) and active[0] == 0
        active = active[keep]
        if len(active) == 0:
            break
        z = precondition(picked(r, active))
        rz_new = column_dots(picked(r, active), z)
        beta = rz_new / rz[keep]
        if first_stays:
            lanczos.append((float(alpha[0]), float(beta[0])))
        p = z + times(picked(p, np.flatnonzero(keep)), beta)
        rz = rz_new
        if noted is not None:
            noted(iterations, Start(x, r, _spread(p, active, b.shape)))
    residual, condition = float(best.relative.max(initial=0.0)), _ritz_condition(lanczos)
    return PCGResult(best.x, best.r, iterations, residual, progress.history, condition, stalled)


class _Best:
    """Of every column the iterate with the smallest residual."""

    def __init__(self, x: np.ndarray, r: np.ndarray, relative: np.ndarray):
        self.x, self.r, self.relative = x, r, relative

    def improved(self, x: np.ndarray, r: np.ndarray, relative: np.ndarray, active: np.ndarray) -> bool:
        """Keep the columns that got better; whether there were any."""
        better = active[relative[active] < self.relative[active]]
        put(self.x, better, picked(x, better))
        put(self.r, better, picked(r, better))
        self.relative[better] = relative[better]
        return len(better) > 0


def _lengths(p: np.ndarray, Mp: np.ndarray, rz: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far to go along every direction, and whether it can be used.

    A direction without curvature, or lost to rounding, ends its column.
    """
    curvature = column_dots(p, Mp)
    usable = (curvature > 0) & np.isfinite(curvature) & (rz > 0)
    return np.where(usable, rz / np.where(usable, curvature, 1), 0.0), usable


def _spread(p: np.ndarray, active: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Directions of the columns that go on, zeros for the others."""
    out = np.zeros(shape)
    out[:, active] = p
    return out


class _Progress:
    """Whether conjugate gradients still get anywhere."""

    def __init__(self, history: list[float], patience: int | None, hopeless: Callable | None):
        self.history, self.patience, self.hopeless = history, patience, hopeless
        self.since_best, self.fallen = 0, 0.0
        self.recent: deque[float] = deque(maxlen=_WINDOW)

    def stuck(self, relative: float, fallen: float, improved: bool) -> bool:
        """Take note of an iteration, and by how much the squared error in the norm of M fell in it."""
        self.history.append(relative)
        self.recent.append(fallen)
        self.fallen += fallen
        self.since_best = 0 if improved else self.since_best + 1
        if self.hopeless is not None and self.hopeless(self.history):
            return True
        if self.patience is not None:
            return self.since_best >= self.patience
        return self.since_best >= _WINDOW and sum(self.recent) <= _NO_PROGRESS * self.fallen


def _ritz_condition(lanczos: list[tuple[float, float]]) -> float | None:
    """Condition of the preconditioned system, from the Lanczos matrix CG builds on the way."""
    if len(lanczos) < 2 or min(alpha for alpha, _ in lanczos) <= 0:
        return None
    a, b = np.array(lanczos).T
    diagonal = 1 / a
    diagonal[1:] += b[:-1] / a[:-1]
    off = np.sqrt(b[:-1]) / a[:-1]
    values = np.linalg.eigvalsh(np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1))
    return float(values[-1] / values[0]) if values[0] > 0 else None
