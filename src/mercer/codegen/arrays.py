"""Programmes evaluated on arrays, NumPy's or torch's: simple, for checks and rare functions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from mercer.codegen.programme import Programme

_ARITHMETIC = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv}


def evaluate(programme: Programme, sources: Mapping[str, Callable[..., Any]], xp: Any) -> Any:
    """The programme's result, in the namespace xp of the arrays that its sources give.

    >>> import numpy as np
    >>> programme = Programme((("x",), ("constant", 0), ("max", 0, 1), ("sqrt", 2)), (4.0,))
    >>> evaluate(programme, {"x": lambda: np.array([1.0, 9.0])}, np)
    array([2., 3.])
    """

    def apply(operation: str, *values: Any) -> Any:
        if operation in _ARITHMETIC:
            return _ARITHMETIC[operation](*values)
        if operation in ("max", "min"):  # torch has them for two arrays, or for an array and then a number
            array, bound = reversed(values) if isinstance(values[0], float) else values
            return xp.clip(array, *((bound, None) if operation == "max" else (None, bound)))
        return getattr(xp, operation)(*values)

    return programme.evaluate(apply, sources)
