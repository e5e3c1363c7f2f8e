"""Numbers that are looked up after the data: chosen from a list fixed before, every entry paid for.

A bound for a ball of radius B holds for one B, fixed beforehand. Holding for all B = 2^j at once costs a
share of δ each, and the shares add up to at most δ. Then the j that suits may be taken once the data are
there.
"""

from __future__ import annotations

import math

# The exponent that stands for 0, which no power of two is: radius 2^−60.
_NOTHING = -60


def share(j: int) -> float:
    """1/(2(|j|+1)(|j|+2)): the part of δ of stratum j. All of them together, j = …, −1, 0, 1, …, take 3/4.

    >>> share(0), share(-2)
    (0.25, 0.041666666666666664)
    """
    return 1 / (2 * (abs(j) + 1) * (abs(j) + 2))


def exponent_above(value: float) -> int:
    """The least j with 2^j ≥ value, at least −60.

    >>> exponent_above(5.0), exponent_above(0.25), exponent_above(0.0)
    (3, -2, -60)
    """
    if not 0 <= value < math.inf:
        raise ValueError(f"a finite number from 0 on is needed, got {value!r}")
    if value == 0:
        return _NOTHING
    mantissa, exponent = math.frexp(value)  # exact, where a logarithm might round down
    return max(exponent - 1 if mantissa == 0.5 else exponent, _NOTHING)
