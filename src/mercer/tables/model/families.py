"""Families of kernels that a search tries, and candidates: kernels with their μ = λn, as they were tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mercer.kernels import Gaussian, Kernel, Laplacian, Linear, Matern, Polynomial


@dataclass(frozen=True)
class Family:
    """A kernel with width 1, to which length scales are added, and the kernel of one width.

    The middle of the widths is what keeps k(x,z) away from 0 and from k(x,x) for standardised coordinates: d
    for sums of differences, √d for lengths.
    """

    base: Kernel
    of_one_width: Callable[[float], Kernel]
    factors: tuple[float, ...] = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
    of_sums: bool = False  # of |x_j − z_j|, rather than of a length or an inner product

    def widths(self, d: int) -> list[float]:
        """Those that are tried with d coordinates."""
        middle = d if self.of_sums else float(np.sqrt(d))
        return [middle * factor for factor in self.factors]

    def kernel(self, width: float, d: int) -> Kernel:
        """With d equal length scales."""
        return self.base.scaled(np.full(d, width))


def _polynomial(degree: int, width: float) -> Kernel:
    """(x·z/w² + 1)^degree"""
    return width ** (-2.0 * degree) * Polynomial(degree, c=width**2)


FIRST = "laplacian l1"
FAMILIES: Mapping[str, Family] = {
    FIRST: Family(Laplacian(1.0, norm="l1"), lambda w: Laplacian(w, norm="l1"), of_sums=True),
    "laplacian": Family(Laplacian(1.0), Laplacian),
    "matern 3/2": Family(Matern(1.5, 1.0), lambda w: Matern(1.5, w)),
    "gaussian": Family(Gaussian(1.0), Gaussian),
    "linear": Family(Linear(), lambda w: w**-2.0 * Linear(), (1.0,)),
    "quadratic": Family(Polynomial(2, c=1.0), lambda w: _polynomial(2, w), (0.5, 1.0, 2.0)),
}


# The family whose metric is learned, and what that is called: of all coordinates, or of each for itself.
ROUND = "laplacian"
METRICS = {False: f"{ROUND}, learned metric", True: f"{ROUND}, learned lengths"}


@dataclass(frozen=True)
class Trial:
    """One thing that was tried."""

    # "screen", "length scales", "folds", "last look", "more rows", "average", "λ on more rows" or "texts"
    stage: str
    outliers: str  # how numbers were prepared
    kernel: str  # in words
    rows: int  # number of examples
    loo: float  # leave-one-out mean squared error, as a share of the variance of the targets
    # The error on rows that took no part, in the same units (of labels with more for the wrong ones); NaN
    # without such
    fresh: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Candidate:
    """A kernel with its μ = λn, on a preparation; the error it is compared by, and how it was tried."""

    outliers: str
    family: str
    kernel: Kernel
    mu: float
    error: float = np.nan
    stage: str = ""
    rows: int = 0
    loo: float = np.nan
    fresh: float = np.nan
    seconds: float = 0.0
    width: float = np.nan  # where it has one for all coordinates
    # What was averaged: names and shares; () for a candidate of its own
    parts: tuple[tuple[str, float], ...] = ()

    @property
    def trial(self) -> Trial:
        kernel = f"{self.family}, one width" if self.stage == "screen" else self.family
        return Trial(self.stage, self.outliers, kernel, self.rows, self.loo, self.fresh, self.seconds)


@dataclass(frozen=True, eq=False)
class Found:
    """What a search ends with: the best candidate, and all that was tried."""

    best: Candidate
    trials: tuple[Trial, ...]


def error_of(candidate: Candidate) -> float:
    return candidate.error


def latest(tried: Sequence[Candidate]) -> list[Candidate]:
    """Those of the last stage: errors of different stages are of different rows."""
    return [c for c in tried if c.stage == tried[-1].stage]


def pair(pool: list[Candidate]) -> list[Candidate]:
    """The best, and beside it the first family (or, if that is the best, the second best)."""
    beside = [c for c in pool[1:] if c.family == FIRST] or pool[1:2]
    return [*pool[:1], *beside]


def sum_of(a: Candidate, b: Candidate) -> Candidate:
    """Two kernels of different smoothness, which hedge between them; seldom worse than either."""
    return replace(
        a, family=f"{a.family} + {b.family}", kernel=0.5 * a.kernel + 0.5 * b.kernel, mu=0.5 * (a.mu + b.mu)
    )


def one_width(candidate: Candidate) -> Candidate:
    """A screened candidate with its one width as a parameter, instead of equal length scales."""
    kernel = FAMILIES[candidate.family].of_one_width(candidate.width)
    return replace(candidate, family=f"{candidate.family}, one width", kernel=kernel)
