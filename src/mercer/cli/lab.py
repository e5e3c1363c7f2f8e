"""`mercer lab`: the page on which kernels come alive."""

from __future__ import annotations

import threading
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from mercer.cli.console import fail, note
from mercer.cli.options import load_model


def lab(
    model_file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[MODEL]", help="A model of `mercer fit`, to ask what if.", show_default=False
        ),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen at; 127.0.0.1 is this machine only.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes a free one.")] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but the address.")] = False,
) -> None:
    """Open a page to play with points, kernels, losses, online machines, clusters and the game of shattering.

    The page is served by this command, from this machine, to this machine. Ctrl-C stops it.
    """
    model = None if model_file is None else load_model(model_file)
    from mercer.lab import run

    def ready(url: str) -> None:
        if quiet:
            typer.echo(url)
        else:
            note(f"the lab is at {url}; Ctrl-C stops it")
        if browser:
            # Some browsers stay in the foreground until they are closed; the page waits for us meanwhile.
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()

    try:
        run(model, host=host, port=port, log=not quiet, ready=ready)
    except OSError as error:
        fail(f"can't listen at {host}, port {port}: {error.strerror or error}")
    except ValueError as error:
        fail(str(error))
