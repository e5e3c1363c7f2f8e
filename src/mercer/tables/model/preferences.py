"""What matters to whoever asks: the metric, the threshold, the costs of errors, the weights of labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._units import count, fewest_in_a_class, folds
from mercer.tables.model.decision import (
    Decided,
    Decision,
    best_threshold,
    class_weights_of,
    costs_of,
    decision_by_weights,
    threshold_of,
)
from mercer.tables.model.evaluation import OURS, Answer, Tested
from mercer.tables.model.learn import Question
from mercer.tables.model.metric import metric_names, metric_of

_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Preferences:
    """As they were given to `mercer.fit`, where they are described."""

    metric: str | None = None
    threshold: float | str | None = None
    class_weight: Any = None
    costs: Any = None

    def __post_init__(self) -> None:
        """Refuse what would be refused of any table, before it is read."""
        if self.metric is not None and self.metric not in metric_names():
            names = ", ".join(map(repr, metric_names()[:-1]))
            raise ValueError(f"metric must be {names} or {metric_names()[-1]!r}, got {self.metric!r}")
        threshold_of(self.threshold)
        if self.costs is not None and self.threshold not in (None, "auto"):
            raise ValueError("threshold and costs both decide what is predicted: say one of them")

    def on(self, question: Question) -> Question:
        """The question with what it is judged by, and with the weights of its labels."""
        classes = question.classes
        metric = metric_of(self.metric, question.task, classes, question.y)
        if classes is None:
            for name in ("threshold", "class_weight", "costs"):
                if getattr(self, name) is not None:
                    raise ValueError(f"{name} is for labels, and the target is a number: leave it out")
            return replace(question, metric=metric)
        threshold_of(self.threshold, classes)
        if self.costs is not None:
            costs_of(self.costs, classes)
        weights = class_weights_of(self.class_weight, question.y, classes)
        return replace(question, metric=metric, class_weight=weights)

    def decided(self, question: Question, result: Tested, seed: int) -> tuple[Tested, Decided]:
        """Test rows with the labels of the rule, and that rule.

        A threshold that is looked for is that of all test rows; each of them is given its label by one that
        was found on others, lest the threshold be praised for what it was fitted to. The models beside go by
        the same rule, with thresholds of their own.
        """
        if self.threshold is None and self.costs is None and self.class_weight is None:
            return result, Decided()
        assert question.classes is not None
        everyone = {OURS: (result.predicted, result.probability), **result.others}
        if self.threshold == "auto":
            by_search = _Searched.of(self, question, result.rows, seed)
            decision = by_search.decision(result.probability)
            answers = {name: (by_search.labels(P), P) for name, (_, P) in everyone.items()}
            said = (f"{decision.words(question.classes)}: {by_search.words}",)
        else:
            decision = self._fixed(question)
            answers = {name: _relabelled(decision, a, question.classes) for name, a in everyone.items()}
            said = (decision.words(question.classes),)
        predicted = answers.pop(OURS)[0]
        named = "mean cost" if self.costs is not None else "weighted error rate"
        cost = None if self.costs is None and decision.costs is None else named
        costs = decision.costs if self.costs is None else costs_of(self.costs, question.classes)
        made = Decided(decision, said, cost, costs, self.metric is None and cost is not None)
        return replace(result, predicted=predicted, others=answers), made

    def _fixed(self, question: Question) -> Decision:
        if self.threshold is not None:
            return Decision(threshold=float(self.threshold))
        if self.costs is not None:
            return Decision(costs=costs_of(self.costs, question.classes))
        return decision_by_weights(question.class_weight, question.classes)  # type: ignore[arg-type]


def _relabelled(decision: Decision, answer: Answer, classes: np.ndarray) -> Answer:
    return decision.labels(answer[1], classes), answer[1]  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class _Searched:
    """A search for a threshold on test rows, and on folds of these."""

    classes: np.ndarray
    second: np.ndarray  # is a row of the second label?
    costs: np.ndarray
    splits: list[Any]
    words: str

    @classmethod
    def of(cls, wanted: Preferences, question: Question, rows: np.ndarray, seed: int) -> _Searched:
        classes, y, units = question.classes, question.y[rows], question.units[rows]
        assert classes is not None
        second = y == classes[1]
        if wanted.costs is not None:
            costs, best = costs_of(wanted.costs, classes), "the least cost"
        elif question.metric.name == "accuracy":
            costs, best = 1.0 - np.eye(2), "the best accuracy"
        else:
            # Order and probabilities are judged whatever is predicted: then both labels count alike.
            shares = np.maximum([np.mean(~second), np.mean(second)], 1 / len(y))
            costs, best = (1.0 - np.eye(2)) / shares[:, None], "the best balanced accuracy"
        fewest = fewest_in_a_class(y, units)
        k = min(_FOLDS, count(units), max(2, fewest))
        splits = folds(units, k, y if fewest >= 2 else None, seed)
        words = (
            f"that had {best} on the rows that took no part; each of these is tested with one of the others"
        )
        return cls(classes, second, costs, splits, words)

    def decision(self, P: Any) -> Decision:
        """By all rows."""
        return Decision(threshold=best_threshold(P[:, 1], self.second, self.costs))

    def labels(self, P: Any) -> np.ndarray:
        """Of each row by the others."""
        out = self.classes[np.zeros(len(P), dtype=np.intp)]
        for others, mine in self.splits:
            threshold = best_threshold(P[others, 1], self.second[others], self.costs)
            out[mine] = Decision(threshold=threshold).labels(P[mine], self.classes)
        return out
