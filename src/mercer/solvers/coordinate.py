"""Sparse linear models, λ‖c‖₁ in place of λ‖f‖², through scikit-learn's coordinate descent."""

from __future__ import annotations

import warnings

import numpy as np

from mercer._xp import issparse
from mercer.solvers.base import IncompatibleError, Solver, warn_if_unconverged
from mercer.solvers.problem import Certificate, Problem, Solution


class Coordinate(Solver):
    """Minimise (1/n) Σ w_i V(y_i, (Φc)_i) + λ‖c‖₁ for squared and logistic loss.

    Parameters
    ----------
    tol : float
        Duality gap (squared loss) or stopping tolerance (logistic), relative.
    max_iter : int

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> machine = KernelRidge("linear", lam=0.1, representation="lasso", solver=Coordinate(tol=1e-8))
    >>> (machine.fit(X, 2 * X[:, 1]).coef_ != 0).tolist()
    [False, True, False]
    """

    name = "coordinate"
    requires = frozenset({"lasso"})

    def __init__(self, tol=1e-6, max_iter=10_000):
        self.tol = tol
        self.max_iter = max_iter

    def refusal(self, loss, penalty):
        from mercer.losses import Logistic, Squared

        reason = super().refusal(loss, penalty)
        if reason is None and not isinstance(loss, (Squared, Logistic)):
            reason = (
                f"solver {self!r} knows the Squared() and Logistic() losses, not {loss!r}; take one of those"
            )
        return reason

    def run(self, problem: Problem) -> Solution:
        from sklearn.exceptions import ConvergenceWarning as Unconverged

        self.validate()
        reason = self.refusal(problem.loss, "lasso")
        if reason is not None:
            raise IncompatibleError(reason)
        Phi = problem.A.values if hasattr(problem.A, "values") else problem.A.dense()
        Phi = Phi if issparse(Phi) else np.asfortranarray(Phi)
        fit = self._lasso if problem.loss.quadratic else self._logistic
        coef, intercept, iterations, done = [], [], 0, True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Unconverged)  # said below, in our own words
            for j in range(problem.y.shape[1]):
                c, b, steps, ok = fit(problem, Phi, problem.y[:, j])
                coef.append(c)
                intercept.append(b)
                iterations, done = max(iterations, steps), done and ok
        C, b = np.stack(coef, axis=1), np.array(intercept)
        certificate = self._certificate(problem, C, b)
        status = "converged" if done else "max_iter"
        solution = Solution(C, b, status, iterations, certificate, (), self.name)
        warn_if_unconverged(solution, self.tol, "Increase lam or max_iter", problem.A.dtype)
        return solution

    def _lasso(self, problem, Phi, y):
        from sklearn.linear_model import Lasso

        # scikit-learn halves the squared error: (1/2n)‖·‖² + α‖c‖₁, so α = λ/2.
        model = Lasso(
            alpha=problem.lam / 2, fit_intercept=problem.offset, tol=self.tol, max_iter=self.max_iter
        ).fit(Phi, y, sample_weight=problem.weights)
        return model.coef_, float(model.intercept_), int(model.n_iter_), model.n_iter_ < self.max_iter

    def _logistic(self, problem, Phi, y):
        from sklearn.linear_model import LogisticRegression

        # C·Σ log(1+…) + ‖c‖₁ with C = 1/(λn) is our objective over λ.
        model = LogisticRegression(
            l1_ratio=1.0,
            solver="saga",
            C=1 / (problem.lam * problem.n),
            fit_intercept=problem.offset,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=0,
        ).fit(Phi, y > 0, sample_weight=problem.weights)
        steps = int(np.max(model.n_iter_))
        return model.coef_[0], float(np.ravel(model.intercept_)[0]), steps, steps < self.max_iter

    @staticmethod
    def _certificate(problem: Problem, C: np.ndarray, b: np.ndarray) -> Certificate:
        """Distance of 0 from the subdifferential, relative to that at c = 0."""
        lam, n = problem.lam, problem.n

        def excess(gradient, C):
            moved = np.where(
                C != 0, np.abs(gradient + lam * np.sign(C)), np.maximum(np.abs(gradient) - lam, 0)
            )
            return float(np.linalg.norm(moved))

        scores = problem.A @ C + b
        now = excess(problem.A.adjoint(problem.data_grad(scores)) / n, C)
        base = problem.A.adjoint(problem.data_grad(np.zeros_like(scores) + b)) / n
        start = float(np.linalg.norm(base))
        objective = problem.data_value(scores) + lam * float(np.abs(C).sum())
        return Certificate(now / start if start > 0 else 0.0, objective)
