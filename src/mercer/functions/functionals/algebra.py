"""Functionals and how they combine: sums, multiples, products, powers, the chain rule."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.functions import Function


class Functional(ABC):
    """A real function of functions: ``E(f)`` is its value at f, ``E.gradient(f)`` its gradient there.

    ``+ - * / **`` with numbers and other functionals, `exp`, `log` and `sqrt` build new ones; `compose`
    takes any smooth function of a number. A new functional defines ``__call__`` and ``gradient``.

    Examples
    --------
    >>> from mercer.functions.functionals import SquaredNorm
    >>> from mercer.functions import section
    >>> from mercer.kernels import Linear
    >>> E = SquaredNorm() ** 3
    >>> f = section(Linear(), [1.0])
    >>> E(2 * f), E.gradient(2 * f).distance(3 * 4**2 * 2 * (2 * f))
    (64.0, 0.0)
    """

    __array_ufunc__ = None  # so that numpy_scalar * E comes here
    _loose = False  # does its formula need brackets inside another one?

    @abstractmethod
    def __call__(self, f: Function) -> float:
        """E[f]."""

    @abstractmethod
    def gradient(self, f: Function) -> Function:
        """∇E[f], an element of the space of f."""

    def __add__(self, other: Any) -> Functional:
        other = _as_functional(other)
        return NotImplemented if other is None else Sum(self, other)

    def __radd__(self, other: Any) -> Functional:
        other = _as_functional(other)
        return NotImplemented if other is None else Sum(other, self)

    def __neg__(self) -> Functional:
        return Scaled(self, -1.0)

    def __sub__(self, other: Any) -> Functional:
        other = _as_functional(other)
        return NotImplemented if other is None else Sum(self, -other)

    def __rsub__(self, other: Any) -> Functional:
        return (-self) + other

    def __mul__(self, other: Any) -> Functional:
        if isinstance(other, Functional):
            return Product(self, other)
        return Scaled(self, float(other)) if _is_number(other) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Functional:
        if isinstance(other, Functional):
            return Product(self, Power(other, -1))
        return Scaled(self, 1 / float(other)) if _is_number(other) else NotImplemented

    def __rtruediv__(self, other: Any) -> Functional:
        return other * Power(self, -1)

    def __pow__(self, exponent: Any) -> Functional:
        return Power(self, exponent) if _is_number(exponent) else NotImplemented

    def exp(self) -> Functional:
        """exp(E[f])."""
        return Composition(math.exp, math.exp, self, "exp")

    def log(self) -> Functional:
        """log(E[f]), where E[f] > 0."""
        return Composition(_log, _log_slope, self, "log")

    def sqrt(self) -> Functional:
        """√E[f], where E[f] ≥ 0; differentiable where E[f] > 0."""
        return Power(self, 0.5)


class Constant(Functional):
    """E[f] = value, with gradient 0.

    Examples
    --------
    >>> from mercer.functions import section
    >>> from mercer.kernels import Linear
    >>> E, f = Constant(3.0), section(Linear(), [1.0])
    >>> E(f), len(E.gradient(f))
    (3.0, 0)
    """

    def __init__(self, value: float):
        self.value = float(value)

    def __call__(self, f):
        return self.value

    def gradient(self, f):
        return f.zero()

    def __neg__(self):
        return Constant(-self.value)

    def __repr__(self):
        return f"{self.value:g}"


class Sum(Functional):
    """E₁[f] + E₂[f] + …, written ``E1 + E2``.

    Examples
    --------
    >>> from mercer.functions.functionals import Evaluation, SquaredNorm
    >>> from mercer.kernels import Linear
    >>> Evaluation(Linear(), [1.0]) - 2 * SquaredNorm()
    f([1.]) - 2·‖f‖²
    """

    _loose = True

    def __init__(self, *terms: Functional):
        # Flat, so that the sum of thousands of terms is not thousands of calls deep.
        self.terms: tuple[Functional, ...] = tuple(
            t for term in terms for t in (term.terms if isinstance(term, Sum) else (term,))
        )

    def __call__(self, f):
        return sum(E(f) for E in self.terms)

    def gradient(self, f):
        total = f.zero()
        for E in self.terms:
            total = total + E.gradient(f)
        return total

    def __neg__(self):
        return Sum(*(-E for E in self.terms))

    def __repr__(self):
        return " + ".join(map(repr, self.terms)).replace("+ -", "- ")


class Scaled(Functional):
    """c·E[f], written ``c * E``.

    Examples
    --------
    >>> from mercer.functions.functionals import SquaredNorm
    >>> 2 * SquaredNorm()
    2·‖f‖²
    """

    _loose = True

    def __init__(self, functional: Functional, factor: float):
        self.functional, self.factor = functional, float(factor)

    def __call__(self, f):
        return self.factor * self.functional(f)

    def gradient(self, f):
        return self.factor * self.functional.gradient(f)

    def __neg__(self):
        return Scaled(self.functional, -self.factor)

    def __repr__(self):
        return ("-" if self.factor == -1 else f"{self.factor:g}·") + _in_brackets(self.functional)


class Product(Functional):
    """E₁[f]·E₂[f], written ``E1 * E2``, with gradient E₂[f]∇E₁[f] + E₁[f]∇E₂[f].

    Examples
    --------
    >>> from mercer.functions.functionals import Evaluation, SquaredNorm
    >>> from mercer.kernels import Linear
    >>> Evaluation(Linear(), [1.0]) * SquaredNorm()
    f([1.])·‖f‖²
    """

    def __init__(self, left: Functional, right: Functional):
        self.left, self.right = left, right

    def __call__(self, f):
        return self.left(f) * self.right(f)

    def gradient(self, f):
        return self.right(f) * self.left.gradient(f) + self.left(f) * self.right.gradient(f)

    def __repr__(self):
        return f"{_in_brackets(self.left)}·{_in_brackets(self.right)}"


class Composition(Functional):
    """C(E[f]) for a differentiable C: ℝ → ℝ, with gradient C'(E[f]) ∇E[f]; made by `compose`.

    Parameters
    ----------
    C, dC : callable
        C and its derivative, functions of a float.
    functional : Functional
    name : str, optional
        How C is shown.

    Examples
    --------
    >>> import math
    >>> from mercer.functions.functionals import SquaredNorm
    >>> Composition(math.sin, math.cos, SquaredNorm())
    sin(‖f‖²)
    """

    def __init__(
        self,
        C: Callable[[float], float],
        dC: Callable[[float], float],
        functional: Functional,
        name: str | None = None,
    ):
        self.C, self.dC, self.functional, self.name = C, dC, functional, name

    def __call__(self, f):
        return float(self.C(self.functional(f)))

    def gradient(self, f):
        return float(self.dC(self.functional(f))) * self.functional.gradient(f)

    def __repr__(self):
        return f"{self.name or getattr(self.C, '__name__', 'C')}({self.functional!r})"


class Power(Functional):
    """E[f]^p, written ``E ** p``, with gradient p E[f]^{p−1} ∇E[f].

    A value that has no real p-th power, or no derivative there, is refused.

    Examples
    --------
    >>> from mercer.functions.functionals import SquaredNorm
    >>> SquaredNorm() ** 0.5
    (‖f‖²)^0.5
    """

    def __init__(self, functional: Functional, exponent: float):
        self.functional, self.exponent = functional, exponent

    def __call__(self, f):
        return self._raise(self.functional(f), self.exponent)

    def gradient(self, f):
        if self.exponent == 0:
            return f.zero()
        slope = self.exponent * self._raise(self.functional(f), self.exponent - 1)
        return slope * self.functional.gradient(f)

    def _raise(self, s: float, p: float) -> float:
        if (s < 0 and not float(p).is_integer()) or (s == 0 and p < 0):
            raise ValueError(f"{self!r} has no value or no derivative where {self.functional!r} is {s:g}")
        return float(s**p)

    def __repr__(self):
        inner = repr(self.functional)
        if self.functional._loose or isinstance(self.functional, Product) or inner[-1] == "²":
            inner = f"({inner})"
        return inner + ("²" if self.exponent == 2 else f"^{self.exponent:g}")


def compose(C: Callable[[float], float], dC: Callable[[float], float], E: Functional) -> Composition:
    """C(E[f]) for a differentiable function C of a number, given with its derivative dC.

    Examples
    --------
    >>> import math
    >>> from mercer.functions.functionals import SquaredNorm
    >>> from mercer.functions import section
    >>> from mercer.kernels import Linear
    >>> E = compose(math.sin, math.cos, SquaredNorm())
    >>> E(0 * section(Linear(), [1.0]))
    0.0
    """
    return Composition(C, dC, E)


def _as_functional(E: Any) -> Functional | None:
    if isinstance(E, Functional):
        return E
    return Constant(E) if _is_number(E) else None


def _is_number(c: Any) -> bool:
    return np.ndim(c) == 0 and np.asarray(c).dtype.kind in "fiu"


def _in_brackets(E: Functional) -> str:
    return f"({E!r})" if E._loose else repr(E)


def _log(s: float) -> float:
    _require_positive(s)
    return math.log(s)


def _log_slope(s: float) -> float:
    _require_positive(s)
    return 1 / s


def _require_positive(s: float) -> None:
    if s <= 0:
        raise ValueError(f"the logarithm of a functional needs E[f] > 0, but it is {s:g}")
