"""Explicit coordinates: f = ⟨c, φ(·)⟩."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from mercer._memory import available_memory
from mercer._params import is_number, require_flag
from mercer._xp import features_by, issparse
from mercer.features import FOR_SOME, CountedFeatures, ExplicitFeatures, RandomFourierFeatures
from mercer.functions import FeatureFunction
from mercer.operators import L1, STORED_SHARE, FacingFeatures, FeatureOperator, Identity, Matrix
from mercer.representations.base import Built, Representation, precise

_LARGEST_EXPLICIT = 20_000


class Features(Representation):
    """f = ⟨c, φ(·)⟩ with explicit or random features φ.

    Parameters
    ----------
    map : transformer, optional
        A feature map with ``fit``/``transform``, e.g. RandomFourierFeatures(n_features=1000). Its kernel
        is set to the machine's. None: the kernel's own finite expansion if it has a small one (linear and
        polynomial kernels), what is made for it (`PolynomialSketch` for polynomials of many monomials,
        `AdditiveChiSquaredFeatures`, `SkewedChiSquaredFeatures`), random Fourier features otherwise.
    n_features : int
        Number of random features when `map` is None.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Polynomial
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> KernelRidge(Polynomial(degree=2), representation=Features()).fit(X, X[:, 0] ** 2).coef_.shape
    (3,)
    """

    name = "features"

    def __init__(self, map=None, n_features=1000):
        self.map = map
        self.n_features = n_features

    def build(self, kernel, X, rng, engine, seen=None, n=None):
        given = X.dtype
        X = precise(kernel, X, self.size(kernel, n or X.shape[0], X.shape[1]), n) if kernel.vectors else X
        map, Phi = self.mapped(kernel, X, rng, seen)
        double = X.dtype != given
        p, dtype = Phi.shape[1], np.dtype(getattr(X, "dtype", np.float64))
        facing = FacingFeatures(map, p, dtype)
        return Built(Phi, self._penalty(p), lambda c: FeatureFunction(map, c, double), facing)

    def _penalty(self, p):
        """B, for p features."""
        return Identity(p)

    def mapped(self, kernel, X, rng, seen=None):
        """(the feature map, fitted; Φ(X) as an operator)"""
        map = self.chosen(kernel, X.shape[1] if kernel.vectors else 0)
        params = map.get_params(deep=False)
        if "kernel" in params:
            map.set_params(kernel=kernel)
        if params.get("random_state", 0) is None:
            map.set_params(random_state=int(rng.integers(2**31 - 1)))
        if seen is None and getattr(map, "sparse_rows", False):  # all features are made once
            return map, Matrix(features_by(map.fit_transform, X))
        map.fit(X if seen is None else X[seen])
        first = features_by(map.transform, X[:1])
        p = first.shape[1]
        fits = X.shape[0] * p * first.dtype.itemsize <= STORED_SHARE * available_memory()
        whole = fits or issparse(first)
        return map, Matrix(features_by(map.transform, X)) if whole else FeatureOperator(map, X, p)

    def chosen(self, kernel, d):
        """An unfitted feature map for this kernel."""
        if self.map is not None:
            return clone(self.map)
        if kernel.has_counts:
            return CountedFeatures(kernel)
        if not kernel.vectors:
            raise ValueError(
                f"{kernel!r} is not a kernel on vectors, so it has no features of its own: Features(map=…), "
                "or use representation='nystrom', which works with any kernel"
            )
        # No more coordinates than points have themselves are never too many.
        if kernel.expansion_size(d) <= max(_LARGEST_EXPLICIT, d):
            return ExplicitFeatures(kernel)
        for map in FOR_SOME:
            if map.suits(kernel):
                counted = "n_features" in map().get_params()
                return map(kernel, **({"n_features": self.n_features} if counted else {}))
        return RandomFourierFeatures(kernel, n_features=self.n_features)

    def size(self, kernel, n, d):
        map = self.chosen(kernel, d)
        if isinstance(map, ExplicitFeatures):
            return int(kernel.expansion_size(d))
        if isinstance(map, CountedFeatures):
            return map.n_features or d  # as many as occur
        for count in ("n_features", "n_centres"):
            if hasattr(map, count):
                return int(getattr(map, count))
        try:  # a map of another library's: its width shows on any two points
            probe = np.linspace(0, 1, 2 * d).reshape(2, d)
            return int(map.fit_transform(probe).shape[1])
        except Exception:
            return int(self.n_features)


class ElasticNet(Features):
    """As `Features`, with the penalty λ(ρ‖c‖₁ + ½(1 − ρ)‖c‖²): sparse c, and what hangs together shares.

    The penalty is not a norm of H_K; this is a linear model in φ, kept behind the same door. ρ and the ½ are
    those of scikit-learn, whose ``ElasticNet(alpha, l1_ratio)`` halves the squared error: λ = 2·alpha. Its
    ``LogisticRegression(C, l1_ratio)`` is λ = 1/(C n).

    Parameters
    ----------
    l1_ratio : float, default=0.5
        ρ, between 0 and 1. At 1 it is `Lasso`; at 0 the penalty is ½λ‖c‖², as that of `Features` with λ/2.
    map, n_features : as in `Features`
    positive : bool, default=False
        Only c ≥ 0: with a linear kernel, targets that rise with every coordinate or don't change.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor
    >>> from mercer.kernels import Linear
    >>> X = np.random.default_rng(0).standard_normal((100, 3))
    >>> X[:, 1] = X[:, 0]
    >>> net = ElasticNet(l1_ratio=0.5)
    >>> KernelRegressor(Linear(), lam=0.5, representation=net).fit(X, X[:, 0]).coef_.round(2).tolist()
    [0.42, 0.42, 0.0]
    """

    name = "elastic_net"
    penalty = "lasso"

    def __init__(self, l1_ratio=0.5, map=None, n_features=1000, positive=False):
        super().__init__(map, n_features)
        self.l1_ratio = l1_ratio
        self.positive = positive

    def validate(self):
        super().validate()
        require_flag(self.positive, f"{type(self).__name__}: positive")
        if not is_number(self.l1_ratio) or not 0 <= self.l1_ratio <= 1:
            raise ValueError(
                f"l1_ratio must be a number between 0 (only ‖c‖²) and 1 (only ‖c‖₁), got {self.l1_ratio!r}"
            )

    def _penalty(self, p):
        return L1(p, float(self.l1_ratio), bool(self.positive))


class Lasso(ElasticNet):
    """As `Features`, with the penalty λ‖c‖₁: sparse c.

    The penalty is not a norm of H_K; this is a linear model in φ, kept behind the same door.

    Parameters
    ----------
    map, n_features : as in `Features`
    positive : as in `ElasticNet`

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor
    >>> from mercer.kernels import Linear
    >>> X = np.random.default_rng(0).standard_normal((100, 5))
    >>> machine = KernelRegressor(Linear(), lam=0.5, representation=Lasso()).fit(X, 3 * X[:, 0])
    >>> (machine.coef_ != 0).tolist()
    [True, False, False, False, False]
    """

    name = "lasso"
    l1_ratio = 1.0

    def __init__(self, map=None, n_features=1000, positive=False):
        Features.__init__(self, map, n_features)
        self.positive = positive
