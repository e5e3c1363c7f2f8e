"""What solvers for the penalty λ(ρ‖c‖₁ + ½(1 − ρ)‖c‖²) share: features, and what a solution is worth.

For slopes u_i in the domain of V*, with Σ w_i u_i = 0 if there is an offset, no objective is below
−(1/n) Σ w_i V*(y_i, u_i) − Ω*(−Φᵀ(wu)/n), where Ω* is 0 for entries of size up to λρ and, beyond, grows
quadratically or (ρ = 1) is infinite. 0 is in the domain, so slopes may be shrunk until that is finite.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mercer._xp import issparse
from mercer.operators import L1, Matrix
from mercer.solvers.certify import balance, best_constant, scale_of
from mercer.solvers.problem import Certificate, Problem, relative_to

# A duality gap, next to the objective of the best constant, that is as good as 0.
NEAR = 1e-4


def penalty_of(problem: Problem) -> L1:
    """B, which such solvers have seen to be one."""
    assert isinstance(problem.B, L1)
    return problem.B


@dataclass(frozen=True, eq=False)
class CentredFeatures:
    """A problem whose dense features have mean 0, if there is an offset to take that up, and the means."""

    problem: Problem
    means: np.ndarray

    @classmethod
    def of(cls, problem: Problem) -> CentredFeatures:
        Phi = problem.A.values if hasattr(problem.A, "values") else problem.A.dense()
        if issparse(Phi) or not problem.offset:
            return cls(replace(problem, A=Matrix(Phi)), np.zeros(Phi.shape[1]))
        w = problem.w
        means = (w @ np.asarray(Phi, np.float64) / w.sum()).astype(Phi.dtype)
        centred = np.asfortranarray(Phi - means)
        # A column of equal numbers is no feature, whatever rounding leaves of it.
        rounding = 8 * np.finfo(Phi.dtype).eps * np.abs(means)
        centred[:, np.abs(centred[w > 0]).max(axis=0, initial=0.0) <= rounding] = 0
        return cls(replace(problem, A=Matrix(centred)), means.astype(np.float64))

    def back(self, C: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The offsets for features as they are."""
        return b - self.means @ C


@dataclass(frozen=True)
class Worth:
    """A point's certificate, its best offset, and the objective of the best constant."""

    certificate: Certificate
    intercept: np.ndarray
    scale: float

    def near(self, tol: float) -> bool:
        """Is it as near to the minimum as `tol` says, but for rounding? True where no bound is known."""
        gap = self.certificate.gap
        return gap is None or gap - self.certificate.rounding <= tol * self.scale


def worth(problem: Problem, C: np.ndarray, b: np.ndarray, slopes: np.ndarray | None = None) -> Worth:
    """Measure a point: what is left of the slopes, relative to those at c = 0, and the duality gap.

    `slopes` (n, t) come from solvers with a dual point of their own.
    """
    lam, n, loss, penalty = problem.lam, problem.n, problem.loss, penalty_of(problem)
    scores = problem.A @ C + b
    if problem.offset and slopes is None and not loss.joint:
        shift = balance(problem, scores)
        b, scores = b + shift, scores + shift
    u = loss.grad(problem.y, scores) if slopes is None else slopes
    G = problem.A.adjoint(problem.weighted(u)) / n
    left = penalty.left(C, G, lam)
    start = float(np.linalg.norm(problem.A.adjoint(problem.data_grad(best_constant(problem))) / n))
    value = problem.data_value(scores)
    objective = value + lam * penalty.value(C)
    sizes = np.abs(problem.weighted(u)) * (np.abs(scores) + np.abs(problem.y))
    rounding = 8 * float(np.finfo(problem.A.dtype).eps) * (float(sizes.sum()) / n + abs(objective))
    gap = None
    if loss.convex and loss.has_conjugate and not (problem.offset and loss.joint):
        lower = max(_lower(problem, u, G, factor) for factor in _factors(problem, G))
        gap = max(objective - lower, 0.0) + rounding if np.isfinite(lower) else None
    certificate = Certificate(
        relative_to(float(np.linalg.norm(left)), start),
        objective,
        gap=gap,
        rounding=rounding,
        over="these features",
    )
    return Worth(certificate, b, scale_of(problem))


def _factors(problem: Problem, G: np.ndarray) -> list[np.ndarray]:
    """What slopes of each output may be shrunk by: until no entry is above λρ, or, if ρ < 1, not at all."""
    penalty = penalty_of(problem)
    price = problem.lam * penalty.ratio
    largest = penalty.beyond(G).max(axis=0, initial=0.0)
    if problem.loss.joint:
        largest = np.full_like(largest, largest.max(initial=0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        shrunk = np.where(largest > price, price / largest, 1.0)
    if penalty.ratio == 1:  # a hair less, or the product might round to more than the price
        return [shrunk * (1 - 4 * np.finfo(float).eps)]
    return [shrunk, np.ones_like(shrunk)]


def _lower(problem: Problem, u: np.ndarray, G: np.ndarray, factor: np.ndarray) -> float:
    """The bound from below that slopes u·factor give."""
    with np.errstate(all="ignore"):
        values = problem.loss.conjugate(problem.y, u * factor)
    bound = penalty_of(problem).conjugate(G * factor, problem.lam)
    return -problem.mean(values) - bound
