"""What goes wrong in a network: nodes that are silent for a while, messages that are lost or late."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._params import Params, require_count, require_nonnegative
from mercer.features.base import generator
from mercer.graphs import Graph
from mercer.network.topology import components

# A neighbour is given up once so many lost messages in a row would be this unlikely.
_UNLIKELY = 1e-6
_LEAST_PATIENCE = 3


class Faults(Params):
    """When nodes are silent, and which messages are lost or late: the same for the same seed.

    Parameters
    ----------
    down : dict, optional
        Node → rounds in which it neither sends nor hears: ``(first, last)``, where last = None means for
        ever, or a list of such pairs. Rounds are counted from 0; the last one of a pair is silent, too.
    loss : float
        Share of messages that never arrive.
    delay : int
        A message that arrives does so 0, 1, … or `delay` rounds late, each as likely as the others.
    random_state : int
        Seed of what is lost and late.

    Examples
    --------
    >>> faults = Faults(down={2: (10, None), 0: [(5, 6), (20, 30)]}, loss=0.1, delay=2)
    >>> [node for node in range(3) if faults.is_down(node, 6)], faults.last_change
    ([0], 31)
    >>> faults.patience >= 3 + 2 * 2
    True
    """

    def __init__(self, down=None, loss=0.0, delay=0, random_state=0):
        self.down = down
        self.loss = loss
        self.delay = delay
        self.random_state = random_state

    @classmethod
    def failing(
        cls,
        graph: Graph,
        share: float = 0.5,
        first: int = 20,
        last: int | None = None,
        *,
        connected: bool = True,
        random_state: Any = 0,
        **others: Any,
    ) -> Faults:
        """A share of the nodes is silent from round `first` to round `last` (None: for ever).

        Parameters
        ----------
        graph : Graph
        connected : bool
            Choose them such that the others can still reach each other.
        random_state : which nodes; also the seed of what is lost and late, where it is a number
        others : `loss`, `delay`

        Examples
        --------
        >>> from mercer.network import ring
        >>> sorted(Faults.failing(ring(6), first=3).down.values())
        [(3, None), (3, None), (3, None)]
        """
        rng = generator(random_state)
        count = round(require_nonnegative(share, "share") * graph.n_nodes)
        if count >= graph.n_nodes:
            raise ValueError(f"share = {share}: at least one of {graph.n_nodes} nodes must be left")
        present = np.ones(graph.n_nodes, bool)
        for _ in range(count):
            for node in rng.permutation(np.flatnonzero(present)):
                present[node] = False
                if not connected or len(components(graph, present)) == 1:
                    break
                present[node] = True
        silent = np.flatnonzero(~present).tolist()
        seed = random_state if isinstance(random_state, int) else 0
        return cls({node: (first, last) for node in silent}, random_state=seed, **others)

    def validate(self) -> None:
        if self.down is not None and not isinstance(self.down, dict):
            raise ValueError(
                f"down must be a dict, such as {{3: (10, 20)}}: node 3 is silent in rounds 10 to 20; "
                f"got {self.down!r:.60}"
            )
        for _, first, last in self._silences():
            require_count(first, "the first round of a silence", 0)
            if last is not None and require_count(last, "the last round of a silence", 0) < first:
                raise ValueError(f"a silence from round {first} to round {last} ends before it begins")
        if require_nonnegative(self.loss, "loss") >= 1:
            raise ValueError(f"loss = {self.loss}: if every message is lost there is no network")
        require_count(self.delay, "delay", 0)
        require_count(self.random_state, "random_state", 0)

    def _silences(self) -> Iterator[tuple[Any, Any, Any]]:
        for node, spans in (self.down or {}).items():
            for span in spans if isinstance(spans, list) else [spans]:
                if not isinstance(span, (tuple, list)) or len(span) != 2:
                    raise ValueError(
                        f"node {node!r} is silent from a first to a last round, a pair; got {span!r}"
                    )
                yield node, span[0], span[1]

    def with_numbers(self, number: dict[Any, int]) -> Faults:
        """The same of nodes that are numbers; `number` has those of their names."""
        unknown = [node for node in self.down or {} if node not in number]
        if unknown:
            raise ValueError(f"down names the node {unknown[0]!r}, which the network does not have")
        return self.replace(down={number[node]: spans for node, spans in (self.down or {}).items()})

    def is_down(self, node: Any, round: int) -> bool:
        """Is this node silent in this round?"""
        return any(
            node == who and first <= round and (last is None or round <= last)
            for who, first, last in self._silences()
        )

    def up(self, n_nodes: int, round: int) -> np.ndarray:
        """(nodes,) which of them take part in this round; those of `down` are numbers here."""
        present = np.ones(n_nodes, bool)
        for node, first, last in self._silences():
            if first <= round and (last is None or round <= last):
                present[node] = False
        return present

    def fates(self, count: int, round: int) -> np.ndarray:
        """How many rounds late each of `count` messages of this round is; −1: it is lost."""
        if not self.loss and not self.delay:
            return np.zeros(count, np.int64)
        rng = np.random.default_rng([int(self.random_state), round])
        late = rng.integers(0, int(self.delay) + 1, count)
        return np.where(rng.uniform(size=count) < self.loss, -1, late)

    @property
    def harmless(self) -> bool:
        """Does nothing go wrong at all?"""
        return not (self.down or self.loss or self.delay)

    @property
    def last_change(self) -> int:
        """The round from which on nobody falls silent or comes back any more."""
        return max((first if last is None else last + 1 for _, first, last in self._silences()), default=0)

    @property
    def patience(self) -> int:
        """Rounds without a word after which a neighbour is taken to be gone."""
        lost = int(np.ceil(np.log(_UNLIKELY) / np.log(self.loss))) if self.loss else 0
        return max(_LEAST_PATIENCE, lost) + 2 * int(self.delay)
