"""Machines of a part of the rows and of all on a GPU: exact as long as there is room, with centres beyond.

A factor there takes about a second, so that each machine has one of its own, in double precision, and nothing
need be shared or refined. Where a fit comes to no good end the CPU does what it always does.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer._warnings import unheard
from mercer.estimators import KernelClassifier
from mercer.estimators.base import KernelMachine
from mercer.operators import NotPositiveDefinite
from mercer.representations import Full, Nystrom, Representation
from mercer.solvers import Cholesky
from mercer.tables.model.device import Device
from mercer.tables.model.effort import Effort
from mercer.tables.model.fitting import (
    CENTRES,
    GOOD,
    Fitted,
    beginnings,
    effective_dimension,
    error_by_rows,
    fewer,
    for_rows,
    quadratic,
    solved,
)

# Of the time for the two fits, what those of still fewer rows may take.
_CURVE = 0.3
# With one of these ends what the CPU then tries.
_FAILED = MemoryError, NotPositiveDefinite, np.linalg.LinAlgError


def searched_on(device: Device, effort: Effort, no_room: bool) -> tuple[str, ...]:
    """What is to be said of a search."""
    said = (
        f"a GPU ({device.words}) looked for length scales on up to {effort.final_rows:,} rows and compared "
        f"kernels on up to {effort.most_rows:,}; learned metrics, averages and losses are the CPU's, on fewer"
    )
    short = "others took the GPU's memory: a part of the search was on fewer rows than there was time for"
    return (said, short) if no_room else (said,)


def both_on(
    device: Device, machine: KernelMachine, X: np.ndarray, y: np.ndarray, part: int, seconds: float
) -> Fitted | None:
    """`fit_both` on a GPU; None where the CPU has to do it."""
    (n, d), until = X.shape, time.monotonic() + seconds
    try:
        with unheard(ConvergenceWarning):  # the certificate says how near it came
            if device.rows_fitted(seconds, d, 2, n) == n:
                found = _exact(device, machine, X, y, [part, n])
                if found is not None:
                    left = until - time.monotonic()
                    sizes = beginnings(machine, y[:part])
                    enough = sum(device.fit_seconds(m, d) for m in sizes) <= min(left, _CURVE * seconds)
                    some = _exact(device, machine, X, y, sizes) if enough else []
                    curve = error_by_rows([*(some or []), found[0]], X[part:], y[part:])
                    said = f"fitted on the GPU, exactly: a factor of {n:,} × {n:,} numbers in its memory"
                    return Fitted(found[0], found[1], (said,), curve)
            return _some_of(device, machine, X, y, part, until - time.monotonic())
    except _FAILED:
        return None


def one_on(
    device: Device, machine: KernelMachine, X: np.ndarray, y: np.ndarray, seconds: float
) -> tuple[KernelMachine, tuple[str, ...]] | None:
    """`fit_alone` on a GPU, of least squares with a kernel of vectors; None where the CPU has to do it."""
    n, d = X.shape
    if not (quadratic(machine) and machine.kernel.vectors):
        return None
    try:
        with unheard(ConvergenceWarning):
            if device.rows_fitted(max(seconds, 1.0), d, 1, n) == n:
                made, said = _fitted(device, machine, X, y, Full()), "fitted on the GPU, exactly"
            else:
                m = device.centres_within(seconds, n, d)
                made = _fitted(device, machine, X, y, Nystrom(m))
                said = f"fitted on the GPU: {m:,} centres stand for {n:,} rows"
        return (made, (said,)) if solved([made], GOOD) else None
    except _FAILED:
        return None


def _some_of(
    device: Device, machine: KernelMachine, X: np.ndarray, y: np.ndarray, part: int, seconds: float
) -> Fitted | None:
    """With as many centres as there is time for, or exact on fewer rows, if centres would be too few."""
    n, d = X.shape
    most = device.rows_fitted(seconds, d, 2, n)
    centres = min(device.centres_within(0.5 * seconds, n, d), part)
    needed = CENTRES * effective_dimension(machine.kernel, machine.lam * n, X)
    if centres >= min(needed, 0.5 * most):
        found = [_fitted(device, for_rows(machine, n, m), X[:m], y[:m], Nystrom(centres)) for m in (part, n)]
        said = f"fitted on the GPU: {centres:,} centres stand for {n:,} rows"
        return Fitted(found[0], found[1], (said,)) if solved(found, GOOD) else None
    rows, first = fewer(y if isinstance(machine, KernelClassifier) else None, n, part, most)
    exact = _exact(device, for_rows(machine, n, most), X[rows], y[rows], [first, most])
    said = f"fitted on the GPU, exactly, to {most:,} of the {n:,} rows: with all it would not be done in time"
    return None if exact is None else Fitted(exact[0], exact[1], (said,))


def _exact(
    device: Device, machine: KernelMachine, X: np.ndarray, y: np.ndarray, sizes: list[int]
) -> list[KernelMachine] | None:
    """Machines of the first rows, each with a factor of its own; None where one of them is far from done."""
    found = [_fitted(device, for_rows(machine, len(X), m), X[:m], y[:m], Full()) for m in sizes]
    return found if not found or solved(found, GOOD) else None


def _fitted(
    device: Device, machine: KernelMachine, X: np.ndarray, y: np.ndarray, form: Representation
) -> KernelMachine:
    """One machine. Its predictions are the GPU's for now, what is made of it later is the CPU's."""
    here, exact = clone(machine), isinstance(form, Full)
    there = clone(machine).set_params(representation=form, engine=device.engine)
    there.set_params(solver=Cholesky() if exact else "auto")
    # With centres, products take most of the time, and conjugate gradients refine what float32 leaves.
    there.fit(X if exact else X.astype(np.float32), y)
    return there.set_params(engine=here.engine, solver=here.solver)
