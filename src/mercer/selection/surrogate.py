"""A model of the objective from the trials so far: kernel ridge regression, with its uncertainty."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erfc

from mercer.kernels import Matern
from mercer.operators.factor import Factor

_LENGTHS = 0.1 * 2.0 ** np.arange(6)
_NOISES = (1e-6, 1e-4, 1e-2, 1e-1)
# Lengths around half the range are what one expects before having seen anything.
_USUAL_LENGTH, _SPREAD = 0.5, 1.0


class Surrogate:
    """z(x) ≈ a Gaussian process with a Matérn kernel, one length an axis, fitted to (F, z).

    The mean is kernel ridge regression with λn = noise. Lengths and noise are those of the largest marginal
    likelihood: first one length for all axes, from a grid, then each axis by factors of two.

    Parameters
    ----------
    F : (n, p) features of the trials
    owner : (p,) the axis each column belongs to
    z : (n,) values; small ones are wanted
    """

    def __init__(self, F: np.ndarray, owner: np.ndarray, z: np.ndarray):
        self.F, self.owner = F, owner
        self.level = float(z.mean())
        self.z = z - self.level
        axes = int(owner.max()) + 1
        fits = (self._likelihood(np.full(axes, length), noise) for length in _LENGTHS for noise in _NOISES)
        best = max(fits, key=lambda fit: fit[0])
        for factor in (4.0, 2.0):
            for j in range(axes if axes > 1 else 0):
                for step in (factor, 1 / factor):
                    lengths = best[1].copy()
                    lengths[j] *= step
                    best = max(best, self._likelihood(lengths, best[2]), key=lambda fit: fit[0])
        _, self.lengths, self.noise = best
        self.factor = Factor(self._kernel(F, F), self.noise)
        self.coef = self.factor.solve(self.z)
        self.amplitude = max(float(self.z @ self.coef) / len(z), 1e-12)

    def _kernel(self, F: np.ndarray, G: np.ndarray, lengths: np.ndarray | None = None) -> np.ndarray:
        scales = (self.lengths if lengths is None else lengths)[self.owner]
        return Matern(2.5, sigma=1.0)(F / scales, G / scales)

    def _likelihood(self, lengths: np.ndarray, noise: float) -> tuple[float, np.ndarray, float]:
        """log of the marginal likelihood at the best amplitude, with a prior on lengths."""
        factor = Factor(self._kernel(self.F, self.F, lengths), noise)
        n = len(self.z)
        amplitude = max(float(self.z @ factor.solve(self.z)) / n, 1e-12)
        prior = np.sum((np.log(lengths / _USUAL_LENGTH) / _SPREAD) ** 2)
        value = -0.5 * n * math.log(amplitude) - np.log(factor.L.diagonal()).sum() - 0.5 * prior
        return float(value), lengths, noise

    def predict(self, G: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of z at points with features G."""
        K = self._kernel(G, self.F)
        half = self.factor.solve_lower(K.T)
        variance = np.maximum(1 - np.einsum("ij,ij->j", half, half), 1e-12)
        return self.level + K @ self.coef, np.sqrt(self.amplitude * variance)

    def improvement(self, G: np.ndarray, among: np.ndarray) -> np.ndarray:
        """By how much points with features G are expected to fall below the smallest mean at these trials."""
        mean, spread = self.predict(G)
        best = float(self.predict(self.F[among] if among.any() else self.F)[0].min())
        t = (best - mean) / spread
        density = np.exp(-0.5 * t * t) / math.sqrt(2 * math.pi)
        return spread * (t * 0.5 * erfc(-t / math.sqrt(2)) + density)
