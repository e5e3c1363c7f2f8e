"""Cheap approximate inverses for the two linear systems of this library."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import solve_triangular

from mercer.features.centres import randomly_pivoted_cholesky
from mercer.operators import Factor, Matrix, Operator
from mercer.solvers.cost import LARGEST_FACTOR
from mercer.solvers.pcg import Apply

# Part of the mean diagonal that is added to a kernel matrix before it is factored and divided by.
SUBSET_SHIFT = 1e-9
# Down to this tolerance an engine that gains by it may round vectors to float32 (between refinements).
ROUNDED_TOL = 5e-5
# More columns than this cost more, in float64, than the iterations they save.
_MOST_COLUMNS = 8000


def low_rank_columns(n: int) -> int:
    """Columns of a low-rank preconditioner for n examples, unless told otherwise."""
    return min(n, max(100, int(5 * math.sqrt(n))), _MOST_COLUMNS)


def sampled_rows(p: int) -> int:
    """Rows of a sampled Hessian for p features, unless told otherwise."""
    return 2 * p + 3000


@dataclass(frozen=True, eq=False)
class ShiftedInverse:
    """P = μI + H Hᵀ with H = S K(:, pivots) L⁻ᵀ, L Lᵀ = K(pivots, pivots): below μI + S K S, its stand-in.

    Attributes
    ----------
    inverse : V ↦ P⁻¹V
    half, adjoint : G ↦ H G, V ↦ HᵀV
    lower, upper : G ↦ L⁻¹G, G ↦ L⁻ᵀG
    core : G ↦ (μI + HᵀH)⁻¹G
    pivots : one for each column of H
    log_det : log det P
    placed : `inverse` of vectors that stay where K is computed (`Operator.resident`)
    """

    inverse: Apply
    half: Apply
    adjoint: Apply
    lower: Apply
    upper: Apply
    core: Apply
    pivots: np.ndarray
    log_det: float
    placed: Apply

    @property
    def rank(self) -> int:
        """Columns of H."""
        return len(self.pivots)


class LowRank:
    """K ≈ F Fᵀ by randomly pivoted Cholesky, for systems μI + S K S with any diagonal S."""

    def __init__(self, K: Operator, rank: int, rng: np.random.Generator):
        stored = None if K.of_kernel else K.values if isinstance(K, Matrix) else K.dense()

        def columns(index: np.ndarray) -> np.ndarray:
            # A matrix is symmetric, and its rows are contiguous.
            return K.columns(index) if stored is None else stored[index].T

        diagonal = K.diag()
        self.F, self.pivots = randomly_pivoted_cholesky(diagonal, columns, rank, rng)
        # The mean eigenvalue of what F leaves out.
        left = float(diagonal.sum()) - float(np.einsum("ij,ij->", self.F, self.F, dtype=np.float64))
        self.left = max(left, 0.0) / max(len(diagonal), 1)

    def at(self, mu: float, scale: np.ndarray | None) -> ShiftedInverse:
        """P = μI + S F Fᵀ S."""
        F = self.F if scale is None else self.F * scale.astype(self.F.dtype)[:, None]
        n, rank = F.shape
        # Products in the data's precision, the small system in float64.
        core = Factor((F.T @ F).astype(np.float64), shift=mu)
        L = self.F[self.pivots].astype(np.float64)

        def apply(v):
            if rank == 0:
                return v / mu
            inner = core.solve((F.T @ v.astype(F.dtype, copy=False)).astype(np.float64))
            return (v - F @ inner.astype(F.dtype, copy=False)) / mu

        return ShiftedInverse(
            inverse=apply,
            half=F.__matmul__,
            adjoint=F.T.__matmul__,
            lower=partial(solve_triangular, L, lower=True),
            upper=partial(solve_triangular, L, lower=True, trans=1),
            core=core.solve,
            pivots=self.pivots,
            log_det=(n - rank) * math.log(mu) + core.log_determinant(),
            placed=apply,
        )

    def inverse(self, mu: float, scale: np.ndarray | None) -> Apply:
        """v ↦ (μI + S F Fᵀ S)⁻¹ v, by Woodbury."""
        return self.at(mu, scale).inverse


class Subset:
    """K ≈ C (K_PP + δI)⁻¹ Cᵀ with C = K(X, P) for a few of the points, computed anew whenever it is needed.

    For engines with more arithmetic than memory. All of it in float64: the inverse below is a difference
    of nearly equal things.
    """

    def __init__(self, K: Operator, rank: int, rng: np.random.Generator):
        K = K.at(np.float64) or K
        index = self.pivots = np.sort(rng.choice(K.shape[0], rank, replace=False))
        self.C = K.among(columns=index)
        own = K.among(index, index)
        self.L = own.factor(shift=SUBSET_SHIFT * float(own.diag().mean()))

    def at(self, mu: float, scale: np.ndarray | None) -> ShiftedInverse:
        """P = μI + S C (K_PP+δI)⁻¹ Cᵀ S."""
        C, L = self.C, self.L
        weights = None if scale is None else scale**2
        core = C.whitened_factor(L, weights, shift=mu)
        s = None if scale is None else scale[:, None]

        def by(multiply, adjoint, s):
            def apply(v):
                inner = adjoint(v if s is None else s * v)
                back = multiply(L.solve_upper(core.solve(L.solve_lower(inner))))
                return (v - (back if s is None else s * back)) / mu

            return apply

        there = C.resident()
        placed = by(there.multiply, there.adjoint, None if s is None else there.place(s))

        def half(g):
            values = C @ L.solve_upper(g)
            return values if s is None else s * values

        def adjoint(v):
            return L.solve_lower(C.adjoint(v if s is None else s * v))

        n, rank = C.shape
        log_det = (n - rank) * math.log(mu) + core.log_determinant()
        return ShiftedInverse(
            by(C.__matmul__, C.adjoint, s),
            half,
            adjoint,
            L.solve_lower,
            L.solve_upper,
            core.solve,
            self.pivots,
            log_det,
            placed,
        )

    def inverse(self, mu: float, scale: np.ndarray | None) -> Apply:
        """v ↦ (μI + S C (K_PP+δI)⁻¹ Cᵀ S)⁻¹ v, by Woodbury."""
        return self.at(mu, scale).inverse


def low_rank(K: Operator, rank: int, rng: np.random.Generator) -> LowRank | Subset:
    """A low-rank approximation of K, kept in memory or left to the engine, whichever suits the engine."""
    return Subset(K, rank, rng) if K.remote else LowRank(K, rank, rng)


class SampledHessian:
    """(1/q) Σ over sampled rows of d_i φ_i φ_iᵀ + penalty, factored: Falkon's idea, for any Φ.

    With q = n rows it is the Hessian itself; with none, its diagonal.
    """

    def __init__(self, Phi: Operator, rows: int, rng: np.random.Generator):
        n, p = Phi.shape
        self.Phi = Phi
        self.small = p <= LARGEST_FACTOR and rows > 0
        if self.small:
            q = min(n, rows)
            self.index = np.sort(rng.choice(n, q, replace=False))
            self.sample = Phi.rows(self.index)

    def inverse(self, ridge: np.ndarray, d: np.ndarray | None):
        """v ↦ (Φ_Sᵀ D Φ_S/q + diag(ridge))⁻¹ v."""
        if not self.small:
            diagonal = self.Phi.column_squares(d) / self.Phi.shape[0] + ridge
            diagonal = np.where(diagonal > 0, diagonal, 1.0)
            return lambda v: v / diagonal[:, None]
        S = self.sample if d is None else self.sample * np.sqrt(d[self.index])[:, None]
        H = S.T @ S / len(self.index)
        H[np.diag_indices_from(H)] += ridge
        return Factor(H).solve
