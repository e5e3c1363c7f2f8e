"""What must not be missed: a label that is rare, and another model that tested better."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.tables.model.learn import Question
from mercer.tables.model.scores import Contender, Score

# A label is rare if it has fewer rows than this, or a smaller share of them, and less than half of what it
# would have if all labels were alike.
_FEW, _SHARE = 50, 0.05
# Accuracies no further apart than this are close.
_CLOSE = 0.05


def rare_of(y: np.ndarray) -> tuple[Any, int] | None:
    """The rarest label, and how often it occurs, if it is rare; numbers are no labels.

    >>> rare_of(np.array(["sick"] * 3 + ["well"] * 97))
    ('sick', 3)
    >>> rare_of(np.array(["red"] * 40 + ["blue"] * 60)) is None
    True
    """
    if y.dtype.kind == "f":
        return None
    labels, counts = np.unique(y, return_counts=True)
    fewest, n = int(counts.min()), len(y)
    rare = (fewest < _FEW or fewest < _SHARE * n) and 2 * fewest * len(labels) < n
    return (labels[counts.argmin()].item(), fewest) if rare else None


def sentences_of(question: Question, contenders: Sequence[Contender]) -> tuple[str, ...]:
    """Sentences without a full stop, the weightiest first."""
    better = (_better(contenders[0], c) for c in contenders[1:] if c.better)
    found = rare_of(question.y) if question.classes is not None else None
    return (*better, *([] if found is None else [_rare(*found, question, contenders)]))


def _better(ours: Contender, theirs: Contender) -> str:
    name = {"linear model": "the linear model", "constant": "a constant"}.get(theirs.name, theirs.name)
    a, b = theirs.scores[0], ours.scores[0]
    return f"{name} tested better: {a.name} {_sized(a)} against {_sized(b)}, a difference beyond noise"


def _rare(label: Any, rows: int, question: Question, contenders: Sequence[Contender]) -> str:
    """How rare it is, what that makes of accuracy, what to look at instead, and how to choose."""
    n, ours = len(question.y), {s.name: s for s in contenders[0].scores}
    said = f"{label!r} is rare: {rows:,} of {n:,} rows"
    labels, counts = np.unique(question.y, return_counts=True)
    often, share = labels[counts.argmax()].item(), counts.max() / n
    accuracy = ours["accuracy"].value
    near = "close to" if abs(accuracy - share) <= _CLOSE else "to be seen beside"
    said += f", so that accuracy, {accuracy:.3g}, is {near} the {share:.3g} of always saying {often!r}"
    looks = [f"{s.name} {_sized(s)}" for s in map(ours.get, ("AUC", "average precision")) if s is not None]
    if looks:
        chance = f" (by chance {rows / n:.2g})" if len(labels) == 2 else ""
        said += f"; {' and '.join(looks)}{chance} tell more"
    ways = "threshold= and costs= move the decision" if len(labels) == 2 else "costs= moves the decision"
    return f"{said}. metric= says what to judge by, {ways} (--metric, --threshold, --costs)"


def _sized(score: Score) -> str:
    return f"{score.value:.4g} [{score.low:.3g}, {score.high:.3g}]"
