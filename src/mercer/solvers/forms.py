"""The two coordinate systems smooth problems are minimised in.

`FullForm`: f = Σ c_i k(x_i,·). `PrimalForm`: f = ⟨u, φ(·)⟩. Both know the objective, its gradient
as an element of H_K, the Newton direction and the steepest one; a method is then a short loop.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.engines.factor import Factor, NotPositiveDefinite
from mercer.engines.memory import available_memory
from mercer.operators import (
    Composed,
    FeatureOperator,
    Identity,
    KernelOperator,
    Matrix,
    Operator,
    WithOnes,
    in_memory,
    undisturbed,
)
from mercer.solvers.full import shifted
from mercer.solvers.pcg import pcg
from mercer.solvers.preconditioners import LowRank, Subset, low_rank, low_rank_columns, sampled_rows
from mercer.solvers.primal import Centres, Primal, to_primal, whitening
from mercer.solvers.problem import Problem, relative_to

_DIRECT_EXAMPLES = 3000
_DIRECT_FEATURES = 2500
_DIRECT_FLOPS = 4e11
_INNER_ITERATIONS = 400
_EXACT_FACTOR = 6000
# Examples without curvature are left out of a Hessian if no more than this share is left, and a copy of their
# features takes no more than this share of free memory.
_FEW = 0.5
_COPIED_SHARE = 0.2
# Beyond so many of them for each feature a Hessian of a sample, and conjugate gradients, are faster.
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
    """State of a minimisation; subclasses hold the coordinates."""

    coef: np.ndarray
    offset: np.ndarray
    scores: np.ndarray
    g: np.ndarray
    penalty: float
    norm: float
    jitter = 0.0

    def __init__(self, problem: Problem):
        self.problem = problem

    @property
    def value(self) -> float:
        return self.problem.data_value(self.scores) + self.problem.lam * self.penalty

    def line(self, d: Direction) -> tuple[float, Callable[[float], float]]:
        """Slope at 0 and the objective as a function of the step."""
        lam = self.problem.lam
        cross, square = float(d.cross.sum()), float(d.square.sum())
        slope = float((self.g * d.scores).sum()) / self.problem.n + 2 * lam * cross

        def objective(t: float) -> float:
            quadratic = self.penalty + 2 * t * cross + t * t * square
            return self.problem.data_value(self.scores + t * d.scores) + lam * quadratic

        return slope, objective

    def move(self, d: Direction, t: float) -> None:
        self.advance(d, t)
        self.measure()

    def advance(self, d: Direction, t: float | np.ndarray) -> None:
        """Move without measuring; a step for all outputs, or one for each."""
        self.coef = self.coef + t * d.coef
        self.offset = self.offset + t * d.offset
        self.scores = self.scores + t * d.scores
        self.penalty = self.penalty + float((2 * t * d.cross + t * t * d.square).sum())
        self._moved(d, t)

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

    def curvatures(self) -> np.ndarray:
        """w_i V''(y_i, s_i), (n, t)."""
        h = np.maximum(self.problem.loss.hess(self.problem.y, self.scores), 0)
        return h if self.problem.weights is None else h * self.problem.weights[:, None]

    def _moved(self, d: Direction, t: float | np.ndarray) -> None:
        pass

    def start(self, coef: np.ndarray, offset: np.ndarray) -> None:
        """Begin elsewhere than at 0."""
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


class FullForm(Form):
    """One coefficient per example. The gradient of C is Σ ρ_i k(x_i,·) with ρ = wV'/n + 2λc, so its
    coordinates need no product with K; its length in H_K needs one."""

    def __init__(self, problem: Problem, rank: int | None = None):
        super().__init__(problem)
        n, t = problem.n, problem.y.shape[1]
        self.K = self._matrix(problem.A)
        self.mu = 2 * problem.lam * n
        # ‖K‖ ≤ trace K, and what rounding can make of rᵀKr = 0.
        self.rounding = 10 * float(np.finfo(self.K.dtype).eps * np.abs(self.K.diag()).sum())
        self.coef, self.offset = np.zeros((n, t)), np.zeros(t)
        self.Kc = np.zeros((n, t))
        self.scores, self.penalty = np.zeros((n, t)), 0.0
        self.rank = low_rank_columns(n) if rank is None else rank
        self._low_rank: LowRank | Subset | None = None
        self.measure()

    @staticmethod
    def _matrix(A: Operator) -> Operator:
        if A.shape[0] <= _DIRECT_EXAMPLES and isinstance(A, KernelOperator):
            # Small enough for float64 whatever the data: steps divide by λn, rounding included.
            A = A.at(np.float64) or A
        return A if A.remote else in_memory(A)

    def start(self, coef: np.ndarray, offset: np.ndarray) -> None:
        """Begin at Σ coef_i k(x_i,·) + offset instead of 0."""
        self.coef, self.offset = coef, offset
        self.refresh()
        self.measure()

    def refresh(self):
        self.Kc = self.K @ self.coef
        self.scores = self.Kc + self.offset
        self.penalty = max(float((self.Kc * self.coef).sum()), 0.0)

    def alternative(self):
        if self.problem.n > _EXACT_FACTOR:
            return None
        form = FactoredForm(self.problem, self.rank)
        form.start(form.problem.A.adjoint(self.coef), self.offset)
        return form

    def measure(self):
        self.g = self.problem.data_grad(self.scores)
        self.r = -(self.g + self.mu * self.coef)
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
        moved = self.K @ coef
        self._K_step = moved
        return Direction(
            coef, offset, moved + offset, (self.Kc * coef).sum(axis=0), (moved * coef).sum(axis=0)
        )

    def _moved(self, d, t):
        self.Kc = self.Kc + t * self._K_step
        # Anew rather than step by step: rounding would add up, and make it negative.
        self.penalty = max(float((self.Kc * self.coef).sum()), 0.0)

    def steepest(self):
        n = self.problem.n
        offset = -self.g.sum(axis=0) / n if self.problem.offset else np.zeros_like(self.offset)
        return self._direction(self.r / n, offset)

    def newton(self, tol):
        D = self.curvatures()
        coef, offset = np.empty_like(self.coef), np.zeros_like(self.offset)
        for j in range(D.shape[1]):
            coef[:, j], offset[j] = self._newton_column(j, np.sqrt(D[:, j]), tol)
        return self._direction(coef, offset)

    def _newton_column(self, j, S, tol):
        """(DK + μI)δ + D1β = r and 1ᵀ(c+δ) = 0, through the symmetric system μI + SKS, S = √D.

        By Woodbury (DK+μI)⁻¹r = (r − S(μI+SKS)⁻¹S K r)/μ, which needs no division by D.
        """
        r = self.r[:, j]
        rhs = (S * self.Kr[:, j])[:, None]
        if self.problem.offset:
            rhs = np.hstack([rhs, S[:, None]])
        z = self._solve_shifted(S, rhs, self._inner_tol(tol, r, rhs[:, 0], S.max()))
        step = (r - S * z[:, 0]) / self.mu
        if not self.problem.offset:
            return step, 0.0
        one = S * z[:, 1]
        total = one.sum()
        b = (step.sum() + self.coef[:, j].sum()) / total if total > 0 else 0.0
        return step - b * one, b

    def _inner_tol(self, tol, r, rhs, root):
        """The residual e of the inner system leaves S e/μ in the Newton equation: ask for enough."""
        size, allowed = float(np.linalg.norm(rhs)), tol * self.mu * float(np.linalg.norm(r))
        return max(min(tol, allowed / max(size * root, np.finfo(float).tiny)), 1e-14)

    def _solve_shifted(self, S, rhs, tol):
        K, curved = self.K, np.flatnonzero(S)
        few = self._worth_leaving_out(len(curved))
        if few:
            # Elsewhere S = 0, so there the solution is rhs/μ = 0.
            K, S, rhs = _only(K, curved, curved), S[curved], rhs[curved]
            K = K if K.remote else in_memory(K)
        if isinstance(K, Matrix) and len(S) <= _DIRECT_EXAMPLES:
            factor = Factor(K.dense(), self.mu, S)
            self.jitter = max(self.jitter, factor.jitter)
            z = factor.solve(rhs)
        else:
            inverse = self._preconditioner(S, curved if few else None)
            with undisturbed(K):
                z = pcg(shifted(K, self.mu, S), rhs, inverse, tol=tol, max_iter=_INNER_ITERATIONS).x
        if not few:
            return z
        out = np.zeros((self.problem.n, z.shape[1]))
        out[curved] = z
        return out

    def _worth_leaving_out(self, count: int) -> bool:
        return count <= _FEW * self.problem.n and isinstance(self.K, (Matrix, KernelOperator))

    def _preconditioner(self, S, rows=None):
        if self._low_rank is None:
            self._low_rank = low_rank(self.K, self.rank, self.problem.rng)
        if rows is None:
            return self._low_rank.inverse(self.mu, S)
        scale = np.zeros(self.problem.n)
        scale[rows] = S
        inverse = self._low_rank.inverse(self.mu, scale)

        def apply(v):
            whole = np.zeros((self.problem.n, v.shape[1]))
            whole[rows] = v
            return inverse(whole)[rows]

        return apply

    def result(self):
        return self.coef, self.offset

    def representer_residual(self):
        largest = np.abs(self.coef).max(initial=0.0)
        return relative_to(np.abs(self.r).max(initial=0.0), self.mu * largest)


class PrimalForm(Form):
    """One coefficient per feature; the offset, if any, is the last of them and not penalised."""

    def __init__(self, problem: Problem, rank: int | None = None):
        super().__init__(problem)
        self.primal = to_primal(problem, store=True)
        self.Phi, self.ridge = self.primal.Phi, 2 * problem.lam
        p, t = self.Phi.shape[1], problem.y.shape[1]
        self.coef, self.offset = np.zeros((p, t)), np.zeros((0, t))
        self.scores, self.penalty = np.zeros((problem.n, t)), 0.0
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
        self.coef = np.vstack([u, offset[None, :]]) if self.problem.offset else u
        self.refresh()
        self.measure()

    def refresh(self):
        self.scores = self.Phi @ self.coef
        self.penalty = float((self.primal.penalise(self.coef) * self.coef).sum())

    def _direction(self, step) -> Direction:
        weighted = self.primal.penalise(step)
        return Direction(
            step,
            self.offset,
            self.Phi @ step,
            (self.coef * weighted).sum(axis=0),
            (step * weighted).sum(axis=0),
        )

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
        A = _only(problem.A, rows)
        form.problem = replace(problem, A=A, y=problem.y[rows], weights=w, loss=loss)
        form.primal = _some(self.primal, rows)
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
        D = self.curvatures()
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
        few = self._worth_leaving_out(len(curved))
        if few:
            # A mean over fewer examples is larger; the equation is divided by the share they have.
            primal, d, share = _some(primal, curved), d[curved], len(curved) / n
            n, rhs, ridge = len(curved), rhs / share, ridge / share
        direct = primal.explicit and p <= _DIRECT_FEATURES and n * p * p <= _DIRECT_FLOPS
        if few and n > _DIRECT_ROWS * p:
            direct = False

        def weigh(rows, S):
            return S * d[rows, None]

        def apply(V):
            return primal.Phi.sandwich(V, weigh) / n + ridge * primal.penalise(V)

        def factored():
            factor = primal.hessian_factor(ridge, d)
            self.jitter = max(self.jitter, factor.jitter)
            return factor

        if direct and j not in self._factors:
            self._factors[j] = factored()
            return self._factors[j].solve(rhs)[:, 0]
        # The Hessian changes little from step to step: an earlier factor is a good preconditioner.
        inverse = (
            self._factors[j].solve if direct else primal.preconditioner(ridge, d, self.rank, self.problem.rng)
        )
        # So many passes over Φ cost as much as a new factor.
        enough = max(p // 80, 3) if direct else _INNER_ITERATIONS
        with undisturbed(primal.Phi):
            result = pcg(apply, rhs, inverse, tol=tol, max_iter=enough, size_of=primal.size)
        if direct and result.residual > tol:
            self._factors[j] = factored()
            return self._factors[j].solve(rhs)[:, 0]
        return result.x[:, 0]

    def _worth_leaving_out(self, count: int) -> bool:
        size = count * self.Phi.shape[1] * self.Phi.dtype.itemsize
        return count <= _FEW * self.problem.n and size <= _COPIED_SHARE * available_memory()

    def _preconditioner(self, d):
        return self.primal.preconditioner(self.ridge, d, self.rank, self.problem.rng)

    def _newton_joint(self, tol):
        p = self.problem
        n, t = p.y.shape
        size = self.Phi.shape[1]

        def weigh(rows, S):
            root = p.loss.hess_root(p.y[rows], self.scores[rows])
            HS = root.apply(root.adjoint(S))
            return HS if p.weights is None else HS * p.weights[rows, None]

        def apply(v):
            V = v.reshape(size, t)
            return (self.Phi.sandwich(V, weigh) / n + self.ridge * self.primal.penalise(V)).reshape(-1, 1)

        shared = self._preconditioner(self.curvatures().mean(axis=1))

        def inverse(v):
            return shared(v.reshape(size, t)).reshape(-1, 1)

        def norm(R):
            return np.array([np.linalg.norm(self.primal.size(R.reshape(size, t)))])

        rhs = -self.gradient.reshape(-1, 1)
        with undisturbed(self.Phi):
            result = pcg(apply, rhs, inverse, tol=tol, max_iter=_INNER_ITERATIONS, size_of=norm)
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


def form_of(problem: Problem, rank: int | None = None) -> Form:
    """The coordinates that fit the problem."""
    if not problem.full:
        return PrimalForm(problem, rank)
    return FactoredForm(problem, rank) if problem.loss.joint else FullForm(problem, rank)


def _only(A: Operator, rows: np.ndarray, columns: np.ndarray | None = None) -> Operator:
    """A[rows], or A[rows, columns], as an operator of the same kind."""
    if isinstance(A, WithOnes):
        return WithOnes(_only(A.A, rows))
    if isinstance(A, Composed):
        return Composed(_only(A.A, rows), A.T_)
    if isinstance(A, FeatureOperator):
        return FeatureOperator(A.map, A.X[rows], A.shape[1])
    if isinstance(A, KernelOperator):
        X = A.X[rows]
        return KernelOperator(
            A.kernel, X, A.Z if columns is None else X if columns is rows else A.Z[columns], A.engine
        )
    values = A.values if isinstance(A, Matrix) else A.dense()
    return Matrix(values[rows] if columns is None else values[np.ix_(rows, columns)])


def _some(primal: Primal, rows: np.ndarray) -> Primal:
    """The same coordinates for some of the examples."""
    other = copy(primal)
    other.Phi, other._sampled = _only(primal.Phi, rows), None
    if isinstance(other, Centres):
        A = other.Phi.A if isinstance(other.Phi, WithOnes) else other.Phi
        assert isinstance(A, KernelOperator)
        other.A = A
    return other
