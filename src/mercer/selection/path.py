"""Leave-one-out errors, and whole λ paths from one eigendecomposition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer import _resolve
from mercer._units import units_of
from mercer.estimators.base import KernelMachine
from mercer.estimators.plan import Plan
from mercer.estimators.tensors import on_host
from mercer.operators import Identity
from mercer.solvers import Problem
from mercer.solvers import loo as closed_form

_LAMS = 50


@dataclass(frozen=True, eq=False, repr=False)
class Path:
    """Least squares solutions for many λ, with their leave-one-out errors.

    Attributes
    ----------
    lams : (L,) values of λ
    loo_residuals : (L, n) or (L, n, t), y_i − f₋ᵢ(x_i); f₋ᵢ has not seen rows equal to x_i, or of its group
    loo_mse : (L,) weighted mean of their squares
    coefs : (L, p) or (L, p, t) coefficients
    intercepts : (L,) or (L, t)
    best : index of the smallest error
    plan : the plan of the machine these are solutions of: its representation (all examples, centres or
        features), how many coefficients, and why

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> from mercer.selection import path
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> found = path(KernelRidge(Gaussian(1.0)), X, np.sin(X[:, 0]), lams=[1e-6, 1e-3, 1.0])
    >>> found.best, found.best_lam, found.loo_residuals.shape
    (0, 1e-06, (3, 40))
    """

    lams: np.ndarray
    loo_residuals: np.ndarray
    loo_mse: np.ndarray
    coefs: np.ndarray
    intercepts: np.ndarray
    best: int
    plan: Plan

    def __repr__(self) -> str:
        edge = ", at the edge of the grid" if self.best in (0, len(self.lams) - 1) else ""
        terms = self.plan.unknowns
        fewer = f", with {terms:,} coefficients" if terms < self.plan.examples else ""
        return (
            f"<{len(self.lams)} values of lam from {self.lams.min():.2g} to {self.lams.max():.2g}{fewer}; "
            f"smallest leave-one-out error {self.loo_mse[self.best]:.4g} at {self.best_lam:.3g}{edge}>"
        )

    @property
    def best_lam(self) -> float:
        """The λ with the smallest leave-one-out error."""
        return float(self.lams[self.best])


def path(
    machine: KernelMachine, X: Any, y: Any, lams: Any = None, sample_weight: Any = None, groups: Any = None
) -> Path:
    """Fit a least squares machine for every λ at the cost of a few fits.

    Equal rows, and rows of one group, are left out together: one of them would give the others away.

    Parameters
    ----------
    machine : KernelRidge (or another machine with the squared loss)
        Its own lam is ignored.
    X, y, sample_weight : as in ``machine.fit``
    lams : array or int, optional
        Values of λ, or how many there shall be over ten decades, scaled by the mean of k(x,x). None: 50.
    groups : (n,) labels, optional

    Raises
    ------
    ValueError
        Also where the matrices would not fit into the memory that is free; nothing is allocated then. With
        representation="auto" centres take their place, and `Path.plan` says so.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (60, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(60)
    >>> p = path(KernelRidge(), X, y)
    >>> machine = KernelRidge(lam=p.best_lam).fit(X, y)
    >>> bool(np.isclose(np.mean(machine.loo_residuals()**2), p.loo_mse.min()))
    True
    """
    return path_of_units(machine, X, y, lams, sample_weight, units_of(on_host(X), groups))


def path_of_units(
    machine: KernelMachine, X: Any, y: Any, lams: Any, sample_weight: Any, units: np.ndarray
) -> Path:
    """`path`, where it is known which rows are left out together."""
    count = lams if isinstance(lams, int) else _LAMS if lams is None else len(np.atleast_1d(lams))
    problem, coding, plan = _fitting(clone(machine).set_params(lam=1.0), X, y, sample_weight, units, count)
    if not problem.loss.quadratic:
        raise ValueError(f"a λ path in closed form needs the squared loss, not {problem.loss!r}")
    if lams is None or (isinstance(lams, int) and lams > 0):
        lams = np.logspace(-9, 1, _LAMS if lams is None else lams) * (_mean_square(problem) or 1.0)
    lams = np.asarray(lams, dtype=np.float64)
    if lams.ndim != 1 or len(lams) == 0 or not (lams > 0).all() or not np.isfinite(lams).all():
        raise ValueError("lams must be a list of positive numbers, or how many to take")
    found = closed_form.path(problem, lams, units)
    mse = _mean_squares(problem, found.residuals)
    one = _one_column(problem, coding)
    return Path(
        lams,
        found.residuals[:, :, 0] if one else found.residuals,
        mse,
        found.coefs[:, :, 0] if one else found.coefs,
        found.intercepts[:, 0] if one else found.intercepts,
        int(np.argmin(mse)),
        plan,
    )


def _fitting(
    machine: KernelMachine, X: Any, y: Any, sample_weight: Any, units: np.ndarray, lams: int | None = None
) -> tuple[Problem, Any, Plan]:
    """The machine's problem, where what is to be computed of it fits in memory; nothing is allocated before.

    A machine that was left the choice of its representation goes through centres where all examples don't
    fit, as its own plan would have it.
    """
    problem, coding, plan = machine.planned(X, y, sample_weight)
    short = closed_form.shortage(problem, units, lams)
    chosen = _resolve.representation_of(machine.representation) is None
    if short is not None and problem.full and chosen:
        coarse = clone(machine).set_params(representation="nystrom")
        problem, coding, plan = coarse.planned(X, y, sample_weight)
        plan = replace(plan, reasons=(f"centres, since {short}", *plan.reasons))
        short = closed_form.shortage(problem, units, lams)
    if short is not None:
        raise ValueError(short)
    return problem, coding, plan


def loo(machine: KernelMachine, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> np.ndarray:
    """Leave-one-out residuals y_i − f₋ᵢ(x_i) of a least squares machine, in closed form.

    Equal rows, and rows of one group, are left out together; ``machine.loo_residuals()`` leaves out one row
    and no other.

    >>> from mercer import KernelRidge
    >>> loo(KernelRidge(lam=0.1), [[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]).shape
    (3,)
    """
    return loo_of_units(machine, X, y, sample_weight, units_of(on_host(X), groups))


def loo_of_units(machine: KernelMachine, X: Any, y: Any, sample_weight: Any, units: np.ndarray) -> np.ndarray:
    """`loo`, where it is known which rows are left out together."""
    problem, coding, _ = _fitting(machine, X, y, sample_weight, units)
    residuals = closed_form.residuals(problem, [problem.lam], units)[0]
    return residuals[:, 0] if _one_column(problem, coding) else residuals


def leave_one_out_error(
    machine: KernelMachine, X: Any, y: Any, sample_weight: Any, units: np.ndarray
) -> float:
    """The (weighted) mean of the squares of `loo_of_units`: what `path` calls loo_mse, for one λ."""
    problem, _, _ = _fitting(machine, X, y, sample_weight, units)
    return float(_mean_squares(problem, closed_form.residuals(problem, [problem.lam], units))[0])


def _mean_squares(problem: Problem, residuals: np.ndarray) -> np.ndarray:
    """Over the examples, by their weights, and over the outputs: (L,) from (L, n, t)."""
    w = np.ones(problem.n) if problem.weights is None else problem.weights
    return np.einsum("i,lit->l", w / problem.n, residuals**2) / problem.y.shape[1]


def _mean_square(problem: Problem) -> float:
    """The mean of k(x,x): over the examples, or over the centres where those are what there is."""
    # Examples of weight 0 are absent; centres are chosen among the others.
    seen = np.arange(problem.n) if problem.weights is None else np.flatnonzero(problem.weights)
    if isinstance(problem.B, Identity):
        A = problem.A if len(seen) == problem.n else problem.A.among(seen)
        return float(A.column_squares().sum() / len(seen))
    diagonal = problem.B.diag()
    return float(np.mean(diagonal[seen] if problem.full else diagonal))


def _one_column(problem: Problem, coding: Any) -> bool:
    """Does the machine show one column as a vector? Labels of two classes do, as y of shape (n,) does."""
    return problem.y.shape[1] == 1 and getattr(coding, "one_dimensional", True)
