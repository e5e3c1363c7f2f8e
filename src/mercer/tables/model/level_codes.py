"""A category of many levels by the target's mean in each, drawn to that of all rows as far as it is noise.

With z the targets in units of their spread, n_l rows of level l and m = σ²/τ² (the variance within levels
over that between their means, as one-way analysis of variance estimates them), the code of a level is

    n_l / (n_l + m) · (mean of z in the level − mean of all z) ,

the expected deviation of the level if deviations are normal. Codes of the rows that are learned from must not
know these rows' own targets: they come from the rows of other folds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mercer._state import COUNT, POSITIVE, doubles, require
from mercer._units import count, folds
from mercer.tables.model.encoders import Category

_FOLDS = 5
# Where levels seem to make no difference a mean of so many rows still counts half: beside other columns
# they may make one.
_MOST_SHRUNK = 100.0


@dataclass(frozen=True, eq=False)
class CodedCategory(Category):
    """A word by the target's mean in its level; besides, the most frequent levels have a column each.

    `levels` are all levels, those with a column of their own first. The last row of `codes` is that of
    missing words; a word never seen has code 0, which is the mean.
    """

    own: int
    codes: np.ndarray
    bend: float | None

    # Its codes are an array: it is equal to itself.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    holds = {"own": COUNT, "codes": doubles(None, None), "bend": (None, POSITIVE)}

    def check_state(self) -> None:
        """Refuse levels that come twice, or have no code."""
        Category.check_state(self)
        rows, outputs = self.codes.shape
        fine = rows == len(self.levels) + 1 and outputs > 0 and 0 <= self.own <= len(self.levels)
        require(fine and self.others == (self.own > 0), f"the codes of column {self.name!r} are wrong")

    @cached_property
    def place(self) -> dict[str | None, int]:
        """The row of `codes` of each level, and of missing words."""
        return {level: i for i, level in enumerate((*self.levels, None))}

    @property
    def frequent(self) -> Category | None:
        """The levels with a column of their own, and one for all others; None if there are none."""
        return Category(self.name, self.levels[: self.own], True) if self.own else None

    @property
    def outputs(self) -> int:
        """How many columns the codes are: those of the targets."""
        return self.codes.shape[1]

    def names_out(self) -> list[str]:
        numbers = [""] if self.outputs == 1 else [f" {i + 1}" for i in range(self.outputs)]
        indicators = [] if self.frequent is None else self.frequent.names_out()
        return [*indicators, *(f"{self.name} by target{number}" for number in numbers)]

    def places(self, values: np.ndarray) -> np.ndarray:
        """The number of each row's level; one more than those of all others for words never seen."""
        place, unseen = self.place, len(self.levels) + 1
        return np.array([place.get(v, unseen) for v in values], dtype=np.intp)

    def encode(self, values: np.ndarray) -> np.ndarray:
        """Indicators and codes of new rows."""
        index = self.places(values)
        last = len(self.levels)
        return self._beside(index, np.where(index[:, None] <= last, self.codes[np.minimum(index, last)], 0.0))

    def encode_learned(self, values: np.ndarray, z: np.ndarray, fold: np.ndarray) -> np.ndarray:
        """The same of rows that are learned from, of which each takes its code from other folds."""
        index = self.places(values)
        return self._beside(index, cross_fitted(index, z, len(self.levels) + 2, fold))

    def learned_again(self, values: np.ndarray, z: np.ndarray) -> CodedCategory:
        """The same outputs, with levels and codes of other rows."""
        new = sorted({v for v in values if v is not None} - set(self.levels))
        wider = replace(self, levels=(*self.levels, *new))
        codes = codes_of(wider.places(values), z, len(wider.levels) + 1)
        return replace(wider, codes=codes)

    def _beside(self, index: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """The codes, with the columns of frequent levels before them."""
        if self.bend is not None:
            codes = codes / np.sqrt(1 + (codes / self.bend) ** 2)
        if not self.own:
            return codes
        return np.hstack([Category.indicators(np.where(index < self.own, index, -1), self.own, True), codes])


def in_spreads(targets: np.ndarray) -> np.ndarray:
    """Targets (n, t) less their mean, in units of the spread of all columns together."""
    middle = targets - targets.mean(axis=0)
    largest = float(np.abs(middle).max(initial=0.0))
    if not largest > 0:
        return middle
    middle = middle / largest
    return middle / np.sqrt((middle**2).sum(axis=1).mean())


def fold_of(units: np.ndarray | None, rows: int) -> np.ndarray:
    """(n,) numbers of folds, the same every time; units stay together."""
    units = np.arange(rows) if units is None else units
    fold = np.zeros(rows, dtype=np.intp)
    if (k := min(_FOLDS, count(units))) > 1:
        for number, (_, test) in enumerate(folds(units, k)):
            fold[test] = number
    return fold


def shrinkage(index: np.ndarray, z: np.ndarray, size: int) -> np.ndarray:
    """m = σ²/τ² of each column of targets: a level of so many rows is drawn half way to the mean of all.

    Examples
    --------
    >>> index, z = np.repeat([0, 1], 2), np.array([[0.0], [2.0], [4.0], [6.0]])
    >>> shrinkage(index, z, 2)  # σ² = 2, and the means 1 and 5 have variance 8 = τ² + σ²/2
    array([0.28571429])
    """
    counts, sums = _sums(index, z, size)
    there = counts > 0
    counts, means = counts[there][:, None], sums[there] / counts[there][:, None]
    n, levels = len(z), int(there.sum())
    if not 1 < levels < n:
        return np.full(z.shape[1], _MOST_SHRUNK)
    between = (counts * (means - z.mean(axis=0)) ** 2).sum(axis=0)
    within = ((z - z.mean(axis=0)) ** 2).sum(axis=0) - between
    noise = np.maximum(within, 0) / (n - levels)
    rows = (n - float((counts**2).sum()) / n) / (levels - 1)  # of a level, on a kind of average
    signal = (between / (levels - 1) - noise) / rows
    return np.minimum(noise / np.maximum(signal, noise / _MOST_SHRUNK + np.finfo(float).tiny), _MOST_SHRUNK)


def codes_of(index: np.ndarray, z: np.ndarray, size: int) -> np.ndarray:
    """(size, t): the code of each level, from all rows."""
    counts, sums = _sums(index, z, size)
    return _shrunk(counts, sums, z.mean(axis=0), shrinkage(index, z, size))


def cross_fitted(index: np.ndarray, z: np.ndarray, size: int, fold: np.ndarray) -> np.ndarray:
    """(n, t): the code of each row's level, from the rows of other folds.

    How far codes are drawn to the mean, one number a column, is that of all rows.
    """
    k, m = int(fold.max(initial=0)) + 1, shrinkage(index, z, size)
    counts, sums = _sums(index * k + fold, z, size * k)
    counts, sums = counts.reshape(size, k), sums.reshape(size, k, -1)
    all_counts, all_sums = counts.sum(axis=1), sums.sum(axis=1)
    out = np.empty_like(z)
    for f in range(k):
        mine = fold == f
        left = all_counts - counts[:, f]
        # What is left of nothing is nothing, and not what rounding makes of it.
        left_sums = np.where(left[:, None] > 0, all_sums - sums[:, f], 0.0)
        middle = left_sums.sum(axis=0) / max(left.sum(), 1)
        out[mine] = _shrunk(left, left_sums, middle, m)[index[mine]]
    return out


def _sums(index: np.ndarray, z: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """How many rows each level has, and the sums of their targets."""
    sums = np.column_stack([np.bincount(index, column, minlength=size) for column in z.T])
    return np.bincount(index, minlength=size), sums


def _shrunk(counts: np.ndarray, sums: np.ndarray, middle: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Deviations of levels, drawn to 0; of levels without rows 0."""
    n = counts[:, None]
    return np.where(n > 0, sums - n * middle, 0.0) / np.where(n > 0, n + m, 1.0)
