"""What commands share: where text goes, progress, and how they fail."""

from __future__ import annotations

import functools
import json
import math
import os
import unicodedata
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, NoReturn, TypeVar

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn

from mercer._notice import Notice
from mercer.cli import FAILED, INTERRUPTED

# They turn the direction of writing, so that a name may read as another.
_TURNS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
# Seconds between two plain lines of progress: where something new begins, and where it is the same.
_NEW, _AGAIN = 5.0, 30.0

Command = TypeVar("Command", bound=Callable[..., None])


class Failure(Exception):
    """It could not be done; the message says why."""


def fail(message: str) -> NoReturn:
    """Give up: what went wrong is said on stderr, and the exit code is 1."""
    raise Failure(message)


def guarded(command: Command) -> Command:
    """A command that fails with one line instead of a traceback: plain text, or JSON after ``--json``."""

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        as_json = bool(arguments.get("as_json"))
        try:
            with _notes():
                command(**arguments)
        except KeyboardInterrupt as interrupt:
            leave(f"interrupted; {str(interrupt) or 'nothing was written'}", INTERRUPTED, as_json)
        except BrokenPipeError:
            raise  # whoever reads the output has gone; typer knows what to do
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            leave(f"{where}{error.strerror or error}", FAILED, as_json)
        except MemoryError:
            advice = "; --limit reads fewer rows" if "limit" in arguments else ""
            leave(f"there is not enough memory{advice}", FAILED, as_json)
        except (Failure, ValueError, ImportError) as error:
            leave(" ".join(str(error).split()), FAILED, as_json)

    return run  # type: ignore[return-value]


def printable(text: str, kept: str = "") -> str:
    """Text from a file as it may be shown on a terminal, which takes some characters for commands.

    Control characters, those that turn the direction of writing, and halves of characters are spelt out.

    >>> printable("red\\x1b[31m"), printable("two\\nlines", kept="\\n") == "two\\nlines"
    ('red\\\\x1b[31m', True)
    """
    if text.isprintable():
        return text
    commands = {c for c in set(text) if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in _TURNS}
    return "".join(c if c in kept or c not in commands else ascii(c)[1:-1] for c in text)


def leave(message: str, code: int, as_json: bool = False) -> NoReturn:
    """Say why, on stderr, and leave."""
    typer.echo(json.dumps({"error": message}) if as_json else f"mercer: {printable(message)}", err=True)
    raise typer.Exit(code)


def note(message: str) -> None:
    """A line on stderr that is no error."""
    typer.echo(f"mercer: {printable(message)}", err=True)


@contextmanager
def _notes() -> Iterator[None]:
    """Warnings as one line each, without the place in the code."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: note(" ".join(str(message).split()))
        yield


def print_json(value: Any) -> None:
    """One JSON object on stdout; numbers that are not finite are null."""
    typer.echo(json.dumps(plain(value), allow_nan=False))


def plain(value: Any) -> Any:
    """Dicts, lists and Python's own values; what is no finite number is None."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def stdout() -> Console:
    """Where tables are printed; wide enough for them if that is no terminal."""
    console = Console()
    return console if console.is_terminal else Console(width=100)


@contextmanager
def spinner(
    quiet: bool, seconds: float | None = None, as_json: bool = False
) -> Iterator[Callable[[str], None]]:
    """What is being done, and since when: on a terminal in a line that goes away, elsewhere in plain lines.

    `seconds` is about how long it will take, if that is known. A `Notice` stays, and may know better. What is
    made for programmes (`as_json`) has no plain lines.
    """
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield (lambda text: None) if quiet else PlainLines(seconds, as_json)
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.elapsed:.0f}{task.fields[of]} s", style="dim"),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as line:
        task = line.add_task("Starting", total=None, of=_of(seconds))

        def say(text: str) -> None:
            if not isinstance(text, Notice):
                line.update(task, description=printable(text))
                return
            note(text)
            if text.seconds is not None:
                line.update(task, of=_of(text.seconds))

        yield say


def _of(seconds: float | None) -> str:
    return "" if seconds is None else f" of about {seconds:.0f}"


class PlainLines:
    """Says on stderr what is being done: where something new begins, and now and then.

    What takes a moment only is not mentioned. Called with a line of text, of which all before a colon says
    what it is, and the rest how far it is.
    """

    def __init__(self, seconds: float | None = None, notices_only: bool = False):
        self.seconds, self.notices_only = seconds, notices_only
        self._started = self._said = monotonic()
        self._what = ""

    def __call__(self, text: str) -> None:
        if isinstance(text, Notice):
            self.seconds = self.seconds if text.seconds is None else text.seconds
            note(text)
            return
        now, what = monotonic(), text.split(":")[0].split(", ")[-1].lower()
        if self.notices_only or now - self._said < (_AGAIN if what == self._what else _NEW):
            return
        self._said, self._what = now, what
        taken = now - self._started
        late = self.seconds is not None and taken > self.seconds  # nobody knows then how long it will take
        note(f"{taken:.0f}{_of(None if late else self.seconds)} s: {text}")


def require_writable(path: Path) -> None:
    """Fail before the work is done if its result could not be written."""
    if path.is_dir():
        fail(f"{path} is a folder; name a file to write to")
    folder = path.resolve().parent
    if not folder.is_dir():
        fail(f"{path} can't be written: there is no folder {folder}")
    if not os.access(folder, os.W_OK) or (path.exists() and not path.is_file()):
        fail(f"{path} can't be written")


def require_apart(output: Path, *others: Path) -> None:
    """Fail if a result would be written over something else of the same command."""
    for other in others:
        if output.resolve() == other.resolve():
            fail(f"{output} is read or written by this command already; choose another name")
        if other.is_dir() and output.resolve().is_relative_to(other.resolve()):
            fail(f"{output} lies in {other}, all files of which are read; choose another folder")
