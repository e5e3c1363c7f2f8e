"""Threads over tiles, with BLAS held to one thread each while they run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeVar

T = TypeVar("T")


def cpu_count() -> int:
    """Cores this process may use; 1 inside a worker that was told so (joblib, Dask)."""
    try:
        allowed = len(os.sched_getaffinity(0))
    except AttributeError:
        allowed = os.cpu_count() or 1
    for variable in ("LOKY_MAX_CPU_COUNT", "OMP_NUM_THREADS"):
        value = os.environ.get(variable, "").split(",")[0]
        if value.isdigit() and int(value) > 0:
            allowed = min(allowed, int(value))
    return max(allowed, 1)


@lru_cache(maxsize=1)
def _controller() -> Any:
    import scipy.linalg  # noqa: F401  so that SciPy's own BLAS is loaded, and seen, too
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_blas_thread():
    """BLAS on one thread inside the block: our own threads are the parallelism."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


def parallel_map(function: Callable[[Any], T], items: Iterable[Any], threads: int) -> list[T]:
    """function over items on `threads` threads; results in order, the first error raised."""
    items = list(items)
    if threads <= 1 or len(items) <= 1:
        return [function(item) for item in items]
    with one_blas_thread(), ThreadPoolExecutor(min(threads, len(items))) as pool:
        futures = [pool.submit(function, item) for item in items]
        try:
            return [f.result() for f in futures]
        except BaseException:
            for f in futures:
                f.cancel()
            raise
