"""Numbers as parameters, and powers of them."""

from __future__ import annotations

import numbers
from typing import Any


def is_number(x: Any) -> bool:
    """A real number, and no truth value."""
    return isinstance(x, numbers.Real) and not isinstance(x, bool)


def is_integer(x: Any) -> bool:
    """A whole number, in whatever numeric type."""
    return is_number(x) and float(x).is_integer()


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
