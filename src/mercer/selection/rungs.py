"""Many settings on few rows, few on many: successive halving, one trial at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mercer.selection.proposals import propose, starting_trials
from mercer.selection.space import Space
from mercer.selection.tuning import TuningTrial

# From rung to rung there are three times as many rows, for half as many trials.
_MORE_ROWS, _FEWER_TRIALS = 3, 2
_PROMOTED = 3


def rungs_of(n: int, few: int) -> tuple[int, ...]:
    """Numbers of rows, each about three times the one before: from few, or less, to all.

    >>> rungs_of(2000, 4000), rungs_of(50_000, 4000)
    ((2000,), (1851, 5555, 16666, 50000))
    """
    rungs = [n]
    while rungs[0] > few:
        rungs.insert(0, rungs[0] // _MORE_ROWS)
    return tuple(rungs)


def row_order(n: int, labels: np.ndarray | None, seed: int) -> np.ndarray:
    """A random order of rows in which every beginning has about the same share of each class."""
    rng = np.random.default_rng(seed)
    if labels is None:
        return rng.permutation(n)
    place = np.empty(n)
    _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    for code, count in enumerate(counts):
        place[rng.permutation(np.flatnonzero(codes.ravel() == code))] = (
            np.arange(count) + rng.random()
        ) / count
    return np.argsort(place, kind="stable")


def next_step(
    space: Space,
    trials: Sequence[TuningTrial],
    rungs: Sequence[int],
    start: np.ndarray,
    seed: int,
    affordable: Callable[[int], bool],
) -> tuple[np.ndarray, int] | None:
    """(point of the cube, rows) of the next trial; None if there is nothing new to try.

    Once the lowest rung has been looked over, it goes on the highest one that has less than half as many
    trials as the one below has good ones, and that can be paid for. There, every third is the best from
    below that has not been there; the others are new points near the best, because the optimum moves with
    the number of rows.
    """
    lowest = sum(t.rows == rungs[0] for t in trials)
    for last in (False, True):  # at last, when nothing is left for the lowest rung, half of one is one
        open_rungs = len(rungs) if last or lowest > starting_trials(len(space.axes)) else 1
        for k in range(open_rungs - 1, 0, -1):
            below = sorted((t for t in trials if t.rows == rungs[k - 1] and t.ok), key=lambda t: -t.score)
            here = [t for t in trials if t.rows == rungs[k]]
            quota = (len(below) + (1 if last else 0)) // _FEWER_TRIALS
            if len(here) >= quota or not affordable(rungs[k]):
                continue
            points = {t.point for t in here}
            risen = next((t for t in below if t.point not in points), None)
            if risen is not None and len(here) % _PROMOTED == 0:
                return np.array(risen.point), rungs[k]
            u = propose(space, trials, start, seed, rungs[k], explore=False)
            if u is None and risen is not None:
                u = np.array(risen.point)
            if u is not None:
                return u, rungs[k]
        if not last:
            u = propose(space, trials, start, seed, rungs[0])
            if u is not None:
                return u, rungs[0]
    return None
