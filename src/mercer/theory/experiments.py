"""How the risk falls with the number of examples, and what a parameter does to bias and variance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.theory.rates import Rate, fit_rate

Draw = Callable[[int, np.random.Generator], tuple[Any, Any]]
Truth = Callable[[Any], np.ndarray]
Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class RiskCurve:
    """Risk against the number of examples.

    Attributes
    ----------
    sizes : (s,)
    risks : (repetitions, s)
    rate : Rate, the fitted power of n; None if fewer than three sizes, or a risk that is not positive
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
    repetitions : int
        Samples of each size.
    test : int
    floor : float
        The least possible risk (that of the noise), taken off before a rate is fitted.
    random_state : int
    progress : function, optional
        Called with a line of text after every size.

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

    Attributes
    ----------
    name : of the parameter
    values : list
    bias : (v,) E_x (E f(x) − f*(x))²
    variance : (v,) E_x Var f(x)
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
    at : points, optional
        Where to look; 500 fresh ones from `draw` by default.
    repetitions : int, at least 2
    random_state : int
    progress : function, optional
        Called with a line of text after every value.

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
