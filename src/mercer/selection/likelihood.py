"""Kernel parameters, noise and scale where the marginal likelihood is largest."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone

from mercer._params import Params, is_integer, is_number
from mercer.estimators.base import KernelMachine
from mercer.features.base import generator
from mercer.operators import NotPositiveDefinite
from mercer.posterior import ExactPosterior, Observations
from mercer.posterior.likelihood import labels_of, with_logs
from mercer.selection.gradient import Lowest, lowest

# Logarithms: how far parameters may leave their starting point, and the noise relative to k(x,x).
_AWAY, _RESTART = 8.0, 2.0
_LEAST_NOISE = 1e-8
# And where it begins when a search begins again: from a ten-thousandth of it to all of it.
_NOISES = math.log(1e-4), 0.0


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

    def draw(self, rng: np.random.Generator) -> float:
        """A value of log θ."""
        return math.log(max(float(rng.gamma(self.shape, 1 / self.rate)), 1e-300))


def _require_positive(prior: Any, *names: str) -> None:
    for name in names:
        value = getattr(prior, name)
        if not (is_number(value) and 0 < value < math.inf):
            raise ValueError(f"{type(prior).__name__}: {name} must be a positive number, got {value!r}")


@dataclass(frozen=True, eq=False, repr=False)
class MostLikely:
    """A machine whose kernel and λ were moved up the marginal likelihood.

    Attributes
    ----------
    machine : the machine with those values, not fitted
    log_likelihood : the (restricted) log marginal likelihood, priors not included
    log_likelihood_before : that of the machine as it was given; −∞ where K + λnI is indefinite by rounding
    scale : (t,) s of each output, at its best
    parameters : values by name; "noise" is λn
    starts : the best objective (−log likelihood − log priors) from each start
    evaluations : how often likelihood and gradient were computed
    status : "converged", "max_iter", "out of time" or "stalled" (no step led further up), of the start that
        won
    at_bounds : names of the parameters that ended at a bound: the likelihood may be larger beyond

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> from mercer.selection import maximum_likelihood
    >>> X = np.random.default_rng(0).uniform(-3, 3, (50, 1))
    >>> found = maximum_likelihood(KernelRidge(Gaussian(5.0), lam=0.1), X, np.sin(2 * X[:, 0]))
    >>> found.status, bool(found.log_likelihood > found.log_likelihood_before), list(found.parameters)
    ('converged', True, ['sigma', 'noise'])
    """

    machine: KernelMachine
    log_likelihood: float
    log_likelihood_before: float
    scale: np.ndarray
    parameters: dict[str, float]
    starts: tuple[float, ...]
    evaluations: int
    status: str
    at_bounds: tuple[str, ...] = ()

    def __repr__(self) -> str:
        bounded = f", at a bound: {', '.join(self.at_bounds)}" if self.at_bounds else ""
        return (
            f"<log likelihood {self.log_likelihood_before:.4g} → {self.log_likelihood:.4g} in "
            f"{self.evaluations} evaluations, {self.status}{bounded}>"
        )


class _WithoutJitter(ExactPosterior):
    """A likelihood of G itself, or none."""

    max_jitter = 0.0


def maximum_likelihood(
    machine: KernelMachine,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    restarts: int = 0,
    priors: Mapping[str, Belief] | None = None,
    fixed: Iterable[str] = (),
    bounds: Mapping[str, tuple[float, float]] | None = None,
    max_iter: int = 100,
    minutes: float | None = None,
    random_state: Any = None,
) -> MostLikely:
    """A kernel's continuous parameters, the noise λn and the scale s, by the exact marginal likelihood.

    L-BFGS climbs log p(y | θ, λn, s) + Σ log priors over log θ and log λn; s is at its best for each of them,
    in closed form. With an offset the likelihood is the restricted one. One length scale a feature (ARD) is
    asked for by ``kernel.scaled(…)``.

    Parameters
    ----------
    machine : a machine of least squares with a kernel of vectors; its kernel and λ are the start
    X, y, sample_weight : as in ``machine.fit``; time grows like n³, so a few thousand rows at most
    restarts : int
        So many further starts: drawn from the priors, where there are such, else within a factor of
        7 of the first, and the noise from k(x,x)/10,000 to k(x,x).
    priors : {name: LogNormal(median, spread) or Gamma(shape, rate)}
        On parameters as named in ``machine.posterior().parameters``; "lengths" stands for all of
        "lengths[0]", "lengths[1]", …
    fixed : names of parameters that stay as they are
    bounds : {name: (low, high)}
        A factor of 3000 either way if not given; the noise from 1e-8 k(x,x) on, to which a smaller λn of the
        machine is raised.
    max_iter : int, of each start
    minutes : float, optional
        Stop after so long, with the best found; one evaluation is always made.
    random_state : int, RandomState or None, for restarts

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> from mercer.selection import LogNormal, maximum_likelihood
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 3))
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(80)     # the other two features are noise
    >>> start = KernelRidge(Gaussian(1.0).scaled([1.0, 1.0, 1.0]), lam=1e-3)
    >>> found = maximum_likelihood(start, X, y, priors={"lengths": LogNormal(1.0, 3.0)})
    >>> bool(np.argmin(found.machine.kernel.lengths) == 0)
    True
    >>> noise = found.parameters["noise"] * found.scale[0]          # its variance: 0.1² was put in
    >>> bool(0.05**2 < noise < 0.2**2)
    True
    """
    _check_limits(max_iter, minutes)
    seen = _observed(machine, X, y, sample_weight)
    labels = (*labels_of(seen.names), "noise")
    first = seen.theta
    held = (fixed,) if isinstance(fixed, str) else tuple(fixed)
    free = np.array([not _named(label, held, labels, "fixed") for label in labels])
    if not free.any():
        raise ValueError("all parameters are fixed: there is nothing to move")
    box = _box(seen, first, labels, dict(bounds or {}))
    beliefs = _beliefs(labels, dict(priors or {}))
    first = np.where(free, np.clip(first, *np.array(box).T), first)
    objective = _objective(seen, first, free, beliefs)
    size = math.log(float(np.mean(seen.A.diag())))
    limits = [pair for pair, moves in zip(box, free) if moves]
    starts = _starts(first, box, beliefs, restarts, size, generator(random_state))
    found = _climb(objective, [start[free] for start in starts], limits, max_iter, minutes)
    won = min(found, key=lambda one: one.value)
    theta = first.copy()
    theta[free] = won.theta
    log_likelihood, scale = won.beside
    assert seen.kernel is not None
    kernel = with_logs(seen.kernel, seen.names, theta)
    chosen = clone(machine).set_params(kernel=kernel, lam=float(np.exp(theta[-1]) / len(seen.y)))
    return MostLikely(
        chosen,
        log_likelihood,
        _likelihood_of(seen),
        scale,
        {label: float(np.exp(value)) for label, value in zip(labels, theta)},
        tuple(one.value for one in found),
        sum(one.count for one in found),
        won.status,
        tuple(label for label, pair, value in zip(labels, box, theta) if not pair[0] < value < pair[1]),
    )


def _objective(
    seen: Observations, first: np.ndarray, free: np.ndarray, beliefs: dict[int, Belief]
) -> Callable[[np.ndarray], tuple[float, np.ndarray, Any]]:
    """−log likelihood − log priors as a function of what is free, its gradient, and what is reported."""

    def objective(part: np.ndarray) -> tuple[float, np.ndarray, Any]:
        theta = first.copy()
        theta[free] = part
        posterior = _WithoutJitter(seen.at(theta))
        value, gradient = posterior.log_marginal_likelihood(eval_gradient=True)
        total, slopes = value, gradient.copy()
        for i, belief in beliefs.items():
            density, slope = belief.log_density(float(theta[i]))
            total, slopes[i] = total + density, slopes[i] + slope
        return -total, -slopes[free], (value, posterior.scale)

    return objective


def _check_limits(max_iter: Any, minutes: Any) -> None:
    if not is_integer(max_iter) or max_iter < 1:
        raise ValueError(f"max_iter must be a positive whole number, got {max_iter!r}")
    if minutes is not None and not (is_number(minutes) and minutes >= 0):
        raise ValueError(f"minutes must be a number from 0 on, or None, got {minutes!r}")


def _likelihood_of(seen: Observations) -> float:
    """The log likelihood of what was observed, under the machine's own parameters."""
    try:
        return float(_WithoutJitter(seen).log_marginal_likelihood())
    except (np.linalg.LinAlgError, NotPositiveDefinite):
        return -math.inf


