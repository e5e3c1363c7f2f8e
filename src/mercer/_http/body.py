"""Bodies of requests: read in pieces, never more of them than there is room for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress

from starlette.requests import ClientDisconnect, Request

from mercer._http.refusal import Refusal

# How many seconds the rest of a refused body is read, so that its sender sees the answer: a connection that
# is closed on someone who still sends is lost with all that was sent back.
_PATIENCE = 1.0
_UNREAD = "mercer.unread"


class Room:
    """What requests under way may hold together: so many of them, and so many bytes of their bodies."""

    def __init__(self, requests: int, size: int):
        self.requests, self.size = requests, size
        self.taken = self.held = 0

    @contextmanager
    def place(self) -> Iterator[Callable[[int], None]]:
        """A place for one request, given back at the end: a function that takes bytes. 503 if it is full."""
        if self.taken >= self.requests:
            raise Refusal(503, f"{self.taken:,} requests are waiting already; try again", retry_after=1)
        mine = 0

        def grow(size: int) -> None:
            nonlocal mine
            if self.held + size > self.size:
                raise Refusal(503, "other requests fill the memory meant for them; try again", retry_after=1)
            self.held, mine = self.held + size, mine + size

        self.taken += 1
        try:
            yield grow
        finally:
            self.taken, self.held = self.taken - 1, self.held - mine


def require_json(request: Request) -> None:
    """415 unless the body is said to be JSON in UTF-8, and not packed."""
    kind, _, rest = request.headers.get("content-type", "").lower().partition(";")
    charset = rest.strip().removeprefix("charset=").strip('"')
    if kind.strip() != "application/json" or charset not in ("", "utf-8", "utf8"):
        raise Refusal(415, "send JSON in UTF-8, with the header content-type: application/json")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal(415, "send the body as it is, without a content-encoding")


async def read_body(
    request: Request, grow: Callable[[int], None], most: int, seconds: float, advice: str
) -> bytes:
    """The body; 413, with advice, once it is known to be too long, 408 if it does not arrive in time."""
    too_long = Refusal(413, f"the body is longer than {most:,} bytes, the limit; {advice}")
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > most:
        raise too_long
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for piece in _pieces(request):
                if len(body) + len(piece) > most:
                    raise too_long
                grow(len(piece))
                body += piece
    except TimeoutError:
        raise Refusal(408, f"the body did not arrive within {seconds:g} seconds") from None
    return bytes(body)


async def discard(request: Request) -> bool:
    """Read what is left of a body that is not wanted, within limits; is all of it read?"""
    if not _unread(request):
        return True
    if "expect" in request.headers:  # whoever asks first has sent nothing yet, and must not be told to go on
        return False
    with suppress(TimeoutError, ClientDisconnect):
        async with asyncio.timeout(_PATIENCE):
            async for _ in _pieces(request):
                pass
    return not _unread(request)


async def _pieces(request: Request) -> AsyncIterator[bytes]:
    """What has not been read of the body, as it arrives.

    Not Starlette's ``stream``, which can't be taken up again where another reader left it.
    """
    while _unread(request):
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        request.scope[_UNREAD] = message.get("more_body", False)
        yield message.get("body", b"")


def _unread(request: Request) -> bool:
    headers = request.headers
    return request.scope.get(_UNREAD, "content-length" in headers or "transfer-encoding" in headers)
