"""What a model says of rows, as columns; and from file to file, part by part."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import numpy as np

from mercer.rows import write_blocks
from mercer.tables.model.large.allowance import too_large
from mercer.tables.model.large.stored import Answered
from mercer.tables.model.model import Model
from mercer.tables.model.task import missing
from mercer.tables.reading import Table, TableError
from mercer.tables.reading.errors import in_file
from mercer.tables.reading.places import Place, is_place, place_of


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


def tables_of(model: Model, X: Any, more: Mapping[str, str | None] | None = None) -> Iterator[Table]:
    """The table of a file or another place, or parts of it if it does not fit in memory; or X, if it is one.

    `more` are columns that the model does not read, and their kinds if these are known.
    """
    if not is_place(X):
        yield Table.of(X)
        return
    said = {name: kind for name, kind in (more or {}).items() if kind is not None}
    kinds, place = {**kinds_of(model), **said}, place_of(X)
    skip = skip_beside(model, more or ())
    if too_large(place) is None:
        yield place.whole(kinds, True, skip)
    else:
        yield from place.parts(kinds, len(kinds), skip)


def skip_beside(model: Model, more: Collection[str] = ()) -> Callable[[str], bool]:
    """Which columns need not be read for a model: all but its own, and those of `more`."""
    names = {*(c.name for c in model.schema.columns if c.name not in model.columns.dropped_), *more}
    return lambda name: name not in names


def score_by_column(model: Model, X: Any, name: str) -> float:
    """R², or accuracy, of what is predicted for a table or a file, where a column says what is true.

    Rows in which that is missing do not count; a label that the model does not know is predicted wrongly.
    """
    from sklearn.metrics import r2_score

    answered = Answered(name, model.classes_)
    truth, predicted, right = [], [], []
    classes, X = model.classes_, place_of(X) if is_place(X) else X
    # Labels that are whole numbers may be written in several ways, 3 and 3.0: a file is asked what they are.
    kind = "number" if classes is None else "text" if classes.dtype.kind == "U" else None
    for table in tables_of(model, X, {name: kind}):
        if name not in table:
            where = X.name if isinstance(X, Place) else None
            raise TableError(f"there is no column {name!r} to compare with what is predicted.", path=where)
        there = table.take(~missing(table[name]))
        said = model.predict(there)
        values, known = answered.of(there[name])
        truth.append(values)
        predicted.append(said)
        right.append(known & (values == said))
    if not sum(map(len, right)):
        raise ValueError(f"there is no row with a value of {name!r}: nothing can be scored")
    if classes is not None:
        return float(np.mean(np.concatenate(right)))
    return float(r2_score(np.concatenate(truth), np.concatenate(predicted)))


def write_answers(
    model: Model,
    X: Any,
    output: str | os.PathLike[str],
    *,
    coverage: float = 0.9,
    proba: bool = False,
    replace: bool = False,
) -> int:
    """See `Model.write`."""

    def blocks() -> Iterator[dict[str, np.ndarray]]:
        if not is_place(X):
            yield answer_columns(model, Table.of(X), coverage, proba)
            return
        place = place_of(X)
        with in_file(place.name):
            for table in place.parts(kinds_of(model), len(model.schema.columns), skip_beside(model)):
                yield answer_columns(model, table, coverage, proba)

    return write_blocks(output, blocks(), replace=replace)
