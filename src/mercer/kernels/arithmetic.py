"""Numbers as parameters."""

from __future__ import annotations

import numbers
from typing import Any


def is_number(x: Any) -> bool:
    """A real number, and no truth value."""
    return isinstance(x, numbers.Real) and not isinstance(x, bool)


def is_integer(x: Any) -> bool:
    """A whole number, in whatever numeric type."""
    return is_number(x) and float(x).is_integer()
