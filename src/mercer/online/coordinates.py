"""f = ⟨a, φ(·)⟩: coordinates that are given, or grow as examples need new directions."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg.blas import dtrmm, dtrsm
from scipy.linalg.lapack import dtrtri
from sklearn.base import BaseEstimator

from mercer._state import COUNT, NOT_NEGATIVE, doubles, require, require_held
from mercer._xp import features_by, issparse, take
from mercer.engines import Engine
from mercer.functions import FeatureFunction, Function, KernelFunction
from mercer.functions.terms import stack
from mercer.kernels.base import Kernel
from mercer.online import loops
from mercer.online.code import loop
from mercer.online.learner import Learner, UpdateRule, check_points, dtype_for, fill, widened
from mercer.online.linear_loops import Directions
from mercer.online.steps import RecursiveStep

# Distances from the span of earlier points, over the largest: above this an inverse loses few digits.
_APART = 1e-3


class Basis:
    """Coordinates of points: `rows`, and the way from coefficients back to a function."""

    width: int
    engine: Any = None
    holds: dict[str, Any] = {}  # besides what the constructor takes

    def rows(self, points: Any) -> np.ndarray:
        """φ of points, shape (n, width)."""
        raise NotImplementedError

    def function(self, coef: np.ndarray) -> Function:
        """⟨coef, φ(·)⟩."""
        raise NotImplementedError

    def lifted(self, coef: np.ndarray) -> np.ndarray:
        """Coefficients as the function has them."""
        return coef


class FeatureBasis(Basis):
    """Features of a fitted map."""

    def __init__(self, map: Any, width: int):
        self.map, self.width = map, width

    def check_state(self) -> None:
        require_held(self, {"map": BaseEstimator, "width": COUNT})
        width = getattr(self.map, "n_features_in_", None)
        nothing: Any = (
            [] if width is None else np.zeros((1, width))
        )  # maps of other things than vectors have none
        require(self.rows(nothing).shape[1] == self.width, "the feature map has another number of features")

    def rows(self, points):
        F = features_by(self.map.transform, points)
        return np.ascontiguousarray(F.toarray() if issparse(F) else F, np.float64)

    def function(self, coef):
        return FeatureFunction(self.map, coef)


class CentreBasis(Basis):
    """Kernels at fixed points, made orthonormal: φ(x) = Tᵀ k(Z, x) with TᵀK(Z,Z)T = I."""

    def __init__(self, kernel: Kernel, points: Any, T: np.ndarray, engine: Engine):
        self.kernel, self.points, self.T, self.engine = kernel, points, T, engine

    def check_state(self) -> None:
        require_held(self, {"kernel": Kernel, "engine": Engine, "T": doubles(None, None)})
        require(len(self.T), "there are no centres")
        check_points(self, len(self.T))

    @property
    def width(self):  # type: ignore[override]
        return self.T.shape[1]

    def values(self, points: Any) -> np.ndarray:
        """K(points, Z)"""
        K = np.empty((points.shape[0], self.points.shape[0]), dtype_for(points))
        return np.asarray(fill(K, self.kernel, points, self.points, self.engine), np.float64)

    def rows(self, points):
        return self.values(points) @ self.T

    def lifted(self, coef):
        return self.T @ coef

    def function(self, coef):
        return KernelFunction(self.kernel, self.points, coef, self.engine)


class SpanBasis(CentreBasis):
    """Kernels at points that were met, orthonormal in their order: K(Z,Z) = L Lᵀ and φ(x) = L⁻¹ k(Z, x)."""

    def __init__(self, kernel: Kernel, points: Any, L: np.ndarray, engine: Engine):
        self.kernel, self.points, self.L, self.engine = kernel, points, np.asfortranarray(L), engine

    def check_state(self) -> None:
        require_held(self, {"kernel": Kernel, "engine": Engine, "L": doubles("m", "m")})
        require((np.diagonal(self.L) > 0).all(), "points are in the span of earlier ones")
        check_points(self, len(self.L))

    @property
    def width(self):  # type: ignore[override]
        return len(self.L)

    def rows(self, points):
        if not self.width:
            return np.zeros((points.shape[0], 0))
        K = self.values(points).T
        if self._inverse is not None:
            return dtrmm(1.0, self._inverse, K, lower=1, overwrite_b=1).T
        return dtrsm(1.0, self.L, K, lower=1, overwrite_b=1).T

    @cached_property
    def _inverse(self) -> np.ndarray | None:
        """L⁻¹, where points are so far from each other's span that it is as good as solving."""
        pivots = self.L.diagonal()
        return dtrtri(self.L, lower=1)[0] if pivots.min() > _APART * pivots.max() else None

    def lifted(self, coef):
        return dtrsm(1.0, self.L, coef, lower=1, trans_a=1) if self.width else coef


