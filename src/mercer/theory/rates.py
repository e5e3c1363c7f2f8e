"""How fast a risk falls: C n^−a fitted to measurements, with a confidence interval for a."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student

_RESAMPLES = 1000


@dataclass(frozen=True)
class Rate:
    """risk ≈ C n^−a.

    Attributes
    ----------
    exponent : a
    low, high : confidence interval of a
    constant : C
    confidence : of the interval
    """

    exponent: float
    low: float
    high: float
    constant: float
    confidence: float

    def at(self, n: Any) -> np.ndarray:
        """C n^−a."""
        return self.constant * np.asarray(n, dtype=float) ** -self.exponent

    def __str__(self) -> str:
        sure = f"{100 * self.confidence:g} % confidence"
        power = f"{-self.exponent:.2f}"  # a risk that rises has n to a power above 0
        return f"n^{power} ({sure}: {self.low:.2f} to {self.high:.2f})".replace("-", "−")


def fit_rate(sizes: Any, risks: Any, confidence: float = 0.95, random_state: int = 0) -> Rate:
    """Fit C n^−a by least squares in logarithms.

    Parameters
    ----------
    sizes : (s,) numbers of examples, at least three of them different
    risks : (s,), or (repetitions, s): then means are fitted, and the interval comes from drawing the
        repetitions again (bootstrap); of a single row it comes from the residuals (Student's t), as if the
        line were right
    confidence : float
    random_state : int
        Of the bootstrap.

    Examples
    --------
    >>> import numpy as np
    >>> n = np.array([100, 200, 400, 800])
    >>> rate = fit_rate(n, 3 / n**0.5)
    >>> round(rate.exponent, 4), round(rate.constant, 4)
    (0.5, 3.0)
    """
    n, values = np.asarray(sizes, dtype=float), np.asarray(risks, dtype=float)
    if n.ndim != 1 or values.ndim not in (1, 2) or values.shape[-1] != len(n):
        raise ValueError(f"sizes has shape {n.shape}, risks {values.shape}: give one risk, or column, a size")
    if len(np.unique(n)) < 3 or (n <= 0).any():
        raise ValueError("a rate needs at least three different positive sizes")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence!r}")
    means = values if values.ndim == 1 else values.mean(axis=0)
    if not (means > 0).all() or not np.isfinite(means).all():
        raise ValueError(
            "a rate needs risks that are positive and finite: take off what can't be learned, not more"
        )
    x = np.log(n) - np.log(n).mean()
    # The least-squares line; x has mean 0.
    slope, level = float(x @ np.log(means) / (x @ x)), float(np.log(means).mean())
    if values.ndim == 2 and len(values) > 1:
        drawn = np.random.default_rng(random_state).integers(0, len(values), (_RESAMPLES, len(values)))
        again = values[drawn].mean(axis=1)
        slopes = np.log(np.maximum(again, np.finfo(float).tiny)) @ x / (x @ x)
        low, high = np.quantile(-slopes, [(1 - confidence) / 2, (1 + confidence) / 2])
    else:
        left = np.log(means) - level - slope * x
        spread = math.sqrt(float(left @ left) / (len(n) - 2) / float(x @ x))
        half = float(student.ppf((1 + confidence) / 2, len(n) - 2)) * spread
        low, high = -slope - half, -slope + half
    constant = math.exp(level - slope * float(np.log(n).mean()))
    return Rate(-slope, float(low), float(high), constant, confidence)
