"""Nodes as Dask actors: each lives on a worker, and messages go from worker to worker.

The driver says when a round begins and which messages shall fail; what nodes say to each other does not pass
through it.
"""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np

from mercer.network.node import Message, NodeSetup
from mercer.network.rounds import Deliveries


class NodeActor:
    """A node on a worker.

    Sending and receiving are coroutines, which a worker runs on its event loop: two nodes that send to each
    other at the same time would otherwise wait for each other's thread for ever.
    """

    def __init__(self, number: int, setup: NodeSetup):
        self.number, self.node = number, setup.made()
        self.others: dict[int, Any] = {}
        self.under_way: dict[int, list[tuple[int, Message]]] = {}

    async def meet(self, others: dict[int, Any]) -> None:
        """Be told where the neighbours live."""
        self.others = others

    async def take(self, sender: int, due: int, message: Message) -> None:
        """Receive a message, to be heard in round `due`."""
        self.under_way.setdefault(due, []).append((sender, message))

    async def speak(self, round: int, woken: bool, late: dict[int, int]) -> list[tuple[int, int, int, int]]:
        """Send to all neighbours, and return what was sent."""
        if woken:
            self.node.wake(round)
        sent, ways = [], []
        for j, message in self.node.speak(round).items():
            sent.append((round, self.number, j, message.nbytes))
            if late[j] >= 0:
                ways.append(_given(self.others[j].take(self.number, round + late[j], message)))
        await asyncio.gather(*ways)
        return sent

    def hear(self, round: int) -> int:
        """Take in what is due."""
        return self.node.hear(round, self.under_way.pop(round, []))

    async def miss(self, round: int) -> None:
        """Be silent: what is due now is lost."""
        self.under_way.pop(round, None)

    def solution(self) -> tuple[np.ndarray, float]:
        """(θ, λ), as far as this node knows."""
        return self.node.solution()


async def _given(future: Any) -> Any:
    """What an actor answers; one on the same worker may answer at once."""
    return await future


class DaskCarrier:
    """Nodes on the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Any, setups: list[NodeSetup]):
        self.actors = on_workers(client, NodeActor, list(enumerate(setups)), actor=True)
        _all([self.actors[i].meet({j: self.actors[j] for j in s.near}) for i, s in enumerate(setups)])

    def round(self, plan: Deliveries) -> tuple[list[tuple[int, int, int, int]], dict[int, int]]:
        there = np.flatnonzero(plan.up).tolist()
        log: list[tuple[int, int, int, int]] = []
        late: dict[int, dict[int, int]] = {i: {} for i in there}
        for (i, j), rounds in plan.late.items():
            if i in late:
                late[i][j] = rounds
        for sent in _all([self.actors[i].speak(plan.round, i in plan.woken, late[i]) for i in there]):
            log += sent
        _all([self.actors[i].miss(plan.round) for i in np.flatnonzero(~plan.up).tolist()])
        return log, dict(zip(there, _all([self.actors[i].hear(plan.round) for i in there])))

    def solutions(self) -> list[tuple[np.ndarray, float]]:
        return _all([actor.solution() for actor in self.actors])


def _all(futures: list[Any]) -> list[Any]:
    return [future.result() for future in futures]


def on_workers(client: Any, made: Any, arguments: list[tuple[Any, ...]], **how: Any) -> list[Any]:
    """What `made` returns for each node's arguments, node after node on worker after worker."""
    workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
    if not workers:
        raise ValueError("the client has no workers: wait for some, client.wait_for_workers(1)")
    futures = [
        client.submit(made, *some, workers=workers[i % len(workers)], pure=False, **how)
        for i, some in enumerate(arguments)
    ]
    return _all(futures)
