"""Prediction intervals from errors on rows the model has not seen: conformal prediction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._state import ArraySpec, require
from mercer._units import one_each
from mercer.estimators import KernelRidge
from mercer.estimators.conformal import bound_of
from mercer.operators import NotPositiveDefinite
from mercer.selection.path import path_of_units
from mercer.tables.model.gaps import FEWEST, MOST, Gaps, Known

_ROWS = MOST
# Below this share of explained variance errors are taken to be of one size everywhere.
_WORTH = 0.03


@dataclass(frozen=True, eq=False)
class Conformal:
    """Intervals f(x) ± q·s(x), with q the right quantile of |y_i − f(x_i)|/s(x_i) over rows not fitted to.

    s(x) = g(x)·exp(h(x)): g(x), of `Gaps`, grows with the distance from the rows learned from, and h(x) is a
    kernel regression of log |error|/g: wider intervals where errors are larger. Each row is judged as if it
    had not been there, so at rows like the tested ones the promise is kept whatever g and h are; g is for
    points in gaps between them, of which the errors of tested rows say nothing. h is 0 where it explains
    nothing, g is 1 where distances are not known.

    For one machine and rows kept from it, exchangeable with new ones, such an interval holds y with
    probability at least 1 − α on average, whatever the machine. Here the errors are those of machines fitted
    without a part of the rows, made smaller by the ratio of leave-one-out errors of the last machine, fitted
    to all of them, to theirs: the coverage is approximate, as measured on halves of the test rows. Of rows
    that belong together (equal ones, those of a group) one has a say: their errors are not independent, and
    counted as if they were, a few groups would pass for many rows.
    """

    scores: np.ndarray  # sorted |error|/s
    spread: KernelRidge | None  # h
    low: float  # bounds of h
    high: float
    gaps: Gaps | None = None  # g
    eight_in_ten: tuple[float, float] = (1.0, 1.0)  # s(x) of so many tested rows lies between these

    holds = {"scores": ArraySpec("f", "n")}

    def check_state(self) -> None:
        """Refuse errors that are not in order."""
        rising = bool((np.diff(self.scores) >= 0).all()) and self.low <= self.high
        rising = rising and 0 < self.eight_in_ten[0] <= self.eight_in_ten[1]
        require(len(self.scores) and rising, "there are no errors, or not in order")

    @classmethod
    def of(
        cls,
        errors: np.ndarray,
        points: np.ndarray,
        kernel,
        seed: int = 0,
        units: np.ndarray | None = None,
        known: Known | None = None,
        rows: np.ndarray | None = None,
    ) -> Conformal:
        """From errors on rows not fitted to, at these (prepared) points; one row of each unit.

        `known` are all rows that are learned from in the end; the errors are of `rows` among them.
        """
        some = np.arange(len(errors)) if units is None else one_each(units, seed)
        gaps, wide = None, np.ones(len(some))
        if known is not None and rows is not None and len(some) >= FEWEST and np.median(np.abs(errors)) > 0:
            some = np.random.default_rng(seed).permutation(some)[:_ROWS]
            gaps, wide = _gaps(kernel, known, rows[some], errors[some], seed)
        return cls._of(np.abs(errors[some]) / wide, points[some], kernel, seed, gaps, wide)

    @classmethod
    def _of(
        cls, size: np.ndarray, points: np.ndarray, kernel, seed: int, gaps: Gaps | None, wide: np.ndarray
    ) -> Conformal:
        """From |error|/g, and g."""
        plain = cls(np.sort(size), None, 0.0, 0.0, gaps, _eight_in_ten(wide))
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
        spread = np.exp(np.clip(predicted, low, high))
        usual = _eight_in_ten(wide[rows] * spread)
        return cls(np.sort(size[rows] / spread), machine, low, high, gaps, usual)

    def half_width(self, points: np.ndarray, coverage: float) -> np.ndarray:
        """Half the width of the interval at each point; infinite where too few errors are known."""
        return self._quantile(coverage) * self.scale(points)

    def _quantile(self, coverage: float) -> float:
        return bound_of(self.scores, coverage)

    def widest(self, coverage: float) -> float:
        """The largest half width there is at ordinary rows."""
        return self._quantile(coverage) * (1.0 if self.spread is None else float(np.exp(self.high)))

    def scale(self, points: np.ndarray) -> np.ndarray:
        """s(x)"""
        wide = np.ones(len(points)) if self.gaps is None else self.gaps.widening(points)
        if self.spread is None:
            return wide
        return wide * np.exp(np.clip(self.spread.predict(points), self.low, self.high))

    @property
    def even(self) -> bool:
        """Are all intervals of one width?"""
        return self.spread is None and self.gaps is None

    def usual(self, coverage: float) -> tuple[float, float]:
        """The range in which the half widths of eight tested rows in ten lie."""
        low, high = (self._quantile(coverage) * s for s in self.eight_in_ten)
        return low, high


def _gaps(
    kernel, known: Known, rows: np.ndarray, errors: np.ndarray, seed: int
) -> tuple[Gaps | None, np.ndarray]:
    """None where the kernel's matrix is not definite, and says nothing of distances."""
    try:
        return Gaps.of(kernel, known, rows, errors, seed)
    except (NotPositiveDefinite, np.linalg.LinAlgError):
        return None, np.ones(len(rows))


def _eight_in_ten(values: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(values, [0.1, 0.9]) if len(values) else (1.0, 1.0)
    return float(low), float(high)
