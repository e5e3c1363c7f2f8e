"""Which representation a machine takes that has neither loss nor penalty: k-means, principal components."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from mercer.engines import Engine
from mercer.kernels import Finite
from mercer.kernels.base import Kernel
from mercer.representations import Features, Full, Lasso, Nystrom, Representation

# Up to here a pass over all pairs takes about a second; more on a GPU.
_EXACT, _EXACT_REMOTE = 30_000, 1_000_000
_LARGEST_EXPLICIT = 8_000
# Of features or distances at a time: 32 MB of doubles.
_ENTRIES = 1 << 22


def choose(
    asked: Representation | None, kernel: Kernel, points: Any, engine: Engine, centres: int | None = None
) -> tuple[Representation, str]:
    """The representation asked for, or one for "auto" (with so many centres, where it has such), and why."""
    if isinstance(asked, Lasso):
        raise ValueError(
            "there is no penalty here: Features() in place of Lasso(), or representation='features'"
        )
    if asked is not None:
        asked.validate()
        return asked, "asked for"
    n = points.shape[0]
    if has_few_coordinates(kernel, points) and own_coordinates(kernel, points) < n:
        p = int(own_coordinates(kernel, points))
        return Features(), f"the kernel has {p} coordinates, fewer than the {n:,} points"
    limit = _EXACT_REMOTE if engine.remote else _EXACT
    if n <= limit or isinstance(kernel, Finite):
        return Full(), f"{n:,} points (up to {limit:,})"
    why = f"{n:,} points are more than {limit:,}; representation='full' insists on all of them"
    return Nystrom(centres), why


def parts_of(n: int, width: int) -> Iterator[slice]:
    """All n rows, as many at a time as have a few million entries."""
    step = max(_ENTRIES // max(width, 1), 1)
    return (slice(i, min(i + step, n)) for i in range(0, n, step))


def own_coordinates(kernel: Kernel, points: Any) -> float:
    """How many coordinates the kernel itself has on such points; infinity where they aren't known."""
    return kernel.expansion_size(points.shape[1]) if kernel.vectors else math.inf


def has_few_coordinates(kernel: Kernel, points: Any) -> bool:
    """May all of the kernel's own coordinates be written down?"""
    return own_coordinates(kernel, points) <= _LARGEST_EXPLICIT
