"""A table in a file that is read part by part, as often as is needed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mercer.rows.base import Reservoir
from mercer.tables.reading import Table
from mercer.tables.reading.parts import parts


class LargeTable:
    """A table that is not held in memory.

    Parameters
    ----------
    path : path of a CSV, TSV, Parquet or JSON lines file
    kinds : mapping from names to kinds, optional
        What columns shall be; see `mercer.tables.read`.
    without : sequence of str
        Columns that are not looked at.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "a.csv")
    >>> _ = file.write_text("x,y\\n1,2\\n3,4\\n")
    >>> [table.names for table in LargeTable(file, without=["x"]).parts()]
    [('y',)]
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        kinds: Mapping[str, str] | None = None,
        without: Sequence[str] = (),
    ):
        self.path, self.kinds, self.without = Path(path), dict(kinds or {}), tuple(without)
        self._known = False
        self._identity: Any = None

    def parts(self) -> Iterator[Table]:
        """Its rows, in order. Columns are what they were the first time, and so must the file be."""
        about = os.stat(self.path)
        identity = about.st_size, about.st_mtime_ns
        if self._identity not in (None, identity):
            raise ValueError(f"{self.path} has changed while it was learned from")
        self._identity = identity
        for table in parts(self.path, self.kinds, len(self.kinds) if self._known else 16):
            if not self._known:
                found = {name: table.orders.get(name, table.kind(name)) for name in table.names}
                self.kinds, self._known = found | self.kinds, True
            yield table.drop(*self.without)


class SampledTable:
    """Rows drawn at random from tables that come one after the other; which ones, their numbers say.

    Examples
    --------
    >>> drawn = SampledTable(3, seed=0)
    >>> for first in (0, 50):
    ...     drawn.add(Table.of({"x": np.arange(first, first + 50.0)}), np.arange(first, first + 50))
    >>> len(drawn.table), drawn.count, bool((drawn.table["x"] == drawn.rows).all())
    (3, 100, True)
    """

    def __init__(self, size: int, seed: int):
        self.size, self.seed = size, seed
        self._drawn = Reservoir.of(np.zeros(0, np.int64), size, seed)
        self._table: Table | None = None

    def add(self, table: Table, numbers: np.ndarray) -> None:
        """Offer rows by their numbers, which are larger than those before."""
        before = self._drawn.rows
        self._drawn = self._drawn + Reservoir.of(numbers, self.size, self.seed)
        new = table.take(np.isin(numbers, self._drawn.rows))
        if self._table is None:
            self._table = new
        elif len(new):
            self._table = Table.joined([self._table.take(np.isin(before, self._drawn.rows)), new])

    @property
    def table(self) -> Table:
        """The rows, in order."""
        if self._table is None:
            raise ValueError("there are no rows")
        return self._table

    @property
    def rows(self) -> np.ndarray:
        """Their numbers."""
        return self._drawn.rows

    @property
    def count(self) -> int:
        """How many were offered."""
        return self._drawn.count
