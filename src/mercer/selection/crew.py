"""Who tries what a search asks for: threads of this process, or the workers of a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from mercer._threads import cpu_count, one_thread, parallel_map, stop_when
from mercer.rows.placing import sent
from mercer.rows.portions import Parcel, given_up, opened
from mercer.rows.watch import Watch, found_client

if TYPE_CHECKING:
    from mercer.selection.search import Clock

T = TypeVar("T")


class Crew:
    """Threads of this process.

    Examples
    --------
    >>> Crew().map(abs, [-1, 2])
    [1, 2]
    """

    def map(self, function: Callable[[Any], T], items: Iterable[Any], clock: Clock | None = None) -> list[T]:
        """function(item) of all items, in their order; a clock that is part of the function is given, too."""
        return parallel_map(function, items, cpu_count())


HERE = Crew()


class ClusterCrew(Crew):
    """Workers of a Dask cluster: each of their threads does one thing at a time, on one core.

    What is to be done goes to a worker once, whatever the number of items, so it must be possible to pickle
    it. What a lost worker was at is done again by another one.

    Parameters
    ----------
    client : distributed.Client, optional
        None: the current one.
    patience : float
        Seconds to wait for a worker when there is none.

    Examples
    --------
    >>> from distributed import Client
    >>> with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
    ...     ClusterCrew(client).map(abs, [-1, 2])
    [1, 2]
    """

    def __init__(self, client: Any = None, patience: float = 60.0):
        self.client = found_client(client)
        self.watch = Watch(self.client, patience)

    def map(self, function, items, clock=None):
        # What others wait for comes before what was begun for later.
        with self.begun(function, items, clock, priority=1) as errand:
            return errand.results()

    def begun(
        self, function: Callable[[Any], Any], items: Iterable[Any], clock: Clock | None = None, priority=0
    ) -> Errand:
        """The same, under way: leaving the ``with`` block gives up what is not done by then."""
        return Errand(self, function, list(items), clock, priority)

    def sees(self, path: Any) -> bool:
        """Is a file or folder of this process on a disk that all workers see?"""
        return all(self.client.run(os.path.exists, os.fspath(path)).values())


class Errand:
    """Things that workers are at, one for each item."""

    def __init__(
        self,
        crew: ClusterCrew,
        function: Callable[[Any], Any],
        items: list[Any],
        clock: Clock | None,
        priority: int,
    ):
        self._crew, self._clock, self._priority = crew, clock, priority
        self._content = function, items, clock
        self._futures: list[Any] = [None] * len(items)
        self._parcel: Any = None
        crew.watch.tried(self._begin, self._forget)

    def __enter__(self) -> Errand:
        return self

    def __exit__(self, *_: Any) -> None:
        for future in self._futures:
            if future is not None:
                future.release()
        self._parcel = None

    def results(self) -> list[Any]:
        """What has become of all items, in their order, once it is there."""

        def attempt(there: dict[str, int]) -> list[Any]:
            self._begin(there)
            return self._crew.watch.values(self._futures, there)

        found = self._crew.watch.tried(attempt, self._forget)
        if self._clock is not None and any(ended for _, ended in found):
            self._clock.ended = True
        return [value for value, _ in found]

    def _begin(self, there: dict[str, int]) -> None:
        """Ask for what nobody has, or is at."""
        client, missing = self._crew.client, [i for i, f in enumerate(self._futures) if f is None]
        if not missing:
            return
        self._parcel = sent(client, Parcel(self._content))
        asked = client.map(done, [self._parcel] * len(missing), missing, priority=self._priority, pure=False)
        for i, future in zip(missing, asked, strict=True):
            self._futures[i] = future

    def _forget(self) -> None:
        """A worker was lost: what is neither done nor under way may never be, so it is asked for again."""
        try:
            under_way = {key for keys in self._crew.client.processing().values() for key in keys}
        except OSError:  # nobody knows
            under_way = set()
        for i, future in enumerate(self._futures):
            if future is None or future.status == "finished":
                continue
            if future.status != "pending" or future.key not in under_way:
                future.release()
                self._futures[i] = None


def done(parcel: Parcel, i: int) -> tuple[Any, bool]:
    """What a worker does: one item, on one core; and whether the clock ended it early."""
    function, items, clock = opened(parcel).content
    with stop_when(given_up()), one_thread():
        return function(items[i]), clock is not None and clock.ended
