"""A node: what it knows, what it says to its neighbours, and what it makes of what they say.

The nodes look for the x that minimises Σ_i f_i(x), each knowing its own f_i only, by the relaxed method of
multipliers on the edges. For every neighbour j a node i holds a vector z_ij, and a round is

    x_i    = argmin f_i(x) − ⟨Σ_j z_ij, x⟩ + (ρ d_i/2) ‖x‖²       d_i neighbours
    q_ij   = 2ρ x_i − z_ij                                        sent to j
    z_ij   ← (1 − α) z_ij + α q_ji                                when q_ji has come

Where nothing moves any more z_ij + z_ji = 2ρ x_i = 2ρ x_j: all agree; and summed over the nodes, the
conditions of the minima say Σ ∇f_i(x) = 0. This holds from whatever z one begins with. So a message that is
lost or late changes nothing in the end, and when a node goes the others forget its z and arrive at the
minimum without it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mercer.network.coordinates import SharedCoordinates
from mercer.network.evidence import likeliest_lam

# A message's round, and for how many rounds all has been quiet around its sender: two 64-bit integers.
_HEADER = 16
# More quiet rounds than any network is wide.
_DONE = 1 << 30
# What rounding, and sums that are not yet quite the same everywhere, may add to what is explained.
_SLACK = 1.1


@dataclass(frozen=True)
class LocalTerm:
    """What a node's own rows say, in sums: ψ(X)ᵀψ(X), ψ(X)ᵀy, Σy² and their number; and what λ is."""

    gram: np.ndarray  # (p, p)
    moments: np.ndarray  # (p, outputs)
    squares: np.ndarray  # (outputs,)
    count: float
    penalty: np.ndarray  # (p,) ‖f‖² = Σ penalty_k θ_k²
    lam: float | None  # None: the likeliest
    n_nodes: int  # of the network, whose sums are that many times their mean

    def solved(self) -> tuple[np.ndarray, float]:
        """(θ that minimises the sum over these rows, the smallest of many where they don't decide it; λ)"""
        lam = self.lam
        if lam is None:
            k = self.n_nodes
            sums = k * self.gram, k * self.moments, k * self.squares, k * self.count
            lam = likeliest_lam(*sums, self.penalty)
        A = self.gram + np.diag(self.count * lam * self.penalty)
        try:
            found = cho_solve(cho_factor(A, check_finite=False), self.moments, check_finite=False)
            if np.isfinite(found).all():
                return found, lam
        except LinAlgError:
            pass
        return np.linalg.lstsq(A, self.moments, rcond=None)[0], lam

    def explains_too_much(self, theta: np.ndarray) -> bool:
        """Would θ explain more than there is? Then no rows have such sums: squared errors are not negative."""
        return bool((np.sum(theta * self.moments, axis=0) > _SLACK * self.squares).any())


class StatisticsTerm:
    """f_i(x) = ½‖x − s_i‖², s_i the sums over the node's rows: all agree on the mean of those sums."""

    def __init__(self, local: LocalTerm):
        self.local = local
        self.upper = np.triu_indices(len(local.penalty))
        self.start = np.concatenate(
            [local.gram[self.upper], local.moments.ravel(), local.squares, [local.count]]
        )

    def minimiser(self, pull: np.ndarray, weight: float) -> np.ndarray:
        """argmin f_i(x) − ⟨pull, x⟩ + ½ weight ‖x‖²"""
        return (self.start + pull) / (1 + weight)

    def sizes(self, x: np.ndarray) -> list[float]:
        """The lengths of n, Σy², Σψy and Σψψᵀ."""
        p, outputs = self.local.moments.shape
        return [_length(part) for part in _cut(x, 1, outputs, p * outputs)]

    def news(self, step: np.ndarray, x: list[float]) -> float:
        """The size of a step beside that of x, whose parts have these sizes: the largest of the parts'."""
        count, squares, _, gram = x
        # Σψy may be small by itself; what its errors do depends on the others.
        beside = count, squares, math.sqrt(gram * squares), gram
        return max(_ratio(part, size) for part, size in zip(self.sizes(step), beside))

    def solution(self, x: np.ndarray) -> tuple[np.ndarray, float]:
        """(θ, λ) from the mean sums."""
        p, outputs = self.local.moments.shape
        gram = np.zeros((p, p))
        count, squares, moments, upper = _cut(x, 1, outputs, p * outputs)
        gram[self.upper] = upper
        gram = gram + np.triu(gram, 1).T
        sums = gram, moments.reshape(p, outputs), squares, float(count[0])
        # On the way to agreement sums may be those of no rows at all; then a node goes by its own.
        if count[0] <= 0 or (squares < 0).any():
            return self.local.solved()
        pooled = LocalTerm(*sums, self.local.penalty, self.local.lam, self.local.n_nodes)
        theta, lam = pooled.solved()
        return self.local.solved() if pooled.explains_too_much(theta) else (theta, lam)


def _length(x: np.ndarray) -> float:
    x = x.ravel()
    return math.sqrt(x @ x)


def _ratio(part: float, whole: float) -> float:
    return 0.0 if part == 0 else part / whole if whole > 0 else np.inf


def _cut(x: np.ndarray, *sizes: int) -> list[np.ndarray]:
    """Parts of these sizes from the end of x, the last of them first, and what is left."""
    parts = []
    for size in sizes:
        parts.append(x[len(x) - size :])
        x = x[: len(x) - size]
    return [*parts, x]


