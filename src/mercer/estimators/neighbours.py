"""Nearest neighbours in the space of a kernel: the R examples nearest to a point say what it is."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from mercer import _resolve
from mercer._params import require_count
from mercer._state import ONE_OR_MORE, ArraySpec, positions, require
from mercer._units import units_of
from mercer._xp import frozen
from mercer.estimators.inputs import GAUSSIAN, KernelInputs, checked_labels
from mercer.estimators.nearest import WAYS, NeighbourSearch
from mercer.estimators.plan import Plan
from mercer.estimators.tensors import engine_for, follows_data, remember

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

    @abstractmethod
    def _learn(self, y: Any) -> np.ndarray:
        """Targets as they are looked up: one row an example."""

    @abstractmethod
    def _answer(self, theirs: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """What neighbours with these targets and weights say."""

    @abstractmethod
    def _errors(self, own: np.ndarray, theirs: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Sums of errors over rows for R = 1, 2, …, or for all neighbours if weights come from a function."""

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
        distances = None if self.weights_ == "uniform" else self._found.distances(None, index, gaps)
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

    def kneighbors(self, X=None, n_neighbors=None, return_distance=True):
        """The nearest examples of each point, the nearest first; of equally near ones the first in the data.

        X : points, optional; without, the neighbours of every example among the others
        n_neighbors : int, optional; as many as the machine asks, if not given

        Returns distances √(k(x,x) + k(z,z) − 2k(x,z)) and positions (n, n_neighbors), or only these.
        """
        check_is_fitted(self, "n_neighbors_")
        n = self.n_samples_fit_
        n_neighbors = self.n_neighbors_ if n_neighbors is None else n_neighbors
        _require_neighbours(n_neighbors, n - (X is None), n)
        points, index, gaps = self._neighbours(X, int(n_neighbors))
        if not return_distance:
            return index
        return self._searcher().distances(points, index, gaps), index

    def _neighbours(self, X: Any, count: int) -> tuple[Any, np.ndarray, Any]:
        """X as the kernel takes it, and what the search found."""
        engine = _resolve.engine_of(engine_for(self.engine, X))
        if X is not None:
            given, X = X, self.kernel_.points(self.check_new(X))
            if engine.remote:
                X = frozen(X)
                remember(engine, X, given)
        return (X, *self._searcher().nearest(X, count, engine))

    def _asked(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Targets of the neighbours of X, (n, R, …), and their weights, (n, R)."""
        check_is_fitted(self, "n_neighbors_")
        points, index, gaps = self._neighbours(X, self.n_neighbors_)
        if self.weights_ == "uniform":
            return self._targets[index], np.ones(index.shape)
        return self._targets[index], self._weigh(self._searcher().distances(points, index, gaps))

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


class KernelNeighborsClassifier(ClassifierMixin, KernelNeighbours):
    """R nearest neighbours by a kernel: the share of each class among the R nearest examples.

    The distance is that of φ(x) and φ(z) in the space of the kernel,

        d(x, z)² = k(x,x) + k(z,z) − 2 k(x,z) ,

    so points may be whatever the kernel takes: vectors, text, any objects, rows of a precomputed matrix. With
    the Gaussian kernel neighbours are those in the Euclidean distance.

    Parameters
    ----------
    kernel : Kernel, str or function of two points
    n_neighbors : int or "auto"
        R. "auto": the R with the smallest leave-one-out error (equal examples are left out together); one
        search serves all of them.
    weights : "uniform", "distance" or function of an array of distances
        How much each neighbour counts: the same; 1/d (and where some d = 0 only those, equally); or what the
        function returns, an array of the same shape, not negative. Where no neighbour has any weight, all
        examples answer: with the shares of the classes among them, or the mean of their targets.
    max_neighbors : int, optional; the largest R that "auto" tries. None: 15, or 2√n if that is more
    search : "auto", "blocks" or "tree"
        Blocks of rows of the kernel matrix, for every kernel; or a tree, for vectors in few dimensions and
        kernels that fall as ‖x−z‖ (or ‖x−z‖₁) grows. Both are exact.
    engine : "auto" or an Engine, what computes blocks

    Attributes
    ----------
    classes_ : the labels, in order
    n_neighbors_ : R
    loo_errors_ : with "auto", the share of examples that the R nearest others get wrong, for R = 1, 2, …
    kernel_ : the kernel with its parameters found
    search_ : "blocks" or "tree"
    plan_ : what was chosen, and why
    n_samples_fit_ : number of examples

    Notes
    -----
    For the error to approach the smallest one possible as examples are added, R must grow, but slower than
    their number: R → ∞ and R/n → 0, which "auto" with its limit of 2√n allows.

    Neighbours are exact: float32 points are searched in float32 and settled in float64. Equally near
    examples come in the order of the data. Kernel values take a few megabytes a core, never an n × m matrix.

    Examples
    --------
    >>> from mercer import KernelNeighborsClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], ["low", "low", "low", "high", "high", "high"]
    >>> machine = KernelNeighborsClassifier(n_neighbors=3).fit(X, y)
    >>> print(machine.predict([[0.5], [11.2]]))
    ['low' 'high']
    >>> machine.predict_proba([[5.8]]).round(2)  # classes in order: high, low
    array([[0.33, 0.67]])

    Any objects, with a function of two of them:

    >>> def shared_letters(a, b):
    ...     return len(set(a) & set(b))
    >>> words = ["tree", "street", "enter", "moon", "noon", "mono"]
    >>> machine = KernelNeighborsClassifier(shared_letters, n_neighbors=1).fit(words, list("eeeooo"))
    >>> print(machine.predict(["rest", "moan"]))
    ['e' 'o']
    """

    def _learn(self, y):
        self.classes_, codes = np.unique(checked_labels(y), return_inverse=True)
        return codes

    @follows_data
    def predict(self, X):
        """The label with the largest share; of equals the first in `classes_`."""
        shares = self._answer(*self._asked(X))
        return self.classes_[shares.argmax(axis=1)]

    @follows_data
    def predict_proba(self, X):
        """The share of each class among the neighbours, by weight."""
        return self._answer(*self._asked(X))

    holds = {"classes_": ArraySpec("", "k"), "_targets": ArraySpec("i", "n")}

    def check_state(self):
        super().check_state()
        known = positions(self._targets, len(self.classes_))
        require(known, "the examples have labels that are none of the classes")

    def _answer(self, theirs, weights):
        k = len(self.classes_)
        place = theirs + k * np.arange(len(theirs))[:, None]
        counts = np.bincount(place.ravel(), weights.ravel(), minlength=k * len(theirs)).reshape(-1, k)
        silent = ~counts.any(axis=1)
        if silent.any():
            counts[silent] = np.bincount(self._targets, minlength=k)
        return counts / counts.sum(axis=1, keepdims=True)

    def _errors(self, own, theirs, weights):
        if callable(self.weights_):
            wrong = self._answer(theirs, weights).argmax(axis=1) != own
            return np.array([wrong.sum()])
        # Votes only grow: the leader after one more is the leader before, or the class that got it.
        rows = np.arange(len(own))
        votes = np.zeros((len(own), len(self.classes_)))
        leader = theirs[:, 0].copy()
        wrong = np.zeros(theirs.shape[1])
        for r in range(theirs.shape[1]):
            label = theirs[:, r]
            votes[rows, label] += weights[:, r]
            mine, best = votes[rows, label], votes[rows, leader]
            leader = np.where((mine > best) | ((mine == best) & (label < leader)), label, leader)
            wrong[r] = np.count_nonzero(leader != own)
        return wrong


class KernelNeighborsRegressor(MultiOutputMixin, RegressorMixin, KernelNeighbours):
    """R nearest neighbours by a kernel: the mean of the targets of the R nearest examples.

    The distance is that in the space of the kernel, d(x, z)² = k(x,x) + k(z,z) − 2 k(x,z).

    Parameters
    ----------
    kernel, n_neighbors, weights, max_neighbors, search, engine : as in `KernelNeighborsClassifier`

    Attributes
    ----------
    n_neighbors_ : R
    loo_errors_ : with "auto", the mean squared error (over outputs, too) of predictions by the R nearest
        others, for R = 1, 2, …
    kernel_, search_, plan_, n_samples_fit_ : as in `KernelNeighborsClassifier`

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelNeighborsRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 6, (400, 1))
    >>> y = np.sin(X[:, 0]) + 0.2 * rng.standard_normal(400)
    >>> machine = KernelNeighborsRegressor().fit(X, y)
    >>> bool(5 < machine.n_neighbors_ < 40)
    True
    >>> bool(abs(machine.predict([[1.5]])[0] - np.sin(1.5)) < 0.1)
    True
    """

    def _learn(self, y):
        y = check_array(y, ensure_2d=False, allow_nd=False, dtype="numeric", input_name="y")
        self._one_dimensional = y.ndim == 1
        return y.reshape(len(y), -1).astype(np.float64)

    @follows_data
    def predict(self, X):
        """The (weighted) mean of the targets of the neighbours, shaped as y was at fit."""
        found = self._answer(*self._asked(X))
        return found[:, 0] if self._one_dimensional else found

    def _answer(self, theirs, weights):
        total = weights.sum(axis=1)
        silent = total == 0
        found = np.einsum("ij,ijk->ik", weights, theirs) / np.where(silent, 1, total)[:, None]
        if silent.any():
            found[silent] = self._targets.mean(axis=0)
        return found

    def _errors(self, own, theirs, weights):
        if callable(self.weights_):
            means = self._answer(theirs, weights)[:, None, :]
        else:
            means = np.cumsum(weights[:, :, None] * theirs, axis=1) / np.cumsum(weights, axis=1)[:, :, None]
        return np.square(own[:, None, :] - means).mean(axis=2).sum(axis=0)


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
