"""`mercer predict`: a model and a table in, a table of predictions out."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mercer.cli.console import fail, note, print_json, printable, require_apart
from mercer.cli.options import (
    AsJson,
    Form,
    Format,
    Limit,
    ModelFile,
    Query,
    Raw,
    TableFile,
    TableName,
    Text,
    as_model,
    file_of,
    name_of,
)
from mercer.cli.replacing import Force, require_free

if TYPE_CHECKING:
    import numpy as np

    from mercer.tables.model import Model
    from mercer.tables.reading import Table
    from mercer.tables.stream import Streamed

_COVERAGE = 0.9


def predict(
    model_file: ModelFile,
    table: TableFile,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="A .csv, .tsv, .jsonl, .parquet or .arrow file; by default CSV on stdout.",
            show_default=False,
        ),
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(
            "--interval",
            metavar="COVERAGE",
            help="Coverage of the intervals from low to high, of a regression; by default 0.9.",
            show_default=False,
        ),
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="The probability of every class, of a classification.")
    ] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            metavar="COLUMN",
            help="Copy this column of the table. May be repeated.",
            show_default=False,
        ),
    ] = None,
    all_columns: Annotated[
        bool, typer.Option("--all-columns", help="Copy all columns of the table.")
    ] = False,
    query: Query = None,
    table_name: TableName = None,
    limit: Limit = None,
    form: Form = None,
    text: Text = None,
    raw: Raw = False,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print the predictions and nothing else.")
    ] = False,
) -> None:
    """Predict the rows of a table.

    A regression gives prediction, low and high; a classification prediction and its probability.
    """
    if interval is not None and not 0 < interval < 1:
        raise typer.BadParameter("it must lie between 0 and 1", param_hint="--interval")
    coverage = interval or _COVERAGE
    if output is not None:
        require_apart(output, table, model_file)
        require_free(output, force)
    import mercer
    from mercer.tables.reading import Table
    from mercer.tables.stream import Streamed

    found = mercer.load(model_file)
    if isinstance(found, Streamed):
        if interval is not None:
            fail("--interval is for models of mercer fit; one of mercer stream knows none")
        if proba and not hasattr(found.machine, "predict_proba"):
            fail("--proba is for classifications with a loss that has probabilities, such as logistic")
        kinds = found.kinds | dict.fromkeys(text or (), "text")
        with file_of(table, form) as file:
            data = mercer.tables.read(
                file, query=query, table=table_name, limit=limit, kinds=kinds, empty=True
            )
        new = Table.of(_renamed(_streamed(found, data, proba), set(keep or ()), _nothing if quiet else note))
        if as_json and output is None:
            print_json(_streamed_object(found, dict(new.columns)))
        else:
            copied = data if all_columns else data.select(dict.fromkeys(keep or ()))
            _write(Table({**copied.columns, **new.columns}, len(data)), output, raw)
        return
    model = as_model(found, model_file)
    if proba and model.task == "regression":
        fail("--proba is for classifications; this model predicts numbers, with intervals")
    if interval is not None and model.task == "classification":
        fail("--interval is for regressions; this model predicts labels, with probabilities")
    import numpy as np

    data, sparse = _read(table, form, model, query, table_name, limit, text or [])
    kept = data.names if all_columns else tuple(dict.fromkeys(keep or ()))
    copied = data.select(kept)
    asked = _completed(data, model, name_of(table), sparse)
    answers = _answers(model, asked, coverage, proba)
    tell = _nothing if quiet else note
    if not len(data):
        tell(f"{name_of(table)} has no rows, so nothing is predicted")
    if model.task == "regression" and np.isnan(answers["low"]).any():
        few = len(model.evidence.truth)
        tell(f"{few:,} test rows are too few for intervals of {coverage:g}; low and high are left empty")
    if beyond := model.outside(asked):
        shown = "; ".join(map(str, beyond[:3])) + ("; …" if len(beyond) > 3 else "")
        rows = len({o.row for o in beyond})
        tell(f"{rows:,} rows lie beyond what was learned from, where nothing is known: {shown}")
    if as_json and output is None:
        print_json(_object(model, answers, coverage, copied))
        return
    named = _renamed(answers, set(kept), tell)
    # Said, as labels that are not there have no look.
    labels = {name: "text" for name, column in named.items() if column.dtype.kind in "bOU"}
    new = Table.of(named, kinds=labels)
    result = Table({**copied.columns, **new.columns}, len(data))
    _write(result, output, raw)
    if as_json:
        print_json({"rows": len(result), "columns": result.names, "output": output})
    elif output is not None and not quiet:
        names = ", ".join(new.names)
        typer.echo(printable(f"Predictions: {output} ({len(result):,} rows: {names})"))


def _streamed(state: Streamed, data: Table, proba: bool) -> dict[str, Any]:
    """Predictions of a machine that learned from a stream, and their probabilities where it has them."""
    machine: Any = state.machine
    points = state.points(data)
    found = {"prediction": state.in_units(machine.predict(points))}
    if not hasattr(machine, "predict_proba"):
        return found
    P = machine.predict_proba(points)
    if proba:
        return found | {f"probability {c}": P[:, j] for j, c in enumerate(machine.classes_.tolist())}
    return found | {"probability": P.max(axis=1)}


def _streamed_object(state: Streamed, answers: dict[str, np.ndarray]) -> dict[str, Any]:
    """What ``--json`` prints, named as for models of mercer fit."""
    import numpy as np

    said, *rest = answers.values()
    found: dict[str, Any] = {
        "target": state.target,
        "task": state.task,
        "rows": len(said),
        "predictions": said,
    }
    if len(rest) > 1:
        machine: Any = state.machine
        return found | {"classes": machine.classes_, "probabilities": np.column_stack(rest)}
    return found | ({"probability": rest[0]} if rest else {})


def _read(
    path: Path,
    form: Format | None,
    model: Model,
    query: str | None,
    name: str | None,
    limit: int | None,
    text: list[str],
) -> tuple[Table, bool]:
    """The table, with every column the model needs read as the kind it was fitted to; and if it is LIBSVM."""
    from mercer.tables.reading import read
    from mercer.tables.reading.reading import recognise

    # Columns the model left out may hold anything; those that were words still are.
    needed = [c for c in model.schema.columns if c.name not in model.columns.dropped_ or c.kind == "category"]
    kinds = {c.name: c.table_kind for c in needed}
    for column in text:
        if kinds.get(column, "text") != "text":
            what = "numbers" if kinds[column] == "number" else "dates"
            fail(f"--text {column}: the model learned from {what} there, and can't take words")
    with file_of(path, form) as file:
        kinds |= dict.fromkeys(text, "text")
        data = read(file, query=query, table=name, limit=limit, kinds=kinds, empty=True)
        return data, recognise(file) == "libsvm"


def _completed(data: Table, model: Model, name: str, sparse: bool) -> Table:
    """The columns of the model, those added that may be absent.

    A LIBSVM file is as wide as its last index, and what it does not name is 0. Columns the model left out
    need not be there.
    """
    import numpy as np

    from mercer.tables.reading import Table

    absent = [c for c in model.schema.columns if c.name not in data and c.name not in model.columns.dropped_]
    added = {c.name: np.zeros(len(data)) for c in absent if sparse and c.kind == "number"}
    lacking = [repr(c.name) for c in absent if c.name not in added]
    if lacking:
        more = f" and {len(lacking) - 8:,} more" if len(lacking) > 8 else ""
        fail(
            f"{name} lacks the column{'s' * (len(lacking) > 1)} {', '.join(lacking[:8])}{more}, "
            "which the model needs; leave cells empty where a value is not known"
        )
    whole = Table({**data.columns, **added}, len(data))
    return whole.select([name for name in model.schema.names if name in whole])


def _answers(model: Model, data: Table, coverage: float, proba: bool) -> dict[str, np.ndarray]:
    """Columns of predictions, by name."""
    import numpy as np

    found = model.predict(data)
    if model.task == "regression":
        low, high = model.predict_interval(data, coverage).T
        if not np.isfinite(low).all():
            low = high = np.full(len(data), np.nan)
        return {"prediction": found, "low": low, "high": high}
    classes: Any = model.classes_
    P = model.predict_proba(data)
    if proba:
        return {"prediction": found} | {f"probability {c}": P[:, j] for j, c in enumerate(classes.tolist())}
    return {"prediction": found, "probability": P[np.arange(len(P)), np.searchsorted(classes, found)]}


def _nothing(message: str) -> None:
    pass


def _renamed(
    answers: dict[str, np.ndarray], taken: set[str], tell: Callable[[str], None]
) -> dict[str, np.ndarray]:
    """New columns under names that are free: prediction_2, where the table has a prediction already."""
    made: dict[str, np.ndarray] = {}
    for name, column in answers.items():
        free, number = name, 1
        while free in taken or free in made:
            number += 1
            free = f"{name}_{number}"
        if free != name:
            tell(f"the table has a column {name!r}; the new one is {free!r}")
        made[free] = column
    return made


def _object(model: Model, answers: dict[str, np.ndarray], coverage: float, copied: Table) -> dict[str, Any]:
    """What ``--json`` prints: as the HTTP service answers, and the columns to keep."""
    import numpy as np

    found: dict[str, Any] = {"target": model.target, "task": model.task, "rows": len(answers["prediction"])}
    found["predictions"] = answers.pop("prediction")
    if model.task == "regression":
        found |= {"coverage": coverage, "intervals": np.column_stack([answers["low"], answers["high"]])}
    elif "probability" in answers:
        found["probability"] = answers["probability"]
    else:
        found |= {"classes": model.classes_, "probabilities": np.column_stack(list(answers.values()))}
    if copied.names:
        found["columns"] = {name: copied[name] for name in copied.names}
    return found


def _write(result: Table, output: Path | None, raw: bool) -> None:
    from mercer.tables.reading import write

    if output is not None:
        write(result, output, raw=raw)
        return
    with tempfile.TemporaryDirectory() as folder:
        made = write(result, Path(folder, "out.csv"), raw=raw)
        sys.stdout.flush()
        if sys.stdout.isatty():
            typer.echo(printable(made.read_text(encoding="utf-8"), "\n"), nl=False)
            return
        _copy(made)


def _copy(made: Path) -> None:
    with open(made, "rb") as file:
        shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()
