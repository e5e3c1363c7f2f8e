"""Machines without labels: kernel PCA, k-means, feature maps of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.cluster
import sklearn.decomposition
import sklearn.kernel_approximation as maps
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from mercer import features, kernels
from mercer.estimators import KernelKMeans, KernelPCA
from mercer.kernels import Gaussian, Linear
from peers.adapter import Theirs, kernel_of, lacking, named_kernel, ours, width


class KernelPCAOfTheirs(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, Theirs, stands_for=sklearn.decomposition.KernelPCA
):
    def fit(self, X: Any, y: Any = None) -> Any:
        if self.fit_inverse_transform and self.kernel == "precomputed":
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
        self.gamma_ = width(self.gamma, X)
        machine = ours(
            KernelPCA,
            kernel=kernel_of(self, X),
            # Directions without variance are left out first.
            n_components=None if self.remove_zero_eig else self.n_components,
            random_state=_number(self.random_state),
        )
        self.keep(machine, X).fit(X)
        return self

    @property
    def eigenvalues_(self) -> np.ndarray:
        return self.fitted().eigenvalues_

    @property
    def eigenvectors_(self) -> np.ndarray:
        """Of the centred matrix: coefficients of the components, which have norm 1 in H_K, times √μ."""
        machine = self.fitted()
        return machine.function_.coef * np.sqrt(machine.eigenvalues_)

    @property
    def _n_features_out(self) -> int:
        return self.fitted().n_components_

    def transform(self, X: Any) -> np.ndarray:
        return np.asarray(self.fitted().transform(X))[:, : self.n_components]

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        return self.fit(X).transform(X)

    def inverse_transform(self, X: Any) -> np.ndarray:
        if not self.fit_inverse_transform:
            raise NotFittedError("The fit_inverse_transform parameter was not set to True")
        return self.fitted().inverse_transform(X)


KernelPCAOfTheirs.__name__ = "KernelPCA"


def _number(random_state: Any) -> Any:
    """A random state as a number, drawn from generators: ours are given one a fit."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return random_state


class _Means(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Theirs):
    def _machine(self, X: Any, **said: Any) -> Any:
        return ours(
            KernelKMeans,
            kernel=Linear(),
            n_clusters=self.n_clusters,
            random_state=_number(self.random_state),
            **said,
        )

    def _starts(self, X: Any, weights: Any) -> dict[str, Any]:
        """`init` and `n_init`: given centres become labels of the nearest."""
        init, one = self.init, 1
        if callable(init):
            init = init(X, self.n_clusters, random_state=check_random_state(self.random_state))
        if isinstance(init, str):
            return {"init": init} if self.n_init == "auto" else {"init": init, "n_init": int(self.n_init)}
        init = np.asarray(init)
        if init.shape[0] != self.n_clusters:
            raise ValueError(f"The shape of the initial centers {init.shape} does not match n_clusters")
        if init.shape[1] != np.shape(X)[1]:
            raise ValueError(
                f"The shape of the initial centers {init.shape} does not match the features of X"
            )
        return {"init": self._nearest(X, init), "n_init": one}

    @staticmethod
    def _nearest(X: Any, centres: np.ndarray) -> np.ndarray:
        far = Linear().squared_distance(X if sp.issparse(X) else np.asarray(X, float), centres.astype(float))
        return far.argmin(axis=1)

    @property
    def cluster_centers_(self) -> np.ndarray:
        return self.cast(self.fitted().centroids_)

    @cluster_centers_.setter
    def cluster_centers_(self, value: Any) -> None:
        assert np.array_equal(value, self.cluster_centers_), "centres of another machine"

    @property
    def labels_(self) -> np.ndarray:
        return self.fitted().labels_.astype(np.int32)

    @labels_.setter
    def labels_(self, value: Any) -> None:
        assert np.array_equal(value, self.labels_), "labels of another machine"

    @property
    def inertia_(self) -> float:
        return float(self.fitted().inertia_)

    @property
    def _n_features_out(self) -> int:
        return self.cluster_centers_.shape[0]

    def predict(self, X: Any) -> np.ndarray:
        return self.fitted().predict(X).astype(np.int32)

    def transform(self, X: Any) -> np.ndarray:
        return self.fitted().transform(X)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        return self.fit(X, sample_weight=sample_weight).labels_

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        return float(self.fitted().score(X, sample_weight=sample_weight))


class KMeans(_Means, stands_for=sklearn.cluster.KMeans):
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        machine = self._machine(
            X, **self._starts(X, sample_weight), max_iter=int(self.max_iter) - 1, tol=float(self.tol)
        )
        self.keep(machine, X).fit(X, sample_weight=sample_weight)
        return self

    @property
    def n_iter_(self) -> int:
        # The first means are those of the start, which theirs counts.
        return int(self.fitted().n_iter_) + 1


