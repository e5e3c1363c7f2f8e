"""From requests to answers: those that arrive while a prediction runs are answered together by the next."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sized
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np

from mercer._http.refusal import Refusal, plain, to_bytes
from mercer.tables.model import Model
from mercer.tables.reading import Table
from mercer.tables.serve.rows import Asked

_log = logging.getLogger("mercer.tables.serve")
# Values beyond what was learned from that an answer names.
_MOST_OUTSIDE = 100


class Answers:
    """Answers of a model, as JSON."""

    def __init__(self, model: Model):
        self.model = model

    def __call__(self, batch: list[Asked]) -> list[bytes | Refusal]:
        """An answer to each request; if they can't be answered together, each is answered alone."""
        try:
            return list(self._together(batch))
        except Exception as error:
            if len(batch) > 1:
                return [one for asked in batch for one in self([asked])]
            if isinstance(error, ValueError):
                return [Refusal(422, str(error)[:500])]
            _log.exception("a prediction failed")
            return [Refusal(500, "the prediction failed; the log of the server says why")]

    def _together(self, batch: list[Asked]) -> list[bytes]:
        table = Table.joined([asked.table for asked in batch])
        ends = np.cumsum([0, *(len(asked) for asked in batch)])
        parts = [slice(a, b) for a, b in pairwise(ends.tolist())]
        known, beyond = self._known(table), self.model.outside(table) if len(table) else []
        places = np.array([o.row for o in beyond])
        found: list[dict[str, Any]] = []
        for rows in parts:
            found.append({name: plain(values[rows]) for name, values in known.items()})
            first, last = np.searchsorted(places, [rows.start, rows.stop])
            if self.model.task == "classification":
                found[-1]["classes"] = plain(self.model.classes_)
            if last > first:
                found[-1]["outside"] = [
                    {"row": o.row - rows.start, "column": o.column, "value": o.value, "seen": o.seen}
                    for o in beyond[first : min(last, first + _MOST_OUTSIDE)]
                ]
        for coverage in {asked.interval for asked in batch} - {None}:
            some = [i for i, asked in enumerate(batch) if asked.interval == coverage]
            self._add_intervals(coverage, table, [parts[i] for i in some], [found[i] for i in some])
        return [to_bytes(answer) for answer in found]

    def _add_intervals(self, coverage: Any, table: Table, parts: list[slice], found: list[dict]) -> None:
        rows = np.concatenate([np.arange(part.start, part.stop) for part in parts])
        intervals = self.model.predict_interval(table.take(rows), coverage) if len(rows) else np.empty((0, 2))
        ends = np.cumsum([0, *(part.stop - part.start for part in parts)])
        for answer, (a, b) in zip(found, pairwise(ends.tolist()), strict=True):
            answer["intervals"] = plain(intervals[a:b])

    def _known(self, table: Table) -> dict[str, np.ndarray]:
        """What every answer has for each of its rows."""
        asked = {"predictions": self.model.predict}
        if self.model.task == "classification":
            asked["probabilities"] = self.model.predict_proba
        return {name: predict(table) if len(table) else np.empty(0) for name, predict in asked.items()}


Q = TypeVar("Q", bound=Sized)
A = TypeVar("A")


class Batcher(Generic[Q, A]):
    """One worker thread, one batch at a time.

    Nobody waits for company: a request that finds the worker idle is answered at once, others are taken
    together when it is free again. So batches are as large as the load makes them.

    `answer` makes the list of answers of a list of requests, in a thread; an exception among them is raised
    where that request waits. A batch takes no further request beyond so many `rows`.

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
