"""G c = u for many u at once, by products with K: G = K + μW⁻¹, with or without an offset."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._memory import available_memory
from mercer._warnings import frames_inside
from mercer.operators import KernelOperator, blas_single_threaded
from mercer.solvers.least_squares import shifted
from mercer.solvers.pcg import Step, pcg
from mercer.solvers.preconditioners import ShiftedInverse, low_rank, low_rank_columns

# Arrays of a column's length that conjugate gradients hold at a time.
_ARRAYS = 10
# More columns than this gain nothing by sharing a product.
_MOST_COLUMNS = 256


@dataclass(frozen=True, eq=False)
class SystemSolution:
    """z with (S K S + μI) z ≈ rhs; `residuals` are measured, ‖rhs − A z‖/‖rhs‖ of each column."""

    z: np.ndarray
    residuals: np.ndarray
    rest: np.ndarray  # rhs − A z
    steps: list[Step]


class System:
    """A = S K S + μI with S = √W, so that G⁻¹ = S A⁻¹ S for G = K + μW⁻¹; K is never in memory.

    Conjugate gradients with a low-rank preconditioner P ⪯ A serve columns together, in chunks that memory
    holds. What they leave is measured for every column; above the tolerance they warn.

    Parameters
    ----------
    seen : Observations
        With A = B = K(X, X).
    tol : float
        Residual of a column relative to its right-hand side.
    max_iter : int
    rng : Generator
        For the preconditioner.
    """

    def __init__(self, seen: Any, tol: float, max_iter: int, rng: np.random.Generator):
        if not (seen.full and isinstance(seen.A, KernelOperator)):
            raise ValueError(
                "this needs one coefficient an example, K(X, X) by an engine: representation='full'; with "
                "centres or features posterior(method='dtc') is cheap, and needs no samples"
            )
        # On the host float64 costs little; far away single values may stay as precise as they come.
        self.K = seen.A if seen.A.remote else seen.precise
        self.n, self.mu = len(seen.y), float(seen.noise)
        weighted = not bool((seen.w == 1).all())
        self.root = np.sqrt(seen.w)[:, None]
        self.scale = self.root[:, 0] if weighted else None
        self.tol, self.max_iter, self.rng, self.offset = tol, max_iter, rng, seen.offset
        self.apply = shifted(self.K, self.mu, self.scale)

    @cached_property
    def below(self) -> ShiftedInverse:
        """The preconditioner P: a low-rank part of A, and μI."""
        return low_rank(self.K, low_rank_columns(self.n), self.rng).at(self.mu, self.scale)

    def chunks(self, columns: int) -> Iterator[slice]:
        """Columns that are solved for together."""
        room = available_memory() // 4 // (8 * _ARRAYS * max(self.n, 1))
        step = int(min(max(room, 1), _MOST_COLUMNS))
        for i in range(0, columns, step):
            yield slice(i, min(i + step, columns))

    def solve(self, rhs: np.ndarray, keep_steps: bool = False) -> SystemSolution:
        """A⁻¹ rhs, of at most one chunk."""
        steps: list[Step] = []
        with blas_single_threaded(self.K):
            result = pcg(
                self.apply,
                rhs,
                self.below.inverse,
                tol=0.5 * self.tol,
                max_iter=self.max_iter,
                steps=steps if keep_steps else None,
            )
            rest = rhs - self.apply(result.x)
        size = np.linalg.norm(rhs, axis=0)
        relative = np.linalg.norm(rest, axis=0) / np.where(size > 0, size, 1.0)
        self._warn(relative, result.iterations)
        return SystemSolution(result.x, relative, rest, steps)

    def _warn(self, relative: np.ndarray, iterations: int) -> None:
        bad = int((~(relative <= self.tol)).sum())
        if bad:
            warnings.warn(
                f"{bad} of {len(relative)} linear systems were left with a relative residual of up to "
                f"{relative.max():.1e} after {iterations} iterations, the tolerance being {self.tol:.1e}: "
                "what follows from them is less precise. A larger lam helps, and a kernel that is less wide",
                ConvergenceWarning,
                stacklevel=frames_inside(),
            )

    @cached_property
    def of_ones(self) -> tuple[np.ndarray, float]:
        """(A⁻¹√w, 1ᵀG⁻¹1)."""
        z = self.solve(self.root).z
        return z, float((self.root * z).sum())

    def coefficients(self, U: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(c, b, residuals): c = G⁻¹(u − b) for columns u, b such that Σc = 0, or 0 without an offset."""
        c, b, left = np.empty_like(U), np.zeros(U.shape[1]), np.empty(U.shape[1])
        for some in self.chunks(U.shape[1]):
            # What columns have in common with √w is the offset's business: taken out, it does not drown the
            # rest.
            shift = (self.root**2 * U[:, some]).mean(axis=0) if self.offset else 0.0
            answers = self.solve(self.root * (U[:, some] - shift))
            z = answers.z
            if self.offset:
                ones, total = self.of_ones
                inner = (self.root * z).sum(axis=0) / total
                z = z - ones * inner
                b[some] = inner + shift
            c[:, some], left[some] = self.root * z, answers.residuals
        return c, b, left
