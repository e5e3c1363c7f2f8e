"""One way in which every address refuses: JSON, after the rest of the request, so that its sender sees it."""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from mercer._http.body import discard
from mercer._http.refusal import Refusal


def handlers(addresses: str) -> dict[Any, Any]:
    """What an application does with exceptions; `addresses` tells those who ask for others."""

    async def not_found(request: Request, error: Exception) -> Response:
        """404 and 405, from the routes."""
        assert isinstance(error, HTTPException)
        methods = (error.headers or {}).get("Allow", "")
        where = {
            404: f"there is no such address; {addresses}",
            405: f"{request.method} is not understood here; {methods} is",
        }
        refusal = Refusal(error.status_code, where.get(error.status_code, error.detail))
        refusal.headers.update({k.lower(): v for k, v in (error.headers or {}).items()})
        return await refused(request, refusal)

    return {Refusal: refused, HTTPException: not_found, ClientDisconnect: _gone, Exception: _failed}


async def refused(request: Request, refusal: Exception) -> Response:
    """The answer to a request that is refused, once no more of it comes."""
    assert isinstance(refusal, Refusal)
    response = refusal.response()
    if refusal.status == 408 or not await discard(request):  # it has been waited for already
        response.headers["connection"] = "close"
    return response


async def _gone(request: Request, error: Exception) -> Response:
    """Nobody is there to read it."""
    return Response(status_code=400)


async def _failed(request: Request, error: Exception) -> Response:
    return Refusal(500, "this should not have happened; the log of the server says what").response()
