"""How fast the risk falls with the number of examples, and what a parameter does to bias and variance."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.base import clone

_RESAMPLES = 1000

Draw = Callable[[int, np.random.Generator], tuple[Any, Any]]
Truth = Callable[[Any], np.ndarray]
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Rate:
    """risk ≈ C n^−a.

    `exponent` is a, between `low` and `high` with that `confidence`; `constant` is C.

    Examples
    --------
    >>> from mercer.theory import fit_rate
    >>> rate = fit_rate([100, 200, 400], [0.4, 0.21, 0.1])
    >>> round(rate.exponent, 2), bool(rate.low < rate.exponent < rate.high)
    (1.0, True)
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
    confidence : of the interval

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
        again = np.log(np.maximum(values[drawn].mean(axis=1), np.finfo(float).tiny))
        low, high = np.quantile(-again @ x / (x @ x), [(1 - confidence) / 2, (1 + confidence) / 2])
    else:
        left = np.log(means) - level - slope * x
        spread = math.sqrt(float(left @ left) / (len(n) - 2) / float(x @ x))
        half = float(student.ppf((1 + confidence) / 2, len(n) - 2)) * spread
        low, high = -slope - half, -slope + half
    constant = math.exp(level - slope * float(np.log(n).mean()))
    return Rate(-slope, float(low), float(high), constant, confidence)


@dataclass(frozen=True, eq=False)
class RiskCurve:
    """Risk against the number of examples.

    Of s sizes, repetitions × s risks and the fitted power of n, which is None with fewer than three sizes, or
    a risk that is not positive.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.theory import CircleProblem, risk_curve
    >>> problem = CircleProblem(b=2, r=0.5)
    >>> def machine(n):
    ...     return KernelRidge(problem.kernel, lam=problem.lam(n))
    >>> curve = risk_curve(machine, problem.draw, [40, 80, 160], risk=problem.excess, repetitions=4)
    >>> curve.sizes.tolist(), curve.risks.shape, curve.rate.exponent > 0
    ([40, 80, 160], (4, 3), True)
    """

    sizes: np.ndarray
    risks: np.ndarray
    rate: Rate | None

    @property
    def mean(self) -> np.ndarray:
        """Mean over the repetitions."""
        return self.risks.mean(axis=0)

    @property
    def error(self) -> np.ndarray:
        """Standard error of the mean."""
        return self.risks.std(axis=0, ddof=1) / np.sqrt(len(self.risks))


def risk_curve(
    machine: Any,
    draw: Draw,
    sizes: Sequence[int],
    *,
    risk: Callable[[Any, np.random.Generator], float] | None = None,
    repetitions: int = 10,
    test: int = 2000,
    floor: float = 0.0,
    random_state: int = 0,
    progress: Progress | None = None,
) -> RiskCurve:
    """Fit to growing samples, measure the risk of each fit, and fit a rate.

    Parameters
    ----------
    machine : estimator, or a function from n to one (for a λ that falls with n)
    draw : function of n and a random generator that returns (X, y)
    sizes : numbers of examples
    risk : function of a fitted machine and a random generator, optional
        The risk where it is known; the mean squared error, or the error rate, on `test` fresh examples
        otherwise.
    repetitions : samples of each size
    floor : the least possible risk (that of the noise), taken off before a rate is fitted
    progress : function, optional; called with a line of text after every size

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.theory import CircleProblem
    >>> problem = CircleProblem(b=2, r=0.5)
    >>> def machine(n):
    ...     return KernelRidge(problem.kernel, lam=problem.lam(n))
    >>> curve = risk_curve(machine, problem.draw, [50, 100, 200], risk=problem.excess)
    >>> curve.risks.shape, bool(0.4 < curve.rate.exponent < 0.9)
    ((10, 3), True)
    """
    sizes = [int(n) for n in sizes]
    if not sizes or min(sizes) < 1 or repetitions < 1:
        raise ValueError("at least one size and one repetition are needed, all positive")
    out = np.empty((repetitions, len(sizes)))
    streams = np.random.SeedSequence(random_state).spawn(len(sizes))
    for j, n in enumerate(sizes):
        for i, stream in enumerate(streams[j].spawn(repetitions)):
            rng = np.random.default_rng(stream)
            fresh = clone(machine) if hasattr(machine, "fit") else machine(n)
            fitted = fresh.fit(*draw(n, rng))
            out[i, j] = _test_risk(fitted, draw, test, rng) if risk is None else risk(fitted, rng)
        if progress is not None:
            progress(f"n = {n:,}: mean risk {out[:, j].mean():.4g}")
    enough = len(set(sizes)) >= 3 and bool((out.mean(axis=0) > floor).all())
    return RiskCurve(
        np.array(sizes), out, fit_rate(sizes, out - floor, random_state=random_state) if enough else None
    )


