"""Tables that come in batches: files larger than memory, standard input, any iterator of rows.

What the columns are is seen in the first rows and holds for the rest. Nothing is kept but the batch at hand.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from mercer.tables.reading.errors import TableError, shown
from mercer.tables.reading.format import Cut, Row, Wanted
from mercer.tables.reading.formats import FORMATS
from mercer.tables.reading.from_memory import checked_kinds
from mercer.tables.reading.reading import recognise
from mercer.tables.reading.records import batches_of_rows
from mercer.tables.reading.table import Table
from mercer.tables.reading.text import head_bytes, lines_of, opened, refusals

# Rows of a file that say what its columns are, if a batch has fewer. Nobody waits for these.
LOOK = 1000


def batches(
    source: Any,
    size: int = 256,
    *,
    start: int = 0,
    kinds: Mapping[str, str] | None = None,
    form: str | None = None,
) -> Iterator[Table]:
    """Tables of `size` rows from something that may not fit in memory.

    Parameters
    ----------
    source : path, binary file, table, or iterator of dicts
        CSV and its relatives, JSON lines (both also packed) and Parquet are read as they are asked for; other
        files as a whole. A binary file, such as ``sys.stdin.buffer``, is read line by line.
    size : int
        Rows of a batch. Batches end at row numbers that `size` divides, wherever they begin.
    start : int
        Leave out so many rows.
    kinds : mapping from names to "number", "text" or "date", optional
        What these columns shall be, instead of what they look like in the first rows.
    form : "csv" or "jsonl", optional
        Of a binary file; by default JSON lines if it begins with a brace, else CSV.

    Raises
    ------
    TableError
        For a value that is not what its column was in the first rows; by line.

    Examples
    --------
    >>> rows = ({"a": i, "b": "x"} for i in range(5))
    >>> for table in batches(rows, 2, start=1):
    ...     print(table["a"])
    [1.]
    [2. 3.]
    [4.]
    """
    for name, value, least in (("size", size, 1), ("start", start, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
    cut = Cut(size, start, checked_kinds(kinds), size)
    if isinstance(source, (str, os.PathLike)):
        cut.look = max(size, LOOK)
        return _of_file(Path(source), cut)
    if hasattr(source, "readline"):
        return _of_lines(source, cut, form)
    if isinstance(source, Iterator):
        return batches_of_rows(_dicts(source), None, cut)
    return cut.of_tables([Table.of(source, kinds=cut.kinds)])


def _of_file(path: Path, cut: Cut) -> Iterator[Table]:
    form = recognise(path)
    if not form.has_lines:
        yield from cut.of_tables(form.parts(Wanted(path, cut.kinds)))
        return
    with refusals(path), opened(path) as file:
        yield from form.of_lines(lines_of(file, path), head_bytes(path), path, cut)


def _of_lines(file: BinaryIO, cut: Cut, form: str | None) -> Iterator[Table]:
    name = Path(str(getattr(file, "name", "stream")).replace("<stdin>", "standard input"))
    lines = lines_of(file, name)
    blank = 0
    for first in lines:
        if first.strip():
            break
        blank += 1
    else:
        raise TableError("it is empty.", path=name)
    whole = chain([b"\n"] * blank, [first], lines)  # so that lines count
    able = [one for one in FORMATS if one.has_lines]
    found = next(
        one
        for one in able
        if (one.looks_so(first.decode("utf-8", "replace")) if form is None else f".{form}" in one.suffixes)
    )
    yield from found.of_lines(whole, first, name, cut)


def _dicts(source: Iterator[Any]) -> Iterator[Row]:
    for i, row in enumerate(source, 1):
        if not isinstance(row, Mapping):
            raise TableError(f"{shown(row)} is no dict of names and values.", row=i)
        yield i, {str(key): value for key, value in row.items()}
