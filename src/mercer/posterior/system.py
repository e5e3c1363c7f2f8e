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
from mercer.operators import KernelOperator, Resident, blas_single_threaded
from mercer.operators.resident import column_dots, column_norms
from mercer.solvers.least_squares import shifted
from mercer.solvers.pcg import PCGResult, Step, pcg
from mercer.solvers.preconditioners import ShiftedInverse, low_rank, low_rank_columns

# Arrays of a column's length that conjugate gradients hold at a time.
_ARRAYS = 10
# More columns than this gain nothing by sharing a product.
_MOST_COLUMNS = 256
# Where vectors are rounded, a round of conjugate gradients goes no further than this; there may be so many.
_ROUND_ENDS = 1e-4
_ROUNDS = 5
_SINGLE = 2.0**-22


@dataclass(frozen=True, eq=False)
class SystemSolution:
    """z with (S K S + μI) z ≈ rhs; `residuals` are measured, ‖rhs − A z‖/‖rhs‖ of each column.

    `rest` is rhs − A z; `left` is rᵀP⁻¹r of each column after the steps.
    """

    z: np.ndarray
    residuals: np.ndarray
    rest: np.ndarray
    steps: list[Step]
    left: np.ndarray


class System:
    """A = S K S + μI with S = √W, so that G⁻¹ = S A⁻¹ S for G = K + μW⁻¹; K is never in memory.

    Conjugate gradients with a low-rank preconditioner P ⪯ A serve columns together, in chunks that memory
    holds; on a GPU vectors stay there, and products are those of float32 points, between residuals that are
    measured with K as it is. What is left is measured for every column; above the tolerance they warn.

    Parameters
    ----------
    seen : Observations
        With A = B = K(X, X).
    tol : float
        Residual of a column relative to its right-hand side; of float32 points on a GPU at least 2⁻²²√n.
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
        self.max_iter, self.rng, self.offset = max_iter, rng, seen.offset
        # Sums of n products of numbers rounded to float32 are not known better than this.
        single = self.K.remote and self.K.dtype == np.float32
        self.tol = max(tol, _SINGLE * np.sqrt(self.n)) if single else tol
        self.rough = self.exact = self.K.resident()
        if self.K.remote:
            self.rough = (self.K.at(np.float32) or self.K).rounded().resident()

    def apply(self, V: np.ndarray) -> np.ndarray:
        """A V."""
        return shifted(self.K, self.mu, self.scale)(V)

    @cached_property
    def below(self) -> ShiftedInverse:
        """The preconditioner P: a low-rank part of A, and μI."""
        return low_rank(self.K, low_rank_columns(self.n), self.rng).at(self.mu, self.scale)

    def chunks(self, columns: int) -> Iterator[slice]:
        """Columns that are solved for together."""
        free = min(available_memory(), self.K.free_bytes())
        room = free // 4 // (8 * _ARRAYS * max(self.n, 1))
        step = int(min(max(room, 1), _MOST_COLUMNS))
        for i in range(0, columns, step):
            yield slice(i, min(i + step, columns))

    def solve(self, rhs: np.ndarray, keep_steps: bool = False) -> SystemSolution:
        """A⁻¹ rhs, of at most one chunk."""
        steps: list[Step] = []
        with blas_single_threaded(self.K):
            b = self.rough.place(rhs)
            size = column_norms(b)
            size[size == 0] = 1.0
            result = self._round(b, self._target(1.0), self.max_iter, steps if keep_steps else None)
            x, iterations = result.x, result.iterations
            rest = b - self._with(self.exact, x)
            after = result.final_residual if self.K.remote else rest
            left = column_dots(after, self.below.placed(after)) if keep_steps else np.zeros(len(size))
            relative = column_norms(rest) / size
            # Rounds after the first, where the first was rounded.
            for _ in range(_ROUNDS if self.K.remote else 0):
                worst = float(relative.max(initial=0.0))
                if worst <= self.tol or iterations >= self.max_iter:
                    break
                result = self._round(rest, self._target(worst), self.max_iter - iterations)
                iterations += result.iterations
                found = x + result.x
                now = b - self._with(self.exact, found)
                if not column_norms(now).max() < column_norms(rest).max():
                    break
                x, rest, relative = found, now, column_norms(now) / size
        self._warn(relative, iterations)
        return SystemSolution(self.rough.fetch(x), relative, self.rough.fetch(rest), steps, left)

    def _target(self, worst: float) -> float:
        """The residual that a round goes for, from one this large."""
        target = 0.5 * self.tol / worst
        return max(target, _ROUND_ENDS) if self.K.remote else target

    def _round(self, b: Any, tol: float, max_iter: int, steps: list[Step] | None = None) -> PCGResult:
        def apply(V: Any) -> Any:
            return self._with(self.rough, V)

        return pcg(apply, b, self.below.placed, tol=tol, max_iter=max_iter, steps=steps)

    def _with(self, K: Resident, V: Any) -> Any:
        """(S K S + μI) V for vectors where K is computed."""
        if self.scale is None:
            return K.multiply(V) + self.mu * V
        s = K.place(self.root)
        return s * K.multiply(s * V) + self.mu * V

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
