"""What a node has to say: sums over its rows, and the quadratics whose sum the network minimises."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mercer.network.evidence import likeliest_lam

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

    def solved(self, times: int = 1) -> tuple[np.ndarray, float]:
        """(θ that minimises the sum over these rows, the smallest of many where they don't decide it; λ)

        `times`: these are means, and the sums that λ is found from are so many times as large.
        """
        lam = self.lam
        if lam is None:
            k = times
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
        """Would θ explain more than there is? Then no rows have such sums: no square is negative."""
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

    def solution(self, x: np.ndarray, n_nodes: int) -> tuple[np.ndarray, float]:
        """(θ, λ) from the mean sums of so many nodes."""
        p, outputs = self.local.moments.shape
        gram = np.zeros((p, p))
        count, squares, moments, upper = _cut(x, 1, outputs, p * outputs)
        gram[self.upper] = upper
        gram = gram + np.triu(gram, 1).T
        sums = gram, moments.reshape(p, outputs), squares, float(count[0])
        # On the way to agreement sums may be those of no rows at all; then a node goes by its own.
        if count[0] <= 0 or (squares < 0).any():
            return self.local.solved()
        pooled = LocalTerm(*sums, self.local.penalty, self.local.lam)
        theta, lam = pooled.solved(n_nodes)
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

    def solution(self, x: np.ndarray, n_nodes: int) -> tuple[np.ndarray, float]:
        """(θ, λ)"""
        return x, self.lam


EXCHANGES: dict[str, Any] = {
    "statistics": StatisticsTerm,
    "coefficients": CoefficientsTerm,
    "tree": StatisticsTerm,
}
