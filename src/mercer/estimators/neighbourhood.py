"""Who is asked: the R nearest examples by a kernel, their weights, and R by leaving one out."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from mercer import _resolve
from mercer._params import require_count
from mercer._state import ONE_OR_MORE, require
from mercer._units import units_of
from mercer._xp import frozen
from mercer.estimators.inputs import GAUSSIAN, KernelInputs
from mercer.estimators.nearest import WAYS, NeighbourSearch
from mercer.estimators.plan import Plan
from mercer.estimators.tensors import engine_for, remember

# Leave-one-out answers are made for so many numbers at a time.
_NUMBERS_AT_ONCE = 1 << 21
# Copies of one example that choosing R looks past.
_MOST_COPIES = 100


@dataclass(eq=False, repr=False)
class KernelNeighbours(KernelInputs, ABC):
    """What both machines share: the search, weights, and R by leaving one out."""

    kernel: Any = GAUSSIAN
    n_neighbors: Any = "auto"
    weights: Any = "uniform"
    max_neighbors: Any = None
    search: Any = "auto"
    engine: Any = "auto"

    # -- what the machines say --------------------------------------------------------------------

    @abstractmethod
    def _learn(self, y: Any) -> np.ndarray:
        """Targets as they are looked up: one row an example."""

    @abstractmethod
    def _errors(self, own: np.ndarray, theirs: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Sums of errors over rows for R = 1, 2, …, or for all neighbours if weights come from a function.

        Targets are `own`, (n, …), and those of the neighbours, (n, R, …).
        """

    # -- fit --------------------------------------------------------------------------------------

    def fit(self, X, y):
        """Keep the examples; with n_neighbors="auto", choose R."""
        self._validate()
        given, y = X, self.require_y(y)
        kernel, engine, X = self._door(X)
        check_consistent_length(X, y)
        n = X.shape[0]
        self._targets = self._learn(y)
        self.weights_ = self.weights
        automatic = isinstance(self.n_neighbors, str)
        if not automatic:
            _require_neighbours(self.n_neighbors, n, n)
        self._points, _ = self._bind(kernel, X, engine, given, keep=True)
        self.n_samples_fit_ = n
        self._found = NeighbourSearch(self.kernel_, self._points, self.search)
        self.search_ = self._found.way
        why = f"search by {self.search_}: {self._found.why}"
        self.plan_ = Plan(None, None, engine, n, reasons=(why,))
        self.__dict__.pop("loo_errors_", None)
        if automatic:
            self.loo_errors_ = self._leave_one_out(engine)
            # Of equals the first: fewer neighbours are quicker to ask.
            self.n_neighbors_ = 1 + int(np.argmin(self.loo_errors_)) if n > 1 else 1
        else:
            self.n_neighbors_ = int(self.n_neighbors)
        return self

    def _validate(self) -> None:
        count, most = self.n_neighbors, self.max_neighbors
        if not (isinstance(count, str) and count == "auto"):
            require_count(count, "n_neighbors", 1, " or 'auto', which chooses it by leave-one-out")
        if most is not None:
            require_count(most, "max_neighbors", 1, " or None")
        _require_weights(self.weights)
        if not isinstance(self.search, str) or self.search not in WAYS:
            raise ValueError(f"search must be one of {', '.join(map(repr, WAYS))}, got {self.search!r}")

    def _leave_one_out(self, engine: Any) -> np.ndarray:
        """The mean error for R = 1, 2, … from one search: every example answered for by different ones."""
        n = self.n_samples_fit_
        most = max(15, math.ceil(2 * math.sqrt(n))) if self.max_neighbors is None else int(self.max_neighbors)
        units = units_of(self._points)
        copies = int(np.bincount(units).max()) - 1
        # Equal examples would answer for each other. Where there are too many to look past they are
        # examples like any other: to remember them is what new examples will ask for, too.
        copies = 0 if copies > min(_MOST_COPIES, n - 2) else copies
        most = min(most, n - 1 - copies)
        if most < 1:
            return np.zeros(0)
        index, gaps = self._found.nearest(None, most + copies, engine)
        if copies:
            others = np.argsort(units[index] == units[:, None], axis=1, kind="stable")[:, :most]
            index = np.take_along_axis(index, others, axis=1)
            gaps = None if gaps is None else np.take_along_axis(gaps, others, axis=1)
        distances = None if self._uniform() else self._found.distances(None, index, gaps)
        total = np.zeros(most)
        step = max(1, _NUMBERS_AT_ONCE // max(most * math.prod(self._targets.shape[1:]), 1))
        for a in range(0, n, step):
            rows = slice(a, min(a + step, n))
            own, theirs = self._targets[rows], self._targets[index[rows]]
            if callable(self.weights_):
                # What a function makes of R distances need not begin with what it makes of fewer.
                assert distances is not None
                for r in range(1, most + 1):
                    w = self._weigh(distances[rows, :r])
                    total[r - 1] += self._errors(own, theirs[:, :r], w)[-1]
            else:
                w = np.ones(theirs.shape[:2]) if distances is None else self._weigh(distances[rows])
                total += self._errors(own, theirs, w)
        return total / n

    # -- neighbours -------------------------------------------------------------------------------

    def kneighbors(self, X=None, n_neighbors=None, return_distance=True):
        """The nearest examples of each point, the nearest first; of equally near ones the first in the data.

        Parameters
        ----------
        X : points, optional; without, the neighbours of every example among the others
        n_neighbors : int, optional; as many as the machine asks, if not given
        return_distance : bool

        Returns
        -------
        distances : (n, n_neighbors) √(k(x,x) + k(z,z) − 2k(x,z)), only if asked for
        index : (n, n_neighbors)
        """
        check_is_fitted(self, "n_neighbors_")
        if n_neighbors is None:
            n_neighbors = self.n_neighbors_
        n = self.n_samples_fit_
        _require_neighbours(n_neighbors, n - (X is None), n)
        points, index, gaps = self._neighbours(X, int(n_neighbors))
        if not return_distance:
            return index
        return self._searcher().distances(points, index, gaps), index

    def _neighbours(self, X: Any, count: int) -> tuple[Any, np.ndarray, Any]:
        """X as the kernel takes it, and what the search found."""
        engine = _resolve.engine_of(engine_for(self.engine, X))
        if X is None:
            return (None, *self._searcher().nearest(None, count, engine))
        given, X = X, self.check_new(X)
        X = self.kernel_.points(X)
        if engine.remote:
            X = frozen(X)
            remember(engine, X, given)
        return (X, *self._searcher().nearest(X, count, engine))

    def _asked(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Targets of the neighbours of X, (n, R, …), and their weights, (n, R)."""
        check_is_fitted(self, "n_neighbors_")
        points, index, gaps = self._neighbours(X, self.n_neighbors_)
        if self._uniform():
            return self._targets[index], np.ones(index.shape)
        return self._targets[index], self._weigh(self._searcher().distances(points, index, gaps))

    def _uniform(self) -> bool:
        return isinstance(self.weights_, str) and self.weights_ == "uniform"

    def _weigh(self, distances: np.ndarray) -> np.ndarray:
        """Weights of neighbours; of a point that equals examples, only these count."""
        if not callable(self.weights_):
            zero = distances == 0
            # As shares of the nearest one's, 1/d can't overflow.
            weights = distances.min(axis=1, keepdims=True, initial=np.inf) / np.where(zero, 1, distances)
            return np.where(zero.any(axis=1, keepdims=True), zero, weights)
        weights = np.asarray(self.weights_(distances), dtype=np.float64)
        if weights.shape != distances.shape:
            raise ValueError(
                f"weights: the function got distances of shape {distances.shape} and returned weights of "
                f"shape {weights.shape}; it must return one number for each"
            )
        if not np.isfinite(weights).all():
            raise ValueError(
                "weights: the function returned NaN or infinity; does it divide by a distance 0?"
            )
        if (weights < 0).any():
            raise ValueError(
                "weights: the function returned negative numbers: 0 is the least a neighbour counts"
            )
        # So that a sum of large ones is a number.
        return weights / np.maximum(weights.max(axis=1, keepdims=True, initial=0.0), 1)

    def _searcher(self) -> NeighbourSearch:
        if "_found" not in self.__dict__:  # after a trip through a file
            self._found = NeighbourSearch(self.kernel_, self._points, self.search_)
        return self._found

    # -- files ------------------------------------------------------------------------------------

    def __getstate__(self):
        # The search follows from the examples, and may be a tree that files don't take.
        state = dict(super().__getstate__())
        state.pop("_found", None)
        return state

    holds = {"n_samples_fit_": ONE_OR_MORE, "n_neighbors_": ONE_OR_MORE, "_targets": np.ndarray}
    fitted_by = "n_neighbors_"

    def check_state(self) -> None:
        super().check_state()
        _require_weights(self.weights_)
        require(self.search_ in WAYS[1:], f"search_ is {self.search_!r}")
        n, points = self.n_samples_fit_, self.kernel_.points(self._points)
        together = self.n_neighbors_ <= n and points.shape[0] == n == len(self._targets)
        require(together, "examples, targets and the number of neighbours do not belong together")
        same = not self.kernel_.vectors or points.shape[1] == self.n_features_in_
        require(same, "the examples have other features")

    def try_state(self) -> None:
        """Ask one example: a search among all may have to build a tree."""
        one = self.kernel_.points(self._points)[:1]
        self._answer(self._targets[:1, None], np.ones((1, 1)))
        NeighbourSearch(self.kernel_, one, self.search_).nearest(one, 1, _resolve.engine_of("auto"))

    @abstractmethod
    def _answer(self, theirs: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """What neighbours with these targets and weights say."""


def _require_weights(weights: Any) -> None:
    named = isinstance(weights, str) and weights in ("uniform", "distance")
    if not named and not callable(weights):
        raise ValueError(
            f"weights must be 'uniform', 'distance' or a function of an array of distances, got {weights!r}"
        )


def _require_neighbours(count: Any, most: int, n: int) -> None:
    """Raise ValueError unless there are so many neighbours of a point among n examples."""
    require_count(count, "n_neighbors")
    if int(count) > most:
        others = " besides itself" if n != most else ""
        raise ValueError(
            f"n_neighbors = {count}, but each point has at most {most} neighbours{others}: the machine has "
            f"n_samples = {n}. Take a smaller n_neighbors, or more examples"
        )