def _test_risk(machine: Any, draw: Draw, test: int, rng: np.random.Generator) -> float:
    X, y = draw(test, rng)
    predicted = np.asarray(machine.predict(X))
    if hasattr(machine, "classes_"):
        return float(np.mean(predicted != y))
    return float(np.mean((predicted - y) ** 2))


@dataclass(frozen=True, eq=False)
class BiasVariance:
    """Bias and variance of a machine for several values of a parameter.

    Of so many `values` of the parameter `name`: `bias` is E_x (E f(x) − f*(x))², `variance` E_x Var f(x).

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.theory import CircleProblem, bias_variance
    >>> problem = CircleProblem(b=2, r=0.5)
    >>> machine = KernelRidge(problem.kernel)
    >>> found = bias_variance(machine, "lam", [1e-3, 1e-1], problem.draw, problem.truth, 40, repetitions=5)
    >>> found.name, found.bias.shape, bool(found.bias[0] < found.bias[1])
    ('lam', (2,), True)
    """

    name: str
    values: list[Any]
    bias: np.ndarray
    variance: np.ndarray

    @property
    def excess(self) -> np.ndarray:
        """E (f(x) − f*(x))², their sum."""
        return self.bias + self.variance

    @property
    def best(self) -> Any:
        """The value with the least sum."""
        return self.values[int(self.excess.argmin())]


def bias_variance(
    machine: Any,
    name: str,
    values: Sequence[Any],
    draw: Draw,
    truth: Truth,
    n: int,
    *,
    at: Any = None,
    repetitions: int = 50,
    random_state: int = 0,
    progress: Progress | None = None,
) -> BiasVariance:
    """What a parameter (λ, σ, the number of neighbours R, …) does, on a problem whose f* is known.

    The machine is fitted to `repetitions` samples of n examples, the same ones for every value. At points
    `at`, the mean of its predictions minus f* is the bias, their variance the variance; the mean of so many
    has a variance of its own, which is taken off the squared bias.

    Parameters
    ----------
    machine : estimator
    name : a parameter of it, as in `set_params`: "lam", "kernel__sigma", "n_neighbors"
    values : what to try
    draw : function of n and a random generator that returns (X, y)
    truth : f*, a function of points
    n : examples in a sample
    at : where to look; 500 fresh points from `draw` by default
    repetitions : at least 2
    progress : function, optional; called with a line of text after every value

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.theory import CircleProblem
    >>> problem = CircleProblem(b=2, r=0.5)
    >>> found = bias_variance(
    ...     KernelRidge(problem.kernel), "lam", [1e-5, 1e-1], problem.draw, problem.truth, 60, repetitions=20
    ... )
    >>> bool(found.bias[0] < found.bias[1]), bool(found.variance[0] > found.variance[1])
    (True, True)
    """
    if repetitions < 2 or len(values) < 1:
        raise ValueError("a variance needs two repetitions at least, and there must be a value to try")
    first, *streams = np.random.SeedSequence(random_state).spawn(repetitions + 1)
    points = draw(500, np.random.default_rng(first))[0] if at is None else at
    samples = [draw(n, np.random.default_rng(s)) for s in streams]
    wanted = np.asarray(truth(points), dtype=float)
    bias, variance = np.empty(len(values)), np.empty(len(values))
    for v, value in enumerate(values):
        fits = (clone(machine).set_params(**{name: value}).fit(X, y) for X, y in samples)
        predicted = np.array([np.asarray(f.predict(points), dtype=float) for f in fits])
        spread = predicted.var(axis=0, ddof=1)
        variance[v] = spread.mean()
        bias[v] = max(np.mean((predicted.mean(axis=0) - wanted) ** 2 - spread / repetitions), 0.0)
        if progress is not None:
            progress(f"{name} = {value}: bias² {bias[v]:.4g}, variance {variance[v]:.4g}")
    return BiasVariance(name, list(values), bias, variance)
