"""Threads over tiles, with BLAS held to one thread each while they run."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from contextvars import copy_context
from functools import lru_cache
from itertools import count
from multiprocessing import parent_process
from typing import Any, Generic, TypeVar

T = TypeVar("T")

# Seconds for a product to end; threads of OpenBLAS are awake a tenth of one after their last.
_PATIENCE = 10.0
# Seconds after which whoever waits for a call looks whether Ctrl-C was pressed.
_MOMENT = 0.1
# Packages that load a library with threads of its own, maybe after we have looked for such libraries.
_BRING_OPENMP = ("sklearn", "torch")
# What this thread is at, and on how many threads that may be done.
_thread = threading.local()
_OURS = {"mercer", "numpy", "scipy", "sklearn", "llvmlite", "threadpoolctl"}


def cpu_count() -> int:
    """Cores this process may use; 1 inside a worker that was told so (joblib), and in a task of Dask, each of
    whose threads runs a task of its own; see `at_most`."""
    if in_dask_task():
        return 1
    try:
        allowed = len(os.sched_getaffinity(0))
    except AttributeError:
        allowed = os.cpu_count() or 1
    for variable in ("LOKY_MAX_CPU_COUNT", "OMP_NUM_THREADS"):
        value = os.environ.get(variable, "").split(",")[0]
        if variable == "OMP_NUM_THREADS" and _meant_for_workers(value):
            continue
        if value.isdigit() and int(value) > 0:
            allowed = min(allowed, int(value))
    return max(min(allowed, getattr(_thread, "most", None) or allowed), 1)


def _meant_for_workers(value: str) -> bool:
    """Is this what Dask sets for workers it starts? It leaves that in our own process, too, for good."""
    if "distributed.nanny" not in sys.modules or parent_process() is not None or value == _told():
        return False
    import dask

    said = dask.config.get("distributed.nanny.pre-spawn-environ", {})
    return bool(said) and all(os.environ.get(name) == str(number) for name, number in said.items())


def _told() -> str | None:
    """OMP_NUM_THREADS as whoever started this process set it, where the system remembers that."""
    try:
        with open("/proc/self/environ", "rb") as file:
            variables = dict(line.partition(b"=")[::2] for line in file.read().split(b"\0"))
    except OSError:
        return None
    value = variables.get(b"OMP_NUM_THREADS")
    return None if value is None else value.decode(errors="replace")


def in_dask_task() -> bool:
    """Is this thread at a task of a Dask worker?"""
    worker = sys.modules.get("distributed.worker")
    try:
        return worker is not None and worker.get_worker() is not None
    except ValueError:  # no worker is at work in this thread
        return False


@contextmanager
def at_most(threads: int | None) -> Iterator[None]:
    """No more than so many threads inside a ``with`` block, for all that is computed there; None: any."""
    outer = getattr(_thread, "most", None)
    _thread.most = min(filter(None, (threads, outer)), default=None)
    try:
        yield
    finally:
        _thread.most = outer


@lru_cache(maxsize=4)
def _controller(loaded: tuple[bool, ...]) -> Any:
    """What decides over the threads of all libraries there are; another one where more were `loaded`."""
    import scipy.linalg  # noqa: F401  so that SciPy's own BLAS is loaded, and seen, too
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class _Held:
    """Libraries that are held to one thread, and what they are given back."""

    def __init__(self, libraries: list[Any]) -> None:
        self._before = [(library, library.get_num_threads()) for library in libraries]
        for library in libraries:
            _set(library, 1)

    def release(self) -> None:
        for library, threads in self._before:
            _set(library, threads)


def _set(library: Any, threads: int) -> None:
    """The number of threads of a library, whoever has set it before.

    threadpoolctl lets one thread decide for a library they share, and ignores what all others say. The last
    of ours to leave need not be the first that came, so that none of them may be in charge.
    """
    free = getattr(library, "clear_controlling_thread", lambda **_: None)
    free(force=True)
    library.set_num_threads(threads)
    free(force=True)


def _libraries(api: str, *, shared: bool) -> list[Any]:
    """Libraries with one number of threads for the whole process, or with one for each thread that calls."""

    def is_shared(library: Any) -> bool:
        return library.user_api == "blas" and getattr(library, "threading_layer", "") != "openmp"

    loaded = tuple(name in sys.modules for name in _BRING_OPENMP)
    return [c for c in _controller(loaded).lib_controllers if c.user_api == api and is_shared(c) == shared]


class _Limit:
    """One limit for all threads of the process: the first in sets it, the last out takes it back.

    Each saves and restores what it finds, so two overlapping limits would restore each other's.
    """

    def __init__(self) -> None:
        # One that a thread may take twice: a signal may interrupt a thread that holds it, and fork.
        self.lock = threading.RLock()
        self.inside: dict[int, tuple[int, _Held]] = {}  # by thread: how often, and what is its own
        self.shared: _Held | None = None

    def __enter__(self) -> None:
        here = threading.get_ident()
        with self.lock:
            if not self.inside:
                self.shared = _Held(_libraries("blas", shared=True))
            entered, own = self.inside.get(here) or (0, _Held(_libraries("blas", shared=False)))
            self.inside[here] = entered + 1, own

    def __exit__(self, *_: Any) -> None:
        here = threading.get_ident()
        with self.lock:
            entered, own = self.inside.pop(here)
            if entered > 1:
                self.inside[here] = entered - 1, own
                return
            own.release()
            if not self.inside and self.shared is not None:
                self.shared.release()
                self.shared = None

    def only_here(self) -> None:
        """Other threads are gone; what they share stays as it is."""
        here = threading.get_ident()
        self.inside = {here: self.inside[here]} if here in self.inside else {}
        self.shared = None


_limit = _Limit()


def one_blas_thread() -> _Limit:
    """BLAS on one thread inside a ``with`` block: our own threads are the parallelism."""
    return _limit


@contextmanager
def on_signals(handler: Callable[..., None], *numbers: int) -> Iterator[None]:
    """What hears these signals for a while; they reach the main thread only, in others nothing changes."""
    main = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, handler) for number in numbers if main}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


@contextmanager
def one_thread() -> Iterator[None]:
    """BLAS and OpenMP on one thread inside a ``with`` block, for work too small to be shared.

    How many threads OpenMP uses is a matter of the thread that calls it, so that there is nothing to count.
    """
    with _limit:
        held = _Held(_libraries("openmp", shared=False))
        try:
            yield
        finally:
            held.release()


# -- processes that are copied --------------------------------------------------------------------


class _Fork:
    """A process that is copied while other threads compute: their locks in BLAS stay locked in the copy.

    OpenBLAS takes such a lock for products on several threads only, and the threads of OpenMP are not copied
    with the thread they work for. So both are held to one thread while the copy is made, and in the copy
    they stay so; threads of our own are made anew. OpenBLAS ends its threads before a copy is made, and a
    product one of them is at would never end: those under way are waited for, and so are imports.
    """

    def __init__(self) -> None:
        self.held: list[_Held] = []

    def before(self) -> None:
        _pool.rest()
        if threading.active_count() > 1:
            _await(_imports)
        _limit.lock.acquire()
        if threading.active_count() > 1:
            self.held = [
                _Held(_libraries(api, shared=shared))
                for api, shared in (("blas", True), ("blas", False), ("openmp", False))
            ]
            _await(_libraries_work)

    def in_parent(self) -> None:
        try:
            for held in self.held:
                held.release()
            self.held = []
        finally:
            _limit.lock.release()

    def in_child(self) -> None:
        _pool.begin()
        if self.held:
            self.held = []
            _limit.only_here()
        _limit.lock.release()


def _await(busy: Callable[[], bool]) -> None:
    """Let others run until they are done with something, or it takes too long."""
    until = time.monotonic() + _PATIENCE
    while busy() and time.monotonic() < until:
        time.sleep(0.001)


def _imports() -> bool:
    """Is another thread in the middle of importing something of ours, or what that is made of?"""
    modules = [m for name, m in list(sys.modules.items()) if name.partition(".")[0] in _OURS]
    return any(getattr(getattr(m, "__spec__", None), "_initializing", False) for m in modules)


def _libraries_work() -> bool:
    """Is a thread that is not Python's awake?"""
    ours = {str(thread.native_id) for thread in threading.enumerate()}
    try:
        return any(map(_runs, set(os.listdir("/proc/self/task")) - ours))
    except OSError:  # no Linux
        return False


