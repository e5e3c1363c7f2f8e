"""A fitted answer to a question about a table, in numbers and in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from mercer._params import require_count
from mercer._state import POSITIVE, fits, is_fitted, require
from mercer.estimators.answers import Labelled
from mercer.estimators.base import KernelMachine
from mercer.estimators.calibration import Calibration
from mercer.tables.model.columns import Columns
from mercer.tables.model.conformal import Conformal
from mercer.tables.model.decision import Decision
from mercer.tables.model.evidence import Evidence
from mercer.tables.model.kernel_names import kernel_words
from mercer.tables.model.learn import probabilities
from mercer.tables.model.schema import Schema
from mercer.tables.model.weights import Word, spoken_for
from mercer.tables.reading import Table
from mercer.tables.reading.errors import in_file
from mercer.tables.reading.places import is_place, place_of


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
    decision : Decision
        How probabilities become labels, where `mercer.fit` was given a threshold, costs or weights of labels;
        None: the likeliest label is predicted.

    Examples
    --------
    >>> import mercer, numpy as np
    >>> x = np.random.default_rng(0).uniform(0, 6, 100)
    >>> model = mercer.fit({"x": x}, np.sin(x), target="height", minutes=0.05)
    >>> model.task, model.target, bool(abs(model.predict([{"x": 1.5}])[0] - np.sin(1.5)) < 0.1)
    ('regression', 'height', True)
    """

    task: str
    target: str
    schema: Schema
    columns: Columns
    machine: KernelMachine
    calibration: Calibration | None
    conformal: Conformal | None
    evidence: Evidence
    decision: Decision | None = None

    def predict(self, X: Any) -> np.ndarray:
        """Numbers or labels for the rows of a table (anything `mercer.tables.Table.of` takes), or of a file,
        a folder, a data set or a query.

        One record, a dict of which every value is a single one, is a table of one row, and has one answer:
        ``model.predict({"size": 80, "city": "Bonn"})[0]``.

        Here and where probabilities, intervals and scores are asked for, what does not fit in memory
        is read part by part; answers that do not fit, `write` puts into another file.
        """
        if is_place(X):
            return self._by_parts(X, self.predict)
        return self._predicted(self.columns.transform(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, classes) probabilities, in the order of ``classes_``; rows sum to one."""
        if self.task != "classification":
            raise AttributeError(
                "a regression has no probabilities; predict_interval gives prediction intervals"
            )
        if is_place(X):
            return self._by_parts(X, self.predict_proba)
        points = self.columns.transform(X)
        if not len(points):
            return np.empty((0, len(self.machine.classes_)))  # type: ignore[attr-defined]
        return probabilities(self.machine, self.calibration, points)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """(n, 2) conformal prediction intervals: each holds y with probability `coverage`, on average.

        That holds for rows like those learned from. In gaps between them intervals are as much wider as
        errors grew where blocks of neighbouring rows were left out (`Gaps`). Beyond the ranges seen
        (`outside`) nothing is known: intervals widen with the distance, as a caution and not as a promise.
        """
        if self.conformal is None:
            raise AttributeError("a classification has no intervals; predict_proba gives probabilities")
        if is_place(X):
            return self._by_parts(X, lambda part: self.predict_interval(part, coverage))
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

    def write(
        self,
        X: Any,
        output: str | PathLike[str],
        *,
        coverage: float = 0.9,
        proba: bool = False,
        replace: bool = False,
    ) -> int:
        """Answer for a table elsewhere, into a file, in the memory of a part of it.

        Parameters
        ----------
        X : table, or where it is
            The path of a file, a folder, a pattern, a list of files, a ``pyarrow.dataset.Dataset``, or a
            query, as `mercer.fit` takes them.
        output : path of a .parquet, .csv or .tsv file
            It appears when it is whole, with the columns prediction, low and high of a regression, or
            prediction and its probability.
        coverage : float
            That of the intervals from low to high.
        proba : bool
            The probability of every class instead, of a classification.
        replace : bool
            Replace a file that is there.

        Returns
        -------
        int
            How many rows were written.
        """
        from mercer.tables.model.answers import write_answers

        return write_answers(self, X, output, coverage=coverage, proba=proba, replace=replace)

    def outside(self, X: Any) -> tuple[Outside, ...]:
        """Values beyond the ranges, and words not among those, of the rows learned from."""
        return outside(self.schema, self.schema.conform(X, self.columns.dropped_))

    def _by_parts(self, X: Any, answer: Callable[[Table], np.ndarray]) -> np.ndarray:
        """Answers for the table of a place, which is read part by part if it does not fit in memory."""
        from mercer.tables.model.answers import tables_of

        place = place_of(X)
        with in_file(place.name):
            return np.concatenate([answer(table) for table in tables_of(self, place)])

    def _predicted(self, points: np.ndarray) -> np.ndarray:
        """What the machine says of points. Of none it would, as scikit-learn does, refuse to say anything."""
        if not len(points):
            return np.empty(0) if self.classes_ is None else self.classes_[:0].copy()
        if self.decision is None or self.classes_ is None:
            return self.machine.predict(points)  # type: ignore[attr-defined]
        return self.decision.labels(probabilities(self.machine, self.calibration, points), self.classes_)

    def words(self, count: int = 20) -> tuple[Word, ...]:
        """Words of texts, and parts of words, that carry what it says, those of the largest effects first.

        In the kernel's features (`mercer.functions.feature_weights`) a prediction is a sum over words, beside
        the part of the numbers; the effect of a word is the deviation of its term over the rows learned
        from. Nothing if no text is learned from. The model keeps up to thirty for each label, or for
        numbers thirty that raise them and thirty that lower them.
        """
        return self.evidence.words[: require_count(count, "count")]

    def score(self, X: Any, y: Any) -> float:
        """R², or accuracy, of a table, a file, or whatever `predict` takes.

        `y` is an array, or the name of a column of X; rows in which that is missing do not count.
        """
        if isinstance(y, str):
            from mercer.tables.model.answers import score_by_column

            return score_by_column(self, X, y)
        from sklearn.metrics import accuracy_score, r2_score

        measure = r2_score if self.task == "regression" else accuracy_score
        return float(measure(y, self.predict(X)))

    @property
    def classes_(self) -> np.ndarray | None:
        """The labels, or None."""
        return getattr(self.machine, "classes_", None)

    @property
    def learned_from(self) -> str:
        """How many rows the machine was fitted to, in words, and of how many if it was not all of them."""
        learned, rows = self.machine.plan_.examples, self.evidence.rows
        return f"learned from {learned:,} of {rows:,} rows" if learned < rows else f"{rows:,} rows"

    @property
    def pipeline_(self) -> Pipeline:
        """A scikit-learn pipeline of the two fitted steps, "columns" and "machine".

        It predicts the same, unless there is a `decision`, which it does not know.
        """
        return Pipeline([("columns", self.columns), ("machine", self.machine)])

    def __str__(self) -> str:
        """The model in one line."""
        machine = self.machine
        n = machine.plan_.unknowns
        what = "coefficients" if n == machine.plan_.examples else "centres"
        kernel = kernel_words(machine.kernel_, self.columns.get_feature_names_out())
        return f"{type(machine).__name__}: {kernel}; {machine.loss_!r}, λ = {machine.lam_:.2g}, {n:,} {what}"

    def __repr__(self) -> str:
        first = self.evidence.scores[0]
        rows = len(self.evidence.truth)
        return f"<Model of {self.target!r}: {first.name} {first.value:.4g} on {rows:,} test rows>"

    def _repr_html_(self) -> str:
        """What is known, for a notebook; all text in it is escaped."""
        from mercer.tables.model.model_html import model_html

        return model_html(self)

    def summary(self) -> str:
        """What is known, in a page of text."""
        e, what = self.evidence, f"{self.task.capitalize()} of {self.target!r}"
        lines = [
            f"{what}, {self.learned_from}, {len(self.schema.names)} columns",
            f"  {self}",
            f"Tested by {e.how}:",
        ]
        width = max(len(c.name) for c in e.contenders)
        for c in e.contenders:
            scores = [s for s in c.scores if s.name in e.shown]
            shown = "   ".join(f"{s.name} {s.value:.4g} [{s.low:.4g}, {s.high:.4g}]" for s in scores)
            lines.append(f"  {c.name:<{width}}  {shown}")
        lines += [f"{sentence[:1].upper()}{sentence[1:]}." for sentence in e.sentences]
        if top := e.weighty[:6]:
            shown = ", ".join(f"{i.column} +{i.increase:.3g}" for i in top)
            lines.append(f"Columns that matter (growth of the error when shuffled): {shown}")
        if carriers := self.words(8):
            shown = ", ".join(f"{word.text!r}{spoken_for(word)}" for word in carriers)
            lines.append(f"Words that matter: {shown}")
        if e.parts:
            shown = ", ".join(f"{name} ({share:.0%})" for name, share in e.parts)
            lines.append(f"Averaged kernels: {shown}")
        if e.curve:
            of = "RMSE" if self.task == "regression" else "error rate"
            shown = ", ".join(f"{error:.4g} ({rows:,})" for rows, error in e.curve)
            lines.append(f"{of} on test rows with fewer rows to learn from: {shown}")
        if (held := dict(e.coverage).get(0.9)) is not None:
            lines.append(f"Intervals of nominal 90 % covered {held:.1%} of test rows")
        lines.append(f"Solver: {e.certificate}")
        lines += [f"{bound}" for bound in e.telling]
        lines += [f"Left out: {name} ({why})" for name, why in list(e.dropped.items())[:8]]
        return "\n".join(lines + [f"Note: {remark}" for remark in e.notes])

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
        made = [m for m in (machine, spread) if m is not None]
        texts = {not m.kernel_.vectors for m in made}
        gaps = None if self.conformal is None else self.conformal.gaps
        if gaps is not None:
            texts.add(not gaps.kernel.vectors)
        require(texts == {bool(self.columns.texts)}, "its machine takes other points than its columns make")
        if not self.columns.texts:
            widths = {m.n_features_in_ for m in made} | ({gaps.points.shape[1]} if gaps else set())
            same = widths == {len(self.columns.get_feature_names_out())}
            require(same, "its machine takes other points than its columns make")
        if self.calibration is not None:
            require(labelled, "a regression has no probabilities")
            self.calibration.check_for(machine.coding_)
        elif labelled:
            require(hasattr(machine, "predict_proba"), "its classes have no probabilities")
        if self.decision is not None:
            require(labelled, "a regression decides on no labels")
            self.decision.check_for(machine.classes_)
        weights = getattr(machine, "class_weight", None)
        if weights is not None:
            known = isinstance(weights, dict) and set(weights) <= set(machine.classes_.tolist())
            sound = known and all(fits(w, POSITIVE) for w in weights.values())
            require(sound, "the weights of its labels are no positive numbers")

    def try_state(self) -> None:
        """Answer for a row in which all is missing."""
        nothing = [{c.name: None for c in self.schema.columns}]
        self.predict(nothing)
        if self.task == "classification":
            self.predict_proba(nothing)
        if self.conformal is not None:
            self.predict_interval(nothing)


@dataclass(frozen=True)
class Outside:
    """A value beyond what was seen."""

    row: int  # number of the row, from 0
    column: str
    value: float | str  # the number, the date in ISO form, or the word
    seen: str  # what was seen, in words

    def __str__(self) -> str:
        value = f"{self.value:g}" if isinstance(self.value, float) else repr(self.value)
        return f"row {self.row + 1}: {self.column} = {value}, seen {self.seen}"


def outside(schema: Schema, table: Table) -> tuple[Outside, ...]:
    """Values beyond the range, or words not among those, of the rows that were learned from.

    Examples
    --------
    >>> schema = Schema.of(Table.of({"size": [1.0, 2.5], "city": ["Bonn", "Ulm"]}))
    >>> print(*outside(schema, Table.of({"size": [2.0, 9.0], "city": ["Bonn", "Rome"]})), sep="\\n")
    row 2: size = 9, seen 1 to 2.5
    row 2: city = 'Rome', seen 2 other words
    """
    found: list[Outside] = []
    for c in schema.columns:
        if c.name not in table:
            continue
        values = table[c.name]
        if c.kind == "category":
            known = set(c.categories or ())
            seen = f"{len(known)} other words"
            rows = [i for i, v in enumerate(values) if v is not None and v not in known] if known else []
            found += [Outside(i, c.name, str(values[i]), seen) for i in rows]
        elif c.low is not None:
            low, high = (c.low, c.high) if c.kind == "number" else np.array([c.low, c.high], "datetime64[us]")
            beyond = np.flatnonzero((values < low) | (values > high))
            seen = f"{c.low:g} to {c.high:g}" if c.kind == "number" else f"{c.low} to {c.high}"
            found += [
                Outside(int(i), c.name, float(values[i]) if c.kind == "number" else str(values[i]), seen)
                for i in beyond
            ]
    return tuple(sorted(found, key=lambda o: o.row))


def reach(schema: Schema, table: Table) -> np.ndarray:
    """How far each row lies beyond the ranges that were seen, in widths of those ranges; 0 inside."""
    far = np.zeros(len(table))
    for c in schema.columns:
        if c.kind == "category" or c.name not in table or c.low is None:
            continue
        values = table[c.name]
        if c.kind == "date":
            low, high = np.array([c.low, c.high], "datetime64[us]").astype(np.float64)
            values = np.where(np.isnat(values), low, values.astype(np.float64))
        else:
            low, high = float(c.low), float(c.high)
        width = high - low
        if not width > 0:
            continue  # one value, and gaps: there is no measure of far
        with np.errstate(over="ignore"):
            beyond = np.fmax(np.fmax(low - values, values - high), 0) / width
        far = np.fmax(far, np.minimum(beyond, 1e6))
    return far
