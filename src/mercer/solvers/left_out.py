"""Leave-one-out errors for choosing λ among many examples.

As in `solvers.loo`, but with λn the same whichever example is left out. Exactly, the machine without example
i has λ(n − w_i) on the diagonal of its system: one system for every example, if weights differ. Where n is
large λn is as good, and one factor, or one small spectrum, serves all.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer.operators.factor import Factor
from mercer.solvers.coordinates import to_primal
from mercer.solvers.loo import centred_spectrum
from mercer.solvers.problem import Problem


class FactoredErrors:
    """w_i e_i² (its mean over outputs) at one λ after the other, with one coefficient per example.

    With G = S K S + λn I (S = √w) and z = G⁻¹Sy, what is left out has the error s_i e_i = z_i/(G⁻¹)_ii.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> problem, _ = KernelRidge(lam=1.0).problem(X, np.sin(X[:, 0]))
    >>> error = FactoredErrors(problem)
    >>> bool(error(1e-4).mean() < error(1.0).mean())
    True
    """

    def __init__(self, problem: Problem):
        n = problem.n
        self.s = np.ones(n) if problem.weights is None else np.sqrt(problem.weights)
        self.K = problem.A.dense().astype(np.float64, copy=False)
        self.K *= self.s[:, None]
        self.K *= self.s[None, :]
        self.y, self.offset = self.s[:, None] * problem.y.astype(np.float64), problem.offset

    def __call__(self, lam: float) -> np.ndarray:
        n, t = self.y.shape
        factor = Factor(self.K.copy(), lam * n)
        z = factor.solve(np.hstack([self.y, self.s[:, None]]))
        one, z = z[:, t], z[:, :t]
        diagonal = factor.inverse_diagonal()
        if self.offset:  # the inverse of the bordered system
            total = float(self.s @ one)
            z = z - one[:, None] * (self.s @ z / total)
            diagonal = diagonal - one**2 / total
        return np.square(z / diagonal[:, None]).mean(axis=1)


def spectral_errors(problem: Problem, lams: np.ndarray) -> np.ndarray:
    """w_i e_i² (its mean over outputs) for every λ, (L, n), with centres or features fewer than examples.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Polynomial
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> problem, _ = KernelRidge(Polynomial(3), lam=1.0).problem(X, np.sin(X[:, 0]))
    >>> small, large = spectral_errors(problem, np.array([1e-6, 1e6])).mean(axis=1)
    >>> bool(small < large)
    True
    """
    Phi = to_primal(replace(problem, offset=False)).Phi
    n, t = problem.y.shape
    w = np.ones(n) if problem.weights is None else problem.weights
    y = problem.y.astype(np.float64)
    centre, mean, values, V, Vb = centred_spectrum(problem, Phi)
    D = 1 / (values[:, None] + np.asarray(lams, dtype=np.float64)[None, :] * n)
    errors = np.zeros((D.shape[1], n))
    for rows, block in Phi.blocks():
        block = block.toarray() if hasattr(block, "toarray") else np.asarray(block, dtype=np.float64)
        B = (block - centre) @ V
        leverage = w[rows, None] * ((B * B) @ D + (1 / n if problem.offset else 0))
        for j in range(t):
            left = (y[rows, j, None] - mean[j] - B @ (D * Vb[:, j, None])) / (1 - leverage)
            errors[:, rows] += (w[rows, None] * left**2 / t).T
    return errors
