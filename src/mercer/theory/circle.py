"""A learning problem whose answer is known: functions on a circle, of a spectrum and smoothness one chooses.

On the circle [0, 1) with uniform points, the kernel k(x,z) = Σ_j (2πj)^−b 2cos(2πj(x−z)) has eigenfunctions
√2cos(2πjx) and √2sin(2πjx) with eigenvalues (2πj)^−b: they decay like i^−b. For even b it is a Bernoulli
polynomial of the distance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import bernoulli, comb

from mercer.kernels import Kernel
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

    Parameters
    ----------
    b : even int
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

    Parameters
    ----------
    b : even int
    r : float > 0
    noise : standard deviation of the noise

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

    def lam(self, n: float) -> float:
        """λ = (2π)^−b n^−b/(2rb+1), which attains it (up to r = 1)."""
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


def _series(x: np.ndarray, power: float) -> np.ndarray:
    """Σ_j j^−power √2cos(2πjx)."""
    j = np.arange(1, _FREQUENCIES + 1)
    return np.cos(2 * np.pi * x[:, None] * j) @ (math.sqrt(2) * j**-power)


@cache
def _on_grid(power: float) -> tuple[np.ndarray, np.ndarray]:
    """Points of a grid, and the series there: many machines are compared with it."""
    grid = (np.arange(_GRID) + 0.5) / _GRID
    return grid[:, None], _series(grid, power)
