"""Least squares with centres or features."""

from __future__ import annotations

import numpy as np

from mercer.operators import blas_single_threaded
from mercer.solvers.certify import best_constant, certify
from mercer.solvers.cost import Shape
from mercer.solvers.pcg import pcg
from mercer.solvers.primal import to_primal
from mercer.solvers.problem import Problem, Solution


def kept_features(shape: Shape) -> int:
    """Bytes of Φ in memory: least squares with float32 kernel values computes them again at every pass."""
    return shape.stored if shape.kind == "features" or shape.item == 8 else 0


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
    weights = np.ones((n, 1)) if w is None else w[:, None]
    # With an offset a mean of y is the offset's business: taken out, it does not drown the rest.
    middle = best_constant(problem)
    y = problem.y.astype(np.float64) - middle

    def norm(R):
        return float(np.linalg.norm(primal.size(R)))

    quick = primal.quick(tol)

    def apply(V):
        return quick.sandwich(V, lambda rows, S: S * weights[rows]) / n + lam * primal.penalise(V)

    def measure(u):
        """−half the gradient at u, in one pass."""
        with blas_single_threaded(Phi):
            back = Phi.sandwich(u, lambda rows, S: (y[rows] - S) * weights[rows]) / n
        return back - lam * primal.penalise(u)

    with blas_single_threaded(Phi):
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
    residual = measure(u)
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
        with blas_single_threaded(Phi):
            result = pcg(
                apply, residual, inverse, tol=target, max_iter=limit - iterations, size_of=primal.size
            )
        iterations += result.iterations
        condition = condition if condition is not None else result.condition
        history += [h * size / start for h in result.history[1:]]
        refined = measure(u + result.x)
        better = norm(refined) < 0.7 * size
        if better:
            u, residual = u + result.x, refined
    coef, intercept = primal.back(u)
    measured = certify(problem, coef, intercept + middle[0], tol, primal)
    reached = norm(residual) <= tol * start
    limited = not direct and iterations >= max_iter and not name.endswith("cholesky")
    status = measured.verdict("converged" if reached else "max_iter" if limited else "stalled", tol)
    certificate = measured.certificate(condition=condition, jitter=jitter)
    return Solution(coef, measured.intercept, status, iterations, certificate, tuple(history), name)
