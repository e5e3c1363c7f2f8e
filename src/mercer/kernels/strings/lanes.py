"""Pairs of strings, several at a time: one string is compared with as many others as there are lanes.

What is computed letter by letter can't become vectors along a string, since every step waits for the one
before. Across strings it can: others of about the same length lie side by side, a row for each place in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mercer._threads import cpu_count, parallel_map, stopping_point
from mercer.kernels.strings.letters import Letters

# Strings side by side in compiled loops, and where NumPy has to do.
LANES = 16
MANY_LANES = 512
# No letter has these numbers: what follows the end of a string that is on the right, or on the left.
AFTER_RIGHT, AFTER_LEFT = -1, -2
# Cells of a table (one for each two letters) between two looks at whether to go on.
_CELLS = 1 << 25

# run(strings on the left, first and last of them, letters of those on the right, out)
Run = Callable[[Letters, int, int, np.ndarray, np.ndarray], None]


def side_by_side(strings: Letters, index: np.ndarray, width: int, after: int) -> np.ndarray:
    """Letters of up to `width` of the strings, a column each, and `after` where one has ended."""
    lengths = strings.lengths[index]
    out = np.full((max(int(lengths.max(initial=0)), 1), width), after, np.int64)
    for lane, (i, size) in enumerate(zip(index, lengths, strict=True)):
        out[:size, lane] = strings.codes[strings.starts[i] : strings.starts[i] + size]
    return out


def by_length(strings: Letters, width: int) -> list[np.ndarray]:
    """Positions of all strings in groups of up to `width`, of about equal length; long ones first."""
    order = np.argsort(-strings.lengths, kind="stable")
    return [order[at : at + width] for at in range(0, len(order), width)]


def all_pairs(X: Letters, Z: Letters, run: Run, width: int, layers: int = 1) -> np.ndarray:
    """What `run` finds for all pairs, of which it takes half where Z is X.

    Long strings come one by one, to be taken in `pieces`.

    `layers` says how many tables are filled for a pair.
    """
    same = Z is X
    if not same and len(Z) < min(width, len(X)):
        return all_pairs(Z, X, run, width, layers).T.copy()
    K = np.empty((len(X), len(Z)))
    groups = by_length(Z, width)
    rows = np.concatenate([np.zeros(0, np.int64), *groups]) if same else np.arange(len(X))
    left = Z[rows] if same else X

    def some(number: int) -> None:
        columns = groups[number]
        right, count = side_by_side(Z, columns, width, AFTER_RIGHT), len(columns)
        first = number * width if same else 0
        out = np.empty((len(left), width))
        for low, high in _parts(left, first, layers * right.size):
            stopping_point()
            run(left, low, high, right, out)
        found = out[first:, :count]
        if same:  # both halves of the square on the diagonal are the same to the last bit
            found[:count] = np.tril(found[:count]) + np.tril(found[:count], -1).T
            K[np.ix_(columns, rows[first:])] = found.T
        K[np.ix_(rows[first:], columns)] = found

    parallel_map(some, range(len(groups)), cpu_count(), blas=False)
    return K


def _parts(left: Letters, first: int, cells: int) -> Iterator[tuple[int, int]]:
    """Strings from the first one on, in parts of about so much work as may pass without a look around."""
    while first < len(left):
        reach = left.starts[first] + _CELLS // max(cells, 1)
        last = max(int(np.searchsorted(left.starts, reach, "right")) - 1, first + 1)
        last = min(last, first + 1024, len(left))
        yield first, last
        first = last


def pieces(n: int, cells: int, least: int = 1) -> Iterator[tuple[int, int]]:
    """The letters of one string in pieces of as much work as may pass without a look around, where each has
    so many cells; no fewer letters than `least`. A string without letters is one piece."""
    step = max(_CELLS // max(cells, 1), least)
    for first in range(0, max(n, 1), step):
        stopping_point()
        yield first, min(first + step, n)


def is_long(strings: Letters, i: int, cells: int) -> bool:
    """Is string i more work than may pass without a look around?"""
    return int(strings.lengths[i]) * cells > _CELLS


def each_with_itself(X: Letters, run: Callable[[np.ndarray, np.ndarray], Any], width: int) -> np.ndarray:
    """What run(left, right) finds for every string and itself."""
    out = np.empty(len(X))

    def some(index: np.ndarray) -> None:
        stopping_point()
        left = side_by_side(X, index, width, AFTER_LEFT)
        right = np.where(left == AFTER_LEFT, AFTER_RIGHT, left)
        out[index] = run(left, right)[: len(index)]

    parallel_map(some, by_length(X, width), cpu_count(), blas=False)
    return out
