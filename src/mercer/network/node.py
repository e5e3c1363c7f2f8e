"""A node: what it knows, what it says to its neighbours, and what it makes of what they say.

The nodes look for the x that minimises Σ_i f_i(x), each knowing its own f_i only, by the relaxed method of
multipliers on the edges. For every neighbour j a node i holds a vector z_ij, and a round is

    x_i    = argmin f_i(x) − ρ ⟨Σ_j z_ij, x⟩ + (ρ d_i/2) ‖x‖²     d_i neighbours
    q_ij   = 2 x_i − z_ij                                         sent to j
    z_ij   ← (1 − α) z_ij + α q_ji                                when q_ji has come

Where nothing moves any more z_ij + z_ji = 2 x_i = 2 x_j: all agree; and summed over the nodes, the
conditions of the minima say Σ ∇f_i(x) = 0. This holds from whatever z one begins with. So a message that is
lost or late changes nothing in the end, and when a node goes the others forget its z and arrive at the
minimum without it.

How fast this is depends on ρ, and the best ρ on the graph. So messages also say how long ago each node was
last heard of by anybody. Of a node that has not been for long all know that it is gone, and ρ is that of the
graph without it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from mercer.estimators.plan import parts_of
from mercer.graphs import Graph
from mercer.network.coordinates import SharedCoordinates
from mercer.network.terms import EXCHANGES, LocalTerm, StatisticsTerm
from mercer.network.topology import components, laplacian_range

# A message's round, for how many rounds all has been quiet around its sender, and its ρ: eight bytes each.
_HEADER = 24
# More quiet rounds than any network is wide.
_DONE = 1 << 30
# Ages are numbers of two bytes.
_OLDEST = 60_000
# α: as much of the news as still damps what goes to and fro between two nodes.
_RELAXATION = 0.9
# ρ in units of 1/√(λ₂ λ_N) of the graph's Laplacian, for quadratics that are the same at all nodes. Tried on
# rings, grids, random geometric graphs, small worlds and complete graphs: 1 to 1.6 is best on all of them.
_STIFFNESS = 1.3
# For coefficients, whose quadratics differ from node to node: in units of their mean curvature.
_SOFTER, _SOFTEST = 0.06, 0.1


@dataclass(frozen=True)
class Message:
    """What a node says to one neighbour in one round."""

    round: int
    quiet: int  # rounds for which nothing has moved, here and at everybody heard from, directly or not
    values: np.ndarray
    rho: float = 0.0
    ages: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint16))  # rounds since each was heard of

    @property
    def nbytes(self) -> int:
        return self.values.nbytes + self.ages.nbytes + _HEADER


@dataclass(frozen=True)
class NetworkRules:
    """What all nodes agree on beforehand."""

    graph: Graph
    exchange: str
    rows_a_node: float
    patience: int  # rounds without a word after which a neighbour is taken to be gone
    delay: int  # rounds that a message may be late
    tol: float  # what counts as not moving, relative to x

    @property
    def oldest(self) -> int:
        """Rounds after which a node that was not heard of is gone: news had the time for the longest way."""
        return min(self.patience + (1 + self.delay) * (self.graph.n_nodes - 1), _OLDEST - 1)

    def rho(self, group: np.ndarray) -> float:
        """ρ for nodes of this group, which reach each other."""
        low, high, degree = _spread(self.graph, tuple(group.tolist()))
        if self.exchange != "coefficients":
            return _STIFFNESS / math.sqrt(low * high)
        return self.rows_a_node * max(_SOFTER / math.sqrt(low * high), _SOFTEST / max(degree, 1.0))


# In one process all nodes ask the same; on workers of their own each computes it once.
@lru_cache(maxsize=1024)
def _spread(graph: Graph, group: tuple[int, ...]) -> tuple[float, float, float]:
    """The range of the Laplacian's positive eigenvalues, and the mean degree, of a part of the graph."""
    present = np.zeros(graph.n_nodes, bool)
    present[list(group)] = True
    i, j = graph.edges.T
    edges = graph.edges[present[i] & present[j] & (i != j)]
    part = Graph((np.cumsum(present) - 1)[edges], n_nodes=len(group))
    return *laplacian_range(part), 2 * len(edges) / len(group)


@dataclass(frozen=True)
class NodeSetup:
    """All that it takes to make a node where its rows are."""

    rows: np.ndarray
    targets: np.ndarray  # (n, outputs)
    coordinates: SharedCoordinates
    lam: float | None
    number: int
    near: list[int]
    rules: NetworkRules
    parent: int | None = None  # in the tree, where sums go up and down one

    def made(self) -> NetworkNode | TreeNode:
        """The node, its sums computed."""
        penalty, y = self.coordinates.penalty, self.targets
        p = len(penalty)
        gram, moments = np.zeros((p, p)), np.zeros((p, y.shape[1]))
        for rows in parts_of(len(y), p):
            psi = self.coordinates(self.rows[rows])
            gram += psi.T @ psi
            moments += psi.T @ y[rows]
        sums = gram, moments, np.square(y).sum(axis=0), float(len(y))
        term = EXCHANGES[self.rules.exchange](LocalTerm(*sums, penalty, self.lam))
        if self.rules.exchange == "tree":
            return TreeNode(term, self.near, self.parent)
        return NetworkNode(term, self.number, self.near, self.rules)


