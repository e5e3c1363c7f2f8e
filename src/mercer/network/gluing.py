"""Functions of several nodes put together: a partition of unity, or a mean."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer._state import NOT_NEGATIVE, ArraySpec
from mercer.engines import Engine
from mercer.kernels import Kernel
from mercer.kernels.points import double

# Rows of a node's that its knowledge is judged by, at most.
_MOST_ROWS = 1000


@dataclass(frozen=True, eq=False)
class Knowledge:
    """How much a node knows at x: the precision that its rows add to the prior's.

    Where a Gaussian process with the covariance k has been seen at the node's rows with noise of variance α,
    its variance at x is s² = k(x,x) − e, e = k(x,X)(K + αI)⁻¹k(X,x), and what is known beyond the prior is

        1/s² − 1/k(x,x) = e / (k(x,x) (k(x,x) − e)) ,

    0 far from all rows and the larger the more rows are near.

    Parameters
    ----------
    rows : (n, d) array
    alpha : float > 0
    """

    kernel: Kernel
    rows: np.ndarray
    alpha: float
    engine: Engine

    holds = {"rows": ArraySpec("f8", None, None), "alpha": NOT_NEGATIVE}

    @classmethod
    def of(cls, kernel: Kernel, rows: Any, alpha: float, engine: Engine) -> Knowledge:
        """That of a node with these rows; of very many, evenly chosen ones must do."""
        rows = np.asarray(double(rows))
        if len(rows) > _MOST_ROWS:
            rows = rows[np.linspace(0, len(rows) - 1, _MOST_ROWS).astype(int)]
        return cls(kernel, np.ascontiguousarray(rows), float(alpha), engine)

    @cached_property
    def _factor(self) -> Any:
        """Cholesky's factor of K + αI, which serves all predictions."""
        K = np.asarray(self.engine.operator(self.kernel, self.rows).dense(), np.float64)
        K[np.diag_indices(len(K))] += max(self.alpha, 1e-12 * float(np.abs(K).max(initial=1e-300)))
        return cho_factor(K, overwrite_a=True)

    def at(self, X: Any) -> np.ndarray:
        """(n,) precision beyond the prior's."""
        X = np.asarray(X, np.float64)
        between = np.asarray(self.engine.operator(self.kernel, self.rows, X).dense(), np.float64)
        explained = np.einsum("ij,ij->j", between, cho_solve(self._factor, between))
        prior = np.asarray(self.kernel.diagonal(X), np.float64)
        left = np.maximum(prior - explained, 1e-12 * np.maximum(prior, 1e-300))
        return np.maximum(explained, 0) / (np.maximum(prior, 1e-300) * left)


def by_knowledge(known: list[Knowledge], counts: np.ndarray, X: Any) -> np.ndarray:
    """(nodes, n) weights ≥ 0 that sum to one at every point; by numbers of rows where nobody knows."""
    parts = np.array([one.at(X) for one in known])
    return _shares(parts, counts)


def by_closeness(places: np.ndarray, width: float, X: Any) -> np.ndarray:
    """(nodes, n) weights ∝ exp(−‖x − place‖²/(2 width²)) that sum to one at every point."""
    X = np.asarray(X, np.float64)
    squares = np.square(places[:, None, :] - X[None, :, :]).sum(axis=2) / (2 * width**2)
    parts = np.exp(squares.min(axis=0) - squares)
    return parts / parts.sum(axis=0)


def _shares(parts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    largest = parts.max(axis=0)
    nobody = ~(largest > 0)
    shares = parts / np.where(nobody, 1, largest)
    shares[:, nobody] = (counts / counts.sum())[:, None]
    return shares / shares.sum(axis=0)
