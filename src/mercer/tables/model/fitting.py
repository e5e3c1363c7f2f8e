"""From what a search found to fitted machines: exact, with centres, or exact on a part of the rows."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer._warnings import unheard
from mercer.engines import available_memory
from mercer.estimators import KernelClassifier, KernelLogistic, KernelRegressor, KernelRidge, KernelSVC
from mercer.estimators.base import KernelMachine
from mercer.estimators.nested import fit_nested
from mercer.representations import Full, Nystrom, Representation
from mercer.solvers import CG
from mercer.tables.model.effort import (
    centres_within,
    factor_speed,
    fit_seconds,
    iteration_seconds,
    nested_seconds,
    rows_within,
    values_seconds,
)
from mercer.tables.model.forests import has_forest
from mercer.tables.model.texts import letters_a_row

# Rows of the matrix by whose square the machine's speed is measured.
_PROBE = 1536
# Of the free memory, for the matrix of a kernel.
_SHARE = 0.6
# Iterations that conjugate gradients may take, and where they may stop: predictions don't change any more.
_ITERATIONS, _REFINEMENTS, _ENOUGH, _GOOD = 80, 12, 1e-4, 1e-2
# Centres should be about so many times the effective dimension.
_CENTRES = 1.5
# Machines of fewer rows, to see how the error falls: shares of the rows, the fewest rows, and by how much all
# takes longer with them.
_SHARES, _FEWEST, _MORE = (8, 4, 2), 50, 1.15


@dataclass(frozen=True, eq=False)
class Fitted:
    """A machine for the first part of the rows, one for all of them, and what is to be said."""

    part: KernelMachine
    whole: KernelMachine
    remarks: tuple[str, ...] = ()
    # (rows, error) of machines of fewer rows, and of that of the first part, on the rows after it
    curve: tuple[tuple[int, float], ...] = ()


def squares(machine: KernelMachine) -> bool:
    """Is it least squares, of a kernel of vectors, of examples that count alike?"""
    if isinstance(machine, (KernelSVC, KernelLogistic)) or getattr(machine, "class_weight", None) is not None:
        return False
    plain = isinstance(machine, KernelRidge) or getattr(machine, "loss", "") == "squared"
    return plain and machine.kernel.vectors


def representation(machine: KernelMachine, X: np.ndarray, seconds: float) -> Representation | str:
    """Exact, or with centres."""
    n, d = X.shape
    if isinstance(machine, KernelSVC) or machine.kernel.has_counts:  # texts alone: sparse features
        return "auto"
    if isinstance(machine, (KernelLogistic, KernelRegressor)) and not isinstance(machine, KernelRidge):
        return Full() if n <= 3000 else Nystrom(min(n, 1500))
    seconds = max(seconds, 1.0)  # what takes a second is worth it, however few there are
    letters = letters_a_row(X)
    if fit_seconds(n, d, letters) <= seconds and fits(n):
        return Full()
    return Nystrom(centres_within(seconds, n, letters))


def fits(n: int) -> bool:
    """Is there room for a matrix of n rows in single precision?"""
    return 4.2 * n * n <= _SHARE * available_memory()


def fit_both(machine: KernelMachine, X: np.ndarray, y: np.ndarray, part: int, seconds: float) -> Fitted:
    """Least squares on the first rows and on all of them, as exactly as so many seconds allow.

    Exact by one factorisation for both; where that takes too long, by conjugate gradients on the matrix in
    memory, if they converge soon; else with centres, or exact on as many rows as can be. Rows come in no
    order: the first ones are a sample.
    """
    (n, d), outputs = X.shape, len(np.unique(y)) if isinstance(machine, KernelClassifier) else 1
    machine = clone(machine).set_params(representation=Full())
    with unheard(ConvergenceWarning):  # the certificate says how near it came
        if nested_seconds(n, d, outputs) <= seconds and fits(n):
            sizes = _fewer(machine, y[:part]) if _MORE * nested_seconds(n, d, outputs) <= seconds else []
            *fewer, tested, last = _nested(machine, X, y, sizes, [part, n])
            return Fitted(tested, last, curve=error_by_rows([*fewer, tested], X[part:], y[part:]))
        each = values_seconds(n, d) + _ITERATIONS * iteration_seconds(n)
        if 2 * each <= seconds and fits(n):
            started = time.monotonic()
            found: list[KernelMachine] = []
            for m in (part, n):
                found.append(_iterated(machine, X[:m], y[:m], n))
                if found[-1].solution_.certificate.relative_gradient > _GOOD:
                    break
            else:
                return Fitted(found[0], found[1])
            seconds = max(seconds - (time.monotonic() - started), 0.4 * seconds)
        return _some_of(machine, X, y, part, rows_within(seconds, d, outputs), seconds)


def _iterated(machine: KernelMachine, X: np.ndarray, y: np.ndarray, n: int) -> KernelMachine:
    solver = CG(tol=_ENOUGH, max_iter=_ITERATIONS, store=True)
    return clone(machine).set_params(solver=solver, lam=machine.lam * n / len(y)).fit(X, y)


def _some_of(
    machine: KernelMachine, X: np.ndarray, y: np.ndarray, part: int, most: int, seconds: float
) -> Fitted:
    """With as many centres as there is time for, or exact on fewer rows, if centres would be too few."""
    n = len(X)
    mu, most = machine.lam * n, min(most, n)
    while not fits(most):
        most = int(0.9 * most)
    centres = min(centres_within(0.5 * seconds, n, 0.0), part)
    needed = _CENTRES * effective_dimension(machine.kernel, mu, X)
    if centres >= min(needed, 0.5 * most):
        both = [
            clone(machine).set_params(representation=Nystrom(min(centres, m)), lam=mu / m).fit(X[:m], y[:m])
            for m in (part, n)
        ]
        return Fitted(both[0], both[1], (f"{centres:,} centres stand for {n:,} rows",))
    # Those that are tested must not be among them, and the last machine knows some of these, too.
    first = min(part, int(most * part / n))
    rows = np.concatenate([np.arange(first), np.arange(part, part + most - first)])
    few = clone(machine).set_params(lam=mu / most)
    sizes = _fewer(few, y[:first])
    *fewer, tested, last = _nested(few, X[rows], y[rows], sizes, [first, most])
    said = f"exact on {most:,} of the {n:,} rows: with all of them it would not be done in time"
    return Fitted(tested, last, (said,), error_by_rows([*fewer, tested], X[part:], y[part:]))


def _nested(
    machine: KernelMachine, X: np.ndarray, y: np.ndarray, fewer: list[int], sizes: list[int]
) -> list[KernelMachine]:
    """Machines for so many rows, and, unless one of these has no solution, for fewer of them."""
    try:
        return fit_nested(machine, X, y, [*fewer, *sizes], _ENOUGH, _REFINEMENTS)
    except ValueError:
        if not fewer:
            raise
        return fit_nested(machine, X, y, sizes, _ENOUGH, _REFINEMENTS)


def _fewer(machine: KernelMachine, y: np.ndarray) -> list[int]:
    """Numbers of rows for machines of fewer: an eighth, a quarter, half, where all labels are among them.

    None for a kernel with a forest, which has seen the targets of more rows than those.
    """
    if has_forest(machine.kernel):
        return []
    labels = len(np.unique(y)) if isinstance(machine, KernelClassifier) else 0
    sizes = [len(y) // share for share in _SHARES if len(y) // share >= _FEWEST]
    return [m for m in sizes if not labels or len(np.unique(y[:m])) == labels]


def error_by_rows(
    machines: list[KernelMachine], X: np.ndarray, y: np.ndarray
) -> tuple[tuple[int, float], ...]:
    """(rows, error) of machines on rows they have not seen: root mean squares, or shares of wrong labels.

    Nothing of a single machine.
    """
    if len(machines) < 2:
        return ()
    found = []
    for machine in machines:
        off = machine.predict(X) != y if isinstance(machine, KernelClassifier) else machine.predict(X) - y
        error = np.mean(off) if off.dtype == bool else np.sqrt(np.mean(off**2))
        found.append((machine.plan_.examples, float(error)))
    return tuple(found)


def effective_dimension(kernel: Any, mu: float, X: np.ndarray, few: int = 2000) -> float:
    """tr K(K + μI)⁻¹ for all rows, by its growth from half of a sample to the sample."""
    sample = X[:few]
    K = np.asarray(kernel(sample, sample), dtype=np.float64)
    sizes = []
    for m in (len(sample) // 2, len(sample)):
        values = np.maximum(np.linalg.eigvalsh(K[:m, :m]), 0.0)
        sizes.append(float(np.sum(values / (values + mu))))
    power = float(np.clip(np.log2(sizes[1] / max(sizes[0], 1e-12)), 0.0, 1.0))
    return min(sizes[1] * (len(X) / len(sample)) ** power, float(len(X)))


def fit_alone(machine: KernelMachine, X: np.ndarray, y: np.ndarray, seconds: float) -> KernelMachine:
    """One machine, as exactly as so many seconds allow."""
    machine = clone(machine)
    if not hasattr(machine, "representation"):
        return machine.fit(X, y)
    with unheard(ConvergenceWarning):
        return machine.set_params(representation=representation(machine, X, seconds)).fit(X, y)


def for_rows(machine: KernelMachine, before: int, now: int) -> KernelMachine:
    """The same machine, with the same λn, for another number of rows."""
    again = clone(machine)
    return again.set_params(lam=machine.lam * before / now) if isinstance(machine.lam, float) else again


def pace() -> float:
    """How many times as long as forecast a product of matrices takes here and now; at least 1.

    The machine may be slower than others, or busy: then fewer rows are fitted exactly than could be.
    """
    A = np.ones((_PROBE, _PROBE), np.float32)
    A @ A  # which wakes the threads of BLAS
    started = time.perf_counter()
    A @ A
    seconds = time.perf_counter() - started
    return max(seconds / (2 * _PROBE**3 / factor_speed()), 1.0)
