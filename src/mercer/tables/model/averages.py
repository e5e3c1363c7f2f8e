"""Averages of kernels that do about equally well: what one of them gets wrong others may not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mercer._threads import stopping_point
from mercer.engines import Tiled
from mercer.kernels import Kernel
from mercer.tables.model.families import Candidate
from mercer.tables.model.judging import Judge

# Members that are worse than this multiple of the best one's error are not asked.
_NEAR = 1.25
# Another member has to lower the error to this share.
_WORTH = 0.997
_MOST_STEPS = 3
_SHIFTS = (0.5, 2.0)


@dataclass(frozen=True, eq=False)
class Average:
    """Machines in the space of Σ_i w_i k_i/μ_i, with shift c: those with each kernel alone are among them.

    Dividing by μ_i puts kernels in units of the noise, in which they can be added. Members come in one after
    another, with repetitions, as long as the error on rows that took no part falls.

    Attributes
    ----------
    members : candidates on one preparation of the columns, the best one first
    X, Y : points and targets to learn from
    there, truth : those that took no part
    judge : errors of scores
    """

    members: Sequence[Candidate]
    X: np.ndarray
    Y: np.ndarray
    there: np.ndarray
    truth: np.ndarray
    judge: Judge

    @cached_property
    def _values(self) -> list[np.ndarray]:
        """k_i/μ_i between all points and those to learn from."""
        points, values = np.vstack([self.X, self.there]), []
        for member in self.members:
            stopping_point()
            K = Tiled().operator(member.kernel, points, self.X).dense()
            values.append(np.asarray(K, dtype=np.float64) / member.mu)
        return values

    def error(self, counts: Sequence[int], shift: float = 1.0) -> float:
        """On the rows that took no part; infinite where K + μI can't be factored."""
        stopping_point()
        n, total = len(self.X), sum(counts)
        K = np.zeros_like(self._values[0])
        for count, values in zip(counts, self._values, strict=True):
            if count:
                K += count / total * values
        system = K[:n]
        system.flat[:: n + 1] += shift
        try:
            factor = cho_factor(system, overwrite_a=True, check_finite=False)
        except LinAlgError:
            return np.inf
        coefs = cho_solve(factor, self.Y, check_finite=False)
        error = float(np.mean(self.judge.errors(K[n:] @ coefs, self.truth)))
        return error if np.isfinite(error) else np.inf

    def best(self) -> Candidate | None:
        """The average with the smallest error; None if no average is better than the first member."""
        counts = [1] + [0] * (len(self.members) - 1)
        lowest, shift = self.error(counts), 1.0
        for _ in range(_MOST_STEPS):
            tried = [[c + (i == j) for i, c in enumerate(counts)] for j in range(len(counts))]
            errors = [self.error(more) if np.count_nonzero(more) > 1 else np.inf for more in tried]
            if not min(errors) <= _WORTH * lowest:
                break
            lowest, counts = min(errors), tried[int(np.argmin(errors))]
        if np.count_nonzero(counts) == 1:
            return None
        for factor in _SHIFTS:
            if (error := self.error(counts, factor)) <= _WORTH * lowest:
                lowest, shift = error, factor
        return self._candidate(counts, shift, lowest)

    def _candidate(self, counts: Sequence[int], shift: float, error: float) -> Candidate:
        taken = [(count / sum(counts), m) for count, m in zip(counts, self.members, strict=True) if count]
        made = combined(taken, self.X, shift)
        return replace(made, error=error, fresh=error, stage="average", rows=len(self.X))


def combined(shares: Sequence[tuple[float, Candidate]], X: np.ndarray, shift: float = 1.0) -> Candidate:
    """The candidate with Σ_i w_i k_i/μ_i, scaled so that its k(x,x) is as large as that of the first one."""
    first = shares[0][1]
    sizes = [float(np.mean(m.kernel.diag(X))) for _, m in shares]
    whole = sum(share * size / m.mu for (share, m), size in zip(shares, sizes, strict=True))
    whole = whole / sizes[0] if sizes[0] > 0 else 1 / first.mu
    terms: list[Kernel] = [share / (m.mu * whole) * m.kernel for share, m in shares]
    return replace(
        first,
        family="average of " + ", ".join(f"{m.family} ({share:.0%})" for share, m in shares),
        kernel=reduce(lambda a, b: a + b, terms),
        mu=shift / whole,
        loo=np.nan,
        parts=tuple((m.family, share) for share, m in shares),
    )


def near_ties(pool: Sequence[Candidate], most: int) -> list[Candidate]:
    """The best candidates, if their errors are near that of the best one; on its preparation."""
    first, *rest = sorted(pool, key=lambda c: c.error)
    near = [c for c in rest if c.error <= _NEAR * first.error and c.outliers == first.outliers]
    return [first, *near[: most - 1]]
