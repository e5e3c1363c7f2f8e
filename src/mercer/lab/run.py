"""The lab on a port of this machine, until it is told to stop."""

from __future__ import annotations

from collections.abc import Callable

from mercer._http.server import listening, serve_app
from mercer.lab.app import make_app
from mercer.tables.model import Model

# Addresses that mean "any": who listens there is asked by names that nobody knows beforehand.
_ANY = ("0.0.0.0", "::", "")


def run(
    model: Model | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    log: bool = False,
    ready: Callable[[str], None] | None = None,
    timeout: float = 30.0,
) -> None:
    """Serve the lab until SIGINT (Ctrl-C) or SIGTERM, and then stop within about a second.

    Parameters
    ----------
    model : Model, optional
        Of `mercer.fit`, for the corner of tables.
    host : str
        The address to listen at: one of this machine's own. The lab has no passwords, so that an address that
        others reach lets them in.
    port : int
        0 takes a free one.
    log : bool
        One line a request on stderr.
    ready : function, optional
        Called with the URL as soon as requests are taken; `webbrowser.open` opens the page.
    timeout : float
        Seconds for a request to arrive, and for an answer.

    Raises
    ------
    OSError
        If the port can't be had.

    Examples
    --------
    >>> from mercer.lab import run
    >>> run(host="0.0.0.0")
    Traceback (most recent call last):
    ...
    ValueError: '0.0.0.0' means every address of this machine; give the one that the page is opened at
    """
    if host in _ANY:
        raise ValueError(
            f"{host!r} means every address of this machine; give the one that the page is opened at"
        )
    own = f"[{host}]" if ":" in host else host
    names = (own, "localhost") if host in ("127.0.0.1", "::1") else (own,)
    app = make_app(model, hosts=names, timeout=timeout)
    with listening(host, port) as listener:
        serve_app(app, listener, log=log, patience=1.0, ready=ready)
