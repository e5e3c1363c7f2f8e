"""How many threads a method may use: one, unless somebody asks for more; said where every library listens."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "LOKY_MAX_CPU_COUNT")


def count() -> int:
    return int(os.environ.get("OMP_NUM_THREADS") or 1)


@contextlib.contextmanager
def at_most(threads: int) -> Iterator[None]:
    """For libraries that are loaded later, and those that are there already."""
    from threadpoolctl import threadpool_limits

    os.environ.update(dict.fromkeys(VARIABLES, str(threads)))
    with threadpool_limits(threads):
        yield
