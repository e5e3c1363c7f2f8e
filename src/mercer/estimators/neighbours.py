"""Nearest neighbours in the space of a kernel: the R examples nearest to a point say what it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from mercer._params import require_count
from mercer._state import ONE_OR_MORE, require
from mercer._units import units_of
from mercer.estimators.inputs import GAUSSIAN
from mercer.estimators.neighbour_answers import (
    NeighbourMeans,
    NeighbourVotes,
    means_of,
    require_weights,
    shares_of,
    table_of_weights,
    weigh,
)
from mercer.estimators.neighbourhoods import NeighbourMachine, require_neighbours
from mercer.estimators.tensors import follows_data
from mercer.estimators.within import Neighbourhoods

# Leave-one-out answers are made for so many numbers at a time.
_NUMBERS_AT_ONCE = 1 << 21
# Copies of one example that choosing R looks past.
_MOST_COPIES = 100


@dataclass(eq=False, repr=False)
class KernelNeighbours(NeighbourMachine):
    """What both machines share: the search, weights, and R by leaving one out."""

    kernel: Any = GAUSSIAN
    n_neighbors: Any = "auto"
    weights: Any = "uniform"
    max_neighbors: Any = None
    search: Any = "auto"
    engine: Any = "auto"
    metric: Any = None
    metric_params: Any = None

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
            require_neighbours(self.n_neighbors, n, n)
        self._hold(kernel, X, engine, given)
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
        require_weights(self.weights)
        super()._validate()

    def _usual_count(self):
        return self.n_neighbors_

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
                    w = table_of_weights(self.weights_, distances[rows, :r])
                    total[r - 1] += self._errors(own, theirs[:, :r], w)[-1]
            else:
                w = np.ones(theirs.shape[:2])
                if distances is not None:
                    w = table_of_weights(self.weights_, distances[rows])
                total += self._errors(own, theirs, w)
        return total / n

    def _asked(self, X: Any) -> tuple[Neighbourhoods, np.ndarray]:
        """The neighbours of X, and their weights."""
        check_is_fitted(self, "n_neighbors_")
        points, index, gaps = self._neighbours(X, None)
        if self.weights_ == "uniform":
            return Neighbourhoods.of_table(index), np.ones(index.size)
        found = Neighbourhoods.of_table(index, self._searcher().distances(points, index, gaps))
        return found, weigh(self.weights_, found)

    holds = {"n_neighbors_": ONE_OR_MORE}
    fitted_by = "n_neighbors_"

    def check_state(self) -> None:
        super().check_state()
        require_weights(self.weights_)
        require(self.n_neighbors_ <= self.n_samples_fit_, "there are fewer examples than neighbours")


class KernelNeighborsClassifier(NeighbourVotes, KernelNeighbours):
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
    metric, metric_params : a distance in the kernel's place, as in `KernelNearestNeighbors`

    Attributes
    ----------
    classes_ : the labels, in order; a list of them if y has several columns of labels
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

    @follows_data
    def predict(self, X):
        """The label with the largest share; of equals the first in `classes_`."""
        return self._labels(self._answer(*self._asked(X)))

    @follows_data
    def predict_proba(self, X):
        """The share of each class among the neighbours, by weight; a list of them for several columns."""
        return self._answer(*self._asked(X))

    def _errors(self, own, theirs, weights):
        """Sums of errors over rows for R = 1, 2, …, or for all neighbours if weights come from a function."""
        if self._targets.ndim == 1:
            return self._errors_of(own, theirs, weights, self._targets)
        columns = range(own.shape[1])
        parts = [self._errors_of(own[:, j], theirs[:, :, j], weights, self._targets[:, j]) for j in columns]
        return np.mean(parts, axis=0)

    def _errors_of(
        self, own: np.ndarray, theirs: np.ndarray, weights: np.ndarray, codes: np.ndarray
    ) -> np.ndarray:
        """Those of one column of labels."""
        base = np.bincount(codes)
        if callable(self.weights_):
            table = Neighbourhoods.of_table(theirs)
            shares = shares_of(table.index, table.owners, weights.ravel(), len(own), base)
            return np.array([(shares.argmax(axis=1) != own).sum()])
        # Votes only grow: the leader after one more is the leader before, or the class that got it.
        rows = np.arange(len(own))
        votes = np.zeros((len(own), len(base)))
        leader = theirs[:, 0].copy()
        wrong = np.zeros(theirs.shape[1])
        for r in range(theirs.shape[1]):
            label = theirs[:, r]
            votes[rows, label] += weights[:, r]
            mine, best = votes[rows, label], votes[rows, leader]
            leader = np.where((mine > best) | ((mine == best) & (label < leader)), label, leader)
            wrong[r] = np.count_nonzero(leader != own)
        return wrong


class KernelNeighborsRegressor(NeighbourMeans, KernelNeighbours):
    """R nearest neighbours by a kernel: the mean of the targets of the R nearest examples.

    The distance is that in the space of the kernel, d(x, z)² = k(x,x) + k(z,z) − 2 k(x,z).

    Parameters
    ----------
    kernel, n_neighbors, weights, max_neighbors, search, engine, metric, metric_params
        As in `KernelNeighborsClassifier`.

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

    @follows_data
    def predict(self, X):
        """The (weighted) mean of the targets of the neighbours, shaped as y was at fit."""
        return self._shaped(self._answer(*self._asked(X)))

    def _errors(self, own, theirs, weights):
        if callable(self.weights_):
            n, count, outputs = theirs.shape
            owners, base = np.repeat(np.arange(n), count), self._targets.mean(axis=0)
            means = means_of(theirs.reshape(-1, outputs), owners, weights.ravel(), n, base)[:, None, :]
        else:
            means = np.cumsum(weights[:, :, None] * theirs, axis=1) / np.cumsum(weights, axis=1)[:, :, None]
        return np.square(own[:, None, :] - means).mean(axis=2).sum(axis=0)
