"""The server of a model, until it is told to stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mercer._http.server import listening, serve_app
from mercer.tables.model import Model
from mercer.tables.serve.app import make_app


def run(
    model: Model,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    log: bool = True,
    ready: Callable[[str], None] | None = None,
    timeout: float = 30.0,
    **limits: Any,
) -> None:
    """Serve a model over HTTP until SIGINT (Ctrl-C) or SIGTERM.

    Then no new connection is taken, requests under way are answered, and the function returns. A second
    signal ends it at once.

    Parameters
    ----------
    model : Model
    host : str
        The address to listen at. The default is reached from this machine only.
    port : int
        0 takes a free one.
    log : bool
        One line a request on stderr.
    ready : function, optional
        Called with the URL as soon as requests are taken.
    timeout : float
        As in `make_app`; also how long requests under way have to end.
    **limits
        Other parameters of `make_app`.

    Raises
    ------
    OSError
        If the port can't be had.
    """
    app = make_app(model, timeout=timeout, **limits)
    with listening(host, port) as listener:
        serve_app(app, listener, log=log, patience=timeout, ready=ready)
