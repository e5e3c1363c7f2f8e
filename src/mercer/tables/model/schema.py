"""What a model expects of a table: which columns, of which kind."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from mercer._state import require
from mercer.tables.reading import Table, TableError
from mercer.tables.reading.cells import ORDERS


@dataclass(frozen=True)
class Column:
    """One column of the tables a model was fitted to.

    Attributes
    ----------
    name : str
    kind : "number", "category", "date" or "text"
    categories : the words that were seen, most frequent first; None for all but categories
    low, high : smallest and largest value seen (dates in ISO form); None for categories and texts
    missing : share of rows without a value
    order : how dates were written that are not ISO 8601: "D.M.Y", "D/M/Y" or "M/D/Y"; None otherwise

    Examples
    --------
    >>> from mercer.tables import Schema, Table
    >>> column = Schema.of(Table.of({"size": [1.0, 2.5, 4.0]})).columns[0]
    >>> column.name, column.kind, column.low, column.high
    ('size', 'number', 1.0, 4.0)
    """

    name: str
    kind: str
    categories: tuple[str, ...] | None
    low: Any
    high: Any
    missing: float
    order: str | None = None

    holds = {"kind": Literal["number", "category", "date", "text"]}

    def check_state(self) -> None:
        """Refuse a way of writing dates that nobody has."""
        ordered = self.order is None or (self.kind == "date" and self.order in ORDERS)
        require(ordered, f"the dates of column {self.name!r} are written in an unknown way")

    @property
    def table_kind(self) -> str:
        """As what a `Table` shall read it: categories are text, and dates are written as they were."""
        return "text" if self.kind == "category" else self.order or self.kind


@dataclass(frozen=True)
class Schema:
    """The columns a model reads, in order.

    Examples
    --------
    >>> schema = Schema.of(Table.of({"size": [1.0, 2.5], "city": ["Bonn", None]}))
    >>> schema.columns[1].kind, schema.columns[1].missing
    ('category', 0.5)
    >>> schema.conform([{"city": "Bonn", "size": 3, "unused": 1}])
    Table(1 row: size number, city text)
    """

    columns: tuple[Column, ...]

    def check_state(self) -> None:
        """Refuse two columns of one name."""
        require(len(set(self.names)) == len(self.names), "two columns have one name")

    @classmethod
    def of(cls, table: Table) -> Schema:
        """The schema of a table."""
        made, orders = (_column(name, table[name], table.kind(name)) for name in table.names), table.orders
        return cls(tuple(replace(c, order=orders[c.name]) if c.name in orders else c for c in made))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(c.name for c in self.columns)

    @property
    def kinds(self) -> dict[str, str]:
        """As what a `Table` shall read each column."""
        return {c.name: c.table_kind for c in self.columns}

    def without_words(self, names: Collection[str]) -> Schema:
        """The same without the words of some columns: names of people have no place in a model."""
        return Schema(
            tuple(
                replace(c, kind="category", categories=())
                if c.name in names and (c.categories or c.kind == "text")
                else c
                for c in self.columns
            )
        )

    def with_texts(self, names: Collection[str]) -> Schema:
        """The same with some columns as text, which is read and not listed."""
        return Schema(
            tuple(replace(c, kind="text", categories=None) if c.name in names else c for c in self.columns)
        )

    def conform(self, X: Any, unused: Collection[str] = ()) -> Table:
        """The columns of this schema out of X, as the kinds they had; others and `unused` ones are ignored.

        Raises TableError if a column is not there, or holds what can't be read as its kind.
        """
        kinds = {name: kind for name, kind in self.kinds.items() if name not in unused}
        if isinstance(X, list) and not X:
            X = {name: [] for name in kinds}  # no rows, whatever columns they would have had
        if (isinstance(X, np.ndarray) and X.dtype.names is None) or (
            isinstance(X, list) and not isinstance(X[0], dict)
        ):
            width = np.asarray(X, dtype=object).shape[1:] if not isinstance(X, np.ndarray) else X.shape[1:]
            if width != (len(self.columns),):
                raise TableError(
                    f"an array without names must have the {len(self.columns)} columns of the training table "
                    f"({_few(self.names)}), got rows of shape {width}."
                )
            table = Table.of(X, names=self.names, kinds=kinds)
        else:
            table = Table.of(X, kinds=kinds)
        absent = [name for name in kinds if name not in table]
        if absent:
            raise TableError(
                f"the model needs the column{'s' * (len(absent) > 1)} {_few(absent)}, not in this table."
            )
        return table.select(kinds)


def _column(name: str, values: np.ndarray, kind: str) -> Column:
    if kind == "number":
        there = values[np.isfinite(values)]
        low, high = (float(there.min()), float(there.max())) if len(there) else (None, None)
        return Column(name, "number", None, low, high, float(np.mean(np.isnan(values))))
    if kind == "date":
        absent = np.isnat(values)
        there = values[~absent]
        first, last = (str(there.min()), str(there.max())) if len(there) else (None, None)
        return Column(name, "date", None, first, last, float(absent.mean()))
    absent = np.array([v is None for v in values], dtype=bool)
    words, counts = np.unique(values[~absent].astype(str), return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return Column(name, "category", tuple(str(w) for w in words[order]), None, None, float(absent.mean()))


def _few(names: Any) -> str:
    shown = ", ".join(map(repr, list(names)[:8]))
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")
