"""What is said when a table can not be read: which file, which line, which column, and what to do."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class TableError(ValueError):
    """A table that can not be read or made; the message begins with the place.

    Who raises one says what it knows of the place, who passes it on adds the rest: a reader need not name its
    file, which `read` and `batches` do.

    Parameters
    ----------
    problem : str
        What is wrong, and what to do about it.
    path, line, row, column
        The place, as far as it is known, and attributes, too. A line is counted as an editor does, from 1; so
        are rows, the header left out.

    Examples
    --------
    >>> print(TableError("'oops' is not a number.", path="a.csv", line=3, column="price"))
    a.csv, line 3, column 'price': 'oops' is not a number.
    """

    def __init__(
        self,
        problem: str,
        *,
        path: str | os.PathLike[str] | None = None,
        line: int | None = None,
        row: int | None = None,
        column: str | None = None,
    ):
        super().__init__(problem)
        self.problem, self.path = problem, None if path is None else os.fspath(path)
        self.line, self.row, self.column = line, row, column

    def __str__(self) -> str:
        place = [
            self.path,
            None if self.line is None else f"line {self.line:,}",
            None if self.row is None else f"row {self.row:,}",
            None if self.column is None else f"column {shown(self.column)}",
        ]
        where = ", ".join(part for part in place if part)
        return f"{where}: {self.problem}" if where else self.problem


class Stray(Exception):
    """A value that does not fit its column, by row (from 0). Readers know the place and say it with `at`.

    It is `mixed` if the rest of the column is of another kind, so that one of the two must be meant. If that
    kind was `guessed` by looking it helps to say another one; if a model was fitted to it, it does not.
    """

    def __init__(self, row: int, problem: str, mixed: bool = False, guessed: bool = True):
        super().__init__(problem)
        self.row, self.problem, self.mixed, self.guessed = row, problem, mixed, guessed

    def at(self, column: str, line: int | None = None, in_file: bool = False) -> TableError:
        """The error, by line where there is one and by row where not."""
        advice = " Correct it, or leave it empty if nothing is known." if self.mixed else ""
        if self.mixed and self.guessed:
            option = f" (--text {shlex.quote(column)})" if in_file else ""
            advice += f" If words are meant: kinds={{{column!r}: 'text'}}{option}."
        row = self.row + 1 if line is None else None
        return TableError(self.problem + advice, line=line, row=row, column=column)


def shown(value: Any) -> str:
    """A value in quotes, shortened: messages are one line long."""
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:45]}…{text[-8:]}"


def checked_names(names: list[str], line: int | None = None) -> list[str]:
    """The names of columns, each there and each only once."""
    seen: dict[str, int] = {}
    for number, name in enumerate(names, 1):
        if not name:
            raise TableError(
                f"column {number} of {len(names)} has no name. Give it one, or leave the column out"
                + (" (pandas writes its row numbers so, unless index=False)." if number == 1 else "."),
                line=line,
            )
        if name in seen:
            problem = f"columns {seen[name]} and {number} have the same name. Rename one."
            raise TableError(problem, line=line, column=name)
        seen[name] = number
    return names


@contextmanager
def in_file(path: str | os.PathLike[str]) -> Iterator[None]:
    """What is wrong is wrong with this file, unless the error names another one."""
    try:
        yield
    except TableError as error:
        error.path = error.path or os.fspath(path)
        raise


@contextmanager
def refused_as(what: str, *errors: type[BaseException]) -> Iterator[None]:
    """Errors of a library that reads `what` become a `TableError` in its own words, shortened."""
    try:
        yield
    except (TableError, Stray):
        raise
    except errors as error:
        said = " ".join(str(error).split()) or type(error).__name__
        said = said if len(said) <= 300 else said[:300] + "…"
        raise TableError(f"{what}: {said}{'' if said.endswith('.') else '.'}") from error
