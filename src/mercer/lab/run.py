"""The lab on a port of this machine, until it is told to stop."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address

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
        raise _everywhere(host)
    with listening(host, port) as listener:
        app = make_app(model, hosts=_names(host, listener.getsockname()[0]), timeout=timeout)
        serve_app(app, listener, log=log, patience=1.0, ready=ready)


def _names(host: str, bound: str) -> tuple[str, ...]:
    """By which names the page may be asked for, from what was typed and the address that was had.

    >>> _names("LocalHost", "127.0.0.1")
    ('127.0.0.1', 'localhost')
    """
    address = ip_address(bound.partition("%")[0])
    real = getattr(address, "ipv4_mapped", None) or address
    if real.is_unspecified:  # there are many ways to write 0.0.0.0
        raise _everywhere(host)
    names = [str(address), host.lower()] + ["localhost"] * real.is_loopback
    return tuple(dict.fromkeys(f"[{name}]" if ":" in name else name for name in names))


def _everywhere(host: str) -> ValueError:
    return ValueError(
        f"{host!r} means every address of this machine; give the one that the page is opened at"
    )
