"""Problems with explicit features: minimise (1/n) Σ w V(y, Φu) + λ‖u‖² over u.

A Nyström problem becomes one by a change of coordinates: K(Z,Z) = L Lᵀ, c = L⁻ᵀu, Φ = K(X,Z) L⁻ᵀ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpstrf, dtrtri

from mercer.operators import Composed, Identity, Operator, WithOnes, in_memory
from mercer.solvers.factor import Factor
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
    largest = float(B.diagonal().max(initial=0.0))
    floor = (8 * np.finfo(np.float32).eps if dtype == np.float32 else m * np.finfo(np.float64).eps) * largest
    if m == 0 or largest <= 0:
        return np.zeros((m, 0))
    L, order, rank, _ = dpstrf(B, tol=floor, lower=1)
    rank = int(rank)
    order = order[:rank] - 1
    T = np.zeros((m, rank))
    inverse, _ = dtrtri(np.asfortranarray(L[:rank, :rank]), lower=1)
    T[order] = np.tril(inverse).T
    return T


def ridge_primal(
    problem: Problem, *, direct: bool, tol: float, max_iter: int, sample: int, name: str
) -> Solution:
    """Least squares: ((1/n) ΦᵀWΦ + λP) u = (1/n) ΦᵀWy by a factor, exact or sampled, and CG upon it.

    With the exact factor the conjugate gradients only measure the residual and mend rounding.
    """
    primal = to_primal(problem)
    Phi, n, lam, w = primal.Phi, problem.n, problem.lam, problem.weights
    ridge = lam * primal.penalty
    y = problem.y.astype(np.float64)
    wy = y if w is None else y * w[:, None]
    rhs = Phi.adjoint(wy) / n

    def weigh(rows, S):
        return S if w is None else S * w[rows, None]

    def apply(V):
        return Phi.sandwich(V, weigh) / n + ridge[:, None] * V

    jitter = 0.0
    condition: float | None = None
    if direct:
        H = Phi.gramian(w) / n
        H[np.diag_indices_from(H)] += ridge
        factor = Factor(H)
        jitter, condition = factor.jitter, factor.condition()
        # Polished well below the tolerance, since another pass is cheap next to the factor. Not in
        # float32: the rounding of a pass is near the tolerance, and the recurrence would claim less than
        # is left.
        enough = tol if Phi.dtype == np.float32 else 1e-3 * tol
        result = pcg(apply, rhs, factor.solve, tol=enough, max_iter=20, x0=factor.solve(rhs), patience=3)
        iterations = result.iterations + 1
    else:
        inverse = SampledHessian(Phi, sample, problem.rng).inverse(ridge, w)
        result = pcg(apply, rhs, inverse, tol=tol, max_iter=max_iter)
        iterations, condition = result.iterations, result.condition
    u, residual = result.x, result.final_residual
    start = float(np.linalg.norm(rhs))
    gradient = float(np.linalg.norm(residual))
    relative = gradient / start if start > 0 else 0.0
    # C(u) = (1/n)Σwy² − 2uᵀrhs + uᵀHu, and Hu = rhs − residual.
    objective = float((y * wy).sum() / n - (u * (rhs + residual)).sum())
    certificate = Certificate(
        relative_gradient=relative,
        objective=max(objective, 0.0),
        gap=None if problem.offset else (2 * gradient) ** 2 / (4 * lam),
        condition=condition,
        jitter=jitter,
    )
    coef, intercept = primal.back(u)
    good = relative <= tol or result.residual <= tol
    limited = not direct and result.iterations >= max_iter
    status = "converged" if good else ("max_iter" if limited else "stalled")
    return Solution(coef, intercept, status, iterations, certificate, tuple(result.history), name)
