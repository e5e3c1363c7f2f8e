"""Which examples an online machine holds, as time goes by."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from mercer.online.coordinates import CoordinateLearner
from mercer.online.machine import OnlineMachine
from mercer.online.record import begin


def occupancy(
    machine: OnlineMachine, X: Any, y: Any, frames: int = 200
) -> tuple[np.ndarray, list[np.ndarray]]:
    """(numbers of examples seen, for each of them the numbers of the examples in f then), of a stream.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OnlineKernelRegressor
    >>> from mercer.online import Oldest
    >>> X = np.arange(6.0)[:, None]
    >>> occupancy(OnlineKernelRegressor(budget=Oldest(2)), X, X[:, 0] + 1, frames=2)
    (array([3, 6]), [array([2, 3]), array([5, 6])])
    """
    run, points, targets = begin(machine, X, y)
    learner: Any = run.learner_
    if isinstance(learner, CoordinateLearner) and not learner.most:
        raise ValueError("features and fixed centres hold no examples: there is nothing to show")
    n = len(targets)
    seen = np.unique(np.linspace(0, n, min(frames, n) + 1).round().astype(np.int64))
    held: list[np.ndarray] = []
    births = np.zeros(0, np.int64)
    for start, stop in pairwise(seen):
        learner.learn(points[start:stop], targets[start:stop], np.ones(stop - start))
        if isinstance(learner, CoordinateLearner):
            # Points stay in the order in which they were taken; new ones are of this chunk.
            births = np.concatenate([births, np.full(learner.size - len(births), stop)])
        else:
            births = learner.birth[learner.birth > 0]
        held.append(births)
    return seen[1:], held
