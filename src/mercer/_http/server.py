"""The server: an application on a port, until it is told to stop."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from mercer._http.refusal import to_bytes
from mercer._threads import on_signals


def serve_app(
    app: Any,
    listener: socket.socket,
    *,
    log: bool,
    patience: float,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Answer requests at `listener` until SIGINT (Ctrl-C) or SIGTERM; a second signal ends it at once.

    After the first one no new connection is taken, and requests under way have `patience` seconds to end.
    `ready` is called with the URL as soon as requests are taken, `log` asks for one line a request.
    """
    server = server_of(app, log, patience)

    def stop(*_: Any) -> None:
        server.should_exit = True

    # uvicorn sends the signal that stopped it once more when it is done: without somebody to take it an
    # orderly stop would look like a process that was killed.
    with on_signals(stop, signal.SIGINT, signal.SIGTERM):
        if ready is not None:
            ready(url_of(listener))
        server.run(sockets=[listener])


def server_of(app: Any, log: bool, patience: float) -> uvicorn.Server:
    """A server of an application; once told to stop, requests under way have `patience` seconds to end."""
    config = uvicorn.Config(
        app,
        http=Protocol,  # h11, which bounds the length of headers
        loop="asyncio",
        ws="none",
        lifespan="off",
        log_config=_LOG,
        access_log=log,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=max(1, round(patience)),
    )
    return uvicorn.Server(config)


def listening(host: str, port: int) -> socket.socket:
    """A socket that takes connections at an address; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol said, asyncio knows that this is TCP and sends small answers at once. Left out, as
    # socket.create_server does, every answer waits 40 ms for the acknowledgement of its headers.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere it would let two servers share a port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(1024)
    except BaseException:
        listener.close()
        raise
    return listener


def url_of(listener: socket.socket) -> str:
    """Where a socket is reached."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


_LOG = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {"format": "%(asctime)s %(message)s", "datefmt": "%H:%M:%S"},
        "access": {
            "()": "uvicorn.logging.AccessFormatter",
            "fmt": "%(asctime)s %(client_addr)s %(request_line)s %(status_code)s",
            "datefmt": "%H:%M:%S",
            "use_colors": False,
        },
    },
    "handlers": {
        "plain": {"class": "logging.StreamHandler", "formatter": "plain"},
        "access": {"class": "logging.StreamHandler", "formatter": "access"},
    },
    "loggers": {
        "uvicorn.error": {"handlers": ["plain"], "level": "WARNING", "propagate": False},
        "uvicorn.access": {"handlers": ["access"], "level": "INFO", "propagate": False},
        "mercer.tables.serve": {"handlers": ["plain"], "level": "INFO", "propagate": False},
        "mercer.lab": {"handlers": ["plain"], "level": "INFO", "propagate": False},
    },
}


class Protocol(H11Protocol):
    """HTTP as uvicorn speaks it, with errors that are JSON."""

    def send_400_response(self, msg: str) -> None:
        """Refuse what can't be understood, and close: where the next request begins nobody knows."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = to_bytes({"error": f"this is no request of HTTP: {msg.rstrip('.')}"})
            headers = [
                (b"content-type", b"application/json"),
                (b"content-length", str(len(body)).encode("ascii")),
                (b"connection", b"close"),
                (b"x-content-type-options", b"nosniff"),
                (b"cache-control", b"no-store"),
                (b"content-security-policy", b"default-src 'none'"),
            ]
            for event in (
                h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
