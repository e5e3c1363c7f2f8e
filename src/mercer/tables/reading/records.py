"""Rows that are dicts: objects of JSON lines, rows of an iterator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

from mercer.tables.reading.cells import Understood, dates_in
from mercer.tables.reading.errors import TableError, checked_names, shown
from mercer.tables.reading.format import Cut, Row, assembled
from mercer.tables.reading.objects import from_objects, kind_of
from mercer.tables.reading.table import DENSE_LIMIT, Table


def keys_of(rows: list[Row], path: Path | None) -> list[str]:
    """The names of all columns."""
    names = list(dict.fromkeys(key for _, row in rows for key in row))
    if not names:
        raise TableError("the rows are empty." if rows else "there are no rows.", path=path)
    if len(names) * len(rows) > DENSE_LIMIT:
        problem = f"{len(rows):,} rows have {len(names):,} different keys: too many for a table."
        raise TableError(problem, path=path)
    return checked_names(names, path)


def table_of_rows(
    rows: list[Row], names: list[str], kinds: dict[str, str], path: Path | None, remarks: Iterable[str] = ()
) -> Table:
    """A table. Strings stay words, but in a file those that are all dates are dates, which JSON has not."""

    def column(j: int) -> Understood:
        kind = kinds.get(names[j])
        values = from_objects([row.get(names[j]) for _, row in rows], kind)
        if kind is None and path is not None and kind_of(values) == "text":
            return dates_in(values)
        return Understood(values, kind_of(values))

    if path is not None:
        return assembled(names, column, path, line_of=lambda row: rows[row][0], remarks=remarks)
    return assembled(names, column, None, first_row=rows[0][0] - 1 if rows else 0)


def batches_of_rows(rows: Iterator[Row], path: Path | None, cut: Cut) -> Iterator[Table]:
    """Tables of rows that come one by one; their columns are those of the first rows."""
    head = list(islice(rows, cut.look))
    names = keys_of(head, path)
    known = set(names)

    def made(part: list[Row]) -> Table:
        for place, row in part:
            if new := row.keys() - known:
                raise TableError(
                    f"the key {shown(min(new))} was not in the first {len(head):,} rows, and columns can't "
                    "come later: give the first row all keys, with null where nothing is known.",
                    path=path,
                    line=None if path is None else place,
                    row=place if path is None else None,
                )
        table = table_of_rows(part, names, cut.kinds, path)
        cut.learn(table)
        return table

    return cut.of_rows(chain(head, rows), made)
