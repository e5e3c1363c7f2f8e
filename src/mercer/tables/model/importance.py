"""How much predictions depend on a column: the growth of the error with its values shuffled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.selection.search import Clock
from mercer.tables.model.deadline import Deadline
from mercer.tables.model.learn import Learned, Question
from mercer.tables.model.texts import letters_a_row

REPEATS = 3
# Rows whose columns are shuffled: fewer where there are so many columns that it would take minutes.
_FEWEST_SHUFFLED, _MOST_SHUFFLED = 20, 1000
# Differences of coordinates a second, and the share of the time for this.
_KERNEL_SPEED, _SHARE = 1e9, 0.1
# To count the words of a text takes as long as so many differences, to compare a letter about one.
_TEXT = 300_000


def importances(
    parts: Sequence[Any], question: Question, seconds: float, seed: int, deadline: Deadline
) -> np.ndarray:
    """(columns, repeats): growth of the error rate, or of the root mean squared error, over all parts.

    Columns for which there is no time count as if nothing depended on them.
    """
    found, share = [], _SHARE * seconds / len(parts)
    for test, _, learned in parts:
        asked = question.take(test)
        points = learned.columns.transform(asked.table)
        predicted, clock = learned.machine.predict(points), deadline.clock(2 * share)
        found.append(_importance(learned, asked, points, predicted, share, seed, clock))
        if clock.ended:
            deadline.cut_short("the importance of columns")
    shuffled, base, rows = (sum(values) for values in zip(*found, strict=True))
    if question.classes is None:
        return np.sqrt(shuffled / rows) - np.sqrt(base / rows)
    return (shuffled - base) / rows


def _importance(
    learned: Learned,
    asked: Question,
    points: np.ndarray,
    predicted: np.ndarray,
    seconds: float,
    seed: int,
    clock: Clock,
):
    """Sums of errors with the values of each column shuffled, and without; and over how many rows."""
    rng = np.random.default_rng(seed)
    origin = learned.columns.origin_
    work = len(np.unique(origin)) * REPEATS * points.shape[1] * learned.machine.plan_.unknowns
    words = _TEXT * len(learned.columns.texts) + letters_a_row(points) * learned.machine.plan_.unknowns
    work += len(np.unique(origin)) * REPEATS * words
    most = int(np.clip(seconds * _KERNEL_SPEED / work, _FEWEST_SHUFFLED, _MOST_SHUFFLED))
    rows = rng.permutation(len(points))[:most]
    here, truth = points[rows], asked.y[rows]

    def error(values: np.ndarray) -> float:
        return float(np.sum(values != truth) if asked.classes is not None else np.sum((values - truth) ** 2))

    base = error(predicted[rows])
    out = np.full((len(learned.columns.schema_.columns), REPEATS), base)
    for j in np.unique(origin):
        if clock.up():
            break
        mixed = np.tile(here, (REPEATS, 1))
        order = np.concatenate([rng.permutation(len(here)) for _ in range(REPEATS)])
        mixed[:, origin == j] = here[order][:, origin == j]
        out[j] = [error(values) for values in np.split(learned.machine.predict(mixed), REPEATS)]
    return out, base, len(rows)
