"""`mercer predict`: a model and a table in, a table of predictions out."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import mercer
from mercer import tables
from mercer.cli.console import fail, note, print_json, printable, require_apart
from mercer.cli.options import (
    AsJson,
    Memory,
    ModelFile,
    Raw,
    Selection,
    as_model,
    column_option,
    option,
    with_options,
)
from mercer.cli.replacing import Force, require_free

if TYPE_CHECKING:
    import numpy as np

    from mercer.tables.reading import Table


@dataclass(frozen=True)
class Wishes:
    """What is said of every row."""

    interval: Annotated[
        float | None,
        option(
            "--interval",
            metavar="COVERAGE",
            help="Coverage of the intervals from low to high, of a regression; by default 0.9.",
        ),
    ] = None
    proba: Annotated[
        bool, typer.Option("--proba", help="The probability of every class, of a classification.")
    ] = False
    keep: Annotated[
        list[str] | None, column_option("--keep", help="Copy this column of the table. May be repeated.")
    ] = None
    all_columns: Annotated[bool, typer.Option("--all-columns", help="Copy all columns of the table.")] = False

    def __post_init__(self) -> None:
        if self.interval is not None and not 0 < self.interval < 1:
            raise typer.BadParameter("it must lie between 0 and 1", param_hint="--interval")

    @property
    def coverage(self) -> float:
        """That of the intervals."""
        return self.interval or 0.9

    def copies(self, data: Table, file: Path, source: Selection, as_text: bool) -> Table:
        """The columns to copy. Into text they come as they were written, unless a query made them."""
        kept = data.names if self.all_columns else tuple(dict.fromkeys(self.keep or ()))
        copied = data.select(kept)
        if not kept or not as_text or source.query is not None or not source.is_file:
            return copied
        return source.read(file, dict.fromkeys(kept, "written"), empty=True).select(kept)

    def check(self, model: Any) -> None:
        """Fail if the model has no answer to them."""

        if isinstance(model, tables.Streamed):
            if self.interval is not None:
                fail("--interval is for models of mercer fit; one of mercer stream knows none")
            if self.proba and not hasattr(model, "predict_proba"):
                fail("--proba is for classifications with a loss that has probabilities, such as logistic")
        elif self.proba and model.task == "regression":
            fail("--proba is for classifications; this model predicts numbers, with intervals")
        elif self.interval is not None and model.task == "classification":
            fail("--interval is for regressions; this model predicts labels, with probabilities")


@with_options
def predict(
    model_file: ModelFile,
    source: Selection,
    wishes: Wishes,
    output: Annotated[
        Path | None,
        option(
            "--output", "-o", help="A .csv, .tsv, .jsonl, .parquet or .arrow file; by default CSV on stdout."
        ),
    ] = None,
    raw: Raw = False,
    memory: Memory = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print the predictions and nothing else.")
    ] = False,
) -> None:
    """Predict the rows of a table.

    A regression gives prediction, low and high; a classification prediction and its probability.
    """
    if output is not None:
        require_apart(output, *source.files, model_file)
        require_free(output, force)
    from mercer.tables.model.answers import answer_columns
    from mercer.tables.reading.reading import recognise

    found = mercer.load(model_file)
    model = found if isinstance(found, tables.Streamed) else as_model(found, model_file)
    wishes.check(model)
    tell = (lambda message: None) if quiet else note
    why = None if output is None or isinstance(model, tables.Streamed) else source.why_by_parts(memory)
    if output is not None and why is not None:
        tell(f"{source.name} is read part by part: {why}")
        count, names, kept = _by_parts(model, source, wishes, output, raw, tell)
        _done(output, count, names, as_json, quiet, kept)
        return
    with source.file() as file:
        data = source.read(file, _kinds(model, source), empty=True)
        sparse = source.is_file and recognise(file).is_sparse
        copied = wishes.copies(data, file, source, _is_text(output, as_json))
    rows = data if isinstance(model, tables.Streamed) else _completed(data, model, source.name, sparse)
    answers = answer_columns(model, rows, wishes.coverage, wishes.proba)
    _remark(model, rows, answers, wishes, source.name, tell)
    if as_json and output is None:
        print_json(_object(model, answers, wishes.coverage, copied))
        return
    named = _renamed(answers, set(copied.names), tell)
    # Said, as labels that are not there have no look.
    labels = {name: "text" for name, column in named.items() if column.dtype.kind in "bOU"}
    new = tables.Table.of(named, kinds=labels)
    result = tables.Table({**copied.columns, **new.columns}, len(data))
    _write(result, output, raw)
    if output is not None:
        _done(output, len(result), [*copied.names, *new.names], as_json, quiet, len(copied.names))


def _done(output: Path, rows: int, names: Sequence[str], as_json: bool, quiet: bool, copied: int = 0) -> None:
    """Say what was written; `copied` columns are not new."""
    if as_json:
        print_json({"rows": rows, "columns": names, "output": output})
    elif not quiet:
        typer.echo(printable(f"Predictions: {output} ({rows:,} rows: {', '.join(names[copied:])})"))


def _by_parts(
    model: Any, source: Selection, wishes: Wishes, output: Path, raw: bool, tell: Callable[[str], None]
) -> tuple[int, list[str], int]:
    """Predict the rows of a file into another one, part by part: rows, columns, and how many are copies."""
    from mercer.rows import write_blocks
    from mercer.tables.model.answers import answer_columns, skip_beside
    from mercer.tables.reading.writing import as_text

    beyond, first, names, copies = 0, "", [], 0
    said: dict[str, None] = {}
    escaped = not raw and _is_text(output, False)

    def blocks() -> Iterator[dict[str, Any]]:
        nonlocal beyond, first, names, copies
        skip = None if wishes.all_columns else skip_beside(model, wishes.keep or ())
        for data in source.place.parts(_kinds(model, source), len(model.schema.columns), skip):
            kept = data.names if wishes.all_columns else tuple(dict.fromkeys(wishes.keep or ()))
            if lacking := [name for name in kept if name not in data]:
                fail(f"--keep {lacking[0]}: {source.name} has no such column")
            copied, rows = data.select(kept), _completed(data, model, source.name, False)
            answers = answer_columns(model, rows, wishes.coverage, wishes.proba)
            named = _renamed(answers, set(kept), lambda message: said.setdefault(message))
            found = model.outside(rows)
            beyond, first = beyond + len({o.row for o in found}), first or str(found[0]) if found else first
            block = {**copied.columns, **named}
            names, copies = list(block), len(kept)
            if escaped:
                block = {as_text(name): _escaped(column) for name, column in block.items()}
            yield block

    count = write_blocks(output, blocks(), replace=True)  # whether it may be replaced has been asked
    for message in said:
        tell(message)
    if beyond:
        example = first.split(": ", 1)[1]
        tell(f"{beyond:,} rows lie beyond what was learned from, where nothing is known: {example}; …")
    return count, names, copies


def _escaped(column: np.ndarray) -> Any:
    """Words that a spreadsheet takes for words."""
    from mercer.tables.reading.writing import as_text

    if column.dtype.kind not in "OU":
        return column
    import numpy as np

    known = {word: as_text(word) for word in set(column.tolist()) - {None}}
    return np.array([known.get(word) for word in column.tolist()], dtype=object)


def _is_text(output: Path | None, as_json: bool) -> bool:
    """Whether what is written are mere words, without types."""
    return (
        not as_json if output is None else output.name.lower().removesuffix(".gz").endswith((".csv", ".tsv"))
    )


def _kinds(model: Any, source: Selection) -> dict[str, str]:
    """Every column the model needs as the kind it was fitted to, the others as they are said to be."""

    if isinstance(model, tables.Streamed):
        return model.kinds | source.kinds
    from mercer.tables.model.answers import kinds_of

    kinds = kinds_of(model)
    words = {"number": "numbers", "text": "words"}
    for name, kind in source.kinds.items():
        if kinds.get(name, kind) != kind:
            there = words.get(kinds[name], "dates")
            fail(f"--{kind} {name}: the model learned from {there} there, and can't take {words[kind]}")
    return kinds | source.kinds


def _completed(data: Table, model: Any, name: str, sparse: bool) -> Table:
    """The columns of the model, those added that may be absent.

    A LIBSVM file is as wide as its last index, and what it does not name is 0. Columns the model left out
    need not be there.
    """
    import numpy as np

    absent = [c for c in model.schema.columns if c.name not in data and c.name not in model.columns.dropped_]
    added = {c.name: np.zeros(len(data)) for c in absent if sparse and c.kind == "number"}
    lacking = [repr(c.name) for c in absent if c.name not in added]
    if lacking:
        more = f" and {len(lacking) - 8:,} more" if len(lacking) > 8 else ""
        fail(
            f"{name} lacks the column{'s' * (len(lacking) > 1)} {', '.join(lacking[:8])}{more}, "
            "which the model needs; leave cells empty where a value is not known"
        )
    whole = tables.Table({**data.columns, **added}, len(data))
    return whole.select([name for name in model.schema.names if name in whole])


def _remark(
    model: Any,
    rows: Table,
    answers: dict[str, np.ndarray],
    wishes: Wishes,
    name: str,
    tell: Callable[[str], None],
) -> None:
    """What should be known of the answers before they are used."""
    import numpy as np

    if not len(rows):
        tell(f"{name} has no rows, so nothing is predicted")
    if isinstance(model, tables.Streamed):
        return
    if "low" in answers and np.isnan(answers["low"]).any():
        few = len(model.evidence.truth)
        tell(
            f"{few:,} test rows are too few for intervals of {wishes.coverage:g}; low and high are left empty"
        )
    if beyond := model.outside(rows):
        shown = "; ".join(map(str, beyond[:3])) + ("; …" if len(beyond) > 3 else "")
        count = len({o.row for o in beyond})
        tell(f"{count:,} rows lie beyond what was learned from, where nothing is known: {shown}")


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


def _object(model: Any, answers: dict[str, np.ndarray], coverage: float, copied: Table) -> dict[str, Any]:
    """What ``--json`` prints: as the HTTP service answers, and the columns to keep."""
    import numpy as np

    said, *rest = answers.values()
    found: dict[str, Any] = {"target": model.target, "task": model.task, "rows": len(said)}
    found["predictions"] = said
    if "low" in answers:
        found |= {"coverage": coverage, "intervals": np.column_stack(rest)}
    elif "probability" in answers:
        found["probability"] = answers["probability"]
    elif rest:
        found |= {"classes": model.classes_, "probabilities": np.column_stack(rest)}
    return found | ({"columns": dict(copied.columns)} if copied.names else {})


def _write(result: Table, output: Path | None, raw: bool) -> None:
    if output is not None:
        tables.write(result, output, raw=raw)
        return
    with tempfile.TemporaryDirectory() as folder:
        made = tables.write(result, Path(folder, "out.csv"), raw=raw)
        sys.stdout.flush()
        if sys.stdout.isatty():
            typer.echo(printable(made.read_text(encoding="utf-8"), "\n"), nl=False)
            return
        with open(made, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()