def _runs(task: str) -> bool:
    try:
        with open(f"/proc/self/task/{task}/stat") as file:
            return not file.read().rpartition(")")[2].startswith(" S")
    except OSError:
        return False


if hasattr(os, "register_at_fork"):  # not on Windows, where processes are not copied
    _fork = _Fork()
    os.register_at_fork(before=_fork.before, after_in_parent=_fork.in_parent, after_in_child=_fork.in_child)


class Stopped(Exception):
    """The work this task belongs to has been given up."""


class _Work(Generic[T]):
    """One call of `parallel_map`: items are taken in order, by whichever of its threads is free."""

    def __init__(
        self, function: Callable[[Any], T], items: list[Any], part_of: _Work | _Asked | None
    ) -> None:
        self.function, self.items, self.part_of = function, items, part_of
        self.results: list[Any] = [None] * len(items)
        self.errors: dict[int, BaseException] = {}
        self.given_up, self.most = False, getattr(_thread, "most", None)
        # Taking the next number is one step for all threads: no two get the same.
        self._next = count()

    def take_part(self) -> None:
        """Do items until there are none left, or one of them has failed."""
        outer, _thread.work = getattr(_thread, "work", None), self
        try:
            with at_most(self.most):
                while not self.given_up and (i := next(self._next)) < len(self.items):
                    self._do(i)
        finally:
            _thread.work = outer

    def _do(self, i: int) -> None:
        try:
            self.results[i] = self.function(self.items[i])
        except BaseException as error:
            self.given_up = True  # long tasks end at their next stopping point
            self.errors[i] = error


