"""The search for a kernel: families and widths on a few rows, then length scales by gradient on more."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import eigh

from mercer.engines import Tiled
from mercer.engines.threads import cpu_count, one_blas_thread, parallel_map
from mercer.estimators import KernelRidge
from mercer.kernels import Gaussian, Kernel, Laplacian, Matern
from mercer.model.effort import Clock, Effort
from mercer.selection.gradient import LooSurface, descend

Progress = Callable[[str], None]

# A family by name: the kernel with width 1, to which length scales are added.
FAMILIES: Mapping[str, Kernel] = {
    "laplacian l1": Laplacian(1.0, norm="l1"),
    "laplacian": Laplacian(1.0),
    "matern 3/2": Matern(1.5, 1.0),
    "gaussian": Gaussian(1.0),
}
_WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)
_SHIFTS = 10.0 ** np.arange(-6.0, 2.51, 0.5)
# A second kernel is worth its complexity if it lowers the error to this share; so is another preparation of
# the columns, which is judged on few rows.
_WORTH, _PREPARED = 0.995, 0.9
_FRESH_ROWS = 3000
# Up to so many rows a second thread costs BLAS more than it saves.
SMALL = 1500
# How far logarithms of length scales are expected to lie apart; labels say less about them than numbers.
_SPREAD, _SPREAD_LABELS = 1.0, 0.5


@dataclass(frozen=True)
class Trial:
    """One thing that was tried.

    Attributes
    ----------
    stage : "screen", "length scales" or "last look"
    outliers : how numbers were prepared
    kernel : in words
    rows : number of examples
    loo : leave-one-out mean squared error, as a share of the variance of the targets
    fresh : the same of rows that took no part; NaN where there were none
    seconds : float
    """

    stage: str
    outliers: str
    kernel: str
    rows: int
    loo: float
    fresh: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Candidate:
    """A kernel with its μ = λn, the error it reached, and on which preparation."""

    outliers: str
    family: str
    kernel: Kernel
    mu: float
    error: float

    @property
    def words(self) -> str:
        return self.family


@dataclass(frozen=True, eq=False)
class Found:
    """What a search ends with: the best candidate, and all that was tried."""

    best: Candidate
    trials: tuple[Trial, ...]


class Search:
    """One search, on prepared points.

    Parameters
    ----------
    points : dict from a preparation ("keep", "squash") to (n, d) arrays of the same rows
    Y : (n, t) targets or codes of labels
    effort : Effort
    clock : Clock
    seed : int
    progress : called with a line of text now and then
    labels : are the targets codes of labels?
    """

    def __init__(
        self,
        points: Mapping[str, np.ndarray],
        Y: np.ndarray,
        effort: Effort,
        clock: Clock,
        seed: int,
        progress: Progress,
        labels: bool = False,
    ):
        self.points, self.effort, self.clock, self.progress = points, effort, clock, progress
        self.order = np.random.default_rng(seed).permutation(len(Y))
        spread = float(np.sqrt(np.mean((Y - Y.mean(axis=0)) ** 2)))
        self.Y = (Y - Y.mean(axis=0)) / (spread or 1.0)
        self.spread = _SPREAD_LABELS if labels else _SPREAD
        self.trials: list[Trial] = []

    def run(self) -> Found:
        """Screen, refine, compare."""
        screened = self._screen()
        self.progress("Length scales, one a feature")
        effort = self.effort
        refined = self._together(
            lambda c: self._refine(c, effort.refine_rows, effort.refine_steps, "length scales"), screened
        )
        pair = _pair(sorted(refined, key=lambda c: c.error))
        return Found(self._last_look([*pair, _one_width(screened[0])]), tuple(self.trials))

    # -- screening ---------------------------------------------------------------------------------

    def _screen(self) -> list[Candidate]:
        self.progress("Kernel families and widths")
        first = next(iter(FAMILIES))
        by_preparation = self._together(lambda outliers: self._widths(outliers, first), list(self.points))
        best = min(by_preparation, key=lambda c: c.error)
        if best.error > _PREPARED * by_preparation[0].error:
            best = by_preparation[0]
        others = [f for f in FAMILIES if f != first]
        rest = self._together(lambda family: self._widths(best.outliers, family), others)
        # The first family is the steadiest one on small tables: it always comes along.
        rest = sorted(rest, key=lambda c: c.error)
        return sorted([best, *rest[: self.effort.finalists - 1]], key=lambda c: c.error)

    def _widths(self, outliers: str, family: str) -> Candidate:
        """One family on a few rows: width and μ on a grid, one eigendecomposition a width."""
        started = time.monotonic()
        rows = self.order[: self.effort.screen_rows]
        X, Y = self.points[outliers][rows], self.Y[rows]
        d = X.shape[1]
        base = FAMILIES[family]
        middle = d if family == "laplacian l1" else np.sqrt(d)
        best = (np.inf, 1.0, 1.0)
        for factor in _WIDTHS:
            kernel = base.scaled(np.full(d, middle * factor))
            error, mu = _best_shift(np.asarray(Tiled(threads=1).gram(kernel, X, X)), Y)
            if error < best[0]:
                best = error, factor, mu
        error, factor, mu = best
        kernel = base.scaled(np.full(d, middle * factor))
        self._record("screen", outliers, f"{family}, one width", len(rows), error, np.nan, started)
        return Candidate(outliers, family, kernel, mu, error)

    # -- refinement --------------------------------------------------------------------------------

    def _refine(self, candidate: Candidate, rows: int, steps: int, stage: str) -> Candidate:
        started = time.monotonic()
        at = self.order[:rows]
        surface = LooSurface(self.points[candidate.outliers][at], self.Y[at], likelihood_share(rows))
        refined = descend(
            surface, KernelRidge(), candidate.kernel, candidate.mu, self.spread, steps, self.clock.share(0.35)
        )
        kernel, mu = refined.machine.kernel, refined.machine.lam * rows
        fresh = self._fresh_error(candidate.outliers, kernel, mu, rows)
        self._record(stage, candidate.outliers, candidate.words, rows, refined.loo_mse, fresh, started)
        # Without fresh rows what was minimised decides: it knows how far the length scales have moved.
        error = float(np.exp(2 * refined.objective / rows)) if np.isnan(fresh) else fresh
        return replace(candidate, kernel=kernel, mu=mu, error=error)

    def _fresh_error(self, outliers: str, kernel: Kernel, mu: float, rows: int) -> float:
        """The error on rows the descent has not seen; NaN if there are too few of them."""
        fresh = self.order[rows : rows + _FRESH_ROWS]
        if len(fresh) < 500:
            return float("nan")
        X, at = self.points[outliers], self.order[:rows]
        machine = KernelRidge(kernel, lam=mu / rows, representation="full", solver="cholesky").fit(
            X[at], self.Y[at]
        )
        left = self.Y[fresh] - machine.predict(X[fresh]).reshape(len(fresh), -1)
        return float(np.mean(left**2))

    def _last_look(self, pool: list[Candidate]) -> Candidate:
        """The best two, and one width for all features, on more rows; then a sum of two kernels."""
        effort = self.effort
        if self.clock.left <= 0:
            return pool[0]
        self.progress("The best on more rows")
        last = self._together(
            lambda c: self._refine(c, effort.final_rows, effort.final_steps, "last look"), pool
        )
        best = min(last, key=lambda c: c.error)
        # The sum of two kernels of different smoothness hedges between them, and is seldom worse than either.
        other = next((c for c in last if c.family != best.family), None)
        if other is None or self.clock.left <= 0:
            return best
        self.progress("The sum of two kernels")
        both = Candidate(
            best.outliers,
            f"{best.family} + {other.family}",
            0.5 * best.kernel + 0.5 * other.kernel,
            0.5 * (best.mu + other.mu),
            np.inf,
        )
        with one_blas_thread() if effort.final_rows < SMALL else nullcontext():
            both = self._refine(both, effort.final_rows, effort.final_steps, "last look")
        return both if both.error < _WORTH * best.error else best

    @staticmethod
    def _together(function: Callable[[Any], Candidate], items: list) -> list[Candidate]:
        """One thread an item, BLAS on one thread each: small matrices gain little from more."""
        return parallel_map(function, items, cpu_count())

    def _record(self, stage, outliers, kernel, rows, loo, fresh, started) -> None:
        seconds = time.monotonic() - started
        self.trials.append(Trial(stage, outliers, kernel, rows, float(loo), float(fresh), seconds))


def _pair(pool: list[Candidate]) -> list[Candidate]:
    """The best, and beside it the first family (or, if that is the best, the second best)."""
    first = next(iter(FAMILIES))
    beside = [c for c in pool[1:] if c.family == first] or pool[1:2]
    return [pool[0], *beside]


def _one_width(candidate: Candidate) -> Candidate:
    """A screened candidate with its one width as a parameter, instead of equal length scales."""
    base = FAMILIES[candidate.family]
    width = float(candidate.kernel.lengths[0])  # type: ignore[attr-defined]
    kernel = base.replace(**{base.positive[0]: width})
    return replace(candidate, family=f"{candidate.family}, one width", kernel=kernel)


def _best_shift(K: np.ndarray, Y: np.ndarray) -> tuple[float, float]:
    """(smallest leave-one-out mean squared error, its μ) over a grid of μ."""
    values, Q = eigh(K, overwrite_a=True, check_finite=False, driver="evd")
    values = np.maximum(values, 0)
    rotated, squares = Q.T @ Y, Q * Q
    best = (np.inf, 1.0)
    for mu in _SHIFTS:
        inverse = 1 / (values + mu)
        left = (Q @ (inverse[:, None] * rotated)) / (squares @ inverse)[:, None]
        best = min(best, (float(np.mean(left**2)), float(mu)))
    return best


def likelihood_share(rows: int) -> float:
    """The fewer the rows, the more the marginal likelihood counts: half below a thousand, then nothing."""
    return 0.5 if rows < 1000 else 0.0
