"""From a fit to a metric to the next fit: the steps that learned metrics take, with arrays at hand."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from mercer._params import is_number
from mercer._units import by_size, count
from mercer.engines import Tiled
from mercer.functions import KernelFunction, gradient_outer_product
from mercer.kernels import Kernel, LengthScales, Mahalanobis
from mercer.kernels.profiled import Profiled
from mercer.kernels.statistics import SquaredDistance
from mercer.losses import Squared
from mercer.operators import Matrix
from mercer.posterior.likelihood import restricted_inverse
from mercer.solvers import Problem
from mercer.solvers import loo as closed_form

# Width and shift are chosen on so many rows, which costs little beside one solution with all of them.
_SAMPLE = 800
# Widths that are tried, relative to the last one, in logarithms to the base 2; beyond them while it pays.
_WIDTHS, _FURTHER = (-1.0, -0.5, 0.0, 0.5, 1.0), 6
# Shifts that are tried, in relation to the last one and, to begin with, to the smallest.
_SHIFTS, _FIRST_SHIFTS = 10.0 ** np.arange(-2, 1.01, 0.25), 10.0 ** np.arange(0, 9.01, 0.25)
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
    ridge : this share of the trace is spread evenly over all coordinates (or those eigenvectors), so that no
        direction is lost for good

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
        """The metric, of trace d; that of nothing is the identity."""
        d, largest = len(outer), np.max(np.diag(outer), initial=0.0)
        if not largest > 0:
            return np.eye(d)
        if self.diagonal:
            values, Q = np.diag(outer) / largest, np.eye(d)
        else:
            values, Q = np.linalg.eigh(outer / largest)
        order = np.argsort(-values, kind="stable")
        values, Q = np.maximum(values[order], 0), Q[:, order]
        held = np.cumsum(values) / values.sum()
        kept = d if self.share == 1 else 1 + int(np.searchsorted(held, self.share * (1 - 1e-12)))
        values, Q = values[:kept] ** self.power, Q[:, :kept]
        values = (1 - self.ridge) * values / values.sum() + self.ridge / len(values)
        M = (Q * (d * values)) @ Q.T
        return 0.5 * (M + M.T)


# A metric in the coordinates of the start, μ, and the leave-one-out error with them.
Round = tuple[np.ndarray, float, float]


@dataclass(frozen=True, eq=False)
class Recursion:
    """Points in the coordinates of the first kernel's map, x → xB, where that kernel is a plain one."""

    X: np.ndarray
    Y: np.ndarray
    plain: Kernel
    map: np.ndarray
    units: np.ndarray
    offset: bool

    @classmethod
    def of(cls, X: np.ndarray, Y: np.ndarray, kernel: Kernel, units: np.ndarray, offset: bool) -> Recursion:
        plain, B = kernel, np.eye(X.shape[1])
        while isinstance(plain, (LengthScales, Mahalanobis)):
            plain, B = plain.kernel, plain.child_points(B)
        if not isinstance(plain, Profiled) or type(plain.statistic) is not SquaredDistance:
            raise ValueError(f"a metric is learned for a function of ‖x−z‖, and {kernel!r} is none")
        plain.require_resolved()
        if count(units) < 2:
            raise ValueError("leaving one out needs two examples that are not equal, nor of one group")
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

    def part(self, rows: np.ndarray) -> Recursion:
        """Some of them."""
        return replace(self, X=self.X[rows], Y=self.Y[rows], units=self.units[rows])

    def rounds(
        self, M: np.ndarray, mu: float, rule: MetricRule, rounds: int, seconds: float | None
    ) -> Iterator[Round]:
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

    def held_out(self, found: list[Round], rule: MetricRule) -> np.ndarray:
        """The mean squared error of every round on each half, with the metric and machine of the other.

        Widths and shifts are those of all rows, so that it takes a part of the time. NaN where a half would
        be a single unit.
        """
        if self.count < 4:
            return np.full(len(found), np.nan)
        first = halves(self.units)
        squares = np.zeros(len(found))
        for here in (first, ~first):
            half, rest = self.part(np.flatnonzero(here)), self.part(np.flatnonzero(~here))
            M, N = found[0][0], None
            for r, (whole, mu, _) in enumerate(found):
                if N is not None:
                    M = N * (self.spread(whole) / self.spread(N))
                C = half.solved(M, mu)[1]
                f = KernelFunction(self.plain.metric(M), half.X, C)
                # (K + μI) c + b = y in every row
                b = (half.Y - f(half.X) - mu * C).mean(axis=0) if self.offset else 0.0
                squares[r] += np.sum((rest.Y - f(rest.X) - b) ** 2)
                N = half.steepest(M, C, rule)
        return squares / self.Y.size

    @property
    def least(self) -> float:
        """The smallest shift that is tried."""
        return _LEAST_SHIFT * float(self.plain.diagonal(self.X[:1])[0])

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
        part = self.part(sample(self.units))
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
        if mu is None:
            shifts = self.least * _FIRST_SHIFTS
        else:
            shifts = np.maximum(mu * _SHIFTS, min(mu, self.least))
        problem = Problem(A=K, B=K, y=self.Y, loss=Squared(), lam=1.0, offset=self.offset)
        residuals = closed_form.path(problem, (shifts / self.kept).tolist(), self.units).residuals
        errors = np.mean(residuals**2, axis=(1, 2))
        best = int(np.argmin(errors))
        return float(errors[best]), float(shifts[best])


def halves(units: np.ndarray) -> np.ndarray:
    """A mask of the rows of every second unit, in a random order."""
    return _shuffled(units, 1) % 2 == 0


def sample(units: np.ndarray) -> np.ndarray:
    """Rows of whole units, drawn at random: about 800 of them, or all."""
    n = len(units)
    if n <= _SAMPLE:
        return np.arange(n)
    place = _shuffled(units, 0)
    order = np.argsort(place, kind="stable")
    # Up to the end of a unit, and two units at least.
    last = max(place[order[_SAMPLE - 1]], 1)
    return np.sort(order[place[order] <= last])


def _shuffled(units: np.ndarray, seed: int) -> np.ndarray:
    """The number of every row's unit in a random order of them."""
    codes = np.unique(units, return_inverse=True)[1]
    return np.random.default_rng(seed).permutation(int(codes.max()) + 1)[codes]
