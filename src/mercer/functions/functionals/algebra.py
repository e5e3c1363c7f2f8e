"""Functionals and how they combine: linear combinations, and smooth functions of them by the chain rule."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from mercer.functions import Function
from mercer.functions.base import is_number


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
    loose = False  # does its formula need brackets inside a product?

    @abstractmethod
    def __call__(self, f: Function) -> float:
        """E[f]."""

    @abstractmethod
    def gradient(self, f: Function) -> Function:
        """∇E[f], an element of the space of f."""

    def __add__(self, other: Any) -> Functional:
        terms = _terms(other)
        return NotImplemented if terms is None else Combination(*_terms(self), *terms)

    def __radd__(self, other: Any) -> Functional:
        return Combination((float(other), None), *_terms(self)) if is_number(other) else NotImplemented

    def __neg__(self) -> Functional:
        return Combination(*((-factor, E) for factor, E in _terms(self)))

    def __sub__(self, other: Any) -> Functional:
        return self + -other if _terms(other) is not None else NotImplemented

    def __rsub__(self, other: Any) -> Functional:
        return (-self).__radd__(other)

    def __mul__(self, other: Any) -> Functional:
        if isinstance(other, Functional):
            return Composition(
                lambda s, t: s * t,
                lambda s, t: (t, s),
                (self, other),
                lambda: f"{_in_brackets(self)}·{_in_brackets(other)}",
            )
        return Combination((float(other), self)) if is_number(other) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Functional:
        if isinstance(other, Functional):
            return self * other**-1
        return self * (1 / float(other)) if is_number(other) else NotImplemented

    def __rtruediv__(self, other: Any) -> Functional:
        return other * self**-1

    def __pow__(self, exponent: Any) -> Functional:
        """E[f]^p; a value that has no real p-th power, or no derivative there, is refused."""
        if not is_number(exponent):
            return NotImplemented

        def power(s: float, p: float) -> float:
            if (s < 0 and not float(p).is_integer()) or (s == 0 and p < 0):
                raise ValueError(f"{made!r} has no value or no derivative where {self!r} is {s:g}")
            return float(s**p)

        def words() -> str:
            inner = repr(self)
            product = isinstance(self, Composition) and len(self.parts) > 1
            inner = f"({inner})" if self.loose or product or inner[-1] == "²" else inner
            return inner + ("²" if exponent == 2 else f"^{exponent:g}")

        made = Composition(
            lambda s: power(s, exponent),
            lambda s: (exponent * power(s, exponent - 1) if exponent else 0.0,),
            (self,),
            words,
        )
        return made

    def exp(self) -> Functional:
        """exp(E[f])."""
        return compose(math.exp, math.exp, self)

    def log(self) -> Functional:
        """log(E[f]), where E[f] > 0."""
        return Composition(
            lambda s: math.log(_positive(s)), lambda s: (1 / _positive(s),), (self,), lambda: f"log({self!r})"
        )

    def sqrt(self) -> Functional:
        """√E[f], where E[f] ≥ 0; differentiable where E[f] > 0."""
        return self**0.5


class Combination(Functional):
    """Σ_j c_j E_j[f], written ``2 * E1 - E2 + 3``; a term without a functional is a constant.

    Examples
    --------
    >>> from mercer.functions.functionals import Evaluation, SquaredNorm
    >>> from mercer.kernels import Linear
    >>> Evaluation(Linear(), [1.0]) - 2 * SquaredNorm() + 3
    f([1.]) - 2·‖f‖² + 3
    """

    def __init__(self, *terms: tuple[float, Functional | None]):
        self.terms = terms
        self.loose = len(terms) != 1 or terms[0][1] is not None

    def __call__(self, f):
        return float(sum(c if E is None else c * E(f) for c, E in self.terms))

    def gradient(self, f):
        total = f.zero()
        for c, E in self.terms:
            total = total if E is None else total + c * E.gradient(f)
        return total

    def __repr__(self):
        return " + ".join(_term(*term) for term in self.terms).replace("+ -", "- ")


class Composition(Functional):
    """C(E₁[f], …, E_m[f]) for a differentiable C, with gradient Σ_j ∂_jC ∇E_j[f]: the chain rule.

    Parameters
    ----------
    C : function of m numbers
    slopes : function of m numbers
        Its m partial derivatives.
    parts : m functionals
    words : function that returns how it is written

    Examples
    --------
    >>> import math
    >>> from mercer.functions.functionals import SquaredNorm
    >>> Composition(math.sin, lambda s: (math.cos(s),), [SquaredNorm()], lambda: "sin(‖f‖²)")
    sin(‖f‖²)
    """

    def __init__(
        self,
        C: Callable[..., float],
        slopes: Callable[..., Sequence[float]],
        parts: Sequence[Functional],
        words: Callable[[], str],
    ):
        self.C, self.slopes, self.parts, self.words = C, slopes, parts, words

    def __call__(self, f):
        return float(self.C(*(E(f) for E in self.parts)))

    def gradient(self, f):
        slopes = self.slopes(*(E(f) for E in self.parts))
        total = f.zero()
        for slope, E in zip(slopes, self.parts, strict=True):
            total = total + float(slope) * E.gradient(f)
        return total

    def __repr__(self):
        return self.words()


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
    return Composition(C, lambda s: (dC(s),), (E,), lambda: f"{getattr(C, '__name__', 'C')}({E!r})")


def constant(value: float) -> Functional:
    """E[f] = value, with gradient 0.

    Examples
    --------
    >>> from mercer.functions import section
    >>> from mercer.kernels import Linear
    >>> E, f = constant(3.0), section(Linear(), [1.0])
    >>> E(f), len(E.gradient(f))
    (3.0, 0)
    """
    return Combination((float(value), None))


def _terms(E: Any) -> Any:
    """A functional or a number as terms of a sum, flat: thousands of them are not thousands of calls deep."""
    if isinstance(E, Combination):
        return E.terms
    if isinstance(E, Functional):
        return ((1.0, E),)
    return ((float(E), None),) if is_number(E) else None


def _term(factor: float, E: Functional | None) -> str:
    if E is None:
        return f"{factor:g}"
    sign = {1.0: "", -1.0: "-"}.get(factor, f"{factor:g}·")
    return sign + (_in_brackets(E) if sign else repr(E))


def _in_brackets(E: Functional) -> str:
    return f"({E!r})" if E.loose else repr(E)


def _positive(s: float) -> float:
    if s <= 0:
        raise ValueError(f"the logarithm of a functional needs E[f] > 0, but it is {s:g}")
    return s
