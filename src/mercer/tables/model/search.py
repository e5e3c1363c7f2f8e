"""The search for a kernel: families and widths on a few rows, then length scales by gradient on more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mercer._units import alone, count, folds, held_out
from mercer.engines import Tiled
from mercer.estimators import KernelRidge
from mercer.kernels import Gaussian, Kernel, Laplacian, Matern
from mercer.selection.crew import HERE, Crew
from mercer.selection.dimensions import Choice
from mercer.selection.gradient import LooSurface, descend
from mercer.selection.objectives import Data, LeaveOneOut, row_order
from mercer.selection.search import Clock, Job, Sharing, search
from mercer.tables.model.effort import Effort

Progress = Callable[[str], None]

# A family by name: the kernel with width 1, to which length scales are added.
FAMILIES: Mapping[str, Kernel] = {
    "laplacian l1": Laplacian(1.0, norm="l1"),
    "laplacian": Laplacian(1.0),
    "matern 3/2": Matern(1.5, 1.0),
    "gaussian": Gaussian(1.0),
}
_FIRST = "laplacian l1"
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
    """One thing that was tried."""

    stage: str  # "screen", "length scales", "folds", "last look" or "texts"
    outliers: str  # how numbers were prepared
    kernel: str  # in words
    rows: int  # number of examples
    loo: float  # leave-one-out mean squared error, as a share of the variance of the targets
    # The same of rows that took no part, of labels with four times their error rate; NaN without such
    fresh: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Candidate:
    """A kernel with its μ = λn, on a preparation; the error it is compared by, and how it was tried."""

    outliers: str
    family: str
    kernel: Kernel
    mu: float
    error: float = np.nan
    stage: str = ""
    rows: int = 0
    loo: float = np.nan
    fresh: float = np.nan
    seconds: float = 0.0

    @property
    def trial(self) -> Trial:
        kernel = f"{self.family}, one width" if self.stage == "screen" else self.family
        return Trial(self.stage, self.outliers, kernel, self.rows, self.loo, self.fresh, self.seconds)


@dataclass(frozen=True, eq=False)
class Found:
    """What a search ends with: the best candidate, and all that was tried."""

    best: Candidate
    trials: tuple[Trial, ...]


class KernelSearch:
    """One search, on points by their preparation ("keep", "squash") and (n, t) targets or codes of labels.

    `progress` is called with a line of text now and then; `units` are numbers of rows that stay together in
    every split (None: rows are units); a crew tries candidates.
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
        crew: Crew = HERE,
    ):
        self.crew = crew
        self.points, self.effort, self.clock, self.progress = points, effort, clock, progress
        self.seed, self.units = seed, np.arange(len(Y)) if units is None else units
        self.order, self.fresh = self._ordered(len(Y))
        self.labels, self.middle = labels, Y.mean(axis=0)
        self.size = float(np.sqrt(np.mean((Y - self.middle) ** 2))) or 1.0
        self.Y = (Y - self.middle) / self.size
        self.spread = _SPREAD_LABELS if labels else _SPREAD

    def run(self) -> Found:
        """Screen, refine, compare: on rows that took no part where there are enough, else in folds."""
        by_fresh_rows = [self._lengths, self._last_look, self._sum_of_two]
        stages = [
            self._preparations,
            self._families,
            *([self._by_folds] if self.effort.by_folds else by_fresh_rows),
        ]
        tried: list[Candidate] = []
        search(stages, tried, self.clock, crew=self.crew)
        return Found(_best(tried), tuple(c.trial for c in tried))

    def __getstate__(self) -> dict[str, Any]:
        """As a worker of a crew has it: rows that candidates are tried on, and nobody to tell or to ask."""
        state = {**vars(self), "crew": HERE, "progress": silent}
        if self.effort.by_folds:
            return state
        used = self.order[: max(self.effort.screen_rows, self.effort.final_rows) + _FRESH_ROWS]
        rows = np.unique(used if self.fresh is None else np.concatenate([used, self.fresh]))
        state |= {"order": np.searchsorted(rows, used), "Y": self.Y[rows], "units": self.units[rows]}
        state["fresh"] = None if self.fresh is None else np.searchsorted(rows, self.fresh)
        state["points"] = {outliers: X[rows] for outliers, X in self.points.items()}
        return state

    def _ordered(self, n: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Rows in the order in which parts of them grow, and those that judge; None: the next in order."""
        order = row_order(n, None, self.seed)
        if self.effort.by_folds or alone(self.units):
            return order, None
        # Of large units every beginning of the order has a part: other units must be kept to judge by.
        _, fresh = held_out(self.units, min(_FRESH_ROWS, n - self.effort.final_rows), random_state=self.seed)
        return order[~np.isin(order, fresh)], fresh

    # -- screening ---------------------------------------------------------------------------------

    def _preparations(self, tried: Sequence[Candidate]) -> list[Job]:
        self.progress("Kernel families and widths")
        return [partial(self._widths, outliers, _FIRST) for outliers in self.points]

    def _families(self, tried: Sequence[Candidate]) -> list[Job]:
        outliers = self._prepared(tried).outliers
        return [partial(self._widths, outliers, family) for family in FAMILIES if family != _FIRST]

    def _prepared(self, tried: Sequence[Candidate]) -> Candidate:
        """The first family on the preparation that suits it."""
        as_they_are, *others = tried[: len(self.points)]
        best = min(others, key=_error, default=as_they_are)
        return best if best.error <= _PREPARED * as_they_are.error else as_they_are

    def _screened(self, tried: Sequence[Candidate]) -> list[Candidate]:
        """The families to go on with; the first one, the steadiest on small tables, always comes along."""
        rest = sorted(tried[len(self.points) : len(self.points) + len(FAMILIES) - 1], key=_error)
        return sorted([self._prepared(tried), *rest[: self.effort.finalists - 1]], key=_error)

    def _widths(self, outliers: str, family: str) -> list[Candidate]:
        """One family on a few rows: the width and μ with the smallest leave-one-out error."""
        n, X = min(self.effort.screen_rows, len(self.order)), self.points[outliers]
        base, d = FAMILIES[family], X.shape[1]
        middle = d if family == _FIRST else np.sqrt(d)
        kept = n * (1 - 1 / count(self.units[self.order[:n]]))  # rows that are left when a unit is left out
        judge = LeaveOneOut(
            KernelRidge(representation="full", engine=Tiled(threads=1)),
            Data(X, self.Y, None, self.order, self.units),
            Choice(list(_SHIFTS / kept)),
        )
        kernels = [base.scaled(np.full(d, middle * factor)) for factor in _WIDTHS]
        best = max((judge({"kernel": kernel}, n) for kernel in kernels), key=lambda t: t.score)
        kernel, mu, error = best.params["kernel"], best.params["lam"] * kept, -best.score
        return [Candidate(outliers, family, kernel, mu, error, "screen", n, loo=error)]

    # -- refinement --------------------------------------------------------------------------------

    def _refine(self, candidate: Candidate, rows: np.ndarray, steps: int, lengths: bool = True) -> Candidate:
        """The candidate moved down its objective on some rows.

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
        return replace(candidate, kernel=kernel, mu=mu, error=error, rows=len(rows), loo=refined.loo_mse)

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
        guess, truth = (classes_of(self.middle + self.size * Y) for Y in (scores, self.Y[fresh]))
        return error + 4 * float(np.mean(guess != truth))

    # -- many rows: length scales on some, the best on more, then a sum of two; judged on other rows -----

    def _lengths(self, tried: Sequence[Candidate]) -> list[Job]:
        self.progress("Length scales, one a feature")
        rows, steps = self.effort.refine_rows, self.effort.refine_steps
        return [partial(self._judged, c, rows, steps, "length scales") for c in self._screened(tried)]

    def _last_look(self, tried: Sequence[Candidate]) -> list[Job]:
        self.progress("The best on more rows")
        pair = _pair(sorted(_latest(tried), key=_error))
        return [self._last(c) for c in (*pair, _one_width(self._screened(tried)[0]))]

    def _sum_of_two(self, tried: Sequence[Candidate]) -> list[Job]:
        best = min(_latest(tried), key=_error)
        others = [c for c in _latest(tried) if c.family != best.family]
        if others:
            self.progress("The sum of two kernels")
        return [self._last(_sum(best, other)) for other in others[:1]]

    def _last(self, candidate: Candidate) -> Job:
        return partial(self._judged, candidate, self.effort.final_rows, self.effort.final_steps, "last look")

    def _judged(self, candidate: Candidate, count: int, steps: int, stage: str) -> list[Candidate]:
        rows, fresh = self.order[:count], self.fresh
        if fresh is None:
            fresh = self.order[count : count + _FRESH_ROWS]
        refined = self._refine(candidate, rows, steps)
        error = self._error_on(refined, rows, fresh)
        return [replace(refined, error=error, stage=stage, fresh=error)]

    # -- few rows ----------------------------------------------------------------------------------

    def _by_folds(self, tried: Sequence[Candidate]) -> list[Job]:
        """Every way of choosing the lengths is judged in three folds; the best one is then taken on all rows.

        With few rows the leave-one-out error of many length scales says more about those rows than about
        others: only rows that took no part can tell whether they pay.
        """
        return [Sharing(partial(self._folded, self._screened(tried)))]

    def _folded(self, screened: list[Candidate]) -> list[Candidate]:
        self.progress("One width, or length scales: three folds")
        rows = self.order[: self.effort.final_rows]
        parts = self.crew.map(partial(self._fold, screened, rows), self._parts(rows), self.clock)
        judged = []
        for way in parts[0]:
            error, loo = (float(v) for v in np.mean([part[way] for part in parts], axis=0))
            as_tried = replace(screened[0], family=way, stage="folds", rows=len(rows))
            judged.append(replace(as_tried, error=error, loo=loo, fresh=error))
        self.progress("The best on all rows")
        way = min(judged, key=_error).family
        needed = [c for c in screened if way in (c.family, f"{c.family}, one width")] or screened
        [ways] = self.crew.map(partial(self._ways, needed), [rows], self.clock)
        return [*judged, replace(ways[way], stage="last look", fresh=np.nan)]

    def _fold(
        self, screened: list[Candidate], rows: np.ndarray, test: np.ndarray
    ) -> dict[str, tuple[float, float]]:
        """Errors of every way on rows that took no part, and its leave-one-out error on the others."""
        train = np.setdiff1d(rows, test)
        ways = self._ways(screened, train)
        return {way: (self._error_on(c, train, np.sort(test)), c.loo) for way, c in ways.items()}

    def _parts(self, rows: np.ndarray) -> list[np.ndarray]:
        units = self.units[rows]
        if alone(units):
            return np.array_split(rows, _FOLDS)
        return [rows[test] for _, test in folds(units, min(_FOLDS, count(units)), random_state=self.seed)]

    def _ways(self, screened: list[Candidate], rows: np.ndarray) -> dict[str, Candidate]:
        """What every way of choosing leads to on some rows."""
        effort, out = self.effort, {}
        for c in screened:
            one = _one_width(c)
            out[one.family] = self._refine(one, rows, effort.final_steps // 2)
            out[c.family] = self._refine(c, rows, effort.refine_steps)
        refined = sorted([out[c.family] for c in screened], key=_error)
        if len(refined) > 1:
            both = _sum(*_pair(refined))
            out[_BOTH] = self._refine(both, rows, effort.final_steps)
            # As they are, with weights: few numbers to choose, so there is little to follow noise with.
            mixture = _sum(both, out[f"{screened[0].family}, one width"])
            out[_MIXTURE] = self._refine(mixture, rows, effort.final_steps // 2, lengths=False)
        return out


def silent(text: str) -> None:
    """What is called with lines of text that nobody reads."""


def _error(candidate: Candidate) -> float:
    return candidate.error


def _latest(tried: Sequence[Candidate]) -> list[Candidate]:
    """Those of the last stage: errors of different stages are of different rows."""
    return [c for c in tried if c.stage == tried[-1].stage]


def _best(tried: Sequence[Candidate]) -> Candidate:
    """The best of the last stage; a sum, which comes last, if it is worth its complexity."""
    *others, last = _latest(tried)
    best = min(others, key=_error, default=last)
    return last if last.error < (_WORTH if " + " in last.family else 1) * best.error else best


def classes_of(codes: np.ndarray) -> np.ndarray:
    """Numbers of classes from codes or scores."""
    return codes.argmax(axis=1) if codes.shape[1] > 1 else (codes[:, 0] > 0).astype(np.intp)


def _pair(pool: list[Candidate]) -> list[Candidate]:
    """The best, and beside it the first family (or, if that is the best, the second best)."""
    beside = [c for c in pool[1:] if c.family == _FIRST] or pool[1:2]
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


def likelihood_share(rows: int) -> float:
    """The fewer the rows, the more the marginal likelihood counts: half below a thousand, then nothing."""
    return 0.5 if rows < 1000 else 0.0
