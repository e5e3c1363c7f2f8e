"""How much work a time budget buys: decided from sizes alone, so that the same seed gives the same model."""

from __future__ import annotations

import math
from dataclasses import dataclass

# Floating point operations a second that the forecast counts on; a slower machine takes longer.
_SPEED = 3e10
# Rows to judge on that took no part.
_ENOUGH = 500
# With fewer rows than these a search finds nothing: it takes longer than it may instead.
_FEWEST = 120


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

    @classmethod
    def within(cls, seconds: float, n: int, d: int, outputs: int) -> Effort:
        """What fits into so many seconds, for n rows, d coordinates and so many outputs."""
        finalists, steps, last = 3, 25, 12
        refine, final = min(n, 1000), min(n, 3000)
        while True:
            made = cls(min(n, 600, 2 * refine), refine, final, steps, last, finalists, n - final < _ENOUGH)
            if made.seconds(d, outputs) <= seconds or refine <= _FEWEST:
                return made
            if final > refine:
                final = max(refine, int(final * 0.85))
            elif finalists > 2:
                finalists -= 1
            elif steps > 12:
                steps -= 4
            else:
                refine = final = int(refine * 0.85)

    def seconds(self, d: int, outputs: int) -> float:
        """The forecast."""
        screen = 24 * (10 * self.screen_rows**3 + 2 * d * self.screen_rows**2)
        if self.by_folds:
            # Each family with length scales and one width, a sum and a mixture; three folds and all rows.
            steps = self.finalists * (self.refine_steps + self.final_steps // 2) + 2 * self.final_steps
            folds = 3 * _gradient(self.final_rows * 2 // 3, d, outputs) + _gradient(
                self.final_rows, d, outputs
            )
            return (screen + 1.2 * steps * folds) / _SPEED
        refine = self.finalists * self.refine_steps * 1.2 * _gradient(self.refine_rows, d, outputs)
        final = 3 * self.final_steps * 1.2 * _gradient(self.final_rows, d, outputs)
        return (screen + refine + final) / _SPEED


def _gradient(n: int, d: int, outputs: int) -> float:
    """Operations of one value and gradient of the leave-one-out error."""
    return 2.3 * n**3 + n * n * (30 * d + 150 + 8 * outputs)


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
    return (n**3 / 3 + n * n * (4 * d + 60 + COMPARED * letters)) / _SPEED


def centres_within(seconds: float, n: int, letters: float = 0.0) -> int:
    """Nyström centres whose values and normal equations fit into so many seconds."""
    most = math.sqrt(seconds * _SPEED / n)
    if letters:
        most = min(most, seconds * _SPEED / (n * COMPARED * letters))
    return min(n, int(max(200, min(8000, most))))


def kernel_seconds(n: int, m: int, d: int, outputs: int, passes: int = 12) -> float:
    """The forecast of a machine with m centres that is fitted by passes over n rows elsewhere.

    Its Hessian is that of a sample of forty rows a centre.
    """
    a_pass = n * m * (4 * d + 60 + 4 * outputs)
    return (passes * a_pass + 3 * max(40 * m, 20_000) * m * m * outputs) / _SPEED
