"""Gradient descent as in the texts: slow, and every step can be read."""

from __future__ import annotations

from mercer.solvers.base import Solver, warn_if_unconverged
from mercer.solvers.forms import form_of
from mercer.solvers.newton import finish, line_search


class GradientDescent(Solver):
    """f ← f − γ ∇C(f), the functional gradient step, until the gradient is small.

    With one coefficient per example this is c_i ← c_i − γ (V'(y_i, f(x_i))/n + 2λc_i). It reaches the
    same minimum as the fast solvers, in many more steps; it is here to be watched
    (``solution_.history``) and compared.

    Parameters
    ----------
    step : float, optional
        γ. None: found by halving until the objective decreases, growing again when that is easy.
    tol : float
        Relative gradient norm to reach.
    max_iter : int

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> machine = KernelRidge(lam=0.1, solver=GradientDescent()).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
    >>> machine.solution_.status
    'converged'
    """

    name = "descent"
    requires = frozenset({"ridge", "smooth"})

    def __init__(self, step=None, tol=1e-6, max_iter=10_000):
        self.step = step
        self.tol = tol
        self.max_iter = max_iter

    def run(self, problem):
        self.validate()
        form = form_of(problem)
        start = form.norm
        history = [1.0 if start > 0 else 0.0]
        status = "converged" if start == 0 else "max_iter"
        step, iterations = self.step or 1.0, 0
        while status == "max_iter" and iterations < self.max_iter:
            direction = form.steepest()
            if self.step is None:
                found = line_search(form, direction, first=2 * step)
                if found is None:
                    status = "stalled"
                    break
                step = found
            form.move(direction, step)
            iterations += 1
            history.append(form.norm / start)
            if not form.norm < 1e6 * start:
                raise ValueError(
                    f"gradient descent diverges with step={step:g}; take a smaller one, or step=None"
                )
            if form.norm <= self.tol * start:
                status = "converged"
        solution = finish(form, start, status, iterations, history, self.name)
        warn_if_unconverged(
            solution, self.tol, "Increase max_iter or lam, or use another solver", problem.A.dtype
        )
        return solution
