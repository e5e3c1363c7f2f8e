"""JSON lines: one object a line, its keys being the columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mercer.tables.reading.errors import TableError, shown
from mercer.tables.reading.format import Cut, Format, Row, Wanted
from mercer.tables.reading.records import batches_of_rows, keys_of, table_of_rows
from mercer.tables.reading.table import Table
from mercer.tables.reading.text import decoded, load


class JsonLines(Format):
    """One object a line. Strings stay words, except in columns of dates, which JSON has not."""

    name = "JSON lines"
    suffixes = (".jsonl", ".ndjson")

    def looks_so(self, head: str) -> bool:
        """It begins with a brace; one array is refused with a way out."""
        head = head.lstrip()
        if head.startswith("["):
            raise TableError(
                "this is one JSON array; JSON lines are read, with one object a line. In Python, "
                "Table.of(json.load(file)) makes a table of it."
            )
        return head.startswith("{")

    def read(self, wanted: Wanted) -> Table:
        data, remarks = load(wanted.path, wanted.limit, 10.0)
        rows = list(_objects((line.decode() for line in data.splitlines()), wanted.path))
        return table_of_rows(rows, keys_of(rows, wanted.path), wanted.kinds, wanted.path, remarks)

    def of_lines(self, lines: Iterable[bytes], head: bytes, path: Path, cut: Cut) -> Iterator[Table]:
        return batches_of_rows(_objects(decoded(lines, path), path), path, cut)


def _objects(lines: Iterable[str], path: Path) -> Iterator[Row]:
    for number, text in enumerate(lines, 1):
        if text.strip():
            yield number, _object(text, path, number)


def _object(text: str, path: Path, line: int) -> dict[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise TableError("a key appears twice in one object.", path=path, line=line)
        return found

    try:
        found = json.loads(text, object_pairs_hook=once)
    except TableError:
        raise
    except RecursionError:
        raise TableError("brackets are nested too deeply.", path=path, line=line) from None
    except ValueError as error:
        problem = f"this is no JSON: {error}. Every line must hold one object."
        raise TableError(problem, path=path, line=line) from None
    if not isinstance(found, dict):
        problem = f'{shown(found)} is no object with names and values, like {{"price": 10}}.'
        raise TableError(problem, path=path, line=line)
    return found
