"""Least squares by factorisation."""

from __future__ import annotations

from mercer.solvers.base import Solver, warn_if_unconverged
from mercer.solvers.cost import SQUARES
from mercer.solvers.least_squares import MIXED_FROM, ridge_solution, solve_direct
from mercer.solvers.normal_equations import by_factor, kept_features
from mercer.solvers.preconditioners import sampled_rows


class Cholesky(Solver):
    """Least squares exactly, by a Cholesky factorisation.

    With one coefficient per example the n×n matrix K + λnI is factored in place; with m centres or
    p features, the normal equations. Float64 problems go through a float32 factor and float64
    refinement where conditioning allows. A matrix that is singular to rounding gets a small,
    reported jitter (``solution_.certificate.jitter``).

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> KernelRidge(solver=Cholesky()).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0]).solution_.status
    'converged'
    """

    name = "cholesky"
    requires = frozenset({"ridge", "quadratic"})
    passes = 1
    factors_here = True

    def memory(self, shape):
        if shape.full:
            return shape.n * shape.n * (4 if shape.n >= MIXED_FROM else shape.item) + shape.panels
        return kept_features(shape) + SQUARES * shape.square

    def flops(self, shape):
        n, p = shape.n, float(shape.unknowns)
        return p**3 / 3 + 2 * p * p * shape.outputs if shape.full else n * p * p

    def run(self, problem):
        # A factorisation reaches rounding, unless the system is badly conditioned: then this much must do.
        tol = self._tol(None, problem.A.dtype)
        if problem.full:
            solution = ridge_solution(problem, solve_direct, tol, self.name)
        else:
            # The sample is for centres so many that nothing of their size can be factored whole.
            solution = by_factor(problem, tol, sampled_rows(problem.A.shape[1]), self.name)
        warn_if_unconverged(solution, tol, "Increase lam", problem.A.dtype)
        return solution
