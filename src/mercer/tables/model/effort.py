"""How much work a time budget buys: decided from sizes alone, so that the same seed gives the same model."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from mercer._threads import cpu_count

if TYPE_CHECKING:
    from mercer.tables.model.device import Device

# Floating point operations a second of a search on one core, as forecasts count on; and how much sooner two
# or more are done, since not all of it can be shared.
_SPEED, _SHARED = 3e10, 1.6
# The same of a factorisation in single precision, and coordinates of pairs of points, for each core.
_FACTOR_SPEED, _PAIRS = 8e10, 2.5e9
# Operations a second of the normal equations of centres.
_NORMAL_EQUATIONS = 3e10
# Rows to judge on that took no part.
_ENOUGH = 500
# With fewer rows than these a search finds nothing: it takes longer than it may instead.
_FEWEST = 120
_TREES = 200
# Of the time of a search, for candidates as they are on more rows; and no more rows than these.
_AGAIN, _MOST_AGAIN = 0.2, 12_000
# Three folds are enough for what they cost; what is chosen by more of them is less a matter of luck.
_REPEATS = 4
# Seconds for each tree, row, coordinate and level of a tree.
_GROWING = 1.5e-8
# With a GPU: most rows on which length scales are looked for at first, and for anything; of the time for
# descents, what the first ones take; rows that are kept to judge by: this share, or so many.
_REFINED_THERE, _MOST_THERE, _FIRST_THERE, _ASIDE = 6000, 40_000, 0.3, (0.2, 3000)
# More coordinates than these have no learned metric: its matrices would outgrow those of the rows.
_MOST_COORDINATES = 400


@dataclass(frozen=True)
class Effort:
    """Rows and iterations of each stage of a search."""

    screen_rows: int  # for the first look at kernel families and widths
    refine_rows: int  # for one length scale a feature
    final_rows: int  # for the last refinement, and for the comparison of what is left
    refine_steps: int  # iterations of the descents
    final_steps: int
    finalists: int  # families that are refined
    by_folds: bool  # are there too few rows beside those to judge on?
    trees: int = 0  # of a forest that is tried as a term; 0: none is
    metrics: bool = False  # is a metric learned?
    most_rows: int = 0  # for the best as they are, and a second look at λ
    average_rows: int = 0  # for averages
    racers: int = 4  # that are tried on most rows
    repeats: int = 1  # of three folds, where rows are few
    # Where a GPU does the rest: sizes of what the CPU does, which are learned metrics and averages
    host: Effort | None = None

    @property
    def here(self) -> Effort:
        """Sizes of what the CPU does."""
        return self if self.host is None else self.host

    @classmethod
    def within(cls, seconds: float, n: int, d: int, outputs: int) -> Effort:
        """What fits into so many seconds, for n rows, d coordinates and so many outputs."""
        seconds *= _SHARED if cpu_count() > 1 else 1.0
        finalists, steps, last = 3, 25, 12
        refine, final, metrics = min(n, 1000), min(n, 3000), d <= _MOST_COORDINATES
        while True:
            made = cls(min(n, 600, 2 * refine), refine, final, steps, last, finalists, n - final < _ENOUGH)
            made = replace(made, trees=_trees(0.1 * seconds, made, d), metrics=metrics)
            if made.seconds(d, outputs) <= (1 - _AGAIN) * seconds or refine <= _FEWEST:
                times = int(np.clip(seconds / made.seconds(d, outputs), 1, _REPEATS)) if made.by_folds else 1
                most = max(_rows_again(_AGAIN * seconds, n, d, made.racers + 3), final)
                return replace(made, most_rows=most, average_rows=min(most, 3000), repeats=times)
            if final > refine:
                final = max(refine, int(final * 0.85))
            elif finalists > 2:
                finalists -= 1
            elif steps > 12:
                steps -= 4
            elif metrics:
                metrics = False
            else:
                refine = final = int(refine * 0.85)

    def seconds(self, d: int, outputs: int) -> float:
        """The forecast, on one core."""
        n, m = self.screen_rows, self.final_rows
        work: float = 34 * (10 * n**3 + n * n * (2 * d + 40 * outputs))
        if self.by_folds:
            # Each family with length scales and one width, a sum and a mixture; three folds and all rows.
            steps = self.finalists * (self.refine_steps + self.final_steps // 2) + 2 * self.final_steps
            for rows, times in ((2 * m // 3, 3), (m, 1)):
                work += 1.2 * times * steps * _gradient(rows, d, outputs)
                work += 2 * self.metrics * times * _rounds(rows, d, outputs)
            return work / _SPEED + 4 * growing_seconds(m, d, self.trees)
        work += 1.2 * self.finalists * self.refine_steps * _gradient(self.refine_rows, d, outputs)
        # Two with length scales, two with one width.
        work += 1.2 * 3 * self.final_steps * _gradient(m, d, outputs)
        work += self.metrics * (2 * _rounds(self.refine_rows, d, outputs) + _rounds(m, d, outputs))
        # What is averaged: values of six kernels, and two dozen factors.
        work += 5 * max(m, 2000) ** 3 + 12 * m * m * (4 * d + 60)
        return work / _SPEED + growing_seconds(m, d, self.trees)

    def with_device(self, device: Device, seconds: float, n: int, d: int, outputs: int) -> Effort:
        """The same on a machine with a GPU, which does the descents and judges candidates, on more rows.

        It has the time that the descents of the CPU would have taken, and what was left of it. Nothing is
        changed where there are too few rows.
        """
        if self.by_folds:
            return self
        shared = _SHARED if cpu_count() > 1 else 1.0
        first, last = 1.2 * self.finalists * self.refine_steps, 1.2 * 3 * self.final_steps
        saved = first * _gradient(self.refine_rows, d, outputs)
        saved += last * _gradient(self.final_rows, d, outputs)
        left = (1 - _AGAIN) * seconds - (self.seconds(d, outputs) - saved / _SPEED) / shared
        most = n - int(min(_ASIDE[0] * n, _ASIDE[1]))
        begun = _FIRST_THERE * left
        refine = device.rows_refined(begun, d, outputs, first, min(_REFINED_THERE, most))
        final = device.rows_refined(left - begun, d, outputs, last, min(_MOST_THERE, most))
        again = device.rows_scored(_AGAIN * seconds, d, self.racers + 3, min(_MOST_THERE, most))
        refine = max(refine, self.refine_rows)
        final = max(final, refine, self.final_rows)
        again = max(again, final, self.most_rows)
        return replace(self, refine_rows=refine, final_rows=final, most_rows=again, host=self)


def _gradient(n: int, d: int, outputs: int) -> float:
    """Operations of one value and gradient of the leave-one-out error."""
    return 1.7 * n**3 + n * n * (60 * d + 300 + 8 * outputs)


def _rounds(n: int, d: int, outputs: int) -> float:
    """Operations of three rounds of a learned metric."""
    return 3 * (4 * n**3 + n * n * (8 * d * (1 + outputs) + 300) + 10 * d**3 + 2e9)


def growing_seconds(n: int, d: int, trees: int) -> float:
    """The forecast of growing a forest, on one core."""
    return _GROWING * trees * n * d * math.log2(max(n, 2))


def _trees(seconds: float, effort: Effort, d: int) -> int:
    """As many as are worth it, or none."""
    times = 4 if effort.by_folds else 1
    return _TREES if times * growing_seconds(effort.final_rows, d, _TREES) <= seconds else 0


def _rows_again(seconds: float, n: int, d: int, times: int) -> int:
    """Rows of which so many exact fits take so long."""
    rows = min(n, _MOST_AGAIN)
    while rows > _FEWEST and times * fit_seconds(rows, d) > seconds:
        rows = int(rows * 0.85)
    return rows


# Letters a second whose words and parts of words are counted and compared; most rows that texts are tried on.
_LETTERS, _MOST_TEXTS = 1e6, 2000
# Operations for each letter of a text that is compared with another one: parts of words meet in many places.
COMPARED = 20


def text_rows(seconds: float, letters: float, ways: int, steps: int) -> int:
    """Rows on which so many ways to use texts (of so many letters a row) can be tried in the time."""
    rows = _MOST_TEXTS
    while rows > _FEWEST:
        descents = 1.2 * ways * steps * 2.3 * rows**3 / _SPEED
        if descents + 2 * rows * letters / _LETTERS <= seconds:
            break
        rows = int(rows * 0.85)
    return max(rows, _FEWEST)


def letters_within(seconds: float, letters: float) -> int:
    """Rows of so many letters each whose words and parts of words are counted in the time."""
    return int(seconds * _LETTERS / max(letters, 1.0))


def fit_seconds(n: int, d: int, letters: float = 0.0) -> float:
    """The forecast of one exact least squares fit, with so many letters in the texts of a row."""
    return n**3 / 3 / factor_speed() + values_seconds(n, d, letters)


def factor_speed() -> float:
    """Operations a second of a factorisation in single precision, as forecasts count on."""
    return _FACTOR_SPEED * _cores()


def values_seconds(n: int, d: int, letters: float = 0.0) -> float:
    """The forecast of a kernel matrix."""
    return n * n * (d + 15 + COMPARED * letters / 12) / (_PAIRS * _cores())


def _cores() -> int:
    """Those that are counted on: of very many most would wait for memory."""
    return min(cpu_count(), 16)


def centres_within(seconds: float, n: int, letters: float = 0.0) -> int:
    """Nyström centres whose values and normal equations fit into so many seconds."""
    most = math.sqrt(seconds * _NORMAL_EQUATIONS / n)
    if letters:
        most = min(most, seconds * _NORMAL_EQUATIONS / (n * COMPARED * letters))
    return min(n, int(max(200, min(8000, most))))


def kernel_seconds(n: int, m: int, d: int, outputs: int, passes: int = 12) -> float:
    """The forecast of a machine with m centres that is fitted by passes over n rows elsewhere.

    Its Hessian is that of a sample of forty rows a centre.
    """
    a_pass = n * m * (4 * d + 60 + 4 * outputs)
    return (passes * a_pass + 3 * max(40 * m, 20_000) * m * m * outputs) / _SPEED
