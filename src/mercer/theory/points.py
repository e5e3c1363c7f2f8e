"""A problem on finitely many points, where every risk is a finite sum: to see whether a bound holds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr
from scipy.stats import binom

from mercer.theory.bounds import Bound


@dataclass(frozen=True)
class PointsProblem:
    """Points i/m on [0, 1), each as likely; y = +1 with probability ½ + ½(1 − 2·noise)·sign sin(2πx).

    For numbers instead of labels y = sin(2πx) ± spread, both signs equally likely.

    Parameters
    ----------
    m : number of points
    noise : probability of a wrong label
    spread : what is added to or taken off numbers

    Examples
    --------
    >>> import numpy as np
    >>> problem = PointsProblem(m=8, noise=0.1)
    >>> round(problem.error(np.sin(2 * np.pi * problem.points[:, 0])), 4)       # the best there is
    0.1
    >>> problem.capped_error(np.sin(2 * np.pi * problem.points[:, 0]), cap=1.0)
    0.25
    """

    m: int = 64
    noise: float = 0.1
    spread: float = 0.25

    @property
    def points(self) -> np.ndarray:
        """All of them, (m, 1)."""
        return (np.arange(self.m)[:, None] + 0.5) / self.m

    @property
    def signs(self) -> np.ndarray:
        """The likelier label at each."""
        return np.sign(np.sin(2 * np.pi * self.points[:, 0]))

    @property
    def values(self) -> np.ndarray:
        """The mean number at each."""
        return np.sin(2 * np.pi * self.points[:, 0])

    def labels(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """n examples with labels ±1."""
        i = rng.integers(0, self.m, n)
        return self.points[i], self.signs[i] * np.where(rng.random(n) < self.noise, -1.0, 1.0)

    def numbers(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """n examples with numbers."""
        i = rng.integers(0, self.m, n)
        return self.points[i], self.values[i] + self.spread * rng.choice((-1.0, 1.0), n)

    def error(self, scores: np.ndarray) -> float:
        """P(error) of the sign of scores at all points; a score of 0 is always wrong."""
        agree = np.asarray(scores) * self.signs
        return float(np.mean(np.where(agree > 0, self.noise, np.where(agree < 0, 1 - self.noise, 1.0))))

    def draw_error(self, scores: np.ndarray, scale: float, diagonal: Any = 1.0) -> float:
        """P(error) of a Gaussian draw around scores, of variance scale²·k(x,x)."""
        wrong = ndtr(-np.asarray(scores) * self.signs / (scale * np.sqrt(diagonal)))
        return float(np.mean(self.noise + (1 - 2 * self.noise) * wrong))

    def mean_loss(self, predicted: np.ndarray, loss: Callable[[np.ndarray], np.ndarray]) -> float:
        """E loss(y − f(x)) of predictions at all points."""
        r = self.values - np.asarray(predicted)
        return float(np.mean((loss(r + self.spread) + loss(r - self.spread)) / 2))

    def capped_error(self, predicted: np.ndarray, cap: float = math.inf) -> float:
        """E min(|y − f(x)|, cap)."""
        return self.mean_loss(predicted, lambda r: np.minimum(np.abs(r), cap))


@dataclass(frozen=True)
class Coverage:
    """How often a bound held.

    Attributes
    ----------
    held, repetitions : int
    promised : 1 − δ; None for a bound on the average, which holds if its mean is above that of the risks
    bound, risk : means over the repetitions
    error : standard error of bound − risk
    """

    held: int
    repetitions: int
    promised: float | None
    bound: float
    risk: float
    error: float

    @property
    def kept(self) -> bool:
        """Was the promise kept, as far as one can see: up to what chance does once in a thousand times?"""
        if self.promised is None:
            return self.bound - self.risk > -3 * self.error
        return bool(self.held >= binom.ppf(1e-3, self.repetitions, self.promised))

    @property
    def slack(self) -> float:
        """What the bound gives away, on average."""
        return self.bound - self.risk


def coverage(
    trial: Callable[[np.random.Generator], list[tuple[Bound, float]]],
    repetitions: int = 1000,
    random_state: int = 0,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Coverage]:
    """Repeat an experiment whose true risks are known, and count how often each bound holds.

    Parameters
    ----------
    trial : function of a random generator that returns (bound, true risk) pairs
    repetitions : int
    random_state : int
    progress : function, optional
        Called with a line of text after every tenth of the work.

    Returns
    -------
    dict from the bound's name, and what it bounds, to its Coverage

    Examples
    --------
    >>> from mercer.theory import binomial_bound
    >>> found = coverage(lambda rng: [(binomial_bound(rng.binomial(50, 0.2), 50), 0.2)], 200)
    >>> [(name, c.kept) for name, c in found.items()]
    [('Test-set bound: error rate', True)]
    """
    seen: dict[str, list[tuple[Bound, float]]] = {}
    for i, stream in enumerate(np.random.SeedSequence(random_state).spawn(repetitions), start=1):
        for bound, risk in trial(np.random.default_rng(stream)):
            seen.setdefault(f"{bound.name}: {bound.risk}", []).append((bound, risk))
        if progress is not None and i % max(repetitions // 10, 1) == 0:
            progress(f"{i:,} of {repetitions:,}")
    out = {}
    for name, pairs in seen.items():
        values, risks = np.array([b.value for b, _ in pairs]), np.array([r for _, r in pairs])
        first = pairs[0][0]
        out[name] = Coverage(
            int(np.sum(values >= risks)),
            len(pairs),
            None if first.on_average else 1 - first.delta,
            float(values.mean()),
            float(risks.mean()),
            float((values - risks).std() / math.sqrt(len(pairs))),
        )
    return out
