"""Gradient descent as in the texts: slow, and every step can be read."""

from __future__ import annotations

from mercer._notice import tell
from mercer._threads import stopping_point
from mercer.solvers.newton import Descent, DescentSolver, line_search


class GradientDescent(DescentSolver):
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
        Steps, from each start.
    restarts : int, optional
        Starts besides f = 0, for losses that are not convex, as in `Newton`.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> machine = KernelRidge(lam=0.1, solver=GradientDescent()).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
    >>> machine.solution_.status
    'converged'
    """

    name = "descent"
    requires = frozenset({"ridge", "smooth"})
    passes = 1000
    advice = "Increase max_iter or lam, or use another solver"

    def memory(self, shape):
        if shape.full:
            return super().memory(shape)
        return shape.stored + 2 * shape.square

    def __init__(self, step=None, tol=1e-6, max_iter=10_000, restarts=None):
        self.step = step
        self.tol = tol
        self.max_iter = max_iter
        self.restarts = restarts

    def descend(self, form, unit, tol, noted):
        run, step = Descent(form, unit), self.step or 1.0
        while not run.reached(tol) and run.iterations < self.max_iter:
            stopping_point()
            direction = form.steepest()
            if self.step is None:
                found = line_search(form, direction, first=2 * step)
                if found is None:
                    run.status = "stalled"
                    break
                step = found
            run.move(direction, step)
            tell(self.name, run.iterations, "relative gradient", run.relative, tol)
            noted(run)
            if not form.norm < 1e6 * unit:
                raise ValueError(
                    f"gradient descent diverges with step={step:g}; take a smaller one, or step=None"
                )
        return run
