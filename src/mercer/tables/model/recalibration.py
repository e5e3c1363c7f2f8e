"""Probabilities from the scores of rows that took no part, whatever the kernel has seen of the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer._units import count, fewest_in_a_class, folds
from mercer.estimators.calibration import Calibration
from mercer.tables.model.decision import row_weights
from mercer.tables.model.learn import Learned, Question, of_scores

_FOLDS = 5
# With fewer rows, or rows of a class, leave-one-out on those learned from knows more.
_FEWEST, _FEWEST_OF_A_CLASS = 200, 10


def recalibrated(
    question: Question, parts: list[Any], final: Learned, seed: int
) -> tuple[Learned, np.ndarray | None]:
    """The last machine with slopes of all tested rows, and probabilities of these rows by slopes of others.

    Leave-one-out scores of rows that were learned from flatter a kernel whose metric was learned on them; a
    forest knows them altogether. Scores of tested rows don't: the machines of the parts have not seen them.
    Nothing changes where machines have probabilities of their own, or where the tested rows are few.
    """
    machines = [learned.machine for _, _, learned in parts]
    everyone = [final, *(learned for _, _, learned in parts)]
    if question.classes is None or any(learned.calibration is None for learned in everyone):
        return final, None
    if not all(np.array_equal(learned.machine.classes_, question.classes) for learned in everyone):
        return final, None
    rows = np.concatenate([test for test, _, _ in parts])
    y, units = question.y[rows], question.units[rows]
    if len(rows) < _FEWEST or fewest_in_a_class(y, units) < _FEWEST_OF_A_CLASS:
        return final, None
    tested = [question.take(test).table for test, _, _ in parts]
    scores = np.concatenate(
        [
            learned.machine.scores(learned.columns.transform(t))
            for t, (_, _, learned) in zip(tested, parts, strict=True)
        ]
    )
    labels, coding = np.searchsorted(question.classes, y), final.machine.coding_
    weights = row_weights(final.machine, y)
    P = np.empty((len(rows), len(question.classes)))
    for others, mine in folds(units, min(_FOLDS, count(units)), labels, seed):
        w = None if weights is None else weights[others]
        slopes = Calibration.of_scores(scores[others], labels[others], coding, w)
        P[mine] = of_scores(machines[0], slopes, scores[mine])
    slopes = Calibration.of_scores(scores, labels, coding, weights)
    return replace(final, calibration=slopes), P[np.argsort(rows, kind="stable")]
