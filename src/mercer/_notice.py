"""Lines of progress that are worth more than a moment."""

from __future__ import annotations


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
