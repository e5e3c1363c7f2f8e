"""What predictions were worth, each made before its example was learned: of all rows, and of the last."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from mercer._params import require_count
from mercer._state import COUNT, ArraySpec

_MEASURES = {"classification": ("accuracy", "log loss"), "regression": ("MAE", "RMSE")}
# A probability of 0 for what came is taken for this.
_LEAST = 1e-15


@dataclass(eq=False)
class Metrics:
    """Two measures of a stream of predictions: accuracy and log loss, or mean absolute and root mean squared
    error.

    Parameters
    ----------
    task : "classification" or "regression"
    window : int
        How many of the last examples are recent.

    Examples
    --------
    >>> import numpy as np
    >>> metrics = Metrics("regression", window=2)
    >>> metrics.update(Metrics.errors(np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.0, 2.0])))
    >>> metrics.total, metrics.recent
    ({'MAE': 1.0, 'RMSE': 1.29...}, {'MAE': 1.5, 'RMSE': 1.58...})
    """

    task: str
    window: int = 1000
    count: int = field(default=0, kw_only=True)
    sums: np.ndarray = field(default_factory=lambda: np.zeros(2), kw_only=True, repr=False)
    last: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)), kw_only=True, repr=False)
    # (examples, both measures of all, both of the recent ones), a line now and then.
    history: np.ndarray = field(default_factory=lambda: np.zeros((0, 5)), kw_only=True, repr=False)

    def __post_init__(self) -> None:
        if self.task not in _MEASURES:
            raise ValueError(f"task must be 'classification' or 'regression', got {self.task!r}")
        require_count(self.window, "window")

    @staticmethod
    def errors(truth: np.ndarray, prediction: np.ndarray) -> np.ndarray:
        """(|error|, error²) of every example; of several outputs the mean."""
        n = len(truth)
        error = np.asarray(prediction, np.float64).reshape(n, -1) - np.reshape(truth, (n, -1))
        return np.column_stack([np.abs(error).mean(axis=1), np.square(error).mean(axis=1)])

    @staticmethod
    def mistakes(right: np.ndarray, probability: np.ndarray | None) -> np.ndarray:
        """(right or not, −log p) of every example, p being the probability of what came."""
        p = np.full(len(right), np.nan) if probability is None else np.maximum(probability, _LEAST)
        return np.column_stack([np.asarray(right, np.float64), -np.log(p)])

    def update(self, values: np.ndarray) -> None:
        """Count some more examples, given by `errors` or `mistakes`."""
        if len(self.last) != self.window:
            self.last = np.zeros((self.window, 2))
        places = (self.count + np.arange(len(values))) % self.window
        self.last[places[-self.window :]] = values[-self.window :]
        # One after another, so that it does not matter how they come.
        self.sums = np.add.accumulate(np.vstack([self.sums, values]))[-1]
        self.count += len(values)

    @property
    def total(self) -> dict[str, float]:
        """Both measures, of all examples; nothing before there is one."""
        return self._named(self.sums / self.count) if self.count else {}

    @property
    def recent(self) -> dict[str, float]:
        """Both measures, of the last examples."""
        held = self.last[: min(self.count, self.window)]
        return self._named(held.mean(axis=0)) if len(held) else {}

    def note(self) -> None:
        """A line for `history`."""
        line = [self.count, *self._both(self.total), *self._both(self.recent)]
        self.history = np.vstack([self.history, line])

    def _both(self, measures: dict[str, float]) -> list[float]:
        return [measures.get(name, math.nan) for name in _MEASURES[self.task]]

    def _named(self, means: np.ndarray) -> dict[str, float]:
        first, second = _MEASURES[self.task]
        if self.task == "regression":
            return {first: float(means[0]), second: math.sqrt(means[1])}
        found = {first: float(means[0])}
        return found | ({second: float(means[1])} if math.isfinite(means[1]) else {})

    holds = {
        "count": COUNT,
        "sums": ArraySpec("f8", 2),
        "last": (ArraySpec("f8", 0, 2), ArraySpec("f8", "window", 2)),
        "history": ArraySpec("f8", None, 5),
    }
