"""Machines on the first rows of a table, for several numbers of rows, from one factorisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from sklearn.base import clone

from mercer._memory import available_memory
from mercer._resolve import representation_of
from mercer.estimators.base import KernelMachine
from mercer.kernels.base import Kernel
from mercer.operators import Factor, KernelOperator, Matrix
from mercer.representations import Full
from mercer.solvers.given import GivenFactor

Machine = TypeVar("Machine", bound=KernelMachine)

# Of the free memory, for K in float64 beside its factor in float32.
_SHARE = 0.5


def fit_nested(
    machine: Machine,
    X: np.ndarray,
    y: np.ndarray,
    sizes: Sequence[int],
    tol: float | None = None,
    max_iter: int = 40,
) -> list[Machine]:
    """The machine, fitted to the first m rows with λ·n/m, for every m of `sizes`, n the number of all rows.

    λn is the same for all, so that the Cholesky factor of the first rows is a corner of that of all. K is
    factored in float32: n³/3 operations, whatever the number of machines. Each is then refined with float64
    values of the kernel, which are computed once and kept where 12n² bytes are free (`keeps`), and again and
    again where only the 4n² of the factor are. Rows that one machine has not seen, since they come later,
    test it as honestly as if it had been fitted alone.

    Parameters
    ----------
    machine : a machine of least squares with ``representation="full"`` and a number for λ
    X, y : as in ``machine.fit``
    sizes : numbers of rows
    tol, max_iter : of the refinement, as in `GivenFactor`

    Returns
    -------
    list of fitted machines, in the order of `sizes`

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).uniform(-3, 3, (60, 1))
    >>> y = np.sin(X[:, 0])
    >>> machine = KernelRidge(Gaussian(1.0), lam=1e-3, representation="full")
    >>> part, whole = fit_nested(machine, X, y, [40, 60])
    >>> alone = KernelRidge(Gaussian(1.0), lam=1e-3 * 60 / 40, representation="full").fit(X[:40], y[:40])
    >>> bool(np.allclose(part.predict(X), alone.predict(X)))
    True
    """
    n = len(X)
    if isinstance(machine.lam, str) or not isinstance(representation_of(machine.representation), Full):
        raise ValueError("nested fits need representation='full' and a number for lam")
    if not all(0 < m <= n for m in sizes):
        raise ValueError(f"sizes must be numbers of rows from 1 to {n:,}, got {list(sizes)}")
    if not isinstance(machine.kernel, Kernel):
        raise ValueError(
            f"nested fits need the same kernel for all, so an object of one: got {machine.kernel!r}"
        )
    problem, _, plan = machine.planned(X, y)
    shared = f"one factorisation for the machines of the first {', '.join(f'{m:,}' for m in sizes)} rows"
    plan = replace(plan, reasons=(*plan.reasons, shared))
    if not (problem.loss.quadratic and isinstance(problem.A, KernelOperator) and problem.weights is None):
        raise ValueError("nested fits are of least squares, of a kernel of vectors, without weights")
    kept = problem.A.dense() if problem.A.dtype == np.float64 and keeps(n) else None
    if kept is None:
        rough = (problem.A.at(np.float32) or problem.A).dense()
    else:
        rough = Matrix(kept).fill(np.empty((n, n), np.float32))
    factor = Factor(rough, problem.lam * n)
    fitted = []
    for m in sizes:
        matrix = None if kept is None else kept[:m, :m]
        solver = GivenFactor(factor.leading(m), tol, max_iter, matrix)
        part = clone(machine).set_params(solver=solver, lam=machine.lam * n / m)
        part.fit(X[:m], y[:m])
        # The factor may be as large as the memory, and what is fitted does not need it any more.
        part.set_params(solver=machine.solver)
        part.plan_ = replace(plan, examples=m, unknowns=m)
        fitted.append(part)
    return fitted


def keeps(n: int) -> bool:
    """Is there room for a matrix of n rows in float64 beside its factor in float32?

    Examples
    --------
    >>> keeps(10), keeps(10**7)
    (True, False)
    """
    return 12 * n * n <= _SHARE * available_memory()
