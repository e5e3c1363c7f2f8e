"""What a model says of rows, as columns; and from file to file, part by part."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.rows import write_blocks
from mercer.tables.model.model import Model
from mercer.tables.reading import Table
from mercer.tables.reading.parts import parts


def answer_columns(
    model: Any, rows: Table, coverage: float = 0.9, proba: bool = False
) -> dict[str, np.ndarray]:
    """Columns of predictions, by name: of numbers with intervals, of labels with probabilities.

    `coverage` is that of the intervals; `proba` asks for the probability of every class.
    """
    found = {"prediction": model.predict(rows)}
    if getattr(model, "conformal", None) is not None:
        low, high = model.predict_interval(rows, coverage).T
        if not np.isfinite(low).all():
            low = high = np.full(len(rows), np.nan)
        return found | {"low": low, "high": high}
    if model.classes_ is None or not hasattr(model, "predict_proba"):
        return found
    P, classes = model.predict_proba(rows), model.classes_
    if proba:
        return found | {f"probability {c}": P[:, j] for j, c in enumerate(classes.tolist())}
    return found | {"probability": P[np.arange(len(P)), np.searchsorted(classes, found["prediction"])]}


def kinds_of(model: Model) -> dict[str, str]:
    """As what the columns of a table are read: as the kinds the model was fitted to.

    Columns the model left out may hold anything; those that were words still are.
    """
    left_out = model.columns.dropped_
    needed = [c for c in model.schema.columns if c.name not in left_out or c.kind == "category"]
    return {c.name: c.table_kind for c in needed}


def write_answers(
    model: Model,
    path: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    coverage: float = 0.9,
    proba: bool = False,
    replace: bool = False,
) -> int:
    """See `Model.write`."""

    def blocks() -> Iterator[dict[str, np.ndarray]]:
        for table in parts(path, kinds_of(model), len(model.schema.columns)):
            yield answer_columns(model, table, coverage, proba)

    return write_blocks(output, blocks(), replace=replace)
