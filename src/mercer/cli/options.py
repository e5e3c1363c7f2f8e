"""Arguments and options that several commands have."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mercer.cli.console import fail, note

if TYPE_CHECKING:
    from mercer.tables.model import Model

STDIN = Path("-")


class Format(StrEnum):
    """What comes through standard input."""

    csv = "csv"
    jsonl = "jsonl"


TableFile = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        help="CSV, TSV, Parquet, Arrow, LIBSVM, JSON lines, SQLite or DuckDB; - is standard input.",
        show_default=False,
    ),
]
Form = Annotated[
    Format | None,
    typer.Option(
        "--format",
        help="Of standard input; by default JSON lines if it begins with a brace, else CSV.",
        show_default=False,
    ),
]
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A file that mercer fit wrote.", show_default=False)
]
Query = Annotated[
    str | None,
    typer.Option(
        "--query", metavar="SQL", help="One SELECT; t is the table of the file.", show_default=False
    ),
]
TableName = Annotated[
    str | None, typer.Option("--table", metavar="NAME", help="Which table of a database.", show_default=False)
]
Limit = Annotated[
    int | None, typer.Option("--limit", min=1, metavar="N", help="Read no more rows.", show_default=False)
]
Text = Annotated[
    list[str] | None,
    typer.Option(
        "--text",
        metavar="COLUMN",
        help="A column of words, though it looks like numbers. May be repeated.",
        show_default=False,
    ),
]
Raw = Annotated[
    bool,
    typer.Option(
        "--raw", help="Words in CSV as they are, even those that a spreadsheet would take for formulas."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, for programmes.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing, show no progress.")]


def load_model(path: Path) -> Model:
    """A model from its file; fails if it is something else."""
    import mercer

    return as_model(mercer.load(path), path)


def as_model(found: Any, path: Path) -> Model:
    """What a file held, if it is a model."""
    import mercer
    from mercer.tables.stream import Streamed

    if isinstance(found, Streamed):
        fail(f"{path} is of mercer stream, and good for predict and info; this needs a model of mercer fit")
    if not isinstance(found, mercer.Model):
        fail(f"{path} holds a {type(found).__name__}, not a model of mercer fit, which knows its columns")
    return found


@contextmanager
def file_of(table: Path, form: Format | None) -> Iterator[Path]:
    """The file that holds a table. What comes through standard input is put into one for a while."""
    if table != STDIN:
        if form is not None:
            raise typer.BadParameter("it is for a table on standard input (-)", param_hint="--format")
        yield table
        return
    from mercer.tables.reading import TableError

    if sys.stdin is None:
        raise TableError("standard input is closed: there is no table to read", path="-")
    if sys.stdin.isatty():
        note("reading the table from standard input; Ctrl-D ends it")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"table.{form}" if form else "table")
        with open(file, "wb") as out:
            shutil.copyfileobj(sys.stdin.buffer, out)
        try:
            yield file
        except TableError as e:
            name = name_of(table)
            raise TableError(e.problem, path=name, line=e.line, row=e.row, column=e.column) from None


def name_of(table: Path) -> str:
    """How a table is called where people read of it."""
    return "standard input" if table == STDIN else str(table)


def beside(path: Path, ending: str) -> Path:
    """A name for what is made of a file, in the current folder: houses.csv.gz gives houses.mercer."""
    name = "table" if path == STDIN else path.name.removesuffix(".gz")
    return Path(Path(name).stem + ending)
