"""Rounds: every node speaks, messages arrive or don't, every node hears."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from mercer._notice import tell_part
from mercer.network.faults import Faults
from mercer.network.node import Message, NodeSetup


@dataclass(frozen=True)
class Deliveries:
    """What happens to the messages of a round."""

    round: int
    up: np.ndarray  # (nodes,) who takes part
    woken: list[int]  # who was silent in the round before
    late: dict[tuple[int, int], int]  # (sender, receiver) → rounds, −1: lost


class Carrier(Protocol):
    """Where nodes live and who carries their messages."""

    lost: set[int]  # nodes that are no more, and what they knew with them

    def round(self, plan: Deliveries) -> tuple[list[tuple[int, int, int, int]], dict[int, int]]:
        """One round: what was sent (round, sender, receiver, bytes), and node → quiet rounds."""

    def solutions(self) -> list[tuple[np.ndarray, float]]:
        """(θ, λ) of every node."""


class InProcess:
    """All nodes in this process, one after the other: for study."""

    def __init__(self, setups: list[NodeSetup]):
        self.nodes = [setup.made() for setup in setups]
        self.under_way: dict[int, list[tuple[int, int, Message]]] = {}
        self.lost: set[int] = set()

    def round(self, plan: Deliveries) -> tuple[list[tuple[int, int, int, int]], dict[int, int]]:
        there = np.flatnonzero(plan.up).tolist()
        for i in plan.woken:
            self.nodes[i].wake(plan.round)
        log = []
        for i in there:
            for j, message in self.nodes[i].speak(plan.round).items():
                log.append((plan.round, i, j, message.nbytes))
                if (late := plan.late[i, j]) >= 0:
                    self.under_way.setdefault(plan.round + late, []).append((i, j, message))
        inboxes: dict[int, list[tuple[int, Message]]] = {}
        for i, j, message in self.under_way.pop(plan.round, []):
            inboxes.setdefault(j, []).append((i, message))
        return log, {i: self.nodes[i].hear(plan.round, inboxes.get(i, [])) for i in there}

    def solutions(self) -> list[tuple[np.ndarray, float]]:
        return [node.solution() for node in self.nodes]


@dataclass
class Proceedings:
    """How the rounds went."""

    log: list[tuple[int, int, int, int]] = field(default_factory=list)
    history: list[Any] = field(
        default_factory=list
    )  # (θ, λ) of every node, before the first round and after each
    rounds: int = 0
    agreed: bool = False
    up: np.ndarray = field(default_factory=lambda: np.ones(0, bool))


def run_rounds(
    carrier: Carrier,
    near: list[list[int]],
    faults: Faults,
    horizon: int,
    settled: int,
    max_rounds: int,
    record: bool,
) -> Proceedings:
    """Rounds until every node that is there knows that all are quiet, or there have been `max_rounds`.

    A node knows it once the number of quiet rounds, its own and its neighbours' and theirs, has reached the
    `horizon`: the longest way through the network. Before round `settled` nobody stops: whoever falls silent
    is missed only later, and all may be quiet although something has changed.
    """
    n = len(near)
    ways = [(i, j) for i in range(n) for j in near[i]]
    course = Proceedings(up=np.ones(n, bool))
    if record:
        course.history.append(carrier.solutions())
    before = np.ones(n, bool)
    for r in range(max_rounds):
        up = faults.up(n, r)
        late = dict(zip(ways, faults.fates(len(ways), r).tolist()))
        plan = Deliveries(r, up, np.flatnonzero(up & ~before).tolist(), late)
        log, quiet = carrier.round(plan)
        course.log += log
        course.rounds, before = r + 1, up
        course.up = np.isin(np.arange(n), list(quiet))
        tell_part("network", r + 1, max_rounds, "rounds at most")
        if record:
            course.history.append(carrier.solutions())
        if r >= settled and quiet and min(quiet.values()) > horizon:
            course.agreed = True
            break
    return course
