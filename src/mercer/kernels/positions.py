"""Where to look for a witness: point sets on which functions that are no kernels show it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

_DIMENSIONS = (1, 2, 3, 5)
_SIZES = (1, 2, 3, 4, 6, 10, 20, 40)
_SCALES = (1.0, 0.1, 10.0)
# Of regular sets, by distance between neighbours: what is no kernel may show it in a small range of them.
_SPACINGS = np.geomspace(1 / 16, 8.0, 15)
# Steps of descent, how far a first step may move points, and how many times it is halved.
_STEPS, _FIRST, _HALVINGS = 12, 0.1, 4


def sampled(rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Small sets first, so that a witness, if there is one, is small."""
    for d in _DIMENSIONS:
        yield np.zeros((1, d))
        yield np.vstack([np.zeros(d), np.eye(d), -np.eye(d)])[:2]
    for size in _SIZES:
        for d in _DIMENSIONS:
            for scale in _SCALES:
                yield scale * rng.standard_normal((size, d))
    for d in _DIMENSIONS:
        yield np.vstack([np.zeros(d), np.eye(d), -np.eye(d)])
        yield np.abs(rng.standard_normal((20, d)))


def regular() -> Iterator[np.ndarray]:
    """Equispaced points, polygons, lattices, simplices, cross-polytopes and cubes, the neighbours at
    distance 1."""
    yield np.arange(12.0)[:, None]
    for corners in (3, 4, 5, 6, 8, 12):
        angle = 2 * np.pi * np.arange(corners) / corners
        ring = np.column_stack([np.cos(angle), np.sin(angle)]) / (2 * np.sin(np.pi / corners))
        yield np.vstack([ring, np.zeros(2)])
    i, j = (a.ravel() for a in np.meshgrid(np.arange(-3, 4), np.arange(-3, 4)))
    triangular = np.column_stack([i + j / 2, j * 3**0.5 / 2])
    yield triangular[(triangular**2).sum(axis=1) < 9.5]
    yield np.array(list(product(range(6), repeat=2)), dtype=float)
    yield np.array(list(product(range(3), repeat=3)), dtype=float)
    for d in (3, 5, 8):
        yield np.vstack([np.zeros(d), np.eye(d), -np.eye(d)])
        yield np.vstack([np.eye(d), np.full(d, (1 - (1 + d) ** 0.5) / d)]) / 2**0.5
    for d in (3, 5):
        yield np.array(list(product((0, 1), repeat=d)), dtype=float)


def spread() -> Iterator[np.ndarray]:
    """Regular sets at many distances between neighbours."""
    for points in regular():
        for spacing in _SPACINGS:
            yield spacing * points


def lowered(matrix: Callable[[np.ndarray, np.ndarray], np.ndarray], X: np.ndarray) -> np.ndarray:
    """Points moved so that the smallest eigenvalue of K falls, as a share of the largest.

    The eigenvalue λ of c has the slope 2 c_i Σ_j c_j ∂k(x_i,x_j)/∂x_i in x_i, taken by differences: one
    matrix for each coordinate.
    """
    share, c, K = _share(matrix, X)
    size = float(np.ptp(X, axis=0).max()) or 1.0
    step = _FIRST * size
    for _ in range(_STEPS):
        slope = _slope(matrix, X, K, c, 1e-5 * size)
        longest = float(np.abs(slope).max())
        if not np.isfinite(longest) or longest == 0:
            break
        for _ in range(_HALVINGS):
            moved = X - slope * (step / longest)
            after = _share(matrix, moved)
            if after[0] < share:
                X, (share, c, K), step = moved, after, 1.5 * step
                break
            step /= 2
        else:
            break
    return X


def _share(matrix: Callable, X: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    K = matrix(X, X)
    if not np.isfinite(K).all():
        return np.inf, np.zeros(len(X)), K
    values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    return float(values[0] / (np.abs(values).max() or 1.0)), vectors[:, 0], K


def _slope(matrix: Callable, X: np.ndarray, K: np.ndarray, c: np.ndarray, h: float) -> np.ndarray:
    slope = np.zeros_like(X)
    for a in range(X.shape[1]):
        moved = X.copy()
        moved[:, a] += h
        change = matrix(moved, X) - K
        slope[:, a] = 2 * c * (change @ c) / h
    return slope
