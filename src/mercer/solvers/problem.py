"""What a solver is given, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer._state import ArraySpec
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
        Of a problem as a machine has it also one for each output: solvers get those of one λ
        (`mercer.solvers.targets`).
    weights : (n,) with mean 1, or None
    offset : bool
    offset_price : float
        The coefficient of b in the objective, beyond what the loss says; for one-class problems.
    kink_price : float
        ν. Every output then has a kink κ of its own to be found, too: κ|a| is taken off what V(y, s) is the
        maximum of, and ν κ Σw_i/n paid for it (the sum is over those for which V is not always 0). It needs
        an offset.
    indefinite : bool
        Whatever cᵀBc is, it is wanted: also below 0, where ‖f‖² means nothing.
    start : (n, t) coefficients to begin from, or None; for one coefficient per example
    begin : (coefficients, offsets) to begin from, as solutions have them, or None; for those that go by steps
    sample : Problem, or None
        Where examples live elsewhere: the problem of a sample of them, in memory. `y` has no rows then.
    journal : Journal, or None
        What hears of every pass over examples that live elsewhere, and remembers where a solver is.
    rng : source of randomness for preconditioners

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Squared
    >>> from mercer.operators import Matrix
    >>> from mercer.solvers import Cholesky, Problem
    >>> K = Matrix(Gaussian(1.0)([[0.0], [1.0]]))
    >>> problem = Problem(A=K, B=K, y=np.array([[1.0], [0.0]]), loss=Squared(), lam=0.5)
    >>> c = Cholesky().run(problem).coef
    >>> bool(np.allclose(K @ c + 2 * 0.5 * c, problem.y))       # (K + nλI) c = y
    True
    """

    A: Operator
    B: Operator
    y: np.ndarray
    loss: Any
    lam: Any
    weights: np.ndarray | None = None
    offset: bool = False
    offset_price: float = 0.0
    kink_price: float = 0.0
    indefinite: bool = False
    start: np.ndarray | None = None
    begin: tuple[np.ndarray, np.ndarray] | None = None
    sample: Problem | None = None
    journal: Any = None
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
        return self.mean(self.loss.value(self.y, scores))

    def mean(self, values: np.ndarray) -> float:
        """(1/n) Σ w_i v_i, of outputs added up; an example of weight 0 is absent, were its loss infinite."""
        rows = values if values.ndim == 1 else values.sum(axis=1)
        if self.weights is not None:
            rows = np.where(self.weights > 0, rows, 0) * self.weights
        return float(rows.sum() / self.n)

    def data_grad(self, scores: np.ndarray) -> np.ndarray:
        """w_i V'(y_i, s_i), not divided by n."""
        return self.weighted(self.loss.grad(self.y, scores))

    def data_hess(self, scores: np.ndarray) -> np.ndarray:
        """w_i V''(y_i, s_i), negative ones taken for 0."""
        return self.weighted(np.maximum(self.loss.hess(self.y, scores), 0))

    def weighted(self, V: np.ndarray, rows: Any = slice(None)) -> np.ndarray:
        """w_i V_i, for (some) rows."""
        return V if self.weights is None else V * self.weights[rows, None]

    @property
    def w(self) -> np.ndarray:
        """The weights; ones where there are none."""
        return np.ones(self.n) if self.weights is None else self.weights


def relative_to(value: float, size: float) -> float:
    """value/size; of nothing, nothing is 0 and something infinite."""
    return float(value / size) if size > 0 else (np.inf if value > 0 else 0.0)


@dataclass(frozen=True)
class Certificate:
    """How far from optimal a solution can be, measured after the fact.

    Attributes
    ----------
    relative_gradient : ‖∇C(f)‖ in H_K (or an upper bound, where that is small enough) relative to that at
        the best constant, which is 0 without an offset: the quantity `tol` bounds; for non-convex losses
        relative to the largest gradient at any start
    objective : C(f), of the scores f(x) + b in float64, from kernel values as precise as X. For X in float32
        the scores behind `predict` are rounded to float32 in the end; that is not in it
    gap : an upper bound on C(f) − min C, the minimum over the functions `over` names. C is 2λ-strongly
        convex, also with the best offset for its f, so it is ‖∇C(f)‖²/(4λ), or less where the coefficients
        are a good point of the dual problem; for losses with kinks the duality gap. `rounding` is part of
        it. None for non-convex losses, and for coupled outputs with an offset
    rounding : an estimate of how far rounding may have put `objective`, and the bound, wrong
    over : the functions among which the minimum is meant, in words; "" for all of H_K
    violation : the steepest slope left in the dual problem, in the units of the scores (what `tol` bounds
        there); None for solvers that go by the gradient
    representer_residual : max_i |c_i + D₂V(y_i, f(x_i)) w_i/(2λn)| / max_i |c_i|, the coupled equations
        of the representer theorem; None where the unknown is not one coefficient per example
    condition : an estimate of the condition number of the (preconditioned) linear system; None if unknown
    jitter : what had to be added to a diagonal for a factorisation to succeed (0 if nothing)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> certificate = KernelRidge(lam=0.01).fit(X, np.sin(X[:, 0])).solution_.certificate
    >>> certificate.relative_gradient < 1e-8, certificate.jitter
    (True, 0.0)
    """

    relative_gradient: float | None
    objective: float
    gap: float | None = None
    violation: float | None = None
    representer_residual: float | None = None
    condition: float | None = None
    jitter: float = 0.0
    rounding: float = 0.0
    over: str = ""


