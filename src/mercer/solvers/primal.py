"""Problems with explicit features: minimise (1/n) Σ w V(y, Φu) + λ‖u‖² over u.

A Nyström problem becomes one by a change of coordinates: K(Z,Z) = L Lᵀ, c = L⁻ᵀu, Φ = K(X,Z) L⁻ᵀ.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpstrf, dtrtri

from mercer.engines.factor import Factor, NotPositiveDefinite, inverse_lower
from mercer.operators import (
    Composed,
    Identity,
    KernelOperator,
    Operator,
    WithOnes,
    in_memory,
    undisturbed,
)
from mercer.solvers.pcg import Apply, pcg
from mercer.solvers.preconditioners import LARGEST_FACTOR, ROUNDED_TOL, SUBSET_SHIFT, SampledHessian
from mercer.solvers.problem import Certificate, Problem, Solution

# Up to so many centres the Hessian is sampled.
_SAMPLED_CENTRES = 40_000


class Primal:
    """A problem in coordinates u: Φ, the quadratic penalty, its norm, preconditioners, and the way back.

    Here the penalty is the identity (and nothing on the offset, which is the last coordinate).
    """

    # May the Hessian be formed and factored?
    explicit = True
    jitter = 0.0

    def __init__(self, Phi: Operator, offset: bool, coefficients: Callable[[np.ndarray], np.ndarray]):
        self.offset, self.coefficients = offset, coefficients
        self.penalty = np.append(np.ones(Phi.shape[1]), 0.0) if offset else np.ones(Phi.shape[1])
        self.Phi: Operator = WithOnes(Phi) if offset else Phi
        self._sampled: SampledHessian | None = None

    def among(self, rows: np.ndarray) -> Primal:
        """The same coordinates for some of the examples."""
        other = copy(self)
        other.Phi, other._sampled = self.Phi.among(rows), None
        return other

    def quick(self, tol: float) -> Operator:
        """Φ for many products whose result need not be better than this."""
        return self.Phi

    def penalise(self, U: np.ndarray) -> np.ndarray:
        """P U, with ‖f‖² = uᵀPu."""
        return self.penalty[:, None] * U

    def size(self, R: np.ndarray) -> np.ndarray:
        """Length in H_K of the functions with these gradients, column by column."""
        return np.linalg.norm(R, axis=0)

    def steepest(self, R: np.ndarray) -> np.ndarray:
        """Coordinates of the gradient as a function: P⁻¹ R."""
        return R

    def hessian_factor(self, ridge: float, d: np.ndarray | None) -> Factor:
        """(1/n) Φᵀ diag(d) Φ + ridge·P, factored."""
        H = self.Phi.gramian(d) / self.Phi.shape[0]
        H[np.diag_indices_from(H)] += ridge * self.penalty
        return Factor(H)

    def preconditioner(
        self, ridge: float, d: np.ndarray | None, rows: int, rng: np.random.Generator
    ) -> Apply:
        """An approximate inverse of that Hessian, from a sample of rows."""
        if self._sampled is None:
            self._sampled = SampledHessian(self.Phi, rows, rng)
        return self._sampled.inverse(ridge * self.penalty, d)

    def back(self, U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(coefficients, offset)"""
        if not self.offset:
            return self.coefficients(U), np.zeros(U.shape[1])
        return self.coefficients(U[:-1]), U[-1].copy()


class Centres(Primal):
    """Coefficients of centres as they are: for many centres, or an engine that keeps them to itself.

    K(Z,Z) ≈ L Lᵀ serves the preconditioner and the norm of a gradient only. So it may be rounded, or have
    a jitter, without changing the problem that is solved.
    """

    explicit = False

    def __init__(self, A: KernelOperator, B: Operator, offset: bool):
        super().__init__(A, offset, lambda U: U)
        self.A, self.B = A, B
        m = A.shape[1]
        self.sampled = m <= _SAMPLED_CENTRES
        dtype = np.dtype(np.float64) if 8 * m * m <= A.engine.room() else A.dtype
        K = A.engine.kernel_matrix(A.kernel, A.Z, dtype)
        # What lies below the rounding of A's entries is noise, and what is divided by it loses its digits.
        shift = max(float(np.finfo(A.dtype).eps), SUBSET_SHIFT) * float(A.kernel.diagonal(A.Z).mean())
        self.L = A.engine.factor(K, shift=shift, max_jitter=0.1)
        self.jitter = 0.0

    def among(self, rows):
        other: Any = super().among(rows)
        other.A = other.Phi.A if self.offset else other.Phi
        return other

    def quick(self, tol):
        if tol < ROUNDED_TOL or not self.A.remote or self.A.dtype != np.float32:
            return self.Phi
        rounded = self.A.rounded()
        return WithOnes(rounded) if self.offset else rounded

    def penalise(self, U):
        inner = self.B @ (U[:-1] if self.offset else U)
        return np.vstack([inner, np.zeros((1, U.shape[1]))]) if self.offset else inner

    def size(self, R):
        inner = self.L.solve_lower(R[:-1] if self.offset else R)
        square = np.einsum("ij,ij->j", inner, inner)
        return np.sqrt(square + R[-1] ** 2 if self.offset else square)

    def steepest(self, R):
        inner = self.L.solve(R[:-1] if self.offset else R)
        return np.vstack([inner, R[-1:]]) if self.offset else inner

    def preconditioner(self, ridge, d, rows, rng):
        A, L, n = self.A, self.L, self.A.shape[0]
        mean = 1.0 if d is None else float(d.mean())
        if self.sampled:
            # A better sample costs matrix products, of which a remote engine makes light.
            rows = max(rows, 5 * A.shape[1]) if A.remote else rows
            index = np.sort(rng.choice(n, min(n, rows), replace=False))
            weights = None if d is None else d[index]
            H = A.engine.whitened(A.kernel, A.X[index], A.Z, L, weights)
            H /= len(index)
            core = A.engine.factor(H, shift=ridge, max_jitter=0.1)
        else:
            # Too large for a second matrix: as if the centres were a sample of the rows, where Φᵀ = Lᵀ.
            core = L.gram_factor(mean / A.shape[1], ridge)

        def inner(R):
            return L.solve_upper(core.solve(L.solve_lower(R)))

        if not self.offset:
            return inner
        return lambda R: np.vstack([inner(R[:-1]), R[-1:] / max(mean, np.finfo(float).tiny)])


