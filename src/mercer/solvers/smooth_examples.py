"""Smooth problems in coefficients of the examples, and which coordinates fit a problem."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.operators import Matrix, NotPositiveDefinite, Operator, blas_single_threaded, in_memory
from mercer.solvers.certify import best_constant
from mercer.solvers.least_squares import centred, in_doubles, shifted
from mercer.solvers.pcg import pcg
from mercer.solvers.preconditioners import LowRank, Subset, low_rank, low_rank_columns
from mercer.solvers.problem import Problem, relative_to
from mercer.solvers.smooth import FEW, INNER_ITERATIONS, Direction, FactoredForm, Form, PrimalForm

DIRECT_EXAMPLES = 3000
_EXACT_FACTOR = 6000


class FullForm(Form):
    """One coefficient per example. The gradient of C is Σ ρ_i k(x_i,·) with ρ = wV'/n + 2λc, so its
    coordinates need no product with K; its length in H_K needs one.

    With an offset Σc = 0, so that a constant may be added to f for each row and column of K: K in memory is
    centred, since what all its entries have in common would drown the rest.
    """

    def __init__(self, problem: Problem, rank: int | None = None):
        super().__init__(problem)
        n, t = problem.n, problem.y.shape[1]
        self.K = self._matrix(problem.A)
        # ‖K‖ ≤ trace K, and what rounding can make of rᵀKr = 0.
        self.rounding = 10 * float(np.finfo(self.K.dtype).eps * np.abs(self.K.diag()).sum())
        if problem.A.dear and self.K is not problem.A:
            # Kernels on objects may be slow: what is in memory is not computed again to measure the result.
            self.given = replace(problem, A=self.K, B=self.K)
        self.means = np.zeros(n)
        self.centred = problem.offset and problem.loss.convex and isinstance(self.K, Matrix)
        if self.centred:
            self.K, self.means = centred(self.K)
        # What Newton's system has on its diagonal.
        self.diagonal = self.ridge * n
        self.scores, self.penalty = best_constant(problem), 0.0
        self.coef, self.offset = np.zeros((n, t)), self.scores[0].copy() if problem.offset else np.zeros(t)
        self.Kc = np.zeros((n, t))
        self.rank = low_rank_columns(n) if rank is None else rank
        self._low_rank: LowRank | Subset | None = None
        self.measure()

    @staticmethod
    def _matrix(A: Operator) -> Operator:
        if A.shape[0] <= DIRECT_EXAMPLES:
            # Small enough for float64 whatever the data: steps divide by λn, rounding included.
            A = A.at(np.float64) or A
        if not A.remote:
            return in_memory(A)
        if A.shape[0] > A.direct_rows:
            return A
        A = in_doubles(A)
        try:  # besides a factor of it
            return A.kept() if 2 * A.dtype.itemsize * A.shape[0] ** 2 <= A.free_bytes() else A
        except MemoryError:
            return A

    def _place(self, coef, offset):
        # Another Σc would be another function once K is centred.
        self.coef = coef - coef.mean(axis=0) if self.centred else coef
        self.offset = offset + self.means @ self.coef

    def refresh(self):
        self.Kc = self.K @ self.coef
        self.scores = self.Kc + self.offset
        self.penalty = max(float((self.Kc * self.coef).sum()), 0.0)

    def alternative(self):
        if self.problem.n > _EXACT_FACTOR:
            return None
        form = FactoredForm(self.problem, self.rank)
        coef, offset = self.result()
        form.start(form.problem.A.adjoint(coef), offset)
        return form

    def measure(self):
        self.g = self.problem.data_grad(self.scores)
        self.r = -(self.g + self.diagonal * self.coef)
        self.Kr = self.K @ self.r
        n = self.problem.n
        square = float((self.r * self.Kr).sum()) / n**2
        if square < -self.rounding * float(np.square(self.r).sum()) / n**2:
            # Taken for 0 it would pass for a minimum.
            raise NotPositiveDefinite(
                "the matrix is not positive semidefinite: cᵀKc < 0 for some c, so ‖f‖² means nothing; is the "
                "kernel a kernel (mercer.kernels.check)?"
            )
        if self.problem.offset:
            square += float(np.square(self.g.sum(axis=0) / n).sum())
        self.norm = float(np.sqrt(max(square, 0.0)))

    def _direction(self, coef, offset) -> Direction:
        coef = coef - coef.mean(axis=0) if self.centred else coef
        self._K_step = moved = self.K @ coef
        cross, square = (self.Kc * coef).sum(axis=0), (moved * coef).sum(axis=0)
        return Direction(coef, offset, moved + offset, cross, square)

    def advance(self, d, t):
        super().advance(d, t)
        self.Kc = self.Kc + t * self._K_step
        # Anew rather than step by step: rounding would add up, and make it negative.
        self.penalty = max(float((self.Kc * self.coef).sum()), 0.0)

    def steepest(self):
        n = self.problem.n
        offset = -self.g.sum(axis=0) / n if self.problem.offset else np.zeros_like(self.offset)
        return self._direction(self.r / n, offset)

    def newton(self, tol):
        D = self.problem.data_hess(self.scores)
        coef, offset = np.empty_like(self.coef), np.zeros_like(self.offset)
        for j in range(D.shape[1]):
            coef[:, j], offset[j] = self._newton_column(j, np.sqrt(D[:, j]), tol)
        return self._direction(coef, offset)

    def _newton_column(self, j, S, tol):
        """(DK + ηI)δ + D1β = r and 1ᵀ(c+δ) = 0, through the symmetric system ηI + SKS, S = √D, η = 2λn.

        By Woodbury (DK+ηI)⁻¹r = (r − S(ηI+SKS)⁻¹S K r)/η, which needs no division by D.
        """
        r = self.r[:, j]
        rhs = (S * self.Kr[:, j])[:, None]
        if self.problem.offset:
            rhs = np.hstack([rhs, S[:, None]])
        # The residual e of the inner system leaves S e/η in the Newton equation: enough is asked for. Divided
        # only where that makes it smaller: no curvature at all would be a division by nearly 0.
        size = float(np.linalg.norm(rhs[:, 0])) * S.max()
        allowed = tol * self.diagonal * float(np.linalg.norm(r))
        z = self._solve_shifted(S, rhs, max(tol if tol * size <= allowed else allowed / size, 1e-14))
        step = (r - S * z[:, 0]) / self.diagonal
        if not self.problem.offset:
            return step, 0.0
        one = S * z[:, 1]
        total = one.sum()
        b = (step.sum() + self.coef[:, j].sum()) / total if total > 0 else 0.0
        return step - b * one, b

    def _solve_shifted(self, S, rhs, tol):
        K, curved = self.K, np.flatnonzero(S)
        few = len(curved) <= FEW * self.problem.n and (K.of_kernel or K.remote or isinstance(K, Matrix))
        if few:
            # Elsewhere S = 0, so there the solution is rhs/η = 0.
            K, S, rhs = K.among(curved, curved), S[curved], rhs[curved]
            K = K if K.remote else in_memory(K)
        factor = self._factored(K, S)
        if factor is not None:
            self.jitter = max(self.jitter, factor.jitter)
            z = factor.solve(rhs)
        else:
            inverse = self._preconditioner(S, curved if few else None)
            with blas_single_threaded(K):
                z = pcg(shifted(K, self.diagonal, S), rhs, inverse, tol=tol, max_iter=INNER_ITERATIONS).x
        if not few:
            return z
        out = np.zeros((self.problem.n, z.shape[1]))
        out[curved] = z
        return out

    def _factored(self, K: Operator, S: np.ndarray) -> Any:
        """A factor of ηI + SKS; None where it takes longer than a few products, or finds no room."""
        if len(S) > K.direct_rows or not (K.remote or isinstance(K, Matrix)):
            return None
        try:
            return K.factor(self.diagonal, scale=S)
        except MemoryError:
            return None

    def _preconditioner(self, S, rows=None):
        if self._low_rank is None:
            self._low_rank = low_rank(self.K, self.rank, self.problem.rng)
        if rows is None:
            return self._low_rank.inverse(self.diagonal, S)
        scale = np.zeros(self.problem.n)
        scale[rows] = S
        inverse = self._low_rank.inverse(self.diagonal, scale)

        def apply(v):
            whole = np.zeros((self.problem.n, v.shape[1]))
            whole[rows] = v
            return inverse(whole)[rows]

        return apply

    def result(self):
        return self.coef, self.offset - self.means @ self.coef

    def representer_residual(self):
        largest = np.abs(self.coef).max(initial=0.0)
        return relative_to(np.abs(self.r).max(initial=0.0), self.diagonal * largest)


def form_of(problem: Problem, rank: int | None = None) -> Form:
    """The coordinates that fit the problem."""
    if not problem.full:
        return PrimalForm(problem, rank)
    return FactoredForm(problem, rank) if problem.loss.joint else FullForm(problem, rank)
