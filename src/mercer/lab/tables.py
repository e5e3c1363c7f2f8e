"""/api/model, /api/predict and /report: a table model, asked "what if?"."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from mercer._http.refusal import Refusal, plain, to_bytes
from mercer.lab.fields import Fields
from mercer.tables.model import Model
from mercer.tables.model.places import middle, places
from mercer.tables.model.schema import Column
from mercer.tables.reading import Table
from mercer.tables.reading.errors import shown
from mercer.tables.serve.rows import needed, parse

_COVERAGE = 0.9
_LEVELS = 50


class TableCorner:
    """A model of a table, and what the page asks of it."""

    def __init__(self, model: Model):
        if not isinstance(model, Model):
            raise TypeError(f"the lab takes a Model of mercer.fit, got {type(model).__name__}")
        self.model = model
        self.encoders = {encoder.name: encoder for encoder in model.columns.encoders_}

    @cached_property
    def report(self) -> str:
        """The model's page, as `mercer report` writes it; drawn when it is first asked for."""
        from mercer.tables.report import model_report  # which needs Matplotlib

        return model_report(self.model).html()

    def described(self) -> dict[str, Any]:
        """The answer to /api/model."""
        model = self.model
        importance = [
            {"column": i.column, "value": plain(float(i.increase))} for i in model.evidence.importance
        ]
        return self.named() | {
            "classes": None if model.classes_ is None else plain(model.classes_),
            "columns": [self._column(column) for column in needed(model)],
            "importance": importance,
            "coverage": _COVERAGE,
            "summary": model.summary(),
        }

    def named(self) -> dict[str, Any]:
        """What it predicts."""
        return {"target": self.model.target, "task": self.model.task}

    def _column(self, column: Column) -> dict[str, Any]:
        numeric = column.kind == "number"
        return {
            "name": column.name,
            "kind": column.kind,
            "low": plain(column.low) if numeric else column.low,
            "high": plain(column.high) if numeric else column.high,
            "typical": self._typical(column),
            "levels": list((column.categories or ())[:_LEVELS]) if column.kind == "category" else None,
        }

    def _typical(self, column: Column) -> Any:
        """The middle of a column; of whole numbers, as far as their ends tell, a whole one."""
        if column.name not in self.encoders:
            return None
        found = _word(middle(self.encoders[column.name])[0])
        if column.kind == "number" and found is not None and column.high - column.low > 1:
            whole = float(column.low).is_integer() and float(column.high).is_integer()
            return round(found) if whole else found
        return found

    def predict(self, fields: Fields) -> dict[str, Any]:
        """The answer to a request of /api/predict."""
        fields.only("row", "column")
        row, model = fields.inner("row").only(*(c.name for c in needed(self.model))).values, self.model
        endless = next((name for name, v in row.items() if isinstance(v, float) and not np.isfinite(v)), None)
        if endless is not None:
            raise Refusal(422, f"{shown(endless)}: give a number that is not as large as that", field="row")
        try:
            table = parse(to_bytes({"rows": [row]}), model, 1).table
        except Refusal as refusal:
            raise Refusal(
                422, refusal.problem.removeprefix("rows[0]").lstrip(" :"), field="row", column=refusal.column
            ) from None
        try:
            return self._answered(table, fields.get("column"))
        except ValueError as error:  # numbers that are too large to compute with
            raise Refusal(422, str(error)[:500], field="row") from None

    def _answered(self, table: Table, column: Any) -> dict[str, Any]:
        model = self.model
        predicted = model.predict(table)[0]
        answer: dict[str, Any] = {"prediction": plain(predicted), "interval": None, "probabilities": None}
        if model.task == "classification":
            answer["probabilities"] = self._likely(model.predict_proba(table)[0])
        elif model.conformal is not None:
            answer["interval"] = plain(model.predict_interval(table, _COVERAGE)[0])
        answer["notes"] = [
            f"outside of what was learned: {str(o).removeprefix('row 1: ')}" for o in model.outside(table)
        ]
        if column is not None:
            answer["dependence"] = self._along(table, column, predicted)
        return answer

    def _along(self, table: Table, column: Any, predicted: Any) -> dict[str, Any]:
        """Predictions with one column running over its values, all else held."""
        known = {c.name: c for c in needed(self.model)}
        if not isinstance(column, str) or column not in known:
            raise Refusal(422, f"column: there is none called {shown(column)}", field="column")
        if known[column].kind == "text" or column not in self.encoders:
            return {"values": [], "predictions": [], "probabilities": None}
        values = places(known[column], self.encoders[column])
        run = Table({c: values if c == column else np.repeat(table[c], len(values)) for c in table.names})
        said = [_word(v) for v in values]
        if self.model.task == "regression":
            return {"values": said, "predictions": plain(self.model.predict(run)), "probabilities": None}
        P = self.model.predict_proba(run)
        own = int(np.flatnonzero(np.asarray(self.model.classes_) == predicted)[0])
        every = {str(c): plain(P[:, j]) for j, c in enumerate(self.model.classes_)}  # type: ignore[arg-type]
        return {"values": said, "predictions": plain(P[:, own]), "of": str(predicted), "probabilities": every}

    def _likely(self, P: np.ndarray) -> dict[str, Any]:
        return {str(c): plain(float(p)) for c, p in zip(self.model.classes_, P, strict=True)}  # type: ignore[arg-type]


def _word(value: Any) -> Any:
    """A value of a column as JSON has it; dates in ISO form."""
    if isinstance(value, np.datetime64):
        return str(value).removesuffix("T00:00:00.000000")
    return plain(value)
