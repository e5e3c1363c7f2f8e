"""Who sent what to whom, in every round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._state import ArraySpec, require


@dataclass(frozen=True, eq=False, repr=False)
class Traffic:
    """Messages of a network: one row of `log` for each.

    A message is counted when it is sent, whether it arrives or not, once for each neighbour it is sent to.

    Attributes
    ----------
    n_nodes : int
    log : (messages, 4) integers; round, sender, receiver, bytes
        Rounds of the preparation (centres that everybody must know) are negative, −1 being the last of them.

    Examples
    --------
    >>> traffic = Traffic.of(3, [(-1, 0, 1, 16), (0, 0, 1, 80), (0, 1, 0, 80), (1, 1, 2, 80)])
    >>> traffic
    Traffic(4 messages, 256 bytes: 1 messages, 16 bytes before the first of 2 rounds)
    >>> traffic.by_round.tolist()
    [[2, 160], [1, 80]]
    >>> traffic.sent[0, 1].item()
    96
    """

    n_nodes: int
    log: np.ndarray

    holds = {"n_nodes": int, "log": ArraySpec("i8", None, 4)}

    def check_state(self) -> None:
        """Refuse messages of nodes that there are not."""
        ends = self.log[:, 1:3]
        require(not ends.size or (ends.min() >= 0 and ends.max() < self.n_nodes), "messages of other nodes")

    @classmethod
    def of(cls, n_nodes: int, rows: Any) -> Traffic:
        """The traffic of these messages: (round, sender, receiver, bytes)."""
        log = np.array(list(rows), dtype=np.int64).reshape(-1, 4)
        log.flags.writeable = False
        return cls(int(n_nodes), log)

    @property
    def messages(self) -> int:
        """How many, in all."""
        return len(self.log)

    @property
    def bytes(self) -> int:
        """Their bytes, in all."""
        return int(self.log[:, 3].sum())

    @property
    def n_rounds(self) -> int:
        """Rounds, the preparation not counted."""
        return int(self.log[:, 0].max(initial=-1)) + 1

    @property
    def preparation(self) -> tuple[int, int]:
        """Messages and bytes before the first round."""
        before = self.log[self.log[:, 0] < 0]
        return len(before), int(before[:, 3].sum())

    @property
    def by_round(self) -> np.ndarray:
        """(rounds, 2) messages and bytes of each round, the preparation left out."""
        during = self.log[self.log[:, 0] >= 0]
        count = np.bincount(during[:, 0], minlength=self.n_rounds)
        return np.column_stack(
            [count, np.bincount(during[:, 0], during[:, 3], self.n_rounds).astype(np.int64)]
        )

    @property
    def sent(self) -> np.ndarray:
        """(nodes, nodes) bytes from each sender to each receiver, in all."""
        total = np.zeros((self.n_nodes, self.n_nodes), np.int64)
        np.add.at(total, (self.log[:, 1], self.log[:, 2]), self.log[:, 3])
        return total

    def __repr__(self) -> str:
        first, size = self.preparation
        before = f": {first:,} messages, {size:,} bytes before the first of {self.n_rounds} rounds"
        return f"Traffic({self.messages:,} messages, {self.bytes:,} bytes{before if first else ''})"
