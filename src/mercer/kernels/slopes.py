"""∂k/∂log θ as a function of two points, with a formula: engines multiply by it as they do by a kernel
matrix.

A kernel's formula is a composition of profiles and combinations, each written in operations of a namespace.
Called with dual numbers whose parts are symbols it gives the formula of the derivative, so that a product
with the matrix ∂K/∂log θ is one compiled loop on the CPU, or one on a GPU, and needs no n×n array.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer.codegen.formula import PairTracer, View
from mercer.codegen.symbols import NotTraceable
from mercer.kernels.algebra import Constant
from mercer.kernels.base import Kernel
from mercer.kernels.composite import _Combined
from mercer.kernels.periodic import Periodic
from mercer.kernels.profiled import Profiled
from mercer.kernels.statistics import CircleTurn, DotProduct, L1Distance, SquaredDistance
from mercer.kernels.transforms import LengthScales, OnColumns, _Transformed
from mercer.kernels.unary import Scale

# Where points coincide √s has no slope; 0/0 becomes 0 by a divisor that is no smaller than this.
_LEAST_ROOT = 1e-5
# What differences are multiplied by, so that they are at least 1 where they are not 0.
_APART = 2.0**64
# s(x/ℓ, z/ℓ) is homogeneous: ∂s/∂log ℓ_k is −degree times what coordinate k adds to it.
_DEGREES = {SquaredDistance: 2.0, DotProduct: 2.0, L1Distance: 1.0}


class LogSlope(Kernel):
    """∂k(x,z)/∂log θ for one positive parameter θ of a kernel: no kernel, but a symmetric function like one.

    Parameters
    ----------
    kernel : Kernel
        Without parameters left to the data.
    name : str
        The parameter, as `gradient_log_params` names it ("sigma", "left__kernel__sigma", …).
    index : int, optional
        Which one, of a parameter with one value per feature.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.engines import Tiled
    >>> from mercer.kernels import Gaussian
    >>> from mercer.kernels.slopes import LogSlope
    >>> X = np.linspace(0, 1, 5)[:, None]
    >>> slope = Tiled(fused=True).operator(LogSlope(Gaussian(0.5), "sigma"), X)
    >>> bool(np.allclose(slope @ np.eye(5), Gaussian(0.5).gradient_log_params(X, X)["sigma"]))
    True
    """

    indefinite = True

    def __init__(self, kernel, name, index=None):
        self.kernel = kernel
        self.name = name
        self.index = index

    @property
    def vectors(self):
        return self.kernel.vectors

    @property
    def sparse(self):
        return self.kernel.sparse

    def points(self, X):
        return self.kernel.points(X)

    def prepared(self, X):
        return X

    def pairwise(self, X, Z):
        slope = self.kernel.gradient_log_params(X, Z)[self.name]
        return np.array(slope if self.index is None else slope[..., self.index])

    def diagonal(self, X):
        rows = (self.pairwise(X[i : i + 1], X[i : i + 1])[0, 0] for i in range(X.shape[0]))
        return np.fromiter(rows, np.float64, X.shape[0])

    def formula(self, tracer, view):
        slope = _formula(self.kernel, self.name, self.index, _Namespace(tracer), view).slope
        return tracer.number(0.0) if slope is None else slope


def log_slopes(kernel: Kernel, X: Any) -> dict[tuple[str, int | None], LogSlope]:
    """Every derivative of a resolved kernel in the logarithm of a parameter, by name and, of several, number.

    >>> from mercer.kernels import Gaussian
    >>> list(log_slopes(2 * Gaussian(1.0).scaled([1.0, 3.0]), np.zeros((1, 2))))
    [('factor', None), ('kernel__lengths', 0), ('kernel__lengths', 1), ('kernel__kernel__sigma', None)]
    """
    out: dict[tuple[str, int | None], LogSlope] = {}
    for name, value in kernel.gradient_log_params(X[:1], X[:1]).items():
        indices = [None] if np.ndim(value) == 2 else range(np.shape(value)[-1])
        out |= {(name, index): LogSlope(kernel, name, index) for index in indices}
    return out


class _Dual:
    """value + ε·slope, both symbols or numbers; slope None is 0, which no instruction is spent on."""

    def __init__(self, value: Any, slope: Any, xp: _Namespace):
        self.value, self.slope, self.xp = value, slope, xp

    def _other(self, o: Any) -> _Dual:
        return o if isinstance(o, _Dual) else _Dual(o, None, self.xp)

    def _new(self, value: Any, slope: Any) -> _Dual:
        return _Dual(value, slope, self.xp)

    def __add__(self, o):
        o = self._other(o)
        return self._new(self.value + o.value, _sum(self.slope, o.slope))

    def __neg__(self):
        return self._new(-self.value, _times(self.slope, -1.0))

    def __sub__(self, o):
        return self + (-self._other(o))

    def __rsub__(self, o):
        return self._other(o) - self

    def __mul__(self, o):
        o = self._other(o)
        slope = _sum(_times(self.slope, o.value), _times(o.slope, self.value))
        return self._new(self.value * o.value, slope)

    def __truediv__(self, o):
        o = self._other(o)
        quotient = self.value / o.value
        above = _sum(self.slope, _times(o.slope, -1.0 * quotient))
        return self._new(quotient, None if above is None else above / o.value)

    def __rtruediv__(self, o):
        return self._other(o) / self

    def __pow__(self, p):
        if isinstance(p, _Dual) and p.slope is not None:
            return self.xp.exp(p * self.xp.log(self))
        p = p.value if isinstance(p, _Dual) else p
        inner = None if self.slope is None else _times(self.slope, p * self.value ** (p - 1))
        return self._new(self.value**p, inner)

    __radd__, __rmul__ = __add__, __mul__


def _sum(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else a + b


def _times(slope: Any, factor: Any) -> Any:
    return None if slope is None else slope * factor


class _Namespace:
    """NumPy's names, for dual numbers of symbols."""

    pi = math.pi

    def __init__(self, tracer: PairTracer):
        self.tracer = tracer

    def _apply(self, x: Any, name: str, slope: Any) -> _Dual:
        x = x if isinstance(x, _Dual) else _Dual(x, None, self)
        # A number is a number: NumPy's own function, and no instruction.
        plain = isinstance(x.value, (int, float))
        value = getattr(math, name)(x.value) if plain else getattr(self.tracer, name)(x.value)
        return _Dual(value, None if x.slope is None else x.slope * slope(x.value, value), self)

    def exp(self, x):
        return self._apply(x, "exp", lambda x, y: y)

    def log(self, x):
        return self._apply(x, "log", lambda x, y: 1.0 / x)

    def sin(self, x):
        return self._apply(x, "sin", lambda x, y: self.tracer.cos(x))

    def cos(self, x):
        return self._apply(x, "cos", lambda x, y: -self.tracer.sin(x))

    def tanh(self, x):
        return self._apply(x, "tanh", lambda x, y: 1.0 - y * y)

    def sqrt(self, x):
        return self._apply(x, "sqrt", lambda x, y: 0.5 / self.tracer.maximum(y, _LEAST_ROOT))

    def clip(self, x, low, high):
        x = x if isinstance(x, _Dual) else _Dual(x, None, self)
        value = self.tracer.clip(x.value, low, high)
        if x.slope is None:
            return _Dual(value, None, self)
        # 1 between the bounds, and 0 on them and beyond.
        above, below = ((x.value - low) * _APART, (high - x.value) * _APART)
        inside = self.tracer.clip(above, 0.0, 1.0) * self.tracer.clip(below, 0.0, 1.0)
        return _Dual(value, x.slope * inside, self)

    def __getattr__(self, name):
        raise NotTraceable(f"xp.{name} has no derivative in symbols")