@dataclass(frozen=True)
class Support:
    """How many coefficients of each output lie strictly inside their bounds, and how many at one.

    All others are 0. Examples with free coefficients lie on the margin (or the edge of the tube), those with
    bounded ones beyond it.

    Examples
    --------
    >>> print(Support(free=(3,), bounded=(40,)))
    43 support vectors, 40 of them at their bound
    """

    free: tuple[int, ...]
    bounded: tuple[int, ...]

    def __str__(self) -> str:
        free, bounded = sum(self.free), sum(self.bounded)
        return f"{free + bounded:,} support vectors, {bounded:,} of them at their bound"


@dataclass(frozen=True, repr=False)
class Solution:
    """The minimiser a solver found, with its certificate.

    Attributes
    ----------
    coef : (p, t) coefficients c
    intercept : (t,) offsets b (zeros without one)
    status : "converged", "stationary" (no more can be said of a non-convex loss: the gradient vanishes, and
        a lower point may exist elsewhere), "stalled" (rounding allows no further progress) or "max_iter"
    iterations : int
    certificate : Certificate
    history : relative residual or gradient norm after each iteration
    solver : name of the solver
    starts : the objective reached from each start, where there were several or the loss is not convex
    support : Support, of solvers that tell zero, free and bounded coefficients apart
    dual_coef : (n, t) one coefficient per example, of solvers that have them; with `Full` they are `coef`
    kinks, lams : (t,) where kinks had a price: κ as found, and the λ with which the loss that has it there
        (for labels, after scores are divided by what their margin is) has this minimiser; else None

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> solution = KernelRidge(lam=0.01).fit(X, np.sin(X[:, 0])).solution_
    >>> solution.status, solution.solver, solution.coef.shape
    ('converged', 'cholesky', (40, 1))
    """

    coef: np.ndarray
    intercept: np.ndarray
    status: str
    iterations: int
    certificate: Certificate
    history: tuple[float, ...] = ()
    solver: str = ""
    starts: tuple[float, ...] = ()
    support: Support | None = None
    dual_coef: np.ndarray | None = None
    kinks: np.ndarray | None = None
    lams: np.ndarray | None = None

    holds = {
        "coef": ArraySpec("f", "p", "t"),
        "intercept": ArraySpec("f", "t"),
        "dual_coef": (None, ArraySpec("f", "n", None)),
        "kinks": (None, ArraySpec("f", "t")),
        "lams": (None, ArraySpec("f", "t")),
    }

    @property
    def converged(self) -> bool:
        """Is this the minimum, to the tolerance? Of a non-convex loss that is never known."""
        return self.status == "converged"

    def without_claims(self) -> Solution:
        """The same, where the objective is not convex: a stationary point, and no bound on what it lacks."""
        status = "stationary" if self.converged else self.status
        return replace(self, status=status, certificate=replace(self.certificate, gap=None))

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        c = self.certificate
        parts = [
            f"{self.solver}: {self.status} after {self.iterations} iteration{'s' * (self.iterations != 1)}",
            f"violation {c.violation:.1e}"
            if c.relative_gradient is None
            else f"relative gradient {c.relative_gradient:.1e}",
            f"objective {c.objective:.6g}",
        ]
        if c.gap is not None:
            # Below the rounding of the objective itself nothing can be claimed.
            gap = max(c.gap, float(np.finfo(float).eps) * abs(c.objective))
            parts.append(f"at most {gap:.1e} above the minimum{f' over {c.over}' * bool(c.over)}")
        if self.support is not None:
            parts.append(str(self.support))
        if c.condition is not None:
            parts.append(f"condition ≈ {c.condition:.1e}")
        if c.jitter:
            parts.append(f"jitter {c.jitter:.1e}")
        if self.starts:
            where = "a stationary point, " if self.status == "stationary" else ""
            parts.append(f"{where}the best of {len(self.starts)} start{'s' * (len(self.starts) != 1)}")
        if self.status == "stationary":
            parts[-1] += "; a lower one may exist"
        return ", ".join(parts)
