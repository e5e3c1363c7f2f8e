"""One search for all: stages say what to try, from what was tried; a clock says how long."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from mercer._threads import Stopped, stop_when, stopping_point
from mercer.selection.crew import HERE, Crew

# A trial: a dataclass with a field `seconds`.
T = TypeVar("T", bound=Any)
# Tries one thing, and returns its trial, or several that were made together.
Job = Callable[[], Sequence[T]]
# What to try next, given all trials so far; nothing: the search ends.
Stage = Callable[[Sequence[T]], Sequence[Job[T]]]


@dataclass
class Clock:
    """How long a search may take."""

    seconds: float
    started: float = field(default_factory=lambda: time.monotonic())
    ended: bool = False  # was anything left out, or stopped, because time was up?

    @property
    def left(self) -> float:
        return max(self.seconds - (time.monotonic() - self.started), 0.0)

    def __getstate__(self) -> dict[str, Any]:
        # In another process it goes on: what is passed until it is there counts, too.
        return {**vars(self), "started": time.monotonic() - self.started, "sent": time.time()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        under_way = max(time.time() - vars(self).pop("sent"), 0.0)
        self.started = time.monotonic() - state["started"] - under_way

    def up(self) -> bool:
        """Is it time to stop? If so, that is remembered."""
        self.ended = self.ended or self.left <= 0
        return self.ended


class Sharing:
    """A job that shares its work out among a crew itself, and so stays in this process."""

    def __init__(self, job: Job[Any]):
        self.job = job

    def __call__(self) -> Sequence[Any]:
        return self.job()


def search(
    stages: Iterable[Stage[T]],
    trials: list[T],
    clock: Clock,
    told: Callable[[Sequence[T]], None] = lambda trials: None,
    crew: Crew = HERE,
) -> None:
    """Try what the stages ask for, one stage after another, until one asks for nothing or time is up.

    `trials` grows, and `told` sees it after every stage; the first stage is tried in any case. Jobs of a
    stage run side by side, one thread each, on whatever the crew is, and their trials come in the order of
    the jobs: what is found is a matter of the stages, not of threads. A trial is told how many `seconds` it
    took; trials that were made together share theirs. A job of a later stage that is under way when time is
    up is given up at its next stopping point, and has no trials.
    """
    for stage in stages:
        if trials and clock.up():
            return
        jobs = stage(trials)
        if not jobs:
            return
        who = HERE if any(isinstance(job, Sharing) for job in jobs) else crew
        timed = partial(_in_time, clock) if trials else _timed
        for made in who.map(timed, jobs, clock):
            trials += made
        told(trials)


def _timed(job: Job[T]) -> list[T]:
    started = time.monotonic()
    made = job()
    seconds = (time.monotonic() - started) / max(len(made), 1)
    return [replace(trial, seconds=seconds) for trial in made]


def _in_time(clock: Clock, job: Job[T]) -> list[T]:
    """Nothing, if the clock is up before the job is done."""
    if clock.up():
        return []
    try:
        with stop_when(clock.up):
            return _timed(job)
    except Stopped:
        stopping_point()  # is it all that is to be given up, and not this job alone?
        return []
