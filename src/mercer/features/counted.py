"""The sparse feature map of a kernel on strings, graphs and other things that are no vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from mercer._params import require_count
from mercer._state import ArraySpec, require
from mercer.features.base import FeatureMap
from mercer.kernels import Kernel, Spectrum
from mercer.kernels.counts import different, parts_of


class CountedFeatures(FeatureMap):
    """φ with φ(x)·φ(z) = k(x,z) for kernels that count what things have in common, as sparse rows.

    There is a column for each feature that occurs in the points of `fit`; others, in new points, are left
    out, as they are in no inner product with the known ones.

    Parameters
    ----------
    kernel : Kernel
        One with sparse features, such as `Spectrum`, and sums, multiples and normalised ones of such.
    n_features : int, optional
        Fold features into so many columns by their numbers, where there are too many to keep. Two of N
        features that occur share a column with probability 1 − (1 − 1/n_features)^(N−1) each, which
        `collisions_` says after `fit`.

    Attributes
    ----------
    kernel_ : Kernel
    features_ : array of uint64
        The numbers of the features that have a column; all that occurred, where they are folded.
    collisions_ : float
        Which share of the features that occurred has to share its column.

    Examples
    --------
    >>> phi = CountedFeatures(Spectrum(2)).fit(["banana", "bandana"])
    >>> Phi = phi.transform(["banana", "ananas"])
    >>> (Phi @ Phi.T).toarray()
    array([[9., 8.],
           [8., 8.]])
    >>> sorted(phi.get_feature_names_out(["banana", "bandana"]))
    ['an', 'ba', 'da', 'na', 'nd']
    """

    def __init__(self, kernel=Spectrum(), n_features=None):  # noqa: B008  kernels are values, never changed
        self.kernel = kernel
        self.n_features = n_features

    sparse_rows = True

    holds = {"kernel_": Kernel, "features_": ArraySpec("u", None), "collisions_": float}
    fitted_by = "features_"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array, tags.input_tags.sparse = True, False, False
        tags.transformer_tags.preserves_dtype = []
        return tags

    def fit(self, X, y=None):
        """Find the features that occur."""
        points = self._opened(X)
        known = [part.vocabulary for part in parts_of(self.kernel_.counts, points)]
        self._learn(different(np.concatenate(known)))
        return self

    def fit_transform(self, X, y=None):
        """Φ(X), a sparse matrix; features are made once."""
        points = self._opened(X)
        found, known = [], []
        for part in parts_of(self.kernel_.counts, points):
            known.append(part.vocabulary)
            found.append(part.csr(part.vocabulary))
        self._learn(different(np.concatenate(known)))
        places = [np.searchsorted(self.features_, vocabulary) for vocabulary in known]
        return self._columns(_stacked(found, places, len(self.features_)))

    def _opened(self, X: Any) -> Any:
        """Checked points, once the kernel is known to have sparse features."""
        if not isinstance(self.kernel, Kernel) or not self.kernel.has_counts:
            raise TypeError(f"{self.kernel!r} has no sparse features: use one such as Spectrum(3)")
        if self.n_features is not None:
            require_count(self.n_features, "CountedFeatures: n_features")
        points = self.kernel.points(X)
        self.kernel_ = self.kernel.resolve(points)
        return points

    def _learn(self, features: np.ndarray) -> None:
        self.features_, self.collisions_ = features, 0.0
        if self.n_features is not None and len(self.features_):
            taken = np.bincount(self._folded(self.features_), minlength=1)
            self.collisions_ = float(taken[taken > 1].sum() / len(self.features_))

    def check_state(self) -> None:
        """Refuse features that are not in order, by which columns are found, and a kernel that has none."""
        require(self.kernel_.has_counts, "kernel_ has no sparse features")
        folds = self.n_features
        require(folds is None or (type(folds) is int and folds > 0), "n_features is no number of columns")
        rising = self.features_.dtype == np.uint64 and (self.features_[1:] > self.features_[:-1]).all()
        require(rising, "features_ are no numbers of features in order")

    def _folded(self, features: np.ndarray) -> np.ndarray:
        short = np.int32 if self.n_features < 1 << 31 else np.int64  # what scikit-learn's solvers take
        return (features % np.uint64(self.n_features)).astype(short)

    def transform(self, X) -> Any:
        """Φ(X), a sparse matrix."""
        check_is_fitted(self)
        every = np.arange(len(self.features_))
        found = [part.csr(self.features_) for part in parts_of(self.kernel_.counts, self.kernel_.points(X))]
        return self._columns(_stacked(found, [every] * len(found), len(every)))

    def _columns(self, Phi: Any) -> Any:
        """Φ with a column for each feature, folded if that was asked for."""
        if self.n_features is None:
            return Phi
        Phi.indices = self._folded(self.features_)[Phi.indices]
        Phi = type(Phi)((Phi.data, Phi.indices, Phi.indptr), shape=(Phi.shape[0], self.n_features))
        Phi.sum_duplicates()
        return Phi

    def get_feature_names_out(self, X=None) -> np.ndarray:
        """What the columns stand for, as far as these points show it; "" for what does not occur in them."""
        check_is_fitted(self)
        if X is None:
            raise ValueError(
                "features are kept by their numbers: give the points, and their parts are the names, "
                "get_feature_names_out(X)"
            )
        known = self.kernel_.spelled(self.kernel_.points(X))
        if self.n_features is None:
            names = [known.get(int(f), "") for f in self.features_]
        else:
            several: list[list[str]] = [[] for _ in range(self.n_features)]
            for f, column in zip(self.features_, self._folded(self.features_), strict=True):
                several[column].append(known.get(int(f), ""))
            names = [" | ".join(filter(None, some)) for some in several]
        return np.array(names, dtype=object)


def _stacked(parts: list[Any], places: list[np.ndarray], width: int) -> Any:
    """The rows of all parts, whose columns go to these places; parts are let go on the way, to make room."""
    entries = sum(Phi.nnz for Phi in parts)
    short = np.int32 if max(entries, width) < 1 << 31 else np.int64
    starts = np.cumsum(np.concatenate([[0], *(np.diff(Phi.indptr) for Phi in parts)]), dtype=short)
    indices, values, end = np.empty(entries, short), np.empty(entries), entries
    while parts:
        Phi, place = parts.pop(), places.pop()
        here = slice(end - Phi.nnz, end)
        indices[here], values[here], end = place[Phi.indices], Phi.data, here.start
    return csr_array((values, indices, starts), shape=(len(starts) - 1, width))
