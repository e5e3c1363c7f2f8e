"""Least squares by preconditioned conjugate gradients, without the matrix in memory."""

from __future__ import annotations

import math

from mercer.solvers.base import Solver, warn_if_unconverged
from mercer.solvers.full import ridge_solution, solve_cg
from mercer.solvers.preconditioners import LowRank
from mercer.solvers.primal import ridge_primal


class CG(Solver):
    """Least squares by conjugate gradients: only products with K, never K.

    With one coefficient per example the preconditioner is a low-rank approximation of K from
    randomly pivoted Cholesky; with centres or features, the Hessian on a sample of rows (Falkon's
    preconditioner).

    Parameters
    ----------
    tol : float, optional
        Relative residual to reach. None: 1e-8 for float64 data, 1e-5 for float32.
    max_iter : int
    rank : int, optional
        Size of the preconditioner: its rank, or the number of sampled rows. None: about 5√n columns,
        or twice the number of features.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> KernelRidge(solver=CG()).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0]).solution_.status
    'converged'
    """

    name = "cg"
    requires = frozenset({"ridge", "quadratic"})

    def __init__(self, tol=None, max_iter=1000, rank=None):
        self.tol = tol
        self.max_iter = max_iter
        self.rank = rank

    def default_rank(self, n: int) -> int:
        """Columns of the low-rank preconditioner for n examples."""
        return min(n, max(100, int(5 * math.sqrt(n))) if self.rank is None else self.rank)

    def run(self, problem):
        self.validate()
        tol = self._tol(self.tol, problem.A.dtype)
        if problem.full:
            rank = self.default_rank(problem.n)
            low_rank = LowRank(problem.A, rank, problem.rng) if rank else None

            def solve(K, mu, scale, rhs):
                return solve_cg(K, mu, scale, rhs, tol=tol, max_iter=self.max_iter, low_rank=low_rank)

            solution = ridge_solution(problem, solve, tol, self.name)
        else:
            sample = 2 * problem.A.shape[1] + 1000 if self.rank is None else self.rank
            solution = ridge_primal(
                problem, direct=False, tol=tol, max_iter=self.max_iter, sample=sample, name=self.name
            )
        warn_if_unconverged(solution, tol, "Increase lam, max_iter or rank, or give the data as float64.")
        return solution
