"""/api/csv: points from a file of the person's own."""

from __future__ import annotations

import re
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from mercer._http.refusal import Refusal
from mercer.lab.fields import LARGEST, LIMITS, LONGEST_LABEL, Fields, is_label
from mercer.lab.samples import shown_as
from mercer.tables.reading import Table, TableError, read
from mercer.tables.reading.errors import shown

LONGEST = 10_000_000
# A table of points has a few columns; a file of a million empty ones would take gigabytes.
_MOST_COLUMNS = 1000
# Lines that are looked at to find out whether the first one holds names.
_LOOKED_AT = 200
# What the reader of tables advises to whoever calls it, which is of no use on a page.
_ADVICE = re.compile(r" If (?:words|numbers) are meant: kinds=.*", re.DOTALL)


def csv(fields: Fields) -> dict[str, Any]:
    """The answer to a request of /api/csv: two numeric columns and labels, or two numeric columns."""
    fields.only("text", "name")
    text = fields.text("text", LONGEST)
    name = Path(fields.text("name", 255, "points.csv")).name or "points.csv"
    text, notes = _with_names(text, name)
    table = _read(text, name, lines_added=len(notes))
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
    notes += _unused(numeric[2:], words[1:] if task == "labels" else words)
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


def _with_names(text: str, name: str) -> tuple[str, list[str]]:
    """The text, below a line of names if it has none; and a note that says so."""
    lines = text.lstrip("\ufeff\r\n").split("\n", _LOOKED_AT)[:_LOOKED_AT]
    delimiter = next((sign for sign in "\t;|," if sign in lines[0]), ",")
    if lines[0].count(delimiter) >= _MOST_COLUMNS:
        columns = lines[0].count(delimiter) + 1
        raise Refusal(400, f"{name}: {columns:,} columns are too many; keep two or three", field="text")
    rows = [[cell.strip(' \r"') for cell in line.split(delimiter)] for line in lines]
    first = rows[0]
    # Two numbers and a word may be names, too, such as those of two years; names do not come again below.
    again = any(row[2:3] == first[2:3] for row in rows[1:])
    if len(first) < 2 or not (all(map(_is_number, first)) or (all(map(_is_number, first[:2])) and again)):
        return text, []
    names = delimiter.join(f"column {i + 1}" for i in range(len(first)))
    note = f"the file has no line of names; its columns are called column 1 to column {len(first)}"
    return "\n".join([names, text.lstrip("\ufeff")]), [note]


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def _read(text: str, name: str, lines_added: int) -> Table:
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
            error.path, error.problem = name, _ADVICE.sub("", error.problem)
            error.line = None if error.line is None else error.line - lines_added
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
    if isinstance(value, np.datetime64 | datetime):
        return str(value).replace(" ", "T").removesuffix("T00:00:00").removesuffix("T00:00:00.000000")
    return str(value).strip() or None


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
        (fine & labelled & ~near, f"had a number beyond {LARGEST:,.0f}"),
    )
    for out, why in reasons:
        if out.any():
            many = int(out.sum())
            notes.append(f"{many:,} of {len(X):,} rows {why} and {'was' if many == 1 else 'were'} left out")
    kept = np.flatnonzero(fine & labelled & near)
    if len(kept) > LIMITS["points"]:
        notes.append(
            f"{LIMITS['points']:,} of {len(kept):,} points were drawn at random: more are too many here"
        )
        kept = np.sort(np.random.default_rng(0).choice(kept, LIMITS["points"], replace=False))
    if len(kept) < 2:
        why = "".join(f"; {note}" for note in notes)
        raise Refusal(400, f"{len(kept)} rows are points; two are needed at least{why}", field="text")
    return kept


def _require_classes(name: str, column: str, y: np.ndarray) -> None:
    different = sorted(set(y.tolist()))
    count = len(different)
    if not 2 <= count <= LIMITS["classes"]:
        raise Refusal(
            400,
            f"{name}, column {column!r}: {count:,} different labels; 2 to {LIMITS['classes']} can be shown",
            field="text",
        )
    for label in different:
        if not is_label(label):
            problem = f"{shown(label)} is no label: take short words, of {LONGEST_LABEL} characters at most"
            raise Refusal(400, f"{name}, column {column!r}: {problem}", field="text")
