"""The share of coordinates in which two points agree: a kernel on coded categories."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.kernels.base import Kernel
from mercer.kernels.points import as_vectors
from mercer.kernels.statistics import Agreement, squared_norms


class Overlap(Kernel):
    """k(x,z) = Σ_j w_j [x_j = z_j] / Σ_j w_j: the share of equal coordinates, of categories that are coded.

    Parameters
    ----------
    weights : (d,) numbers of at least 0, not all 0
        w: how much each coordinate counts. None: all the same.

    Notes
    -----
    Codes are numbers that are equal or not; which numbers does not matter, and neither does their order. Up
    to 2²⁴ different ones a column keep apart in float32. Where a column has q codes, all equally frequent,
    this is the linear kernel of its q dummies, without the dummies: a new code needs no new column.

    A power says that several coordinates matter together: ``(1 + Overlap()) ** 3``.

    Examples
    --------
    >>> Overlap()([[0.0, 1.0, 5.0]], [[0.0, 2.0, 5.0], [3.0, 3.0, 3.0]]).round(3)
    array([[0.667, 0.   ]])
    >>> Overlap([3.0, 1.0])([[0.0, 1.0]], [[0.0, 7.0], [9.0, 1.0]])
    array([[0.75, 0.25]])
    """

    def __init__(self, weights=None):
        self.weights = weights

    def validate(self):
        if self.weights is None:
            return
        w = np.asarray(self.weights)
        fine = w.ndim == 1 and w.dtype.kind in "fiu" and np.isfinite(w).all() and (w >= 0).all()
        if not fine or not (w > 0).any():
            raise ValueError(
                "Overlap: weights must be numbers of at least 0, one per coordinate and not all 0; got "
                f"{self.weights!r}"
            )

    def points(self, X):
        X = as_vectors(X, what="Overlap")
        self._require_width(X.shape[1])
        return X

    def _require_width(self, d: int) -> None:
        if d == 0:
            raise ValueError("Overlap: points without coordinates have no share of equal ones")
        if self.weights is not None and len(self.weights) != d:
            raise ValueError(f"Overlap: {len(self.weights)} weights for points with {d} features")

    def _shares(self, d: int) -> np.ndarray:
        """What each coordinate counts for; they add up to 1."""
        w = np.ones(d) if self.weights is None else np.asarray(self.weights, dtype=float)
        w = w / w.max()  # the sum of very large weights would be infinite
        return w / w.sum()

    def formula(self, tracer, view):
        agreement = Agreement()
        if self.weights is None:
            x, z = tracer.both("1/√d", view, _inverse_root_width)
            return tracer.statistic(agreement, view) * (x * z)
        # Coordinates of one weight are counted together: a loop for each weight.
        shares, out = self._shares(len(self.weights)), 0.0
        for share in np.unique(shares[shares > 0])[::-1]:
            chosen = np.flatnonzero(shares == share)
            inner = view if len(chosen) == len(shares) else view.then(Overlap().on(chosen.tolist()))
            out = out + tracer.statistic(agreement, inner) * float(share)
        return out

    def pairwise(self, X, Z):
        dtype = np.result_type(X, Z)
        if self.weights is None:
            return Agreement().pairwise(X, Z) / dtype.type(X.shape[1])
        K = np.zeros((len(X), len(Z)), dtype)
        for x, z, share in zip(X.T, Z.T, self._shares(X.shape[1]), strict=True):
            K += np.equal(x[:, None], z) * dtype.type(share)
        return K

    def diagonal(self, X):
        return np.ones(len(X), X.dtype)

    def gradient_log_params(self, X, Z):
        if self.weights is None:
            return {}
        shares = self._shares(X.shape[1]).astype(X.dtype)
        apart = self.pairwise(X, Z)[:, :, None]
        return {"weights": shares * ((X[:, None, :] == Z[None, :, :]) - apart)}

    def vjp_log_params(self, X, W):
        if self.weights is None:
            return {}
        # Σ W_ij s_k ([x_ik = x_jk] − k_ij), a coordinate at a time; k is the sum of what is in brackets.
        shares = self._shares(X.shape[1])
        equal = np.array([np.vdot(W, x[:, None] == x) for x in X.T])
        return {"weights": shares * (equal - shares @ equal)}

    def rule(self):
        return "overlap: [x = z] is an inner product of indicators, and weights are not negative"


def _inverse_root_width(X: Any) -> Any:
    return 1 / np.sqrt(squared_norms(0 * X + 1))  # in operations that symbols have, too
