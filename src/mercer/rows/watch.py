"""Waiting for a cluster: is it still there? And another try where a worker was lost."""

from __future__ import annotations

import asyncio
import errno
import math
import time
from collections.abc import Callable, Collection
from concurrent.futures import wait as wait_for
from typing import Any, TypeVar

from mercer._threads import Stopped

T = TypeVar("T")

# Seconds between looks at the cluster while we wait for it.
_LOOK = 0.5
# Seconds, at least, for the others to do the part of a worker that has gone.
_GRACE = 2.0
# How often work is begun again that went down with its worker. Dask itself tries several workers each time.
_ATTEMPTS = 8
# Errors of a disk behind a network that is not there for a moment.
_PASSING = {errno.EIO, errno.ESTALE, errno.EAGAIN, errno.ETIMEDOUT}


class ClusterError(RuntimeError):
    """The cluster can not do what it was asked for.

    Examples
    --------
    >>> from mercer.rows import ClusterError, NoWorkersError
    >>> try:
    ...     raise NoWorkersError("there has been no worker for 30 seconds")    # as a fit does
    ... except ClusterError as error:
    ...     print("try again later:", error)
    try again later: there has been no worker for 30 seconds
    """


class NoWorkersError(ClusterError):
    """There has been no worker for as long as it was worth waiting.

    Examples
    --------
    >>> from mercer.rows import ClusterError, NoWorkersError
    >>> issubclass(NoWorkersError, ClusterError)       # `except ClusterError` catches it, too
    True
    """


class SchedulerLostError(ClusterError):
    """The scheduler of the cluster does not answer any more.

    Examples
    --------
    >>> from mercer.rows import ClusterError, SchedulerLostError
    >>> issubclass(SchedulerLostError, ClusterError)       # `except ClusterError` catches it, too
    True
    """


def found_client(client: Any = None, address: str | None = None) -> Any:
    """The client that was given, one for this address, or the current one."""
    try:
        from distributed import Client, default_client
    except ImportError:
        raise ImportError('a cluster needs Dask: pip install "mercer[cluster]"') from None
    if client is None:
        try:
            client = Client(address, set_as_default=False) if address else default_client()
        except ValueError:
            raise ValueError(
                "there is no Dask client: begin with client = distributed.Client(…), or give its address"
            ) from None
    if not isinstance(client, Client):
        raise TypeError(f"client must be a distributed.Client, got {type(client).__name__}")
    if client.asynchronous:
        raise ValueError("the client is asynchronous; make one without asynchronous=True")
    return client


class Watch:
    """A client of which one does not wait for ever.

    Parameters
    ----------
    client : distributed.Client
    patience : float
        Seconds to wait for a worker when there is none.
    """

    def __init__(self, client: Any, patience: float):
        self.client, self.patience = client, patience

    def workers(self) -> dict[str, int]:
        """Threads of each worker there is; waits for the first to come."""
        waiting = _Waiting(self)
        while not (workers := waiting.look()):
            time.sleep(min(_LOOK, self.patience / 10))
        return workers

    def done(self, futures: list[Any], there: Collection[str]) -> None:
        """Wait until these are computed or have failed: their status says it.

        Parameters
        ----------
        futures : list of distributed.Future
        there : collection of str
            Workers there were before the futures were made. ConnectionError if one of them has gone, and the
            others do not come to an end, either.
        """
        from distributed import CancelledError, wait

        waiting = _Waiting(self, there)
        while futures:
            try:
                # The current client need not be this one.
                with self.client.as_current():
                    wait(futures, timeout=waiting.seconds)
                return
            except CancelledError:
                return
            except TimeoutError:
                waiting.look()

    def values(
        self, futures: list[Any], there: Collection[str], looked: Callable[[], None] = lambda: None
    ) -> list[Any]:
        """What futures have become; `there` as for `done`; looked() is called from time to time meanwhile.

        Dask may wait for ever for a result that went down with its worker while it was fetched: a future that
        the scheduler has forgotten is taken for pending. So we wait beside it, and look at the workers. What
        it is at is left to itself, and ends when the futures are released.
        """
        loop = self.client.loop.asyncio_loop
        gathered = asyncio.run_coroutine_threadsafe(self.client.gather(futures, asynchronous=True), loop)
        waiting = _Waiting(self, there)
        while not wait_for([gathered], timeout=waiting.seconds).done:
            waiting.look()
            looked()
        return gathered.result()

    def tried(self, attempt: Callable[[dict[str, int]], T], failed: Callable[[], None] = lambda: None) -> T:
        """What attempt(workers) returns: it is called again, after failed(), if a worker was lost to it."""
        for times in range(_ATTEMPTS):
            try:
                return attempt(self.workers())
            except Exception as error:
                if self.client.status in ("closed", "closing") and not isinstance(error, ClusterError):
                    raise SchedulerLostError(
                        f"the client was closed during this work ({type(error).__name__}): make a new one, "
                        "and fit again; with a checkpoint the fit goes on where it was"
                    ) from error
                if not is_passing(error):
                    raise
                last = error
            failed()
            time.sleep(0.05 * 2**times)
        raise ClusterError(
            f"workers were lost at this work {_ATTEMPTS} times, the last time by {type(last).__name__}: "
            f"{last}. Look into their logs: they may have too little memory for a shard"
        ) from last


class _Waiting:
    """How long we have been waiting: without any worker, or since one has gone that was there."""

    def __init__(self, watch: Watch, there: Collection[str] = ()):
        self.watch, self.there = watch, set(there)
        self.seconds = min(_LOOK, watch.patience)
        self._begun = time.monotonic()
        self._alone_since = self._gone_since = math.inf

    def look(self) -> dict[str, int]:
        """Workers and their threads, or an error that says what there is no use in waiting for."""
        client = self.watch.client
        try:
            workers = client.nthreads() if client.status == "running" else None
        except OSError:
            workers = None
        if workers is None:
            raise SchedulerLostError(
                f"the scheduler of the cluster does not answer any more ({client.status}): start it again, "
                "make a new client, and fit again; with a checkpoint the fit goes on where it was"
            )
        now = time.monotonic()
        self._alone_since = math.inf if workers else min(now, self._alone_since)
        if now - self._alone_since > self.watch.patience:
            raise NoWorkersError(
                f"there has been no worker in the cluster for {self.watch.patience:g} seconds: start some "
                f"(dask worker {client.scheduler.address}) and fit again; with a checkpoint the fit goes on "
                "where it was. Dask(patience=…) waits longer"
            )
        if gone := self.there.difference(workers):
            self._gone_since = min(now, self._gone_since)
            # As a rule others do its part: they may take as long again as it has all taken until then.
            if now - self._gone_since > max(_GRACE, self._gone_since - self._begun):
                raise ConnectionError(f"the worker {min(gone)} has gone")
        return workers


def is_passing(error: BaseException) -> bool:
    """Did the work fail because of a lost worker or connection, and not because of what it is?"""
    from distributed import CancelledError, KilledWorker
    from distributed.comm import CommClosedError

    if isinstance(error, (KilledWorker, CancelledError, CommClosedError, Stopped)):
        return True
    return isinstance(error, (ConnectionError, TimeoutError)) or (
        isinstance(error, OSError) and error.errno in _PASSING
    )
