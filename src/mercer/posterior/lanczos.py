"""Posterior variances by conjugate gradients, between bounds that hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._xp import n_points, take
from mercer.posterior.observations import in_precision_of
from mercer.posterior.pathwise import PathwisePosterior


@dataclass(frozen=True, eq=False)
class Bounds:
    """lower ≤ variance ≤ upper, at s = 1 and up to rounding; with an offset its share is in both."""

    lower: np.ndarray
    upper: np.ndarray


class LanczosPosterior(PathwisePosterior):
    """The posterior for many examples and few new points: every variance by a linear system of its own.

    v(x) = k(x,x) − kᵀG⁻¹k. For whatever z conjugate gradients find, with the residual r = k̃ − Az of
    A z = k̃ = √W k, kᵀG⁻¹k = 2k̃ᵀz − zᵀAz + rᵀA⁻¹r, and 0 ≤ rᵀA⁻¹r ≤ rᵀP⁻¹r for the preconditioner P ⪯ A: so
    what k(x,x) − 2k̃ᵀz + zᵀAz gives, and `std` and `covariance` say, is never too small, and `bounds` has
    both sides. Functions (`sample`, `paths`) and the likelihood are those of `PathwisePosterior`.

    Parameters
    ----------
    seen, scale, random_state, n_samples, n_features, probes, tol, max_iter : as in `PathwisePosterior`

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> machine = KernelRidge(lam=1e-3).fit(X, np.sin(X[:, 0]))
    >>> solved, all_pairs = machine.posterior("lanczos"), machine.posterior("exact")
    >>> bool(np.allclose(solved.std([[3.0], [9.0]]), all_pairs.std([[3.0], [9.0]])))
    True
    """

    method = "lanczos"

    def _in_blocks(self, points, answer):
        m = n_points(points)
        parts = [answer(take(points, np.arange(some.start, some.stop))) for some in self.system.chunks(m)]
        return np.concatenate(parts) if parts else answer(points)

    def _columns(self, points: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(k̃, z, r) of points, one a column."""
        system, K = self.system, self.system.K
        across = K.facing(in_precision_of(K, points)).dense()
        rhs = system.root * np.asarray(across.T, dtype=np.float64)
        answers = system.solve(rhs)
        return rhs, answers.z, answers.rest

    def _bounds(self, points: Any) -> Bounds:
        system = self.system
        rhs, z, r = self._columns(points)
        upper = self.seen.squares(points) - np.einsum("ij,ij->j", z, rhs + r)
        slack = np.maximum(np.einsum("ij,ij->j", r, system.below.inverse(r)), 0.0)
        lower = upper - slack
        if system.offset:
            # 1ᵀG⁻¹k is off by √wᵀA⁻¹r, whose square is at most (1ᵀG⁻¹1)(rᵀP⁻¹r); 1ᵀG⁻¹1 lies between bounds,
            # too.
            ones, total = system.of_ones
            left = system.root - system.apply(ones)
            most = total + float((ones * left).sum()) + float((left * system.below.inverse(left)).sum())
            total = float((ones * (system.root + left)).sum())
            off = np.abs(1 - (system.root * z).sum(axis=0) - (ones * r).sum(axis=0))
            doubt = np.sqrt(max(most - total, 0.0) * slack)
            upper = upper + (off + doubt) ** 2 / total
            lower = lower + np.maximum(off - doubt, 0.0) ** 2 / most
        # Data only make f surer, and where rounding is all there is they say nothing.
        prior = self.seen.squares(points) if not system.offset else np.full(len(upper), np.inf)
        lower = np.where(np.isfinite(lower), np.clip(lower, 0.0, prior), 0.0)
        return Bounds(lower, np.where(np.isnan(upper), prior, np.minimum(upper, prior)))

    def bounds(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """(lower, upper) bounds of `std` at X, (m,) or (m, t); they hold up to rounding."""
        points = self.seen.door(X)

        def both(some: Any) -> np.ndarray:
            found = self._bounds(some)
            return np.stack([found.lower, found.upper], axis=1)

        variances = np.maximum(self._in_blocks(points, both), 0.0)
        low, high = (np.sqrt(v[:, None] * self.scale) for v in variances.T)
        return self._shaped(low), self._shaped(high)

    def _variances(self, points):
        return self._bounds(points).upper

    def _covariances(self, points):
        system = self.system
        parts = [
            self._columns(take(points, np.arange(s.start, s.stop))) for s in system.chunks(n_points(points))
        ]
        rhs, z, r = (np.hstack(columns) for columns in zip(*parts, strict=True))
        C = self.seen.gram(points) - z.T @ (rhs + r)
        if system.offset:
            ones, total = system.of_ones
            left = 1 - (system.root * z + ones * r).sum(axis=0)
            C += np.outer(left, left) / total
        return 0.5 * (C + C.T)

    def _bytes_a_point(self):
        return 8 * 4 * self.system.n

    def std_error(self, X: Any, noise: bool = False) -> np.ndarray:
        """How far `std` may be too large, by `bounds`: shaped like it."""
        low, high = self.bounds(X)
        if noise:
            extra = self.noise[0] if self.seen.single else self.noise
            low, high = np.sqrt(low**2 + extra), np.sqrt(high**2 + extra)
        return high - low

    def covariance_error(self, X: Any) -> np.ndarray:
        """How far `covariance` may be off, by `bounds`: shaped like it.

        What linear systems lack is semidefinite, so between two points it is at most the root of the product
        of what it is at each.
        """
        points = self.seen.door(X)

        def width(some: Any) -> np.ndarray:
            found = self._bounds(some)
            return found.upper - found.lower

        root = np.sqrt(np.maximum(self._in_blocks(points, width), 0.0))
        error = np.outer(root, root)
        return error * self.scale[0] if self.seen.single else error[:, :, None] * self.scale
