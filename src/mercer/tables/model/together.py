"""Rows of a table that belong together: equal ones, and those of a group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._units import count, equal_rows, few_codes, group_codes, joined
from mercer.tables.model.columns import Columns
from mercer.tables.reading import Table

# Every part of a search leaves units out of what other parts have left: with fewer there is nothing to judge.
_FEWEST = 5


@dataclass(frozen=True, eq=False)
class Together:
    """Which rows are on one side of every split, and why."""

    units: np.ndarray  # (n,) numbers: rows with the same one belong together
    equal: np.ndarray  # (n,) numbers: the same for equal rows
    # (n,) numbers of the groups that were given, −1 for none; None if there were no groups
    given: np.ndarray | None
    codes: bool  # are there so few possible rows that equal ones mean nothing, and were not looked for?

    @classmethod
    def of(cls, table: Table, groups: Any = None, texts: Sequence[str] = (), y: Any = None) -> Together:
        """Rows are equal if they are in the columns that are learned from, as these are encoded for `y`.

        Examples
        --------
        >>> table = Table.of({"x": [0.1, 0.2, 0.1, 0.4], "person": [1.0, 1.0, 2.0, 3.0]})
        >>> Together.of(table.drop("person"), table["person"]).units.tolist()
        [0, 0, 0, 1]
        """
        columns = Columns(texts=tuple(texts)).fit(table, y)
        used = table.select([e.name for e in columns.encoders_])
        rows = np.arange(len(table))
        codes = few_codes(used)
        equal = rows if codes else equal_rows(columns.told_apart(table))
        words = columns.coded and all(used.kind(name) == "text" for name in used.names)
        if words and 2 * count(equal) <= len(table):
            # Levels come again, and nothing else is known of rows.
            codes, equal = True, rows
        given = None if groups is None else group_codes(groups, len(table))
        return cls(equal if given is None else joined(equal, given), equal, given, codes)

    def take(self, rows: np.ndarray) -> Together:
        """The same for some of the rows."""
        given = None if self.given is None else self.given[rows]
        return Together(self.units[rows], self.equal[rows], given, self.codes)

    @property
    def repeated(self) -> int:
        """Rows that are equal to another one, in all columns that are learned from."""
        return int((np.bincount(self.equal)[self.equal] > 1).sum())

    @property
    def groups(self) -> int | None:
        """How many groups there are; None if there were none given."""
        return None if self.given is None else count(self.given[self.given >= 0])

    def require_some(self) -> None:
        """Refuse a table whose rows are all copies of a few, or of a few groups."""
        found = count(self.units)
        if found >= _FEWEST:
            return
        what = "groups (equal rows counted as one)" if self.groups is not None else "different rows"
        raise ValueError(
            f"the {len(self.units):,} rows are of {found} {what}, and rows that belong together are learned "
            f"from or tested on together: {_FEWEST} is the least to choose and test a model on"
        )

    def remarks(self) -> list[str]:
        """What there is to say about it."""
        n, out = len(self.units), []
        if self.repeated:
            out.append(
                f"{self.repeated:,} of {n:,} rows are equal to others in all columns learned from: equal "
                "rows were kept on one side of every split"
            )
        elif self.codes and self.groups is None:
            out.append(
                "there are so few possible rows that new ones will be equal to old ones, too: equal rows "
                "were not kept together in tests"
            )
        if self.groups is not None:
            out.append(f"rows are of {self.groups:,} groups, which were kept on one side of every split")
        return out
