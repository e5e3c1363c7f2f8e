"""The two coordinate systems smooth problems are minimised in.

`FullForm`: f = Σ c_i k(x_i,·). `PrimalForm`: f = ⟨u, φ(·)⟩. Both know the objective, its gradient
as an element of H_K, the Newton direction and the steepest one; a method is then a short loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mercer.engines.factor import Factor, NotPositiveDefinite
from mercer.operators import Identity, KernelOperator, Matrix, Operator, in_memory, undisturbed
from mercer.solvers.full import shifted
from mercer.solvers.pcg import pcg
from mercer.solvers.preconditioners import LowRank, Subset, low_rank, low_rank_columns, sampled_rows
from mercer.solvers.primal import to_primal, whitening
from mercer.solvers.problem import Problem, relative_to

_DIRECT_EXAMPLES = 3000
_DIRECT_FEATURES = 2500
_DIRECT_FLOPS = 4e11
_INNER_ITERATIONS = 400
_EXACT_FACTOR = 6000


@dataclass
class Direction:
    """A way to move, with what a line search needs: scores along it and the penalty's coefficients."""

    coef: np.ndarray
    offset: np.ndarray
    scores: np.ndarray
    cross: float
    square: float


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
        slope = float((self.g * d.scores).sum()) / self.problem.n + 2 * lam * d.cross

        def objective(t: float) -> float:
            quadratic = self.penalty + 2 * t * d.cross + t * t * d.square
            return self.problem.data_value(self.scores + t * d.scores) + lam * quadratic

        return slope, objective

    def move(self, d: Direction, t: float) -> None:
        self.coef = self.coef + t * d.coef
        self.offset = self.offset + t * d.offset
        self.scores = self.scores + t * d.scores
        self.penalty = self.penalty + 2 * t * d.cross + t * t * d.square
        self._moved(d, t)
        self.measure()

    def curvatures(self) -> np.ndarray:
        """w_i V''(y_i, s_i), (n, t)."""
        h = np.maximum(self.problem.loss.hess(self.problem.y, self.scores), 0)
        return h if self.problem.weights is None else h * self.problem.weights[:, None]

    def _moved(self, d: Direction, t: float) -> None:
        pass

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
            coef, offset, moved + offset, float((self.Kc * coef).sum()), float((moved * coef).sum())
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
        if isinstance(self.K, Matrix) and self.problem.n <= _DIRECT_EXAMPLES:
            factor = Factor(self.K.dense(), self.mu, S)
            self.jitter = max(self.jitter, factor.jitter)
            return factor.solve(rhs)
        inverse = self._preconditioner(S)
        with undisturbed(self.K):
            result = pcg(shifted(self.K, self.mu, S), rhs, inverse, tol=tol, max_iter=_INNER_ITERATIONS)
        return result.x

    def _preconditioner(self, S):
        if self._low_rank is None:
            self._low_rank = low_rank(self.K, self.rank, self.problem.rng)
        return self._low_rank.inverse(self.mu, S)

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
        self.coef, self.offset = np.zeros((p, t)), np.zeros(0)
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
        self.scores = self.Phi @ self.coef
        self.penalty = float((self.primal.penalise(self.coef) * self.coef).sum())
        self.measure()

    def _direction(self, step) -> Direction:
        weighted = self.primal.penalise(step)
        return Direction(
            step,
            self.offset,
            self.Phi @ step,
            float((self.coef * weighted).sum()),
            float((step * weighted).sum()),
        )

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
        direct = self.primal.explicit and p <= _DIRECT_FEATURES and n * p * p <= _DIRECT_FLOPS

        def weigh(rows, S):
            return S * d[rows, None]

        def apply(V):
            return self.Phi.sandwich(V, weigh) / n + self.ridge * self.primal.penalise(V)

        if direct and j not in self._factors:
            self._factors[j] = self._hessian_factor(d)
            return self._factors[j].solve(rhs)[:, 0]
        # The Hessian changes little from step to step: an earlier factor is a good preconditioner.
        inverse = self._factors[j].solve if direct else self._preconditioner(d)
        # So many passes over Φ cost as much as a new factor.
        enough = max(p // 80, 3) if direct else _INNER_ITERATIONS
        with undisturbed(self.Phi):
            result = pcg(apply, rhs, inverse, tol=tol, max_iter=enough, size_of=self.primal.size)
        if direct and result.residual > tol:
            self._factors[j] = self._hessian_factor(d)
            return self._factors[j].solve(rhs)[:, 0]
        return result.x[:, 0]

    def _hessian_factor(self, d):
        factor = self.primal.hessian_factor(self.ridge, d)
        self.jitter = max(self.jitter, factor.jitter)
        return factor

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
