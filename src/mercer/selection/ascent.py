"""Up the marginal likelihood: what one evaluation is, and a search that can be ended at any time."""

from __future__ import annotations

import math
import time
import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer._memory import available_memory
from mercer._notice import tell
from mercer._threads import cpu_count, interruptible, one_blas_thread, parallel_map
from mercer._warnings import frames_inside
from mercer.operators import Factor, NotPositiveDefinite
from mercer.operators.factor import inverse_lower
from mercer.posterior import ExactPosterior, Observations, Posterior, ProjectedPosterior
from mercer.posterior.exact import kernel_slopes
from mercer.posterior.likelihood import likelihood_slopes
from mercer.selection.gradient import Lowest, lowest
from mercer.selection.priors import Belief

# Columns of a triangular inverse that one thread works on at a time.
_PANEL = 256
# Bytes a pair of examples takes where all slopes are computed at once.
SLOPE_BYTES = 100
# Up to so many examples or centres BLAS stays on one thread: most of the time goes into kernel values, and
# where other programmes want the cores, too, its threads wait for each other ten times as long as they work.
_ONE_THREAD = 2048


@dataclass(frozen=True, eq=False)
class _Solved:
    factor: Factor  # of G
    u: np.ndarray  # (n,) G⁻¹1; zeros without an offset
    total: float  # 1ᵀG⁻¹1; 1 without an offset
    coef: np.ndarray  # (n, t) Py
    form: np.ndarray  # (t,) yᵀPy
    log_det: float


class ExactLikelihood(Posterior):
    """The likelihood of G = K + λnW⁻¹ itself, or none where rounding leaves G indefinite; and its slopes.

    It answers that one question, and is thrown away: the inverse takes the place of the factor, so that K is
    computed and factored once. P = G⁻¹ − uuᵀ/(1ᵀG⁻¹1) with u = G⁻¹1, and only G⁻¹ without an offset.
    """

    method = "exact"
    # Are the slopes in the kernel's parameters wanted? They are 0 otherwise.
    kernel_moves = True

    @cached_property
    def _solved(self) -> _Solved:
        seen = self.seen
        G = np.ascontiguousarray(seen.precise.dense(), dtype=np.float64)
        if not np.isfinite(G).all():
            raise ValueError(f"{seen.kernel!r} gives NaN or infinity between the examples")
        G.flat[:: len(G) + 1] += seen.noise / seen.w
        factor = interruptible(lambda: Factor(G, max_jitter=0.0))
        z = factor.solve_lower(seen.y - (seen.y.mean(axis=0) if seen.offset else 0.0))
        total, log_det, u = 1.0, factor.log_determinant(), np.zeros(len(G))
        if seen.offset:
            ones = factor.solve_lower(np.ones(len(G)))
            total, u = float(ones @ ones), factor.solve_upper(ones)
            z -= ones[:, None] * (ones @ z / total)
            log_det += math.log(total)
        form = np.einsum("ij,ij->j", z, z)
        return _Solved(factor, u, total, factor.solve_upper(z), form, log_det)

    def _forms(self):
        return self._solved.form, self._solved.log_det

    def _slopes(self):
        seen, done, scale = self.seen, self._solved, self.scale
        P = done.factor.L
        inverse_in_place(P)
        for i in range(0, len(P) if seen.offset else 0, _PANEL):
            P[i : i + _PANEL] -= np.outer(done.u[i : i + _PANEL], done.u / done.total)
        M = likelihood_slopes(P, done.coef, scale)
        in_noise = float(M.diagonal() @ (seen.noise / seen.w))
        if not self.kernel_moves:
            return np.zeros(len(seen.theta) - 1), in_noise
        return kernel_slopes(seen, M), in_noise


class _InLittleMemory(ExactPosterior):
    """The same for K on a GPU, or where memory is short: of many examples a few columns at a time."""

    max_jitter = 0.0


def inverse_in_place(L: np.ndarray) -> None:
    """(L Lᵀ)⁻¹ in the place of L, of which only the lower triangle is looked at.

    By products of panels, each on a thread of ours: LAPACK's own inverse keeps SciPy's threads waiting for
    NumPy's.

    Examples
    --------
    >>> A = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> inverse = np.linalg.cholesky(A)
    >>> inverse_in_place(inverse)
    >>> bool(np.allclose(inverse @ A, np.eye(2)))
    True
    """
    ends = [(i, min(i + _PANEL, len(L))) for i in range(0, len(L), _PANEL)]
    corners = [inverse_lower(np.tril(L[i:k, i:k])) for i, k in ends]
    J = np.zeros_like(L)  # L⁻¹

    def columns(first: int) -> None:
        a, b = ends[first]
        J[a:b, a:b] = corners[first]
        for (i, k), corner in zip(ends[first + 1 :], corners[first + 1 :], strict=True):
            J[i:k, a:b] = -(corner @ (L[i:k, a:i] @ J[a:i, a:b]))

    def rows(number: int) -> None:  # of JᵀJ, and their mirror images
        i, k = ends[number]
        L[i:k, :k] = J[i:, i:k].T @ J[i:, :k]
        L[:i, i:k] = L[i:k, :i].T

    parallel_map(columns, range(len(ends)), cpu_count())
    parallel_map(rows, range(len(ends)), cpu_count())


