"""Does a table fit in memory? And what can be done in how much of it?"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from mercer._memory import available_memory
from mercer.solvers import Passes
from mercer.solvers.cost import Shape
from mercer.tables.model.effort import kernel_seconds
from mercer.tables.reading.places import place_of

_UNITS = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_AMOUNT = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*([KMGT]?I?)B?\s*", re.IGNORECASE)
# A fit in memory holds a table twice: as it was read, and as points.
_TWICE = 2.0
# Of the memory that is free so much may be taken.
_SHARE = 0.8
# Bytes that a search takes whatever it looks at (libraries, code that is compiled), and for a pair of rows.
_LEAST, _A_PAIR = 240e6, 64.0
_FEWEST, _MOST = 400, 20_000
# Of the memory for the last machine; the rest is for shards, and for what has not been given back.
_FOR_PASSES = 0.8
_FEWEST_CENTRES, _MOST_CENTRES = 100, 8000
_ROWS_A_CENTRE = 5


def bytes_of(memory: Any) -> int:
    """An amount of memory in bytes.

    >>> bytes_of("400MB"), bytes_of("1.5 GiB"), bytes_of(2e9)
    (400000000, 1610612736, 2000000000)
    """
    found = _AMOUNT.fullmatch(memory) if isinstance(memory, str) else None
    if found is not None:
        amount = float(found[1]) * _UNITS[found[2].upper()]
    elif isinstance(memory, int | float) and not isinstance(memory, bool):
        amount = float(memory)
    else:
        amount = math.nan
    if not 1 <= amount < 2**60:
        raise ValueError(f"memory must be an amount such as '2GB' or a number of bytes, got {memory!r}")
    return int(amount)


def too_large(where: Any, memory: Any = None) -> str | None:
    """Why a table elsewhere is not read as a whole; None if it fits, or can be read in no other way.

    `memory` is what may be taken; four fifths of what is free if None.
    """
    most = _SHARE * available_memory() if memory is None else bytes_of(memory)
    place = place_of(where)
    if not place.in_parts:
        return None
    need = _TWICE * place.held(most / _TWICE)
    if need <= most:
        return None
    there = "may be taken" if memory is not None else "are to be had"
    about = "about" if place.sized else "more than"
    return f"the whole table would take {about} {amount(need)} of memory, and {amount(most)} {there}"


def amount(size: float) -> str:
    """Bytes, for people.

    >>> amount(3.2e9), amount(41e6), amount(5e4)
    ('3.2 GB', '41 MB', '50 kB')
    """
    if size < 1e6:
        return f"{size / 1e3:.0f} kB"
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


@dataclass(frozen=True)
class Allowance:
    """The memory that a fit may take beside what the process holds already.

    Examples
    --------
    >>> Allowance(400_000_000).rows, Allowance(400_000_000).centres(3_000_000, 9, 1, 60.0)
    (1581, 410)
    """

    allowed: int

    @classmethod
    def of(cls, memory: Any) -> Allowance:
        """What was said; or half of what is free, as a power of two, lest it be another every time."""
        if memory is not None:
            return cls(bytes_of(memory))
        return cls(2 ** int(math.log2(max(available_memory() / 2, 2))))

    @property
    def rows(self) -> int:
        """Rows of the sample that is searched on."""
        return int(min(max(math.sqrt(max(self.allowed - _LEAST, 0) / _A_PAIR), _FEWEST), _MOST))

    @property
    def expected(self) -> float:
        """Bytes that it is expected to take: what is allowed, unless nothing can be done in that."""
        return max(self.allowed, _LEAST + _A_PAIR * _FEWEST**2)

    def centres(self, n: int, d: int, outputs: int, seconds: float) -> int:
        """Centres of a machine that is fitted to n rows elsewhere, within the memory and about the time."""

        def fits(m: int) -> bool:
            shape = Shape(n, d, outputs, m, "centres", itemsize=4, elsewhere=True)
            bytes_ = Passes().memory(shape) + shape.vector_bytes
            return bytes_ <= _FOR_PASSES * self.expected and kernel_seconds(n, m, d, outputs) <= seconds

        low, high = _FEWEST_CENTRES, min(_MOST_CENTRES, max(n // _ROWS_A_CENTRE, _FEWEST_CENTRES))
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if fits(middle) else (low, middle - 1)
        return min(low, n)
