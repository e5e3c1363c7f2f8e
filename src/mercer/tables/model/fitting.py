"""From what a search found to fitted machines: exact, with centres, or exact on a part of the rows."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer._warnings import unheard
from mercer.engines import Tiled, available_memory
from mercer.estimators import KernelClassifier, KernelLogistic, KernelRegressor, KernelRidge, KernelSVC
from mercer.estimators.base import KernelMachine
from mercer.estimators.nested import fit_nested, keeps
from mercer.operators import NotPositiveDefinite
from mercer.representations import Full, Nystrom, Representation
from mercer.solvers import CG
from mercer.tables.model.effort import centres_within, fit_seconds
from mercer.tables.model.forests import has_forest
from mercer.tables.model.speed import Speed
from mercer.tables.model.texts import letters_a_row

# So many rows are fitted exactly in a second or two, whatever the kernel.
_FEW = 3000
# Of the free memory, for the matrix of a kernel.
_SHARE = 0.6
# Iterations that conjugate gradients may take, and where they may stop: predictions don't change any more.
_ITERATIONS, _ENOUGH, GOOD = 80, 1e-4, 1e-2
# Refinements of a factor, where the matrix is kept beside it, and where each computes it anew.
_REFINEMENTS = {True: 24, False: 12}
# A fit for each of two in double precision takes so many times as long as one factorisation for both. Of the
# time for a fit, what is used at least where one was tried in vain.
_ANEW, _LEFT = 3.0, 0.4
_NO_ROOM = "the kernel matrix does not fit in the memory that is free: there are centres instead"
# Centres should be about so many times the effective dimension.
CENTRES = 1.5
# Coordinates of the sample that says what it is.
_FEW_VALUES = 2_000_000
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


def quadratic(machine: KernelMachine) -> bool:
    """Is it least squares, whose fits can be forecast?"""
    if isinstance(machine, (KernelSVC, KernelLogistic)):
        return False
    return isinstance(machine, KernelRidge) or getattr(machine, "loss", "") == "squared"


def squares(machine: KernelMachine) -> bool:
    """Is it least squares, of a kernel of vectors, of examples that count alike?"""
    alike = getattr(machine, "class_weight", None) is None
    return quadratic(machine) and alike and machine.kernel.vectors


def representation(machine: KernelMachine, X: np.ndarray, seconds: float) -> Representation | str:
    """Exact, or with centres."""
    n, d = X.shape
    if isinstance(machine, KernelSVC) or machine.kernel.has_counts:  # texts alone: sparse features
        return "auto"
    if isinstance(machine, (KernelLogistic, KernelRegressor)) and not isinstance(machine, KernelRidge):
        return Full() if n <= 3000 else Nystrom(min(n, 1500))
    seconds = max(seconds, 1.0)  # what takes a second is worth it, however few there are
    letters = letters_a_row(X)
    # Of few rows nothing is measured: that would take as long as the fit.
    if (letters or n <= _FEW) and fit_seconds(n, d, letters) <= seconds and fits(n):
        return Full()
    if letters:
        return Nystrom(centres_within(seconds, n, letters))
    speed = Speed.of(machine.kernel, X)
    if speed.exact(n) <= seconds and fits(n):
        return Full()
    return Nystrom(speed.centres_within(seconds, n))


def fits(n: int) -> bool:
    """Is there room for a matrix of n rows in single precision?"""
    return 4.2 * n * n <= _SHARE * available_memory()


def fit_both(
    machine: KernelMachine,
    X: np.ndarray,
    y: np.ndarray,
    part: int,
    seconds: float,
    speed: Speed | None = None,
) -> Fitted:
    """Least squares on the first rows and on all of them, as exactly as so many seconds allow.

    Exact by one factorisation for both, or, where single precision is not enough for that, by one for each;
    where that takes too long, by conjugate gradients on the matrix in memory, if they converge soon; else
    with centres, or exact on as many rows as can be. Rows come in no order: the first ones are a sample.
    """
    n, until = len(X), time.monotonic() + seconds
    speed = Speed.of(machine.kernel, X) if speed is None else speed
    machine = clone(machine).set_params(representation=Full())

    def left() -> float:
        return max(until - time.monotonic(), _LEFT * seconds)

    with unheard(ConvergenceWarning):  # the certificate says how near it came
        forecast = speed.exact(n)
        if forecast <= seconds and fits(n):
            sizes = beginnings(machine, y[:part]) if _MORE * forecast <= seconds else []
            made = _nested(machine, X, y, [*sizes, part, n])
            found = made[-2:]
            if not solved(found, _ENOUGH) and _ANEW * forecast <= left():
                found = _anew(machine, X, y, [part, n])
            elif not solved(found, GOOD):
                return _some_of(machine, X, y, part, left(), speed)
            tested, last = found
            return Fitted(tested, last, (), error_by_rows([*made[:-2], tested], X[part:], y[part:]))
        if 2 * speed.iterated(n, _ITERATIONS) <= seconds and fits(n):
            found = []
            for m in (part, n):
                found.append(_iterated(machine, X[:m], y[:m], n))
                if not solved(found, GOOD):
                    break
            else:
                tested, last = found
                return Fitted(tested, last)
        return _some_of(machine, X, y, part, left(), speed)


def fit_few(
    machine: KernelMachine, X: np.ndarray, y: np.ndarray, part: int, seconds: float, speed: Speed
) -> Fitted:
    """The same on as many rows as take so long: what is left where a fit to all of them comes to no end."""
    with unheard(ConvergenceWarning):
        machine = clone(machine).set_params(representation=Full())
        return _exact_on(machine, X, y, part, seconds, speed, curve=False)


def solved(machines: list[KernelMachine], tol: float) -> bool:
    """Is the gradient of each below the tolerance, as a share of what it is where nothing is learned?"""
    found = [m.solution_.certificate.relative_gradient for m in machines]
    return bool(found) and all(g is not None and g <= tol for g in found)  # which NaN is not


def _nested(machine: KernelMachine, X: np.ndarray, y: np.ndarray, sizes: list[int]) -> list[KernelMachine]:
    """By one factorisation; nothing, if there is none."""
    try:
        return fit_nested(machine, X, y, sizes, _ENOUGH, _REFINEMENTS[keeps(len(X))])
    except NotPositiveDefinite:
        return []


def _anew(machine: KernelMachine, X: np.ndarray, y: np.ndarray, sizes: list[int]) -> list[KernelMachine]:
    """Each by itself, in double precision."""
    return [for_rows(machine, len(X), m).fit(X[:m], y[:m]) for m in sizes]


def _iterated(machine: KernelMachine, X: np.ndarray, y: np.ndarray, n: int) -> KernelMachine:
    solver = CG(tol=_ENOUGH, max_iter=_ITERATIONS, store=True)
    return for_rows(machine, n, len(y)).set_params(solver=solver).fit(X, y)


def _some_of(
    machine: KernelMachine, X: np.ndarray, y: np.ndarray, part: int, seconds: float, speed: Speed
) -> Fitted:
    """With as many centres as there is time for, or exact on fewer rows, if centres would be too few."""
    n = len(X)
    centres = min(speed.centres_within(0.5 * seconds, n), part)
    needed = CENTRES * effective_dimension(machine.kernel, machine.lam * n, X)
    if centres < min(needed, 0.5 * _most(seconds, n, speed)):
        return _exact_on(machine, X, y, part, seconds, speed)
    both = [
        for_rows(machine, n, m).set_params(representation=Nystrom(min(centres, m))).fit(X[:m], y[:m])
        for m in (part, n)
    ]
    return Fitted(both[0], both[1], (f"{centres:,} centres stand for {n:,} rows",))


def _exact_on(
    machine: KernelMachine,
    X: np.ndarray,
    y: np.ndarray,
    part: int,
    seconds: float,
    speed: Speed,
    curve: bool = True,
) -> Fitted:
    """Exact on as many rows as so many seconds and the free memory allow."""
    n, labels = len(X), y if isinstance(machine, KernelClassifier) else None
    most = _most(seconds, n, speed)
    rows, first = fewer(labels, n, part, most)
    sizes = beginnings(machine, y[rows[:first]]) if curve else []
    made = _nested(for_rows(machine, n, most), X[rows], y[rows], [*sizes, first, most])
    found, errors = made[-2:], error_by_rows(made[:-1], X[part:], y[part:])
    if not solved(found, GOOD):
        most = min(speed.rows_within(_LEFT * seconds / _ANEW, n), most)
        rows, first = fewer(labels, n, part, most)
        found, errors = _anew(for_rows(machine, n, most), X[rows], y[rows], [first, most]), ()
    said = f"exact on {most:,} of the {n:,} rows: with all of them it would not be done in time"
    tested, last = found
    return Fitted(tested, last, (said,) if most < n else (), errors)


def _most(seconds: float, n: int, speed: Speed) -> int:
    """Rows for which there are time and memory."""
    most = speed.rows_within(seconds, n)
    while not fits(most):
        most = int(0.9 * most)
    return most


def fewer(labels: np.ndarray | None, n: int, part: int, most: int) -> tuple[np.ndarray, int]:
    """So many of n rows, and how many of them come first and are of the first part; with all its labels.

    Those that are tested are not among the first, and the last machine knows some of these, too.
    """
    first, order = min(part, int(most * part / n)), np.arange(part)
    if labels is not None:
        one_each = np.unique(labels[:part], return_index=True)[1]
        order = np.concatenate([one_each, np.setdiff1d(order, one_each)])
    return np.concatenate([order[:first], np.arange(part, part + most - first)]), first


def beginnings(machine: KernelMachine, y: np.ndarray) -> list[int]:
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

    Nothing of a single machine, nor where one of them is far from its minimum.
    """
    if len(machines) < 2 or not solved(machines, GOOD):
        return ()
    found = []
    for machine in machines:
        off = machine.predict(X) != y if isinstance(machine, KernelClassifier) else machine.predict(X) - y
        error = np.mean(off) if off.dtype == bool else np.sqrt(np.mean(off**2))
        found.append((machine.plan_.examples, float(error)))
    return tuple(found)