@dataclass(frozen=True, eq=False)
class LogPosterior:
    """−log likelihood − log priors as a function of the logarithms that are free.

    Attributes
    ----------
    seen : the data, under the machine's own parameters
    scale : s, or "likelihood"
    first : logarithms of all parameters; those that are not free stay as they are here
    free : which ones are
    beliefs : priors by number of the parameter
    """

    seen: Observations
    scale: Any
    first: np.ndarray
    free: np.ndarray
    beliefs: dict[int, Belief]

    def posterior(self, theta: np.ndarray | None = None) -> Posterior:
        """What has the likelihood, under other parameters or the machine's own."""
        seen = self.seen if theta is None else self.seen.at(theta)
        if not seen.full:
            return ProjectedPosterior(seen, self.scale)
        if seen.A.remote or SLOPE_BYTES * len(seen.y) ** 2 > available_memory():
            return _InLittleMemory(seen, self.scale)
        made = ExactLikelihood(seen, self.scale)
        made.kernel_moves = bool(self.free[:-1].any())
        return made

    def __call__(self, part: np.ndarray) -> tuple[float, np.ndarray, tuple[float, np.ndarray]]:
        """(value, gradient, (log likelihood, s))"""
        theta = self.first.copy()
        theta[self.free] = part
        posterior = self.posterior(theta)
        with self._threads():
            value, slopes = posterior.log_marginal_likelihood(eval_gradient=True)
        total = value
        for i, belief in self.beliefs.items():
            density, slope = belief.log_density(float(theta[i]))
            total, slopes[i] = total + density, slopes[i] + slope
        return -total, -slopes[self.free], (value, posterior.scale)

    def before(self) -> float:
        """The log likelihood under the machine's own parameters; −∞ where rounding leaves none."""
        try:
            with self._threads():
                return float(self.posterior().log_marginal_likelihood())
        except (np.linalg.LinAlgError, NotPositiveDefinite):
            return -math.inf

    def _threads(self) -> AbstractContextManager[Any]:
        return one_blas_thread() if self.seen.A.shape[1] <= _ONE_THREAD else nullcontext()


class _Enough(Exception):
    """The time is up."""


class Ascent:
    """Searches from several starts, within a time, that keep the best point where they are interrupted.

    Parameters
    ----------
    objective : LogPosterior
    seconds : float
        How long all of it may take, from `began` on; at least one evaluation is made.
    began : float, by `time.monotonic`
    """

    def __init__(self, objective: LogPosterior, seconds: float, began: float):
        self.objective, self.seconds, self.began = objective, seconds, began
        self.count, self._spent, self._known = 0, 0.0, False
        # The log likelihood at the very first point, −∞ where rounding leaves none.
        self.at_first = -math.inf
        # Of the start that is being tried: where it was best, and what it was first.
        self._best: tuple[float, np.ndarray, Any] | None = None
        self._before: tuple[float, Any] = math.nan, None
        self._tried = 0

    def climb(
        self, starts: list[np.ndarray], limits: list[tuple[float, float]], max_iter: int
    ) -> list[Lowest]:
        """What was found from each start, as long as there is time and nobody interrupts."""
        found: list[Lowest] = []
        for start in starts:
            if self._known and self._late():
                break
            self._best, self._tried = None, 0
            try:
                one = lowest(self._watched, start, limits, max_iter, None)
            except _Enough:
                one = self._so_far("out of time")
            except KeyboardInterrupt:
                if not self._known:
                    raise
                one = self._so_far("interrupted")
                warnings.warn(
                    f"interrupted after {self.count} evaluations: here is the most likely of them",
                    RuntimeWarning,
                    stacklevel=frames_inside(),
                )
                return found + ([] if one is None else [one])
            found += [] if one is None else [one]
        return found

    def _watched(self, part: np.ndarray) -> tuple[float, np.ndarray, Any]:
        if self._known and self._late():
            raise _Enough
        began = time.monotonic()
        try:
            value, gradient, beside = self.objective(part)
        except (np.linalg.LinAlgError, NotPositiveDefinite):
            self._evaluated(-math.inf, began)
            raise
        self._evaluated(beside[0], began)
        if self._best is None:
            self._before = value, beside
        if self._best is None or value < self._best[0]:
            self._best = value, part.copy(), beside
        self._known = True
        steepest = float(np.abs(gradient).max())
        tell("maximum likelihood", self.count, f"log likelihood {beside[0]:.6g}, largest slope", steepest)
        return value, gradient, beside

    def _evaluated(self, log_likelihood: float, began: float) -> None:
        if not self.count:
            self.at_first = log_likelihood
        self.count, self._tried = self.count + 1, self._tried + 1
        self._spent += time.monotonic() - began

    def _late(self) -> bool:
        """Would another evaluation end later than it should, by half of what it takes and more?"""
        return time.monotonic() - self.began + 0.5 * self._spent / max(self.count, 1) > self.seconds

    def _so_far(self, status: str) -> Lowest | None:
        if self._best is None:
            return None
        value, theta, beside = self._best
        return Lowest(theta, value, beside, self._before, self._tried, status)
