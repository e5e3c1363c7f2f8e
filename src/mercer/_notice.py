"""Lines of progress: those that are worth more than a moment, and those of long computations in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_TOLD: ContextVar[Callable[[str], object] | None] = ContextVar("told", default=None)


class Notice(str):
    """A line of progress that stays on the screen; `seconds` is about how long all will take, if that is new.

    Examples
    --------
    >>> notice = Notice("reading takes about 180 s", seconds=240.0)
    >>> notice, notice.seconds
    ('reading takes about 180 s', 240.0)
    """

    seconds: float | None

    def __new__(cls, text: str, seconds: float | None = None) -> Notice:
        made = super().__new__(cls, text)
        made.seconds = seconds
        return made


@contextmanager
def telling(told: Callable[[str], object] | None) -> Iterator[None]:
    """Within this, `tell` reaches `told`; None: nobody.

    Examples
    --------
    >>> with telling(print):
    ...     tell("newton", 3, "relative gradient", 0.5)
    newton: iteration 3, relative gradient 5.0e-01
    """
    before = _TOLD.set(told)
    try:
        yield
    finally:
        _TOLD.reset(before)


def line_teller() -> Callable[[str], None]:
    """Who is told lines of progress, if anybody listens; else lines go nowhere.

    Examples
    --------
    >>> with telling(print):
    ...     line_teller()("Testing")
    Testing
    """
    told = _TOLD.get()

    def line(text: str) -> None:
        if told is not None:
            told(text)

    return line


def tell(what: str, done: int, measured: str, value: float, target: float | None = None) -> None:
    """Say how far an iteration is, if anybody listens; where the number has to go may be added."""
    told = _TOLD.get()
    if told is not None:
        goal = "" if target is None else f" (wanted: {target:.1e})"
        told(f"{what}: iteration {done:,}, {measured} {value:.1e}{goal}")


def tell_part(what: str, done: int, whole: int, unit: str) -> None:
    """Say how much of something is done, if anybody listens.

    Examples
    --------
    >>> with telling(print):
    ...     tell_part("factoring", 512, 2000, "columns")
    factoring: 512 of 2,000 columns
    """
    told = _TOLD.get()
    if told is not None:
        told(f"{what}: {done:,} of {whole:,} {unit}")
