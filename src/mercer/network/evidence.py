"""λ from sums over rows alone: the one under which the targets are most likely."""

from __future__ import annotations

import numpy as np

# λn in units of about k(x,x): a grid, so that nodes whose sums differ in the last digits choose the same.
_STEPS_A_DECADE = 4
_DECADES = (-8, 2)


def log_evidence(
    gram: np.ndarray, moments: np.ndarray, squares: np.ndarray, count: float, noise: np.ndarray
) -> np.ndarray:
    """log p(y) for each value of `noise`, but for a constant, of a Gaussian process seen in p coordinates.

    f is Gaussian with the covariance s·ψ(x)·ψ(z), the noise has the variance s·ν, and s is the best for each
    output. With G = ΨᵀΨ, g = Ψᵀy, for n rows:

        log p = −½ Σ_outputs [n log ŝ + (n − p) log ν + log|G + νI|],   ŝ = (yᵀy − gᵀ(G + νI)⁻¹g)/(νn)

    Parameters
    ----------
    gram, moments, squares, count : G (p, p), g (p, outputs), yᵀy (outputs,), n
    noise : (values,) ν
    """
    values, vectors = np.linalg.eigh(gram)
    values = np.maximum(values, 0)
    turned = np.square(vectors.T @ moments)  # (p, outputs)
    found = np.empty(len(noise))
    for k, nu in enumerate(noise):
        left = squares - (turned / (values + nu)[:, None]).sum(axis=0)
        # Below rounding nothing is left to tell noise by.
        left = np.maximum(left, 1e-14 * np.maximum(squares, 1e-300))
        determinant = (count - len(values)) * np.log(nu) + np.log(values + nu).sum()
        found[k] = -0.5 * np.sum(count * np.log(left / (nu * count)) + determinant)
    return found


def likeliest_lam(
    gram: np.ndarray, moments: np.ndarray, squares: np.ndarray, count: float, penalty: np.ndarray
) -> float:
    """λ with the largest evidence; `penalty` is that of the coordinates, 0 for the one of the offset."""
    free = penalty == 0
    if free.any():  # seen from the mean of the rows
        sums, total = gram[~free][:, free][:, 0], moments[free][0]
        gram = gram[~free][:, ~free] - np.outer(sums, sums) / count
        moments = moments[~free] - np.outer(sums, total) / count
        squares = squares - total**2 / count
        penalty = penalty[~free]
    scale = 1 / np.sqrt(penalty)
    gram, moments = scale[:, None] * gram * scale, scale[:, None] * moments
    size = max(float(np.trace(gram)) / max(count, 1.0), 1e-300)  # about k(x,x)
    low, high = _DECADES
    noise = size * np.logspace(low, high, _STEPS_A_DECADE * (high - low) + 1)
    if count < 2 or not (squares > 0).any() or not len(gram):
        return float(noise[len(noise) // 2 + 2 * _STEPS_A_DECADE] / max(count, 1.0))
    best = int(np.argmax(log_evidence(gram, moments, squares, count, noise)))
    return float(noise[best] / count)
