"""Problems with explicit features: minimise (1/n) Σ w V(y, Φu) + λ‖u‖² over u.

A Nyström problem becomes one by a change of coordinates: K(Z,Z) = L Lᵀ, c = L⁻ᵀu, Φ = K(X,Z) L⁻ᵀ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpstrf, dtrtri

from mercer.operators import Composed, Identity, Operator, WithOnes, in_memory, undisturbed
from mercer.solvers.factor import Factor, NotPositiveDefinite, inverse_lower
from mercer.solvers.pcg import pcg
from mercer.solvers.preconditioners import SampledHessian
from mercer.solvers.problem import Certificate, Problem, Solution


@dataclass
class Primal:
    """Φ, the diagonal of the penalty (0 for the offset), and the way back to coefficients."""

    Phi: Operator
    penalty: np.ndarray
    back: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def to_primal(problem: Problem, *, store: bool = False) -> Primal:
    """Change coordinates so that the penalty is the identity (and nothing on the offset).

    With `store`, Φ is kept in memory if it fits: for methods that pass over it many times.
    """
    A, B = problem.A, problem.B
    if isinstance(B, Identity):
        Phi: Operator = A

        def coefficients(u):
            return u
    else:
        T = whitening(np.asarray(B.dense(), dtype=np.float64), A.dtype)
        Phi = Composed(A, T)

        def coefficients(u):
            return T @ u

    if store:
        Phi = in_memory(Phi)
    penalty = np.ones(Phi.shape[1])
    if not problem.offset:
        return Primal(Phi, penalty, lambda u: (coefficients(u), np.zeros(u.shape[1])))
    return Primal(WithOnes(Phi), np.append(penalty, 0.0), lambda u: (coefficients(u[:-1]), u[-1].copy()))


def whitening(B: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """T (m, r) with TᵀBT = I: the inverse of B's Cholesky factor, nearly dependent centres left out.

    What counts as dependent is set by the precision A comes in: a direction in which B is smaller
    than the rounding of A's entries holds nothing but noise.
    """
    m = len(B)
    diagonal = B.diagonal().astype(np.float64)
    if m == 0 or diagonal.max() <= 0:
        return np.zeros((m, 0))
    # Judged at unit diagonal: a centre is not superfluous because k(z,z) is small there.
    scale = np.where(diagonal > 0, 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1)), 0)
    floor = 8 * np.finfo(np.float32).eps if dtype == np.float32 else m * np.finfo(np.float64).eps
    scaled = scale[:, None] * B * scale[None, :]
    if diagonal.min() > 0 and (T := _inverse_root(scaled, floor)) is not None:
        return scale[:, None] * T
    L, order, rank, _ = dpstrf(scaled, tol=float(floor), lower=1)
    rank = int(rank)
    order = order[:rank] - 1
    T = np.zeros((m, rank))
    inverse, _ = dtrtri(np.asfortranarray(L[:rank, :rank]), lower=1)
    T[order] = np.tril(inverse).T
    return scale[:, None] * T


def _inverse_root(B: np.ndarray, floor: float) -> np.ndarray | None:
    """L⁻ᵀ for B = L Lᵀ, if no centre depends on those before it: no pivots needed, and much faster."""
    try:
        factor = Factor(B.copy(), max_jitter=0.0)
    except NotPositiveDefinite:
        return None
    if (factor.L.diagonal() ** 2).min() <= 10 * floor:
        return None
    return np.ascontiguousarray(inverse_lower(np.tril(factor.L)).T)


def ridge_primal(
    problem: Problem, *, direct: bool, tol: float, max_iter: int, sample: int, name: str, patience: int = 0
) -> Solution:
    """Least squares: ((1/n) ΦᵀWΦ + λP) u = (1/n) ΦᵀWy by a factor, exact or sampled, and CG upon it.

    Rounds of refinement: the gradient is measured from the scores, and its own system solved for the
    correction. With the exact factor one round is usually all. With `patience`, a sampled factor that
    has not sufficed after so many iterations is exchanged for the exact one.
    """
    # In float64 passes over Φ transform every row again, unless Φ is kept; float32 takes another order.
    primal = to_primal(problem, store=problem.A.dtype == np.float64)
    Phi, n, lam, w = primal.Phi, problem.n, problem.lam, problem.weights
    ridge = lam * primal.penalty
    y = problem.y.astype(np.float64)
    weights = np.ones((n, 1)) if w is None else w[:, None]

    def apply(V):
        return Phi.sandwich(V, lambda rows, S: S * weights[rows]) / n + ridge[:, None] * V

    def measure(u):
        """(−half the gradient, objective) at u, in one pass."""
        errors = np.empty_like(y)

        def error(rows, S):
            errors[rows] = y[rows] - S
            return errors[rows] * weights[rows]

        with undisturbed(Phi):
            descent = Phi.sandwich(u, error) / n - ridge[:, None] * u
        penalty = float((ridge[:, None] * u**2).sum())
        return descent, float((weights * errors**2).sum()) / n + penalty

    with undisturbed(Phi):
        rhs = Phi.adjoint(weights * y) / n
    start = float(np.linalg.norm(rhs))
    jitter = 0.0
    condition: float | None = None

    def exact() -> Factor:
        H = Phi.gramian(w) / n
        H[np.diag_indices_from(H)] += ridge
        return Factor(H)

    if direct:
        factor = exact()
        jitter, condition, inverse = factor.jitter, factor.condition(), factor.solve
        u, iterations, limit = inverse(rhs), 1, 30
    else:
        inverse = SampledHessian(Phi, sample, problem.rng).inverse(ridge, w)
        u, iterations, limit = np.zeros_like(rhs), 0, patience or max_iter
    residual, objective = measure(u)
    history = [1.0]
    # Polished below the tolerance where float64 allows: another pass is cheap next to the factor.
    enough = (1e-3 if direct and Phi.dtype == np.float64 else 0.5) * tol * start
    better = True
    for _ in range(10):
        size = float(np.linalg.norm(residual))
        if patience and size > max(enough, tol * start) and (iterations >= limit or not better):
            # The sample says too little about the rest.
            factor = exact()
            jitter, condition, inverse = factor.jitter, factor.condition(), factor.solve
            limit, patience, name, better = iterations + 30, 0, name + ", then cholesky", True
        if size <= enough or iterations >= limit or not better:
            break
        target = max(0.5 * enough / size, 1e-6)
        with undisturbed(Phi):
            result = pcg(apply, residual, inverse, tol=target, max_iter=limit - iterations)
        iterations += result.iterations
        condition = condition if condition is not None else result.condition
        history += [h * size / start for h in result.history[1:]]
        refined, lower = measure(u + result.x)
        better = float(np.linalg.norm(refined)) < 0.7 * size
        if better:
            u, residual, objective = u + result.x, refined, lower
    gradient = float(np.linalg.norm(residual))
    relative = gradient / start if start > 0 else 0.0
    certificate = Certificate(
        relative_gradient=relative,
        objective=objective,
        # Squared errors are not negative, so neither is the minimum.
        gap=None if problem.offset else min((2 * gradient) ** 2 / (4 * lam), objective),
        condition=condition,
        jitter=jitter,
    )
    coef, intercept = primal.back(u)
    limited = not direct and iterations >= max_iter and not name.endswith("cholesky")
    status = "converged" if relative <= tol else ("max_iter" if limited else "stalled")
    return Solution(coef, intercept, status, iterations, certificate, tuple(history), name)