def _formula(kernel: Kernel, name: str, index: int | None, xp: _Namespace, view: View) -> _Dual:
    """k(x, z) and its derivative in the logarithm of the parameter of this (nested) name."""
    first, _, rest = name.partition("__")
    if isinstance(kernel, Scale) and name == "factor":
        value = kernel.formula(xp.tracer, view)
        return _Dual(value, value, xp)
    if isinstance(kernel, Constant) and name == "value":
        return _Dual(kernel.formula(xp.tracer, view), xp.tracer.number(kernel.value), xp)
    if isinstance(kernel, LengthScales) and name == "lengths":
        return _of_lengths(kernel.kernel, index, xp, view.then(kernel))
    if isinstance(kernel, _Transformed) and first == "kernel":
        return _formula(kernel.kernel, rest, index, xp, view.then(kernel))
    if isinstance(kernel, _Combined) and first in kernel.parts:

        def of_part(part: str, k: Kernel) -> _Dual:
            if part == first:
                return _formula(k, rest, index, xp, view)
            return _Dual(k.formula(xp.tracer, view), None, xp)

        return _combined(kernel, xp, of_part)
    if type(kernel) is Periodic and name == "period":
        turn = xp.tracer.statistic(CircleTurn(kernel.period), view)
        return _dual(kernel._plain().profile(_Dual(_statistic(kernel, xp, view), turn, xp), xp), xp)
    own = type(kernel).gradient_log_params is Profiled.gradient_log_params or type(kernel) is Periodic
    if isinstance(kernel, Profiled) and own and name in kernel.log_params:
        k = kernel._plain()
        value = float(getattr(k, name))
        statistic = _Dual(_statistic(k, xp, view), None, xp)
        return _dual(k.replace(**{name: _Dual(value, value, xp)}).profile(statistic, xp), xp)
    raise NotTraceable(f"the derivative of {type(kernel).__name__} in {name} has no formula")


def _of_lengths(kernel: Kernel, index: int | None, xp: _Namespace, view: View) -> _Dual:
    """The same for length scale number `index`, of a kernel that sees points divided by them."""
    if isinstance(kernel, Profiled) and type(kernel.statistic) in _DEGREES:
        k, tracer = kernel._plain(), xp.tracer
        alone = tracer.statistic(k.statistic, view.then(OnColumns(k, [index])))
        slope = alone * -_DEGREES[type(k.statistic)]
        return _dual(k.profile(_Dual(_statistic(k, xp, view), slope, xp), xp), xp)
    if isinstance(kernel, Constant):
        return _Dual(kernel.formula(xp.tracer, view), None, xp)
    if isinstance(kernel, _Combined):
        return _combined(kernel, xp, lambda _, k: _of_lengths(k, index, xp, view))
    raise NotTraceable(f"the derivative of {type(kernel).__name__} in length scales has no formula")


def _statistic(kernel: Profiled, xp: _Namespace, view: View) -> Any:
    return xp.tracer.statistic(kernel.statistic, view)


def _combined(kernel: _Combined, xp: _Namespace, of_part: Any) -> _Dual:
    values = [of_part(part, getattr(kernel, part)) for part in kernel.parts]
    return _dual(kernel.combine(*values, xp=xp), xp)


def _dual(value: Any, xp: _Namespace) -> _Dual:
    return value if isinstance(value, _Dual) else _Dual(value, None, xp)
