"""Columns from Python values: what lists, records, object arrays and SQLite rows are made of."""

from __future__ import annotations

import numbers
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from mercer.tables.reading.cells import ALMOST, ORDERS, WRITTEN, Coded, understood
from mercer.tables.reading.errors import Stray, shown


def kind_of(column: np.ndarray) -> str:
    """The kind of a column, by its dtype."""
    return {"f": "number", "O": "text", "M": "date"}[column.dtype.kind]


def from_objects(values: Iterable[Any], kind: str | None = None) -> np.ndarray:
    """A column of a table from values of any type: numbers, words, dates, logical values, and missing ones.

    It shall be of a kind, as in `understood` ("written" is "text" here); None: what the values are. If they
    are mixed that is words, unless nearly all are numbers or dates: then the odd one is refused, as in text.
    """
    values, kind = list(values), "text" if kind == WRITTEN else kind
    of = {one: _kind(one) for one in set(map(type, values))}
    if kind in (None, "number") and set(of.values()) <= {"number", "missing"}:
        return _numbers(values)
    kinds = ["missing" if _absent(value, of[type(value)]) else of[type(value)] for value in values]
    counts = Counter(kinds)
    del counts["missing"]
    if "other" in counts:
        row = kinds.index("other")
        what = f"{shown(values[row])} is of type {type(values[row]).__name__}"
        raise Stray(row, f"{what}, not a number, word or date.")
    values = [None if kind == "missing" else value for value, kind in zip(values, kinds, strict=True)]
    if kind is None and not counts:
        kind = "number"
    if kind is None:
        main, most = counts.most_common(1)[0]
        if most < counts.total() and main in ("number", "date") and most >= ALMOST * counts.total():
            row = next(i for i, one in enumerate(kinds) if one not in ("missing", main))
            but = f"but {most:,} of the {counts.total():,} values of this column are"
            raise Stray(row, f"{shown(values[row])} is not a {main}, {but}.", mixed=True)
        kind = main if len(counts) == 1 and main in ("number", "date") else "text"
    if kind == "number" and set(counts) <= {"number"}:
        return _numbers(values)
    if (kind == "date" or kind in ORDERS) and set(counts) <= {"date"}:
        return _dates(values)
    words = np.empty(len(values), dtype=object)
    words[:] = [None if value is None else as_word(value) for value in values]
    return words if kind == "text" else understood(Coded.of(words), kind).values


def as_kind(column: np.ndarray, kind: str | None) -> np.ndarray:
    """A column of a table as another kind: values are written out, and read as what is wanted."""
    there = (None, kind_of(column), *(ORDERS if column.dtype.kind == "M" else ()))
    return column if kind in there else from_objects(column, kind)


def as_word(value: Any) -> str:
    """How a value is written: 12 for 12.0, true for True, dates in ISO 8601."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, numbers.Real):
        if isinstance(value, numbers.Integral):
            return str(int(value))
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, datetime):
        value = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        return value.date().isoformat() if value.time() == value.time().min else value.isoformat()
    return value.isoformat() if isinstance(value, date) else str(value)


def _kind(of: type) -> str:
    if of.__name__ in ("NoneType", "NAType", "NaTType"):
        return "missing"
    for kind, types in (
        ("logical", (bool, np.bool_)),
        ("number", (numbers.Real, Decimal)),
        ("text", (str,)),
        ("date", (date, np.datetime64)),
    ):
        if issubclass(of, types):
            return kind
    return "other"


def _absent(value: Any, kind: str) -> bool:
    """Missing though its type does not say so: NaN, NaT, no letters."""
    if isinstance(value, Decimal):
        return value.is_nan()
    return not value if kind == "text" else kind in ("number", "date") and bool(value != value)


def _numbers(values: list[Any]) -> np.ndarray:
    def number(value: Any) -> float:
        try:
            return np.nan if _kind(type(value)) == "missing" else float(value)
        except OverflowError:  # 10**400
            return np.inf

    try:
        column = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        column = np.array([number(value) for value in values])
    return finite(column, values)


def _dates(values: list[Any]) -> np.ndarray:
    def moment(row: int, value: Any) -> np.datetime64:
        try:
            if isinstance(value, datetime) and value.tzinfo:
                value = value.astimezone(UTC).replace(tzinfo=None)
            return bounded_dates(np.array([np.datetime64(value)]))[0]
        except (Stray, OverflowError, ValueError):
            raise Stray(row, f"{shown(str(value))} is not a date between the years 1 and 9999.") from None

    column = np.full(len(values), "NaT", dtype="datetime64[us]")
    for row, value in enumerate(values):
        if value is not None:
            column[row] = moment(row, value)
    return column


def finite(column: np.ndarray, written: Sequence[Any] | None = None) -> np.ndarray:
    """Numbers, none of which may be infinite; `written` is what they were made from."""
    if np.isinf(column).any():
        row = int(np.flatnonzero(np.isinf(column))[0])
        raise Stray(row, f"{shown((column if written is None else written)[row])} is not a finite number.")
    return column


def bounded_dates(column: np.ndarray) -> np.ndarray:
    """Dates of any unit in microseconds. Years have four digits: others can not be written, and overflow."""
    years = column.astype("datetime64[Y]").astype(np.int64) + 1970
    outside = ~np.isnat(column) & ((years < 1) | (years > 9999))
    if outside.any():
        row = int(np.flatnonzero(outside)[0])
        raise Stray(row, f"a date in the year {years[row]} is not between the years 1 and 9999.")
    return column.astype("datetime64[us]")
