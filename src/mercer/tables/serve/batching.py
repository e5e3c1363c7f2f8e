"""Requests that arrive while a prediction runs are answered by the next one, together."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sized
from typing import Any, Generic, TypeVar

Q = TypeVar("Q", bound=Sized)
A = TypeVar("A")


class Batcher(Generic[Q, A]):
    """One worker thread, one batch at a time.

    Nobody waits for company: a request that finds the worker idle is answered at once, others are taken
    together when it is free again. So batches are as large as the load makes them.

    Parameters
    ----------
    answer : function from a list of requests to the list of their answers; called in a thread
        An exception among the answers is raised where that request waits.
    rows : int
        A batch takes no further request beyond so many rows.

    Examples
    --------
    >>> async def three():
    ...     batcher = Batcher(lambda batch: [text.upper() for text in batch], rows=10)
    ...     return await asyncio.gather(*map(batcher.ask, ["a", "b", "c"]))
    >>> asyncio.run(three())
    ['A', 'B', 'C']
    """

    def __init__(self, answer: Callable[[list[Q]], list[Any]], rows: int):
        self.answer, self.rows = answer, rows
        self._waiting: deque[tuple[Q, asyncio.Future[A]]] = deque()
        self._worker: asyncio.Task[None] | None = None

    async def ask(self, request: Q) -> A:
        """The answer to one request."""
        future: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await future

    async def _work(self) -> None:
        while self._waiting:
            batch = self._next()
            if not batch:
                continue
            try:
                answers = await asyncio.to_thread(self.answer, [request for request, _ in batch])
            except Exception as error:
                answers = [error] * len(batch)
            for (_, future), answer in zip(batch, answers, strict=True):
                if future.done():  # given up meanwhile
                    continue
                if isinstance(answer, Exception):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)

    def _next(self) -> list[tuple[Q, asyncio.Future[A]]]:
        """The next batch: at least one request, if any still wants an answer."""
        batch: list[tuple[Q, asyncio.Future[A]]] = []
        rows = 0
        while self._waiting and (not batch or rows + len(self._waiting[0][0]) <= self.rows):
            request, future = self._waiting.popleft()
            if not future.done():
                batch.append((request, future))
                rows += len(request)
        return batch