class MiniBatchKMeans(_Means, stands_for=sklearn.cluster.MiniBatchKMeans):
    """Batches of rows that are drawn, one after the other."""

    def _begun(self, X: Any, weights: Any) -> Any:
        machine = self._machine(X, **self._starts(X, weights))
        if not hasattr(machine, "partial_fit"):
            raise lacking("k-means by batches")
        return self.keep(machine, X)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        X = X.tocsr() if sp.issparse(X) else np.asarray(X)
        n = X.shape[0]
        size = min(int(self.batch_size), n)
        machine, rng = self._begun(X, sample_weight), check_random_state(self.random_state)
        if not isinstance(self.init, str):
            size = n  # labels of all rows are the start
        weights = None if sample_weight is None else np.asarray(sample_weight, float)
        first = min(n, max(size, 3 * int(self.n_clusters)))  # what the start is drawn from
        for i in range(int(self.max_iter)):
            rows = rng.permutation(n)[: size if i else first] if size < n else np.arange(n)
            machine.partial_fit(X[rows], sample_weight=None if weights is None else weights[rows])
        self._labels = machine.predict(X).astype(np.int32)
        self._energy = -float(machine.score(X, sample_weight=sample_weight))
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        if "machine_" not in vars(self):
            self._begun(X, sample_weight)
        self.machine_.partial_fit(X, sample_weight=sample_weight)
        self._labels, self._energy = self.machine_.labels_.astype(np.int32), float(self.machine_.inertia_)
        return self

    @property
    def labels_(self) -> np.ndarray:
        self.fitted()
        return self._labels

    @labels_.setter
    def labels_(self, value: Any) -> None:
        assert np.array_equal(value, self._labels), "labels of another machine"

    @property
    def inertia_(self) -> float:
        self.fitted()
        return self._energy


class _Maps(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Theirs):
    @property
    def _n_features_out(self) -> int:
        return len(self.fitted().get_feature_names_out())

    def transform(self, X: Any) -> Any:
        return self.fitted().transform(X)

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        return self.fit(X).transform(X)


class Nystroem(_Maps, stands_for=maps.Nystroem):
    def fit(self, X: Any, y: Any = None) -> Any:
        unsaid = self.gamma is None and self.coef0 is None and self.degree is None
        if (callable(self.kernel) or self.kernel == "precomputed") and not unsaid:
            raise ValueError("Don't pass gamma, coef0 or degree to Nystroem if using a callable")
        known = vars(self).copy()
        self.degree = 3 if self.degree is None else self.degree
        kernel = kernel_of(self, X)
        self.degree = known["degree"]
        machine = ours(
            features.NystromFeatures,
            kernel=kernel,
            n_centres=min(self.n_components, np.shape(X)[0]),
            random_state=_number(self.random_state),
        )
        self.keep(machine).fit(X)
        return self

    @property
    def _n_features_out(self) -> int:
        return self.fitted().whitening_.shape[1]

    @property
    def components_(self) -> Any:
        return self.fitted().centres_


class RBFSampler(_Maps, stands_for=maps.RBFSampler):
    def fit(self, X: Any, y: Any = None) -> Any:
        kernel = Gaussian.from_gamma(width(self.gamma, X))
        machine = ours(
            features.RandomFourierFeatures,
            kernel=kernel,
            n_features=self.n_components,
            random_state=_number(self.random_state),
        )
        self.keep(machine).fit(X)
        return self

    @property
    def _n_features_out(self) -> int:
        return self.n_components


def _map(name: str, *known: str) -> Any:
    """The first of these feature maps that there is."""
    for word in known:
        if hasattr(features, word):
            return getattr(features, word)
    raise lacking(name)


class AdditiveChi2Sampler(_Maps, stands_for=maps.AdditiveChi2Sampler):
    def fit(self, X: Any, y: Any = None) -> Any:
        made = _map("a feature map of the additive χ² kernel", "AdditiveChiSquaredFeatures")
        self.keep(ours(made, steps=self.sample_steps, interval=self.sample_interval), X).fit(X)
        return self


class SkewedChi2Sampler(_Maps, stands_for=maps.SkewedChi2Sampler):
    def fit(self, X: Any, y: Any = None) -> Any:
        made = _map("a feature map of the skewed χ² kernel", "SkewedChiSquaredFeatures")
        kernel = kernels.SkewedChiSquared(float(self.skewedness))
        machine = ours(
            made, kernel=kernel, n_features=self.n_components, random_state=_number(self.random_state)
        )
        self.keep(machine, X).fit(X)
        return self


class PolynomialCountSketch(_Maps, stands_for=maps.PolynomialCountSketch):
    def fit(self, X: Any, y: Any = None) -> Any:
        made = _map("sketches of a polynomial kernel", "PolynomialSketch")
        kernel = named_kernel("poly", float(self.gamma), self.degree, float(self.coef0))
        machine = ours(
            made, kernel=kernel, n_features=self.n_components, random_state=_number(self.random_state)
        )
        self.keep(machine).fit(X)
        return self


def replaced() -> dict[str, type]:
    """Names in `sklearn.decomposition`, `.cluster` and `.kernel_approximation`, and what stands for them."""
    found: dict[str, type] = {"sklearn.decomposition.KernelPCA": KernelPCAOfTheirs}
    for machine in (KMeans, MiniBatchKMeans):
        found[f"sklearn.cluster.{machine.__name__}"] = machine
    for machine in (Nystroem, RBFSampler, AdditiveChi2Sampler, SkewedChi2Sampler, PolynomialCountSketch):
        found[f"sklearn.kernel_approximation.{machine.__name__}"] = machine
    return found
