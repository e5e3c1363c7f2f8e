"""The search for a kernel: families and widths on a few rows, then length scales by gradient on more."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import eigh

from mercer._units import alone, by_size, count, folds, held_out
from mercer.engines import Tiled
from mercer.engines.threads import cpu_count, parallel_map
from mercer.estimators import KernelRidge
from mercer.kernels import Gaussian, Kernel, Laplacian, Matern
from mercer.selection.gradient import LooSurface, descend
from mercer.tables.model.effort import Clock, Effort

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
_FOLDS = 3
_BOTH = "a sum of two"
_MIXTURE = "a mixture of those two and one width"
# Up to so many rows a second thread costs BLAS more than it saves.
SMALL = 1500
# How far logarithms of length scales are expected to lie apart; labels say less about them than numbers.
_SPREAD, _SPREAD_LABELS = 1.0, 0.5


@dataclass(frozen=True)
class Trial:
    """One thing that was tried.

    Attributes
    ----------
    stage : "screen", "length scales", "folds" or "last look"
    outliers : how numbers were prepared
    kernel : in words
    rows : number of examples
    loo : leave-one-out mean squared error, as a share of the variance of the targets
    fresh : the same of rows that took no part, of labels with four times their error rate; NaN without such
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
    units : (n,) numbers of the units that stay together in every split; None: rows are units
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
        units: np.ndarray | None = None,
    ):
        self.points, self.effort, self.clock, self.progress = points, effort, clock, progress
        self.seed, self.units = seed, np.arange(len(Y)) if units is None else units
        self.order, self.fresh = self._ordered(len(Y))
        self.labels, self.middle = labels, Y.mean(axis=0)
        self.size = float(np.sqrt(np.mean((Y - self.middle) ** 2))) or 1.0
        self.Y = (Y - self.middle) / self.size
        self.spread = _SPREAD_LABELS if labels else _SPREAD
        self.trials: list[Trial] = []

    def run(self) -> Found:
        """Screen, refine, compare: on rows that took no part where there are enough, else in folds."""
        screened = self._screen()
        choose = self._by_folds if self.effort.by_folds else self._by_fresh_rows
        return Found(choose(screened), self._in_order())

    def _ordered(self, n: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Rows in the order in which parts of them grow, and those that judge; None: the next in order."""
        order = np.random.default_rng(self.seed).permutation(n)
        if self.effort.by_folds or alone(self.units):
            return order, None
        # Of large units every beginning of the order has a part: other units must be kept to judge by.
        _, fresh = held_out(self.units, min(_FRESH_ROWS, n - self.effort.final_rows), random_state=self.seed)
        judges = np.zeros(n, dtype=bool)
        judges[fresh] = True
        return order[~judges[order]], fresh

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
            error, mu = _best_shift(np.asarray(Tiled(threads=1).gram(kernel, X, X)), Y, self.units[rows])
            if error < best[0]:
                best = error, factor, mu
        error, factor, mu = best
        kernel = base.scaled(np.full(d, middle * factor))
        self._record("screen", outliers, f"{family}, one width", len(rows), error, np.nan, started)
        return Candidate(outliers, family, kernel, mu, error)

    # -- refinement --------------------------------------------------------------------------------

    def _refine(
        self, candidate: Candidate, rows: np.ndarray, steps: int, lengths: bool = True
    ) -> tuple[Candidate, float]:
        """The candidate moved down its objective on some rows, and its leave-one-out error there.

        Its error is what was minimised, in the units of a mean squared error: it knows how far the length
        scales have moved.
        """
        share = likelihood_share(len(rows))
        surface = LooSurface(self.points[candidate.outliers][rows], self.Y[rows], share, self.units[rows])
        start, seconds = (candidate.kernel, candidate.mu), self.clock.left
        refined = descend(surface, KernelRidge(offset=False), *start, self.spread, steps, seconds, lengths)
        if refined.status == "out of time":
            self.clock.ended = True
        error = float(np.exp(2 * refined.objective / surface.count))
        kernel, mu = refined.machine.kernel, refined.machine.lam * surface.kept
        return replace(candidate, kernel=kernel, mu=mu, error=error), refined.loo_mse

    def _error_on(self, candidate: Candidate, rows: np.ndarray, fresh: np.ndarray) -> float:
        """The mean squared error on rows that took no part; of labels, with four times the error rate added.

        Wrongly coded labels are 2 apart, so that both are squared errors: of the scores, and of their signs.
        """
        X = self.points[candidate.outliers]
        machine = KernelRidge(
            candidate.kernel,
            lam=candidate.mu / len(rows),
            representation="full",
            solver="cholesky",
            offset=False,  # targets are centred
        ).fit(X[rows], self.Y[rows])
        scores = machine.predict(X[fresh]).reshape(len(fresh), -1)
        error = float(np.mean((self.Y[fresh] - scores) ** 2))
        if not self.labels:
            return error
        guess, truth = (_classes(self.middle + self.size * Y) for Y in (scores, self.Y[fresh]))
        return error + 4 * float(np.mean(guess != truth))

    # -- many rows ---------------------------------------------------------------------------------

    def _by_fresh_rows(self, screened: list[Candidate]) -> Candidate:
        """Length scales on some rows, the best on more, then a sum of two; all judged on other rows."""
        effort = self.effort
        self.progress("Length scales, one a feature")
        refined = self._together(
            lambda c: self._judged(c, effort.refine_rows, effort.refine_steps, "length scales"), screened
        )
        pair = _pair(sorted(refined, key=lambda c: c.error))
        if self.clock.up():
            return pair[0]
        self.progress("The best on more rows")
        last = self._together(
            lambda c: self._judged(c, effort.final_rows, effort.final_steps, "last look"),
            [*pair, _one_width(screened[0])],
        )
        best = min(last, key=lambda c: c.error)
        other = next((c for c in last if c.family != best.family), None)
        if other is None or self.clock.up():
            return best
        self.progress("The sum of two kernels")
        both = self._judged(_sum(best, other), effort.final_rows, effort.final_steps, "last look")
        return both if both.error < _WORTH * best.error else best

    def _judged(self, candidate: Candidate, count: int, steps: int, stage: str) -> Candidate:
        started = time.monotonic()
        rows, fresh = self.order[:count], self.fresh
        if fresh is None:
            fresh = self.order[count : count + _FRESH_ROWS]
        refined, loo = self._refine(candidate, rows, steps)
        error = self._error_on(refined, rows, fresh)
        self._record(stage, candidate.outliers, candidate.family, count, loo, error, started)
        return replace(refined, error=error)

    # -- few rows ----------------------------------------------------------------------------------

    def _by_folds(self, screened: list[Candidate]) -> Candidate:
        """Every way of choosing the lengths is judged in three folds; the best one is then taken on all rows.

        With few rows the leave-one-out error of many length scales says more about those rows than about
        others: only rows that took no part can tell whether they pay.
        """
        self.progress("One width, or length scales: three folds")
        rows = self.order[: self.effort.final_rows]
        tests = [np.sort(part) for part in self._parts(rows)]

        def fold(test: np.ndarray) -> dict[str, tuple[float, float]]:
            train = np.setdiff1d(rows, test)
            ways = self._ways(screened, train)
            return {way: (self._error_on(c, train, test), loo) for way, (c, loo) in ways.items()}

        started = time.monotonic()
        folds = parallel_map(fold, tests, cpu_count())
        seconds = (time.monotonic() - started) / len(folds[0])
        errors = {}
        for way in folds[0]:
            errors[way], loo = (float(v) for v in np.mean([f[way] for f in folds], axis=0))
            self.trials.append(
                Trial("folds", screened[0].outliers, way, len(rows), loo, errors[way], seconds)
            )
        self.progress("The best on all rows")
        started = time.monotonic()
        way = min(errors, key=lambda w: errors[w])
        needed = [c for c in screened if way in (c.family, f"{c.family}, one width")] or screened
        best, loo = self._ways(needed, rows)[way]
        self._record("last look", best.outliers, best.family, len(rows), loo, np.nan, started)
        return best

    def _parts(self, rows: np.ndarray) -> list[np.ndarray]:
        units = self.units[rows]
        if alone(units):
            return np.array_split(rows, _FOLDS)
        return [rows[test] for _, test in folds(units, min(_FOLDS, count(units)), random_state=self.seed)]

    def _ways(self, screened: list[Candidate], rows: np.ndarray) -> dict[str, tuple[Candidate, float]]:
        """What every way of choosing leads to on some rows, and its leave-one-out error there."""
        effort, out = self.effort, {}
        for c in screened:
            one = _one_width(c)
            out[one.family] = self._refine(one, rows, effort.final_steps // 2)
            out[c.family] = self._refine(c, rows, effort.refine_steps)
        refined = sorted([out[c.family][0] for c in screened], key=lambda c: c.error)
        if len(refined) > 1:
            both = _sum(*_pair(refined))
            out[_BOTH] = self._refine(both, rows, effort.final_steps)
            # As they are, with weights: few numbers to choose, so there is little to follow noise with.
            mixture = _sum(both, out[f"{screened[0].family}, one width"][0])
            out[_MIXTURE] = self._refine(mixture, rows, effort.final_steps // 2, lengths=False)
        return out

    @staticmethod
    def _together(function: Callable[[Any], Candidate], items: list) -> list[Candidate]:
        """One thread an item, BLAS on one thread each: small matrices gain little from more."""
        return parallel_map(function, items, cpu_count())

    def _in_order(self) -> tuple[Trial, ...]:
        """By stage, and by kernel within one: threads finish in any order."""
        stages = ("screen", "length scales", "folds", "last look")
        return tuple(sorted(self.trials, key=lambda t: (stages.index(t.stage), t.rows, t.kernel)))

    def _record(self, stage, outliers, kernel, rows, loo, fresh, started) -> None:
        seconds = time.monotonic() - started
        self.trials.append(Trial(stage, outliers, kernel, rows, float(loo), float(fresh), seconds))


def _classes(codes: np.ndarray) -> np.ndarray:
    """Numbers of classes from codes or scores."""
    return codes.argmax(axis=1) if codes.shape[1] > 1 else (codes[:, 0] > 0).astype(np.intp)


def _pair(pool: list[Candidate]) -> list[Candidate]:
    """The best, and beside it the first family (or, if that is the best, the second best)."""
    first = next(iter(FAMILIES))
    beside = [c for c in pool[1:] if c.family == first] or pool[1:2]
    return [pool[0], *beside]


def _sum(a: Candidate, b: Candidate) -> Candidate:
    """Two kernels of different smoothness, which hedge between them; seldom worse than either."""
    return replace(
        a, family=f"{a.family} + {b.family}", kernel=0.5 * a.kernel + 0.5 * b.kernel, mu=0.5 * (a.mu + b.mu)
    )


def _one_width(candidate: Candidate) -> Candidate:
    """A screened candidate with its one width as a parameter, instead of equal length scales."""
    base = FAMILIES[candidate.family]
    width = float(candidate.kernel.lengths[0])  # type: ignore[attr-defined]
    kernel = base.replace(**{base.positive[0]: width})
    return replace(candidate, family=f"{candidate.family}, one width", kernel=kernel)


def _best_shift(K: np.ndarray, Y: np.ndarray, units: np.ndarray) -> tuple[float, float]:
    """(smallest leave-one-out mean squared error, its μ) over a grid of μ; units are left out together."""
    values, Q = eigh(K, overwrite_a=True, check_finite=False, driver="evd")
    values = np.maximum(values, 0)
    rotated, blocks = Q.T @ Y, [(rows, Q[rows]) for rows in by_size(units)]
    left, best = np.empty(Y.shape), (np.inf, 1.0)
    for mu in _SHIFTS:
        inverse = 1 / (values + mu)
        solved = Q @ (inverse[:, None] * rotated)
        for rows, q in blocks:  # q is (units, size, n)
            if rows.shape[1] == 1:
                left[rows] = solved[rows] / ((q * q) @ inverse)[:, :, None]
            else:
                left[rows] = np.linalg.solve((q * inverse) @ q.transpose(0, 2, 1), solved[rows])
        best = min(best, (float(np.mean(left**2)), float(mu)))
    return best


def likelihood_share(rows: int) -> float:
    """The fewer the rows, the more the marginal likelihood counts: half below a thousand, then nothing."""
    return 0.5 if rows < 1000 else 0.0
