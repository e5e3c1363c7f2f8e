"""The functions a certificate speaks of: norms of f and of gradients in them, and their rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.operators import Identity
from mercer.solvers.coordinates import Primal, to_primal
from mercer.solvers.problem import Problem

EPS = float(np.finfo(np.float64).eps)
# Rows in which kernel values of float32 points are held against those of float64 ones.
_SAMPLE = 256


def _norms(V: np.ndarray, roots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """ℓ1 and ℓ2 norms of the columns, entries in units of the functions they multiply."""
    sized = np.abs(V) * roots[:, None]
    return sized.sum(axis=0), np.linalg.norm(sized, axis=0)


def _summed(V: np.ndarray, roots: np.ndarray) -> np.ndarray:
    """What rounding makes of Σ V_j k(z_j, x), for k(x, x) = 1: partial sums, and every term by itself."""
    one, two = _norms(V, roots)
    return one + 4 * two


class Examples:
    """f = Σ c_i k(x_i,·), one term an example: the gradient is Σ r_i k(x_i,·) with r = ρ + 2λc.

    Sizes √k of examples and of terms are x and z, and rounding is in units of them.
    """

    words = ""

    def __init__(self, problem: Problem):
        self.problem, self.A = problem, problem.A
        self.eps = float(np.finfo(problem.A.dtype).eps)
        self.x, self.z = _roots(problem)

    def score_errors(self, coef: np.ndarray, values: np.ndarray) -> np.ndarray:
        """(n, t): by how much A c may be off."""
        A = self.A
        if A.of_kernel and A.dtype == np.float32:
            n = len(values)
            some = np.unique(np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.intp))
            exact = A.among(some).at(np.float64)
            if exact is not None:
                # float32 values held against float64 ones in some rows; elsewhere errors are as large.
                off = np.abs(exact @ coef - values[some])
                return np.broadcast_to(2 * np.sqrt(np.square(off).mean(axis=0)), values.shape)
        return self.eps * self.x[:, None] * _summed(coef, self.z)[None, :]

    def penalty(self, coef: np.ndarray, values: np.ndarray) -> tuple[float, float]:
        """‖f‖², and what rounding may have made of it."""
        moved = values if self.problem.full else self.problem.B @ coef
        one, two = _norms(coef, self.z)
        eps = self.eps if self.problem.full else float(np.finfo(self.problem.B.dtype).eps)
        return max(float((coef * moved).sum()), 0.0), float((eps * two * (one + 4 * two)).sum())

    def gradient(self, rho, zero, coef, target) -> tuple[float, float, float]:
        """(length, what rounding may add to it, length at the best constant), from w V'/n at both points.

        Bounds without a product where these already show the first to be below the target.
        """
        lam = self.problem.lam
        tol, enough, start = target
        r = rho + 2 * lam * coef
        blur = 8 * EPS * lam * float(np.linalg.norm(_norms(coef, self.z)[0]))
        one, two = _norms(r, self.z)
        bound = float(np.linalg.norm(one))
        if (bound + blur) ** 2 <= 4 * lam * enough and bound <= tol * start:
            return bound, blur, start
        both = np.hstack([r, zero])
        squares = (both * (self.A @ both)).sum(axis=0)
        blur += float(np.sqrt((self.eps * two * (one + 4 * two)).sum()))
        here, start = (float(np.sqrt(max(part.sum(), 0.0))) for part in np.split(squares, 2))
        return min(here, bound), min(blur, bound), start


class CentreSpan(Examples):
    """Coefficients of centres: the gradient is measured in coordinates in which they are orthonormal."""

    def __init__(self, problem: Problem, primal: Primal):
        super().__init__(problem)
        self.primal, self.words = primal, primal.words

    def gradient(self, rho, zero, coef, target) -> tuple[float, float, float]:
        here, start = np.split(self.A.adjoint(np.hstack([rho, zero])), 2, axis=1)
        return self.lengths(here, start, _summed(rho, self.x), coef)

    def lengths(
        self, here: np.ndarray, start: np.ndarray, summed: np.ndarray, coef: np.ndarray
    ) -> tuple[float, float, float]:
        """The same, from Aᵀρ at both points, and from what rounding may make of the first of these sums."""
        lam = self.problem.lam
        each = self.eps * summed + EPS * 2 * lam * _summed(coef, self.z)
        gradient = here + 2 * lam * (self.problem.B @ coef)
        # Below the jitter nothing can be told apart: what is bounded is the minimum with λ·shift·‖c‖² added.
        shift, z = self.primal.shift, self.z
        length, blur, strain = self.primal.measured(gradient + 2 * lam * shift * coef, z)
        length, blur = length / (1 - strain), blur * float(np.linalg.norm(each)) / (1 - strain)
        if shift > 0:
            # That is no part of the objective at hand.
            relief = 4 * lam * lam * shift * float(np.square(coef).sum())
            less = float(np.sqrt(max((length + blur) ** 2 - relief, 0.0))) - blur
            length = max(less, self.primal.measured(gradient, z)[0] / (1 - strain))
        return length, blur, self.primal.measured(start, z)[0]


class FeatureSpan:
    """f = ⟨c, φ(·)⟩."""

    words = "these features"

    def __init__(self, problem: Problem):
        self.problem, self.A = problem, problem.A
        self.eps = float(np.finfo(problem.A.dtype).eps)
        self.x = np.sqrt(problem.A.row_squares())

    def score_errors(self, coef: np.ndarray, values: np.ndarray) -> np.ndarray:
        return 2 * self.eps * self.x[:, None] * np.linalg.norm(coef, axis=0)[None, :]

    def penalty(self, coef: np.ndarray, values: np.ndarray) -> tuple[float, float]:
        square = float(np.square(coef).sum())
        return square, 2 * EPS * square

    def gradient(self, rho, zero, coef, target) -> tuple[float, float, float]:
        here, start = np.split(self.A.adjoint(np.hstack([rho, zero])), 2, axis=1)
        return self.lengths(here, start, _summed(rho, self.x), coef)

    def lengths(
        self, here: np.ndarray, start: np.ndarray, summed: np.ndarray, coef: np.ndarray
    ) -> tuple[float, float, float]:
        lam = self.problem.lam
        blur = self.eps * float(np.linalg.norm(summed)) + 4 * EPS * lam * float(np.linalg.norm(coef))
        return float(np.linalg.norm(here + 2 * lam * coef)), blur, float(np.linalg.norm(start))


def space_of(problem: Problem, primal: Primal | None) -> Any:
    if problem.full:
        return Examples(problem)
    if isinstance(problem.B, Identity):
        return FeatureSpan(problem)
    return CentreSpan(problem, to_primal(problem) if primal is None else primal)


def _roots(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """√k(x, x) of the examples, √k(z, z) of the centres."""
    A = problem.A
    z = np.sqrt(np.abs(problem.B.diag()))
    if problem.full:
        return z, z
    if (x := A.row_norms()) is not None:
        return x, z
    # |A_ij| ≤ √k(x,x) √k(z,z), of which the second is known.
    scale = np.where(z > 0, z, np.inf)
    return np.concatenate([np.abs(np.asarray(block) / scale).max(axis=1) for _, block in A.blocks()]), z
