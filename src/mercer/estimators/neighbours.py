"""Nearest neighbours in the space of a kernel: the R examples nearest to a point say what it is."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_array

from mercer._state import ArraySpec, positions, require
from mercer.estimators.inputs import checked_labels
from mercer.estimators.neighbourhood import KernelNeighbours
from mercer.estimators.tensors import follows_data


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
    max_neighbors : int, optional
        The largest R that "auto" tries. None: 15, or 2√n if that is more.
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

    The distance is that of φ(x) and φ(z) in the space of the kernel,

        d(x, z)² = k(x,x) + k(z,z) − 2 k(x,z) .

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
