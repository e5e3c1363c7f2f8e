"""What a request asks: JSON into a table, every value checked first; and what a model expects, as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from types import NoneType
from typing import Any

import numpy as np

from mercer._http.refusal import Refusal
from mercer.tables.model import Model
from mercer.tables.model.schema import Column
from mercer.tables.reading import Table
from mercer.tables.reading.errors import Stray, shown
from mercer.tables.reading.jsonlines import strict_json
from mercer.tables.reading.objects import from_objects

# What JSON values a column of each kind takes, and how that is said.
_TYPES: dict[str, tuple[set[type], str]] = {
    "number": ({int, float, NoneType}, "numbers: send it without quotes, or null if it is not known"),
    "category": ({str, NoneType}, "words: send it in quotes, or null if it is not known"),
    "text": ({str, NoneType}, "text: send it in quotes, or null if there is none"),
    "date": ({str, NoneType}, "dates: send one like '2024-01-31' or '2024-01-31T10:00Z', or null"),
}


_NAMES: dict[type, str] = {
    bool: "a boolean",
    str: "a string",
    int: "a number",
    float: "a number",
    list: "an array",
    dict: "an object",
}


@dataclass(frozen=True, eq=False)
class Asked:
    """One request, sound: rows to predict, and the coverage of intervals if they are wanted."""

    table: Table
    interval: float | None

    def __len__(self) -> int:
        return len(self.table)


def needed(model: Model) -> list[Column]:
    """The columns a model looks at; those that it left out need not be sent."""
    return [c for c in model.schema.columns if c.name not in model.columns.dropped_]


def logical(column: Column) -> bool:
    """Were its words true and false? Then JSON's true and false mean them."""
    return bool(column.categories) and set(column.categories or ()) <= {"true", "false"}


def parse(body: bytes, model: Model, max_rows: int) -> Asked:
    """A request of /predict.

    Refused with 400 if it is no JSON, 413 if there are too many rows, 422 with row and column if a value does
    not fit.
    """
    asked = _object(body)
    unknown = [key for key in asked if key not in ("rows", "columns", "interval")]
    if unknown:
        raise Refusal(422, f"{shown(unknown[0])} is not known; there are 'rows', 'columns' and 'interval'")
    if ("rows" in asked) == ("columns" in asked):
        raise Refusal(422, 'send either {"rows": [{…}, …]} or {"columns": {"name": […], …}}')
    interval = _interval(asked.get("interval"), model)
    columns = needed(model)
    names = [c.name for c in columns]
    by_row = "rows" in asked
    understand = _from_rows if by_row else _from_columns
    n, values = understand(asked["rows" if by_row else "columns"], names, max_rows)
    made = {c.name: _column(c, values[c.name], by_row) for c in columns}
    return Asked(Table(made, n), interval)


def _object(body: bytes) -> dict[str, Any]:
    def no_number(word: str) -> float:
        raise Refusal(400, f"{word} is no JSON; send null if a value is not known")

    try:
        asked = strict_json(body.decode("utf-8"), parse_constant=no_number)
    except UnicodeDecodeError as error:
        raise Refusal(400, f"the body is not UTF-8: byte {error.start} is wrong") from None
    except ValueError as error:  # JSONDecodeError, or a number of thousands of digits
        raise Refusal(400, f"the body is no JSON: {str(error)[:200]}") from None
    if not isinstance(asked, dict):
        raise Refusal(422, 'the body must be an object: {"rows": [{…}, …]}')
    return asked


def _interval(value: Any, model: Model) -> float | None:
    if value is None:
        return None
    if model.conformal is None:
        raise Refusal(422, "a classification has no intervals; its answer holds probabilities")
    if type(value) not in (int, float) or not 0 < value < 1:
        raise Refusal(422, f"interval must be a number between 0 and 1, got {shown(value)}")
    return float(value)


