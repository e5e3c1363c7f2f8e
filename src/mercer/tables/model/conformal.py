"""Prediction intervals from errors on rows the model has not seen: conformal prediction."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mercer._state import ArraySpec, require
from mercer._units import one_each
from mercer.estimators import KernelRidge
from mercer.selection.path import path_of_units

_ROWS = 1500
# Below this share of explained variance errors are taken to be of one size everywhere.
_WORTH = 0.03


@dataclass(frozen=True, eq=False)
class Conformal:
    """Intervals f(x) ± q·s(x), with q the right quantile of |y_i − f(x_i)|/s(x_i) over rows not fitted to.

    For one machine and rows kept from it, exchangeable with new ones, such an interval holds y with
    probability at least 1 − α on average, whatever the machine. Here the errors are those of machines fitted
    without a part of the rows, made smaller by the ratio of leave-one-out errors of the last machine, fitted
    to all of them, to theirs: the coverage is approximate, as measured on halves of the test rows. s(x) is a
    kernel regression of log |error|, each row judged as if it had not been there: wider intervals where
    errors are larger. It is 1 where that explains nothing. Of rows that belong together (equal ones, those of
    a group) one has a say: their errors are not independent, and counted as if they were, a few groups would
    pass for many rows.
    """

    scores: np.ndarray  # sorted |error|/s
    spread: KernelRidge | None  # for log |error|
    low: float  # bounds of log s
    high: float

    holds = {"scores": ArraySpec("f", "n")}

    def check_state(self) -> None:
        """Refuse errors that are not in order."""
        rising = bool((np.diff(self.scores) >= 0).all()) and self.low <= self.high
        require(len(self.scores) and rising, "there are no errors, or not in order")

    @classmethod
    def of(
        cls, errors: np.ndarray, points: np.ndarray, kernel, seed: int = 0, units: np.ndarray | None = None
    ) -> Conformal:
        """From errors on rows not fitted to, at these (prepared) points; one row of each unit."""
        if units is not None:
            some = one_each(units, seed)
            errors, points = errors[some], points[some]
        size = np.abs(errors)
        plain = cls(np.sort(size), None, 0.0, 0.0)
        if len(size) < 100 or not np.median(size) > 0:
            return plain
        rows = np.random.default_rng(seed).permutation(len(size))[:_ROWS]
        logs = np.log(size[rows] + 0.05 * np.median(size))
        machine = KernelRidge(kernel, lam=1.0, offset=True, representation="full")
        found = path_of_units(machine, points[rows], logs, np.logspace(-4, 1, 11), None, np.arange(len(rows)))
        left = found.loo_residuals[found.best]
        if np.mean(left**2) >= (1 - _WORTH) * np.var(logs):
            return plain
        machine = machine.set_params(lam=found.best_lam).fit(points[rows], logs)
        predicted = logs - left  # as if each row had not been there
        low, high = (float(v) for v in np.quantile(predicted, [0.02, 0.98]))
        scores = np.abs(errors[rows]) / np.exp(np.clip(predicted, low, high))
        return cls(np.sort(scores), machine, low, high)

    def half_width(self, points: np.ndarray, coverage: float) -> np.ndarray:
        """Half the width of the interval at each point; infinite where too few errors are known."""
        return self._quantile(coverage) * self.scale(points)

    def _quantile(self, coverage: float) -> float:
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must lie between 0 and 1, such as 0.9 for 90 %; got {coverage!r}")
        n = len(self.scores)
        rank = math.ceil((n + 1) * coverage * (1 - 1e-12))  # 100·0.55 is a little more than 55 in binary
        return float("inf") if rank > n else float(self.scores[rank - 1])

    def widest(self, coverage: float) -> float:
        """The largest half width there is."""
        return self._quantile(coverage) * (1.0 if self.spread is None else float(np.exp(self.high)))

    def scale(self, points: np.ndarray) -> np.ndarray:
        """s(x)"""
        if self.spread is None:
            return np.ones(len(points))
        return np.exp(np.clip(self.spread.predict(points), self.low, self.high))