def to_primal(problem: Problem, *, store: bool = False) -> Primal:
    """Coordinates for a problem with centres or features.

    A few centres are made orthonormal. With `store`, Φ is then kept in memory if it fits: for methods that
    pass over it many times.
    """
    A, B = problem.A, problem.B
    if isinstance(A, KernelOperator) and (A.remote or A.shape[1] > LARGEST_FACTOR):
        return Centres(A, B, problem.offset)
    if isinstance(B, Identity):
        Phi: Operator = A

        def coefficients(u):
            return u
    else:
        T = whitening(np.asarray(B.dense(), dtype=np.float64), A.dtype)
        Phi = Composed(A, T)

        def coefficients(u):
            return T @ u

    return Primal(in_memory(Phi) if store else Phi, problem.offset, coefficients)


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
    if diagonal.min() > 0 and (T := _inverse_root(scaled, float(floor))) is not None:
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
    if direct and not primal.explicit:
        direct, name = False, name + " of a sample, cg"
    y = problem.y.astype(np.float64)
    weights = np.ones((n, 1)) if w is None else w[:, None]

    def norm(R):
        return float(np.linalg.norm(primal.size(R)))

    quick = primal.quick(tol)

    def apply(V):
        return quick.sandwich(V, lambda rows, S: S * weights[rows]) / n + lam * primal.penalise(V)

    def measure(u):
        """(−half the gradient, objective) at u, in one pass."""
        errors = np.empty_like(y)

        def error(rows, S):
            errors[rows] = y[rows] - S
            return errors[rows] * weights[rows]

        with undisturbed(Phi):
            back = Phi.sandwich(u, error) / n
        pulled = lam * primal.penalise(u)
        descent, penalty = back - pulled, float((pulled * u).sum())
        return descent, float((weights * errors**2).sum()) / n + penalty

    with undisturbed(Phi):
        rhs = Phi.adjoint(weights * y) / n
    start = norm(rhs)
    jitter = primal.jitter
    condition: float | None = None

    if direct:
        factor = primal.hessian_factor(lam, w)
        jitter, condition, inverse = factor.jitter, factor.condition(), factor.solve
        u, iterations, limit = inverse(rhs), 1, 30
    else:
        inverse = primal.preconditioner(lam, w, sample, problem.rng)  # type: ignore[assignment]
        patience = patience if primal.explicit else 0
        u, iterations, limit = np.zeros_like(rhs), 0, patience or max_iter
    residual, objective = measure(u)
    history = [1.0]
    # Polished below the tolerance where float64 allows: another pass is cheap next to the factor.
    enough = (1e-3 if direct and Phi.dtype == np.float64 else 0.5) * tol * start
    better = True
    for _ in range(10):
        size = norm(residual)
        if patience and size > max(enough, tol * start) and (iterations >= limit or not better):
            # The sample says too little about the rest.
            factor = primal.hessian_factor(lam, w)
            jitter, condition, inverse = factor.jitter, factor.condition(), factor.solve
            limit, patience, name, better = iterations + 30, 0, name + ", then cholesky", True
        if size <= enough or iterations >= limit or not better:
            break
        target = max(0.5 * enough / size, 1e-6)
        with undisturbed(Phi):
            result = pcg(
                apply, residual, inverse, tol=target, max_iter=limit - iterations, size_of=primal.size
            )
        iterations += result.iterations
        condition = condition if condition is not None else result.condition
        history += [h * size / start for h in result.history[1:]]
        refined, lower = measure(u + result.x)
        better = norm(refined) < 0.7 * size
        if better:
            u, residual, objective = u + result.x, refined, lower
    gradient = norm(residual)
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
