"""Means of clusters in feature space: how far points are from them, and which is nearest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer._state import ArraySpec, require
from mercer._xp import features_by
from mercer.estimators.elsewhere import opened
from mercer.estimators.inputs import KernelInputs, checked_weights, like
from mercer.estimators.plan import parts_of
from mercer.estimators.tensors import follows_data, on_host, remember
from mercer.functions import FeatureFunction, Function, KernelFunction
from mercer.kernels import Precomputed
from mercer.operators import squares_of
from mercer.rows import Shard, lives_elsewhere
from mercer.rows.base import Totals

# Rows, their squared distances to the means, their masses.
Blocks = Iterator[tuple[slice, np.ndarray, np.ndarray]]


class ClusterMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, KernelInputs):
    """A machine that has found means of clusters: what it says of points."""

    means_: Any
    masses_: np.ndarray
    squared_norms_: np.ndarray
    _shift: np.ndarray
    fit: Any

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.masses_)

    def __getattr__(self, name):
        if name in ("labels_", "start_") and "means_" in vars(self):
            raise AttributeError(f"{name} would be as long as the rows, which live elsewhere: predict(rows)")
        return super().__getattr__(name)  # type: ignore[misc]  # which types don't see

    def _distances(self, X: Any, squared: bool) -> Blocks:
        """Of blocks of points the squared distances to the means, and the masses a point has by itself.

        Without `squared`, ‖ψ(x)‖² is left out: of a point outside a precomputed matrix it isn't known.
        """
        check_is_fitted(self, "means_")
        given, X = X, self.check_new(X)
        if squared and isinstance(self.input_kernel_, Precomputed):
            raise ValueError(
                "k(x,x) of new points is not in the rows of a precomputed matrix, so their distances are "
                "unknown: predict does without, and fit_transform knows those of the examples"
            )
        f = self.means_
        if isinstance(f, KernelFunction):
            X = self.kernel_.points(X)
            remember(f.engine, X, given)
        return self._to_means(X, squared)

    def _to_means(self, X: Any, squared: bool) -> Blocks:
        """`_distances` of points as the kernel takes them."""
        f, k = self.means_, len(self.masses_)
        width = k if isinstance(f, KernelFunction) else max(len(f), k)
        norms = np.where(self.masses_ > 0, self.squared_norms_, np.inf)
        if isinstance(f, FeatureFunction):
            coef = f.coef - self._shift[:, None]
            norms = np.where(self.masses_ > 0, np.square(coef).sum(axis=0), np.inf)
        for rows in parts_of(X.shape[0], width):
            whole = rows.stop - rows.start == X.shape[0]
            part = X if whole else X[rows]  # itself, because an engine may know it
            if isinstance(f, FeatureFunction):
                Phi = features_by(f.map.transform, part)
                Phi = Phi if not self._shift.any() else Phi - self._shift
                inner, squares = Phi @ coef, squares_of(Phi)
            else:
                inner = np.asarray(f(part), np.float64)
                squares = (
                    np.asarray(self.kernel_.diagonal(part), np.float64) if squared else np.zeros(len(inner))
                )
            masses = np.ones(len(inner))
            if hasattr(self, "normalized_cut_"):
                masses = inner @ self.masses_
                scale = np.divide(1, masses, out=np.zeros(len(inner)), where=masses > 0)
                inner, squares = inner * scale[:, None], squares * scale**2
            yield rows, squares[:, None] - 2 * inner + norms, masses

    @follows_data
    def predict(self, X):
        """The cluster with the nearest mean."""
        parts = [D.argmin(axis=1) for _, D, _ in self._distances(X, squared=False)]
        return np.concatenate(parts)

    @follows_data
    def transform(self, X):
        """Distances in feature space to all means, shape (n, n_clusters)."""
        return _roots(self._distances(X, squared=True), on_host(X))

    @follows_data
    def fit_transform(self, X, y=None, sample_weight=None):
        """Find the clusters; the distances of all points to all means. y is not used."""
        self.fit(X, sample_weight=sample_weight)
        if not isinstance(self.input_kernel_, Precomputed):
            return self.transform(X)
        # As examples, and not as rows: then their k(x,x) is known.
        return _roots(self._to_means(np.arange(len(self.labels_)), squared=True), on_host(X))

    def fit_predict(self, X, y=None, sample_weight=None):
        """Find the clusters; the label of every point. y is not used."""
        self.fit(X, sample_weight=sample_weight)
        return self.predict(X) if self.learns_elsewhere(X) else self.labels_

    def score(self, X, y=None, sample_weight=None):
        """−E of these points, each in the cluster with the nearest mean."""
        if lives_elsewhere(X):
            bare, there = opened(self, X, None, sample_weight)
            return there.total(Scored(bare))[0]
        X = on_host(X)
        total, weights = 0.0, None
        for rows, D, masses in self._distances(X, squared=True):
            if sample_weight is not None and weights is None:
                weights = checked_weights(on_host(sample_weight), X)
            w = masses if weights is None else masses * weights[rows]
            total += float(w @ np.maximum(D.min(axis=1), 0))
        return -total

    def __getstate__(self):
        # Coordinates for further batches follow from the means.
        return {name: value for name, value in super().__getstate__().items() if name != "_stream"}

    holds = {
        "means_": Function,
        "masses_": ArraySpec("f8", "k"),
        "squared_norms_": ArraySpec("f8", "k"),
        "_shift": ArraySpec("f8", None),
        "energies_": ArraySpec("f8", None),
    }
    fitted_by = "means_"

    def check_state(self) -> None:
        super().check_state()
        f, k = self.means_, len(self.masses_)
        shifted = not isinstance(f, FeatureFunction) or len(self._shift) == len(f)
        require(shifted and f.outputs == k, f"the means of {k} clusters do not fit together")


@dataclass(frozen=True, eq=False)
class Scored:
    """A task: −E of the points of a shard."""

    machine: ClusterMeans

    def __call__(self, shard: Shard) -> Totals:
        return (self.machine.score(shard.X, sample_weight=shard.w),)


def _roots(blocks: Blocks, X: Any) -> np.ndarray:
    """Distances from blocks of squared ones, in the precision of X."""
    D = np.concatenate([D for _, D, _ in blocks])
    return like(np.sqrt(np.maximum(D, 0, out=D), out=D), X)
