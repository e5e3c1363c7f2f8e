"""Who may ask, and what a browser may do with the answers."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders

from mercer._http.refusal import Refusal

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# The report is a page of its own, shown in a frame: it holds its styles and pictures, and no script.
_REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)


class Guard:
    """An application around another: requests by a foreign name or from a foreign page go no further.

    The host is checked because a foreign page can make its own name point at this machine (DNS rebinding);
    the origin because any page may send requests to 127.0.0.1.
    """

    def __init__(self, app: Any, hosts: tuple[str, ...]):
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        policy = _REPORT_POLICY if scope["path"] == "/report" else _policy(scope["path"])

        async def dressed(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["content-security-policy"] = policy
                headers["x-content-type-options"] = "nosniff"
                headers["referrer-policy"] = "no-referrer"
                headers["cache-control"] = "no-store"
                headers["cross-origin-resource-policy"] = "same-origin"
            await send(message)

        refusal = self._objection(Headers(scope=scope))
        if refusal is None:
            await self.app(scope, receive, dressed)
            return
        response = refusal.response()
        response.headers["connection"] = "close"  # its body has not been read
        await response(scope, receive, dressed)

    def _objection(self, headers: Headers) -> Refusal | None:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or _name(hosts[0]) not in self.hosts:
            return Refusal(421, f"this is the lab at {self.hosts[0]}; open it by that address")
        if origins and origins != [f"http://{hosts[0]}"]:
            return Refusal(403, "pages from elsewhere may not ask the lab")
        return None


def _policy(path: str) -> str:
    """Only the page itself may show the report in a frame."""
    return _POLICY + "; frame-src 'self'" if path == "/" else _POLICY


def _name(host: str) -> str | None:
    """The name in a header "name:port"; None if that is none."""
    try:
        parts = urlsplit(f"//{host}")
        name, _ = parts.hostname, parts.port
    except ValueError:
        return None
    if name is None or parts.username is not None or parts.path:
        return None
    return f"[{name}]" if ":" in name else name
