"""JSON lines: one object a line, its keys being the columns."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from mercer.tables.reading.errors import TableError, shown
from mercer.tables.reading.records import LineFormat


class JsonLines(LineFormat):
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

    def row(self, line: str) -> dict[str, Any]:
        try:
            found = strict_json(line)
        except ValueError as error:
            raise TableError(f"this is no JSON: {error}. Every line must hold one object.") from None
        if not isinstance(found, dict):
            raise TableError(f'{shown(found)} is no object with names and values, like {{"price": 10}}.')
        return found


def strict_json(text: str, **more: Any) -> Any:
    """What JSON holds. A ValueError says what is wrong, also that a key comes twice or brackets never end."""
    try:
        return json.loads(text, object_pairs_hook=_once, **more)
    except RecursionError:
        raise ValueError("brackets are nested too deeply") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(name for name, often in Counter(name for name, _ in pairs).items() if often > 1)
        raise ValueError(f"an object has {shown(twice)} twice")
    return found
