"""The application: three addresses, and one way in which all of them refuse."""

from __future__ import annotations

import asyncio
import time
from functools import partial

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import mercer
from mercer._http.body import Room, read_body, require_json
from mercer._http.errors import handlers
from mercer._http.refusal import Refusal, as_json
from mercer.tables.model import Model
from mercer.tables.serve.answers import Answers, Batcher
from mercer.tables.serve.rows import Asked, parse, schema

# Longer bodies are parsed in a thread, so that others are not kept waiting.
_SHORT = 1 << 15
# Bodies held at once, in units of the longest one.
_BODIES = 8


def make_app(
    model: Model,
    *,
    max_body: int = 10_000_000,
    max_rows: int = 10_000,
    max_requests: int = 1000,
    batch_rows: int = 4096,
    timeout: float = 30.0,
) -> Starlette:
    """An ASGI application that answers with a model's predictions.

    ``GET /health``, ``GET /schema`` and ``POST /predict``; docs/serving.md describes them. Requests are
    checked one by one, then predicted together: those that arrive while a prediction runs form the next
    batch. Every error is JSON, ``{"error": …}``.

    Parameters
    ----------
    model : Model
        Of `mercer.fit`.
    max_body : int
        Longest body of a request, in bytes.
    max_rows : int
        Most rows of a request.
    max_requests : int
        Most requests under way at once; further ones are told to come back (503).
    batch_rows : int
        A batch takes no further request beyond so many rows. 1 predicts every request alone: then answers
        are those of ``model.predict`` to the last bit, and not just up to rounding.
    timeout : float
        Seconds a body may take to arrive, and a prediction to be made.

    Returns
    -------
    Starlette

    Examples
    --------
    >>> import asyncio, json, mercer
    >>> rows = [{"x": i / 10, "side": "left" if i % 2 else "right"} for i in range(12)]
    >>> model = mercer.fit(rows, [row["x"] ** 2 for row in rows], target="square", minutes=0.01)
    >>> app = make_app(model, max_rows=100)
    >>> [route.path for route in app.routes]
    ['/health', '/schema', '/predict']
    """
    if not isinstance(model, Model):
        raise TypeError(
            f"only a Model of mercer.fit knows its columns and can be served, got {type(model).__name__}"
        )
    service = _Service(
        model, max_body=max_body, max_rows=max_rows, requests=max_requests, batch=batch_rows, timeout=timeout
    )
    app = Starlette(
        routes=[
            Route("/health", service.health, methods=["GET"]),
            Route("/schema", service.schema, methods=["GET"]),
            Route("/predict", service.predict, methods=["POST"]),
        ],
        exception_handlers=handlers("there are /health, /schema and /predict"),
    )
    app.router.redirect_slashes = False
    return app


class _Service:
    def __init__(
        self, model: Model, *, max_body: int, max_rows: int, requests: int, batch: int, timeout: float
    ):
        self.model, self.max_body, self.max_rows, self.timeout = model, max_body, max_rows, timeout
        self.room = Room(requests, _BODIES * max_body)
        self.batcher: Batcher[Asked, bytes] = Batcher(Answers(model), batch)
        self.described = as_json(schema(model) | {"limits": {"max_body": max_body, "max_rows": max_rows}})
        self.started, self.answered = time.monotonic(), 0

    async def health(self, request: Request) -> Response:
        return as_json(
            {
                "status": "ok",
                "model": str(self.model),
                "target": self.model.target,
                "task": self.model.task,
                "mercer": mercer.__version__,
                "uptime": round(time.monotonic() - self.started, 3),
                "answered": self.answered,
                "waiting": self.room.taken,
            }
        )

    async def schema(self, request: Request) -> Response:
        return self.described

    async def predict(self, request: Request) -> Response:
        with self.room.place() as grow:
            require_json(request)
            body = await read_body(request, grow, self.max_body, self.timeout, "send fewer rows at a time")
            understand = partial(parse, body, self.model, self.max_rows)
            asked = understand() if len(body) <= _SHORT else await asyncio.to_thread(understand)
            try:
                async with asyncio.timeout(self.timeout):
                    answer = await self.batcher.ask(asked)
            except TimeoutError:
                raise Refusal(
                    503, f"no answer within {self.timeout:g} seconds; try again", retry_after=1
                ) from None
        self.answered += 1
        return Response(answer, media_type="application/json")