def effective_dimension(kernel: Any, mu: float, X: np.ndarray, few: int = 2000) -> float:
    """tr K(K + μI)⁻¹ for all rows, by its growth from half of a sample to the sample."""
    sample = X[: min(few, max(_FEW_VALUES // X.shape[1], _FEWEST))]
    K = np.asarray(Tiled().operator(kernel, sample).dense(), dtype=np.float64)
    sizes = []
    for m in (len(sample) // 2, len(sample)):
        values = np.maximum(np.linalg.eigvalsh(K[:m, :m]), 0.0)
        sizes.append(float(np.sum(values / (values + mu))))
    power = float(np.clip(np.log2(sizes[1] / max(sizes[0], 1e-12)), 0.0, 1.0))
    return min(sizes[1] * (len(X) / len(sample)) ** power, float(len(X)))


def fit_alone(
    machine: KernelMachine, X: np.ndarray, y: np.ndarray, seconds: float
) -> tuple[KernelMachine, tuple[str, ...]]:
    """One machine, as exactly as so many seconds allow; and what is to be said of it."""
    machine = clone(machine)
    if not hasattr(machine, "representation"):
        return machine.fit(X, y), ()
    form = representation(machine, X, seconds)
    short = isinstance(form, Nystrom) and quadratic(machine) and not fits(len(X))
    with unheard(ConvergenceWarning):
        return machine.set_params(representation=form).fit(X, y), (_NO_ROOM,) * short


def for_rows(machine: KernelMachine, before: int, now: int) -> KernelMachine:
    """The same machine, with the same λn, for another number of rows."""
    again = clone(machine)
    return again.set_params(lam=machine.lam * before / now) if isinstance(machine.lam, float) else again
