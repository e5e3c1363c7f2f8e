"""Coordinates that every node can compute by itself once all know the same centres."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.engines import Engine
from mercer.kernels import Kernel
from mercer.operators import blas_single_threaded
from mercer.solvers.coordinates import whitening

# Directions that the centres hardly show are not enlarged beyond this share of the mean of k(z,z).
_FLOOR = 0.1


class SharedCoordinates:
    """ψ(x), in which f + b = ⟨θ, ψ(x)⟩ and pooled data look about the same in all directions.

    With T such that TᵀK(Z,Z)T = I the functions Tᵀk(Z,·) are orthonormal. Over the centres themselves they
    have the covariance M = TᵀK(Z,Z)²T/m; its eigenvectors, divided by √(eigenvalue + floor), are the
    coordinates. They are centred over the centres, and the last one is 1, for the offset. Nothing but the
    centres goes into them, so nodes need not speak to each other to agree on them.

    Parameters
    ----------
    centres : (m, d) array
    offset : bool
    """

    def __init__(self, kernel: Kernel, centres: np.ndarray, engine: Engine, offset: bool):
        self.kernel, self.engine, self.offset = kernel, engine, offset
        self.centres = np.asarray(centres, np.float64)
        K = np.asarray(engine.operator(kernel, self.centres).dense(), np.float64)
        if not np.isfinite(K).all():
            raise ValueError(f"{kernel!r} gives NaN or infinity between the centres")
        T = whitening(K, np.dtype(np.float64))
        image = K @ T
        values, vectors = np.linalg.eigh(image.T @ image / max(len(K), 1))
        scale = 1 / np.sqrt(np.maximum(values, 0) + _FLOOR * max(float(K.diagonal().mean()), 1e-300))
        self.map = T @ (vectors * scale)
        means = (K @ self.map).mean(axis=0) if offset else np.zeros(self.map.shape[1])
        self.means = means
        # ‖f‖² = Σ penalty_k θ_k²: a coordinate that was made larger has a smaller coefficient.
        self.penalty = np.append(scale**2, 0.0) if offset else scale**2

    def __len__(self) -> int:
        return len(self.penalty)

    def __call__(self, X: Any) -> np.ndarray:
        """ψ of each row, (n, coordinates)."""
        K = self.engine.operator(self.kernel, np.asarray(X, np.float64), self.centres)
        with blas_single_threaded(K):
            found = K @ self.map - self.means
        return np.column_stack([found, np.ones(len(found))]) if self.offset else found

    def coefficients(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(c, b) of Σ_j c_j k(z_j,·) + b from θ, (coordinates, outputs)."""
        inner = theta[: self.map.shape[1]]
        b = (theta[-1] if self.offset else 0.0) - self.means @ inner
        return self.map @ inner, b
