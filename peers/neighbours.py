"""`sklearn.neighbors`: the nearest, those within a radius, their labels and their means."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn.neighbors as theirs
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.metrics import DistanceMetric
from sklearn.neighbors._base import KNeighborsMixin

import mercer.estimators as machines
from mercer.kernels import Linear
from peers.adapter import Theirs, ours


class Near(Theirs):
    """Metrics by name, and the searches of all of them."""

    kind = ""

    def _distance(self) -> dict[str, Any]:
        metric, extra = self.metric, dict(self.metric_params or {})
        if isinstance(metric, DistanceMetric):
            return {"metric": lambda x, z: float(metric.pairwise(x[None], z[None])[0, 0])}
        if metric == "minkowski":
            p = extra.pop("p", self.p)
            if (
                not extra
                and p == 2
                and self.kind in ("KernelNeighborsClassifier", "KernelNeighborsRegressor")
            ):
                # Distances of the linear kernel are Euclidean: no metric is needed for these.
                return {"kernel": Linear()}
            extra = {**extra, "p": p}
        elif metric == "euclidean" and not extra:
            return {"kernel": Linear()}
        said = {"metric": metric}
        return {**said, "metric_params": extra} if extra else said

    def _machine(self, **said: Any) -> Any:
        search = {"brute": "blocks", "kd_tree": "tree", "ball_tree": "tree"}.get(self.algorithm, "auto")
        distance = self._distance()
        if search == "tree" and "metric" in distance:
            search = "auto"
        return ours(getattr(machines, self.kind), **distance, search=search, **said)

    def _weighted(self) -> dict[str, Any]:
        return {"weights": "uniform" if self.weights is None else self.weights}

    def fit(self, X: Any, y: Any = None) -> Any:
        if isinstance(X, Theirs):
            X = X._given
        elif isinstance(X, (theirs.KDTree, theirs.BallTree)):
            X = np.asarray(X.data)
        self._given = X
        machine = self._machine(**self._asked())
        self.keep(machine)
        _ = machine.fit(X) if y is None else machine.fit(X, y)
        return self

    def _asked(self) -> dict[str, Any]:
        raise NotImplementedError

    def kneighbors(self, X: Any = None, n_neighbors: Any = None, return_distance: bool = True) -> Any:
        return self._search("kneighbors")(X, n_neighbors, return_distance)

    def kneighbors_graph(self, X: Any = None, n_neighbors: Any = None, mode: str = "connectivity") -> Any:
        return self._search("kneighbors_graph")(X, n_neighbors, mode)

    def radius_neighbors(
        self, X: Any = None, radius: Any = None, return_distance: bool = True, sort_results: bool = False
    ) -> Any:
        return self._search("radius_neighbors")(X, radius, return_distance, sort_results)

    def radius_neighbors_graph(
        self, X: Any = None, radius: Any = None, mode: str = "connectivity", sort_results: bool = False
    ) -> Any:
        return self._search("radius_neighbors_graph")(X, radius, mode, sort_results)

    def _search(self, name: str) -> Any:
        return getattr(self.fitted(), name)


class _Predicts(Near):
    def predict(self, X: Any) -> np.ndarray:
        return self.fitted().predict(X)


class _Labels(ClassifierMixin, _Predicts):
    def predict_proba(self, X: Any) -> Any:
        return self.fitted().predict_proba(X)


# Tests tell both kinds of machines apart by these mixins, of which no method is left.
class KNeighborsClassifier(_Labels, KNeighborsMixin, stands_for=theirs.KNeighborsClassifier):
    kind = "KernelNeighborsClassifier"

    def _asked(self) -> dict[str, Any]:
        return {"n_neighbors": self.n_neighbors, **self._weighted()}


class KNeighborsRegressor(
    MultiOutputMixin, RegressorMixin, _Predicts, KNeighborsMixin, stands_for=theirs.KNeighborsRegressor
):
    kind = "KernelNeighborsRegressor"

    def _asked(self) -> dict[str, Any]:
        return {"n_neighbors": self.n_neighbors, **self._weighted()}


class RadiusNeighborsClassifier(_Labels, stands_for=theirs.RadiusNeighborsClassifier):
    kind = "KernelRadiusNeighborsClassifier"

    def _asked(self) -> dict[str, Any]:
        return {"radius": self.radius, "outlier_label": self.outlier_label, **self._weighted()}


class RadiusNeighborsRegressor(
    MultiOutputMixin, RegressorMixin, _Predicts, stands_for=theirs.RadiusNeighborsRegressor
):
    kind = "KernelRadiusNeighborsRegressor"

    def _asked(self) -> dict[str, Any]:
        return {"radius": self.radius, **self._weighted()}


class NearestNeighbors(Near, stands_for=theirs.NearestNeighbors):
    kind = "KernelNearestNeighbors"

    def _asked(self) -> dict[str, Any]:
        return {"n_neighbors": self.n_neighbors, "radius": float(self.radius)}


def replaced() -> dict[str, type]:
    """Names in `sklearn.neighbors`, and what stands for them."""
    found = (
        *(KNeighborsClassifier, KNeighborsRegressor, RadiusNeighborsClassifier, RadiusNeighborsRegressor),
        NearestNeighbors,
    )
    return {f"sklearn.neighbors.{machine.__name__}": machine for machine in found}