def _observed(machine: KernelMachine, X: Any, y: Any, sample_weight: Any) -> Observations:
    """All examples, with a term each, whatever the machine has."""
    problem, _ = clone(machine).set_params(representation="full").problem(X, y, sample_weight)
    if problem.sample is not None:
        raise ValueError("the exact likelihood needs examples in memory: take some, open_rows(X).take(index)")
    seen = Observations.of(problem, None, lambda points: points, False)
    if seen.constant:
        raise ValueError("the targets are constant, and every kernel explains them: there is no best one")
    return seen


def _climb(
    objective: Any,
    starts: list[np.ndarray],
    limits: list[tuple[float, float]],
    max_iter: int,
    minutes: float | None,
) -> list[Lowest]:
    """What was found from each start, as long as there is time."""
    began, found = time.monotonic(), list[Lowest]()
    for start in starts:
        left = None if minutes is None else 60 * minutes - (time.monotonic() - began)
        if found and left is not None and left <= 0:
            break
        one = lowest(objective, start, limits, max_iter, left)
        found += [] if one is None else [one]
    if not found:
        raise np.linalg.LinAlgError(
            "K + λnI is not positive definite at the start: a larger λ may help, or restarts, if this is a "
            "kernel (mercer.kernels.check)"
        )
    return found


