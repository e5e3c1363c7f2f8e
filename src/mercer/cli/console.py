"""What commands share: where text goes, progress, and how they fail."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from mercer.cli import FAILED


def fail(message: str) -> NoReturn:
    """Say what went wrong, on stderr, and leave with exit code 1."""
    typer.echo(f"mercer: {message}", err=True)
    raise typer.Exit(FAILED)


@contextmanager
def progress(steps: int, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A bar on stderr, moved on by calls with a line of text; nothing if quiet."""
    if quiet:
        yield lambda step: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=steps)
        started = False

        def step(text: str) -> None:
            nonlocal started
            bar.update(task, description=text, advance=1 if started else 0)
            started = True

        yield step


def require_writable(path: Path) -> None:
    """Fail before the work is done if its result could not be written."""
    if path.is_dir():
        fail(f"{path} is a folder; name a file to write to")
    folder = path.resolve().parent
    if not folder.is_dir():
        fail(f"{path} can't be written: there is no folder {folder}")
    if not os.access(folder, os.W_OK) or (path.exists() and not path.is_file()):
        fail(f"{path} can't be written")
