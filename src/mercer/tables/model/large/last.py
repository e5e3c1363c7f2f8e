"""The last machine: what was found on the sample, fitted to all rows by passes over them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._warnings import unheard
from mercer.engines import Dask, Engine
from mercer.estimators import KernelLogistic
from mercer.estimators.base import KernelMachine
from mercer.estimators.calibration import Calibration
from mercer.representations import Nystrom
from mercer.rows import ArrayRows, progress
from mercer.selection.crew import ClusterCrew, Crew
from mercer.solvers import Passes
from mercer.tables.model.decision import row_weights
from mercer.tables.model.learn import Learned, Question
from mercer.tables.model.machines import LEAST_LOGISTIC

# What has not been found by then is left: the time is for more centres.
_MOST_PASSES = 30


def engine_of(crew: Crew, folder: Path) -> tuple[Engine | None, list[str]]:
    """The cluster's engine, if its workers see the points; if they do not, that is to be said."""
    if not isinstance(crew, ClusterCrew):
        return None, []
    if crew.sees(folder):
        return Dask(crew.client), []
    return None, [
        "the workers of the cluster do not see the folder for temporary files, so that the passes over all "
        "rows were made without them: TMPDIR can name one on a disk that all share"
    ]


def fit_last(
    learned: Learned,
    rows: ArrayRows,
    centres: int,
    checkpoint: Any,
    tell: Callable[[str], None],
    engine: Engine | None = None,
) -> KernelMachine:
    """The same kernel, loss and nλ, with centres, on rows that live elsewhere; None: the engine it has."""
    machine, n = learned.machine, rows.shape[0]
    params = machine.get_params(deep=False)
    if isinstance(machine.lam, float):
        least = LEAST_LOGISTIC if isinstance(machine, KernelLogistic) else 0.0
        params["lam"] = max(machine.lam * machine.plan_.examples / n, min(machine.lam, least))
    if "probability" in params:
        params["probability"] = False  # probabilities come from rows that were kept aside
    if engine is not None:
        params["engine"] = engine
    params |= {"representation": Nystrom(min(centres, n)), "solver": Passes(max_iter=_MOST_PASSES)}

    def say(text: str) -> None:
        tell(f"Fitting to all rows: {text}")

    # Besides the steps there are a look at the rows, and the certificate.
    # How near to the minimum it came the certificate says.
    with unheard(ConvergenceWarning), progress(say, passes=Passes.passes + 2, every=0):
        return type(machine)(**params).fit(rows, checkpoint=checkpoint)


def with_probabilities(learned: Learned, machine: KernelMachine, choice: Question) -> Learned:
    """What was learned with another machine, and scores made probabilities by rows that were kept aside."""
    calibration = None
    if choice.classes is not None and not isinstance(machine, KernelLogistic):
        known: Any = machine
        points = learned.columns.transform(choice.table)
        labels = np.searchsorted(known.classes_, choice.y)
        weights = row_weights(machine, choice.y)
        calibration = Calibration.of_scores(known.scores(points), labels, known.coding_, weights)
    return replace(learned, machine=machine, calibration=calibration)


def error_on(learned: Learned, rows: Question) -> float:
    """The root mean squared error, or the error rate."""
    predicted = learned.predict(rows.table)
    if rows.classes is not None:
        return float(np.mean(predicted != rows.y))
    return float(np.sqrt(np.mean((predicted - rows.y) ** 2)))
