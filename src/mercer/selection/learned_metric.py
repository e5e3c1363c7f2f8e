"""A metric learned from the gradients of the function it is for: recursive feature machines, in closed form."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer._params import is_number
from mercer._units import by_size, count, units_of
from mercer.engines import Tiled
from mercer.estimators.base import KernelMachine
from mercer.functions import KernelFunction, gradient_outer_product
from mercer.kernels import Kernel, LengthScales, Mahalanobis
from mercer.kernels.profiled import Profiled
from mercer.kernels.statistics import SquaredDistance
from mercer.losses import Squared
from mercer.operators import KernelOperator, Matrix
from mercer.posterior.likelihood import restricted_inverse
from mercer.solvers import Problem
from mercer.solvers import loo as closed_form

# Width and shift are chosen on so many rows, which costs little beside one solution with all of them.
_SAMPLE = 800
# Widths that are tried, relative to the last one, in logarithms to the base 2; beyond them while it pays.
_WIDTHS, _FURTHER = (-1.0, -0.5, 0.0, 0.5, 1.0), 6
# Shifts that are tried, in relation to the last one and, to begin with, to the mean of k(x,x).
_SHIFTS, _FIRST_SHIFTS = 10.0 ** np.arange(-2, 1.01, 0.25), 10.0 ** np.arange(-6, 3.01, 0.25)
# The best shift falls slowly with the number of rows: with all of them a smaller one is tried, too.
_SMALLER = 10**-0.5
# Below a millionth of k(x,x) a shift is no noise any more, only a way to follow rounding.
_LEAST_SHIFT = 1e-6


@dataclass(frozen=True)
class MetricRule:
    """How a mean outer product of gradients becomes a metric.

    Attributes
    ----------
    power : the metric is the matrix to this power, 1 or 0.5 …
    diagonal : only its diagonal, which is a length scale a coordinate
    share : only as many eigenvectors, the largest first, as hold this share of the trace; 1: all of them
    ridge : this share of the trace is spread evenly over all coordinates (or those eigenvectors)

    Examples
    --------
    >>> MetricRule(diagonal=True, ridge=0.0)(np.array([[3.0, 1.0], [1.0, 1.0]]))
    array([[1.5, 0. ],
           [0. , 0.5]])
    """

    power: float = 1.0
    diagonal: bool = False
    share: float = 1.0
    ridge: float = 1e-2

    def validate(self) -> None:
        """ValueError for what is no such rule."""
        if not (is_number(self.power) and self.power > 0):
            raise ValueError(f"power must be a positive number, got {self.power!r}")
        if not (0 < self.share <= 1 and 0 <= self.ridge <= 1):
            raise ValueError(
                f"share must lie in (0, 1] and ridge in [0, 1], got {self.share!r} and {self.ridge!r}"
            )

    def __call__(self, outer: np.ndarray) -> np.ndarray:
        """The metric, of trace d."""
        d = len(outer)
        if self.diagonal:
            values, Q = np.diag(outer), np.eye(d)
        else:
            values, Q = np.linalg.eigh(outer)
        order = np.argsort(-values, kind="stable")
        values, Q = np.maximum(values[order], 0) / max(values.max(), np.finfo(float).tiny), Q[:, order]
        held = np.cumsum(values) / values.sum()
        kept = 1 + int(np.searchsorted(held, self.share * (1 - 1e-12)))
        values, Q = values[:kept] ** self.power, Q[:, :kept]
        values = (1 - self.ridge) * values / values.sum() + self.ridge / len(values)
        M = (Q * (d * values)) @ Q.T
        return 0.5 * (M + M.T)


@dataclass(frozen=True, eq=False)
class MetricRound:
    """A kernel of one round, and what it is worth.

    Attributes
    ----------
    kernel : with its metric, or length scales
    metric : (d, d) M of trace d; the kernel is the function of the distance that `learned_metric` was given,
        of √((x−z)ᵀM(x−z))/width
    width : float
    lam : λ
    loo_mse : mean squared leave-one-out error with them. It is exact for this kernel, which has seen the
        targets of all rows, and so it grows too small from round to round
    held_out_mse : mean squared error on half of the rows, with a metric and a machine of the other half
    """

    kernel: Kernel
    metric: np.ndarray
    width: float
    lam: float
    loo_mse: float
    held_out_mse: float


@dataclass(frozen=True, eq=False, repr=False)
class LearnedMetric:
    """A machine with a learned metric, and the rounds that led there.

    Attributes
    ----------
    machine : with the kernel and λ of the best round, not fitted
    rounds : the kernel as it was given (its width chosen), and one for each round
    best : index of the round with the smallest error on rows its metric has not seen; of leave-one-out where
        there are too few rows for halves

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Laplacian
    >>> from mercer.selection import learned_metric
    >>> X = np.random.default_rng(0).uniform(-2, 2, (80, 3))
    >>> found = learned_metric(KernelRidge(Laplacian()), X, np.sin(X[:, 0] + X[:, 1]), rounds=2)
    >>> len(found.rounds), found.metric.shape, bool(np.isclose(np.trace(found.metric), 3))
    (3, (3, 3), True)
    """

    machine: KernelMachine
    rounds: tuple[MetricRound, ...]
    best: int

    @property
    def metric(self) -> np.ndarray:
        """M of the best round, of trace d."""
        return self.rounds[self.best].metric

    @property
    def loo_mse(self) -> float:
        """The leave-one-out error of the best round."""
        return self.rounds[self.best].loo_mse

    @property
    def loo_mse_before(self) -> float:
        """The same without a learned metric."""
        return self.rounds[0].loo_mse

    def __repr__(self) -> str:
        left_out = " → ".join(f"{found.loo_mse:.4g}" for found in self.rounds)
        held_out = " → ".join(f"{found.held_out_mse:.4g}" for found in self.rounds)
        return (
            f"<leave-one-out errors {left_out}; held out from the metric, too: {held_out}; best after "
            f"{self.best} rounds>"
        )


def learned_metric(
    machine: KernelMachine,
    X: Any,
    y: Any,
    *,
    rounds: int = 3,
    power: float = 1.0,
    diagonal: bool = False,
    share: float = 1.0,
    ridge: float = 1e-2,
    minutes: float | None = None,
    groups: Any = None,
) -> LearnedMetric:
    """Learn a Mahalanobis metric: fit, take the mean outer product of the gradients for the metric, fit again.

    Where f(x) = g(uᵀx), gradients are multiples of u, so that their mean outer product M = (1/n) Σ ∇f ∇fᵀ knows
    u after one fit; with k(√M x, √M z) the next fit hardly sees other directions. Every round chooses width and
    λ by leave-one-out (of many rows on a sample), and costs a few solutions with all rows: no gradient is
    followed, however many numbers M has.

    The leave-one-out error of a round is exact for its kernel, but that kernel has seen the targets of all
    rows. Which round is best is therefore said by halves of the rows: the metric and the machine of each,
    with widths and λ as for all, are judged on the other.

    Parameters
    ----------
    machine : a machine whose kernel is a function of ‖x−z‖
        Length scales, or a metric, are where it begins. Whatever its loss, least squares is what is
        measured; labels are coded as for that loss.
    X, y : as in ``machine.fit``; time grows like n³, so a few thousand rows at most
    rounds : int
    power, diagonal, share, ridge : see `MetricRule`
        M to a power; its diagonal only; as many eigenvectors as hold a share of its trace; how much of the
        trace is spread evenly, so that no direction is lost for good.
    minutes : float, optional
        No further round is begun after so long.
    groups : (n,) labels, optional
        Rows of one group are left out together; so are equal rows.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((150, 5))
    >>> y = np.sin(2 * X @ [0.6, 0.8, 0.0, 0.0, 0.0]) + 0.1 * rng.standard_normal(150)
    >>> found = learned_metric(KernelRidge(Gaussian()), X, y)
    >>> found.loo_mse < 0.5 * found.loo_mse_before
    True
    >>> direction = np.linalg.eigh(found.metric)[1][:, -1]
    >>> bool(abs(direction @ [0.6, 0.8, 0.0, 0.0, 0.0]) > 0.95)
    True
    """
    rule = MetricRule(power, diagonal, share, ridge)
    if not rounds >= 0:
        raise ValueError(f"rounds must be 0 or more, got {rounds!r}")
    started = time.monotonic()
    problem, _ = clone(machine).set_params(representation="full", lam=1.0).problem(X, y)
    points = problem.A.X if isinstance(problem.A, KernelOperator) else None
    if not isinstance(points, np.ndarray) or points.dtype.kind != "f":
        raise ValueError(
            f"{machine.kernel!r} on these points has no metric to learn: it needs a kernel of vectors, and X as "
            "an array (X.toarray() if it is sparse)"
        )
    kernel, points, Y = problem.A.kernel, points.astype(np.float64), problem.y
    if problem.offset:
        Y = Y - Y.mean(axis=0)  # the offset takes that up; this only saves digits
    examples = _Examples.of(points, Y, kernel, units_of(points, groups), problem.offset)
    first = examples.chosen(np.eye(len(examples.map.T)), None)
    seconds = None if minutes is None else max(60 * minutes - (time.monotonic() - started), 0.0)
    found = list(examples.rounds(*first, rule, rounds, seconds))
    held_out = examples.held_out(found, rule)
    made = tuple(examples.recorded(*one, unseen, rule) for one, unseen in zip(found, held_out))
    judged = [one.held_out_mse for one in made]
    best = int(np.argmin(judged if np.isfinite(judged).all() else [one.loo_mse for one in made]))
    return LearnedMetric(clone(machine).set_params(kernel=made[best].kernel, lam=made[best].lam), made, best)


def metric_rounds(
    X: np.ndarray,
    Y: np.ndarray,
    kernel: Kernel,
    mu: float,
    units: np.ndarray,
    rounds: int = 3,
    seconds: float | None = None,
    rule: MetricRule | None = None,
) -> list[tuple[Kernel, float, float]]:
    """`learned_metric` for points, centred targets and a fitted start at hand: (kernel, μ, error) of each round.

    Parameters
    ----------
    X : (n, d) points
    Y : (n, t) targets; there is no offset
    kernel : a function of ‖x−z‖, with length scales or a metric or without
    mu : μ = λn to begin with
    units : (n,) numbers of the rows that are left out together
    rounds : int
    seconds : no further round is begun after so long
    rule : what is made of the gradients; None: ``MetricRule()``

    Returns
    -------
    list of (kernel, mu, loo)
        The start as it is given, then one for each round. loo is the mean squared leave-one-unit-out error
        of (K + μI)⁻¹, over all rows and targets.

    Examples
    --------
    >>> from mercer.kernels import Laplacian
    >>> X = np.random.default_rng(0).uniform(-2, 2, (80, 3))
    >>> Y = np.sin(X[:, :1] + X[:, 1:2])
    >>> found = metric_rounds(X, Y - Y.mean(), Laplacian(2.0), 0.1, np.arange(80), rounds=2)
    >>> [type(kernel).__name__ for kernel, _, _ in found], found[-1][2] < 0.5 * found[0][2]
    (['Laplacian', 'Mahalanobis', 'Mahalanobis'], True)
    """
    rule = MetricRule() if rule is None else rule
    examples = _Examples.of(np.asarray(X, np.float64), np.asarray(Y, np.float64), kernel, units, False)
    found = examples.rounds(np.eye(examples.map.shape[1]), mu, rule, rounds, seconds)
    first, *later = found
    made = [(examples.kernel(M, rule.diagonal), shift, error) for M, shift, error in later]
    return [(kernel, mu, first[2]), *made]


# A metric in the coordinates of the start, μ, and the leave-one-out error with them.
_Found = tuple[np.ndarray, float, float]


@dataclass(frozen=True, eq=False)
class _Examples:
    """Points in the coordinates of the first kernel's map, x → xB, where that kernel is a plain one."""

    X: np.ndarray
    Y: np.ndarray
    plain: Kernel
    map: np.ndarray
    units: np.ndarray
    offset: bool

    @classmethod
    def of(cls, X: np.ndarray, Y: np.ndarray, kernel: Kernel, units: np.ndarray, offset: bool) -> _Examples:
        plain, B = kernel, np.eye(X.shape[1])
        while isinstance(plain, (LengthScales, Mahalanobis)):
            plain, B = plain.kernel, plain.child_points(B)
        if not isinstance(plain, Profiled) or not isinstance(plain.statistic, SquaredDistance):
            raise ValueError(f"a metric is learned for a function of ‖x−z‖, and {kernel!r} is none")
        plain.require_resolved()
        if count(units) < 2:
            raise ValueError(
                "there is one example only (or equal ones, or one group), and nothing is left when it is left "
                "out"
            )
        return cls(X @ B, Y, plain, B, units, offset)

    @property
    def count(self) -> int:
        return count(self.units)

    def kernel(self, M: np.ndarray, diagonal: bool) -> Kernel:
        """The kernel of points as they were given."""
        whole = self.map @ M @ self.map.T
        squares = np.diag(whole)
        if diagonal and squares.min() > 0 and np.array_equal(whole, np.diag(squares)):
            return self.plain.scaled(squares**-0.5)
        return self.plain.metric(0.5 * (whole + whole.T))

    @property
    def kept(self) -> float:
        """How many rows are left on average when a unit is left out: λ is μ for each of them."""
        return len(self.Y) * (1 - 1 / self.count)

    def part(self, rows: np.ndarray) -> _Examples:
        """Some of them."""
        return replace(self, X=self.X[rows], Y=self.Y[rows], units=self.units[rows])

    def recorded(
        self, M: np.ndarray, mu: float, error: float, held_out: float, rule: MetricRule
    ) -> MetricRound:
        whole = self.map @ M @ self.map.T
        width = float((len(whole) / np.trace(whole)) ** 0.5)
        kernel = self.kernel(M, rule.diagonal)
        return MetricRound(kernel, whole * width**2, width, mu / self.kept, error, held_out)

    def rounds(
        self, M: np.ndarray, mu: float, rule: MetricRule, rounds: int, seconds: float | None
    ) -> Iterator[_Found]:
        """The start, and then round by round."""
        rule.validate()
        started = time.monotonic()
        error, C = self.solved(M, mu)
        yield M, mu, error
        for _ in range(rounds):
            if seconds is not None and time.monotonic() - started > seconds:
                return
            N = self.steepest(M, C, rule)
            if N is None:
                return
            M, mu = self.chosen(N * (self.spread(M) / self.spread(N)), mu)
            error, C = self.solved(M, mu)
            if len(self.X) > _SAMPLE and mu * _SMALLER >= self.least:
                smaller = self.solved(M, mu * _SMALLER)
                if smaller[0] < error:
                    mu, (error, C) = mu * _SMALLER, smaller
            yield M, mu, error

    def steepest(self, M: np.ndarray, C: np.ndarray, rule: MetricRule) -> np.ndarray | None:
        """The metric of the gradients of a function with these coefficients; None of a constant."""
        outer = gradient_outer_product(KernelFunction(self.plain.metric(M), self.X, C), self.X)
        return rule(outer) if np.trace(outer) > 0 else None

    def held_out(self, found: list[_Found], rule: MetricRule) -> np.ndarray:
        """The mean squared error of every round on each half, with the metric and machine of the other.

        Widths and shifts are those of all rows, so that it takes a quarter of the time. NaN where a half would
        be a single unit.
        """
        codes = np.unique(self.units, return_inverse=True)[1]
        if codes.max() < 3:
            return np.full(len(found), np.nan)
        first = (np.random.default_rng(1).permutation(int(codes.max()) + 1) % 2 == 0)[codes]
        squares = np.zeros(len(found))
        for here in (first, ~first):
            half, rest = self.part(np.flatnonzero(here)), self.part(np.flatnonzero(~here))
            M = found[0][0]
            for r, (whole, mu, _) in enumerate(found):
                if r:
                    N = half.steepest(M, C, rule)
                    M = M if N is None else N * (self.spread(whole) / self.spread(N))
                C = half.solved(M, mu)[1]
                f = KernelFunction(self.plain.metric(M), half.X, C)
                # (K + μI) c + b = y in every row
                b = (half.Y - f(half.X) - mu * C).mean(axis=0) if self.offset else 0.0
                squares[r] += np.sum((rest.Y - f(rest.X) - b) ** 2)
        return squares / self.Y.size

    @property
    def least(self) -> float:
        """The smallest shift that is tried."""
        return _LEAST_SHIFT * self.plain.amplitude()

    def spread(self, M: np.ndarray) -> float:
        """The mean square of distances from the mean in this metric; 1 where there are none."""
        away = self.X - self.X.mean(axis=0)
        return float(np.vdot(away @ M, away)) or 1.0

    def solved(self, M: np.ndarray, mu: float) -> tuple[float, np.ndarray]:
        """(leave-one-unit-out error, coefficients) with all rows."""
        G = np.asarray(Tiled(threads=1).operator(self.plain.metric(M), self.X).dense(), dtype=np.float64)
        P, _ = restricted_inverse(G, mu, self.offset)
        C = P @ self.Y
        E = np.empty_like(C)
        for rows in by_size(self.units):
            E[rows] = np.linalg.solve(P[rows[:, :, None], rows[:, None, :]], C[rows])
        return float(np.mean(E**2)), C

    def chosen(self, M: np.ndarray, mu: float | None) -> tuple[np.ndarray, float]:
        """The metric with its best width, and the best shift, on a sample of the rows."""
        part = self.part(_sample(self.units))
        tried = {width: part.best_shift(M * 4.0**-width, mu) for width in _WIDTHS}
        for _ in range(_FURTHER):
            best = min(tried, key=tried.__getitem__)
            if min(tried) < best < max(tried):
                break
            width = best + (0.5 if best == max(tried) else -0.5)
            tried[width] = part.best_shift(M * 4.0**-width, mu)
        best = min(tried, key=tried.__getitem__)
        return M * 4.0**-best, tried[best][1]

    def best_shift(self, M: np.ndarray, mu: float | None) -> tuple[float, float]:
        """(error, μ), from one eigendecomposition."""
        K = Matrix(self.plain.metric(M)(self.X))
        shifts = (
            1e6 * self.least * _FIRST_SHIFTS if mu is None else np.maximum(mu * _SHIFTS, min(mu, self.least))
        )
        problem = Problem(A=K, B=K, y=self.Y, loss=Squared(), lam=1.0, offset=self.offset)
        residuals = closed_form.path(problem, shifts / self.kept, self.units).residuals
        errors = np.mean(residuals**2, axis=(1, 2))
        best = int(np.argmin(errors))
        return float(errors[best]), float(shifts[best])


def _sample(units: np.ndarray) -> np.ndarray:
    """Rows of whole units, drawn at random: about _SAMPLE of them, or all."""
    n = len(units)
    if n <= _SAMPLE:
        return np.arange(n)
    codes = np.unique(units, return_inverse=True)[1]
    place = np.random.default_rng(0).permutation(int(codes.max()) + 1)[codes]
    order = np.argsort(place, kind="stable")
    # Up to the end of a unit, and two units at least.
    last = max(place[order[_SAMPLE - 1]], 1)
    return np.sort(order[place[order] <= last])
