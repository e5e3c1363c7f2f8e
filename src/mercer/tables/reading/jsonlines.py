"""JSON lines: one object a line, its keys being the columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mercer.tables.reading.errors import Stray, TableError, checked_names, shown
from mercer.tables.reading.objects import from_objects
from mercer.tables.reading.of import DENSE_LIMIT, with_dates
from mercer.tables.reading.table import Table
from mercer.tables.reading.text import all_bytes, as_utf8, head_lines


def read_json_lines(path: Path, kinds: dict[str, str], limit: int | None = None) -> Table:
    """A table from JSON lines. Strings stay words, except in columns of dates, which JSON has not."""
    data, remarks = as_utf8(all_bytes(path, 10.0) if limit is None else head_lines(path, limit), path)
    columns: dict[str, list[Any]] = {}
    lines: list[int] = []
    for number, raw in enumerate(data.splitlines(), 1):
        if raw.isspace() or not raw:
            continue
        for name, value in record(raw, path, number).items():
            before = columns.setdefault(name, [])
            before.extend([None] * (len(lines) - len(before)))
            before.append(value)
        lines.append(number)
        if len(columns) * len(lines) > DENSE_LIMIT:
            raise TableError(
                f"{len(columns):,} columns by now: too many for a table.", path=path, line=number
            )
    if not columns:
        raise TableError("there are no rows in the file." if not lines else "the rows are empty.", path=path)
    checked_names(list(columns), path)
    made = {}
    for name, values in columns.items():
        values.extend([None] * (len(lines) - len(values)))
        try:
            made[name] = from_objects(values, kinds.get(name))
        except Stray as stray:
            raise stray.at(name, path, lines[stray.row]) from None
    return with_dates(Table(made, remarks=remarks), but=kinds)


def record(raw: bytes | str, path: Path, line: int) -> dict[str, Any]:
    """The object of one line."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise TableError("a key appears twice in one object.", path=path, line=line)
        return found

    try:
        record = json.loads(raw, object_pairs_hook=once)
    except TableError:
        raise
    except RecursionError:
        raise TableError("brackets are nested too deeply.", path=path, line=line) from None
    except ValueError as error:
        raise TableError(
            f"this is no JSON: {error}. Every line must hold one object.", path=path, line=line
        ) from None
    if not isinstance(record, dict):
        raise TableError(
            f'{shown(record)} is no object with names and values, like {{"price": 10}}.', path=path, line=line
        )
    return record
