"""Newton's method for smooth losses."""

from __future__ import annotations

import numpy as np

from mercer.solvers.base import Solver, warn_if_unconverged
from mercer.solvers.forms import Form, form_of
from mercer.solvers.problem import Certificate, Solution

# Changes of the objective below this, relative to it, are rounding.
_SLACK = 8 * float(np.finfo(float).eps)
# … and these, where kernel values are float32, noise.
_SINGLE_SLACK = 1e-9


class Newton(Solver):
    """Any smooth loss, by Newton steps (IRLS) with a line search.

    Each step solves a weighted least squares problem: by a factorisation where that is cheap, by
    preconditioned conjugate gradients otherwise, only as accurately as the step is worth.

    Parameters
    ----------
    tol : float, optional
        Gradient norm in H_K, relative to that at f = 0, to reach. None: 1e-8 for float64 data,
        1e-5 for float32.
    max_iter : int
        Newton steps.
    rank : int, optional
        Size of the inner preconditioner, as in `CG`.

    Examples
    --------
    >>> from mercer import KernelLogistic
    >>> machine = KernelLogistic(solver=Newton(), lam=0.1).fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    >>> machine.solution_.status
    'converged'
    """

    name = "newton"
    requires = frozenset({"ridge", "smooth", "curved"})

    def __init__(self, tol=None, max_iter=100, rank=None):
        self.tol = tol
        self.max_iter = max_iter
        self.rank = rank

    def run(self, problem):
        self.validate()
        tol = self._tol(self.tol, problem.A.dtype)
        form = form_of(problem, self.rank)
        start = form.norm
        history = [1.0 if start > 0 else 0.0]
        status = "converged" if start == 0 else "max_iter"
        iterations, idle = 0, 0
        slack = _SLACK if problem.A.dtype == np.float64 else _SINGLE_SLACK
        while status == "max_iter" and iterations < self.max_iter:
            # Early steps need not be exact; the last ones converge faster than linearly.
            direction = form.newton(max(min(0.1, 0.5 * np.sqrt(form.norm / start)), 0.1 * tol))
            step = line_search(form, direction)
            if step is None:
                other = form.alternative()
                if other is None:
                    status = "stalled"
                    break
                form = other
                continue
            before = form.value
            form.move(direction, step)
            iterations += 1
            history.append(form.norm / start)
            if form.norm <= tol * start:
                status = "converged"
                break
            # The gradient may rise on the way; only an objective that no longer falls means the end.
            idle = idle + 1 if before - form.value <= slack * abs(before) else 0
            if idle >= 6:
                status = "stalled"
        solution = finish(form, start, status, iterations, history, self.name)
        warn_if_unconverged(solution, tol, "Increase lam or max_iter", problem.A.dtype)
        return solution


def line_search(form: Form, direction, *, first: float = 1.0) -> float | None:
    """The first of 1, ½, ¼, … that decreases the objective enough; None if none does."""
    slope, objective = form.line(direction)
    if not slope < 0:
        return None
    value = form.value
    # Near the minimum a decrease drowns in rounding; then the step is judged by its slope alone.
    slack = _SLACK * abs(value)
    step = first
    for _ in range(60):
        new = objective(step)
        if new <= value + 1e-4 * step * slope + slack:
            return step
        step *= 0.5
    return None


def finish(
    form: Form, start: float, status: str, iterations: int, history: list[float], name: str
) -> Solution:
    """Solution and certificate from the state a method ended in."""
    problem = form.problem
    coef, intercept = form.result()
    certified = problem.loss.convex and not problem.offset
    certificate = Certificate(
        relative_gradient=form.norm / start if start > 0 else 0.0,
        objective=form.value,
        gap=form.norm**2 / (4 * problem.lam) if certified else None,
        representer_residual=form.representer_residual(),
        jitter=form.jitter,
    )
    return Solution(coef, intercept, status, iterations, certificate, tuple(history), name)
