"""Waiting for a cluster: is it still there? And another try where a worker was lost."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from typing import Any, TypeVar

from mercer._threads import Stopped

T = TypeVar("T")

# Seconds between looks at the cluster while we wait for it.
_LOOK = 0.5
# How often work is begun again that went down with its worker. Dask itself tries several workers each time.
_ATTEMPTS = 8
# Errors of a disk behind a network that is not there for a moment.
_PASSING = {errno.EIO, errno.ESTALE, errno.EAGAIN, errno.ETIMEDOUT}


class ClusterError(RuntimeError):
    """The cluster can not do what it was asked for."""


class NoWorkersError(ClusterError):
    """There has been no worker for as long as it was worth waiting."""


class SchedulerLostError(ClusterError):
    """The scheduler of the cluster does not answer any more."""


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
        alone = _Alone(self)
        while not (workers := alone.look()):
            time.sleep(min(_LOOK, self.patience / 10))
        return workers

    def done(self, futures: list[Any]) -> None:
        """Wait until these are computed, have failed or are lost: their status says it."""
        from distributed import CancelledError, wait

        alone = _Alone(self)
        while futures:
            try:
                # The current client need not be this one.
                with self.client.as_current():
                    wait(futures, timeout=min(_LOOK, self.patience))
                return
            except CancelledError:
                return
            except TimeoutError:
                alone.look()

    def values(self, futures: list[Any]) -> list[Any]:
        """What futures have become."""
        while True:
            self.done(futures)
            try:
                return self.client.sync(
                    lambda: self.client.gather(futures, asynchronous=True),
                    callback_timeout=self.patience + _LOOK,
                )
            except TimeoutError:
                if any(future.status == "error" for future in futures):
                    raise
                # A worker was lost before we had what it found: it is computed once more.

    def tried(self, attempt: Callable[[], T], failed: Callable[[], None] = lambda: None) -> T:
        """What attempt() returns, which is called again, after failed(), if a worker was lost to it."""
        for times in range(_ATTEMPTS):
            try:
                return attempt()
            except Exception as error:
                if not is_passing(error):
                    raise
                last = error
            failed()
            _Alone(self).look()
            time.sleep(0.05 * 2**times)
        raise ClusterError(
            f"workers were lost at this work {_ATTEMPTS} times, the last time by {type(last).__name__}: "
            f"{last}. Look into their logs: they may have too little memory for a shard"
        ) from last


class _Alone:
    """How long there has been no worker."""

    def __init__(self, watch: Watch):
        self.watch, self.since = watch, 0.0

    def look(self) -> dict[str, int]:
        """Workers and their threads. NoWorkersError after too long without, SchedulerLostError if it is."""
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
        self.since = now if workers or not self.since else self.since
        if now - self.since > self.watch.patience:
            raise NoWorkersError(
                f"there has been no worker in the cluster for {self.watch.patience:g} seconds: start some "
                f"(dask worker {client.scheduler.address}) and fit again; with a checkpoint the fit goes on "
                "where it was. Dask(patience=…) waits longer"
            )
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
