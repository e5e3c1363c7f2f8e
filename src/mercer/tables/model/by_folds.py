"""A search on few rows: every way of choosing is judged in folds, and the best one is taken on all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from mercer._units import alone, count, folds
from mercer.tables.model.families import FAMILIES, Candidate, error_of, one_width, pair, sum_of
from mercer.tables.model.forests import grown

if TYPE_CHECKING:
    from mercer.tables.model.search import KernelSearch

_FOLDS = 3
_BOTH = "a sum of two"
_MIXTURE = "a mixture of those two and one width"
_FOREST = "a mixture with a forest"
# Of k(x,x), in the mixture.
_FOREST_SHARE = 0.5


@dataclass(frozen=True, eq=False)
class Folded:
    """Every way of choosing the lengths, judged in three folds; the best one is then taken on all rows.

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
        parts = search.crew.map(partial(self.fold, rows), self._parts(rows), search.clock)
        judged = []
        # What the clock ended in one of the folds is no way to compare.
        for way in [way for way in parts[0] if all(way in part for part in parts)]:
            error, loo = (float(v) for v in np.mean([part[way] for part in parts], axis=0))
            as_tried = replace(self.screened[0], family=way, stage="folds", rows=len(rows))
            judged.append(replace(as_tried, error=error, loo=loo, fresh=error))
        search.progress("The best on all rows")
        way = min(judged, key=error_of).family
        [ways] = search.crew.map(partial(self._ways, way=way), [rows], search.clock)
        return [*judged, replace(ways[way], stage="last look", fresh=np.nan)]

    def fold(self, rows: np.ndarray, test: np.ndarray) -> dict[str, tuple[float, float]]:
        """Errors of every way on rows that took no part, and its leave-one-out error on the others."""
        train = np.setdiff1d(rows, test)
        ways = self._ways(train)
        return {way: (self.search.error_on(c, train, np.sort(test)), c.loo) for way, c in ways.items()}

    def _parts(self, rows: np.ndarray) -> list[np.ndarray]:
        units = self.search.units[rows]
        if alone(units):
            return np.array_split(rows, _FOLDS)
        cut = folds(units, min(_FOLDS, count(units)), random_state=self.search.seed)
        return [rows[test] for _, test in cut]

    def _ways(self, rows: np.ndarray, way: str | None = None) -> dict[str, Candidate]:
        """What every way of choosing, or this one with those it is made of, leads to on some rows."""
        search, effort = self.search, self.search.effort
        mixed, out = way in (None, _MIXTURE, _FOREST), dict[str, Candidate]()
        for i, c in enumerate(self.screened):
            one = one_width(c)
            if way in (None, one.family) or (mixed and i == 0):
                out[one.family] = search.refine(one, rows, effort.final_steps // 2)
            if mixed or way in (_BOTH, c.family):
                out[c.family] = search.refine(c, rows, effort.refine_steps)
        if self.round_one is not None and (way is None or ", learned" in way):
            for diagonal in (False, True):
                for i, learned in enumerate(search.learned_metrics(self.round_one, rows, diagonal)):
                    out[f"{learned.family}, round {i + 1}"] = learned
        refined = sorted([out[c.family] for c in self.screened if c.family in out], key=error_of)
        if len(refined) > 1 and (mixed or way == _BOTH):
            both = sum_of(*pair(refined))
            out[_BOTH] = search.refine(both, rows, effort.final_steps)
        if mixed and _BOTH in out:
            # As they are, with weights: few numbers to choose, so there is little to follow noise with.
            mixture = sum_of(both, out[f"{self.screened[0].family}, one width"])
            out[_MIXTURE] = search.refine(mixture, rows, effort.final_steps // 2, lengths=False)
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
