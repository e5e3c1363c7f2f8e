"""The second pass: rows to learn from become points on disk, rows to choose and to test by stay tables."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mercer.rows import ArrayRows
from mercer.rows.base import random_keys, rows_of_a_shard
from mercer.rows.cached import RESERVE_BYTES, RESERVE_SHARE
from mercer.rows.npy import NpyAppender
from mercer.tables.model.columns import Columns
from mercer.tables.model.large.look import numbered
from mercer.tables.model.large.sides import CHOOSE, LEARN, TEST, Sides
from mercer.tables.model.large.source import LargeTable, SampledTable
from mercer.tables.reading import Table
from mercer.tables.reading.objects import as_word

# Kernel values of a shard: whoever interrupts a fit does not wait longer than for these.
_VALUES = 1 << 27
# Rows that are encoded at a time: their points take several times the memory of a part.
_AT_ONCE = 1 << 14


@dataclass(frozen=True, eq=False)
class Answered:
    """What the target is: numbers, or labels that are known."""

    name: str
    classes: np.ndarray | None

    def of(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The targets, and which of them are known; the others are anything.

        >>> Answered("y", np.array([1, 2])).of(np.array([2.0, 1.0, 3.0]))
        (array([2, 1, 1]), array([ True,  True, False]))
        """
        if self.classes is None:
            return values.astype(np.float64), np.ones(len(values), dtype=bool)
        place = {as_word(label): i for i, label in enumerate(self.classes.tolist())}
        distinct, which = np.unique(
            values.astype(str) if values.dtype.kind == "O" else values, return_inverse=True
        )
        found = np.array([place.get(as_word(v), -1) for v in distinct.tolist()], dtype=np.intp)[which]
        return self.classes[np.maximum(found, 0)], found >= 0


@dataclass(frozen=True, eq=False)
class PointsOfRows:
    """How rows become points to learn from: those of the sample, whose targets its columns know, as there."""

    columns: Columns
    numbers: np.ndarray  # of the sample's rows, in order
    points: np.ndarray  # of these rows

    @classmethod
    def of(cls, columns: Columns, numbers: np.ndarray, points: np.ndarray) -> PointsOfRows:
        """Of a sample's rows in any order."""
        order = np.argsort(numbers)
        return cls(columns, numbers[order], points[order])

    def __call__(self, table: Table, numbers: np.ndarray) -> np.ndarray:
        """(n, outputs) points of rows with these numbers."""
        found = self.columns.transform(table)
        if len(self.numbers):
            place = np.minimum(np.searchsorted(self.numbers, numbers), len(self.numbers) - 1)
            mine = self.numbers[place] == numbers
            found[mine] = self.points[place[mine]]
        return found


@dataclass(eq=False)
class Kept:
    """What the second pass ends with: points to learn from on disk, and tables to choose and to test by."""

    choice: SampledTable
    test: SampledTable
    learned: int = 0  # rows to learn from, on disk
    left: int = 0  # rows of labels that are not known
    folder: Path | None = None

    def rows(self, unknowns: int) -> ArrayRows:
        """The points on disk, in shards for so many unknowns."""
        assert self.folder is not None
        X, y = self.folder / "X.npy", self.folder / "y.npy"
        whole = ArrayRows(X, y)
        fits = rows_of_a_shard(*whole.shape, whole.dtype.itemsize)
        return ArrayRows(X, y, rows=max(min(fits, _VALUES // unknowns), 1))


def share_on_disk(folder: Path, rows: int, width: int) -> float:
    """The share of so many rows of points that the disk has room for."""
    about = shutil.disk_usage(folder)
    room = about.free - max(RESERVE_SHARE * about.total, RESERVE_BYTES)
    return min(max(room / max(rows * (4 * width + 16), 1), 0.0), 1.0)


def keep(
    source: LargeTable,
    answered: Answered,
    sides: Sides,
    encoded: PointsOfRows | None,
    folder: Path,
    share: float,
    tell: Callable[[str], None],
) -> Kept:
    """One pass: points into `folder`, of a share of the rows to learn from, if it is said how."""
    found = Kept(SampledTable(sides.tested // 2 + 1, sides.seed), SampledTable(2 * sides.tested, sides.seed))
    limit = share * 2.0**64
    with open(folder / "X.npy", "wb") as X, open(folder / "y.npy", "wb") as Y:
        points, targets = NpyAppender(X), NpyAppender(Y)
        for table, numbers, _ in numbered(source, answered.name):
            if not len(table):
                continue
            y, known = answered.of(table[answered.name])
            found.left += int((~known).sum())
            side = np.where(known, sides.of(sides.units(table, numbers)), -1)
            for drawn, which in ((found.choice, CHOOSE), (found.test, TEST)):
                drawn.add(table.take(side == which), numbers[side == which])
            mine = side == LEARN
            if share < 1:
                mine &= random_keys(numbers, sides.seed + 2) < limit
            if encoded is not None:
                for rows in _at_a_time(np.flatnonzero(mine)):
                    points.append(encoded(table.take(rows), numbers[rows]).astype(np.float32))
                    targets.append(y[rows])
            found.learned += int(mine.sum())
            tell(f"Preparing all rows: {found.learned:,}")
        if encoded is not None and points.rows:
            points.finish()
            targets.finish()
            found.folder = folder
    return found


def _at_a_time(rows: np.ndarray) -> list[np.ndarray]:
    return [rows[start : start + _AT_ONCE] for start in range(0, len(rows), _AT_ONCE)]
