"""Learning problems whose answer is known, and how often a bound holds on such.

On the circle [0, 1) with uniform points, the kernel k(x,z) = Σ_j (2πj)^−b 2cos(2πj(x−z)) has eigenfunctions
√2cos(2πjx) and √2sin(2πjx) with eigenvalues (2πj)^−b: they decay like i^−b. For even b it is a Bernoulli
polynomial of the distance.

On finitely many points every risk is a finite sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.special import bernoulli, comb, ndtr
from scipy.stats import binom

from mercer.kernels import Kernel
from mercer.theory.bounds import Bound
from mercer.theory.spectra import minimax_exponent

# Frequencies of the truth: what is left out of it is far below any risk one can measure.
_FREQUENCIES = 1000
_GRID = 1024


@cache
def _polynomial(b: int) -> np.polynomial.Polynomial:
    """±B_b(t)/b!, of the distance t along the circle."""
    numbers = bernoulli(b)
    coefficients = np.array([comb(b, k) * numbers[b - k] for k in range(b + 1)])
    return np.polynomial.Polynomial((-1) ** (b // 2 + 1) / math.factorial(b) * coefficients)


class CircleSpline(Kernel):
    """Σ_j (2πj)^−b 2cos(2πj(x−z)), the kernel of periodic splines, b = 2, 4, 6, ….

    H_K holds the functions of mean 0 on the circle [0, 1) whose derivative of order b/2 is square integrable.

    Eigenvalues decay like i^−b.

    Examples
    --------
    >>> CircleSpline(2)([[0.0]], [[0.0], [0.5]]).round(4)           # 1/12, −1/24
    array([[ 0.0833, -0.0417]])
    """

    def __init__(self, b=2):
        self.b = b

    def validate(self):
        super().validate()
        if self.b not in (2, 4, 6, 8):
            raise ValueError(f"CircleSpline: b must be 2, 4, 6 or 8, got {self.b!r}")

    def pairwise(self, X, Z):
        t = X[:, 0][:, None] - Z[:, 0][None, :]
        return _polynomial(self.b)(t - np.floor(t))

    def diagonal(self, X):
        return np.full(X.shape[0], _polynomial(self.b)(0.0), dtype=X.dtype)

    def amplitude(self):
        return float(_polynomial(self.b)(0.0))

    def rule(self):
        return "periodic splines: Fourier coefficients (2πj)^−b, all positive"


@dataclass(frozen=True)
class CircleProblem:
    """y = f*(x) + noise on a circle, with eigenvalues i^−b and f* just short of L^r(L²).

    f*(x) = Σ_j j^−(rb+1/2) √2cos(2πjx), so that its coefficients are those of the source condition's limit;
    its squared norm in L² is Σ_j j^−(2rb+1).

    b is even, r > 0, and the noise has this standard deviation.

    Examples
    --------
    >>> problem = CircleProblem(b=2, r=0.5)
    >>> round(problem.exponent, 4), round(problem.lam(1000), 6)     # 2rb/(2rb+1), (2π)^−2/100
    (0.6667, 0.000253)
    """

    b: int = 2
    r: float = 0.5
    noise: float = 0.5

    @property
    def kernel(self) -> CircleSpline:
        """The kernel with this spectrum."""
        return CircleSpline(self.b)

    @property
    def exponent(self) -> float:
        """a in the best possible rate n^−a of the excess risk."""
        return minimax_exponent(self.b, self.r)

    @property
    def norm_exponent(self) -> float:
        """a in the best possible rate n^−a of ‖f̂ − f*‖² in the norm of H_K; r must be more than 1/2.

        >>> CircleProblem(b=2, r=1.0).norm_exponent, CircleProblem(b=2, r=1.0).exponent
        (0.4, 0.8)
        """
        return minimax_exponent(self.b, self.r, norm=True)

    def lam(self, n: float) -> float:
        """λ = (2π)^−b n^−b/(2rb+1), which attains both (up to r = 1)."""
        return (2 * math.pi) ** -self.b * float(n) ** (-self.b / (2 * min(self.r, 1.0) * self.b + 1))

    def truth(self, X: np.ndarray) -> np.ndarray:
        """f* at points (n, 1)."""
        return _series(np.asarray(X, dtype=float)[:, 0], self.r * self.b + 0.5)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """n examples."""
        X = rng.random((n, 1))
        return X, self.truth(X) + self.noise * rng.standard_normal(n)

    def excess(self, machine, rng: np.random.Generator | None = None) -> float:
        """E (f(x) − f*(x))², on a fine grid: the excess risk, without a test sample's noise."""
        grid, truth = _on_grid(self.r * self.b + 0.5)
        return float(np.mean((np.asarray(machine.predict(grid)) - truth) ** 2))

    def squared_distance(self, machine, rng: np.random.Generator | None = None) -> float:
        """‖f̂ − f*‖² in the norm of H_K, of a machine with this problem's kernel; r must be more than 1/2.

        ‖f̂‖² − 2⟨f̂, f*⟩ + ‖f*‖², where ⟨f̂, f*⟩ = Σ c_i f*(x_i) by the reproducing property, and ‖f*‖² =
        Σ_j j^−(2rb+1) (2πj)^b. An intercept is no part of f̂: H_K has no constants.

        Examples
        --------
        >>> from mercer import KernelRidge
        >>> problem = CircleProblem(b=2, r=1.0)
        >>> X, y = problem.draw(200, np.random.default_rng(0))
        >>> machine = KernelRidge(problem.kernel, lam=problem.lam(200), offset=False).fit(X, y)
        >>> nothing = KernelRidge(problem.kernel, lam=1e6, offset=False).fit(X, y)      # f̂ = 0, nearly
        >>> bool(problem.squared_distance(machine) < 0.3 * problem.squared_distance(nothing))
        True
        """
        minimax_exponent(self.b, self.r, norm=True)  # refuses an f* without a norm
        f = machine.function_
        if getattr(f, "kernel", None) != self.kernel:
            raise ValueError(f"a machine with the kernel {self.kernel!r} is needed, this one has {f!r}")
        j = np.arange(1, _FREQUENCIES + 1)
        own = float(np.sum(j ** -(2.0 * self.r * self.b + 1) * (2 * np.pi * j) ** self.b))
        crossed = float(np.sum(np.asarray(f.coef, dtype=float).ravel() * self.truth(f.points)))
        return max(float(f.squared_norm()) - 2 * crossed + own, 0.0)


