"""A table elsewhere that is read part by part, as often as is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from mercer.rows.base import Reservoir
from mercer.tables.reading import Table
from mercer.tables.reading.format import seen_kinds
from mercer.tables.reading.places import place_of


class LargeTable:
    """A table that is not held in memory.

    Parameters
    ----------
    where : whatever says where it is
        A file, a folder, a pattern, a data set, a query; see `mercer.tables.reading.places.place_of`.
    kinds : mapping from names to kinds, optional
        What columns shall be; see `mercer.tables.read`.
    without : sequence of str
        Columns that are not looked at.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "a.csv")
    >>> _ = file.write_text("x,y\\n1,2\\n3,4\\n")
    >>> [table.names for table in LargeTable(file, without=["x"]).parts()]
    [('y',)]
    """

    def __init__(self, where: Any, kinds: Mapping[str, str] | None = None, without: Sequence[str] = ()):
        self.place, self.kinds, self.without = place_of(where), dict(kinds or {}), tuple(without)
        self._known = False
        self._identity: Any = None
        self._digest: str | None = None

    def parts(self) -> Iterator[Table]:
        """Its rows, in order. Columns are what they were the first time, and so must the rows be."""
        identity = self.place.identity()
        if self._identity not in (None, identity):
            raise ValueError(f"{self.place.name} has changed while it was learned from")
        self._identity = identity
        digest, left = blake2b(digest_size=16), set(self.without)

        def skip(name: str) -> bool:
            left.discard(name)
            return name in self.without

        for table in self.place.parts(self.kinds, len(self.kinds) if self._known else 16, skip):
            table.drop(*left, *(self.kinds.keys() - set(self.without)))  # an error: these are not there
            if not self._known and len(table):
                self.kinds, self._known = seen_kinds(table) | self.kinds, True
            if identity is None:
                _digest(digest, table)
            yield table
        if identity is None and self._digest not in (None, digest.hexdigest()):
            raise ValueError(
                f"{self.place.name} did not give the same rows in the same order twice: order them (order by "
                "…), or write them to a file and learn from that"
            )
        self._digest = digest.hexdigest()


def _digest(digest: Any, table: Table) -> None:
    """What is in a table, for comparison with what a query says the next time."""
    for name in table.names:
        values = table[name]
        if values.dtype.kind == "O":
            words = "\0".join("" if word is None else word for word in values.tolist())
            digest.update(words.encode("utf-8", "surrogatepass"))
        else:
            digest.update(np.ascontiguousarray(values).view(np.uint64).data)


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
