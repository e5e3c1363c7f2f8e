"""Least squares with a factor at hand."""

from __future__ import annotations

from functools import partial

import numpy as np

from mercer.operators import Factor, Matrix, blas_single_threaded
from mercer.solvers.base import Solver, warn_if_unconverged
from mercer.solvers.least_squares import ShiftedSystem, Solved, ridge_solution
from mercer.solvers.pcg import pcg
from mercer.solvers.problem import Problem, Solution

_LIMIT = 40
# Iterations without a smaller residual after which there is no more to be had.
_PATIENCE = 6


class GivenFactor(Solver):
    """Least squares by conjugate gradients that divide by a factor of the matrix, or of one close to it.

    With the factor of K + λnI itself, in float32, this is refinement: each iteration computes K once, in
    float64, and gains some digits. The factor is not part of what the solver is: it is held, not copied.

    Parameters
    ----------
    factor : Factor
        Of K + λnI for the examples of the problem, in their order.
    tol : float, optional
        Relative residual to reach. None: 1e-8 for float64 data, 1e-5 for float32.
    max_iter : int
    matrix : (n, n) array in float64, optional
        K itself, where there is room for it: an iteration then reads it, which takes far less time.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> X, y, kernel = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 4.0]), Gaussian(1.0)
    >>> factor = Factor(kernel(X, X), shift=3 * 0.1)
    >>> machine = KernelRidge(kernel, lam=0.1, representation="full", solver=GivenFactor(factor)).fit(X, y)
    >>> machine.solution_.status
    'converged'
    """

    name = "refinement of a given factor"
    requires = frozenset({"ridge", "quadratic"})
    passes = 5

    def __init__(
        self,
        factor: Factor,
        tol: float | None = None,
        max_iter: int = _LIMIT,
        matrix: np.ndarray | None = None,
    ):
        self.factor = factor
        self.tol = tol
        self.max_iter = max_iter
        self.matrix = matrix

    def memory(self, shape):
        return shape.panels

    def run(self, problem: Problem) -> Solution:
        self.validate()
        if not problem.full or problem.A.shape[0] != self.factor.n:
            raise ValueError(
                f"the factor is of {self.factor.n:,} rows, and the problem has {problem.A.shape[0]:,} "
                "examples; each has its coefficient with representation='full' only"
            )
        tol = self._tol(self.tol, problem.A.dtype)
        # Centred, the matrix would be another one than that of the factor.
        solution = ridge_solution(problem, partial(self._solved, tol=tol), tol, self.name, centre=False)
        warn_if_unconverged(solution, tol, "Increase lam", problem.A.dtype)
        return solution

    def _solved(self, system: ShiftedSystem, tol: float) -> Solved:
        K = system.K if self.matrix is None else Matrix(self.matrix)
        exact = system.with_matrix(K)
        with blas_single_threaded(K):
            found = pcg(
                exact,
                system.rhs,
                self.factor.solve,
                tol=0.1 * tol,
                max_iter=self.max_iter,
                patience=_PATIENCE,
            )
            residual = system.rhs - exact(found.x)
        history, condition = tuple(found.history), self.factor.condition()
        kept = None if self.matrix is None else K
        return Solved(found.x, residual, exact, found.iterations, history, condition, stalled=True, kept=kept)
