"""When a fit is to be over, whatever the table and the machine, and what that cost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mercer._threads import Stopped, stop_when, stopping_point
from mercer.selection.search import Clock

# What is tried is decided by forecasts for the minutes that were given. What takes longer is ended at this
# multiple of them, so that the call is over before 1.2 × the minutes + 10 seconds.
_LATEST, _GRACE = 1.05, 3.0
# Words for what was ended, in the order in which they are said.
_SAID = "the time was up before {} done: with more minutes, or on a faster machine, the model may be another"


class Deadline:
    """The end of a fit, and the stages that it cut short.

    Examples
    --------
    >>> deadline = Deadline(seconds=60.0)
    >>> with deadline.stage("the search"):
    ...     found = 3
    >>> deadline.remarks(), 50 < deadline.left <= 66
    ((), True)
    """

    def __init__(self, seconds: float, started: float | None = None):
        self.seconds = seconds
        self._end = Clock(_LATEST * seconds + _GRACE)  # which knows how to be sent to another process
        if started is not None:
            self._end.started = started
        self.cut: list[str] = []

    @property
    def left(self) -> float:
        """Seconds until what is under way is ended."""
        return self._end.left

    @property
    def spent(self) -> float:
        """Seconds since it all began; no more of them are told than there were."""
        return self._end.seconds - self.left

    def passed(self) -> bool:
        return self.left <= 0

    def clock(self, seconds: float) -> Clock:
        """One for a stage that should take so long; it ends with the deadline."""
        return Clock(min(seconds, self.left))

    @contextmanager
    def stage(self, name: str, seconds: float | None = None) -> Iterator[None]:
        """A part of the work that can be left out, and is where it does not end in so many seconds."""
        clock = self.clock(self.left if seconds is None else seconds)
        try:
            with stop_when(clock.up):
                yield
        except Stopped:
            stopping_point()  # is it all that is to be given up, and not this part alone?
            self.cut_short(name)

    def cut_short(self, name: str) -> None:
        """Note that something was not done, or not to its end."""
        if name not in self.cut:
            self.cut.append(name)

    def remarks(self) -> tuple[str, ...]:
        """A sentence, if anything was cut short."""
        if not self.cut:
            return ()
        *before, last = self.cut
        words = f"{', '.join(before)} and {last} were" if before else f"{last} was"
        return (_SAID.format(words),)
