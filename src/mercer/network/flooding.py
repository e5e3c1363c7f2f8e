"""Flooding: what every node has to say reaches every other node, from neighbour to neighbour."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.graphs import Graph
from mercer.network.faults import Faults
from mercer.network.topology import neighbours

NEVER = -1


@dataclass(frozen=True, eq=False)
class Flood:
    """What came of it."""

    arrived: (
        np.ndarray
    )  # (nodes, nodes) after how many rounds node i knows what j had to say; NEVER: not at all
    rounds: int
    messages: list[tuple[int, int, int, int]]  # round, sender, receiver, bytes


def flood(graph: Graph, sizes: np.ndarray, faults: Faults, max_rounds: int) -> Flood:
    """Every node tells its neighbours what it has heard since it last spoke, but not to whom it has it from.

    A message is acknowledged by the link, so that one that is lost goes out again in the next round, and is
    counted again. Nothing is sent to a node while it is silent.

    Parameters
    ----------
    sizes : (nodes,) bytes of what each node has to say
    """
    n, near = graph.n_nodes, neighbours(graph)
    ways = [(i, j) for i in range(n) for j in near[i]]
    arrived = np.full((n, n), NEVER)
    np.fill_diagonal(arrived, 0)
    waiting: dict[tuple[int, int], set[int]] = {way: {way[0]} for way in ways}
    under_way: dict[int, list[tuple[int, int, set[int]]]] = {}
    log: list[tuple[int, int, int, int]] = []
    for r in range(max_rounds):
        up, before = faults.up(n, r), len(log)
        for (i, j), late in zip(ways, faults.fates(len(ways), r).tolist()):
            if up[i] and up[j] and waiting[i, j]:
                items = set(waiting[i, j])
                log.append((r, i, j, int(sum(sizes[k] for k in items))))
                if late >= 0:
                    waiting[i, j].clear()
                    under_way.setdefault(r + late, []).append((i, j, items))
        for i, j, items in under_way.pop(r, []):
            if not up[j]:
                waiting[i, j] |= items  # never acknowledged, so it is said again
                continue
            for k in items:
                waiting[j, i].discard(k)
                if arrived[j, k] == NEVER:
                    arrived[j, k] = r + 1
                    for other in near[j]:
                        if other != i:
                            waiting[j, other].add(k)
        if len(log) == before and not under_way and r >= faults.last_change:
            break
    return Flood(arrived, int(max((row[0] for row in log), default=-1)) + 1, log)
