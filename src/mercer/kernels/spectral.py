"""The spectral density of a translation-invariant kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.kernels.base import Kernel
from mercer.kernels.points import as_vectors


def spectral_density(kernel: Kernel, frequencies: Any) -> np.ndarray:
    """k̂(ω) with k(x, z) = ∫ k̂(ω) cos(ω·(x−z)) dω, at each of a set of frequencies.

    By Bochner's theorem a continuous function of x − z is a kernel exactly if it is such an integral over a
    nonnegative measure; this is the density of that measure in R^d.

    Parameters
    ----------
    kernel : Kernel
        Without parameters left to the data: `Gaussian`, `Laplacian`, `Matern`, `RationalQuadratic`, sums and
        multiples of such, on all columns, with length scales or a (regular) metric. NotImplementedError for a
        kernel whose spectrum has no density, such as `Periodic`, or none in closed form.
    frequencies : (m, d) array
        ω, in radians a unit of x: cos(2πx) has ω = 2π.

    Returns
    -------
    (m,) array of float64

    Notes
    -----
    The convention is that of probability: ∫ k̂(ω) dω = k(0), so that k̂/k(0) is the density of the frequencies
    which `RandomFourierFeatures` draws, and k̂(ω) = (2π)^−d ∫ k(δ) cos(ω·δ) dδ. The Fourier transform of
    [003], without the factor before the second integral, is (2π)^d times as large. It is +∞ at ω = 0 where k
    falls so slowly that its integral diverges.

    Examples
    --------
    The wider the kernel, the lower the frequencies; those of a Laplacian fall as 1/ω² only:

    >>> from mercer.kernels import Gaussian, Laplacian
    >>> spectral_density(Gaussian(1.0), [[0.0], [3.0]]).round(4)
    array([0.3989, 0.0044])
    >>> spectral_density(Gaussian(3.0), [[0.0], [3.0]]).round(4)
    array([1.1968, 0.    ])
    >>> spectral_density(Laplacian(1.0), [[0.0], [3.0]]).round(4)
    array([0.3183, 0.0318])
    """
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be a mercer.kernels.Kernel, got {kernel!r}")
    kernel.validate()
    kernel.require_resolved()
    W = as_vectors(frequencies, what="a spectral density").astype(np.float64)
    return np.asarray(kernel.density(W))
