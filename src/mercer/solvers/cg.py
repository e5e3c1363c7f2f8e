"""Least squares by preconditioned conjugate gradients, without the matrix in memory."""

from __future__ import annotations

from functools import partial

import numpy as np

from mercer._memory import available_memory
from mercer.operators import Operator
from mercer.solvers.base import Solver, warn_if_unconverged
from mercer.solvers.cost import LARGEST_FACTOR, SQUARES
from mercer.solvers.least_squares import (
    ShiftedSystem,
    Solved,
    ridge_solution,
    solve_cg,
    solve_cg_or_factor,
    solve_stored,
)
from mercer.solvers.normal_equations import by_conjugate_gradients, kept_features
from mercer.solvers.notes import Notes
from mercer.solvers.preconditioners import low_rank, low_rank_columns, sampled_rows
from mercer.solvers.problem import Problem, Solution

_LIMIT = 1000
# As many products as always cost less than a factorisation.
_PATIENCE = 100


class CG(Solver):
    """Least squares by conjugate gradients.

    Only products with K are needed, so K need not be in memory. Where it fits it is kept there in float32,
    which makes a product one pass over it, and float64 accuracy comes from refinement; a problem too
    ill-conditioned for that is then factored in place. On a GPU K is computed again in every product, and
    made and factored in the GPU's memory where that many of them lead nowhere.

    With one coefficient per example the preconditioner is a low-rank approximation of K from
    randomly pivoted Cholesky; with centres or features, the Hessian on a sample of rows (Falkon's
    preconditioner).

    Parameters
    ----------
    tol : float, optional
        Relative residual to reach. None: 1e-8 for float64 data, 1e-5 for float32.
    max_iter : int, optional
        None: 1000 without K in memory; with it, as many as cost less than a factorisation.
    store : bool, optional
        Keep K in memory? None: if it takes no more than a third of what is free.
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
    passes = 50
    resumes = True

    def __init__(self, tol=None, max_iter=None, rank=None, store=None):
        self.tol = tol
        self.max_iter = max_iter
        self.rank = rank
        self.store = store

    def memory(self, shape):
        n, p = shape.n, shape.unknowns
        if shape.full:
            kept = (
                n * n * (4 if shape.float32 else 8) if self.would_store(n, shape.float32, shape.free) else 0
            )
            return kept + n * self.default_rank(n) * shape.item * 3 + shape.panels
        sample = sampled_rows(p) * p * 8 if p <= LARGEST_FACTOR else 0
        return kept_features(shape) + sample + SQUARES * shape.square

    without_matrix = "use CG(), which keeps it only where it fits"

    def indispensable(self, shape):
        return self.memory(shape) if shape.full and self.store and not shape.remote else 0

    def default_rank(self, n: int) -> int:
        """Columns of the low-rank preconditioner for n examples."""
        return low_rank_columns(n) if self.rank is None else min(n, self.rank)

    def run(self, problem):
        self.validate()
        tol = self._tol(self.tol, problem.A.dtype)
        with Notes(problem, self.name) as notes:
            solution = self._minimum(problem, tol, notes)
        warn_if_unconverged(solution, tol, "Increase lam, max_iter or rank", problem.A.dtype)
        return solution

    def _minimum(self, problem: Problem, tol: float, notes: Notes) -> Solution:
        if problem.full:
            store = self.stores(problem.A)
            solve = partial(self._solved, store=store, tol=tol, rng=problem.rng, notes=notes)
            return ridge_solution(problem, solve, tol, self.name)
        p = problem.A.shape[1]
        sample = sampled_rows(p) if self.rank is None else self.rank
        # Beyond this many passes over the data, the exact factor would have been faster.
        patience = max(40, p // 25) if self.max_iter is None and p <= LARGEST_FACTOR else 0
        limit = self.max_iter or _LIMIT
        return by_conjugate_gradients(problem, tol, limit, sample, self.name, patience, notes)

    def stores(self, K: Operator) -> bool:
        """Will K be kept in memory?"""
        if not K.of_kernel or K.remote:
            return False
        return self.would_store(K.shape[0], K.at(np.float32) is not None, available_memory())

    def would_store(self, n: int, float32: bool, free: float) -> bool:
        """Will the matrix of n examples, kept in float32 if it can be, fit in a third of `free` bytes?"""
        need = (4 if float32 else 8) * n * n
        return need <= 0.33 * free if self.store is None else bool(self.store)

    def _solved(
        self, system: ShiftedSystem, store: bool, tol: float, rng: np.random.Generator, notes: Notes
    ) -> Solved:
        n = system.K.shape[0]
        rank = self.default_rank(n)
        if store:
            # Beyond this many passes over the matrix, factoring it would have been faster.
            limit, factor = self.max_iter or max(30, n // 200), self.max_iter is None
            return solve_stored(
                system, tol=tol, max_iter=limit, rank=rank, rng=rng, notes=notes, factor=factor
            )
        columns = low_rank(system.K, rank, rng) if rank else None
        item = 4 if system.K.single_faster else 8
        if system.K.remote and self.max_iter is None and item * n * n <= system.K.free_bytes():
            limit = max(_PATIENCE, n // 200)
            return solve_cg_or_factor(system, tol=tol, max_iter=limit, low_rank=columns, notes=notes)
        return solve_cg(system, tol=tol, max_iter=self.max_iter or _LIMIT, low_rank=columns, notes=notes)
