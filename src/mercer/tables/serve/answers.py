"""From requests to answers: one prediction for a whole batch, then to each its own rows."""

from __future__ import annotations

import logging
from itertools import pairwise
from typing import Any

import numpy as np

from mercer.tables.model import Model
from mercer.tables.reading import Table
from mercer.tables.serve.refusal import Refusal, to_bytes
from mercer.tables.serve.rows import Asked

_log = logging.getLogger("mercer.tables.serve")
# Values beyond what was learned from that an answer names.
_MOST_OUTSIDE = 100


class Answers:
    """Answers of a model, as JSON.

    Parameters
    ----------
    model : Model
    """

    def __init__(self, model: Model):
        self.model = model

    def __call__(self, batch: list[Asked]) -> list[bytes | Refusal]:
        """An answer to each request; if they can't be answered together, each is answered alone."""
        try:
            return list(self._together(batch))
        except Exception as error:
            if len(batch) > 1:
                return [one for asked in batch for one in self([asked])]
            if isinstance(error, ValueError):
                return [Refusal(422, str(error)[:500])]
            _log.exception("a prediction failed")
            return [Refusal(500, "the prediction failed; the log of the server says why")]

    def _together(self, batch: list[Asked]) -> list[bytes]:
        table = Table.joined([asked.table for asked in batch])
        ends = np.cumsum([0, *(len(asked) for asked in batch)])
        parts = [slice(a, b) for a, b in pairwise(ends.tolist())]
        known, beyond = self._known(table), self.model.outside(table) if len(table) else []
        places = np.array([o.row for o in beyond])
        found: list[dict[str, Any]] = []
        for rows in parts:
            found.append({name: _plain(values[rows]) for name, values in known.items()})
            first, last = np.searchsorted(places, [rows.start, rows.stop])
            if self.model.task == "classification":
                found[-1]["classes"] = _plain(self.model.classes_)
            if last > first:
                found[-1]["outside"] = [
                    {"row": o.row - rows.start, "column": o.column, "value": o.value, "seen": o.seen}
                    for o in beyond[first : min(last, first + _MOST_OUTSIDE)]
                ]
        for coverage in {asked.interval for asked in batch} - {None}:
            some = [i for i, asked in enumerate(batch) if asked.interval == coverage]
            self._add_intervals(coverage, table, [parts[i] for i in some], [found[i] for i in some])
        return [to_bytes(answer) for answer in found]

    def _add_intervals(self, coverage: Any, table: Table, parts: list[slice], found: list[dict]) -> None:
        rows = np.concatenate([np.arange(part.start, part.stop) for part in parts])
        intervals = self.model.predict_interval(table.take(rows), coverage) if len(rows) else np.empty((0, 2))
        ends = np.cumsum([0, *(part.stop - part.start for part in parts)])
        for answer, (a, b) in zip(found, pairwise(ends.tolist()), strict=True):
            answer["intervals"] = _plain(intervals[a:b])

    def _known(self, table: Table) -> dict[str, np.ndarray]:
        """What every answer has for each of its rows."""
        asked = {"predictions": self.model.predict}
        if self.model.task == "classification":
            asked["probabilities"] = self.model.predict_proba
        return {name: predict(table) if len(table) else np.empty(0) for name, predict in asked.items()}


def _plain(values: Any) -> list[Any]:
    """Lists of Python's own values; what is not finite is None."""
    values = np.asarray(values)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        values = np.where(np.isfinite(values), values.astype(object), None)
    return values.tolist()
