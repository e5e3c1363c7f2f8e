"""Nyström features: φ(x) = L⁻¹ k(Z, x) with K(Z,Z) = L Lᵀ."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import check_random_state

from mercer._state import ArraySpec, require
from mercer._threads import interruptible
from mercer._xp import n_points
from mercer.engines import Tiled
from mercer.features.base import FeatureMap
from mercer.features.centres import centres_of
from mercer.kernels import Gaussian, Kernel
from mercer.kernels.door import admit
from mercer.kernels.points import double

_GAUSSIAN = Gaussian()


class NystromFeatures(ClassNamePrefixFeaturesOutMixin, FeatureMap):
    """Features whose inner products are the Nyström approximation of k.

    φ(x)·φ(z) = k(x,Z) K(Z,Z)⁺ k(Z,z): exact on the centres Z, and close elsewhere.

    Parameters
    ----------
    kernel : Kernel
    n_centres : int
        Number of centres (at most the number of training points).
    centres : "mixed", "uniform", "k-means++", "leverage", "pivoted_cholesky" or a Centres object
        How they are chosen; "mixed": three quarters of them uniformly, the others where these are far.
    random_state : int, RandomState or None

    Attributes
    ----------
    kernel_ : the resolved kernel
    centres_ : the chosen points
    whitening_ : array, shape (centres, features), T with TᵀK(Z,Z)T = I

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 3, 20)[:, None]
    >>> phi = NystromFeatures(Gaussian(1.0), n_centres=8, random_state=0).fit(X)
    >>> bool(np.abs(phi.transform(X) @ phi.transform(X).T - Gaussian(1.0)(X)).max() < 1e-3)
    True
    """

    def __init__(self, kernel=_GAUSSIAN, n_centres=100, centres="mixed", random_state=None):
        self.kernel = kernel
        self.n_centres = n_centres
        self.centres = centres
        self.random_state = random_state

    def _takes_sparse(self):
        return getattr(self.kernel, "sparse", False)

    def fit(self, X, y=None):
        """Resolve the kernel and choose the centres."""
        if not isinstance(self.n_centres, (int, np.integer)) or self.n_centres < 1:
            raise ValueError(f"n_centres must be a positive integer, got {self.n_centres!r}")
        self.kernel_, X = self._start(X)
        points = self.kernel_.points(X)
        admit(self.kernel_, points, "the features are those of its positive part")
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        m, whole = min(self.n_centres, points.shape[0]), Tiled().operator(self.kernel_, points)
        self.centres_ = points[centres_of(self.centres).choose(whole, m, np.random.default_rng(seed))]
        K = np.asarray(Tiled().operator(self.kernel_, double(self.centres_)).dense(), dtype=np.float64)
        values, vectors = interruptible(lambda: np.linalg.eigh(K))
        # Directions without weight carry no information, only rounding: that of the values `transform` makes.
        single = getattr(points, "dtype", None) == np.float32
        kept = values > len(K) * np.finfo(np.float32 if single else np.float64).eps * values[-1]
        self.whitening_ = vectors[:, kept] / np.sqrt(values[kept])
        return self

    holds = {"kernel": Kernel, "kernel_": Kernel, "whitening_": ArraySpec("f", None, None)}
    fitted_by = "whitening_"

    def check_state(self) -> None:
        """Refuse centres that are not those of the whitening."""
        centres = self.kernel_.points(self.centres_)
        require(n_points(centres) == len(self.whitening_), "centres_ and whitening_ differ in number")
        same = not self.kernel_.vectors or centres.shape[1] == self.n_features_in_
        require(same, "centres_ have other features")
        self.kernel_.require_resolved()

    @property
    def _n_features_out(self) -> int:
        return self.whitening_.shape[1]

    def transform(self, X):
        """φ(X), shape (n, number of features)."""
        points = self._check(X)
        K = Tiled().operator(self.kernel_, self.kernel_.points(points), self.centres_).dense()
        return K @ self.whitening_.astype(K.dtype)
