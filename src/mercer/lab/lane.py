"""One computation at a time, in a thread of its own, with the warnings it gave."""

from __future__ import annotations

import asyncio
import queue
import threading
import warnings
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

from mercer._threads import stop_when

T = TypeVar("T")
# Seconds after which it is looked again whether somebody still waits.
_LOOK = 0.25


class Lane:
    """Computations, one after another, while the event loop goes on answering.

    One at a time, because a fit already uses all cores, and because the filters that `warnings` goes by
    belong to the whole process: of two at once each could hear the other's. A request that nobody waits for
    any more gives its place up before it is computed, and work that nobody waits for any more ends at the
    next place where the library looks (`mercer._threads.stopping_point`).

    >>> async def two():
    ...     lane = Lane()
    ...     return await asyncio.gather(lane.run(lambda: 1), lane.run(lambda: 2))
    >>> asyncio.run(two())
    [(1, []), (2, [])]
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    async def run(
        self, work: Callable[[], T], gone: Callable[[], Awaitable[bool]] | None = None
    ) -> tuple[T, list[str]]:
        """The result of `work`, and the warnings it gave; `Abandoned` if nobody waits when it is its turn."""
        await self._turn.acquire()
        try:
            if gone is not None and await gone():
                raise Abandoned
            loop = asyncio.get_running_loop()
            done: asyncio.Future[tuple[T, list[str]]] = loop.create_future()
            given_up = threading.Event()
            self._hand_over(lambda: self._work(work, loop, done, given_up))
        except BaseException:
            self._turn.release()
            raise
        # Who gives up waiting leaves the work behind, and the turn is over when that has ended.
        try:
            while not (await asyncio.wait({done}, timeout=_LOOK))[0]:
                if gone is not None and await gone():
                    raise Abandoned
            return done.result()
        finally:
            given_up.set()

    def _hand_over(self, job: Callable[[], None]) -> None:
        """Give a job to the thread, which is one and the same: libraries keep threads of their own for each.

        It is a daemon: whoever presses Ctrl-C does not wait for a fit that nobody will see.
        """
        if self._thread is None:
            self._thread = threading.Thread(target=_worked_off, args=(self._jobs,), daemon=True)
            self._thread.start()
        self._jobs.put(job)

    def _work(
        self, work: Callable[[], Any], loop: Any, done: asyncio.Future[Any], given_up: threading.Event
    ) -> None:
        result: Any = None
        error: Exception | None = None
        try:
            with _one_in_process, warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                with stop_when(given_up.is_set):
                    result = work()
            result = result, _said(heard)
        except Exception as raised:
            error = raised

        def tell() -> None:
            self._turn.release()
            if done.cancelled():
                return
            if error is None:
                done.set_result(result)
            else:
                done.set_exception(error)
                done.exception()  # seen, even if nobody waits

        with suppress(RuntimeError):  # the loop is closed: the server has stopped
            loop.call_soon_threadsafe(tell)


def _worked_off(jobs: queue.SimpleQueue[Callable[[], None]]) -> None:
    while True:
        jobs.get()()


# Two applications in one process share the filters, too.
_one_in_process = threading.Lock()


class Abandoned(Exception):
    """Nobody waits for the answer any more."""


def _said(heard: list[warnings.WarningMessage]) -> list[str]:
    """Each warning of the library once, as text; others (about overflows, or Python's future) are no news."""
    return list(dict.fromkeys(str(w.message) for w in heard if issubclass(w.category, UserWarning)))
