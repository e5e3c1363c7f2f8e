"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mercer.cli.console import fail

if TYPE_CHECKING:
    from mercer.model import Model

TableFile = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        help="CSV, TSV, Parquet, Arrow, LIBSVM, JSON lines, SQLite or DuckDB.",
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
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, for programmes.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing, show no progress.")]


def load_model(path: Path) -> Model:
    """A model from its file; fails if it is something else."""
    import mercer

    found = mercer.load(path)
    if not isinstance(found, mercer.Model):
        fail(f"{path} holds a {type(found).__name__}, not a model of mercer fit, which knows its columns")
    return found


def beside(path: Path, ending: str) -> Path:
    """A name for what is made of a file, in the current folder: houses.csv.gz gives houses.mercer."""
    name = path.name.removesuffix(".gz")
    return Path(Path(name).stem + ending)
