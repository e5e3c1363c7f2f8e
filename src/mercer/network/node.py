"""A node: what it knows, what it says to its neighbours, and what it makes of what they say.

The nodes look for the x that minimises Σ_i f_i(x), each knowing its own f_i only, by the relaxed method of
multipliers on the edges. For every neighbour j a node i holds a vector z_ij, and a round is

    x_i    = argmin f_i(x) − ⟨Σ_j z_ij, x⟩ + (ρ d_i/2) ‖x‖²       d_i neighbours
    q_ij   = 2ρ x_i − z_ij                                        sent to j
    z_ij   ← (1 − α) z_ij + α q_ji                                when q_ji has come

Where nothing moves any more z_ij + z_ji = 2ρ x_i = 2ρ x_j: all agree; and summed over the nodes, the conditions
of the minima say Σ ∇f_i(x) = 0. This holds from whatever z one begins with. So a message that is lost or late
changes nothing in the end, and when a node goes the others forget its z and arrive at the minimum without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mercer.network.coordinates import SharedCoordinates

# A message's round, and for how many rounds all has been quiet around its sender: two 64-bit integers.
_HEADER = 16


@dataclass(frozen=True)
class LocalTerm:
    """What a node's own rows say: ψ(X)ᵀψ(X), ψ(X)ᵀy, their number, and the penalty they bring along."""

    gram: np.ndarray  # (p, p)
    moments: np.ndarray  # (p, outputs)
    count: float
    penalty: np.ndarray  # (p,) λ times that of the coordinates

    def solved(self) -> np.ndarray:
        """θ that minimises the sum over these rows; the smallest of many where they don't decide it."""
        return _solved(self.gram + np.diag(self.count * self.penalty), self.moments)


def _solved(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    try:
        found = cho_solve(cho_factor(A, check_finite=False), b, check_finite=False)
        if np.isfinite(found).all():
            return found
    except LinAlgError:
        pass
    return np.linalg.lstsq(A, b, rcond=None)[0]


class StatisticsTerm:
    """f_i(x) = ½‖x − s_i‖², s_i the sums over the node's rows: all agree on the mean of those sums."""

    def __init__(self, local: LocalTerm):
        self.local = local
        self.upper = np.triu_indices(len(local.penalty))
        parts = [local.gram[self.upper], local.moments.ravel(), [local.count]]
        self.start = np.concatenate(parts)

    def minimiser(self, pull: np.ndarray, weight: float) -> np.ndarray:
        """argmin f_i(x) − ⟨pull, x⟩ + ½ weight ‖x‖²"""
        return (self.start + pull) / (1 + weight)

    def solution(self, x: np.ndarray) -> np.ndarray:
        """θ from the mean sums."""
        p, size = len(self.local.penalty), self.local.moments.size
        gram = np.zeros((p, p))
        gram[self.upper] = x[: -size - 1]
        gram = gram + np.triu(gram, 1).T
        moments = x[-size - 1 : -1].reshape(self.local.moments.shape)
        return LocalTerm(gram, moments, float(x[-1]), self.local.penalty).solved()


class CoefficientsTerm:
    """f_i(θ) = ½ Σ (y − ⟨θ, ψ(x)⟩)² + ½ λ n_i ‖f‖² over the node's rows: all agree on θ itself."""

    def __init__(self, local: LocalTerm):
        self.local = local
        self.start = local.solved()
        self._factors: dict[float, Any] = {}

    def minimiser(self, pull: np.ndarray, weight: float) -> np.ndarray:
        """argmin f_i(x) − ⟨pull, x⟩ + ½ weight ‖x‖²"""
        if weight == 0:
            return self.start
        if weight not in self._factors:
            A = self.local.gram + np.diag(self.local.count * self.local.penalty + weight)
            self._factors[weight] = cho_factor(A, check_finite=False)
        return cho_solve(self._factors[weight], self.local.moments + pull, check_finite=False)

    def solution(self, x: np.ndarray) -> np.ndarray:
        return x


EXCHANGES = {"statistics": StatisticsTerm, "coefficients": CoefficientsTerm}


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
    lam: float
    exchange: str
    near: list[int]
    rules: NetworkRules

    def made(self) -> NetworkNode:
        """The node, its sums computed."""
        penalty = self.lam * self.coordinates.penalty
        psi = self.coordinates(self.rows) if len(self.rows) else np.zeros((0, len(penalty)))
        local = LocalTerm(psi.T @ psi, psi.T @ self.targets, float(len(psi)), penalty)
        return NetworkNode(EXCHANGES[self.exchange](local), self.near, self.rules)


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
        alpha, moved = self.rules.relaxation, 0.0
        size = 2 * self.rules.rho * max(float(np.linalg.norm(self.x)), 1e-300)
        for j, message in inbox:
            self.heard[j] = round
            if message.round <= self.stamps[j]:
                continue  # overtaken by a later one
            self.stamps[j], self.quiets[j] = message.round, message.quiet
            if j in self.z:
                step = message.values - self.z[j]
                moved = max(moved, float(np.linalg.norm(step)) / size)
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
        """Speak to all neighbours again after a silence; what is held of them may be old, and does no harm."""
        for j in self.near:
            self.z.setdefault(j, self.rules.rho * self.x)
            self.heard[j] = round
        self.quiet = 0
        self._move()

    def _move(self) -> None:
        pull = sum(self.z.values(), np.zeros_like(self.x))
        self.x = self.term.minimiser(pull, self.rules.rho * len(self.z))

    def solution(self) -> np.ndarray:
        """θ, as far as this node knows."""
        return self.term.solution(self.x)
