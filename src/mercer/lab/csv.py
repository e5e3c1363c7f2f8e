"""/api/csv: points from a file of the person's own."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from mercer._http.refusal import Refusal
from mercer.lab.fields import LARGEST, LIMITS, Fields
from mercer.lab.samples import shown_as
from mercer.tables.reading import Table, TableError, read

LONGEST = 10_000_000


def csv(fields: Fields) -> dict[str, Any]:
    """The answer to a request of /api/csv: two numeric columns and labels, or two numeric columns."""
    fields.only("text", "name")
    text = fields.text("text", LONGEST)
    name = Path(fields.text("name", 255, "points.csv")).name or "points.csv"
    table = _read(text, name)
    numeric = [c for c in table.names if table.kind(c) == "number"]
    words = [c for c in table.names if table.kind(c) != "number"]
    numeric, words = _told_apart(table, numeric, words)
    task = "labels" if words and len(numeric) >= 2 else "curve"
    if len(numeric) < 2:
        raise Refusal(
            400,
            f"{name}: two columns of numbers are needed (and one of labels, for classes); "
            f"there {'is' if len(numeric) == 1 else 'are'} {', '.join(numeric) or 'none'}",
            field="text",
        )
    notes = _unused(numeric[2:], words[1:] if task == "labels" else words)
    columns = numeric[:2] + (words[:1] if task == "labels" else [])
    X = np.column_stack([np.asarray(table[c], np.float64) for c in numeric[:2]])
    labels = [_label(v) for v in table[words[0]].tolist()] if task == "labels" else None
    kept = _kept(X, labels, notes)
    if task == "labels":
        assert labels is not None
        y = np.array(labels, dtype=object)[kept]
        _require_classes(name, columns[2], y)
        answer = shown_as("labels", X[kept], y.astype(str))
    else:
        answer = shown_as("curve", X[kept][:, :1], X[kept][:, 1])
    return answer | {"columns": columns, "notes": notes}


def _read(text: str, name: str) -> Table:
    """A table of the text, by the reader of tables; what is wrong names the file and the line."""
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        raise Refusal(400, f"{name}: this is no Unicode text; save the file as UTF-8", field="text") from None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "points.csv")
        path.write_bytes(data)
        try:
            return read(path, form="csv")
        except TableError as error:
            error.path = name
            raise Refusal(400, str(error)[:500], field="text") from None


def _told_apart(table: Table, numeric: list[str], words: list[str]) -> tuple[list[str], list[str]]:
    """Where all columns are numbers, a third one of a few whole numbers holds labels."""
    if words or len(numeric) < 3:
        return numeric, words
    values = np.asarray(table[numeric[2]], np.float64)
    known = np.unique(values[np.isfinite(values)])
    few = 2 <= len(known) <= LIMITS["classes"] and (known == np.round(known)).all()
    return (numeric[:2] + numeric[3:], numeric[2:3]) if few else (numeric, words)


def _label(value: Any) -> str | None:
    if value is None or (isinstance(value, float) and not np.isfinite(value)):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()[:60] or None


def _unused(numeric: list[str], words: list[str]) -> list[str]:
    unused = [*numeric, *words]
    return [f"left out: the column{'s' * (len(unused) > 1)} {', '.join(unused)[:200]}"] if unused else []


def _kept(X: np.ndarray, labels: list[str | None] | None, notes: list[str]) -> np.ndarray:
    """Rows that are points; what is left out is noted."""
    fine = np.isfinite(X).all(axis=1)
    labelled = np.array([label is not None for label in labels]) if labels is not None else fine
    near = np.abs(np.where(np.isfinite(X), X, 0)).max(axis=1, initial=0) <= LARGEST
    reasons = (
        (~fine, "had no number"),
        (fine & ~labelled, "had no label"),
        (fine & labelled & ~near, f"had a number beyond {LARGEST:g}"),
    )
    for out, why in reasons:
        if out.any():
            notes.append(f"{int(out.sum()):,} of {len(X):,} rows {why} and were left out")
    kept = np.flatnonzero(fine & labelled & near)
    if len(kept) > LIMITS["points"]:
        notes.append(
            f"{LIMITS['points']:,} of {len(kept):,} points were drawn at random: more are too many here"
        )
        kept = np.sort(np.random.default_rng(0).choice(kept, LIMITS["points"], replace=False))
    if len(kept) < 2:
        raise Refusal(400, f"{len(kept)} rows are points; two are needed at least", field="text")
    return kept


def _require_classes(name: str, column: str, y: np.ndarray) -> None:
    count = len(set(y.tolist()))
    if not 2 <= count <= LIMITS["classes"]:
        raise Refusal(
            400,
            f"{name}, column {column!r}: {count:,} different labels; 2 to {LIMITS['classes']} can be shown",
            field="text",
        )
