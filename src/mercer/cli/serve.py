"""`mercer serve`: a model over HTTP."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from mercer.cli.console import fail, note
from mercer.cli.options import ModelFile, load_model

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def _bytes(text: str) -> int:
    """10MB, 512kB, 1GiB or a number of bytes."""
    match = re.fullmatch(r"\s*([0-9]+)\s*([a-z]*)\s*", text, re.IGNORECASE)
    if match is None or match[2].upper() not in _UNITS or not int(match[1]):
        raise typer.BadParameter(f"{text!r} is no size; write 10MB, 512kB or a number of bytes")
    return int(match[1]) * _UNITS[match[2].upper()]


def serve(
    model_file: ModelFile,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen at; 127.0.0.1 is this machine only.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes a free one.")] = 8000,
    max_body: Annotated[
        int,
        typer.Option("--max-body", parser=_bytes, metavar="SIZE", help="Longest body of a request."),
    ] = "10MB",  # type: ignore[assignment]
    max_rows: Annotated[int, typer.Option("--max-rows", min=1, help="Most rows of a request.")] = 10_000,
    max_requests: Annotated[
        int,
        typer.Option("--max-requests", min=1, help="Most requests under way; others are told to come back."),
    ] = 1000,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, help="Seconds for a body to arrive, and for an answer.")
    ] = 30.0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No line for each request.")] = False,
) -> None:
    """Answer requests for predictions over HTTP: POST /predict, GET /schema, GET /health.

    Ctrl-C or SIGTERM stops it: requests under way are answered first.
    """
    model = load_model(model_file)
    from mercer.tables.serve import run

    def ready(url: str) -> None:
        note(f"{model_file.name} predicts {model.target} at {url}/predict; Ctrl-C stops it")

    try:
        run(
            model,
            host=host,
            port=port,
            log=not quiet,
            ready=ready,
            timeout=timeout,
            max_body=max_body,
            max_rows=max_rows,
            max_requests=max_requests,
        )
    except OSError as error:
        fail(f"can't listen at {host}, port {port}: {error.strerror or error}")
