"""Nodes as Dask actors: each lives on a worker, and messages go from worker to worker.

The driver says when a round begins and which messages shall fail; what nodes say to each other does not pass
through it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from mercer.network.node import Message, NodeSetup
from mercer.network.rounds import Deliveries

# Seconds after which a message to another worker is given up.
_WAIT = 5.0
# How Dask says that an actor is gone.
_LOST = "Worker holding Actor was lost"


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
                ways.append(_sent(self.others[j], self.number, round + late[j], message))
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


async def _sent(other: Any, *message: Any) -> None:
    """Sent, if the other is there: a message to a node that is lost is lost with it."""
    try:
        await asyncio.wait_for(other.take(*message), _WAIT)
    except Exception as error:
        if not _is_loss(error):
            raise


def _is_loss(error: BaseException) -> bool:
    """Does this say that a worker is gone, rather than that something is wrong with a node?"""
    return isinstance(error, (OSError, TimeoutError)) or _LOST in str(error)


class DaskCarrier:
    """Nodes on the workers of a Dask cluster. Those of a worker that is lost are silent from then on.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Any, setups: list[NodeSetup]):
        self.client = client
        with client.as_current():
            self.actors = on_workers(client, NodeActor, list(enumerate(setups)), actor=True)
        self.lost: set[int] = set()
        self.last: dict[int, tuple[np.ndarray, float]] = {}
        self._asked("meet", {i: ({j: self.actors[j] for j in s.near},) for i, s in enumerate(setups)})

    def round(self, plan: Deliveries) -> tuple[list[tuple[int, int, int, int]], dict[int, int]]:
        there = np.flatnonzero(plan.up).tolist()
        log: list[tuple[int, int, int, int]] = []
        late: dict[int, dict[int, int]] = {i: {} for i in there}
        for (i, j), rounds in plan.late.items():
            if i in late:
                late[i][j] = -1 if j in self.lost else rounds
        said = {i: (plan.round, i in plan.woken, late[i]) for i in there}
        for sent in self._asked("speak", said).values():
            log += sent
        self._asked("miss", {i: (plan.round,) for i in np.flatnonzero(~plan.up).tolist()})
        return log, self._asked("hear", {i: (plan.round,) for i in there})

    def solutions(self) -> list[tuple[np.ndarray, float]]:
        """(θ, λ) of every node; of one that is lost the last that was asked for, or 0."""
        self.last.update(self._asked("solution", {i: () for i in range(len(self.actors))}))
        theta, lam = next(iter(self.last.values()))
        return [self.last.get(i, (np.zeros_like(theta), lam)) for i in range(len(self.actors))]

    def _asked(self, what: str, arguments: dict[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Answers of the nodes that are there; those that can't be reached are lost."""
        futures, answers = {}, {}
        for i, some in arguments.items():
            if i not in self.lost:
                # Actors ask whoever is current for their client, and this one need not be the default.
                with self._losing(i), self.client.as_current():
                    futures[i] = getattr(self.actors[i], what)(*some)
        for i, future in futures.items():
            with self._losing(i):
                answers[i] = future.result()
        if len(self.lost) == len(self.actors):
            raise RuntimeError("all nodes are lost: no worker that held one is left")
        return answers

    @contextmanager
    def _losing(self, node: int) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if not _is_loss(error):
                raise
            self.lost.add(node)


def on_workers(client: Any, made: Any, arguments: list[tuple[Any, ...]], **how: Any) -> list[Any]:
    """What `made` returns for each node's arguments, node after node on worker after worker."""
    workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
    if not workers:
        raise ValueError("the client has no workers: wait for some, client.wait_for_workers(1)")
    futures = [
        client.submit(made, *some, workers=workers[i % len(workers)], pure=False, **how)
        for i, some in enumerate(arguments)
    ]
    return [future.result() for future in futures]
