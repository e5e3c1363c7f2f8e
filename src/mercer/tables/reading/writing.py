"""Tables into files, each in one step."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from mercer._files import replacing
from mercer.tables.reading.arrow import needed, to_arrow
from mercer.tables.reading.cells import is_number
from mercer.tables.reading.errors import TableError, in_file, refused_as
from mercer.tables.reading.objects import as_word, kind_of
from mercer.tables.reading.table import Table

# What spreadsheets take for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_SPECIAL = re.compile(r'[",;\t\r\n|]|^\s|\s$|^$')


def write(table: Table, path: str | os.PathLike[str], *, raw: bool = True) -> Path:
    """Write a table; whoever looks finds the old file or the whole new one.

    Parameters
    ----------
    table : Table
    path : path of the file
        Its ending says what is written: .csv, .tsv, .jsonl (each also .gz), .parquet, .arrow or .feather.
    raw : bool
        Words as they are. If not, those in .csv and .tsv files that a spreadsheet would take for a formula
        get an apostrophe in front, which it takes for "this is text"; see `as_text`.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> file = tempfile.mkdtemp() + "/predictions.csv"
    >>> print(write(Table.of({"id": [1, 2], "price": [10.5, None]}), file).read_text())
    id,price
    1,10.5
    2,
    <BLANKLINE>
    """
    path = Path(path)
    ending = path.suffix.lower()
    packed = ending == ".gz"
    if packed:
        ending = Path(path.stem).suffix.lower()
    writers = {
        ".csv": lambda out: _text(out, packed, _delimited(table, ",", raw)),
        ".tsv": lambda out: _text(out, packed, _delimited(table, "\t", raw)),
        ".jsonl": lambda out: _text(out, packed, _json_lines(table)),
        ".ndjson": lambda out: _text(out, packed, _json_lines(table)),
    }
    if not packed:
        writers |= dict.fromkeys((".parquet", ".pq"), lambda out: _parquet(out, table))
        writers |= dict.fromkeys((".arrow", ".feather", ".ipc"), lambda out: _arrow(out, table))
    if ending not in writers:
        raise TableError(
            f"a table can not be written as {path.suffix or 'a file without an ending'!r}. "
            f"These can: {', '.join(sorted(writers))}.",
            path=path,
        )
    with in_file(path), refused_as("it can not be written", OSError, ValueError), replacing(path) as out:
        writers[ending](out)
    return path


def _text(out: IO[bytes], packed: bool, lines: Iterator[str]) -> None:
    # Without name and time in the gzip header the same table gives the same bytes.
    target = gzip.GzipFile("", "wb", fileobj=out, mtime=0) if packed else out
    text = io.TextIOWrapper(target, encoding="utf-8", newline="")  # type: ignore[type-var]
    text.writelines(lines)
    text.flush()
    text.detach()
    if packed:
        target.close()


def as_text(word: str) -> str:
    """A word as spreadsheets take it for one: with an apostrophe, where they would take it for a formula.

    >>> as_text("=1+1"), as_text("-1"), as_text("-1,5"), as_text("@here"), as_text("a=b")
    ("'=1+1", '-1', '-1,5', "'@here", 'a=b')
    """
    formula = word.startswith(_FORMULA) and len(word) > 1 and not is_number(word, comma=True)
    return f"'{word}" if formula else word


def _delimited(table: Table, delimiter: str, raw: bool) -> Iterator[str]:
    def cell(text: str | None) -> str:
        if text is None:
            return ""
        text = text if raw else as_text(text)
        return '"' + text.replace('"', '""') + '"' if _SPECIAL.search(text) else text

    alone = len(table.names) == 1  # where an empty cell would be an empty line, which is no row
    yield delimiter.join(cell(name) for name in table.names) + "\n"
    for row in zip(*(_words(column) for column in table.columns.values()), strict=True):
        line = delimiter.join(map(cell, row))
        yield (line or '""' if alone else line) + "\n"


def _words(column: np.ndarray) -> list[str | None]:
    """Values as they are written in text, None for what is missing."""
    if kind_of(column) == "text":
        return column.tolist()
    if kind_of(column) == "date":
        return [None if value is None else as_word(value) for value in column.tolist()]
    return [None if value != value else as_word(value) for value in column.tolist()]


def _json_lines(table: Table) -> Iterator[str]:
    def plain(column: np.ndarray) -> list[Any]:
        if kind_of(column) != "number":
            return _words(column)
        return [
            None if v != v else int(v) if v.is_integer() and abs(v) < 1e15 else v for v in column.tolist()
        ]

    for row in zip(*(plain(column) for column in table.columns.values()), strict=True):
        yield json.dumps(dict(zip(table.names, row, strict=True)), ensure_ascii=False) + "\n"


def _parquet(out: IO[bytes], table: Table) -> None:
    needed("writing Parquet")
    import pyarrow.parquet as pq

    pq.write_table(to_arrow(table), out)


def _arrow(out: IO[bytes], table: Table) -> None:
    pa = needed("writing Arrow files")
    content = to_arrow(table)
    with pa.ipc.new_file(out, content.schema) as writer:
        writer.write_table(content)
