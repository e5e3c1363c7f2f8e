"""A search on few rows: every way of choosing is judged in folds, and one is taken on all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from mercer._units import alone, count, folds
from mercer.tables.model.families import FAMILIES, METRICS, Candidate, error_of, one_width, pair, sum_of
from mercer.tables.model.forests import grown

if TYPE_CHECKING:
    from mercer.tables.model.search import KernelSearch

_FOLDS = 3
# Another way than the mixture has to lower the error to this share.
_CLEARLY = 0.87
_BOTH = "a sum of two"
_MIXTURE = "a mixture of those two and one width"
_FOREST = "a mixture with a forest"
# Of k(x,x), in the mixture.
_FOREST_SHARE = 0.5


@dataclass(frozen=True, eq=False)
class Folded:
    """Every way of choosing the lengths, judged in three folds; the one that is kept is taken on all.

    With few rows the leave-one-out error of many length scales says more about those rows than about
    others: only rows that took no part can tell whether they pay.
    """

    search: KernelSearch
    screened: Sequence[Candidate]
    round_one: Candidate | None

    def __call__(self) -> list[Candidate]:
        search = self.search
        search.progress("One width, or length scales: three folds")
        rows = search.order[: search.effort.final_rows]
        tests = self._tests(rows)
        parts = search.crew.map(partial(self.fold, rows), tests, search.clock)
        judged = []
        # What the clock ended in one of the folds is no way to compare.
        for way in [way for way in parts[0] if all(way in part for part in parts)]:
            error, loo = (
                float(np.mean([getattr(part[way], what) for part in parts])) for what in ("error", "loo")
            )
            as_tried = replace(self.screened[0], family=way, stage="folds", rows=len(rows))
            judged.append(replace(as_tried, error=error, loo=loo, fresh=error))
        if not judged:
            return []
        search.progress("The best on all rows")
        way = self._kept(judged).family
        [ways] = search.crew.map(partial(self._ways, only=frozenset([way])), [rows], search.clock)
        if way not in ways:  # time was up, and what was screened remains
            return []
        return [*judged, replace(ways[way], stage="last look", fresh=np.nan, rows=len(rows))]

    def _kept(self, judged: list[Candidate]) -> Candidate:
        """The mixture, unless another way is clearly better.

        The smallest of many noisy errors is too small, and a mixture hedges between what it is made of: on
        other rows it does better than what happened to come first in the folds.
        """
        best = min(judged, key=error_of)
        mixture = next((c for c in judged if c.family == _MIXTURE), best)
        return best if best.error < _CLEARLY * mixture.error else mixture

    def fold(self, rows: np.ndarray, test: np.ndarray) -> dict[str, Candidate]:
        """What every way leads to without some rows, with its error on these."""
        train = np.setdiff1d(rows, test)
        ways = self._ways(train)
        return {way: replace(c, error=self.search.error_on(c, train, test)) for way, c in ways.items()}

    def _tests(self, rows: np.ndarray) -> list[np.ndarray]:
        """Rows to test, of three folds; of several times three where there is time."""
        search, units = self.search, self.search.units[rows]
        tests: list[np.ndarray] = []
        for i in range(max(search.effort.repeats, 1)):
            if alone(units):
                order = rows if i == 0 else np.random.default_rng([search.seed, i]).permutation(rows)
                tests += [np.sort(part) for part in np.array_split(order, _FOLDS)]
            else:
                cut = folds(units, min(_FOLDS, count(units)), random_state=search.seed + i)
                tests += [np.sort(rows[test]) for _, test in cut]
        return tests

    def _ways(self, rows: np.ndarray, only: frozenset[str] | None = None) -> dict[str, Candidate]:
        """What every way of choosing, or these with those they are made of, lead to on some rows."""
        search, effort = self.search, self.search.effort
        out: dict[str, Candidate] = {}

        def wanted(*names: str) -> bool:
            return only is None or not only.isdisjoint(names)

        mixed = wanted(_MIXTURE, _FOREST)
        for i, c in enumerate(self.screened):
            one = one_width(c)
            if wanted(one.family) or (mixed and i == 0):
                out[one.family] = search.refine(one, rows, effort.final_steps // 2)
            if mixed or wanted(_BOTH, c.family):
                out[c.family] = search.refine(c, rows, effort.refine_steps)
        if self.round_one is not None:
            for diagonal in (False, True):
                if only is None or any(way.startswith(METRICS[diagonal]) for way in only):
                    for i, learned in enumerate(search.learned_metrics(self.round_one, rows, diagonal)):
                        family = f"{learned.family}, round {i + 1}"
                        out[family] = replace(learned, family=family)
        refined = sorted([out[c.family] for c in self.screened if c.family in out], key=error_of)
        if len(refined) > 1 and (mixed or wanted(_BOTH)):
            both = sum_of(*pair(refined))
            out[_BOTH] = replace(search.refine(both, rows, effort.final_steps), family=_BOTH)
        if mixed and _BOTH in out:
            # As they are, with weights: few numbers to choose, so there is little to follow noise with.
            mixture = sum_of(out[_BOTH], out[f"{self.screened[0].family}, one width"])
            mixture = search.refine(mixture, rows, effort.final_steps // 2, lengths=False)
            out[_MIXTURE] = replace(mixture, family=_MIXTURE)
            if effort.trees:
                out[_FOREST] = self._with_forest(out[_MIXTURE], rows)
        return out

    def _with_forest(self, mixture: Candidate, rows: np.ndarray) -> Candidate:
        """A forest has seen the targets of its rows, so that its weight can't be found on them."""
        search = self.search
        X, Y, units = search.points[mixture.outliers][rows], search.Y[rows], search.units[rows]
        forest = grown(X, Y, search.labels, units, search.seed, search.effort.trees)
        size = _FOREST_SHARE * float(np.mean(mixture.kernel.diag(X)))
        return replace(mixture, family=_FOREST, kernel=mixture.kernel + size * forest)


def round_one(tried: Sequence[Candidate], family: str) -> Candidate | None:
    """The screened candidate of the family whose metric is learned."""
    return next((c for c in tried if c.family == family and family in FAMILIES), None)
