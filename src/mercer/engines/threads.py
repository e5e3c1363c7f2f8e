"""Threads over tiles, with BLAS held to one thread each while they run."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
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


class _Limit:
    """One limit for all threads of the process: the first in sets it, the last out takes it back.

    threadpoolctl saves and restores what it finds, so two overlapping limits would restore each other's.
    """

    def __init__(self) -> None:
        self.lock, self.depth = threading.Lock(), 0
        self.limit: Any = None

    def __enter__(self) -> None:
        with self.lock:
            if self.depth == 0:
                self.limit = _controller().limit(limits=1, user_api="blas")
            self.depth += 1

    def __exit__(self, *_: Any) -> None:
        with self.lock:
            self.depth -= 1
            if self.depth == 0 and self.limit is not None:
                self.limit.restore_original_limits()
                self.limit = None


_limit = _Limit()


def one_blas_thread() -> _Limit:
    """BLAS on one thread inside a ``with`` block: our own threads are the parallelism."""
    return _limit


def one_thread() -> Any:
    """BLAS and OpenMP on one thread inside a ``with`` block, for work too small to be shared."""
    return _controller().limit(limits=1)


class Stopped(Exception):
    """The work this task belongs to has been given up."""


_worker = threading.local()


def _listen(stop: threading.Event) -> None:
    _worker.stop = stop


def stopping_point() -> None:
    """To be called now and then by long tasks: ends them if another one failed, or the user interrupted."""
    stop = getattr(_worker, "stop", None)
    if stop is not None and stop.is_set():
        raise Stopped


def parallel_map(
    function: Callable[[Any], T], items: Iterable[Any], threads: int, *, blas: bool = True
) -> list[T]:
    """function over items on `threads` threads; results in order, the first error raised.

    If it calls `blas`, that is held to one thread.
    """
    items = list(items)
    if threads <= 1 or len(items) <= 1:
        return [function(item) for item in items]
    limit = one_blas_thread() if blas else nullcontext()
    stop = threading.Event()
    with limit, ThreadPoolExecutor(min(threads, len(items)), initializer=_listen, initargs=(stop,)) as pool:
        futures = [pool.submit(function, item) for item in items]
        try:
            return [f.result() for f in futures]
        except BaseException:
            stop.set()  # an interruption, or an error elsewhere: long tasks end at their next stopping point
            for f in futures:
                f.cancel()
            raise
