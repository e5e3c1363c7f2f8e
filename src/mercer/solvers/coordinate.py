"""Sparse linear models, λ‖c‖₁ in place of λ‖f‖², through scikit-learn's coordinate descent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer._notice import tell
from mercer._threads import interruptible
from mercer._warnings import unheard
from mercer._xp import issparse
from mercer.operators import Matrix
from mercer.solvers.base import ConvergenceWarning, IncompatibleError, Solver, warn_if_unconverged
from mercer.solvers.certify import balance, best_constant, scale_of
from mercer.solvers.problem import Certificate, Problem, Solution, relative_to

# Rounds of scikit-learn's solver, each from the last one's end.
_ROUNDS = 20
# A duality gap, next to the objective of the best constant, that is as good as 0.
_NEAR = 1e-4


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
        self.validate()
        reason = self.refusal(problem.loss, "lasso")
        if reason is not None:
            raise IncompatibleError(reason)
        Phi, means = _features(problem)
        fit = self._lasso if problem.loss.quadratic else self._logistic
        coef, intercept, iterations, done = [], [], 0, True
        with unheard(ConvergenceWarning):  # said below, in our own words
            for j in range(problem.y.shape[1]):
                c, b, steps, ok = fit(replace(problem, y=problem.y[:, [j]]), Phi)
                coef.append(c)
                intercept.append(b - means @ c)
                iterations, done = max(iterations, steps), done and ok
        C, b = np.stack(coef, axis=1), np.array(intercept)
        certificate, b, scale = _certificate(problem, C, b)
        assert certificate.gap is not None
        near = certificate.gap - certificate.rounding <= max(self.tol, _NEAR) * scale
        status = "converged" if done and near else "stalled" if done else "max_iter"
        solution = Solution(C, b, status, iterations, certificate, (), self.name)
        warn_if_unconverged(solution, self.tol, "Increase lam or max_iter", problem.A.dtype)
        return solution

    def _lasso(self, problem, Phi):
        from sklearn.linear_model import Lasso

        # scikit-learn halves the squared error: (1/2n)‖·‖² + α‖c‖₁, so α = λ/2.
        model = Lasso(
            alpha=problem.lam / 2, fit_intercept=problem.offset, tol=self.tol, max_iter=self.max_iter
        )
        interruptible(lambda: model.fit(Phi, problem.y[:, 0], sample_weight=problem.weights))
        return model.coef_, float(model.intercept_), int(model.n_iter_), model.n_iter_ < self.max_iter

    def _logistic(self, problem, Phi):
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
            warm_start=True,
        )
        y, steps = problem.y[:, 0] > 0, 0
        features = Matrix(Phi)
        for _ in range(_ROUNDS):
            interruptible(lambda: model.fit(Phi, y, sample_weight=problem.weights))
            steps += int(np.max(model.n_iter_))
            c, b = model.coef_[0], np.ravel(model.intercept_)
            measured, b, scale = _certificate(replace(problem, A=features), c[:, None], b)
            tell(self.name, steps, "objective", measured.objective)
            # Its rule to stop looks at c alone: b may have been on its way.
            model.intercept_ = b.copy() if problem.offset else model.intercept_
            enough = measured.gap is not None and measured.gap - measured.rounding <= self.tol * scale
            if enough or steps >= self.max_iter:
                break
        return c, float(b[0]), steps, enough or int(np.max(model.n_iter_)) < self.max_iter


def _features(problem: Problem) -> tuple[Any, np.ndarray]:
    """Φ, in columns, and what was taken off them: with an offset dense features are centred."""
    Phi = problem.A.values if hasattr(problem.A, "values") else problem.A.dense()
    if issparse(Phi):
        return Phi, np.zeros(Phi.shape[1])
    w = problem.w
    means = w @ np.asarray(Phi, np.float64) / w.sum() if problem.offset else np.zeros(Phi.shape[1])
    return np.asfortranarray(Phi - means.astype(Phi.dtype)), means.astype(Phi.dtype).astype(np.float64)


def _certificate(problem: Problem, C: np.ndarray, b: np.ndarray) -> tuple[Certificate, np.ndarray, float]:
    """Distance of 0 from the subdifferential, relative to the gradient at c = 0, and the duality gap.

    For slopes u with |Φᵀ(wu)/n| ≤ λ, and Σ w u = 0 with an offset, no objective is below −(1/n) Σ w V*(y, u).
    """
    lam, n = problem.lam, problem.n
    scores = problem.A @ C + b
    if problem.offset:
        shift = balance(problem, scores)
        b, scores = b + shift, scores + shift
    w = problem.w[:, None]
    u = problem.loss.grad(problem.y, scores)
    G = problem.A.adjoint(w * u) / n
    moved = np.where(C != 0, np.abs(G + lam * np.sign(C)), np.maximum(np.abs(G) - lam, 0))
    start = float(np.linalg.norm(problem.A.adjoint(problem.data_grad(best_constant(problem))) / n))
    objective = problem.data_value(scores) + lam * float(np.abs(C).sum())
    # Shrunk until feasible; 0 is in the domain of V*, and so is what lies between.
    shrunk = u * np.minimum(1.0, lam / np.maximum(np.abs(G).max(axis=0, initial=0.0), lam))
    lower = -float((w * problem.loss.conjugate(problem.y, shrunk)).sum()) / n
    sizes = np.abs(w * shrunk) * (np.abs(scores) + np.abs(problem.y))
    rounding = 8 * float(np.finfo(problem.A.dtype).eps) * (float(sizes.sum()) / n + abs(objective))
    gap = max(objective - lower, 0.0) + rounding
    relative = relative_to(float(np.linalg.norm(moved)), start)
    certificate = Certificate(relative, objective, gap=gap, rounding=rounding, over="these features")
    return certificate, b, scale_of(problem)