def _from_rows(rows: Any, names: list[str], max_rows: int) -> tuple[int, dict[str, list[Any]]]:
    if not isinstance(rows, list):
        raise Refusal(422, f"rows must be a list of objects, got {_type(rows)}")
    _require_few(len(rows), max_rows)
    for i, row in enumerate(rows):
        if type(row) is not dict:
            raise Refusal(422, f"rows[{i}] must be an object, got {_type(row)}", row=i)
    try:
        return len(rows), {name: [row[name] for row in rows] for name in names}
    except KeyError:
        i, name = next((i, name) for i, row in enumerate(rows) for name in names if name not in row)
        raise Refusal(
            422, f"rows[{i}] lacks {shown(name)}; send null if it is not known", row=i, column=name
        ) from None


def _from_columns(columns: Any, names: list[str], max_rows: int) -> tuple[int, dict[str, list[Any]]]:
    if not isinstance(columns, dict):
        raise Refusal(422, f"columns must be an object of lists, got {_type(columns)}")
    n: int | None = None
    for name in names:
        if name not in columns:
            raise Refusal(
                422, f"columns lacks {shown(name)}; send a list, with null for what is not known", column=name
            )
        values = columns[name]
        if not isinstance(values, list):
            raise Refusal(422, f"columns[{shown(name)}] must be a list, got {_type(values)}", column=name)
        n = len(values) if n is None else n
        if len(values) != n:
            raise Refusal(
                422, f"columns[{shown(name)}] has {len(values):,} values, others {n:,}", column=name
            )
    _require_few(n or 0, max_rows)
    return n or 0, {name: columns[name] for name in names}


def _require_few(n: int, most: int) -> None:
    if n > most:
        raise Refusal(413, f"{n:,} rows are too many for one request; {most:,} is the limit")


def _column(column: Column, values: list[Any], by_row: bool) -> np.ndarray:
    types, wanted = _TYPES[column.kind]
    if logical(column):
        types = types | {bool}
    if not set(map(type, values)) <= types:
        i = next(i for i, value in enumerate(values) if type(value) not in types)
        value = str(values[i]).lower() if isinstance(values[i], bool) else shown(values[i])
        what = f"{value} is {_type(values[i])}, but this column holds {wanted}"
        raise _at(column.name, i, by_row, what)
    try:
        return from_objects(values, column.table_kind)
    except Stray as stray:
        what = stray.problem.rstrip(".")
        raise _at(column.name, stray.row, by_row, what) from None


def _at(name: str, i: int, by_row: bool, what: str) -> Refusal:
    place = f"rows[{i}][{shown(name)}]" if by_row else f"columns[{shown(name)}][{i}]"
    return Refusal(422, f"{place}: {what}", row=i, column=name)


def _type(value: Any) -> str:
    """What JSON calls it."""
    return _NAMES.get(type(value), "null")


_EXAMPLES = 20


def schema(model: Model) -> dict[str, Any]:
    """Task, target, classes, and a JSON Schema (2020-12) of one row.

    Words that were seen are examples, not the only ones allowed: a model takes new words, and missing values.
    """
    columns = needed(model)
    classes = model.classes_
    return {
        "target": model.target,
        "task": model.task,
        "classes": None if classes is None else classes.tolist(),
        "row": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {c.name: _property(c) for c in columns},
            "required": [c.name for c in columns],
            "additionalProperties": True,
        },
    }


def _property(column: Column) -> dict[str, Any]:
    share = f"; {column.missing:.0%} were missing" if column.missing else ""
    if column.kind == "category":
        seen = list((column.categories or ())[:_EXAMPLES])
        if logical(column):
            return {"type": ["string", "boolean", "null"], "examples": [word == "true" for word in seen]}
        said = f"{len(column.categories or ()):,} words were seen, others are allowed{share}"
        return {"type": ["string", "null"], "description": said, "examples": seen}
    if column.kind == "text":
        return {"type": ["string", "null"], "description": f"free text{share}"}
    said = f"seen from {column.low} to {column.high}{share}"
    if column.kind == "date":
        low, high = (str(value).removesuffix("T00:00:00.000000") for value in (column.low, column.high))
        form = f"ISO 8601 or {column.order}" if column.order else "ISO 8601"
        said = f"{form}, seen from {low} to {high}{share}"
        return {"type": ["string", "null"], "description": said, "examples": [low, high]}
    return {"type": ["number", "null"], "description": said, "examples": [column.low, column.high]}
