"""Leave-one-out errors, and whole λ paths from one eigendecomposition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.estimators.base import KernelMachine
from mercer.operators import Identity
from mercer.solvers import Problem
from mercer.solvers import loo as closed_form


@dataclass(frozen=True, eq=False, repr=False)
class Path:
    """Least squares solutions for many λ, with their leave-one-out errors.

    Attributes
    ----------
    lams : (L,) values of λ
    loo_residuals : (L, n) or (L, n, t), y_i − f₋ᵢ(x_i)
    loo_mse : (L,) weighted mean of their squares
    coefs : (L, p) or (L, p, t) coefficients
    intercepts : (L,) or (L, t)
    best : index of the smallest error
    """

    lams: np.ndarray
    loo_residuals: np.ndarray
    loo_mse: np.ndarray
    coefs: np.ndarray
    intercepts: np.ndarray
    best: int

    def __repr__(self) -> str:
        edge = ", at the edge of the grid" if self.best in (0, len(self.lams) - 1) else ""
        return (
            f"<{len(self.lams)} values of lam from {self.lams.min():.2g} to {self.lams.max():.2g}; smallest "
            f"leave-one-out error {self.loo_mse[self.best]:.4g} at {self.best_lam:.3g}{edge}>"
        )

    @property
    def best_lam(self) -> float:
        """The λ with the smallest leave-one-out error."""
        return float(self.lams[self.best])


def path(machine: KernelMachine, X: Any, y: Any, lams: Any = None, sample_weight: Any = None) -> Path:
    """Fit a least squares machine for every λ at the cost of a few fits.

    Parameters
    ----------
    machine : KernelRidge (or another machine with the squared loss)
        Its own lam is ignored.
    X, y, sample_weight : as in ``machine.fit``
    lams : array, optional
        Values of λ. None: 50 values over ten decades, scaled by the mean of k(x,x).

    Returns
    -------
    Path

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (60, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(60)
    >>> p = path(KernelRidge(), X, y)
    >>> machine = KernelRidge(lam=p.best_lam).fit(X, y)
    >>> bool(np.isclose(np.mean(machine.loo_residuals_**2), p.loo_mse.min()))
    True
    """
    prepared = clone(machine).set_params(lam=1.0)
    problem, coding = prepared.problem(X, y, sample_weight)
    if not problem.loss.quadratic:
        raise ValueError(f"a λ path in closed form needs the squared loss, not {problem.loss!r}")
    if lams is None:
        lams = np.logspace(-9, 1, 50) * (_mean_square(problem) or 1.0)
    lams = np.asarray(lams, dtype=np.float64)
    if lams.ndim != 1 or len(lams) == 0 or not (lams > 0).all() or not np.isfinite(lams).all():
        raise ValueError("lams must be a list of positive numbers")
    found = closed_form.path(problem, lams)
    w = np.ones(problem.n) if problem.weights is None else problem.weights
    mse = np.einsum("i,lit->l", w / problem.n, found.residuals**2) / problem.y.shape[1]
    one = _one_column(problem, coding)
    return Path(
        lams,
        found.residuals[:, :, 0] if one else found.residuals,
        mse,
        found.coefs[:, :, 0] if one else found.coefs,
        found.intercepts[:, 0] if one else found.intercepts,
        int(np.argmin(mse)),
    )


def loo(machine: KernelMachine, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
    """Leave-one-out residuals y_i − f₋ᵢ(x_i) of a least squares machine, in closed form.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> loo(KernelRidge(lam=0.1), [[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]).shape
    (3,)
    """
    problem, coding = clone(machine).problem(X, y, sample_weight)
    residuals = closed_form.residuals(problem, [problem.lam])[0]
    return residuals[:, 0] if _one_column(problem, coding) else residuals


def _mean_square(problem: Problem) -> float:
    """The mean of k(x,x): over the examples, or over the centres where those are what there is."""
    if isinstance(problem.B, Identity):
        return float(problem.A.column_squares().sum() / problem.n)
    return float(np.mean(problem.B.diag()))


def _one_column(problem: Problem, coding: Any) -> bool:
    """Does the machine show one column as a vector? Labels of two classes do, as y of shape (n,) does."""
    return problem.y.shape[1] == 1 and getattr(coding, "one_dimensional", True)
