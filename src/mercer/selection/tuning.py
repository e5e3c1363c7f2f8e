"""What a search found: every trial, the best of them, and what to make of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._params import show
from mercer.selection.dimensions import Space

# So near to an end, as a share of the range, is at the edge.
_EDGE = 0.02


@dataclass(frozen=True, eq=False)
class TuningTrial:
    """One setting of the parameters, and what came of it.

    Attributes
    ----------
    params : the parameters that were set; where λ was optimised within the trial, the best λ is among them
    score : the larger the better (errors are negative); nan if the trial failed
    scores : the score on each fold, where there are folds
    seconds : how long it took
    rows : how many examples it used
    point : where in the cube of the space it lies, for `Space.params`
    error : why it failed, or None
    lams, lam_scores : where λ was optimised within the trial, all its values and their scores, else None

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.selection import tune
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0]
    >>> first = tune(KernelRidge(), X, y, trials=5).trials[0]
    >>> first.rows, first.error, sorted(first.params)          # the median distance comes first
    (4, None, ['kernel__sigma', 'lam'])
    """

    params: Mapping[str, Any]
    score: float
    scores: tuple[float, ...] = ()
    seconds: float = 0.0
    rows: int = 0
    point: tuple[float, ...] = ()
    error: str | None = None
    lams: np.ndarray | None = None
    lam_scores: np.ndarray | None = None

    @property
    def ok(self) -> bool:
        """Did it give a score?"""
        return math.isfinite(self.score)


@dataclass(frozen=True, eq=False, repr=False)
class Tuning:
    """The result of `tune`.

    Attributes
    ----------
    best_params : parameters of the best trial, for ``estimator.set_params(**best_params)``
    best_score : its score, the larger the better; an error has a minus, as in scikit-learn
    best_estimator : the estimator with these parameters, fitted to all examples; None without ``refit``
    trials : every TuningTrial, in the order they were made
    objective : what the score is, in words
    minimised : is the objective an error? Then scores are its negative
    status : "finished", "out of time" or "interrupted"
    rungs : numbers of rows that trials may use, the smallest first; one number if all use all of them
    space : the Space that was searched
    random_state : what splits and samples were drawn with

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.selection import tune
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> tuning = tune(KernelRidge(), X, np.sin(X[:, 0]), trials=10)
    >>> tuning.objective, tuning.status, len(tuning.trials)
    ('exact leave-one-out mean squared error', 'finished', 10)
    >>> bool(tuning.best_value == -tuning.best_score < 1e-4)
    True
    """

    best_params: dict[str, Any]
    best_score: float
    best_estimator: Any
    trials: tuple[TuningTrial, ...]
    objective: str
    minimised: bool
    status: str
    rungs: tuple[int, ...]
    space: Space
    random_state: int

    @property
    def best_value(self) -> float:
        """The objective at the best setting, as its words say it: an error is positive."""
        return self.value(self.best_score)

    @property
    def best_trial(self) -> TuningTrial:
        """The trial with the best score, among those with the most rows."""
        return best_of(self.trials)

    @property
    def edges(self) -> dict[str, str]:
        """Parameters whose best value lies at the "lower" or "upper" edge of their range."""
        best, found = self.best_trial, {}
        for name, value in best.params.items():
            j = self.space.position(name, best.point)
            if j is not None:
                u, dimension = best.point[j], self.space.axes[j].dimension
                low, high = (dimension.snap(end) for end in (0.0, 1.0))
                if dimension.ordered and dimension.size > 2 and not low + _EDGE < u < high - _EDGE:
                    found[name] = "lower" if u <= low + _EDGE else "upper"
            elif name == "lam" and best.lams is not None and len(best.lams) > 2:
                ends = {best.lams.min(): "lower", best.lams.max(): "upper"}
                if value in ends:
                    found[name] = ends[value]
        return found

    def value(self, score: Any) -> Any:
        """A score, or an array of them, as the objective's words say it."""
        return -score if self.minimised else score

    def table(self) -> list[dict[str, Any]]:
        """A row for each trial, for showing: most rows first, of equally many the best first.

        Keys: "score" (as the objective's words say it), "rows", "seconds", every parameter by its name (None
        where it has no part), "error". A data frame takes it as it is.
        """
        names = dict.fromkeys(name for trial in self.trials for name in trial.params)
        order = sorted(self.trials, key=lambda t: (-t.rows, -t.score if t.ok else math.inf))
        return [
            {
                "score": self.value(t.score),
                "rows": t.rows,
                "seconds": t.seconds,
                **{name: t.params.get(name) for name in names},
                "error": t.error,
            }
            for t in order
        ]

    def __repr__(self) -> str:
        many = f"{len(self.trials)} trial{'s' if len(self.trials) != 1 else ''}"
        edges = "".join(f"; {name} is at the {side} edge of its range" for name, side in self.edges.items())
        rows = self.best_trial.rows
        part = f" on {rows:,} of {self.rungs[-1]:,} rows" if rows < self.rungs[-1] else ""
        where = f" at {settings(self.best_params)}" if self.best_params else ""
        return f"<{many}, {self.status}; {self.objective} {self.best_value:.4g}{part}{where}{edges}>"


def settings(params: Mapping[str, Any]) -> str:
    """Parameters in one line: kernel__sigma=1.3, lam=2e-05.

    >>> settings({"lam": 0.000020001, "norm": "l1"})
    "lam=2e-05, norm='l1'"
    """
    return ", ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={show(v)}" for k, v in params.items())


def best_of(trials: Any) -> TuningTrial:
    """The trial with the best score among those with the most rows; the first of equals."""
    done = [t for t in trials if t.ok]
    most = max(t.rows for t in done)
    return max((t for t in done if t.rows == most), key=lambda t: t.score)
