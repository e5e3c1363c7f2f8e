"""What least squares would predict had it not seen an example: f₋ᵢ at new points, in closed form.

A prediction is a sum of targets with weights, f(x) = Σ S_i(x) y_i. Fitted without example i it is the same
sum with f₋ᵢ(x_i) in the place of y_i, a target that changes nothing: f₋ᵢ(x) = f(x) − S_i(x)(y_i − f₋ᵢ(x_i)).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer.operators import L1
from mercer.solvers import loo
from mercer.solvers.coordinates import to_primal
from mercer.solvers.problem import Problem


class Jackknife:
    """The machines fitted to all examples but one, with the same λ.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> X, y = np.array([[0.0], [1.0], [3.0]]), np.array([0.0, 1.0, 2.0])
    >>> machine = KernelRidge(Gaussian(1.0), lam=0.1).fit(X, y)
    >>> there = Jackknife(machine.problem(X, y)[0]).at(machine.kernel_(np.array([[2.0]]), X))
    >>> without = KernelRidge(Gaussian(1.0), lam=0.1).fit(X[1:], y[1:]).predict([[2.0]])
    >>> bool(np.isclose(there[0, 0, 0], without[0]))
    True
    """

    def __init__(self, problem: Problem):
        reason = self.refusal(problem)
        if reason is not None:
            raise ValueError(reason)
        n = problem.n
        y, shift = problem.y.astype(np.float64), float(problem.lam) * (n - 1)
        self.offset, self.full = problem.offset, problem.full
        self.residuals = loo.residuals(problem, [float(problem.lam)])[0]
        if self.full:
            # S = k(x)ᵀG⁻¹, and with an offset what the bordered system adds.
            self.inverse = loo.doubles(problem.A).factor(shift).solve(np.eye(n))
            one = self.inverse.sum(axis=1)
            self.share = one / one.sum() if self.offset else np.zeros(n)
            self.inverse = self.inverse - np.outer(one, self.share)
        else:
            primal = to_primal(replace(problem, offset=False))
            centre, _, values, V, _ = loo.centred_spectrum(problem, primal.Phi)
            Phi = np.vstack([(block - centre) for _, block in _blocks(primal.Phi)])
            # From A of new points to coordinates, to weights of the examples.
            whole = primal.back(np.eye(primal.Phi.shape[1]))[0]
            self.inverse = (whole @ V) @ ((V / (values + shift)).T @ Phi.T)
            back = centre @ (V @ ((V / (values + shift)).T @ Phi.T))
            self.share = np.full(n, 1 / n) - back if self.offset else np.zeros(n)
        self.y = y

    @staticmethod
    def refusal(problem: Problem) -> str | None:
        """Why this can't be done; None if it can."""
        if not problem.loss.quadratic or isinstance(problem.B, L1):
            return "only the squared loss with the penalty λ‖f‖² leaves examples out in closed form"
        if np.ndim(problem.lam):
            return "there is one λ for each target"
        if problem.weights is not None:
            return "weighted examples are not left out alike"
        if problem.n < 2:
            return "one example can't be left out"
        short = loo.shortage(problem)
        return None if short is None else f"there is no memory for it ({short})"

    def at(self, A: np.ndarray) -> np.ndarray:
        """f₋ᵢ(x) + b₋ᵢ at points of which A is given, (m, n, t)."""
        weights = A @ self.inverse + self.share
        return (weights @ self.y)[:, None, :] - weights[:, :, None] * self.residuals[None]


def _blocks(Phi):
    for rows, block in Phi.blocks():
        yield rows, block.toarray() if hasattr(block, "toarray") else np.asarray(block, dtype=np.float64)
