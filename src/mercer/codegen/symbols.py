"""Symbols: what a kernel's profile is called with when its formula is traced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mercer.codegen.formula import Tracer


class NotTraceable(TypeError):
    """This kernel has no formula that could be traced; the message says why."""


class Symbol:
    """The result of an instruction; arithmetic on it records more of them."""

    __array_ufunc__ = None
    __slots__ = ("position", "tracer")

    def __init__(self, tracer: Tracer, position: int):
        self.tracer, self.position = tracer, position

    def __add__(self, o):
        return self.tracer.add(self, o)

    def __sub__(self, o):
        return self.tracer.subtract(self, o)

    def __rsub__(self, o):
        return self.tracer.subtract(o, self)

    def __mul__(self, o):
        return self.tracer.multiply(self, o)

    def __truediv__(self, o):
        return self.tracer.divide(self, o)

    def __rtruediv__(self, o):
        return self.tracer.divide(o, self)

    def __neg__(self):
        return self.tracer.multiply(self, -1.0)

    def __pow__(self, p):
        return self.tracer.power(self, p)

    def __bool__(self):
        raise NotTraceable("its formula branches on values")

    def _compare(self, o):
        raise NotTraceable("its formula compares values")

    __radd__, __rmul__ = __add__, __mul__
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _compare  # type: ignore[assignment]
    __hash__ = object.__hash__


def int_power(s: Any, p: int) -> Any:
    """s^p by squaring: products only, which every namespace has and which is exact in sign."""
    result = None
    while p:
        if p & 1:
            result = s if result is None else result * s
        p >>= 1
        if p:
            s = s * s
    return result
