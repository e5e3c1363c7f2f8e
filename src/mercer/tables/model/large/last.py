"""The last machine: what was found on the sample, fitted to all rows by passes over them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer.estimators import KernelLogistic
from mercer.estimators.base import KernelMachine
from mercer.estimators.calibration import Calibration
from mercer.representations import Nystrom
from mercer.rows import ArrayRows
from mercer.rows.base import watching
from mercer.solvers import Passes
from mercer.tables.model.learn import Learned, Question
from mercer.tables.model.machines import LEAST_LOGISTIC

# What has not been found by then is left: the time is for more centres.
_MOST_PASSES = 30


def fit_last(
    learned: Learned, rows: ArrayRows, centres: int, checkpoint: Any, tell: Callable[[str], None]
) -> KernelMachine:
    """The same kernel, loss and nλ, with centres, on rows that live elsewhere."""
    machine, n = learned.machine, rows.shape[0]
    params = machine.get_params(deep=False)
    if isinstance(machine.lam, float):
        least = LEAST_LOGISTIC if isinstance(machine, KernelLogistic) else 0.0
        params["lam"] = max(machine.lam * machine.plan_.examples / n, min(machine.lam, least))
    if "probability" in params:
        params["probability"] = False  # probabilities come from rows that were kept aside
    params |= {"representation": Nystrom(min(centres, n)), "solver": Passes(max_iter=_MOST_PASSES)}
    with warnings.catch_warnings(), watching(Passing(n, tell)):
        warnings.simplefilter("ignore", ConvergenceWarning)  # the certificate says how near it came
        return type(machine)(**params).fit(rows, checkpoint=checkpoint)


class Passing:
    """Says how far the passes over n rows are, and about how long they will take.

    Examples
    --------
    >>> passing = Passing(1000, print)
    >>> passing(1, 2)
    Fitting to all rows: pass 1, 500 of 1,000 rows
    """

    def __init__(self, n: int, tell: Callable[[str], None]):
        self.n, self.tell = n, tell
        self.passes, self.started = 1, time.monotonic()

    def __call__(self, done: int, count: int) -> None:
        whole = self.passes - 1 + done / count
        what = "Fitting to all rows"
        if whole >= 1.5:  # by then it is known how long one takes
            each = (time.monotonic() - self.started) / whole
            # First in the line, the end of which a narrow terminal cuts off.
            what = f"About {max(Passes.passes + 2 - whole, 1) * each:.0f} s left, fitting to all rows"
        self.tell(f"{what}: pass {self.passes}, {self.n * done // count:,} of {self.n:,} rows")
        if done == count:
            self.passes += 1


def with_probabilities(learned: Learned, machine: KernelMachine, choice: Question) -> Learned:
    """What was learned with another machine, and scores made probabilities by rows that were kept aside."""
    calibration = None
    if choice.classes is not None and not isinstance(machine, KernelLogistic):
        known: Any = machine
        points = learned.columns.transform(choice.table)
        labels = np.searchsorted(known.classes_, choice.y)
        calibration = Calibration.of_scores(known.scores(points), labels, known.coding_)
    return replace(learned, machine=machine, calibration=calibration)


def error_on(learned: Learned, rows: Question) -> float:
    """The root mean squared error, or the error rate."""
    predicted = learned.predict(rows.table)
    if rows.classes is not None:
        return float(np.mean(predicted != rows.y))
    return float(np.sqrt(np.mean((predicted - rows.y) ** 2)))