class NetworkNode:
    """One node: `speak`, then `hear`, once a round; `wake` after a silence."""

    def __init__(self, term: Any, number: int, near: list[int], rules: NetworkRules):
        self.term, self.number, self.near, self.rules = term, number, list(near), rules
        self.x = np.asarray(term.start)
        self.z = {j: self.x for j in self.near}
        self.heard = dict.fromkeys(self.near, -1)
        self.stamps = dict.fromkeys(self.near, -1)
        self.quiets = dict.fromkeys(self.near, 0)
        self.quiet, self.oldest = 0, rules.oldest
        self.ages = np.zeros(rules.graph.n_nodes, np.uint16)
        self.group = np.arange(rules.graph.n_nodes)  # who is there and can be reached
        self.rho = rules.rho(self.group)

    def speak(self, round: int) -> dict[int, Message]:
        """What it says to each neighbour that it takes to be there."""
        said = round, self.quiet, self.rho, self.ages
        return {j: Message(*said[:2], 2 * self.x - z, *said[2:]) for j, z in self.z.items()}

    def hear(self, round: int, inbox: list[tuple[int, Message]]) -> int:
        """Take in what has come, move, and say for how many rounds all has been quiet."""
        moved, sizes = 0.0, self.term.sizes(self.x)
        ages = np.minimum(self.ages, _OLDEST - 1) + np.uint16(1)
        for j, message in sorted(inbox, key=lambda pair: (pair[0], pair[1].round)):
            self.heard[j] = round
            if message.round <= self.stamps[j]:
                continue  # overtaken by a later one
            self.stamps[j], self.quiets[j] = message.round, message.quiet
            since = np.uint16(min(round - message.round, _OLDEST - 1) + 1)
            ages = np.minimum(ages, np.minimum(message.ages, _OLDEST - since) + since)
            if message.rho != self.rho:
                moved = np.inf  # one of them does not know yet who is there
            if j in self.z:
                step = message.values - self.z[j]
                moved = max(moved, self.term.news(step / 2, sizes))
                self.z[j] = self.z[j] + _RELAXATION * step
            else:  # it is back
                self.z[j], moved = message.values, np.inf
        for j in [j for j in self.z if round - self.heard[j] > self.rules.patience]:
            del self.z[j]
            moved = np.inf
        ages[self.number] = 0
        if self._look_around(ages):
            moved = np.inf
        self._move()
        around = min((self.quiets[j] for j in self.z), default=self.quiet)
        self.quiet = 1 + min(self.quiet, around) if moved <= self.rules.tol else 0
        return self.quiet

    def _look_around(self, ages: np.ndarray) -> bool:
        """Take note of who is there; whether that, and ρ with it, has changed."""
        before, self.ages = self.ages > self.oldest, ages
        gone = ages > self.oldest
        if np.array_equal(before, gone):
            return False
        groups = components(self.rules.graph, ~gone)
        self.group = next(some for some in groups if self.number in some)
        rho = self.rules.rho(self.group)
        # What holds a node back from the others' mean, ρ(z − x), stays what it was.
        self.z = {j: self.x + (self.rho / rho) * (z - self.x) for j, z in self.z.items()}
        self.rho = rho
        return True

    def wake(self, round: int) -> None:
        """Speak to all neighbours again after a silence; what is held of them may be old: it does no harm."""
        for j in self.near:
            self.z.setdefault(j, self.x)
            self.heard[j] = round
        self.quiet = 0
        self._move()

    def _move(self) -> None:
        pull = sum(self.z.values(), np.zeros_like(self.x))
        self.x = self.term.minimiser(self.rho * pull, self.rho * len(self.z))

    def solution(self) -> tuple[np.ndarray, float]:
        """(θ, λ), as far as this node knows."""
        return self.term.solution(self.x, len(self.group))


class TreeNode:
    """A node of a tree: sums go up to the root, each once, and the total comes down again.

    `near` are its neighbours in the tree, one of them its parent (None: it is the root). Nothing may fail.
    """

    def __init__(self, term: StatisticsTerm, near: list[int], parent: int | None):
        self.term, self.near, self.parent = term, list(near), parent
        self.missing = set(near) - {parent}
        self.sum = np.asarray(term.start)
        self.reported, self.total, self.passed = False, False, False

    def speak(self, round: int) -> dict[int, Message]:
        """The sum of its branch, once all children have told theirs; later the total."""
        if self.missing:
            return {}
        message = Message(round, 0, self.sum)
        if not self.reported:
            self.reported = True
            if self.parent is not None:
                return {self.parent: message}
            self.total = True
        if self.total and not self.passed:
            self.passed = True
            return {j: message for j in self.near if j != self.parent}
        return {}

    def hear(self, round: int, inbox: list[tuple[int, Message]]) -> int:
        """Add up, or take over the total; the answer is large once that is known."""
        for j, message in sorted(inbox, key=lambda pair: pair[0]):
            if j == self.parent:
                self.sum, self.total = message.values, True
            else:
                self.sum = self.sum + message.values
                self.missing.discard(j)
        return _DONE if self.passed else 0

    def wake(self, round: int) -> None:
        """Nobody falls silent here."""

    def solution(self) -> tuple[np.ndarray, float]:
        """(θ, λ) from the sums that have come, its own included."""
        return self.term.solution(self.sum, 1)
