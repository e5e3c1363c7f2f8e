"""May a file be replaced? The one place where commands ask.

What a command made itself may be made again: a model of `mercer fit` and its page by a fit of the same table
and target, the files of a stream by the same stream that is resumed. All else needs ``--force``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

import mercer
from mercer import tables
from mercer._files import open_plain
from mercer.cli.console import fail, require_writable

Force = Annotated[
    bool, typer.Option("--force", help="Replace files that are there, whoever made them.", show_default=False)
]

# A page says what it is about in its head.
_HEAD = 8192


def require_free(path: Path, force: bool, mine: Callable[[Path], bool] | None = None, hint: str = "") -> None:
    """Fail before any work if `path` can't be written, or is there and not `mine` to replace."""
    require_writable(path)
    if force or not os.path.lexists(path) or (mine is not None and path.is_file() and mine(path)):
        return
    fail(
        f"{path} is there already, and is not replaced unasked: say --force to do so{hint}, or choose "
        "another name"
    )


def model_of(source: str, target: str) -> Callable[[Path], bool]:
    """Is it what `mercer fit` made of this table and target before?"""

    def mine(path: Path) -> bool:

        found = _loaded(path)
        return (
            isinstance(found, mercer.Model)
            and found.evidence.source == source
            and str(found.target) == target
        )

    return mine


def stream_of(target: str) -> Callable[[Path], bool]:
    """Is it what `mercer stream` made of this target before?"""

    def mine(path: Path) -> bool:

        found = _loaded(path)
        return isinstance(found, tables.Streamed) and found.target == target

    return mine


def _loaded(path: Path) -> Any:

    try:
        return mercer.load(path)
    except mercer.io.ModelFileError:
        return None


def page_of(source: str, target: str) -> Callable[[Path], bool]:
    """Is it the page of a model of this table and target?"""

    def mine(path: Path) -> bool:
        from mercer.tables.report.model.page import mark_of

        with open_plain(path) as file:
            return f'content="mercer {mark_of(source, target)}"'.encode() in file.read(_HEAD)

    return mine
