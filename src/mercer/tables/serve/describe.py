"""What a model expects and gives, as JSON: a JSON Schema of a row, and a few words."""

from __future__ import annotations

from typing import Any

from mercer.tables.model import Model
from mercer.tables.model.schema import Column
from mercer.tables.serve.rows import logical, needed

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
    said = f"seen from {column.low} to {column.high}{share}"
    if column.kind == "date":
        low, high = (str(value).removesuffix("T00:00:00.000000") for value in (column.low, column.high))
        form = f"ISO 8601 or {column.order}" if column.order else "ISO 8601"
        said = f"{form}, seen from {low} to {high}{share}"
        return {"type": ["string", "null"], "description": said, "examples": [low, high]}
    return {"type": ["number", "null"], "description": said, "examples": [column.low, column.high]}
