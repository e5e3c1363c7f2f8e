"""What is known of a positive parameter beforehand: densities of its logarithm."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from mercer._params import Params, is_number


class Belief(Protocol):
    """What a prior on a positive parameter says of its logarithm."""

    def log_density(self, log_value: float) -> tuple[float, float]: ...

    def draw(self, rng: np.random.Generator) -> float: ...


class LogNormal(Params):
    """log θ ~ N(log median, spread²).

    Parameters
    ----------
    median : float > 0
    spread : float > 0
        Standard deviation of log θ: 1.0 allows a factor of e either way.

    Examples
    --------
    >>> slope = LogNormal(2.0, 0.5).log_density(np.log(2.0))[1]
    >>> abs(float(slope))                                           # the median is the mode of log θ
    0.0
    """

    def __init__(self, median, spread=1.0):
        self.median = median
        self.spread = spread
        _require_positive(self, "median", "spread")

    def log_density(self, log_value: float) -> tuple[float, float]:
        """(log density of log θ, its slope)."""
        off = (log_value - math.log(self.median)) / self.spread
        return -0.5 * off * off - math.log(self.spread * math.sqrt(2 * math.pi)), -off / self.spread

    def distribution(self) -> Any:
        """Of θ, as SciPy has it."""
        from scipy.stats import lognorm

        return lognorm(self.spread, scale=self.median)

    def draw(self, rng: np.random.Generator) -> float:
        """A value of log θ."""
        return math.log(self.median) + self.spread * float(rng.standard_normal())


class Gamma(Params):
    """θ ~ Gamma(shape, rate), seen as a density of log θ, whose mode is θ = shape/rate.

    GPyTorch adds the log density of θ itself: its GammaPrior(a, b) is Gamma(a − 1, b) here.

    Parameters
    ----------
    shape, rate : float > 0

    Examples
    --------
    >>> bool(np.isclose(Gamma(3.0, 6.0).log_density(np.log(0.5))[1], 0.0))
    True
    """

    def __init__(self, shape, rate):
        self.shape = shape
        self.rate = rate
        _require_positive(self, "shape", "rate")

    def log_density(self, log_value: float) -> tuple[float, float]:
        """(log density of log θ, its slope)."""
        value = math.exp(log_value)
        constant = self.shape * math.log(self.rate) - math.lgamma(self.shape)
        return self.shape * log_value - self.rate * value + constant, self.shape - self.rate * value

    def distribution(self) -> Any:
        """Of θ, as SciPy has it."""
        from scipy.stats import gamma

        return gamma(self.shape, scale=1 / self.rate)

    def draw(self, rng: np.random.Generator) -> float:
        """A value of log θ."""
        return math.log(max(float(rng.gamma(self.shape, 1 / self.rate)), 1e-300))


def _require_positive(prior: Any, *names: str) -> None:
    for name in names:
        value = getattr(prior, name)
        if not (is_number(value) and 0 < value < math.inf):
            raise ValueError(f"{type(prior).__name__}: {name} must be a positive number, got {value!r}")
