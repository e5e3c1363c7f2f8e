"""Arguments and options that several commands have, and objects of those that travel together."""

from __future__ import annotations

import functools
import glob
import hashlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

import mercer
from mercer import tables
from mercer.cli.console import fail, note

if TYPE_CHECKING:
    from mercer.tables.model import Model
    from mercer.tables.reading import Table
    from mercer.tables.reading.places import Place

STDIN = Path("-")


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command of which some parameters are dataclasses: each of their fields is an option of its own."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    flat: dict[str, inspect.Parameter] = {}
    for parameter in inspect.signature(command).parameters.values():
        group = groups.get(parameter.name)
        found = [parameter] if group is None else inspect.signature(group).parameters.values()
        kinds = hints if group is None else get_type_hints(group, include_extras=True)
        for one in found:
            kind = inspect.Parameter.KEYWORD_ONLY
            flat[one.name] = one.replace(annotation=kinds[one.name], kind=kind)

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            known = {f.name for f in fields(group)} & given.keys()
            given[name] = group(**{key: given.pop(key) for key in known})
        command(**given)

    run.__annotations__ = {name: parameter.annotation for name, parameter in flat.items()}
    run.__signature__ = inspect.Signature(list(flat.values()))  # type: ignore[attr-defined]
    return run


def spoken(*groups: Any) -> list[str]:
    """The options of some objects that are not as they would be anyway, as they are typed."""
    said = []
    for group in groups:
        hints = get_type_hints(type(group), include_extras=True)
        for one in fields(group):
            declared, value = hints[one.name].__metadata__[0], getattr(group, one.name)
            if isinstance(declared, typer.models.OptionInfo) and value != one.default:
                # The first name of an option is kept where a default would be.
                for word in value if isinstance(value, list) else [value]:
                    said += [str(declared.default), str(word)]
    return said


def option(*names: str, help: str, **more: Any) -> Any:
    """An option whose default needs no mention."""
    return typer.Option(*names, help=help, show_default=False, **more)


def column_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of columns, for the shell to complete."""

    try:
        # The parser stops at the option that waits for its value, and leaves the other words.
        table = ctx.params.get("table") or ctx.args[0]
        names = tables.read(table, limit=5, table=ctx.params.get("table_name")).names
    except Exception:  # a shell that completes is no place for errors
        return []
    return [name for name in names if name.startswith(incomplete)]


def column_option(*names: str, help: str) -> Any:
    """An option that names a column."""
    return option(*names, help=help, metavar="COLUMN", autocompletion=column_names)


Task = Literal["regression", "classification"]
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A file that mercer fit wrote.", show_default=False)
]
Target = Annotated[str, column_option("--target", "-t", help="What shall be predicted.")]
Raw = Annotated[
    bool,
    typer.Option(
        "--raw", help="Words in CSV as they are, even those that a spreadsheet would take for formulas."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, for programmes.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing, show no progress.")]
Seed = Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1, help="Decides all that is random.")]
Memory = Annotated[
    str | None,
    option(
        "--memory",
        metavar="AMOUNT",
        help="What may be taken, such as 2GB: a table that needs more is read part by part.",
    ),
]
Minutes = Annotated[float, typer.Option("--minutes", min=0.01, help="About how long it may take.")]


def _where(text: str) -> Path | str:
    """A path; a query stays as it was typed, since two slashes are one in a path, and not in SQL."""
    from mercer.rows.query import is_query

    return text if is_query(text) and not os.path.lexists(text) else Path(text)


@dataclass(frozen=True)
class Source:
    """A table that is read row by row: where it is, how many rows, and what its columns are."""

    table: Annotated[
        Any,
        typer.Argument(
            metavar="TABLE",
            help="CSV, TSV, Parquet, Arrow, LIBSVM, JSON lines, SQLite or DuckDB; - is standard input. For "
            "fit and predict also a folder or a pattern of Parquet, Arrow or CSV files, or a query such as "
            "\"select … from 'a.parquet'\".",
            show_default=False,
            parser=_where,
        ),
    ]
    limit: Annotated[int | None, option("--limit", min=1, metavar="N", help="Read no more rows.")] = None
    form: Annotated[
        str | None,
        option("--format", help="Of standard input, as files end: csv, jsonl, …; by default as it looks."),
    ] = None
    text: Annotated[
        list[str] | None,
        column_option("--text", help="A column of words, though it looks like numbers. May be repeated."),
    ] = None
    number: Annotated[
        list[str] | None,
        column_option("--number", help="A column of numbers, though they begin with 0. May be repeated."),
    ] = None

    def __post_init__(self) -> None:
        if self.form is None:
            return
        if not self.is_piped:
            raise typer.BadParameter("it is for a table on standard input (-)", param_hint="--format")
        from mercer.tables.reading.reading import form_of

        try:
            form_of(self.form)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--format") from None

    @property
    def is_piped(self) -> bool:
        """Whether it comes through standard input."""
        return self.table == STDIN

    @property
    def name(self) -> str:
        """How the table is called where people read of it."""
        return "standard input" if self.is_piped else self.title if self.is_query else str(self.table)

    @property
    def is_query(self) -> bool:
        """Whether it is what a query selects."""
        return isinstance(self.table, str)

    @property
    def title(self) -> str:
        """The same in a model: its folders are nobody's business who gets that."""
        if self.is_query:
            return f"a query ({hashlib.sha256(self.table.encode()).hexdigest()[:8]})"
        return "standard input" if self.is_piped else Path(os.path.abspath(self.table)).name

    @property
    def files(self) -> list[Path]:
        """What is read, as far as it has names."""
        return [] if self.is_query else [self.table]

    @property
    def kinds(self) -> dict[str, str]:
        """What columns were said to be."""
        return dict.fromkeys(self.text or (), "text") | dict.fromkeys(self.number or (), "number")

    def result(self, output: Path | None, ending: str) -> Path:
        """Where to write what is made of the table, if that was not said."""
        unnamed = self.is_piped or self.is_query or glob.has_magic(str(self.table))
        return output or beside(Path("table") if unnamed else Path(os.path.abspath(self.table)), ending)

    def mention(self) -> None:
        """Tell somebody at a terminal that the table is to be typed."""
        if self.is_piped and sys.stdin is not None and sys.stdin.isatty():
            note("reading the table from standard input; Ctrl-D ends it")


