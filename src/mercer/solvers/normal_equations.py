"""Least squares with centres or features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer.operators import blas_single_threaded
from mercer.solvers.certify import best_constant, certify
from mercer.solvers.coordinates import to_primal
from mercer.solvers.cost import Shape
from mercer.solvers.notes import Notes
from mercer.solvers.pcg import Apply, Start, pcg
from mercer.solvers.problem import Problem, Solution


def kept_features(shape: Shape) -> int:
    """Bytes of Φ in memory: least squares with float32 kernel values computes them again at every pass."""
    return shape.stored if shape.kind == "features" or shape.item == 8 else 0


class NormalEquations:
    """((1/n) ΦᵀWΦ + λP) u = (1/n) ΦᵀWy, solved in rounds of refinement.

    In each the gradient is measured from the scores, and its own system solved for the correction. With the
    exact factor one round is usually all.
    """

    def __init__(self, problem: Problem, tol: float, notes: Notes | None = None):
        # Φ = K(X,Z) T is kept in float64, or every pass would multiply by T again; in float32 T comes last.
        self.primal = to_primal(problem, store=problem.A.dtype == np.float64)
        self.problem, self.Phi, self.quick = problem, self.primal.Phi, self.primal.quick(tol)
        self.weights = problem.w[:, None]
        # With an offset a mean of y is the offset's business: taken out, it does not drown the rest.
        self.constant = best_constant(problem)
        self.y = problem.y.astype(np.float64) - self.constant
        with blas_single_threaded(self.Phi):
            self.rhs = self.Phi.adjoint(self.weights * self.y) / problem.n
        self.start = self.norm(self.rhs)
        self.u, self.residual = np.zeros_like(self.rhs), self.rhs
        self.notes = Notes(replace(problem, journal=None), "") if notes is None else notes
        found = self.notes.array("u", self.rhs.shape)
        if found is not None and self.norm(left := self.measure(found)) < self.start:
            self.u, self.residual = found, left
        self.iterations, self.history = 0, [1.0]
        self.jitter = self.primal.jitter
        self.condition: float | None = None

    def norm(self, R: np.ndarray) -> float:
        return float(np.linalg.norm(self.primal.size(R)))

    def apply(self, V: np.ndarray) -> np.ndarray:
        """The left-hand side, as quickly as may be."""
        moved = self.quick.sandwich(V, lambda rows, S: S * self.weights[rows])
        return moved / self.problem.n + self.problem.lam * self.primal.penalise(V)

    def measure(self, u: np.ndarray) -> np.ndarray:
        """The residual at u, which is minus half the gradient there, in one pass."""
        with blas_single_threaded(self.Phi):
            back = self.Phi.sandwich(u, lambda rows, S: (self.y[rows] - S) * self.weights[rows])
        return back / self.problem.n - self.problem.lam * self.primal.penalise(u)

    def factored(self) -> Apply:
        """The exact inverse."""
        factor = self.primal.hessian_factor(self.problem.lam, self.problem.weights)
        self.jitter, self.condition = factor.jitter, factor.condition()
        return factor.solve

    def sampled(self, rows: int) -> Apply:
        """An approximate inverse, from a sample of rows."""
        return self.primal.preconditioner(self.problem.lam, self.problem.weights, rows, self.problem.rng)

    def refine(self, inverse: Apply, enough: float, limit: int) -> None:
        """Rounds until the gradient is small enough, if that can be in so many iterations."""
        for _ in range(10):
            size = self.norm(self.residual)
            if size <= enough or self.iterations >= limit:
                break
            target, most = max(0.5 * enough / size, 1e-6), limit - self.iterations
            with blas_single_threaded(self.Phi):
                result = pcg(
                    *(self.apply, self.residual, inverse),
                    tol=target,
                    max_iter=most,
                    size_of=self.primal.size,
                    noted=self._noted if self.notes.kept else None,
                )
            self.iterations += result.iterations
            self.condition = self.condition if self.condition is not None else result.condition
            self.history += [h * size / self.start for h in result.history[1:]]
            refined = self.measure(self.u + result.x)
            if not self.norm(refined) < 0.7 * size:
                break
            self.u, self.residual = self.u + result.x, refined

    def _noted(self, iterations: int, at: Start) -> None:
        self.notes.note(self.notes.iterations + self.iterations + iterations, u=self.u + at.x)

    def solution(self, tol: float, name: str, limited: bool) -> Solution:
        coef, intercept = self.primal.back(self.u)
        measured = certify(self.problem, coef, intercept + self.constant[0], tol, self.primal)
        # Where f has nothing to add to the best constant all of the residual is rounding.
        reached = self.norm(self.residual) <= tol * self.start or measured.relative_gradient <= tol
        status = measured.verdict("converged" if reached else "max_iter" if limited else "stalled", tol)
        certificate = measured.certificate(condition=self.condition, jitter=self.jitter)
        history = tuple(self.history)
        return Solution(coef, measured.intercept, status, self.iterations, certificate, history, name)


def by_factor(problem: Problem, tol: float, sample: int, name: str) -> Solution:
    """By the factored normal equations; where nothing can be factored whole, by a factor of a sample."""
    system = NormalEquations(problem, tol)
    if not system.primal.explicit:
        return _by_sample(system, tol, 1000, sample, name + " of a sample, cg")
    inverse = system.factored()
    system.u, system.iterations = inverse(system.rhs), 1
    system.residual = system.measure(system.u)
    # Polished below the tolerance where float64 allows: another pass is cheap next to the factor.
    system.refine(inverse, (1e-3 if system.Phi.dtype == np.float64 else 0.5) * tol * system.start, 30)
    return system.solution(tol, name, limited=False)


def by_conjugate_gradients(
    problem: Problem, tol: float, max_iter: int, sample: int, name: str, patience: int, notes: Notes
) -> Solution:
    """By conjugate gradients upon a factor of a sample.

    With `patience`, one that has not sufficed after so many iterations is exchanged for the exact factor.
    """
    system = NormalEquations(problem, tol, notes)
    if not patience or not system.primal.explicit:
        return _by_sample(system, tol, max_iter, sample, name)
    enough = 0.5 * tol * system.start
    system.refine(system.sampled(sample), enough, patience)
    if system.norm(system.residual) > tol * system.start:
        # The sample says too little about the rest.
        system.refine(system.factored(), enough, system.iterations + 30)
        name += ", then cholesky"
    return system.solution(tol, name, limited=False)


def _by_sample(system: NormalEquations, tol: float, max_iter: int, sample: int, name: str) -> Solution:
    system.refine(system.sampled(sample), 0.5 * tol * system.start, max_iter)
    return system.solution(tol, name, limited=system.iterations >= max_iter)
