"""Rows unlike any that were learned from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.tables.model.schema import Schema
from mercer.tables.reading import Table


@dataclass(frozen=True)
class Outside:
    """A value beyond what was seen.

    Attributes
    ----------
    row : number of the row, from 0
    column : str
    value : the number, the date in ISO form, or the word
    seen : what was seen, in words
    """

    row: int
    column: str
    value: float | str
    seen: str

    def __str__(self) -> str:
        value = f"{self.value:g}" if isinstance(self.value, float) else repr(self.value)
        return f"row {self.row + 1}: {self.column} = {value}, seen {self.seen}"


def outside(schema: Schema, table: Table) -> tuple[Outside, ...]:
    """Values beyond the range, or words not among those, of the rows that were learned from.

    Examples
    --------
    >>> schema = Schema.of(Table.of({"size": [1.0, 2.5], "city": ["Bonn", "Ulm"]}))
    >>> print(*outside(schema, Table.of({"size": [2.0, 9.0], "city": ["Bonn", "Rome"]})), sep="\\n")
    row 2: size = 9, seen 1 to 2.5
    row 2: city = 'Rome', seen 2 other words
    """
    found: list[Outside] = []
    for c in schema.columns:
        if c.name not in table:
            continue
        values = table[c.name]
        if c.kind == "category":
            known = set(c.categories or ())
            seen = f"{len(known)} other words"
            rows = [i for i, v in enumerate(values) if v is not None and v not in known] if known else []
            found += [Outside(i, c.name, str(values[i]), seen) for i in rows]
        elif c.low is not None:
            low, high = (c.low, c.high) if c.kind == "number" else np.array([c.low, c.high], "datetime64[us]")
            beyond = np.flatnonzero((values < low) | (values > high))
            seen = f"{c.low:g} to {c.high:g}" if c.kind == "number" else f"{c.low} to {c.high}"
            found += [
                Outside(int(i), c.name, float(values[i]) if c.kind == "number" else str(values[i]), seen)
                for i in beyond
            ]
    return tuple(sorted(found, key=lambda o: o.row))


def reach(schema: Schema, table: Table) -> np.ndarray:
    """How far each row lies beyond the ranges that were seen, in widths of those ranges; 0 inside."""
    far = np.zeros(len(table))
    for c in schema.columns:
        if c.kind == "category" or c.name not in table or c.low is None:
            continue
        values = table[c.name]
        if c.kind == "date":
            low, high = np.array([c.low, c.high], "datetime64[us]").astype(np.float64)
            values = np.where(np.isnat(values), low, values.astype(np.float64))
        else:
            low, high = float(c.low), float(c.high)
        width = high - low
        if not width > 0:
            continue  # one value, and gaps: there is no measure of far
        with np.errstate(over="ignore"):
            beyond = np.fmax(np.fmax(low - values, values - high), 0) / width
        far = np.fmax(far, np.minimum(beyond, 1e6))
    return far
