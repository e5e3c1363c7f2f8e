"""Points centred in feature space: eigenpairs of HKH, and their scatter in orthonormal coordinates."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from mercer._state import ArraySpec
from mercer._threads import interruptible
from mercer._warnings import frames_inside
from mercer.engines import available_memory
from mercer.estimators.unlabelled import Survey
from mercer.operators import Elsewhere, FeatureOperator, KernelOperator, Operator, blas_single_threaded
from mercer.representations import Built
from mercer.solvers import ConvergenceWarning
from mercer.solvers.eigen import largest_eigenpairs
from mercer.solvers.passes.scatter import spread

# Up to here, or where a good part of the spectrum is wanted, the matrix is decomposed whole.
_DENSE_EXAMPLES, _DENSE_SHARE = 1000, 8
# Rows whose mean is near enough to that of all.
_SOME = 256
# Relative residuals that products in float32 still reach.
_ROUGH = 1e-5


@dataclass(frozen=True, eq=False)
class Decomposition:
    """How the components were found."""

    how: str  # in a sentence
    status: str  # "exact", or that of the iteration
    passes: int  # over all pairs of points, of the iteration
    residuals: np.ndarray  # ‖K v − θ v‖/θ₁ of each component; zeros where it is exact

    def __str__(self) -> str:
        if self.status == "exact":
            return self.how
        worst = float(self.residuals.max(initial=0.0))
        return f"{self.how}: {self.status} after {self.passes} passes, relative residual {worst:.1e}"


def eigenpairs(
    K: KernelOperator, count: int, tol: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, Decomposition]:
    """The `count` largest eigenvalues of HKH, their eigenvectors as columns, and how they were found."""
    n = K.shape[0]
    if n <= _DENSE_EXAMPLES or count * _DENSE_SHARE > n:
        values, vectors = _decomposed(K, count)
        how = f"the centred {n:,}×{n:,} matrix, decomposed"
        return values, vectors, Decomposition(how, "exact", 0, np.zeros(count))
    return _iterated(K, count, tol, rng)


def _iterated(
    K: KernelOperator, count: int, tol: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, Decomposition]:
    n, passes, start = K.shape[0], 0, None
    # Blocks are orthonormal, so that nothing large cancels which float32 would lose: most of the way goes
    # in float32, the last passes in the precision of the data. BLAS stays off the engine's cores.
    with blas_single_threaded(K):
        rough = K.at(np.float32)
        if K.dtype == np.float64 and rough is not None:
            pairs = largest_eigenpairs(_centred(rough.rounded()), n, count, rng, max(tol, _ROUGH))
            passes, start = pairs.passes, pairs.vectors
        elif K.dtype == np.float32:
            tol = max(tol, _ROUGH)
        exact = K.rounded() if K.dtype == np.float32 else K
        pairs = largest_eigenpairs(_centred(exact), n, count, rng, tol, start=start)
    passes += pairs.passes
    top = max(float(pairs.values.max(initial=0.0)), np.finfo(float).tiny)
    residuals = pairs.residuals / top
    how = "products with the centred matrix, block Krylov"
    found = Decomposition(how, pairs.status, passes, residuals)
    if pairs.status == "max_iter":
        warnings.warn(
            f"KernelPCA: {found}. The last components are not yet those of the {count} largest "
            f"eigenvalues, which lie close together: ask for fewer, or for a larger tol (now {tol:g}).",
            ConvergenceWarning,
            stacklevel=frames_inside(),
        )
    return pairs.values, pairs.vectors, found


def _centred(K: Operator) -> Callable[[np.ndarray], np.ndarray]:
    """V ↦ HKH V."""

    def apply(V: np.ndarray) -> np.ndarray:
        W = K @ (V - V.mean(axis=0))
        return W - W.mean(axis=0)

    return apply


def _decomposed(K: KernelOperator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The largest eigenpairs of HKH, from the matrix itself."""
    n = K.shape[0]
    need, free = 3 * 8 * n * n, available_memory()
    if need > free:
        raise ValueError(
            f"all components of {n:,} examples take about {need / 1e9:.1f} GB, and {free / 1e9:.1f} GB are "
            "free: say n_components=…, or representation='nystrom'"
        )
    values = np.asarray(K.dense(), dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError(f"{K.kernel!r} gives NaN or infinity between these points; are they too large?")
    values -= values.mean(axis=0)
    values -= values.mean(axis=1)[:, None]
    span = [n - count, n - 1]
    w, U = interruptible(lambda: eigh(values, subset_by_index=span, overwrite_a=True, check_finite=False))
    return w[::-1], U[:, ::-1]


def signs(vectors: np.ndarray) -> np.ndarray:
    """Signs that make the largest entry of every column positive: the same each time."""
    if vectors.size == 0:
        return np.ones(vectors.shape[1])
    size = np.abs(vectors)
    # The first of those that are as large as any but for rounding.
    first = (size >= (1 - 1e-6) * size.max(axis=0)).argmax(axis=0)
    return np.where(vectors[first, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)


@dataclass(frozen=True, eq=False)
class Moments:
    """Number, mean and scatter of points seen so far, in coordinates of their own."""

    count: int
    mean: np.ndarray  # (p,)
    scatter: np.ndarray  # (p, p) Σ (φ_i − mean)(φ_i − mean)ᵀ
    squares: float  # Σ k(x_i, x_i)

    holds = {"mean": ArraySpec("f", "p"), "scatter": ArraySpec("f", "p", "p")}

    @classmethod
    def of(cls, A: Operator, T: np.ndarray | None, squares: float) -> Moments:
        """Those of the rows of A, or of A T."""
        some = min(A.shape[0], _SOME)
        near = A.among(slice(0, some)).adjoint(np.ones(some)) / some
        count, mean, scatter, _ = spread(A, near, T)
        return cls(count, mean, scatter, squares)

    @classmethod
    def elsewhere(cls, survey: Survey, built: Built, T: np.ndarray | None) -> Moments:
        """Those of all examples of a survey, which live elsewhere, from one pass over them."""
        if survey.rows.has_w:
            raise ValueError("there are no weights in KernelPCA: open the rows without them")
        survey.require(built.facing)
        assert built.facing is not None
        n, p = built.A.shape
        A = Elsewhere(survey.rows, built.facing, p, built.A.dtype)
        return cls(*spread(A, built.A.adjoint(np.ones(n)) / n, T))

    def and_of(self, other: Moments) -> Moments:
        """Those of both together: no large numbers are subtracted from each other."""
        n = self.count + other.count
        apart = other.mean - self.mean
        scatter = self.scatter + other.scatter
        scatter += np.outer(apart, apart) * (self.count * other.count / n)
        return Moments(n, self.mean + apart * (other.count / n), scatter, self.squares + other.squares)


@dataclass(frozen=True, eq=False)
class OrthonormalCoordinates:
    """Orthonormal coordinates of the span of centres (by a whitening matrix) or of features."""

    zero: Any  # a function whose coefficients are 0: it knows the centres or the feature map
    whitening: np.ndarray | None  # (centres, p); None for features

    def __len__(self) -> int:
        return len(self.zero.coef) if self.whitening is None else self.whitening.shape[1]

    def lift(self, coef: np.ndarray) -> Any:
        return self.zero.with_coef(coef)

    def coefficients(self, v: np.ndarray) -> np.ndarray:
        """Of the function with coordinates v."""
        return v if self.whitening is None else self.whitening @ v

    def operator(self, X: Any) -> Operator:
        """A whose rows, times the whitening matrix if there is one, are the coordinates of X."""
        return (
            self.zero.facing(X)
            if self.whitening is not None
            else FeatureOperator(self.zero.map, X, len(self))
        )
