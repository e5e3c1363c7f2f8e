"""Do the words of a table's texts help? Kernels on strings are tried beside the kernel of its numbers."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer._threads import cpu_count, parallel_map
from mercer._units import alone, count, folds
from mercer.estimators import KernelRidge
from mercer.kernels import Kernel
from mercer.selection.gradient import LooSurface, descend
from mercer.tables.model.effort import letters_within, text_rows
from mercer.tables.model.families import Candidate, Found
from mercer.tables.model.search import KernelSearch, likelihood_share
from mercer.tables.model.tabulated import Tabulated
from mercer.tables.model.texts import BAGS, letters_a_row

_FOLDS = 3
# Rows that took no part, to judge on: so many are enough, and with fewer all rows are, in folds.
_FRESH, _ENOUGH = 1500, 400
# Texts are worth their place if the error falls by so many standard errors of the difference.
_BEYOND = 2.0
# Errors nearer than this, in the same unit, can't be told apart.
_TIE = 0.5
_STEPS = 8
# Shifts μ that a search may begin with, and rows that say which is best.
_SHIFTS, _FEW = 10.0 ** np.arange(-3.0, 2.1, 0.5), 400
# How rare words are is learned from so many rows, at most.
_LEARNED = 20_000
# Bytes of values that are kept while ways are compared.
_KEPT = 2e9
# What is said of a kernel whose length scales were refined once more.
AGAIN = ", length scales again"
_WAYS = (("words",), ("parts of words",), ("words", "parts of words"))


@dataclass(frozen=True, eq=False)
class _Part:
    """One term of a kernel: of the numbers ("") or of what is counted in a column of text."""

    of: str
    column: int  # of the points; −1 for the numbers
    kernel: Kernel  # on numbers, or on points with texts
    values: Tabulated  # between the rows that are looked at


@dataclass(frozen=True)
class _Way:
    """What is taken of which texts; are length scales of the numbers refined beside it?"""

    of: tuple[str, ...]
    columns: tuple[int, ...]
    lengths: bool = False


@dataclass(frozen=True, eq=False)
class _Weighed:
    """What a way leads to: terms with their weights, μ, and the leave-one-out error."""

    terms: tuple[Any, ...]  # Scale
    mu: float
    loo: float

    @property
    def kernel(self) -> Kernel:
        return _sum(self.terms)


class TextSearch:
    """Kernels on the texts of some rows beside what was found for their numbers.

    Parameters
    ----------
    search : KernelSearch
        The rows, their targets and their order.
    best : Candidate or None
        What was found for the numbers; None where there are none.
    points : (n, width + texts) array of objects
        Numbers, then texts.
    width : how many coordinates are numbers
    seconds : what it may take
    """

    def __init__(
        self,
        search: KernelSearch,
        best: Candidate | None,
        points: np.ndarray,
        width: int,
        seconds: float,
    ):
        self.search, self.best, self.points, self.width = search, best, points, width
        letters, texts = letters_a_row(points[:, width:]), points.shape[1] - width
        # Every text is left out once, if there are several; values of all of them are kept.
        ways, at_once = 2 + len(_WAYS) + (texts if texts > 1 else 0), int(math.sqrt(_KEPT / (16 * texts)))
        most = min(text_rows(seconds, letters, ways, _STEPS), at_once // 2)
        self.rows = search.order[:most]
        # Rows that belong together must not be on both sides.
        others = search.order[most:] if alone(search.units) else search.order[:0]
        fresh = others if search.fresh is None else search.fresh
        quick = letters_within(seconds, letters)
        self.fresh = fresh[: min(_FRESH, max(_ENOUGH, quick // 2), at_once // 2)]
        if len(self.fresh) < _ENOUGH:
            self.rows, self.fresh = np.concatenate([self.rows, self.fresh]), fresh[:0]  # judged in folds
        self.learned = search.order[: min(_LEARNED, max(len(self.rows), quick))]
        self.looked_at = np.concatenate([self.rows, self.fresh])
        # Numbers, and the place of each row among those that are looked at.
        numbers = points[self.looked_at, :width].astype(float)
        self.places = np.column_stack([numbers, np.arange(float(len(numbers)))])

    @cached_property
    def parts(self) -> list[_Part]:
        """Every term that may be taken, with its values."""
        some, many, made = self.points[self.looked_at], self.learned, []
        if self.best is not None:
            kernel = self.best.kernel
            made.append(_Part("", -1, kernel, Tabulated.of(kernel, self.places[:, : self.width])))
        for (name, bag), column in product(BAGS.items(), range(self.width, self.points.shape[1])):
            resolved = bag.on(column).resolve(self.points[many])  # no target is looked at
            made.append(_Part(name, column, resolved, Tabulated.of(resolved, some)))
        return made

    def run(self) -> Found:
        """The best way with texts if it is better beyond noise (or all there is), with all that was tried."""
        self.search.progress("Words and parts of words")
        columns = tuple(range(self.width, self.points.shape[1]))
        ways = [*([] if self.best is None else [_Way((), ())]), *(_Way(of, columns) for of in _WAYS)]
        assert self.parts  # made before threads look at them
        judged = parallel_map(self._tried, ways, cpu_count())
        trials = [candidate.trial for candidate, _ in judged]
        least = min(judged, key=lambda found: found[0].error)[1]
        if self.best is not None and self._gain(least, judged[0][1]) < _BEYOND:
            return Found(self.best, tuple(trials))
        # Of ways that can't be told apart the simplest: words are easier to read than parts of them.
        chosen = next(i for i, (_, errors) in enumerate(judged) if self._gain(least, errors) < _TIE)
        (candidate, errors), way = judged[chosen], ways[chosen]
        for column in columns:
            fewer = replace(way, columns=tuple(c for c in way.columns if c != column))
            if fewer.columns:
                without = self._tried(fewer)
                trials.append(without[0].trial)
                if self._gain(errors, without[1]) < _TIE:
                    (candidate, errors), way = without, fewer
        if self.best is not None:
            # What texts explain no longer hides what numbers do.
            again, _ = self._tried(replace(way, lengths=True))
            trials.append(again.trial)
            candidate = again if again.error < candidate.error else candidate
        return Found(candidate, tuple(trials))

    def _tried(self, way: _Way) -> tuple[Candidate, np.ndarray]:
        """What a way leads to on all rows that are looked at, and errors of rows that took no part."""
        begun, n = time.monotonic(), np.arange(len(self.rows))
        found = self._weighed(way, n)
        if len(self.fresh):
            errors = self._errors(found, n, np.arange(len(n), len(self.looked_at)))
        else:
            errors = np.empty(len(n))

            def fold(test: np.ndarray) -> None:
                train = np.setdiff1d(n, test)
                # A few weights follow no noise; a length scale for each number would.
                errors[test] = self._errors(self._weighed(way, train) if way.lengths else found, train, test)

            parallel_map(fold, self._folds(n), cpu_count())
        return replace(self._candidate(way, found, errors), seconds=time.monotonic() - begun), errors

    def _folds(self, rows: np.ndarray) -> list[np.ndarray]:
        units = self.search.units[self.rows]
        if alone(units):
            return np.array_split(rows, _FOLDS)
        return [test for _, test in folds(units, min(_FOLDS, count(units)), random_state=self.search.seed)]

    def _taken(self, way: _Way) -> list[_Part]:
        return [p for p in self.parts if p.of == "" or (p.of in way.of and p.column in way.columns)]

    def _weighed(self, way: _Way, rows: np.ndarray) -> _Weighed:
        """Weights of the terms, and μ, by the gradient of the leave-one-out error on some of the rows."""
        search, at, here = self.search, self.looked_at[rows], self.places[rows]
        numbers, place = slice(0, self.width), self.width
        terms = [
            1.0 * (p.kernel.on(numbers) if way.lengths and not p.of else p.values.on(place))
            for p in self._taken(way)
        ]
        kernel, Y = _sum(terms), search.Y[at]
        surface = LooSurface(here, Y, likelihood_share(len(rows)), search.units[at])
        mu, left = _shift(kernel.pairwise(here[:_FEW], here[:_FEW]), Y[:_FEW]), search.clock.left
        machine = KernelRidge(offset=False)
        refined = descend(surface, machine, kernel, mu, search.spread, _STEPS, left, lengths=way.lengths)
        if refined.status == "out of time":
            search.clock.ended = True
        found, weighed = refined.machine.kernel, []
        for _ in terms[1:]:
            weighed.append(found.right)
            found = found.left
        return _Weighed((found, *weighed[::-1]), refined.machine.lam * surface.kept, refined.loo_mse)

    def _errors(self, found: _Weighed, rows: np.ndarray, new: np.ndarray) -> np.ndarray:
        """Errors of rows that took no part."""
        kernel, search, here = found.kernel, self.search, self.places[rows]
        K = kernel.pairwise(here, here)
        K.flat[:: len(K) + 1] += found.mu
        Y, truth = search.Y[self.looked_at[rows]], search.Y[self.looked_at[new]]
        scores = kernel.pairwise(self.places[new], here) @ cho_solve(cho_factor(K, overwrite_a=True), Y)
        return search.judge.errors(scores, truth)

    def _gain(self, errors: np.ndarray, before: np.ndarray) -> float:
        """By how many standard errors of the difference errors are smaller than others; units count once."""
        at = self.fresh if len(self.fresh) else self.rows
        _, place = np.unique(self.search.units[at], return_inverse=True)
        gains = np.bincount(place, before - errors) / np.bincount(place)
        return float(gains.mean() / max(gains.std() / np.sqrt(len(gains)), 1e-300))

    def _candidate(self, way: _Way, found: _Weighed, errors: np.ndarray) -> Candidate:
        """With the kernel for points in the place of that for places of rows."""
        taken = list(zip(found.terms, self._taken(way), strict=True))
        terms = []
        for term, part in taken:
            if not part.of:
                numbers = term.kernel.kernel if way.lengths else part.kernel
                terms.append((term.factor * numbers).on(slice(0, self.width)))
            else:
                terms.append(term.factor * part.kernel)
        family = [] if self.best is None else [self.best.family]
        texts = self.points.shape[1] - self.width
        some = f" of {len(way.columns)} of {texts} texts" if 0 < len(way.columns) < texts else ""
        kept = "keep" if self.best is None else self.best.outliers
        return Candidate(
            kept,
            " + ".join([*family, *way.of]) + some + way.lengths * AGAIN,
            _sum(terms),
            found.mu,
            error=float(errors.mean()),
            stage="texts",
            rows=len(self.rows),
            loo=found.loo,
            fresh=float(errors.mean()),
            parts=() if self.best is None else self.best.parts,
        )


def _sum(terms: Any) -> Any:
    first, *others = terms
    return sum(others, start=first)


def _shift(K: np.ndarray, Y: np.ndarray) -> float:
    """The μ with the smallest leave-one-out error of least squares."""
    values, V = np.linalg.eigh(K)
    errors = []
    for mu in _SHIFTS:
        P = 1 / (np.maximum(values, 0) + mu)
        left = (V @ (P[:, None] * (V.T @ Y))) / ((V**2) @ P)[:, None]
        errors.append(np.mean(left**2))
    return float(_SHIFTS[np.argmin(errors)])