class CoordinateLearner(Learner):
    """A linear machine in coordinates; with `size` > 0 they are those of a growing span of examples."""

    def __init__(self, basis: Basis, rule: UpdateRule, outputs: int, most: int = 0, threshold: float = 0.0):
        super().__init__(rule, outputs)
        self.basis, self.most, self.threshold = basis, most, threshold
        self.A = np.zeros((outputs, basis.width))
        self.U = np.zeros((outputs, basis.width))
        self.P = np.zeros((0, 0))
        if isinstance(rule.step, RecursiveStep):
            self.P = np.eye(basis.width) / rule.step.penalty

    _by_output = ("offset", "A", "U")
    holds = {
        "basis": Basis,
        "most": COUNT,
        "threshold": NOT_NEGATIVE,
        "A": doubles("outputs", "size"),
        "U": doubles("outputs", None),
        "P": doubles("p", "p"),
    }

    def check_state(self) -> None:
        w, grows = self.size, isinstance(self.basis, SpanBasis)
        require(grows == (self.most > 0) and (not grows or w <= self.most), "coordinates can't grow so")
        require(not self.rule.averaging or self.U.shape[1] == w, "the sum of functions has other coordinates")
        require(len(self.P) == (w if self.recursive else 0), "the matrix of recursive steps is another's")

    @property
    def recursive(self) -> bool:
        return isinstance(self.rule.step, RecursiveStep)

    @property
    def size(self) -> int:
        return self.basis.width

    @property
    def engine(self) -> Engine | None:  # type: ignore[override]
        return self.basis.engine

    def _learn(self, points, Y, weight):
        m, n, t = self.size, points.shape[0], self.outputs
        room = max(min(self.most, m + n), m) if self.most else m
        F = np.zeros((n, room))
        F[:, :m] = self.basis.rows(points)
        basis: Any = self.basis
        K, L = np.zeros((1, 1)), np.zeros((1, 1))
        if room > m:
            K = np.ascontiguousarray(basis.kernel.pairwise(points, points), np.float64)
            L = _enlarged(basis.L, room)
        if self.most:
            diagonal = np.asarray(basis.kernel.diagonal(points), np.float64)
        else:
            diagonal = np.einsum("ij,ij->i", F, F)
        A = np.zeros((t, room))
        A[:, :m] = self.A
        chosen = np.zeros(n, np.int64)
        span = Directions(F, K, L, diagonal, chosen, self.most, float(self.threshold))
        chunk, course = self._begin(Y, weight)
        course.count[loops.WIDTH] = m
        if self.recursive:
            self._learn_recursively(A, span, chunk, course.count)
            course.state[loops.MISTAKES] += np.count_nonzero(weight)
            U = self.U
        else:
            U = np.zeros((t, room if self.rule.averaging else 0))
            if self.rule.averaging:
                U[:, :m] = self.U
            loop("coordinates")(A, U, span, chunk, course, self.code.record)
        scale = self._end(chunk.S, course, A)
        width = int(course.count[loops.WIDTH])
        self.A = A[:, :width] * scale
        if self.rule.averaging and not self.recursive:
            self.U = U[:, :width].copy()
        if width > m:  # more points span more
            added = take(points, np.flatnonzero(chosen))
            every = stack(basis.points, added) if m else added
            self.basis = SpanBasis(basis.kernel, every, L[:width, :width], basis.engine)
        return chunk.S

    def _learn_recursively(self, A, span, chunk, count):
        step: Any = self.rule.step
        P, q = _enlarged(self.P, A.shape[1]), np.zeros(A.shape[1])
        prior, keep = 1 / float(step.penalty), float(step.forgetting)
        loop("recursive")(A, P, q, span, chunk, count, prior, keep)
        width = int(count[loops.WIDTH])
        if np.isfinite(chunk.S).all():
            self.P = P[:width, :width].copy()

    def widen(self, columns):
        if not isinstance(self.basis, CentreBasis):
            super().widen(columns)
        basis: Any = copy(self.basis)
        basis.points = widened(basis.points, columns)
        self.basis = basis

    def coefficients(self):
        return self.basis.lifted(self._mean(self.A, self.U).T)

    def function(self, coef):
        return self.basis.function(coef)

    def scores(self, points):
        mean = self._mean(self.A, self.U)
        return self.basis.rows(points) @ mean.T + self.intercept


def _enlarged(square: np.ndarray, size: int) -> np.ndarray:
    out = np.zeros((size, size))
    out[: len(square), : len(square)] = square
    return out
