"""k(x,x) + k(z,z) − 2k(x,z) without cancellation, where a kernel's formula allows it.

Near points have large k(x,x) and k(x,z) that agree in most digits; their difference would be rounding. A
function of a distance falls from its value at 0, so its formula is evaluated with numbers that carry how far
they have fallen (`Fall`): exp becomes expm1, a root the difference of two roots. Of x·z itself it is ‖x−z‖².
Sums, multiples and transformations add up and hand on; what is left is computed as it stands, in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.codegen.formula import View, overridden
from mercer.codegen.symbols import NotTraceable
from mercer.kernels.base import Kernel
from mercer.kernels.formula import trace
from mercer.kernels.statistics import Statistic

# Without a formula, small matrices are made of which the diagonal is kept.
_SIDE = 16


class AllPairs:
    """Between which points: every x with every z."""

    def statistic(self, statistic: Statistic, X: Any, Z: Any) -> np.ndarray:
        return statistic.pairwise(X, Z)

    def diagonals(self, kernel: Kernel, X: Any, Z: Any) -> tuple[np.ndarray, np.ndarray]:
        """k(x,x) and k(z,z) in shapes that go together."""
        return kernel.diagonal(X)[:, None], kernel.diagonal(Z)[None, :]

    def values(self, kernel: Kernel, X: Any, Z: Any) -> np.ndarray:
        return kernel.pairwise(X, Z)

    def plainly(self, kernel: Kernel, X: Any, Z: Any) -> np.ndarray:
        """From three values, whatever cancels."""
        a, b = self.diagonals(kernel, X, Z)
        return a + b - 2 * self.values(kernel, X, Z)


class InOrder(AllPairs):
    """The first x with the first z, the second with the second, …"""

    def statistic(self, statistic: Statistic, X: Any, Z: Any) -> np.ndarray:
        return statistic.paired(X, Z)

    def diagonals(self, kernel: Kernel, X: Any, Z: Any) -> tuple[np.ndarray, np.ndarray]:
        return kernel.diagonal(X), kernel.diagonal(Z)

    def values(self, kernel: Kernel, X: Any, Z: Any) -> np.ndarray:
        return paired(kernel, X, Z)


class _InNumPy:
    """NumPy, and of pairs in order what formulas ask for."""

    def __init__(self, X: Any, Z: Any):
        self.X, self.Z = X, Z

    def statistic(self, statistic: Statistic, view: View) -> np.ndarray:
        return statistic.paired(view.points(self.X), view.points(self.Z))

    def both(self, name: Any, view: View, compute: Callable[[Any], np.ndarray]) -> tuple[Any, Any]:
        return compute(view.points(self.X)), compute(view.points(self.Z))

    def number(self, value: Any) -> float:
        return float(value)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def paired(kernel: Kernel, X: Any, Z: Any) -> np.ndarray:
    """k(x_i, z_i) for checked points of a resolved kernel, shape (n,), by its formula if it has one.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> X, Z = np.array([[0.0], [2.0]]), np.array([[1.0], [2.0]])
    >>> paired(Gaussian(1.0) + Linear(), X, Z).round(4)
    array([0.6065, 5.    ])
    """
    n = X.shape[0]
    try:
        trace(kernel)
    except NotTraceable:
        side = _SIDE if kernel.vectors else 1
        parts = [np.diagonal(kernel.pairwise(X[a : a + side], Z[a : a + side])) for a in range(0, n, side)]
        return np.concatenate(parts) if parts else np.zeros(0)
    value = kernel.formula(_InNumPy(X, Z), View())  # type: ignore[arg-type]
    return np.array(np.broadcast_to(value, (n,)))


class Fall:
    """A number by its value somewhere (where x = z), and by how much less it is here."""

    __array_ufunc__ = None

    def __init__(self, top: Any, fall: Any):
        self.top, self.fall = top, fall

    @staticmethod
    def of(v: Any) -> Fall:
        return v if isinstance(v, Fall) else Fall(float(v), 0.0)

    def __add__(self, v):
        v = Fall.of(v)
        return Fall(self.top + v.top, self.fall + v.fall)

    __radd__ = __add__

    def __neg__(self):
        return Fall(-self.top, -self.fall)

    def __sub__(self, v):
        return self + -Fall.of(v)

    def __rsub__(self, v):
        return -self + v

    def __mul__(self, v):
        v = Fall.of(v)
        return Fall(self.top * v.top, self.top * v.fall + v.top * self.fall - self.fall * v.fall)

    __rmul__ = __mul__

    def __truediv__(self, v):
        return self * Fall.of(v) ** -1

    def __rtruediv__(self, v):
        return self**-1 * v

    def __pow__(self, p):
        if isinstance(p, Fall):
            raise NotTraceable("a power with a varying exponent")
        raised = self.top**p
        if np.any(raised == 0):
            return Fall(raised, raised - (self.top - self.fall) ** p)
        with np.errstate(divide="ignore"):  # of what has fallen to 0
            return Fall(raised, -raised * np.expm1(p * np.log1p(-self.fall / self.top)))


class _Falls:
    """The functions that formulas use, of `Fall`s."""

    @staticmethod
    def exp(v):
        v = Fall.of(v)
        top = np.exp(v.top)
        return Fall(top, -top * np.expm1(-v.fall))

    @staticmethod
    def sqrt(v):
        v = Fall.of(v)
        top, here = v.top**0.5, np.sqrt(v.top - v.fall)
        return Fall(top, v.fall / np.where(top + here == 0, 1, top + here))

    @staticmethod
    def log(v):
        v = Fall.of(v)
        with np.errstate(divide="ignore"):
            return Fall(np.log(v.top), -np.log1p(-v.fall / v.top))

    @staticmethod
    def clip(v, low, high):
        v = Fall.of(v)
        top = np.clip(v.top, low, high)
        return Fall(top, top - np.clip(v.top - v.fall, low, high))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotTraceable(f"{name} has no exact difference here")


FALLS = _Falls()


class _Falling(_Falls):
    """A tracer for formulas of statistics that are 0 where x = z."""

    def __init__(self, X: Any, Z: Any, pairs: AllPairs):
        self.X, self.Z, self.pairs = X, Z, pairs

    def statistic(self, statistic: Statistic, view: View) -> Fall:
        if not statistic.distance:
            raise NotTraceable(f"{statistic.name} is not 0 where x = z")
        return Fall(0.0, -self.pairs.statistic(statistic, view.points(self.X), view.points(self.Z)))

    def both(self, name: Any, view: View, compute: Any) -> Any:
        raise NotTraceable("numbers of single points")

    @staticmethod
    def number(value: Any) -> Fall:
        return Fall.of(value)


def separation(kernel: Kernel, X: Any, Z: Any, pairs: AllPairs) -> np.ndarray:
    """k(x,x) + k(z,z) − 2k(x,z) for checked float64 points of a resolved kernel, as exactly as is known."""
    if not _stated(kernel):
        return pairs.plainly(kernel, X, Z)
    with np.errstate(over="ignore", invalid="ignore"):
        D = kernel.separation(X, Z, pairs)
        # Where distances are too large for a float, differences of them are nothing; k may be something.
        lost = np.isnan(D)
        return np.where(lost, pairs.plainly(kernel, X, Z), D) if lost.any() else D


def _stated(kernel: Kernel) -> bool:
    """No part has values of its own further down than the class that says how far points are apart."""
    source = "formula" if type(kernel).separation is Kernel.separation else "separation"
    return not overridden(kernel, source, "pairwise") and all(map(_stated, kernel.children().values()))


def by_formula(kernel: Kernel, X: Any, Z: Any, pairs: AllPairs) -> np.ndarray:
    """By how much the formula falls from x = z, twice; plainly where it is none of a distance alone."""
    try:
        value = Fall.of(kernel.formula(_Falling(X, Z, pairs), View()))  # type: ignore[arg-type]
    except NotTraceable:
        return pairs.plainly(kernel, X, Z)
    shape = np.shape(pairs.statistic(_NUMBER, X, Z)) if np.ndim(value.fall) == 0 else np.shape(value.fall)
    return np.array(np.broadcast_to(2 * value.fall, shape))


def of_normalised(separated: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """‖φ(x)/‖φ(x)‖ − φ(z)/‖φ(z)‖‖² from ‖φ(x) − φ(z)‖², k(x,x) and k(z,z); a vector 0 stays 0."""
    p, q = np.sqrt(np.maximum(a, 0)), np.sqrt(np.maximum(b, 0))
    there = (p > 0) & (q > 0)
    apart = (separated - (p - q) ** 2) / np.where(there, p, 1) / np.where(there, q, 1)
    return np.where(there, apart, (p > 0) * 1.0 + (q > 0) * 1.0)


class _Nothing(Statistic):
    """0 for each pair: only its shape is of interest."""

    def pairwise(self, X, Z):
        return np.zeros((X.shape[0], Z.shape[0]))

    def paired(self, X, Z):
        return np.zeros(X.shape[0])


_NUMBER = _Nothing()
