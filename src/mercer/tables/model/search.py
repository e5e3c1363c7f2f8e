"""The search for a kernel: families and widths on a few rows, then length scales by gradient on more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._units import alone, count, held_out
from mercer._warnings import unheard
from mercer.engines import Engine, Tiled
from mercer.estimators import KernelRidge
from mercer.selection import MetricRule, metric_rounds
from mercer.selection.crew import HERE, Crew
from mercer.selection.gradient import LooSurface, descend
from mercer.selection.objectives import row_order
from mercer.selection.path import path_of_units
from mercer.selection.search import Clock, Job, Sharing, search
from mercer.tables.model.averages import Average, near_ties
from mercer.tables.model.by_folds import Folded, round_one
from mercer.tables.model.device import FEWEST
from mercer.tables.model.effort import Effort
from mercer.tables.model.families import (
    FAMILIES,
    FIRST,
    METRICS,
    ROUND,
    Candidate,
    Found,
    error_of,
    latest,
    one_width,
    pair,
)
from mercer.tables.model.forests import grown
from mercer.tables.model.judging import Judge

Progress = Callable[[str], None]

_SHIFTS = 10.0 ** np.arange(-6.0, 2.51, 0.5)
_LEAST_OF_LABELS = 1e-4
# Another λ is taken if it lowers the error to this share; and another preparation of the columns, which is
# judged on few rows.
_WORTH, _PREPARED = 0.995, 0.9
_FRESH_ROWS = 3000
# Up to so many rows a second thread costs BLAS more than it saves.
SMALL = 1500
# How far logarithms of length scales are expected to lie apart; labels say less about them than numbers.
_SPREAD, _SPREAD_LABELS = 1.0, 0.5
# Rounds of learning a metric.
_ROUNDS = 3
# Kernels that are averaged, at most; a forest counts as half of the best one to begin with.
_MEMBERS, _FOREST_SHARE = 5, 0.5
# λn is looked at again on more rows: these multiples of it.
_AGAIN = (1.0, 0.25, 4.0)
_LAMBDA = "λ on more rows"
# A fold needs two units to learn from: with fewer than these what was screened is all there is.
_FEWEST_UNITS = 3


class KernelSearch:
    """One search, on points by their preparation ("keep", "squash") and (n, t) targets or codes of labels.

    `progress` is called with a line of text now and then; `units` are numbers of rows that stay together in
    every split (None: rows are units); a crew tries candidates. `metric` is what is asked for, by its name.
    An engine, if there is one, does the descents and judges candidates, where rows are units.
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
        metric: str = "",
        engine: Engine | None = None,
    ):
        self.crew, self.engine = crew, engine
        self.no_room = False  # did the engine lack the room for what was forecast to fit?
        self.points, self.effort, self.clock, self.progress = points, effort, clock, progress
        self.seed, self.units = seed, np.arange(len(Y)) if units is None else units
        self.order, self.fresh = self._ordered(len(Y))
        middle = Y.mean(axis=0)
        self.labels = labels
        self.judge = Judge(middle, float(np.sqrt(np.mean((Y - middle) ** 2))) or 1.0, labels, metric)
        self.Y = (Y - middle) / self.judge.size
        self.spread = _SPREAD_LABELS if labels else _SPREAD

    def run(self) -> Found:
        """Screen, refine, compare: on rows that took no part where there are enough, else in folds."""
        by_fresh_rows = [self._lengths, self._last_look, self._more_rows, self._average, self._lambda]
        stages = [
            self._preparations,
            self._families,
            *([self._by_folds] if self.effort.by_folds else by_fresh_rows),
        ]
        tried: list[Candidate] = []
        with unheard(ConvergenceWarning):  # what can't be solved has the error that it has
            search(stages, tried, self.clock, crew=self.crew)
        return Found(_best(tried), tuple(c.trial for c in tried))

    def __getstate__(self) -> dict[str, Any]:
        """As a worker of a crew has it: rows that candidates are tried on, and nobody to tell or to ask."""
        state = {**vars(self), "crew": HERE, "progress": silent, "engine": None}
        if self.effort.by_folds:
            return state
        effort = self.effort
        searched = max(effort.screen_rows, effort.refine_rows, effort.final_rows)
        used = self.order[: max(searched, effort.most_rows, effort.average_rows)]
        rows = np.unique(np.concatenate([used, self._fresh]))
        state |= {"order": np.searchsorted(rows, used), "Y": self.Y[rows], "units": self.units[rows]}
        state["fresh"] = np.searchsorted(rows, self._fresh)
        state["points"] = {outliers: X[rows] for outliers, X in self.points.items()}
        return state

    def _ordered(self, n: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Rows in the order in which parts of them grow, and those that judge; None: there are none."""
        order = row_order(n, None, self.seed)
        if self.effort.by_folds:
            return order, None
        most = min(_FRESH_ROWS, n - self.effort.final_rows)
        if alone(self.units):
            return order[:-most], order[-most:]
        # Of large units every beginning of the order has a part: other units must be kept to judge by.
        _, fresh = held_out(self.units, most, random_state=self.seed)
        return order[~np.isin(order, fresh)], fresh

    # -- screening ---------------------------------------------------------------------------------

    def _preparations(self, tried: Sequence[Candidate]) -> list[Job]:
        self.progress("Kernel families and widths")
        return [partial(self.widths, outliers, FIRST) for outliers in self.points]

    def _families(self, tried: Sequence[Candidate]) -> list[Job]:
        outliers = self._prepared(tried).outliers
        return [partial(self.widths, outliers, family) for family in FAMILIES if family != FIRST]

    def _prepared(self, tried: Sequence[Candidate]) -> Candidate:
        """The first family on the preparation that suits it."""
        as_they_are, *others = tried[: len(self.points)]
        best = min(others, key=error_of, default=as_they_are)
        return best if best.error <= _PREPARED * as_they_are.error else as_they_are

    def screened(self, tried: Sequence[Candidate]) -> list[Candidate]:
        """The families to go on with; the first one, the steadiest on small tables, always comes along."""
        rest = sorted((c for c in tried[len(self.points) :] if c.stage == "screen"), key=error_of)
        return sorted([self._prepared(tried), *rest[: self.effort.finalists - 1]], key=error_of)

    def widths(self, outliers: str, name: str) -> list[Candidate]:
        """One family on a few rows: the width and μ with the smallest error where rows are left out."""
        n, family, X = min(self.effort.screen_rows, len(self.order)), FAMILIES[name], self.points[outliers]
        rows = np.sort(self.order[:n])
        X, Y, units = X[rows], self.Y[rows], self.units[rows]
        kept = n * (1 - 1 / count(units))  # rows that are left when a unit is left out
        machine = KernelRidge(representation="full", engine=Tiled(threads=1), offset=False)
        shifts = _SHIFTS[_SHIFTS >= _LEAST_OF_LABELS] if self.labels else _SHIFTS
        found = []
        for width in family.widths(X.shape[1]):
            kernel = family.kernel(width, X.shape[1])
            path = path_of_units(machine.set_params(kernel=kernel), X, Y, shifts / kept, None, units)
            residuals = path.loo_residuals.reshape(len(shifts), *Y.shape)
            errors = [float(np.mean(self.judge.errors(Y - left, Y))) for left in residuals]
            best = int(np.argmin(errors))
            loo = float(np.mean(residuals[best] ** 2))
            tried = Candidate(outliers, name, kernel, float(shifts[best]), errors[best], "screen", n, loo)
            found.append(replace(tried, width=width))
        return [min(found, key=error_of)]

    # -- refinement --------------------------------------------------------------------------------

    def refine(self, candidate: Candidate, rows: np.ndarray, steps: int, lengths: bool = True) -> Candidate:
        """The candidate moved down its objective on some rows.

        Its error is what was minimised, in the units of a mean squared error: it knows how far the length
        scales have moved.
        """
        try:
            return self._descended(candidate, rows, steps, lengths, self.engine)
        except MemoryError:
            if self.engine is None:
                raise
            self.no_room = True
        # Outside of the handler, which would hold on to matrices.
        return self._descended(candidate, rows[: self.effort.here.final_rows], steps, lengths, None)

    def _descended(
        self, candidate: Candidate, rows: np.ndarray, steps: int, lengths: bool, engine: Engine | None
    ) -> Candidate:
        share, X = likelihood_share(len(rows)), self.points[candidate.outliers]
        surface = LooSurface(X[rows], self.Y[rows], share, self.units[rows], engine=engine)
        start, seconds = (candidate.kernel, candidate.mu), self.clock.left
        refined = descend(surface, KernelRidge(offset=False), *start, self.spread, steps, seconds, lengths)
        if refined.status == "out of time":
            self.clock.ended = True
        error = float(np.exp(2 * refined.objective / surface.count))
        kernel, mu = refined.machine.kernel, self._least(refined.machine.lam * surface.kept)
        return replace(candidate, kernel=kernel, mu=mu, error=error, rows=len(rows), loo=refined.loo_mse)

    def error_on(self, candidate: Candidate, rows: np.ndarray, fresh: np.ndarray) -> float:
        """The mean error on rows that took no part."""
        X = self.points[candidate.outliers]
        if self.engine is not None and len(rows) >= FEWEST:
            try:
                sides = X[rows], self.Y[rows], candidate.mu, X[fresh]
                found = self.engine.ridge_scores(candidate.kernel, *sides)
            except MemoryError:
                self.no_room, found = True, None
            if found is not None:
                return float(np.mean(self.judge.errors(found, self.Y[fresh])))
            rows = rows[: self.effort.here.most_rows]
        machine = KernelRidge(
            candidate.kernel,
            lam=candidate.mu / len(rows),
            representation="full",
            solver="cholesky",
            offset=False,  # targets are centred
        ).fit(X[rows], self.Y[rows])
        scores = machine.predict(X[fresh]).reshape(len(fresh), -1)
        return float(np.mean(self.judge.errors(scores, self.Y[fresh])))

    # -- many rows: judged on others -----------------------------------------------------------------

    def _lengths(self, tried: Sequence[Candidate]) -> list[Job]:
        """Length scales on some rows, and the metric of a round kernel."""
        self.progress("Length scales, one a feature")
        effort, start = self.effort, round_one(tried, ROUND) if self.effort.metrics else None
        few = effort.here.refine_rows
        # What is soon done comes first: it is there if time is up for the others.
        jobs: list[Job] = []
        if start is not None:
            jobs = [
                partial(self._metric, start, d, few, effort.refine_rows, "length scales")
                for d in (False, True)
            ]
        return jobs + [
            self._moved(c, effort.refine_rows, effort.refine_steps, "length scales")
            for c in self.screened(tried)
        ]

    def _last_look(self, tried: Sequence[Candidate]) -> list[Job]:
        self.progress("The best on more rows")
        ranked, effort, jobs = sorted(latest(tried), key=error_of), self.effort, list[Job]()
        rows, steps = effort.final_rows, effort.final_steps
        learned = [c for c in ranked if c.family in METRICS.values()]
        # One that is among the best three of all kinds, whichever of its rounds it is.
        if learned and learned[0] in _one_each(ranked)[:3]:
            diagonal = learned[0].family == METRICS[True]
            jobs.append(
                partial(self._metric, learned[0], diagonal, effort.here.final_rows, rows, "last look")
            )
        jobs += [self._moved(one_width(c), rows, steps // 2, "last look") for c in self.screened(tried)[:2]]
        moved = [c for c in ranked if c.family in FAMILIES]
        return jobs + [self._moved(c, rows, steps, "last look") for c in pair(moved)]

    @property
    def _most(self) -> int:
        """Rows for what is tried as it is; 0, where they would be hardly more than those searched on."""
        rows = min(self.effort.most_rows, len(self.order))
        return rows if rows >= 1.5 * self.effort.final_rows else 0

    def _more_rows(self, tried: Sequence[Candidate]) -> list[Job]:
        """As they are, with more rows than could be searched on: what is best may depend on their number."""
        if not self._most:
            return [_nothing]
        self.progress("The best again, on many more rows")
        best = _one_each(latest(tried))[: self.effort.racers]
        return [partial(self._again, candidate, self._most, "more rows") for candidate in best]

    def _average(self, tried: Sequence[Candidate]) -> list[Job]:
        """Of what does about as well as the best, and of a forest."""
        self.progress("Averages of the best")
        return [partial(self._averaged, near_ties(_one_each(latest(tried)), _MEMBERS))]

    def _averaged(self, members: list[Candidate]) -> list[Candidate]:
        here = self.effort.here
        first, rows = members[0], self.order[: max(here.average_rows, here.final_rows)]
        X, fresh = self.points[first.outliers], self._fresh
        if self.effort.trees:
            forest = grown(X[rows], self.Y[rows], self.labels, self.units[rows], self.seed, self.effort.trees)
            size = float(np.mean(first.kernel.diag(X[rows])))
            mu = first.mu / (_FOREST_SHARE * size)
            members = [*members, replace(first, family="forest", kernel=forest, mu=mu)]
        average = Average(members, X[rows], self.Y[rows], X[fresh], self.Y[fresh], self.judge)
        best = average.best()
        return [replace(first, stage="average") if best is None else best]

    def _lambda(self, tried: Sequence[Candidate]) -> list[Job]:
        """μ = λn once more, with more rows."""
        if not self._most:
            return []
        self.progress("λ on more rows")
        return [
            partial(self._again, replace(tried[-1], mu=f * tried[-1].mu), self._most, _LAMBDA) for f in _AGAIN
        ]

    def _moved(self, candidate: Candidate, count: int, steps: int, stage: str) -> Job:
        return partial(self._judged, candidate, count, steps, stage)

    def _judged(self, candidate: Candidate, count: int, steps: int, stage: str) -> list[Candidate]:
        rows = self.order[:count]
        return self._as_is(self.refine(candidate, rows, steps), rows, stage)

    def _again(self, candidate: Candidate, count: int, stage: str) -> list[Candidate]:
        # Jobs know how many rows, and not which: a worker elsewhere has other numbers for them.
        return self._as_is(candidate, self.order[:count], stage)

    def _as_is(self, candidate: Candidate, rows: np.ndarray, stage: str) -> list[Candidate]:
        error = self.error_on(candidate, rows, self._fresh)
        return [replace(candidate, error=error, stage=stage, fresh=error, rows=len(rows))]

    def _metric(
        self, candidate: Candidate, diagonal: bool, few: int, count: int, stage: str
    ) -> list[Candidate]:
        """A metric learned on few rows, and judged with as many as other candidates have."""
        found = self.learned_metrics(candidate, self.order[:few], diagonal)
        return [judged for made in found for judged in self._as_is(made, self.order[:count], stage)]

    def learned_metrics(self, candidate: Candidate, rows: np.ndarray, diagonal: bool) -> list[Candidate]:
        """A metric, or length scales, from the gradients of what is fitted: one candidate a round.

        Their leave-one-out errors say little: a metric has seen the targets of all rows.
        """
        X, Y, units = self.points[candidate.outliers][rows], self.Y[rows], self.units[rows]
        rule, seconds = MetricRule(diagonal=diagonal), self.clock.left
        found = metric_rounds(X, Y, candidate.kernel, candidate.mu, units, _ROUNDS, seconds, rule)[1:]
        made = replace(candidate, family=METRICS[diagonal], rows=len(rows))
        return [replace(made, kernel=k, mu=self._least(mu), loo=loo, error=loo) for k, mu, loo in found]

    def _least(self, mu: float) -> float:
        """μ, but of labels not so small that it only costs digits: they are met long before."""
        return max(mu, _LEAST_OF_LABELS) if self.labels else mu

    @property
    def _fresh(self) -> np.ndarray:
        assert self.fresh is not None
        return self.fresh

    # -- few rows ----------------------------------------------------------------------------------

    def _by_folds(self, tried: Sequence[Candidate]) -> list[Job]:
        """Every way of choosing is judged in three folds; the best one is then taken on all rows."""
        if count(self.units[self.order[: self.effort.final_rows]]) < _FEWEST_UNITS:
            return []
        metric = round_one(tried, ROUND) if self.effort.metrics else None
        return [Sharing(Folded(self, self.screened(tried), metric))]


def _one_each(pool: Sequence[Candidate]) -> list[Candidate]:
    """The best of every family, the best of all first."""
    best = {c.family: c for c in sorted(pool, key=error_of, reverse=True)}
    return sorted(best.values(), key=error_of)


def _nothing() -> list[Candidate]:
    """A stage that is passed over."""
    return []


def silent(text: str) -> None:
    """What is called with lines of text that nobody reads."""


def _best(tried: Sequence[Candidate]) -> Candidate:
    """The best of the last stage; another λ if it is clearly better.

    Where time was up before averages were made the last stage may lack what would have been its best, so
    that those before it count, too, if they were judged on the same rows.
    """
    last = latest(tried)
    if last[-1].stage == _LAMBDA:
        before = [c for c in tried if c.stage != _LAMBDA][-1]
        first = next((c for c in last if c.mu == before.mu), None)
        if first is None:  # time was up, and there is nothing to compare with
            return before
        best = min(last, key=error_of)
        return best if best.error < _WORTH * first.error else first
    judged = [c for c in tried if np.isfinite(c.fresh)]
    if last[-1].stage == "average" or np.isnan(last[-1].fresh):
        judged = last
    return min(judged, key=error_of)


def likelihood_share(rows: int) -> float:
    """The fewer the rows, the more the marginal likelihood counts: half below a thousand, then nothing."""
    return 0.5 if rows < 1000 else 0.0
