"""Asks an ASGI application, without a server (what tests of single answers need) or behind one."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mercer._http.server import listening, server_of


async def asked(app: Any, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None):
    """(status, headers, body) of one request."""
    sent = {"host": "127.0.0.1:8000", "content-length": str(len(body))} | (headers or {})
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(k.lower().encode("latin-1"), v.encode("latin-1")) for k, v in sent.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8000),
    }
    unread = [{"type": "http.request", "body": body, "more_body": False}]
    messages: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if unread:
            return unread.pop()
        await asyncio.Event().wait()  # nobody goes away
        raise AssertionError

    async def send(message: dict[str, Any]) -> None:
        messages.append(message)

    await app(scope, receive, send)
    start = messages[0]
    found = {k.decode("latin-1"): v.decode("latin-1") for k, v in start["headers"]}
    return start["status"], found, b"".join(m.get("body", b"") for m in messages[1:])


def ask(app: Any, path: str, body: Any = None, method: str | None = None, **headers: str):
    """(status, JSON or text) of one request; a body is sent as JSON, bytes as they are."""
    data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = ({} if body is None else {"content-type": "application/json"}) | headers
    status, found, answer = asyncio.run(
        asked(app, method or ("GET" if body is None else "POST"), path, data, sent)
    )
    is_json = found.get("content-type", "").startswith("application/json")
    return status, json.loads(answer) if is_json else answer.decode()


def refused(answer, field=None, *words):
    """The error of an answer that must be a refusal, naming its field."""
    status, body = answer
    assert 400 <= status < 500, answer
    assert isinstance(body["error"], str) and len(body["error"]) > 10
    if field is not None:
        assert body.get("field") == field, body
    for word in words:
        assert word in body["error"], body
    json.dumps(body, allow_nan=False)
    return body


@contextmanager
def serving(app: Any, timeout: float = 5) -> Iterator[int]:
    """An application on a port, in a thread: the port's number."""
    with listening("127.0.0.1", 0) as listener:
        server = server_of(app, False, timeout)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(20)
            assert not thread.is_alive()
