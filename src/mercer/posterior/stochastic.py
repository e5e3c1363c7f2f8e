"""The marginal likelihood and its gradient from random probes: products with K and ∂K/∂log θ, and no n×n
array.

With P ⪯ A = S K S + μI the preconditioner of conjugate gradients, log det A = log det P + tr log P^{-½} A
P^{-½}. A probe b of covariance P has wᵀ log(M) w for w = P^{-½}b, M = P^{-½} A P^{-½}, the trace as its mean,
and conjugate gradients that solve A x = b make Lanczos' tridiagonal matrix of M from w on the way: a Gauss
rule for the integral that wᵀ log(M) w is. All even derivatives of the logarithm are negative and M ⪰ I, so
Gauss's rule is too large and Radau's, with a node below the spectrum, too small: the error of the quadrature
is known, and what is left is the spread of probes. The same x and P⁻¹b have E xᵀ(∂A)P⁻¹b = tr A⁻¹∂A, the
slope of log det A.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh_tridiagonal

from mercer.operators import KernelOperator
from mercer.posterior.observations import slope_operators
from mercer.posterior.system import System
from mercer.solvers.pcg import Step

PROBES = 32
# The node of Radau's rule: below the spectrum, which begins at 1, and not so near that rounding gets across.
_NODE = 0.9


class Estimate(float):
    """A number that was estimated, with its standard error.

    Examples
    --------
    >>> value = Estimate(-12.5, 0.2)
    >>> value + 1, value.standard_error
    (-11.5, 0.2)
    """

    standard_error: float

    def __new__(cls, value: float, standard_error: float):
        self = super().__new__(cls, value)
        self.standard_error = float(standard_error)
        return self

    def __getnewargs__(self):
        return float(self), self.standard_error


@dataclass(frozen=True, eq=False)
class Probed:
    """Probes b of covariance P that were solved for.

    Attributes
    ----------
    log_det : log det A, estimated
    standard_error : of it, from the spread of probes, half of what the two rules of quadrature differ by, and
        rounding
    quadrature : that half
    x, q : (n, probes) A⁻¹b and P⁻¹b
    """

    log_det: float
    standard_error: float
    quadrature: float
    x: np.ndarray
    q: np.ndarray


def probed(system: System, probes: int, rng: np.random.Generator) -> Probed:
    """Probes for this system, all columns of a chunk together."""
    below, n = system.below, system.n
    x, q = np.empty((n, probes)), np.empty((n, probes))
    high, low = np.empty(probes), np.empty(probes)
    for some in system.chunks(probes):
        count = some.stop - some.start
        b = np.sqrt(system.mu) * rng.choice([-1.0, 1.0], (n, count))
        b += below.half(rng.choice([-1.0, 1.0], (below.rank, count)))
        answers = system.solve(b, keep_steps=True)
        x[:, some], q[:, some] = answers.z, below.inverse(b)
        high[some], low[some] = _quadratures(answers.steps, np.maximum(answers.left, 0.0))
    each = 0.5 * (high + low)
    quadrature = 0.5 * float(np.mean(high - low))
    spread = float(each.std(ddof=1)) / np.sqrt(probes) if probes > 1 else np.inf
    # What rounding does to logarithms of pivots, whose condition is that of A.
    rounding = float(np.finfo(np.float64).eps * system.K.diag().sum() / system.mu * n)
    error = float(np.linalg.norm([spread, quadrature, rounding]))
    return Probed(below.log_det + float(each.mean()), error, quadrature, x, q)


def _quadratures(steps: list[Step], left: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(Gauss's, Radau's) value of wᵀ log(M) w of each column, from the steps of conjugate gradients.

    `left` is rᵀP⁻¹r after the last of them.
    """
    alphas: list[list[float]] = [[] for _ in left]
    sizes: list[list[float]] = [[] for _ in left]
    for active, alpha, rz in steps:
        for column, a, size in zip(active.tolist(), alpha.tolist(), rz.tolist(), strict=True):
            if a > 0:
                alphas[column].append(a)
                sizes[column].append(size)
    values = [_rules(np.array(a), np.array(s), end) for a, s, end in zip(alphas, sizes, left, strict=True)]
    high, low = np.array(values).reshape(-1, 2).T
    return high, low


def _rules(alpha: np.ndarray, size: np.ndarray, left: float) -> tuple[float, float]:
    if not len(alpha):
        return 0.0, 0.0
    beta = np.append(size[1:], left) / size
    diagonal = 1 / alpha
    diagonal[1:] += beta[:-1] / alpha[:-1]
    off = np.sqrt(beta) / alpha
    gauss = _log_form(diagonal, off[:-1])
    # Radau's rule has one node more, which is an eigenvalue by the choice of the last diagonal entry.
    pivot = diagonal[0] - _NODE
    for i in range(1, len(diagonal)):
        pivot = diagonal[i] - _NODE - off[i - 1] ** 2 / pivot
    radau = _log_form(np.append(diagonal, _NODE + off[-1] ** 2 / pivot), off)
    return size[0] * gauss, size[0] * min(radau, gauss)


