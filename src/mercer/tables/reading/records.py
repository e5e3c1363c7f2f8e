"""Rows that are dicts: lines of text that each hold one, rows of an iterator."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

from mercer.tables.reading.cells import Understood, dates_in
from mercer.tables.reading.errors import TableError, checked_names, shown
from mercer.tables.reading.format import Cut, Format, Row, Wanted, assembled
from mercer.tables.reading.objects import from_objects, kind_of
from mercer.tables.reading.table import DENSE_LIMIT, Table
from mercer.tables.reading.text import decoded

# Bytes of memory for a byte of text, while it is held as dicts.
_HELD = 10.0


class LineFormat(Format):
    """A kind of text file with one row a line: it needs to say only what is on a line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mercer.tables.reading import LineFormat, read
    >>> class Words(LineFormat):
    ...     name, suffixes = "words", (".words",)
    ...     def row(self, line):
    ...         return dict(zip(["city", "country"], line.split()))
    >>> file = pathlib.Path(tempfile.mkdtemp(), "cities.words")
    >>> _ = file.write_text("Bonn Germany\\nLyon France\\n")
    >>> read(file, form=Words())
    Table(2 rows: city text, country text)
    """

    @abstractmethod
    def row(self, line: str) -> dict[str, Any]:
        """What a line holds, by column. A `TableError` gets the number of the line."""

    def read(self, wanted: Wanted) -> Table:
        data, remarks = wanted.load(_HELD)
        rows = list(self._rows(line.decode() for line in data.splitlines()))
        return table_of_rows(rows, keys_of(rows), wanted.kinds, remarks)

    def of_lines(self, lines: Iterable[bytes], head: bytes, cut: Cut) -> Iterator[Table]:
        return batches_of_rows(self._rows(decoded(lines)), cut)

    def _rows(self, lines: Iterable[str]) -> Iterator[Row]:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield number, self.row(line)
                except TableError as error:
                    error.line = number
                    raise


def keys_of(rows: list[Row]) -> list[str]:
    """The names of all columns."""
    names = list(dict.fromkeys(key for _, row in rows for key in row))
    if not names:
        raise TableError("the rows are empty." if rows else "there are no rows.")
    if len(names) * len(rows) > DENSE_LIMIT:
        raise TableError(f"{len(rows):,} rows have {len(names):,} different keys: too many for a table.")
    return checked_names(names)


def table_of_rows(
    rows: list[Row],
    names: list[str],
    kinds: dict[str, str],
    remarks: Iterable[str] = (),
    in_file: bool = True,
) -> Table:
    """A table. Strings stay words, but in a file those that are all dates are dates, which JSON has not."""

    def column(j: int) -> Understood:
        kind = kinds.get(names[j])
        values = from_objects([row.get(names[j]) for _, row in rows], kind)
        if kind is None and in_file and kind_of(values) == "text":
            return dates_in(values)
        return Understood(values, kind_of(values))

    if in_file:
        return assembled(names, column, line_of=lambda row: rows[row][0], remarks=remarks)
    return assembled(names, column, first_row=rows[0][0] - 1 if rows else 0, in_file=False)


def batches_of_rows(rows: Iterator[Row], cut: Cut, in_file: bool = True) -> Iterator[Table]:
    """Tables of rows that come one by one; their columns are those of the first rows."""
    head = list(islice(rows, cut.look))
    names = keys_of(head)
    known = set(names)

    def made(part: list[Row]) -> Table:
        for place, row in part:
            if new := row.keys() - known:
                raise TableError(
                    f"the key {shown(min(new))} was not in the first {len(head):,} rows, and columns can't "
                    "come later: give the first row all keys, with null where nothing is known.",
                    line=place if in_file else None,
                    row=None if in_file else place,
                )
        table = table_of_rows(part, names, cut.kinds, in_file=in_file)
        cut.learn(table)
        return table

    return cut.of_rows(chain(head, rows), made)
