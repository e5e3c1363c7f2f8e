"""The first pass over a table: a sample of its rows, and what a sample may miss."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer.tables.model.large.source import LargeTable, SampledTable
from mercer.tables.model.schema import Column, Schema
from mercer.tables.model.task import missing
from mercer.tables.reading import Table, TableError
from mercer.tables.reading.objects import as_word

# More different words than this are names or free text, and not counted.
_MOST_WORDS = 100_000


@dataclass
class SeenColumn:
    """What all values of a column say together.

    Examples
    --------
    >>> seen = SeenColumn("text")
    >>> seen.add(np.array(["Ulm", None], dtype=object)), seen.add(np.array(["Bonn", "Ulm"], dtype=object))
    (None, None)
    >>> seen.words, seen.missing
    (Counter({'Ulm': 2, 'Bonn': 1}), 1)
    """

    kind: str
    missing: int = 0
    low: Any = None
    high: Any = None
    words: Counter[str] | None = field(default_factory=Counter)

    def add(self, values: np.ndarray) -> None:
        """Some more of them."""
        if self.kind == "text":
            counts = Counter(values.tolist())
            self.missing += counts.pop(None, 0)
            if self.words is not None:
                self.words += counts
                self.words = self.words if len(self.words) <= _MOST_WORDS else None
            return
        absent = np.isnat(values) if self.kind == "date" else np.isnan(values)
        self.missing += int(absent.sum())
        there = values[~absent if self.kind == "date" else np.isfinite(values)]
        if len(there):
            low, high = there.min(), there.max()
            self.low = low if self.low is None else min(self.low, low)
            self.high = high if self.high is None else max(self.high, high)

    @property
    def range(self) -> np.ndarray:
        """The smallest and the largest number."""
        return np.array([self.low, self.high], dtype=np.float64)

    def count_beside(self, value: Any) -> str:
        """How many values are another one, in words; empty if there is none, or nobody knows."""
        if self.words:
            count = self.words.total() - self.words[value]
            return f"{count:,}" if count else ""
        return "" if self.low == self.high else "some"

    def column(self, c: Column, rows: int) -> Column:
        """A column of a sample, with what is known of all rows."""
        share = self.missing / rows
        if c.kind == "number" and self.low is not None:
            return replace(c, low=float(self.low), high=float(self.high), missing=share)
        if c.kind == "date" and self.low is not None:
            return replace(c, low=str(self.low), high=str(self.high), missing=share)
        if c.kind == "category" and c.categories and self.words:
            words = sorted(self.words, key=lambda w: (-self.words[w], w))  # type: ignore[index]
            return replace(c, categories=tuple(words), missing=share)
        return replace(c, missing=share)


@dataclass(eq=False)
class Overview:
    """A sample of the rows that have a target, and what all of them say.

    Attributes
    ----------
    rows : how many have a target
    absent, first_absent : how many have none, and the number of the first of those, from 1
    columns : what is known of each column, the target among them
    sample : some of the rows
    """

    sample: SampledTable
    rows: int = 0
    absent: int = 0
    first_absent: int = 0
    columns: dict[str, SeenColumn] = field(default_factory=dict)

    def schema(self, of_sample: Schema) -> Schema:
        """A schema of the sample as one of all rows."""
        return Schema(tuple(self.columns[c.name].column(c, self.rows) for c in of_sample.columns))

    def rows_beside(self, target: str, classes: np.ndarray | None) -> int | None:
        """How many rows have other labels than these; None if that was not counted."""
        if classes is None:
            return 0
        counts = self.columns[target].words
        if not counts:
            return None  # labels that are numbers, or too many words
        known = {as_word(label) for label in classes.tolist()}
        return sum(count for word, count in counts.items() if as_word(word) not in known)


def look(source: LargeTable, target: str, size: int, seed: int, tell: Callable[[str], None]) -> Overview:
    """One pass over all rows."""
    found = Overview(SampledTable(size, seed))
    for table, numbers, absent in numbered(source, target):
        if len(absent):
            found.first_absent = found.first_absent or int(absent[0]) + 1
            found.absent += len(absent)
        found.rows += len(table)
        for name in table.names:
            found.columns.setdefault(name, SeenColumn(table.kind(name))).add(table[name])
        found.sample.add(table, numbers)
        tell(f"Looking at all rows: {found.rows:,}")
    return found


def numbered(source: LargeTable, target: str) -> Iterator[tuple[Table, np.ndarray, np.ndarray]]:
    """The rows that have a target, part by part, their numbers from 0, and the numbers of the others."""
    before, names = 0, None
    for table in source.parts():
        if names not in (None, table.names):
            raise TableError("its columns are not the same everywhere.", path=source.place.name)
        names, values = table.names, table[target]
        absent, numbers = missing(values), before + np.arange(len(table))
        before += len(table)
        if absent.all():
            yield table.take(slice(0)), numbers[:0], numbers
        else:
            whole = table if not absent.any() else table.take(~absent)
            yield whole, numbers[~absent], numbers[absent]
