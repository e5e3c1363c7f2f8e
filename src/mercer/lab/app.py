"""The application: the page and its files, and an address for each thing the page asks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from mercer._http.body import Room, read_body, require_json
from mercer._http.errors import handlers
from mercer._http.refusal import Refusal, as_json, plain
from mercer.lab.clusters import cells, clusters
from mercer.lab.csv import csv
from mercer.lab.fields import Fields
from mercer.lab.fit import fit
from mercer.lab.game import game
from mercer.lab.guard import Guard
from mercer.lab.lane import Abandoned, Lane
from mercer.lab.online import online
from mercer.lab.options import options
from mercer.lab.samples import sample
from mercer.lab.tables import TableCorner
from mercer.tables.model import Model
from mercer.tables.reading.jsonlines import strict_json

_log = logging.getLogger("mercer.lab")
_BODY, _LONG_BODY = 1_000_000, 11_000_000
# Bodies held at once, in units of the longest one.
_BODIES = 4
_ADDRESSES = "there are /, /api/options and the others that docs/lab.md lists"

ANSWERS: dict[str, Callable[[Fields], dict[str, Any]]] = {
    "sample": sample,
    "csv": csv,
    "fit": fit,
    "online": online,
    "clusters": clusters,
    "cells": cells,
    "game": game,
}


def make_app(
    model: Model | None = None,
    *,
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]"),
    max_requests: int = 100,
    timeout: float = 30.0,
) -> Starlette:
    """The lab as an ASGI application: a page, and the service that computes what it shows.

    It keeps nothing: every answer follows from its request alone. docs/lab.md describes the addresses. Every
    error is JSON, ``{"error": …}``, with the ``"field"`` to blame where there is one.

    Parameters
    ----------
    model : Model, optional
        Of `mercer.fit`: its report, and predictions for rows that the page changes.
    hosts : tuple of str
        Names that requests may come by (any port). Others are refused, so that a page from elsewhere can't
        reach the lab by a name that was made to point here.
    max_requests : int
        Most requests under way at once; further ones are told to come back (503).
    timeout : float
        Seconds a body may take to arrive, and an answer to be made.

    Returns
    -------
    Starlette

    Examples
    --------
    >>> from mercer.lab import make_app
    >>> app = make_app(max_requests=10)
    >>> [route.path for route in app.routes][:3]
    ['/', '/static/{path:path}', '/api/options']
    """
    service = LabService(None if model is None else TableCorner(model), max_requests, timeout)
    routes = [
        Route("/", service.page, methods=["GET"]),
        Route("/static/{path:path}", service.static, methods=["GET"]),
        Route("/api/options", service.options, methods=["GET"]),
        Route("/api/model", service.model, methods=["GET"]),
        Route("/report", service.report, methods=["GET"]),
        Route("/api/predict", service.predict, methods=["POST"]),
        *(Route(f"/api/{name}", service.asked(name), methods=["POST"]) for name in ANSWERS),
    ]
    app = _Guarded(hosts, routes=routes, exception_handlers=handlers(_ADDRESSES))
    app.router.redirect_slashes = False
    return app


class _Guarded(Starlette):
    """An application with the guard around all of it: around what answers when something fails, too."""

    def __init__(self, hosts: tuple[str, ...], **options: Any):
        self.hosts = hosts
        super().__init__(**options)

    def build_middleware_stack(self) -> Any:
        return Guard(super().build_middleware_stack(), self.hosts)


class LabService:
    """What answers at each address."""

    def __init__(self, corner: TableCorner | None, requests: int, timeout: float):
        self.corner, self.timeout = corner, timeout
        self.room = Room(requests, _BODIES * _LONG_BODY)
        self.lane = Lane()
        self.choices = as_json(options(None if corner is None else corner.named()))
        self.folder = Path(str(files("mercer.lab") / "static")).resolve()

    # -- the page ---------------------------------------------------------------------------------

    async def page(self, request: Request) -> Response:
        return self._file("index.html")

    async def static(self, request: Request) -> Response:
        return self._file(request.path_params["path"])

    def _file(self, name: str) -> Response:
        try:
            path = (self.folder / name).resolve()
            found = path.is_relative_to(self.folder) and path.is_file()
        except (OSError, ValueError):  # a name that no file can have
            found = False
        if not found:
            raise Refusal(404, "there is no such file")
        return FileResponse(path)

    async def options(self, request: Request) -> Response:
        return self.choices

    # -- what is computed -------------------------------------------------------------------------

    def asked(self, name: str) -> Callable[[Request], Any]:
        """What answers at one of the addresses of /api."""

        async def answer(request: Request) -> Response:
            return await self._answered(request, ANSWERS[name], _LONG_BODY if name == "csv" else _BODY)

        return answer

    async def model(self, request: Request) -> Response:
        return as_json(await self._computed(self._corner().described, request))

    async def report(self, request: Request) -> Response:
        corner = self._corner()
        return Response(await self._computed(lambda: corner.report, request), media_type="text/html")

    async def predict(self, request: Request) -> Response:
        return await self._answered(request, self._corner().predict, _BODY)

    def _corner(self) -> TableCorner:
        if self.corner is None:
            raise Refusal(404, "the lab was opened without a model; open it with `mercer lab MODEL.mercer`")
        return self.corner

    async def _answered(self, request: Request, answer: Callable[[Fields], Any], most: int) -> Response:
        with self.room.place() as grow:
            require_json(request)
            body = await read_body(request, grow, most, self.timeout, "take fewer points")
            found = await self._computed(lambda: answer(_fields(body)), request)
            try:
                return as_json(found)
            except (
                ValueError
            ):  # a number beyond all bounds, which is rare: looking for it takes longer than JSON
                return as_json(plain(found))

    async def _computed(self, work: Callable[[], Any], request: Request) -> Any:
        """What `work` gives, with the warnings of the library if it is an object."""
        try:
            async with asyncio.timeout(self.timeout):
                found, heard = await self.lane.run(work, request.is_disconnected)
        except TimeoutError:
            raise Refusal(
                503, f"no answer within {self.timeout:g} seconds; take fewer points, or wait", retry_after=1
            ) from None
        except Abandoned:
            return {}
        except asyncio.CancelledError:  # the server stops, and has waited long enough
            raise Refusal(503, "the lab is being stopped", retry_after=1) from None
        except Refusal:
            raise
        except (ValueError, ArithmeticError) as error:  # what the library refuses, in its own words
            raise Refusal(422, str(error)[:1000]) from None
        except Exception:
            _log.exception("a request failed")
            raise Refusal(500, "this should not have happened; the log of the lab says what") from None
        return found | {"warnings": heard} if isinstance(found, dict) else found


def _fields(body: bytes) -> Fields:
    def no_number(word: str) -> float:
        raise Refusal(400, f"{word} is no JSON")

    try:
        return Fields(strict_json(body.decode("utf-8"), parse_constant=no_number))
    except UnicodeDecodeError as error:
        raise Refusal(400, f"the body is not UTF-8: byte {error.start} is wrong") from None
    except ValueError as error:  # JSONDecodeError, or a number of thousands of digits
        raise Refusal(400, f"the body is no JSON: {str(error)[:200]}") from None
