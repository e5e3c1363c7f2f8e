"""Symbols: what a formula is called with in place of numbers, so that it can be written down."""

from __future__ import annotations

from typing import Any

import numpy as np


class NotTraceable(TypeError):
    """This formula can't be written down; the message says why."""


class Recorder:
    """Whoever notes what is done with symbols."""

    def apply(self, name: str, *inputs: Any) -> Any:
        """What the function that NumPy calls by this name makes of symbols and numbers."""
        raise NotImplementedError

    def numpy(self, name: str, *inputs: Any, **options: Any) -> Any:
        """`apply`, of functions that NumPy itself was called with."""
        return self.apply(name, *inputs, **options)


def _operator(name: str, swapped: bool = False) -> Any:
    if swapped:
        return lambda self, other: self.recorder.apply(name, other, self)
    return lambda self, *other: self.recorder.apply(name, self, *other)


def _method(name: str) -> Any:
    return lambda self, *args, **options: self.recorder.numpy(name, self, *args, **options)


class Symbol:
    """A value that will be computed. What Python or NumPy does with it, its recorder notes."""

    __slots__ = ("place", "recorder")

    # Formulas look at these; what they are is decided when the code runs.
    ndim, dtype, shape = 2, np.dtype(np.float64), ("n", "t")

    def __init__(self, recorder: Any, place: Any):
        self.recorder, self.place = recorder, place

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        return self.recorder.numpy(name, *inputs, **options)

    def __array_function__(self, function, types, args, kwargs):
        return self.recorder.numpy(function.__name__, *args, **kwargs)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotTraceable("its formula turns values into arrays")

    def __bool__(self) -> bool:
        raise NotTraceable("its formula branches on values")

    def __float__(self) -> float:
        raise NotTraceable("its formula asks for a value")

    # -- methods of arrays -------------------------------------------------------------------------

    sum, max, clip = (_method(name) for name in ("sum", "max", "clip"))

    def astype(self, dtype: Any, copy: bool = True) -> Symbol:
        return self.recorder.numpy("astype", self, dtype)

    # -- operators ---------------------------------------------------------------------------------

    __add__, __radd__ = _operator("add"), _operator("add", swapped=True)
    __sub__, __rsub__ = _operator("subtract"), _operator("subtract", swapped=True)
    __mul__, __rmul__ = _operator("multiply"), _operator("multiply", swapped=True)
    __truediv__, __rtruediv__ = _operator("divide"), _operator("divide", swapped=True)
    __pow__, __rpow__ = _operator("power"), _operator("power", swapped=True)
    __matmul__ = _operator("matmul")
    __neg__ = _operator("negative")
    __abs__ = _operator("absolute")
    __lt__ = _operator("less")
    __le__ = _operator("less_equal")
    __gt__ = _operator("greater")
    __ge__ = _operator("greater_equal")
    __eq__ = _operator("equal")
    __ne__ = _operator("not_equal")
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