@dataclass(frozen=True)
class Selection(Source):
    """A table that is read as a whole: what a query selects, or one of the tables of a database."""

    query: Annotated[
        str | None, option("--query", metavar="SQL", help="One SELECT; t is the table of the file.")
    ] = None
    table_name: Annotated[
        str | None, option("--table", metavar="NAME", help="Which table of a database.")
    ] = None

    @functools.cached_property
    def place(self) -> Place:
        """Where the table is, if not on standard input."""
        from mercer.tables.reading.places import place_of

        return place_of(self.table)

    @property
    def is_file(self) -> bool:
        """Whether it is in one file, which can be asked and read in part."""
        from mercer.tables.reading.places import FilePlace

        return self.is_piped or isinstance(self.place, FilePlace)

    def read(self, file: Path, kinds: dict[str, str], empty: bool = False) -> Table:
        """The table of a file that `file` gave."""

        which: dict[str, Any] = {"query": self.query, "table": self.table_name, "limit": self.limit}
        if self.is_file:
            return tables.read(file, **which, kinds=kinds, empty=empty)
        for name, value in which.items():
            if value is not None:
                fail(
                    f"--{name} is for one file; of several, or of a query, \"select … from 'a.parquet'\" in "
                    "place of TABLE chooses rows"
                )
        return self.place.whole(kinds, empty)

    def why_by_parts(self, memory: str | None) -> str | None:
        """Why it is not read as a whole; None if it fits, or is not a whole file."""
        from mercer.tables.model.large import too_large

        part = self.is_piped or any(v is not None for v in (self.query, self.table_name, self.limit))
        return None if part else too_large(self.place, memory)

    @contextmanager
    def file(self) -> Iterator[Path]:
        """The file that holds the table. What comes through standard input is put into one for a while."""
        if not self.is_piped:
            yield self.table
            return
        from mercer.tables.reading.reading import spooled

        if sys.stdin is None:
            raise tables.TableError("standard input is closed: there is no table to read", path="-")
        self.mention()
        with spooled(sys.stdin.buffer, form=self.form) as file:
            try:
                yield file
            except tables.TableError as error:
                error.path = self.name
                raise


def load_model(path: Path) -> Model:
    """A model from its file; fails if it is something else."""

    return as_model(mercer.load(path), path)


def as_model(found: Any, path: Path) -> Model:
    """What a file held, if it is a model."""

    if isinstance(found, tables.Streamed):
        fail(f"{path} is of mercer stream, and good for predict and info; this needs a model of mercer fit")
    if not isinstance(found, mercer.Model):
        fail(f"{path} holds a {type(found).__name__}, not a model of mercer fit, which knows its columns")
    return found


def beside(path: Path, ending: str) -> Path:
    """A name for what is made of a file, in the current folder: houses.csv.gz gives houses.mercer."""
    return Path(Path(path.name.removesuffix(".gz")).stem + ending)
