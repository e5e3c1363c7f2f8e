"""Functions of a feature map: f = ⟨c, φ(·)⟩."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from mercer._xp import features_by, n_points
from mercer.functions.base import Function, as_coefficients, column_products
from mercer.kernels.points import as_objects

# Features held at once: 32 MB of doubles.
_ENTRIES = 1 << 22
# Features of a point that are not 0, where they are few.
_SPARSE_WIDTH = 1024


class FeatureFunction(Function):
    """f = ⟨c, φ(·)⟩ for a feature map φ: an element of the space of the kernel φ(x)·φ(z).

    Parameters
    ----------
    map : object with ``transform(X)``, fitted
        `ExplicitFeatures`, `RandomFourierFeatures` or any scikit-learn transformer.
    coef : array, shape (p,) or (p, t)
        c; with t columns the object is t functions.
    double : bool
        Map float32 points in float64: features may be large and cancel, so that float32 would not do.

    Notes
    -----
    ⟨f, g⟩ = c·c', where both use the same map object, and ‖f‖ = ‖c‖: the norm of H_K where the
    features are linearly independent functions, an upper bound of it otherwise. Points are mapped a
    block at a time, so the n × p matrix Φ(X) is never held.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import ExplicitFeatures
    >>> from mercer.kernels import Polynomial
    >>> phi = ExplicitFeatures(Polynomial(degree=2)).fit(np.zeros((1, 1)))
    >>> phi.get_feature_names_out().tolist()
    ['1', '√2·x0', 'x0²']
    >>> f = FeatureFunction(phi, [1.0, 0.0, 2.0])
    >>> f([[0.0], [3.0]])
    array([ 1., 19.])
    >>> f @ f
    5.0
    """

    def __init__(self, map: Any, coef: Any, double: bool = False):
        if not hasattr(map, "transform"):
            raise TypeError(f"map must have a transform method, got {map!r}")
        coef = as_coefficients(coef)
        if coef.ndim not in (1, 2):
            raise ValueError(f"coef must have shape (p,) or (p, t), got {coef.shape}")
        self.map, self.coef, self.double = map, coef, bool(double)

    @property
    def n_features(self):
        return getattr(self.map, "n_features_in_", None)

    holds = {"map": BaseEstimator}

    def try_state(self) -> None:
        """Map one point: there must be as many features as coefficients."""
        if self.n_features is not None:
            self(np.zeros((1, self.n_features)))

    def with_coef(self, coef):
        return FeatureFunction(self.map, coef, self.double)

    def _space(self):
        return repr(self.map)

    def blocks(self, X: Any) -> Iterator[tuple[slice, Any]]:
        """(rows, features of X[rows]), a bounded number of rows at a time."""
        X = X if hasattr(X, "shape") else as_objects(X)
        wide = _SPARSE_WIDTH if getattr(self.map, "sparse_rows", False) else len(self)
        height = max(_ENTRIES // max(wide, 1), 1)
        for i in range(0, n_points(X), height):
            rows = slice(i, i + height)
            some = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
            if self.double and getattr(some, "dtype", None) == np.float32:
                some = some.astype(np.float64)
            Phi = features_by(self.map.transform, some)
            if Phi.shape[1] != len(self):
                raise ValueError(f"{self.map!r} gives {Phi.shape[1]} features, but coef has {len(self)} rows")
            yield rows, Phi

    def __call__(self, X):
        parts = [Phi @ self.coef for _, Phi in self.blocks(X)]
        return np.concatenate(parts) if parts else np.zeros((0, *self.coef.shape[1:]), self.coef.dtype)

    def _kernel(self):
        return getattr(self.map, "kernel_", None)

    def combination(self, X, coef):
        coef = np.asarray(coef)
        total = np.zeros((len(self), *coef.shape[1:]))
        for rows, Phi in self.blocks(X):
            total += Phi.T @ coef[rows]
        return self.with_coef(total)

    def _require_same_space(self, g):
        super()._require_same_space(g)
        if self.map is not g.map or len(self) != len(g):
            raise ValueError("functions of different feature maps live in different spaces")

    def _plus(self, g):
        return self.with_coef(self.coef + g.coef)

    def _inner(self, g):
        return column_products(self.coef.astype(np.float64), g.coef.astype(np.float64))
