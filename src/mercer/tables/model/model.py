"""A fitted answer to a question about a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from mercer._state import is_fitted, require
from mercer.estimators.base import KernelMachine
from mercer.estimators.calibration import Calibration
from mercer.estimators.inputs import Labelled
from mercer.tables.model.columns import Columns
from mercer.tables.model.conformal import Conformal
from mercer.tables.model.evidence import Evidence
from mercer.tables.model.learn import probabilities
from mercer.tables.model.outside import Outside, outside, reach
from mercer.tables.model.schema import Schema
from mercer.tables.model.words import kernel_words, summary


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """What `mercer.fit` returns: a machine that takes tables, and what is known of it.

    Attributes
    ----------
    task : "regression" or "classification"
    target : name of what is predicted
    schema : Schema
        The columns it reads.
    columns : Columns
        How a table becomes points; fitted.
    machine : the kernel machine, fitted to those points
    calibration : how scores become probabilities, for machines without
    conformal : how wide prediction intervals are (regression)
    evidence : Evidence
        Test error beside that of other models, importance of columns, calibration, certificate, bounds, and
        what was tried.
    """

    task: str
    target: str
    schema: Schema
    columns: Columns
    machine: KernelMachine
    calibration: Calibration | None
    conformal: Conformal | None
    evidence: Evidence

    def predict(self, X: Any) -> np.ndarray:
        """Numbers or labels for the rows of a table (anything `mercer.tables.Table.of` takes)."""
        return self._predicted(self.columns.transform(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, classes) probabilities, in the order of ``classes_``; rows sum to one."""
        if self.task != "classification":
            raise AttributeError(
                "a regression has no probabilities; predict_interval gives prediction intervals"
            )
        points = self.columns.transform(X)
        if not len(points):
            return np.empty((0, len(self.machine.classes_)))  # type: ignore[attr-defined]
        return probabilities(self.machine, self.calibration, points)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """(n, 2) conformal prediction intervals: each holds y with probability `coverage`, on average.

        That holds for rows like those learned from. Beyond the ranges seen there (`outside`) nothing is
        known: intervals widen with the distance, as a caution and not as a promise.
        """
        if self.conformal is None:
            raise AttributeError("a classification has no intervals; predict_proba gives probabilities")
        points = self.columns.transform(X)
        if not len(points):
            return np.empty((0, 2))
        middle = self._predicted(points)
        half = self.conformal.half_width(points, coverage)
        far = reach(self.schema, self.schema.conform(X, self.columns.dropped_))
        if far.any():
            widest = self.conformal.widest(coverage)
            half = np.where(far > 0, np.maximum(half, widest * (1 + 4 * far)), half)
        return np.column_stack([middle - half, middle + half])

    def outside(self, X: Any) -> tuple[Outside, ...]:
        """Values beyond the ranges, and words not among those, of the rows learned from."""
        return outside(self.schema, self.schema.conform(X, self.columns.dropped_))

    def _predicted(self, points: np.ndarray) -> np.ndarray:
        """What the machine says of points. Of none it would, as scikit-learn does, refuse to say anything."""
        if not len(points):
            return np.empty(0) if self.classes_ is None else self.classes_[:0].copy()
        return self.machine.predict(points)  # type: ignore[attr-defined]

    def score(self, X: Any, y: Any) -> float:
        """R², or accuracy."""
        from sklearn.metrics import accuracy_score, r2_score

        measure = r2_score if self.task == "regression" else accuracy_score
        return float(measure(y, self.predict(X)))

    @property
    def classes_(self) -> np.ndarray | None:
        """The labels, or None."""
        return getattr(self.machine, "classes_", None)

    @property
    def pipeline_(self) -> Pipeline:
        """A scikit-learn pipeline of the two fitted steps, "columns" and "machine"; it predicts the same."""
        return Pipeline([("columns", self.columns), ("machine", self.machine)])

    def __str__(self) -> str:
        """The model in one line."""
        machine = self.machine
        n = machine.plan_.unknowns
        what = "coefficients" if n == machine.plan_.examples else "centres"
        return (
            f"{type(machine).__name__}: {kernel_words(machine.kernel_)}; {machine.loss_!r}, "
            f"λ = {machine.lam_:.2g}, {n:,} {what}"
        )

    def __repr__(self) -> str:
        first = self.evidence.scores[0]
        rows = len(self.evidence.truth)
        return f"<Model of {self.target!r}: {first.name} {first.value:.4g} on {rows:,} test rows>"

    def summary(self) -> str:
        """What is known, in a page of text."""
        return summary(self)

    def check_state(self) -> None:
        """Refuse parts that are not fitted, or not to each other."""
        machine: Any = self.machine
        spread = None if self.conformal is None else self.conformal.spread
        fitted = is_fitted(self.columns) and is_fitted(machine) and (spread is None or is_fitted(spread))
        require(fitted, "it is not fitted")
        same = self.columns.schema_.columns == self.schema.columns
        require(same, "its columns are not those of its schema")
        labelled = isinstance(machine, Labelled)
        task = "classification" if labelled else "regression"
        require(self.task == task, "its task is not that of its machine")
        widths = {m.n_features_in_ for m in (machine, spread) if m is not None}
        same = widths == {len(self.columns.get_feature_names_out())}
        require(same, "its machine takes other points than its columns make")
        if self.calibration is not None:
            require(labelled, "a regression has no probabilities")
            self.calibration.check_for(machine.coding_)
        elif labelled:
            require(hasattr(machine, "predict_proba"), "its classes have no probabilities")

    def try_state(self) -> None:
        """Answer for a row in which all is missing."""
        nothing = [{c.name: None for c in self.schema.columns}]
        self.predict(nothing)
        if self.task == "classification":
            self.predict_proba(nothing)
        if self.conformal is not None:
            self.predict_interval(nothing)
