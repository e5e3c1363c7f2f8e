"""What a stream has taught: a machine that goes on learning, and all that is needed to go on with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from mercer._state import COUNT, NUMBER, ONE_OR_MORE, POSITIVE, require
from mercer.estimators.inputs import Labelled
from mercer.online.drift import MeanShift
from mercer.online.encoding import Encoding
from mercer.online.machine import OnlineMachine
from mercer.online.metrics import Metrics
from mercer.tables.reading import Table


@dataclass(eq=False)
class Streamed:
    """A machine and where it is in its stream; `mercer.tables.stream.run_stream` makes one, files keep it.

    Attributes
    ----------
    machine : OnlineKernelRegressor or OnlineKernelClassifier
    target : str
        What it predicts; the column of that name was y.
    batch : int
        Rows that were learned at a time.
    position : int
        Rows of the stream so far.
    metrics : Metrics
        What predictions were worth, each made before its row was learned: `total`, `late`, `history`.
    encoding : Encoding or None
        From columns to points; None where points are what the kernel takes.
    drift : MeanShift or None
    drifts : list of int
        Rows at which the stream was found to have changed.
    restarts : int
        How often the machine began again.
    labels : list
        Those it knew before it did.
    kinds : dict
        What columns are.
    written : int
        Bytes of the file of predictions so far.
    centre, scale : float
        The machine learns (y − centre)/scale: mean and deviation of numbers in the first batch, 0 and 1
        where y is not standardised.
    """

    machine: OnlineMachine
    target: str
    batch: int
    metrics: Metrics
    encoding: Encoding | None = None
    drift: Any = None
    position: int = 0
    drifts: list[int] = field(default_factory=list)
    restarts: int = 0
    labels: list[Any] = field(default_factory=list)
    kinds: dict[str, str] = field(default_factory=dict)
    written: int = 0
    centre: float = 0.0
    scale: float = 1.0

    @property
    def task(self) -> str:
        """ "classification" or "regression" """
        return "classification" if isinstance(self.machine, Labelled) else "regression"

    def points(self, X: Any) -> Any:
        """Points of the machine: X as a table, if the stream was one."""
        if self.encoding is None:
            return X
        table = X if isinstance(X, Table) else Table.of(X, kinds=self.kinds)
        return self.encoding.transform(table.columns)

    def predict(self, X: Any) -> np.ndarray:
        """Predictions for the rows of a table (a Table, data frame, dict of columns, list of dicts)."""
        machine: Any = self.machine
        return self.in_units(machine.predict(self.points(X)))

    def in_units(self, said: np.ndarray) -> np.ndarray:
        """What the machine predicts, in the units of y."""
        return said if self.task == "classification" else said * self.scale + self.centre

    @property
    def classes_(self) -> np.ndarray | None:
        """The labels met so far; None of a regression, and before there were any."""
        return getattr(self.machine, "classes_", None)

    @available_if(lambda self: hasattr(self.machine, "predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, where the machine has them."""
        machine: Any = self.machine
        return machine.predict_proba(self.points(X))

    def __str__(self) -> str:
        said = ", ".join(f"{name} {value:.4g}" for name, value in self.metrics.total.items())
        return f"{type(self.machine).__name__} after {self.position:,} rows: {said or 'nothing learned'}"

    holds = {
        "batch": ONE_OR_MORE,
        **dict.fromkeys(("position", "restarts", "written"), COUNT),
        "drift": (None, MeanShift),
        "centre": NUMBER,
        "scale": POSITIVE,
    }

    def check_state(self) -> None:
        """Refuse a machine that takes other points, or has another task."""
        fine = all(type(n) is int for n in self.drifts) and self.metrics.task == self.task
        require(fine, "the state of a stream makes no sense")
        width = getattr(self.machine, "n_features_in_", None)
        same = self.encoding is None or width in (None, self.encoding.width)
        require(same, "the columns of a stream make other points than its machine takes")
