"""One model's line in the table of test errors."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


@dataclass(frozen=True)
class Score:
    """How one model did on examples it had not seen.

    Attributes
    ----------
    data, model, tuning : what, by what, and how its parameters were chosen
    score : R² or accuracy, one value a split (larger is better)
    error : RMSE or log loss, one value a split (smaller is better; empty if the model has none)
    seconds : for tuning and fitting, one value a split
    ours : is it a machine of this library?
    """

    data: str
    model: str
    tuning: str
    score: tuple[float, ...]
    error: tuple[float, ...]
    seconds: tuple[float, ...]
    ours: bool = False

    def cells(self, figures: int = 3) -> tuple[str, str, str]:
        """Score, error and seconds, for a table; `figures` is for the score."""
        return mean(self.score, figures), mean(self.error), f"{np.mean(self.seconds):.2f}"


def mean(values: tuple[float, ...], figures: int = 3) -> str:
    """The mean to so many figures, with the standard deviation if there is one.

    >>> mean((55.49, 57.0)), mean((0.99556,), 4), mean(())
    ('56.2 ± 1.1', '0.9956', '—')
    """
    if not values:
        return "—"
    middle = float(np.mean(values))
    decimals = max(0, figures - 1 - math.floor(math.log10(abs(middle)))) if middle else figures
    text = f"{middle:.{decimals}f}"
    return text if len(values) == 1 else f"{text} ± {np.std(values, ddof=1):.{decimals}f}"


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """A result, and the seconds it took."""
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def widths(X: Any, factors: tuple[float, ...]) -> list[float]:
    """Widths σ around the median distance between the points."""
    from mercer.kernels import Gaussian

    centre = Gaussian().resolve(X).get_params()["sigma"]
    return [float(f"{factor * centre:.3g}") for factor in factors]
