"""What a solver is: it declares what it needs, and turns a Problem into a Solution."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._params import Params, require_count, require_positive
from mercer._warnings import frames_inside
from mercer.solvers.cost import DIRECT_FEATURES, DIRECT_FLOPS, SQUARES, Cost, Shape
from mercer.solvers.problem import Problem, Solution

# Counts among the parameters of solvers, and what they are at least.
_LEAST = {"max_iter": 1, "rank": 0, "restarts": 0, "working_set": 2}


class IncompatibleError(ValueError):
    """A combination of loss, representation and solver that can't work; the message names one that can.

    Examples
    --------
    >>> from mercer import KernelRegressor
    >>> from mercer.solvers import IncompatibleError
    >>> try:
    ...     KernelRegressor(loss="absolute", solver="cholesky").fit([[0.0], [1.0]], [0.0, 1.0])
    ... except IncompatibleError as error:
    ...     print("Squared() loss" in str(error))
    True
    """


class Solver(Params):
    """Contract: `requires` (capabilities) and `run(problem)` → Solution; its price in `passes`, `memory`.

    Capabilities a problem may have: "quadratic" (the loss is squared error), "smooth" (it has a
    derivative), "curved" (and a second one), "dual" (it is a maximum over lines or parabolas), "simplex"
    (over shares of classes), "ridge" (the penalty is a quadratic form), "lasso" (it is λ‖c‖₁, or an elastic
    net).

    Examples
    --------
    >>> from mercer.losses import Absolute, Squared
    >>> from mercer.solvers import Cholesky, Solver
    >>> isinstance(Cholesky(), Solver), sorted(Cholesky().requires)
    (True, ['quadratic', 'ridge'])
    >>> Cholesky().refusal(Squared(), "ridge") is None, Cholesky().refusal(Absolute(), "ridge") is None
    (True, False)
    """

    name = ""
    requires: frozenset[str] = frozenset({"ridge"})
    # About how often it goes over all examples.
    passes = 100
    # Why there is no other, where that is so.
    reason = ""
    # Can it note where it is, and go on there?
    resumes = False

    def refusal(self, loss: Any, penalty: str) -> str | None:
        """Why this solver can't take such a problem, with a way out; None if it can."""
        declared = ("quadratic", "smooth", "curved", "simplex")
        has = {penalty, *(name for name in declared if getattr(loss, name))}
        has |= {"dual"} if loss.has_dual else set()
        way = "use solver='newton'" if loss.smooth else loss.refusal_hint
        for need in sorted(self.requires - has, key=list(_ADVICE).index):
            return f"solver {self!r} {_ADVICE[need].format(loss=loss, way=way)}"
        return None

    def validate(self) -> None:
        """tol and step are positive numbers, what `_LEAST` names are counts, where a solver has them."""
        for name, value in self.get_params(deep=False).items():
            said = f"{type(self).__name__}: {name}"
            if value is not None and name in ("tol", "step"):
                require_positive(value, said)
            elif value is not None and name in _LEAST:
                require_count(value, said, _LEAST[name])

    def cost(self, shape: Shape) -> Cost:
        """What a problem of this shape takes, in bytes beyond the data and in operations."""
        if shape.remote and shape.kind != "features":
            # Matrices are the engine's; here are only vectors, and the points, if any are here, once more in
            # float64.
            memory = 0 if shape.elsewhere else 12 * shape.n * shape.d
        else:
            memory = self.memory(shape)
        return Cost(shape.vector_bytes + memory, shape.values + self.flops(shape))

    def memory(self, shape: Shape) -> int:
        """Bytes of the matrices it makes."""
        if shape.full:
            # With outputs tied together: K, its factor, the way back and a preconditioner, in float64.
            return 6 * shape.n * shape.n * 8 if shape.joint else shape.stored
        return shape.stored + SQUARES * shape.square

    # What to say in its place where the n×n matrix does not fit.
    without_matrix = "use solver='cg', which needs no matrix in memory"

    def indispensable(self, shape: Shape) -> int:
        """Bytes of n×n matrices without which it can do nothing; what is kept because it fits isn't in it."""
        return self.memory(shape) if shape.full and shape.joint else 0

    def keeps(self, shape: Shape) -> str | None:
        """What it keeps in memory, if a plan should say so."""
        return None

    def flops(self, shape: Shape) -> float:
        """Operations, besides computing every kernel value once."""
        n, p, t = shape.n, float(shape.unknowns), shape.outputs
        if shape.full:
            return self.passes * 2 * p * p * t
        if shape.sparse:
            return self.passes * 4.0 * shape.entries * t
        if p <= DIRECT_FEATURES and n * p * p <= DIRECT_FLOPS:
            return 10 * n * p * p * t
        return self.passes * 4 * n * p * t

    def run(self, problem: Problem) -> Solution:
        """Minimise; a `ConvergenceWarning` with advice where that did not succeed."""
        raise NotImplementedError(f"{type(self).__name__} must define run(problem)")

    def _tol(self, tol: float | None, dtype: np.dtype) -> float:
        """The tolerance asked for, or what the precision of the data allows."""
        return tol if tol is not None else (1e-5 if dtype == np.float32 else 1e-8)


# In the order in which they are checked.
_ADVICE = {
    "lasso": "minimises with the penalty λ‖c‖₁; use it with representation=Lasso(), or another solver here",
    "quadratic": "solves linear systems and needs the Squared() loss, not {loss!r}; {way}",
    "dual": "needs a loss that is a maximum over lines or parabolas, which {loss!r} is not; {way}",
    "simplex": "needs a loss that is a maximum over shares of classes, which {loss!r} is not; {way}",
    "smooth": "needs a differentiable loss, which {loss!r} is not; {loss.refusal_hint}",
    "curved": "needs second derivatives, and {loss!r} defines no hess; define it, or use solver='descent'",
    "ridge": "minimises with the penalty λ‖f‖²; a Lasso representation needs solver='coordinate'",
}


def warn_if_unconverged(
    solution: Solution, tol: float, advice: str, dtype: np.dtype, measured: str | None = None
) -> None:
    """ConvergenceWarning, with advice, unless what is measured became as small as was asked."""
    if solution.status in ("converged", "stationary"):
        return
    what = {
        "stalled": "can make no further progress at this precision",
        "max_iter": f"stopped at its limit of {solution.iterations} iterations",
    }[solution.status]
    certificate = solution.certificate
    jitter = f", with a jitter of {certificate.jitter:.1e} on the diagonal" if certificate.jitter else ""
    better = ", or give the data as float64" if dtype == np.float32 else ""
    if measured is not None:
        pass
    elif certificate.relative_gradient is None:
        measured = f"the steepest slope left is {certificate.violation:.1e}"
    elif certificate.relative_gradient <= tol and certificate.gap is not None:
        of = f"of the objective {certificate.objective:.3g}"
        measured = f"rounding leaves {certificate.gap:.1e} {of} in doubt"
    else:
        measured = f"the relative gradient norm is {certificate.relative_gradient:.1e}"
    warnings.warn(
        f"{solution.solver} {what}: {measured}, the tolerance {tol:.1e}{jitter}. {advice}{better}.",
        ConvergenceWarning,
        stacklevel=frames_inside(),
    )
