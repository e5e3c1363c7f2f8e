"""Problems with explicit features: minimise (1/n) Σ w V(y, Φu) + λ‖u‖² over u.

A Nyström problem becomes one by a change of coordinates: K(Z,Z) = L Lᵀ, c = L⁻ᵀu, Φ = K(X,Z) L⁻ᵀ.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpstrf, dtrtri

from mercer._memory import available_memory
from mercer._xp import issparse
from mercer.operators import STORED_SHARE, Composed, Identity, Matrix, Operator, WithOnes, in_memory
from mercer.operators.base import row_blocks
from mercer.operators.factor import Factor, NotPositiveDefinite, inverse_lower
from mercer.solvers.cost import LARGEST_FACTOR
from mercer.solvers.pcg import Apply
from mercer.solvers.preconditioners import ROUNDED_TOL, SUBSET_SHIFT, SampledHessian
from mercer.solvers.problem import Problem

# Up to so many centres the Hessian is sampled.
_SAMPLED_CENTRES = 40_000
_TINY = float(np.finfo(float).tiny)
# Rows, and columns, in which rounding is looked at.
_PROBED = 64
# The jitter that keeps coefficients small, in σ²/λ.
_STEADY = 64.0


class Primal:
    """A problem in coordinates u: Φ, the quadratic penalty, its norm, preconditioners, and the way back.

    Here the penalty is the identity (and nothing on the offset, which is the last coordinate). Given the
    `weights` of means, features in memory are centred, if a copy fits: large means would drown the rest.
    Where the matrix is our `own` it is changed itself.
    """

    # May the Hessian be formed and factored?
    explicit = True
    jitter = 0.0
    # What was added to the diagonal of K(Z,Z) for the norm of gradients (only, as a rule).
    shift = 0.0
    # σ, if rounding makes a product A v wrong by about σ‖v‖, where that is known.
    noise = 0.0
    # Over which functions the minimum is sought.
    words = "these features"

    def __init__(
        self,
        Phi: Operator,
        offset: bool,
        T: np.ndarray | None = None,
        weights: np.ndarray | None = None,
        own: bool = False,
    ):
        self.offset, self.T = offset, T
        self.means = np.zeros(Phi.shape[1])
        fits = own or 8 * Phi.shape[0] * Phi.shape[1] <= STORED_SHARE * available_memory()
        if weights is not None and fits and isinstance(Phi, Matrix) and not issparse(Phi.values):
            self.means = Phi.column_sums(weights)[:, 0] / weights.sum()
            centred = Phi.values if own else np.empty_like(Phi.values)
            for rows, block in Phi.blocks():
                centred[rows] = block - self.means
            Phi = Matrix(centred)
        if T is not None:
            m, r = T.shape
            some = f"{r:,} of the {m:,} centres, on which the others depend to rounding"
            self.words = some if r < m else f"these {m:,} centres"
        self.penalty = np.append(np.ones(Phi.shape[1]), 0.0) if offset else np.ones(Phi.shape[1])
        self.Phi: Operator = WithOnes(Phi) if offset else Phi
        self._sampled: SampledHessian | None = None

    def among(self, rows: np.ndarray) -> Primal:
        """The same coordinates for some of the examples."""
        other = copy(self)
        other.Phi, other._sampled = self.Phi.among(rows), None
        return other

    def facing(self, A: Operator) -> Primal:
        """The same coordinates for other examples, whose operator is A; their features are kept in memory."""
        other = copy(self)
        Phi = A if self.T is None else Composed(A, self.T)
        if self.explicit:
            values = Phi.fill(np.empty(Phi.shape))
            for some in row_blocks(values.shape, values.dtype):
                values[some] -= self.means
            Phi = Matrix(values)
        other.Phi, other._sampled = WithOnes(Phi) if self.offset else Phi, None
        return other

    def quick(self, tol: float) -> Operator:
        """Φ for many products whose result need not be better than this."""
        return self.Phi

    def penalise(self, U: np.ndarray) -> np.ndarray:
        """P U, with ‖f‖² = uᵀPu."""
        return self.penalty[:, None] * U

    def size(self, R: np.ndarray) -> np.ndarray:
        """Length in H_K of the functions with these gradients, column by column."""
        return np.linalg.norm(R, axis=0)

    def steepest(self, R: np.ndarray) -> np.ndarray:
        """Coordinates of the gradient as a function: P⁻¹ R."""
        return R

    def hessian_factor(self, ridge: float, d: np.ndarray | None) -> Factor:
        """(1/n) Φᵀ diag(d) Φ + ridge·P, factored."""
        H = self.Phi.gramian(d) / self.Phi.shape[0]
        H[np.diag_indices_from(H)] += ridge * self.penalty
        return Factor(H)

    def preconditioner(
        self, ridge: float, d: np.ndarray | None, rows: int, rng: np.random.Generator
    ) -> Apply:
        """An approximate inverse of that Hessian, from a sample of rows."""
        if self._sampled is None:
            self._sampled = SampledHessian(self.Phi, rows, rng)
        return self._sampled.inverse(ridge * self.penalty, d)

    def back(self, U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(coefficients, offset)"""
        inner, offset = (U[:-1], U[-1] - self.means @ U[:-1]) if self.offset else (U, np.zeros(U.shape[1]))
        return inner if self.T is None else self.T @ inner, offset

    def coordinates(self, u: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """Those of ⟨u, φ(·)⟩ + offset."""
        return np.vstack([u, (offset + self.means @ u)[None, :]]) if self.offset else u

    def pulled_back(self, G: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Φᵀv, from Aᵀv and Σv."""
        inner = G if self.T is None else self.T.T @ G
        return np.vstack([inner - self.means[:, None] * g, g[None, :]]) if self.offset else inner

    def measured(self, G: np.ndarray, roots: np.ndarray) -> tuple[float, float, float]:
        """Of a gradient in c: its length in H_K, what that makes of rounding in G (in units of `roots`, which
        are √k(z,z)), and how far from orthonormal the coordinates may be."""
        T = np.eye(len(G)) if self.T is None else self.T
        spread = float(np.linalg.norm(roots[:, None] * T))
        return float(np.linalg.norm(T.T @ G)), spread, _strain(spread)


class CentreCoefficients(Primal):
    """Coefficients of centres as they are: for many centres, or an engine that keeps them to itself.

    K(Z,Z) ≈ L Lᵀ serves the preconditioner and the norm of a gradient only. So it may be rounded, or have
    a jitter, without changing the problem that is solved. It is taken at the centres as products with A round
    them: differences between these and others would be large next to small eigenvalues.

    Unless `steady` is given, which is λ. Rounded kernel values make scores uncertain by σ‖c‖, and a product
    with Aᵀ, which is rounded otherwise, does not see it: c would grow until the scores are noise. With a
    jitter of 64σ²/λ, a part of the penalty then, large coefficients cost more than the σ²‖c‖² they bring, and
    what rounding of a gradient makes of c, σ/(λ·jitter) next to slopes, changes scores by little of these.
    """

    explicit = False

    def __init__(self, A: Operator, B: Operator, offset: bool, steady: float = 0.0):
        super().__init__(A, offset)
        self.A, self.B = A, (B := B.beside(A))
        m = A.shape[1]
        self.sampled = m <= _SAMPLED_CENTRES
        dtype = np.dtype(np.float64) if 8 * m * m <= 0.7 * A.free_bytes() else A.dtype
        # What lies below the rounding of A's entries is noise, and what is divided by it loses its digits.
        shift = max(float(np.finfo(A.dtype).eps), SUBSET_SHIFT) * float(B.diag().mean())
        self.noise, self.steady = _noise(A) if steady else 0.0, bool(steady)
        shift = max(shift, _STEADY * self.noise**2 / steady) if steady else shift
        self.L = (B.at(dtype) or B).factor(shift=shift, max_jitter=0.1)
        self.jitter, self.shift = 0.0, shift + self.L.jitter
        self._exact = B.dtype == np.float64
        self.words = f"these {m:,} centres with a jitter of {self.shift:.1e}"

    def among(self, rows):
        other: Any = super().among(rows)
        other.A = other.Phi.A if self.offset else other.Phi
        return other

    def facing(self, A):
        other: Any = super().facing(A)
        other.A = A
        return other

    def quick(self, tol):
        if tol < ROUNDED_TOL or not self.A.remote or self.A.dtype != np.float32:
            return self.Phi
        rounded = self.A.rounded()
        return WithOnes(rounded) if self.offset else rounded

    def _parts(self, U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients of the centres, and the offset's, if there is one, as rows."""
        return (U[:-1], U[-1:]) if self.offset else (U, U[:0])

    def penalise(self, U):
        inner, last = self._parts(U)
        shift = self.shift if self.steady else 0.0
        if self._exact:
            pulled = self.B @ inner + shift * inner
        else:
            # With rounded entries K(Z,Z) is not positive: large coefficients could have a price below 0.
            pulled = self.L.multiply_lower(self.L.multiply_upper(inner)) + (shift - self.shift) * inner
        return np.vstack([pulled, np.zeros_like(last)])

    def size(self, R):
        inner, last = self._parts(R)
        inner = self.L.solve_lower(inner)
        return np.sqrt(np.einsum("ij,ij->j", inner, inner) + np.square(last).sum(axis=0))

    def measured(self, G, roots):
        length = float(np.linalg.norm(self.L.solve_lower(G)))
        spread = float(np.linalg.norm(roots)) / np.sqrt(self.shift) if self.shift > 0 else np.inf
        return length, spread, _strain(spread / np.sqrt(max(len(roots), 1)))

    def steepest(self, R):
        inner, last = self._parts(R)
        return np.vstack([self.L.solve(inner), last])

    def preconditioner(self, ridge, d, rows, rng):
        A, L, n, m = self.A, self.L, *self.A.shape
        if self.sampled:
            # A better sample costs matrix products, of which a remote engine makes light.
            rows = max(rows, 5 * m) if A.remote else rows
            index = np.sort(rng.choice(n, min(n, rows), replace=False))
            some, weights = A.among(index), np.ones(len(index)) if d is None else d[index]
            core = some.whitened_factor(L, weights, 1 / len(index), ridge, max_jitter=0.1)
            mean = float(weights.mean())
            beside = L.solve_lower(some.column_sums(weights) / len(index)) if self.offset else None
        else:
            # Too large for a second matrix: as if the centres were a sample of the rows, where Φᵀ = Lᵀ.
            mean = 1.0 if d is None else float(d.mean())
            core = L.gram_factor(mean / m, ridge)
            beside = L.multiply_upper(np.full((m, 1), mean / m)) if self.offset else None
        if beside is None:
            return lambda R: L.solve_upper(core.solve(L.solve_lower(R)))
        # The offset's row and column of the Hessian, by the Schur complement. It is a small difference: the
        # same rows, with the same rounding, must be behind both of its terms.
        solved = core.solve(beside)
        left = max(mean - float((beside * solved).sum()), 100 * np.finfo(float).eps * max(mean, _TINY))

        def inverse(R):
            inner = L.solve_lower(R[:-1])
            last = (R[-1:] - solved.T @ inner) / left
            return np.vstack([L.solve_upper(core.solve(inner) - solved * last), last])

        return inverse


def _noise(A: Operator) -> float:
    """σ, if rounding makes products A v and Aᵀ v wrong by about σ‖v‖.

    Some entries of a product with all of A, whose sums are as long as later ones, against float64.
    """
    if A.dtype != np.float32 or not all(A.shape):
        return 0.0
    n, m = A.shape
    rows, columns = (np.unique(np.linspace(0, k - 1, _PROBED).astype(np.intp)) for k in (n, m))
    rng = np.random.default_rng(0)
    found = []
    for side, some, v in (
        (A, A.among(rows), rng.standard_normal((m, 1))),
        (A.T, A.among(np.arange(n), columns).T, rng.standard_normal((n, 1))),
    ):
        if (exact := some.at(np.float64)) is not None:
            chosen = rows if side is A else columns
            off = exact @ v - (side @ v)[chosen]
            found.append(float(np.sqrt(np.square(off).mean()) / np.linalg.norm(v)))
    return max(found, default=0.0)


def to_primal(
    problem: Problem, *, store: bool = False, steady: bool = False, rough: int | None = None
) -> Primal:
    """Coordinates for a problem with centres or features.

    A few centres are made orthonormal. With `store`, Φ is then kept in memory if it fits: for methods that
    pass over it many times. `steady`: see `CentreCoefficients`. Of more bytes than `rough` it is kept in
    float32, which is enough for a Hessian that serves as a preconditioner: ΦᵀΦ, added up in float64, is that
    of features a little off, and positive.
    """
    A, B = problem.A, problem.B
    if A.of_kernel and (A.remote or A.shape[1] > LARGEST_FACTOR):
        return CentreCoefficients(A, B, problem.offset, problem.lam if steady else 0.0)
    T = None if isinstance(B, Identity) else whitening(np.asarray(B.dense(), dtype=np.float64), A.dtype)
    Phi = A if T is None else Composed(A, T)
    # An offset takes up the means; where the loss is not convex that might lead elsewhere.
    weights = problem.w if problem.offset and problem.loss.convex else None
    kept = in_memory(Phi, most_doubles=rough) if store else Phi
    return Primal(kept, problem.offset, T, weights, own=kept is not Phi)


def _strain(spread: float) -> float:
    """How far TᵀBT may be from the identity, for the rounding of B's entries."""
    return min(float(np.finfo(float).eps) * spread**2, 0.9)


def whitening(B: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """T (m, r) with TᵀBT = I: the inverse of B's Cholesky factor, nearly dependent centres left out.

    What counts as dependent is set by the precision A comes in: a direction in which B is smaller
    than the rounding of A's entries holds nothing but noise.
    """
    m = len(B)
    diagonal = B.diagonal().astype(np.float64)
    if m == 0 or diagonal.max() <= 0:
        return np.zeros((m, 0))
    # Judged at unit diagonal: a centre is not superfluous because k(z,z) is small there.
    scale = np.where(diagonal > 0, 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1)), 0)
    floor = 8 * np.finfo(np.float32).eps if dtype == np.float32 else m * np.finfo(np.float64).eps
    scaled = scale[:, None] * B * scale[None, :]
    if diagonal.min() > 0 and (T := _inverse_root(scaled, float(floor))) is not None:
        return scale[:, None] * T
    L, order, rank, _ = dpstrf(scaled, tol=float(floor), lower=1)
    rank = int(rank)
    order = order[:rank] - 1
    T = np.zeros((m, rank))
    inverse, _ = dtrtri(np.asfortranarray(L[:rank, :rank]), lower=1)
    T[order] = np.tril(inverse).T
    return scale[:, None] * T


def _inverse_root(B: np.ndarray, floor: float) -> np.ndarray | None:
    """L⁻ᵀ for B = L Lᵀ, if no centre depends on those before it: no pivots needed, and much faster."""
    try:
        factor = Factor(B.copy(), max_jitter=0.0)
    except NotPositiveDefinite:
        return None
    if (factor.L.diagonal() ** 2).min() <= 10 * floor:
        return None
    return np.ascontiguousarray(inverse_lower(np.tril(factor.L)).T)
