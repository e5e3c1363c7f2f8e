"""What a solver is given, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.operators import Operator


@dataclass(frozen=True, eq=False)
class Problem:
    """Minimise (1/n) Σ w_i V(y_i, (A c)_i + b) + λ cᵀBc over c, and over b if `offset`.

    Attributes
    ----------
    A, B : Operator
        ``A is B`` says that both are one kernel matrix K(X, X).
    y : (n, t) encoded targets
    loss : the loss V
    lam : float > 0
    weights : (n,) with mean 1, or None
    offset : bool
    rng : source of randomness for preconditioners
    """

    A: Operator
    B: Operator
    y: np.ndarray
    loss: Any
    lam: float
    weights: np.ndarray | None = None
    offset: bool = False
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    @property
    def n(self) -> int:
        return self.A.shape[0]

    @property
    def full(self) -> bool:
        """Is the unknown one coefficient per example (A = B = K)?"""
        return self.A is self.B

    def data_value(self, scores: np.ndarray) -> float:
        """(1/n) Σ w_i V(y_i, s_i)."""
        values = self.loss.value(self.y, scores)
        rows = values if values.ndim == 1 else values.sum(axis=1)
        return float((rows if self.weights is None else rows * self.weights).sum() / self.n)

    def data_grad(self, scores: np.ndarray) -> np.ndarray:
        """w_i V'(y_i, s_i), not divided by n."""
        g = self.loss.grad(self.y, scores)
        return g if self.weights is None else g * self.weights[:, None]


def relative_to(value: float, size: float) -> float:
    """value/size; of nothing, nothing is 0 and something infinite."""
    return float(value / size) if size > 0 else (np.inf if value > 0 else 0.0)


@dataclass(frozen=True)
class Certificate:
    """How far from optimal a solution can be, measured after the fact.

    Attributes
    ----------
    relative_gradient : ‖∇C(f)‖ / ‖∇C(0)‖ in H_K (or an upper bound, where that is small enough): the quantity
        `tol` bounds
    objective : C(f)
    gap : an upper bound on C(f) − min C, the minimum over the functions of the representation (all of H_K
        only where there is one coefficient per example). C is 2λ-strongly convex, so it is ‖∇C(f)‖²/(4λ),
        or C(f) itself if that is less and the errors are squared; None with an unpenalised offset, which
        breaks strong convexity, and for non-convex losses
    representer_residual : max_i |c_i + D₂V(y_i, f(x_i)) w_i/(2λn)| / max_i |c_i|, the coupled equations
        of the representer theorem; None where the unknown is not one coefficient per example
    condition : an estimate of the condition number of the (preconditioned) linear system; None if unknown
    jitter : what had to be added to a diagonal for a factorisation to succeed (0 if nothing)
    """

    relative_gradient: float
    objective: float
    gap: float | None = None
    representer_residual: float | None = None
    condition: float | None = None
    jitter: float = 0.0


@dataclass(frozen=True, repr=False)
class Solution:
    """The minimiser a solver found, with its certificate.

    Attributes
    ----------
    coef : (p, t) coefficients c
    intercept : (t,) offsets b (zeros without one)
    status : "converged", "stalled" (rounding allows no further progress) or "max_iter"
    iterations : int
    certificate : Certificate
    history : relative residual or gradient norm after each iteration
    solver : name of the solver
    """

    coef: np.ndarray
    intercept: np.ndarray
    status: str
    iterations: int
    certificate: Certificate
    history: tuple[float, ...] = ()
    solver: str = ""

    @property
    def converged(self) -> bool:
        return self.status == "converged"

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        c = self.certificate
        parts = [
            f"{self.solver}: {self.status} after {self.iterations} iteration{'s' * (self.iterations != 1)}",
            f"relative gradient {c.relative_gradient:.1e}",
            f"objective {c.objective:.6g}",
        ]
        if c.gap is not None:
            # Below the rounding of the objective itself nothing can be claimed.
            gap = max(c.gap, float(np.finfo(float).eps) * abs(c.objective))
            where = "" if c.representer_residual is not None else " over these centres or features"
            parts.append(f"at most {gap:.1e} above the minimum{where}")
        if c.condition is not None:
            parts.append(f"condition ≈ {c.condition:.1e}")
        if c.jitter:
            parts.append(f"jitter {c.jitter:.1e}")
        return ", ".join(parts)