def _named(label: str, names: tuple[str, ...], labels: tuple[str, ...], what: str) -> bool:
    """Is this value one of those named? "lengths" names lengths[0], lengths[1], …"""
    plain = {one.partition("[")[0] for one in labels} | set(labels)
    unknown = [name for name in names if name not in plain]
    if unknown:
        raise ValueError(f"{what}: there is no parameter {unknown[0]!r}, only {', '.join(labels)}")
    return label in names or label.partition("[")[0] in names


def _beliefs(labels: tuple[str, ...], priors: dict[str, Belief]) -> dict[int, Belief]:
    out = {}
    for name, prior in priors.items():
        if isinstance(prior, type) or not hasattr(prior, "log_density"):
            raise ValueError(
                f"priors[{name!r}] must be LogNormal(median, spread) or Gamma(shape, rate), got {prior!r}"
            )
        out.update({i: prior for i, label in enumerate(labels) if _named(label, (name,), labels, "priors")})
    return out


def _box(
    seen: Observations, first: np.ndarray, labels: tuple[str, ...], bounds: dict[str, tuple[float, float]]
) -> list[tuple[float, float]]:
    """Bounds of the logarithms."""
    assert seen.kernel is not None
    box = [(value - _AWAY, value + _AWAY) for value in first]
    size = math.log(float(np.mean(seen.A.diag())))
    box[-1] = size + math.log(_LEAST_NOISE), max(first[-1], size) + 1.5 * _AWAY
    for name, pair in bounds.items():
        try:
            low, high = (float(end) for end in pair)
        except (TypeError, ValueError):
            low, high = 0.0, 0.0
        if not 0 < low <= high < math.inf:
            raise ValueError(
                f"bounds[{name!r}] must be two positive numbers, the smaller first, got {pair!r}"
            )
        for i, label in enumerate(labels):
            if _named(label, (name,), labels, "bounds"):
                box[i] = math.log(low), math.log(high)
    return box


def _starts(
    first: np.ndarray,
    box: list[tuple[float, float]],
    beliefs: dict[int, Belief],
    restarts: int,
    size: float,
    rng: np.random.Generator,
) -> list[np.ndarray]:
    """The first and others; their noise goes by `size`, which is log k(x,x)."""
    if not isinstance(restarts, (int, np.integer)) or restarts < 0:
        raise ValueError(f"restarts must be a whole number from 0 on, got {restarts!r}")
    starts = [first]
    for _ in range(restarts):
        theta = first + rng.uniform(-_RESTART, _RESTART, len(first))
        theta[-1] = size + rng.uniform(*_NOISES)
        for i, belief in beliefs.items():
            theta[i] = belief.draw(rng)
        starts.append(np.clip(theta, *np.array(box).T))
    return starts
