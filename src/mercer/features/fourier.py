"""Random Fourier features: a translation-invariant kernel as an average of cosines."""

from __future__ import annotations

import numbers

import numpy as np
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from mercer._state import NOT_NEGATIVE, ArraySpec
from mercer.features.base import FeatureMap, generator, over_rows
from mercer.kernels import Gaussian


class RandomFourierFeatures(FeatureMap):
    """φ(x) = √(2k(0)/p) [cos ω₁·x, …, sin ω₁·x, …] with p/2 random frequencies ω.

    By Bochner's theorem a translation-invariant kernel is k(x−z) = k(0) E cos ω·(x−z), where ω has the
    kernel's spectral density. φ(x)·φ(z) is the mean over p/2 draws: unbiased, off by O(1/√p), and
    exactly k(0) at x = z.

    Parameters
    ----------
    kernel : Kernel, default=Gaussian()
        Any kernel with a spectral density: `Gaussian`, `Laplacian`, `Matern`, `RationalQuadratic`,
        `Periodic`, their sums, products, multiples, integer powers and exponentials, on chosen
        columns, with length scales or a metric.
    n_features : int, default=500
        p; an odd number is rounded up to the next even one.
    random_state : int, RandomState, Generator or None

    Attributes
    ----------
    kernel_ : Kernel
        The kernel, its data-driven parameters found.
    frequencies_ : array, shape (p/2, n_features_in_)
    amplitude_ : float
        k(0).
    n_features_in_ : int

    References
    ----------
    Rahimi and Recht, Random features for large-scale kernel machines, 2007. The variant with pairs of
    cos and sin has the smaller variance (Sutherland and Schneider, 2015).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> X = np.array([[0.0], [1.0]])
    >>> Phi = RandomFourierFeatures(Gaussian(1.0), n_features=20000, random_state=0).fit_transform(X)
    >>> bool(np.abs(Phi @ Phi.T - Gaussian(1.0)(X)).max() < 0.02)
    True
    """

    def __init__(self, kernel=Gaussian(), n_features=500, random_state=None):  # noqa: B008  a value
        self.kernel = kernel
        self.n_features = n_features
        self.random_state = random_state

    def fit(self, X, y=None):
        """Draw the frequencies for points with as many features as X."""
        if not isinstance(self.n_features, numbers.Integral) or self.n_features < 1:
            raise ValueError(f"n_features must be a positive integer, got {self.n_features!r}")
        kernel, X = self._start(X)
        count = (int(self.n_features) + 1) // 2
        try:
            self.amplitude_, self.frequencies_ = self._draw(
                kernel, generator(self.random_state), count, X.shape[1]
            )
        except NotImplementedError as reason:
            raise ValueError(
                f"no random Fourier features for {kernel!r}: {reason}. "
                f"NystromFeatures works with any kernel, ExplicitFeatures with polynomials"
            ) from None
        self.kernel_ = kernel
        return self

    def _draw(self, kernel, rng, count, d):
        """(k(0), frequencies)"""
        return float(kernel.amplitude()), kernel.frequencies(rng, count, d)

    def _coordinates(self, X):
        """Checked points in coordinates in which the kernel depends on differences only."""
        return X

    def _angle(self, j: int) -> str:
        return f"ω{j}·x"

    holds = {"frequencies_": ArraySpec("f", None, "n_features_in_"), "amplitude_": NOT_NEGATIVE}
    fitted_by = "frequencies_"

    def transform(self, X):
        """Φ(X), shape (n, p), in the dtype of X."""
        X = self._check(X)
        half = len(self.frequencies_)
        W = self.frequencies_.T.astype(X.dtype)
        scale = X.dtype.type(np.sqrt(self.amplitude_ / half))
        out = np.empty((X.shape[0], 2 * half), X.dtype)

        def fill(rows):
            angle = self._coordinates(X[rows]) @ W
            block = out[rows]
            np.cos(angle, out=block[:, :half])
            np.sin(angle, out=block[:, half:])
            block *= scale

        over_rows(fill, X.shape[0], 2 * half)
        return out

    def get_feature_names_out(self, input_features=None):
        """'cos(ω0·x)', … and 'sin(ω0·x)', …"""
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        count = range(len(self.frequencies_))
        return np.array([f"{wave}({self._angle(j)})" for wave in ("cos", "sin") for j in count], dtype=object)
