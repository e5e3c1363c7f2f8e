"""Which rows are learned from, which choose and which test: by what they hold, whichever part they are in."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from mercer._units import row_bits
from mercer.rows.base import random_keys
from mercer.tables.reading import Table

LEARN, CHOOSE, TEST = 0, 1, 2
# Rows that test: a share of them, no fewer and no more than these; half as many choose.
_TESTED, _FEWEST, _MOST = 0.2, 600, 4000
_MOST_REMEMBERED = 100_000
_MISSING = np.uint64(0x7FF8000000000001)


class Sides:
    """The side that every row is on.

    Rows with the same group are on one side; without groups, rows that are equal in the columns of `names`;
    where there are no such columns, every row stands for itself.

    Examples
    --------
    >>> sides = Sides(10_000, ["x"], seed=0)
    >>> table = Table.of({"x": np.arange(10_000) % 5000 + 0.5})
    >>> side = sides.of(sides.units(table, np.arange(10_000)))
    >>> bool((side[:5000] == side[5000:]).all()), 1800 < int((side == TEST).sum()) < 2200
    (True, True)
    """

    def __init__(self, rows: int, names: list[str], groups: str | None = None, seed: int = 0):
        self.names, self.groups, self.seed = names, groups, seed
        self.tested = int(min(max(_TESTED * rows, _FEWEST), _MOST, rows // 4))
        self._share = self.tested / max(rows, 1)
        self._words: dict[str, int] = {}

    def units(self, table: Table, numbers: np.ndarray) -> np.ndarray:
        """64 bits of every row; rows with the same ones belong together."""
        if self.names:
            equal = row_bits(np.column_stack([self._bits(table[name]) for name in self.names]))
        else:
            equal = numbers.astype(np.uint64)
        if self.groups is None:
            return equal
        bits = self._bits(table[self.groups])
        # A row without a group is on its own, and no group is taken for a row.
        return np.where(bits == _MISSING, equal, row_bits(np.column_stack([bits, np.ones_like(bits)])))

    def of(self, units: np.ndarray) -> np.ndarray:
        """LEARN, CHOOSE or TEST."""
        place = random_keys(units, self.seed + 1) / 2.0**64
        return np.where(place < self._share, TEST, np.where(place < 1.5 * self._share, CHOOSE, LEARN))

    def _bits(self, values: np.ndarray) -> np.ndarray:
        """64 bits of every value, in every process the same."""
        if values.dtype.kind == "f":
            there = values + 0.0  # 0 and −0 are equal
            return np.where(np.isnan(there), _MISSING, there.view(np.uint64))
        if values.dtype.kind == "M":
            return np.where(np.isnat(values), _MISSING, values.astype(np.int64).astype(np.uint64))
        if len(self._words) > _MOST_REMEMBERED:
            self._words.clear()
        known = self._words
        for word in set(values.tolist()) - known.keys() - {None}:
            known[word] = int.from_bytes(
                blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            )
        return np.array([_MISSING if w is None else known[w] for w in values.tolist()], dtype=np.uint64)
