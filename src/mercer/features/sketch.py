"""TensorSketch: random features of polynomial kernels of any degree."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin

from mercer._params import require_count
from mercer._state import ArraySpec, require
from mercer._xp import issparse
from mercer.features.base import FeatureMap, generator, over_rows
from mercer.kernels import Kernel, Linear, Polynomial, Scale


class PolynomialSketch(ClassNamePrefixFeaturesOutMixin, FeatureMap):
    """Random φ with E φ(x)·φ(z) = (x·z + c)^degree: as many features as wanted, whatever the degree.

    (x·z + c)^p is the inner product of the p-fold tensor powers of (x, √c), which have (d+1)^p entries. A
    count sketch adds up entries in m random places, each with a random sign. That of a tensor power is the
    circular convolution of p count sketches of (x, √c), which takes p Fourier transforms (TensorSketch): the
    time is p(d + m log m) a point, for m features.

    Parameters
    ----------
    kernel : Kernel
        `Polynomial`, `Linear`, or a multiple of one.
    n_features : int
        m. The standard deviation of φ(x)·φ(z) falls like 1/√m.
    random_state : int, RandomState, Generator or None

    Attributes
    ----------
    kernel_ : Kernel
    places_ : int array, shape (degree, n_features_in_ + 1)
        Where each coordinate goes, in each of the sketches; the last one is √c.
    signs_ : array, shape (degree, n_features_in_ + 1)
    n_features_in_ : int

    Notes
    -----
    Where all monomials are few (`ExplicitFeatures`), they are better: they are exact. The error of a sketch
    is relative to (‖x‖²+c)^p, and grows with the degree: points of length about 1, or less, suit it.

    References
    ----------
    Pham and Pagh, Fast and scalable polynomial kernels via explicit feature maps, 2013.

    Examples
    --------
    >>> from mercer.kernels import Polynomial
    >>> X = np.random.default_rng(0).standard_normal((20, 50)) / 50**0.5
    >>> k = Polynomial(degree=4, c=1.0)                   # 316,251 monomials
    >>> Phi = PolynomialSketch(k, n_features=2000, random_state=0).fit_transform(X)
    >>> Phi.shape, bool(np.abs(Phi @ Phi.T - k(X)).max() < 0.2 * k(X).max())
    ((20, 2000), True)
    """

    def __init__(self, kernel=Polynomial(), n_features=500, random_state=None):  # noqa: B008  a value
        self.kernel = kernel
        self.n_features = n_features
        self.random_state = random_state

    holds = {
        "kernel_": Kernel,
        "places_": ArraySpec("i", "degrees", None),
        "signs_": ArraySpec("f", "degrees", None),
    }
    fitted_by = "places_"

    def check_state(self) -> None:
        """Refuse places and signs that are none."""
        factor, degree, _ = _parts_of(self.kernel_)
        shape = (degree, self.n_features_in_ + 1)
        require(self.places_.shape == self.signs_.shape == shape, "places_ and signs_ are of other points")
        m = self._n_features_out
        require(bool(((self.places_ >= 0) & (self.places_ < m)).all()), "places_ are none of n_features")
        require(bool((np.abs(self.signs_) == 1).all()), "signs_ are not ±1")
        require(factor >= 0, "kernel_ is no kernel")

    @staticmethod
    def suits(kernel: Kernel) -> bool:
        """Is it a map for this kernel?"""
        while isinstance(kernel, Scale):
            kernel = kernel.kernel
        return isinstance(kernel, (Polynomial, Linear))

    def fit(self, X, y=None):
        """Draw places and signs for points with as many features as X."""
        m = require_count(self.n_features, "PolynomialSketch: n_features")
        kernel, X = self._start(X)
        if not self.suits(kernel):
            raise ValueError(
                f"a sketch is of a polynomial kernel, Polynomial(degree, c), and not of {kernel!r}; "
                "NystromFeatures works with any kernel"
            )
        kernel.validate()
        _, degree, _ = _parts_of(kernel)
        rng, shape = generator(self.random_state), (degree, X.shape[1] + 1)
        self.places_ = rng.integers(m, size=shape)
        self.signs_ = rng.choice([-1.0, 1.0], size=shape)
        self.kernel_ = kernel
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.n_features)

    def transform(self, X):
        """Φ(X), shape (n, n_features), in the dtype of X."""
        X = self._check(X)
        factor, _, c = _parts_of(self.kernel_)
        m, d = self._n_features_out, X.shape[1]
        sketches = [self._sketch(p, s, d, X.dtype) for p, s in zip(self.places_, self.signs_, strict=True)]
        out = np.empty((X.shape[0], m), X.dtype)
        root, size = X.dtype.type(math.sqrt(c)), X.dtype.type(math.sqrt(factor))

        def fill(rows):
            from scipy.fft import irfft, rfft

            total: Any = None
            for sketch, place, sign in zip(sketches, self.places_[:, d], self.signs_[:, d], strict=True):
                part = X[rows] @ sketch
                part = part.toarray() if issparse(part) else np.asarray(part)
                part[:, place] += X.dtype.type(sign) * root
                if len(sketches) == 1:
                    out[rows] = part * size
                    return
                waves = rfft(part, axis=1)
                total = waves if total is None else total * waves
            out[rows] = irfft(total, n=m, axis=1) * size

        over_rows(fill, X.shape[0], m)
        return out

    def _sketch(self, places, signs, d: int, dtype) -> Any:
        """The matrix that brings every coordinate to its place, with its sign."""
        from scipy.sparse import csr_array

        entries = (signs[:d].astype(dtype), (np.arange(d), places[:d]))
        return csr_array(entries, shape=(d, self._n_features_out))


def _parts_of(kernel: Kernel) -> tuple[float, int, float]:
    """(factor, degree, c) of factor·(x·z + c)^degree."""
    factor = 1.0
    while isinstance(kernel, Scale):
        factor, kernel = factor * float(kernel.factor), kernel.kernel
    if isinstance(kernel, Polynomial):
        return factor, int(kernel.degree), float(kernel.c)
    return factor, 1, 0.0
