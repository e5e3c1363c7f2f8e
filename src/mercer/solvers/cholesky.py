"""Least squares by factorisation."""

from __future__ import annotations

from dataclasses import replace

from mercer.solvers.base import Solver, warn_if_unconverged
from mercer.solvers.cg import CG
from mercer.solvers.cost import SQUARES, bytes_in_words
from mercer.solvers.least_squares import MIXED_FROM, in_doubles, ridge_solution, solve_direct
from mercer.solvers.normal_equations import by_factor, kept_features
from mercer.solvers.preconditioners import sampled_rows


class Cholesky(Solver):
    """Least squares exactly, by a Cholesky factorisation.

    With one coefficient per example the n×n matrix K + λnI is factored in place, in the memory of the GPU
    where that computes it; with m centres or p features, the normal equations. On the CPU float64 problems go
    through a float32 factor and float64 refinement where conditioning allows; on a GPU for computing all is
    float64, float32 points included, as long as there is room. A matrix that is singular to rounding gets a
    small, reported jitter (``solution_.certificate.jitter``). Where the matrix finds no room after all,
    conjugate gradients take over (``solution_.solver`` says so).

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> KernelRidge(solver=Cholesky()).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0]).solution_.status
    'converged'
    """

    name = "cholesky"
    requires = frozenset({"ridge", "quadratic"})
    passes = 1

    def memory(self, shape):
        if shape.full:
            return shape.factored(4 if shape.n >= MIXED_FROM else shape.item)
        return kept_features(shape) + SQUARES * shape.square

    def keeps(self, shape):
        if not (shape.full and shape.remote):
            return None
        item = shape.item_there
        if item is None:
            need, free = (bytes_in_words(value) for value in (shape.factored(8), shape.room))
            return f"K takes {need}, and the GPU has {free} free: this will end in conjugate gradients"
        how = "factored there" if item == 8 else "in float32, factored there and refined"
        return f"K in the GPU's memory ({bytes_in_words(shape.factored(item))}), {how}"

    def indispensable(self, shape):
        return self.memory(shape) if shape.full and not shape.remote else 0

    def flops(self, shape):
        n, p = shape.n, float(shape.unknowns)
        return p**3 / 3 + 2 * p * p * shape.outputs if shape.full else n * p * p

    def run(self, problem):
        if problem.full:
            return self._full(problem)
        # A factorisation reaches rounding, unless the system is badly conditioned: then this much must do.
        tol = self._tol(None, problem.A.dtype)
        # The sample is for centres so many that nothing of their size can be factored whole.
        solution = by_factor(problem, tol, sampled_rows(problem.A.shape[1]), self.name)
        warn_if_unconverged(solution, tol, "Increase lam", problem.A.dtype)
        return solution

    def _full(self, problem):
        K = in_doubles(problem.A)
        tol = self._tol(None, K.dtype)
        try:
            solution = ridge_solution(replace(problem, A=K, B=K), solve_direct, tol, self.name)
        except MemoryError:
            solution = None  # what was tried is given back before something else is
        if solution is None:
            solution = CG().run(problem)
            return replace(solution, solver=f"{solution.solver}, since a factor found no room")
        warn_if_unconverged(solution, tol, "Increase lam", K.dtype)
        return solution