class CoefficientsTerm:
    """f_i(θ) = ½ Σ (y − ⟨θ, ψ(x)⟩)² + ½ λ n_i ‖f‖² over the node's rows: all agree on θ itself."""

    def __init__(self, local: LocalTerm):
        assert local.lam is not None
        self.local, self.lam = local, local.lam
        self.start = local.solved()[0]
        self._factors: dict[float, Any] = {}

    def minimiser(self, pull: np.ndarray, weight: float) -> np.ndarray:
        """argmin f_i(x) − ⟨pull, x⟩ + ½ weight ‖x‖²"""
        if weight == 0:
            return self.start
        if weight not in self._factors:
            diagonal = self.local.count * self.lam * self.local.penalty + weight
            self._factors[weight] = cho_factor(self.local.gram + np.diag(diagonal), check_finite=False)
        return cho_solve(self._factors[weight], self.local.moments + pull, check_finite=False)

    def sizes(self, x: np.ndarray) -> list[float]:
        """The length of x."""
        return [_length(x)]

    def news(self, step: np.ndarray, x: list[float]) -> float:
        """The size of a step beside that of x."""
        return _ratio(_length(step), x[0])

    def solution(self, x: np.ndarray) -> tuple[np.ndarray, float]:
        """(θ, λ)"""
        return x, self.lam


EXCHANGES: dict[str, Any] = {
    "statistics": StatisticsTerm,
    "coefficients": CoefficientsTerm,
    "tree": StatisticsTerm,
}


@dataclass(frozen=True)
class Message:
    """What a node says to one neighbour in one round."""

    round: int
    quiet: int  # rounds for which nothing has moved, here and at everybody heard from, directly or not
    values: np.ndarray

    @property
    def nbytes(self) -> int:
        return self.values.nbytes + _HEADER


@dataclass(frozen=True)
class NetworkRules:
    """What all nodes agree on beforehand."""

    rho: float
    relaxation: float  # α
    patience: int  # rounds without a word after which a neighbour is taken to be gone
    tol: float  # what counts as not moving, relative to x


@dataclass(frozen=True)
class NodeSetup:
    """All that it takes to make a node where its rows are."""

    rows: np.ndarray
    targets: np.ndarray  # (n, outputs)
    coordinates: SharedCoordinates
    lam: float | None
    exchange: str
    near: list[int]
    rules: NetworkRules
    n_nodes: int
    parent: int | None = None  # in the tree, where sums go up and down one

    def made(self) -> NetworkNode | TreeNode:
        """The node, its sums computed."""
        penalty, y = self.coordinates.penalty, self.targets
        psi = self.coordinates(self.rows) if len(self.rows) else np.zeros((0, len(penalty)))
        sums = psi.T @ psi, psi.T @ y, np.square(y).sum(axis=0), float(len(psi))
        local = LocalTerm(*sums, penalty, self.lam, self.n_nodes)
        term = EXCHANGES[self.exchange](local)
        if self.exchange == "tree":
            return TreeNode(term, self.near, self.parent)
        return NetworkNode(term, self.near, self.rules)


class NetworkNode:
    """One node: `speak`, then `hear`, once a round; `wake` after a silence."""

    def __init__(self, term: Any, near: list[int], rules: NetworkRules):
        self.term, self.near, self.rules = term, list(near), rules
        self.x = np.asarray(term.start)
        self.z = {j: rules.rho * self.x for j in self.near}
        self.heard = dict.fromkeys(self.near, -1)
        self.stamps = dict.fromkeys(self.near, -1)
        self.quiets = dict.fromkeys(self.near, 0)
        self.quiet = 0

    def speak(self, round: int) -> dict[int, Message]:
        """What it says to each neighbour that it takes to be there."""
        rho = self.rules.rho
        return {j: Message(round, self.quiet, 2 * rho * self.x - z) for j, z in self.z.items()}

    def hear(self, round: int, inbox: list[tuple[int, Message]]) -> int:
        """Take in what has come, move, and say for how many rounds all has been quiet."""
        alpha, moved, sizes = self.rules.relaxation, 0.0, self.term.sizes(self.x)
        for j, message in sorted(inbox, key=lambda pair: (pair[0], pair[1].round)):
            self.heard[j] = round
            if message.round <= self.stamps[j]:
                continue  # overtaken by a later one
            self.stamps[j], self.quiets[j] = message.round, message.quiet
            if j in self.z:
                step = message.values - self.z[j]
                moved = max(moved, self.term.news(step / (2 * self.rules.rho), sizes))
                self.z[j] = self.z[j] + alpha * step
            else:  # it is back
                self.z[j], moved = message.values, np.inf
        for j in [j for j in self.z if round - self.heard[j] > self.rules.patience]:
            del self.z[j]
            moved = np.inf
        self._move()
        around = min((self.quiets[j] for j in self.z), default=self.quiet)
        self.quiet = 1 + min(self.quiet, around) if moved <= self.rules.tol else 0
        return self.quiet

    def wake(self, round: int) -> None:
        """Speak to all neighbours again after a silence; what is held of them may be old: it does no harm."""
        for j in self.near:
            self.z.setdefault(j, self.rules.rho * self.x)
            self.heard[j] = round
        self.quiet = 0
        self._move()

    def _move(self) -> None:
        pull = sum(self.z.values(), np.zeros_like(self.x))
        self.x = self.term.minimiser(pull, self.rules.rho * len(self.z))

    def solution(self) -> tuple[np.ndarray, float]:
        """(θ, λ), as far as this node knows."""
        return self.term.solution(self.x)


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
        return self.term.solution(self.sum)