def stopping_point() -> None:
    """To be called now and then by long tasks: ends them if another one failed, or the user interrupted."""
    work = getattr(_thread, "work", None)
    while work is not None:
        if work.given_up:
            raise Stopped
        work = work.part_of


class _Asked:
    """Work that is given up when somebody else says so."""

    def __init__(self, asked: Callable[[], bool], part_of: Any) -> None:
        self._asked, self.part_of = asked, part_of

    @property
    def given_up(self) -> bool:
        return self._asked()


@contextmanager
def stop_when(asked: Callable[[], bool]) -> Iterator[None]:
    """Long tasks inside a ``with`` block end, by `Stopped`, at their next stopping point once `asked()`."""
    outer = getattr(_thread, "work", None)
    _thread.work = _Asked(asked, outer)
    try:
        yield
    finally:
        _thread.work = outer


class _Pool:
    """Threads that are kept between calls: making them takes longer than a small product."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Without threads, as in a process that has just been copied."""
        # One that a thread may take twice: a signal may interrupt a thread that holds it, and fork.
        self._lock = threading.RLock()
        self._threads: ThreadPoolExecutor | None = None
        self._working = 0

    def do(self, work: _Work, helpers: int) -> None:
        """Do the work here and on `helpers` other threads, and come back when nobody is at it any more.

        Helpers that are not free in time are not waited for: this thread can do without them.
        """
        with self._lock:
            self._working += 1
            # More than enough: the pool makes a thread only when none is free.
            self._threads = self._threads or ThreadPoolExecutor(1024, "mercer")
            futures = [self._threads.submit(work.take_part) for _ in range(helpers)]
        try:
            work.take_part()
            wait([f for f in futures if not f.cancel()])
        finally:
            work.given_up = True  # where an interruption has brought us here, the others end, too
            wait([f for f in futures if not f.cancel()])
            with self._lock:
                self._working -= 1

    def rest(self) -> None:
        """Before the process is copied: threads without work end, since they would not be in the copy."""
        with self._lock:
            if self._threads is not None and not self._working:
                self._threads.shutdown()
                self._threads = None


_pool = _Pool()


def parallel_map(
    function: Callable[[Any], T], items: Iterable[Any], threads: int, *, blas: bool = True
) -> list[T]:
    """function over items on `threads` threads, this among them; results in order, the first error raised.

    If it calls `blas`, that is held to one thread.
    """
    items = list(items)
    if threads <= 1 or len(items) <= 1:
        return [function(item) for item in items]
    work = _Work(function, items, getattr(_thread, "work", None))
    with one_blas_thread() if blas else nullcontext():
        _pool.do(work, min(threads, len(items)) - 1)
    if work.errors:
        raise min(work.errors.items(), key=_urgency)[1]
    return work.results


def _urgency(found: tuple[int, BaseException]) -> tuple[bool, bool, int]:
    """Interruptions first, then errors in the order of the items; last those that only followed others."""
    i, error = found
    return isinstance(error, Stopped), isinstance(error, Exception), i


def interruptible(call: Callable[[], T]) -> T:
    """What `call` returns; Ctrl-C is heard at once, although a library is at work that would not hear it.

    The library is left to itself then: its thread goes on to the end of the call, and nobody waits for it.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()  # signals reach the main thread only
    work = _Work(lambda context: context.run(call), [copy_context()], getattr(_thread, "work", None))
    thread = threading.Thread(target=work.take_part, name="mercer-call", daemon=True)
    thread.start()
    while thread.is_alive():
        # For a moment at a time: a signal that comes just before a wait is heard after it.
        thread.join(_MOMENT)
    if work.errors:
        raise work.errors[0]
    return work.results[0]
