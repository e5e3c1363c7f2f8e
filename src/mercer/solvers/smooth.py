"""Where smooth problems are minimised: a point, lines from it, moves; and coordinates of features."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._memory import available_memory
from mercer.operators import Factor, Identity, Matrix, blas_single_threaded
from mercer.solvers.certify import DOUBT, best_constant, scale_of
from mercer.solvers.coordinates import Primal, to_primal, whitening
from mercer.solvers.cost import DIRECT_FEATURES, DIRECT_FLOPS
from mercer.solvers.pcg import pcg
from mercer.solvers.preconditioners import sampled_rows
from mercer.solvers.problem import Problem, relative_to

INNER_ITERATIONS = 400
# Examples without curvature are left out of a Hessian if no more than this share is left.
FEW = 0.5
# A copy of the features of some examples takes no more than this share of free memory.
_COPIED_SHARE = 0.2
# Beyond so many examples for each feature a Hessian of a sample, and conjugate gradients, are faster.
_DIRECT_ROWS = 20


@dataclass
class Direction:
    """A way to move, with what a line search needs: scores along it and, output by output, the penalty's
    coefficients."""

    coef: np.ndarray
    offset: np.ndarray
    scores: np.ndarray
    cross: np.ndarray
    square: np.ndarray


class Form:
    """State of a minimisation; subclasses hold the coordinates.

    They know the objective, its gradient as an element of H_K, the Newton direction and the steepest one; a
    method is then a short loop.
    """

    coef: np.ndarray
    offset: np.ndarray
    scores: np.ndarray
    g: np.ndarray
    penalty: float
    norm: float
    jitter = 0.0

    # Coordinates of a problem with centres or features.
    coordinates: Primal | None = None

    def __init__(self, problem: Problem):
        # As it was given: forms may put it otherwise.
        self.problem = self.given = problem
        self.ridge = 2 * problem.lam
        self._scale = scale_of(problem) if problem.loss.convex else np.inf

    @property
    def value(self) -> float:
        return self.problem.data_value(self.scores) + self.problem.lam * self.penalty

    def near(self, tol: float) -> bool:
        """Is the objective no more than tol above its minimum, next to that of the best constant?"""
        return self.norm**2 <= 4 * self.problem.lam * 0.5 * max(tol, DOUBT) * self._scale

    def line(self, d: Direction) -> tuple[float, Callable[[float], float]]:
        """Slope at 0 and the objective as a function of the step."""
        lam = self.problem.lam
        cross, square = float(d.cross.sum()), float(d.square.sum())
        slope = float((self.g * d.scores).sum()) / self.problem.n + 2 * lam * cross

        def objective(t: float) -> float:
            quadratic = self.penalty + 2 * t * cross + t * t * square
            return self.problem.data_value(self.scores + t * d.scores) + lam * quadratic

        return slope, objective

    def slope(self, d: Direction, t: float) -> float:
        """That of the objective after the step t."""
        data = float((self.problem.data_grad(self.scores + t * d.scores) * d.scores).sum()) / self.problem.n
        return data + 2 * self.problem.lam * float((d.cross + t * d.square).sum())

    def move(self, d: Direction, t: float) -> None:
        self.advance(d, t)
        self.measure()

    def advance(self, d: Direction, t: float | np.ndarray) -> None:
        """Move without measuring; a step for all outputs, or one for each."""
        self.coef = self.coef + t * d.coef
        self.offset = self.offset + t * d.offset
        self.scores = self.scores + t * d.scores
        self.penalty = self.penalty + float((2 * t * d.cross + t * t * d.square).sum())

    def shift(self, b: np.ndarray) -> None:
        """Add to the offset, without measuring."""
        self.offset = self.offset + b
        self.scores = self.scores + b

    def switch(self, loss: Any) -> None:
        """Go on, from here, with another loss."""
        self.problem = replace(self.problem, loss=loss)
        self.measure()

    def refresh(self) -> None:
        """Scores and penalty anew from the coefficients, without measuring."""
        raise NotImplementedError

    def start(self, coef: np.ndarray, offset: np.ndarray) -> None:
        """Begin at f with these coefficients plus an offset, instead of at 0."""
        self._place(coef, offset)
        self.refresh()
        self.measure()

    def resume(self, coef: np.ndarray, offset: np.ndarray) -> None:
        """Begin where another form of this problem had these coordinates, instead of at 0."""
        self.coef, self.offset = coef, offset
        self.refresh()
        self.measure()

    def _place(self, coef: np.ndarray, offset: np.ndarray) -> None:
        raise NotImplementedError

    def measure(self) -> None:
        """Gradient and its norm at the current point."""
        raise NotImplementedError

    def newton(self, tol: float) -> Direction:
        raise NotImplementedError

    def steepest(self) -> Direction:
        raise NotImplementedError

    def result(self) -> tuple[np.ndarray, np.ndarray]:
        """(coefficients, offset)"""
        raise NotImplementedError

    def representer_residual(self) -> float | None:
        return None

    def alternative(self) -> Form | None:
        """Another form of the same problem, at the same point, for when no step decreases the objective."""
        return None


class PrimalForm(Form):
    """One coefficient per feature; the offset, if any, is the last of them and not penalised."""

    def __init__(self, problem: Problem, rank: int | None = None, primal: Primal | None = None):
        super().__init__(problem)
        self.primal = self.coordinates = to_primal(problem, store=True) if primal is None else primal
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

    def _place(self, coef, offset):
        self.coef = self.primal.coordinates(coef, offset)

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
