"""Tables that come in batches: files larger than memory, standard input, any iterator of rows.

What the columns are is seen in the first rows and holds for the rest. Nothing is kept but the batch at hand.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mercer.tables.reading import arrow, delimited, jsonlines
from mercer.tables.reading.cells import Coded, dates_in, understood
from mercer.tables.reading.errors import Stray, TableError, checked_names, shown
from mercer.tables.reading.objects import as_kind, from_objects, kind_of
from mercer.tables.reading.of import checked_kinds
from mercer.tables.reading.reading import read, recognise
from mercer.tables.reading.table import Table
from mercer.tables.reading.text import head_bytes, lines_of, opened, refusals

# Rows of a file that say what its columns are, if a batch has fewer. Nobody waits for these.
LOOK = 1000

# A row and its place: line of a file, or number.
_Row = tuple[int, Any]


@dataclass
class _Cut:
    """How rows are cut into batches, and what columns are known to be."""

    size: int
    start: int
    kinds: dict[str, str]
    look: int

    @property
    def first(self) -> int:
        """Rows of the first batch: it ends where one that begins at row 0 would."""
        return self.size - self.start % self.size

    def tables(self, rows: Iterator[_Row], made: Callable[[list[_Row]], Table]) -> Iterator[Table]:
        """Batches from `start` on; `made` learns what columns are from what it is given first."""
        head = list(islice(rows, self.look))
        if head and (self.start or len(head) > self.first):
            made(head)
        rows = chain(head, rows)
        if sum(1 for _ in islice(rows, self.start)) < self.start:
            return
        size = self.first
        while part := list(islice(rows, size)):
            yield made(part)
            size = self.size


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
    cut = _Cut(size, start, checked_kinds(kinds), size)
    if isinstance(source, (str, os.PathLike)):
        cut.look = max(size, LOOK)
        return _of_file(Path(source), cut)
    if hasattr(source, "readline"):
        return _of_lines(source, cut, form)
    if isinstance(source, Iterator):
        return _of_dicts(source, cut)
    return _of_table(Table.of(source, kinds=cut.kinds), cut)


def _of_file(path: Path, cut: _Cut) -> Iterator[Table]:
    form = recognise(path)
    if form == "parquet":
        yield from _parquet(path, cut)
    elif form in ("delimited", "json lines"):
        delimiter = delimited.sniff(delimited.as_utf8_head(head_bytes(path)))
        with refusals(path), opened(path) as file:
            lines = lines_of(file, path)
            if form == "delimited":
                yield from _delimited(lines, delimiter, path, cut)
            else:
                yield from _records(_objects(lines, path), path, cut)
    else:
        yield from _of_table(read(path, kinds=cut.kinds), cut)


def _of_lines(file: BinaryIO, cut: _Cut, form: str | None) -> Iterator[Table]:
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
    if form == "jsonl" or (form is None and first.lstrip().startswith(b"{")):
        yield from _records(_objects(whole, name), name, cut)
    else:
        yield from _delimited(whole, delimited.sniff(delimited.as_utf8_head(first)), name, cut)


def _of_dicts(source: Iterator[Any], cut: _Cut) -> Iterator[Table]:
    def rows() -> Iterator[_Row]:
        for i, row in enumerate(source, 1):
            if not isinstance(row, Mapping):
                raise TableError(f"{shown(row)} is no dict of names and values.", row=i)
            yield i, {str(key): value for key, value in row.items()}

    return _records(rows(), None, cut)


def _of_table(table: Table, cut: _Cut) -> Iterator[Table]:
    at, stop = cut.start, cut.start + cut.first
    while at < len(table):
        yield table.take(slice(at, stop))
        at, stop = stop, stop + cut.size


# -- text -----------------------------------------------------------------------------------------


def _delimited(lines: Iterable[bytes], delimiter: str, path: Path, cut: _Cut) -> Iterator[Table]:
    records = delimited.records_of(_text(lines, path), delimiter, path)
    line, header = next(records, (1, [""]))
    names = delimited.header_names(header, path, line)

    def column(part: list[_Row], j: int) -> np.ndarray:
        name = names[j]
        values = [cells[j] for _, cells in part]
        kind = cut.kinds.get(name)
        found = _plain_numbers(values) if kind == "number" else None
        if found is None:
            try:
                found, kind = understood(Coded.of(values), kind, delimiter == ";")
            except Stray as stray:
                raise stray.at(name, path, part[stray.row][0]) from None
            cut.kinds[name] = kind
        return found

    def table(part: list[_Row]) -> Table:
        for line, cells in part:
            if len(cells) != len(names):
                problem = f"{len(cells)} cell{'s' * (len(cells) != 1)} where the header has {len(names)}"
                raise TableError(f"{problem}: {shown(delimiter.join(cells))}.", path=path, line=line)
        return Table({name: column(part, j) for j, name in enumerate(names)})

    return cut.tables(records, table)


def _text(lines: Iterable[bytes], path: Path) -> Iterator[str]:
    """Lines as UTF-8; what a file of another encoding is shows only when all of it is read."""
    for number, raw in enumerate(lines, 1):
        try:
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            problem = f"byte 0x{raw[error.start]:02x} is not UTF-8. Save the file as UTF-8."
            raise TableError(problem, path=path, line=number) from None
        if "\0" in text:
            raise TableError("there is a NUL byte, which text files do not have.", path=path, line=number)
        yield text


def _plain_numbers(values: list[str]) -> np.ndarray | None:
    """Numbers, if all are written plainly; Python knows other ways of writing them, which files have not."""
    try:
        found = np.array(list(map(float, values)))
    except ValueError:
        return None
    whole = "".join(values)
    return found if np.isfinite(found).all() and whole.isascii() and "_" not in whole else None


def _objects(lines: Iterable[bytes], path: Path) -> Iterator[_Row]:
    for number, text in enumerate(_text(lines, path), 1):
        if text.strip():
            yield number, jsonlines.record(text, path, number)


# -- rows -----------------------------------------------------------------------------------------


def _records(rows: Iterator[_Row], path: Path | None, cut: _Cut) -> Iterator[Table]:
    """Tables of dicts; their columns are those of the first rows."""
    head = list(islice(rows, cut.look))
    names = checked_names(list(dict.fromkeys(key for _, row in head for key in row)), path)
    if not names:
        raise TableError("there are no rows, or they are empty.", path=path)
    known = set(names)

    def table(part: list[_Row]) -> Table:
        for place, row in part:
            if new := row.keys() - known:
                raise TableError(
                    f"the key {shown(min(new))} was not in the first {len(head):,} rows, and columns can't "
                    "come later: give the first row all keys, with null where nothing is known.",
                    path=path,
                    line=None if path is None else place,
                    row=place if path is None else None,
                )
        return Table({name: column(part, name) for name in names})

    def column(part: list[_Row], name: str) -> np.ndarray:
        kind = cut.kinds.get(name)
        try:
            made = from_objects([row.get(name) for _, row in part], kind)
        except Stray as stray:
            place, stray.row = part[stray.row][0], part[stray.row][0] - 1
            raise stray.at(name, path, None if path is None else place) from None
        if kind is None:
            # JSON has no dates, only words that are some.
            word = path is not None and kind_of(made) == "text"
            made, cut.kinds[name] = dates_in(made) if word else (made, kind_of(made))
        return made

    return cut.tables(chain(head, rows), table)


# -- Parquet --------------------------------------------------------------------------------------


def _parquet(path: Path, cut: _Cut) -> Iterator[Table]:
    with arrow.refusals(path, "this is no sound Parquet file"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as file:
            names = checked_names(list(file.schema_arrow.names), path)
            waiting: list[Any] = []
            at, left, wanted = cut.start, cut.start, cut.first
            for batch in file.iter_batches(max(cut.size, LOOK)):
                batch.validate(full=True)
                gone = min(left, len(batch))
                left -= gone
                waiting.append(batch.slice(gone))
                # Those of a file need not be of one size.
                while sum(map(len, waiting)) >= wanted:
                    whole = pa.Table.from_batches(waiting)
                    yield _columns(whole.slice(0, wanted), names, path, cut, at)
                    waiting = whole.slice(wanted).to_batches()
                    at, wanted = at + wanted, cut.size
            if sum(map(len, waiting)):
                yield _columns(pa.Table.from_batches(waiting), names, path, cut, at)


def _columns(part: Any, names: list[str], path: Path, cut: _Cut, at: int) -> Table:
    made = {}
    for i, name in enumerate(names):
        try:
            made[name] = as_kind(arrow.from_arrow(part.column(i)), cut.kinds.get(name))
        except Stray as stray:
            stray.row += at
            raise stray.at(name, path) from None
        except TableError as error:
            raise TableError(error.problem, path=path, column=name) from None
    return Table(made)
