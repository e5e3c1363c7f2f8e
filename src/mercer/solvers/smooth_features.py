"""Smooth problems in coordinates of features: f = ⟨u, φ(·)⟩."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._memory import available_memory
from mercer.operators import Identity, Matrix, blas_single_threaded
from mercer.operators.factor import Factor
from mercer.solvers.certify import best_constant
from mercer.solvers.coordinates import to_primal, whitening
from mercer.solvers.cost import DIRECT_FEATURES, DIRECT_FLOPS
from mercer.solvers.pcg import pcg
from mercer.solvers.preconditioners import sampled_rows
from mercer.solvers.problem import Problem, relative_to
from mercer.solvers.smooth import FEW, INNER_ITERATIONS, Direction, Form

# A copy of the features of some examples takes no more than this share of free memory.
_COPIED_SHARE = 0.2
# Beyond so many examples for each feature a Hessian of a sample, and conjugate gradients, are faster.
_DIRECT_ROWS = 20


class PrimalForm(Form):
    """One coefficient per feature; the offset, if any, is the last of them and not penalised."""

    def __init__(self, problem: Problem, rank: int | None = None):
        super().__init__(problem)
        self.primal = self.coordinates = to_primal(problem, store=True)
        self.Phi = self.primal.Phi
        p, t = self.Phi.shape[1], problem.y.shape[1]
        self.coef, self.offset = np.zeros((p, t)), np.zeros((0, t))
        self.scores, self.penalty = best_constant(problem), 0.0
        if problem.offset:
            self.coef[-1] = self.scores[0]
        self.rank = sampled_rows(p) if rank is None else rank
        self.jitter = self.primal.jitter
        self._factors: dict[int, Factor] = {}
        self.measure()

    def measure(self):
        self.g = self.problem.data_grad(self.scores)
        pulled = self.ridge * self.primal.penalise(self.coef)
        self.gradient = self.Phi.adjoint(self.g) / self.problem.n + pulled
        self.norm = float(np.linalg.norm(self.primal.size(self.gradient)))

    def start(self, u: np.ndarray, offset: np.ndarray) -> None:
        """Begin at ⟨u, φ(·)⟩ + offset instead of 0."""
        self.coef = self.primal.coordinates(u, offset)
        self.refresh()
        self.measure()

    def refresh(self):
        self.scores = self.Phi @ self.coef
        self.penalty = float((self.primal.penalise(self.coef) * self.coef).sum())

    def _direction(self, step) -> Direction:
        weighted = self.primal.penalise(step)
        cross, square = (self.coef * weighted).sum(axis=0), (step * weighted).sum(axis=0)
        return Direction(step, self.offset, self.Phi @ step, cross, square)

    def shift(self, b):
        self.coef = np.vstack([self.coef[:-1], self.coef[-1:] + b])
        self.scores = self.scores + b

    def switch(self, loss):
        self._factors = {}
        super().switch(loss)

    def among(self, rows: np.ndarray, loss: Any) -> PrimalForm:
        """The problem of these examples alone, from 0."""
        problem, form = self.problem, copy(self)
        w = None if problem.weights is None else problem.weights[rows]
        w = None if w is None else w / w.mean()
        form.problem = replace(problem, A=problem.A.among(rows), y=problem.y[rows], weights=w, loss=loss)
        form.primal = self.primal.among(rows)
        form.Phi, form._factors = form.primal.Phi, {}
        form.coef = np.zeros_like(self.coef)
        form.scores, form.penalty = np.zeros((len(rows), self.coef.shape[1])), 0.0
        form.measure()
        return form

    def steepest(self):
        # Where the penalty is not the identity, the steepest direction in H_K is not the gradient's.
        return self._direction(-self.primal.steepest(self.gradient))

    def newton(self, tol):
        if self.problem.loss.joint:
            return self._newton_joint(tol)
        D = self.problem.data_hess(self.scores)
        step = np.empty_like(self.coef)
        for j in range(D.shape[1]):
            step[:, j] = self._newton_column(j, D[:, j], tol)
        return self._direction(step)

    def _newton_column(self, j, d, tol):
        n, p = self.Phi.shape
        rhs = -self.gradient[:, j : j + 1]
        primal, ridge = self.primal, self.ridge
        curved = np.flatnonzero(d)
        if len(curved) == 0:
            step = self.primal.steepest(rhs) / ridge
            if self.problem.offset:
                step[-1] = 0.0
            return step[:, 0]
        copied = len(curved) * p * self.Phi.dtype.itemsize
        few = len(curved) <= FEW * n and copied <= _COPIED_SHARE * available_memory()
        if few:
            # A mean over fewer examples is larger; the equation is divided by the share they have.
            primal, d, share = primal.among(curved), d[curved], len(curved) / n
            n, rhs, ridge = len(curved), rhs / share, ridge / share
        direct = primal.explicit and p <= DIRECT_FEATURES and n * p * p <= DIRECT_FLOPS
        direct = direct and not (few and n > _DIRECT_ROWS * p)

        def apply(V):
            return primal.Phi.sandwich(V, lambda rows, S: S * d[rows, None]) / n + ridge * primal.penalise(V)

        if not direct or j in self._factors:
            # The Hessian changes little from step to step: an earlier factor is a good preconditioner.
            sampled = None if direct else primal.preconditioner(ridge, d, self.rank, self.problem.rng)
            inverse = self._factors[j].solve if sampled is None else sampled
            # So many passes over Φ cost as much as a new factor.
            enough = max(p // 80, 3) if direct else INNER_ITERATIONS
            with blas_single_threaded(primal.Phi):
                result = pcg(apply, rhs, inverse, tol=tol, max_iter=enough, size_of=primal.size)
            if not direct or result.residual <= tol:
                return result.x[:, 0]
        self._factors[j] = primal.hessian_factor(ridge, d)
        self.jitter = max(self.jitter, self._factors[j].jitter)
        return self._factors[j].solve(rhs)[:, 0]

    def _newton_joint(self, tol):
        p = self.problem
        n, t = p.y.shape
        size = self.Phi.shape[1]

        def weigh(rows, S):
            root = p.loss.hess_root(p.y[rows], self.scores[rows])
            return p.weighted(root.apply(root.adjoint(S)), rows)

        def apply(v):
            V = v.reshape(size, t)
            return (self.Phi.sandwich(V, weigh) / n + self.ridge * self.primal.penalise(V)).reshape(-1, 1)

        curvature = p.data_hess(self.scores).mean(axis=1)
        shared = self.primal.preconditioner(self.ridge, curvature, self.rank, p.rng)

        def inverse(v):
            return shared(v.reshape(size, t)).reshape(-1, 1)

        def norm(R):
            return np.array([np.linalg.norm(self.primal.size(R.reshape(size, t)))])

        rhs = -self.gradient.reshape(-1, 1)
        with blas_single_threaded(self.Phi):
            result = pcg(apply, rhs, inverse, tol=tol, max_iter=INNER_ITERATIONS, size_of=norm)
        return self._direction(result.x.reshape(size, t))

    def result(self):
        return self.primal.back(self.coef)


class FactoredForm(PrimalForm):
    """One coefficient per example, minimised in the coordinates of K = L Lᵀ: Φ = L.

    For losses that couple the outputs: there the primal system stays well scaled, while the one of
    `FullForm` divides by λ.
    """

    def __init__(self, problem: Problem, rank: int | None = None):
        K = problem.A.dense().astype(np.float64, copy=False)
        self.whiten = whitening(K, problem.A.dtype)
        # With both triangles of K intact, K T is the factor, rows in the order of the examples.
        factor = Matrix(K @ self.whiten)
        del K
        super().__init__(replace(problem, A=factor, B=Identity(self.whiten.shape[1])), rank)
        self.given = problem

    def _representer(self) -> np.ndarray:
        """−w_i V'(y_i, f(x_i))/(2λn): the coefficients, by the representer theorem, of the minimiser."""
        return -self.g / (2 * self.problem.lam * self.problem.n)

    def result(self):
        """The c near what the representer theorem says with Φᵀc = u, so that Σ c_i k(x_i,·) is f itself.

        Short of the minimum the theorem's own c make another function, off by 1/λ times the gradient.
        """
        u, offset = self.primal.back(self.coef)
        coef = self._representer()
        return coef + self.whiten @ (u - self.problem.A.adjoint(coef)), offset

    def representer_residual(self):
        coef, _ = self.result()
        return relative_to(np.abs(coef - self._representer()).max(initial=0.0), np.abs(coef).max(initial=0.0))
