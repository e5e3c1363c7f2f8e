"""What all machines of neighbours share: the examples, the search among them, graphs of who is near whom."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer import _resolve
from mercer._params import is_number, require_count
from mercer._state import ONE_OR_MORE, require
from mercer._xp import frozen
from mercer.engines import Engine
from mercer.estimators.distances import Distance, distance_of
from mercer.estimators.inputs import GAUSSIAN, KernelInputs
from mercer.estimators.nearest import WAYS, NeighbourSearch
from mercer.estimators.plan import Plan
from mercer.estimators.tensors import engine_for, remember
from mercer.estimators.within import Neighbourhoods, within

_MODES = ("connectivity", "distance")


class NeighbourMachine(KernelInputs, ABC):
    """A machine that keeps its examples, and asks those near a point."""

    metric: Any
    metric_params: Any
    search: Any
    # Of those that have targets: how these are learned, looked up, answered with and judged by.
    _learn: Any
    _targets: Any
    _answer: Any
    _errors: Any
    _points: Any
    n_samples_fit_: int

    # -- the examples ---------------------------------------------------------------------------------

    def asked_kernel(self):
        if self.metric is None:
            return super().asked_kernel()
        return distance_of(self.metric, self.metric_params)

    def admit_points(self, points):
        # A distance does not claim to be a kernel.
        return isinstance(self.kernel_, Distance) or super().admit_points(points)

    def _validate(self) -> None:
        if not isinstance(self.search, str) or self.search not in WAYS:
            raise ValueError(f"search must be one of {', '.join(map(repr, WAYS))}, got {self.search!r}")
        if self.metric is not None:
            distance_of(self.metric, self.metric_params).validate()
        elif self.metric_params is not None:
            raise ValueError("metric_params are for a metric by name, and metric is None")

    def _hold(self, kernel: Any, X: Any, engine: Engine, given: Any) -> None:
        """Keep checked examples, and prepare the search among them."""
        self._points, _ = self._bind(kernel, X, engine, given, keep=True)
        self.n_samples_fit_ = X.shape[0]
        self._found = NeighbourSearch(self.kernel_, self._points, self.search)
        self.search_ = self._found.way
        why = f"search by {self.search_}: {self._found.why}"
        self.plan_ = Plan(None, None, engine, self.n_samples_fit_, reasons=(why,))

    def _searcher(self) -> NeighbourSearch:
        if "_found" not in self.__dict__:  # after a trip through a file
            self._found = NeighbourSearch(self.kernel_, self._points, self.search_)
        return self._found

    def _queries(self, X: Any) -> tuple[Any, Engine]:
        """New points as the kernel takes them, None for the examples themselves; and the engine."""
        check_is_fitted(self, "n_samples_fit_")
        engine = _resolve.engine_of(engine_for(self.engine, X))
        if X is not None:
            given, X = X, self.kernel_.points(self.check_new(X))
            if engine.remote:
                X = frozen(X)
                remember(engine, X, given)
        return X, engine

    # -- who is near --------------------------------------------------------------------------------

    def _usual_count(self) -> Any:
        """How many neighbours, if nobody says; None: somebody must."""
        return None

    def _usual_radius(self) -> Any:
        """How far, if nobody says; None: somebody must."""
        return None

    def kneighbors(self, X=None, n_neighbors=None, return_distance=True):
        """The nearest examples of each point, the nearest first; of equally near ones the first in the data.

        X : points, optional; without, the neighbours of every example among the others
        n_neighbors : int; as many as the machine asks, if that is a number and none is given

        Returns distances √(k(x,x) + k(z,z) − 2k(x,z)), or those of `metric`, and positions
        (n, n_neighbors), or only these.
        """
        points, index, gaps = self._neighbours(X, n_neighbors)
        if not return_distance:
            return index
        return self._searcher().distances(points, index, gaps), index

    def _neighbours(self, X: Any, count: Any) -> tuple[Any, np.ndarray, Any]:
        """X as the kernel takes it, and what the search found."""
        check_is_fitted(self, "n_samples_fit_")
        n, count = self.n_samples_fit_, self._usual_count() if count is None else count
        require_neighbours(count, n - (X is None), n)
        X, engine = self._queries(X)
        return (X, *self._searcher().nearest(X, int(count), engine))

    def kneighbors_graph(self, X=None, n_neighbors=None, mode="connectivity"):
        """Who is among the nearest of whom: a sparse matrix, points × examples, in CSR form.

        X, n_neighbors : as for `kneighbors`
        mode : "connectivity", ones; or "distance", the distances themselves
        """
        _require_mode(mode)
        points, index, gaps = self._neighbours(X, n_neighbors)
        d = None if mode == "connectivity" else self._searcher().distances(points, index, gaps)
        return _graph(Neighbourhoods.of_table(index, d), self.n_samples_fit_)

    def radius_neighbors(self, X=None, radius=None, return_distance=True, sort_results=False):
        """All examples at a distance of at most `radius` from each point, in the order of the data.

        X : points, optional; without, the neighbours of every example among the others
        radius : float, or one for each point; that of the machine, if it has one and none is given
        sort_results : bool; the nearest first, of equally near ones the first in the data

        Returns two arrays of arrays, of distances and of positions, or only these.
        """
        found = self._within(X, radius, sort_results)
        index = found.in_lists(found.index)
        assert found.distances is not None
        return (found.in_lists(found.distances), index) if return_distance else index

    def radius_neighbors_graph(self, X=None, radius=None, mode="connectivity", sort_results=False):
        """Who is within the radius of whom: a sparse matrix, points × examples, in CSR form.

        X, radius, sort_results : as for `radius_neighbors`
        mode : "connectivity", ones; or "distance", the distances themselves
        """
        _require_mode(mode)
        found = self._within(X, radius, sort_results)
        if mode == "connectivity":
            found = Neighbourhoods(found.starts, found.index)
        return _graph(found, self.n_samples_fit_)

    def _within(self, X: Any, radius: Any = None, by_distance: bool = False) -> Neighbourhoods:
        points, engine = self._queries(X)
        radius = self._usual_radius() if radius is None else radius
        n = self.n_samples_fit_ if points is None else points.shape[0]
        radius = require_radii(radius, n) if np.ndim(radius) else require_radius(radius)
        found = within(self._searcher(), points, radius, engine)
        return found.by_distance() if by_distance else found

    # -- state ----------------------------------------------------------------------------------------

    def __getstate__(self):
        # The search follows from the examples, and may be a tree that files don't take.
        state = dict(super().__getstate__())
        state.pop("_found", None)
        return state

    holds = {"n_samples_fit_": ONE_OR_MORE}
    fitted_by = "n_samples_fit_"

    def check_state(self) -> None:
        super().check_state()
        require(self.search_ in WAYS[1:], f"search_ is {self.search_!r}")
        points = self.kernel_.points(self._points)
        require(points.shape[0] == self.n_samples_fit_, "there are other examples than were counted")
        same = not self.kernel_.vectors or points.shape[1] == self.n_features_in_
        require(same, "the examples have other features")

    def try_state(self) -> None:
        """Ask one example: a search among all may have to build a tree."""
        one = self.kernel_.points(self._points)[:1]
        NeighbourSearch(self.kernel_, one, self.search_).nearest(one, 1, _resolve.engine_of("auto"))


@dataclass(eq=False, repr=False)
class KernelNearestNeighbors(NeighbourMachine):
    """Who is near whom, without labels: the R nearest examples, or all within a radius.

    The distance is that of φ(x) and φ(z) in the space of the kernel, d² = k(x,x) + k(z,z) − 2 k(x,z), or any
    other that `metric` names.

    Parameters
    ----------
    kernel : Kernel, str or function of two points
    n_neighbors : int
        How many `kneighbors` finds, unless it is told.
    radius : float
        How far `radius_neighbors` looks, unless it is told; in the distance of the kernel (a Gaussian's is
        at most √2, and ¾ where ‖x−z‖ = 0.81 σ) or the metric. ∞: all examples are neighbours.
    search : "auto", "blocks" or "tree"; as in `KernelNeighborsClassifier`
    engine : "auto" or an Engine, what computes blocks
    metric : None, str or function of two points
        A distance in the kernel's place, which need not come from any: "euclidean", "manhattan", "cosine",
        "chebyshev", "minkowski", … by name, d(x, z) as a function of points of any kind (symmetric), or
        "precomputed": X is the matrix of distances (points × points at fit, points × examples later).
    metric_params : dict, optional
        Of metrics by name: p (up to ∞) and w of "minkowski", V of "seuclidean", VI of "mahalanobis", w of
        "hamming".

    Attributes
    ----------
    kernel_ : the kernel with its parameters found; with `metric`, what stands in its place
    search_ : "blocks" or "tree"
    plan_ : what was chosen, and why
    n_samples_fit_ : number of examples

    Examples
    --------
    >>> from mercer import KernelNearestNeighbors
    >>> X = [[0.0], [1.0], [3.0], [3.5]]
    >>> near = KernelNearestNeighbors(metric="euclidean", n_neighbors=1, radius=2.0).fit(X)
    >>> near.kneighbors([[2.5]])
    (array([[0.5]]), array([[2]]))
    >>> near.radius_neighbors([[2.0]], return_distance=False)[0]
    array([0, 1, 2, 3])
    >>> near.radius_neighbors_graph(mode="distance").toarray()
    array([[0. , 1. , 0. , 0. ],
           [1. , 0. , 2. , 0. ],
           [0. , 2. , 0. , 0.5],
           [0. , 0. , 0.5, 0. ]])
    """

    kernel: Any = GAUSSIAN
    n_neighbors: int = 5
    radius: float = 0.75
    search: Any = "auto"
    engine: Any = "auto"
    metric: Any = None
    metric_params: Any = None

    def _usual_count(self):
        return self.n_neighbors

    def _usual_radius(self):
        return self.radius

    def _validate(self):
        super()._validate()
        require_count(self.n_neighbors, "n_neighbors")
        require_radius(self.radius)

    def fit(self, X, y=None):
        """Keep the examples; y is not used."""
        self._validate()
        given = X
        kernel, engine, X = self._door(X)
        self._hold(kernel, X, engine, given)
        return self


def require_neighbours(count: Any, most: int, n: int) -> None:
    """Raise ValueError unless there are so many neighbours of a point among n examples."""
    require_count(count, "n_neighbors")
    if int(count) > most:
        others = " besides itself" if n != most else ""
        raise ValueError(
            f"n_neighbors = {count}, but each point has at most {most} neighbours{others}: the machine has "
            f"n_samples = {n}. Take a smaller n_neighbors, or more examples"
        )


def require_radius(value: Any) -> float:
    """The number, or a ValueError unless it says how far to look; ∞ is as far as there are examples."""
    if not is_number(value) or not float(value) >= 0:
        raise ValueError(f"radius must be a number of at least 0, got {value!r}")
    return float(value)


def require_radii(values: Any, n: int) -> np.ndarray:
    """The same of a radius for each of n points."""
    radii = np.asarray(values)
    if radii.shape != (n,) or radii.dtype.kind not in "fiu" or not (radii >= 0).all():
        raise ValueError(
            f"radius must be a number of at least 0, or one for each of the {n:,} points; got an array of "
            f"shape {radii.shape}"
            + ("" if radii.shape != (n,) else ", not all of whose entries are numbers of at least 0")
        )
    return radii.astype(np.float64)


def _require_mode(mode: Any) -> None:
    if not isinstance(mode, str) or mode not in _MODES:
        raise ValueError(f"mode must be one of {', '.join(map(repr, _MODES))}, got {mode!r}")


def _graph(found: Neighbourhoods, examples: int) -> Any:
    from scipy.sparse import csr_matrix

    values = np.ones(len(found.index)) if found.distances is None else found.distances
    return csr_matrix((values, found.index, found.starts), shape=(len(found), examples))