def _log_form(diagonal: np.ndarray, off: np.ndarray) -> float:
    """e₁ᵀ log(T) e₁."""
    values, vectors = eigh_tridiagonal(diagonal, off)
    return float(vectors[0] ** 2 @ np.log(np.maximum(values, 0.5)))


@dataclass(frozen=True, eq=False)
class Weights:
    """What the likelihood needs of y and of the constant: c = P y, yᵀPy, 1ᵀG⁻¹1, and probes.

    `lost` bounds what yᵀPy lacks, because linear systems were solved to a tolerance.
    """

    coef: np.ndarray
    intercept: np.ndarray
    form: np.ndarray
    lost: float


@dataclass(frozen=True, eq=False)
class LikelihoodSlopes:
    """For each parameter and, last, log μ: cᵀ(∂G)c of each output, the trace of P_G ∂G, and its error."""

    forms: np.ndarray  # (parameters, t)
    traces: np.ndarray  # (parameters,)
    errors: np.ndarray

    def gradient(self, scale: np.ndarray) -> np.ndarray:
        """The gradient of the log likelihood, outputs added up."""
        ratio = np.divide(self.forms, scale, out=np.zeros_like(self.forms), where=scale > 0)
        return 0.5 * (ratio.sum(axis=1) - len(scale) * self.traces)

    def standard_errors(self, outputs: int) -> np.ndarray:
        """Of each entry of the gradient, from the spread of probes."""
        return 0.5 * outputs * self.errors


class BelowSlope:
    """∂P for P = μI + H Hᵀ, H = S C L⁻ᵀ with C = K(X, pivots): ∂P = D Hᵀ + H Dᵀ − H E Hᵀ.

    D = S C' L⁻ᵀ and E = L⁻¹ K'(pivots, pivots) L⁻ᵀ, where K' = ∂K. tr P⁻¹∂P follows, since P⁻¹H = H R with
    R = (μI + HᵀH)⁻¹.
    """

    def __init__(self, system: System, slope: KernelOperator):
        self.system, self.below = system, system.below
        pivots = self.below.pivots
        self.across = slope.among(columns=pivots)
        inner = self.below.lower(np.asarray(slope.among(pivots, pivots).dense(), dtype=np.float64))
        self.E = self.below.lower(np.ascontiguousarray(inner.T))

    def trace(self, R: np.ndarray) -> float:
        """tr P⁻¹∂P."""
        below, root, rank = self.below, self.system.root, self.below.rank
        total = -float(np.trace(self.E)) + self.system.mu * float((R * self.E.T).sum())
        identity = np.eye(rank)
        for some in self.system.chunks(rank):
            D = root * (self.across @ below.upper(np.ascontiguousarray(identity[:, some])))
            total += 2 * float((R[some].T * below.adjoint(D)).sum())
        return total

    def forms(self, q: np.ndarray) -> np.ndarray:
        """qᵀ(∂P)q of each column."""
        down = self.below.adjoint(q)
        D = self.below.lower(self.across.adjoint(self.system.root * q))
        return np.einsum("ij,ij->j", down, 2 * D - self.E @ down)


def likelihood_slopes(system: System, seen: Any, coef: np.ndarray, probes: Probed) -> LikelihoodSlopes:
    """Products with ∂K/∂log θ, one for each parameter: probes, coefficients and the constant together."""
    root, below, t = system.root, system.below, coef.shape[1]
    count = probes.q.shape[1]
    columns = [root * probes.q, coef]
    if system.offset:
        ones, total = system.of_ones
        columns.append(root * ones)
    V = np.hstack(columns)
    R = below.core(np.eye(below.rank)) if below.rank else np.zeros((0, 0))

    def measured(products: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """((t,) cᵀ(∂G)c, the trace by each probe) from ∂G V."""
        forms = np.einsum("ij,ij->j", coef, products[:, count : count + t])
        each = np.einsum("ij,ij->j", root * probes.x, products[:, :count])
        if system.offset:
            each = each - float(V[:, -1] @ products[:, -1]) / total
        return forms, each

    found = []
    for slope in slope_operators(seen, system.K):
        forms, each = measured(slope @ V)
        if below.rank:
            known = BelowSlope(system, slope)
            each = each + known.trace(R) - known.forms(probes.q)
        found.append((forms, each))
    forms, each = measured(system.mu / root**2 * V)
    known_noise = system.n - below.rank + system.mu * float(np.trace(R))
    found.append((forms, each + known_noise - system.mu * np.square(probes.q).sum(axis=0)))
    forms, each = np.stack([f for f, _ in found]), np.stack([e for _, e in found])
    errors = each.std(axis=1, ddof=1) / np.sqrt(count) if count > 1 else np.full(len(each), np.inf)
    return LikelihoodSlopes(forms, each.mean(axis=1), errors)