def _series(x: np.ndarray, power: float) -> np.ndarray:
    """Σ_j j^−power √2cos(2πjx)."""
    j = np.arange(1, _FREQUENCIES + 1)
    return np.cos(2 * np.pi * x[:, None] * j) @ (math.sqrt(2) * j**-power)


@cache
def _on_grid(power: float) -> tuple[np.ndarray, np.ndarray]:
    """Points of a grid, and the series there: many machines are compared with it."""
    grid = (np.arange(_GRID) + 0.5) / _GRID
    return grid[:, None], _series(grid, power)


@dataclass(frozen=True)
class PointsProblem:
    """Points i/m on [0, 1), each as likely; y = +1 with probability ½ + ½(1 − 2·noise)·sign sin(2πx).

    For numbers instead of labels y = sin(2πx) ± spread, both signs equally likely.

    There are m points; a label is wrong with probability `noise`.

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

    `promised` is 1 − δ, or None for a bound on the average, which holds if its mean is above that of the
    risks. `bound` and `risk` are means over the repetitions, `error` the standard error of their difference.

    Examples
    --------
    >>> from mercer.theory import binomial_bound, coverage
    >>> found = coverage(lambda rng: [(binomial_bound(rng.binomial(50, 0.2), 50), 0.2)], 100)
    >>> kept = next(iter(found.values()))
    >>> kept.promised, kept.kept, bool(kept.bound > kept.risk)
    (0.95, True, True)
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
    """How often each bound holds, by name and what it bounds, if an experiment of known risks is repeated.

    A trial is a function of a random generator that returns (bound, true risk) pairs. `progress` is called
    with a line of text after every tenth of the work.

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
