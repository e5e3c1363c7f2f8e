"""The rows of a `fit`, gone through again and again until that leads no further."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from mercer._notice import tell_part
from mercer.online.stopping import Stopping


@dataclass
class Progress:
    """What passes through the rows have cost so far, and how many in a row have led no further."""

    rule: Stopping
    least: float = math.inf
    stalled: int = 0

    def has_ended(self, cost: float) -> bool:
        """Take in what the next pass has cost: has there been none better for too long?"""
        self.stalled = self.stalled + 1 if cost > self.least - self.rule.tol else 0
        self.least = min(self.least, cost)
        return self.stalled >= self.rule.patience


class InPasses:
    """A machine whose `fit` makes as many passes as it needs, within `passes`."""

    passes: int
    stopping: Any
    random_state: Any
    rule_: Any
    learner_: Any
    coding_: Any
    measure: Any
    cumulative_loss_: float
    _follow: Any

    def _stopping(self) -> Stopping | None:
        """When to end, if that was said."""
        if self.stopping is None:
            return None
        if not isinstance(self.stopping, Stopping):
            raise TypeError(
                "stopping must be None or mercer.online.Stopping(tol, patience, held_out); "
                f"got {self.stopping!r}"
            )
        self.stopping.validate()
        return self.stopping

    def _require_passes(self) -> None:
        if self._stopping() is not None and self.passes == 1:
            raise ValueError("stopping says when to end passes, and there is one only: set passes=1000")

    def _go_through(
        self, points: Any, y: np.ndarray, targets: np.ndarray, weight: np.ndarray, passes: int
    ) -> np.ndarray:
        """Learn the rows up to so many times; the scores of the last time."""
        step, rule = self.rule_.step, self._stopping()
        if rule is None and step.adapts:
            rule = Stopping()
        judged: Any = None
        if rule is not None and rule.held_out:
            learned, apart = rule.split(y, is_classifier(self), self._seed())
            judged = points[apart], y[apart], weight[apart]
            points, targets, weight = points[learned], targets[learned], weight[learned]
        progress, self.n_passes_ = Progress(rule or Stopping()), 0
        for done in range(passes):
            tell_part("learning", done * len(targets), passes * len(targets), "examples")
            before = self.cumulative_loss_
            scores = self.learner_.learn(points, targets, weight)
            self._follow(scores, targets, weight)
            self.n_passes_ += 1
            if rule is None:
                continue
            on_the_way = (self.cumulative_loss_ - before) / float(weight.sum())
            if progress.has_ended(on_the_way if judged is None else -self._score_of(*judged)):
                pace = step.slower(self.learner_.pace)
                if pace is None:
                    break
                self.learner_.pace, progress.stalled = pace, 0
        return scores

    def _seed(self) -> int:
        given = isinstance(self.random_state, numbers.Integral)
        return int(self.random_state) if given else self.rule_.seed

    def _score_of(self, points: Any, y: np.ndarray, weight: np.ndarray) -> float:
        """How good what predicts now is at these points."""
        said = self.coding_.decode(self.learner_.scores(points))
        return float(self.measure.here(y, said, weight))
