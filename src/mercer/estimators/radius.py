"""Neighbours within a radius: however many examples lie near a point, they say what it is."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length

from mercer._state import require
from mercer._warnings import frames_inside
from mercer.estimators.inputs import GAUSSIAN
from mercer.estimators.neighbour_answers import NeighbourMeans, NeighbourVotes, require_weights, weigh
from mercer.estimators.neighbourhoods import NeighbourMachine, require_radius
from mercer.estimators.tensors import follows_data
from mercer.estimators.within import Neighbourhoods

# The word for the class that most examples have.
_MOST_FREQUENT = "most_frequent"


class RadiusMachine(NeighbourMachine):
    """What both machines share: the search, and weights."""

    weights: Any
    radius: Any

    def fit(self, X, y):
        """Keep the examples."""
        self._validate()
        given, y = X, self.require_y(y)
        kernel, engine, X = self._door(X)
        check_consistent_length(X, y)
        self._targets = self._learn(y)
        self.weights_ = self.weights
        self._hold(kernel, X, engine, given)
        return self

    def _validate(self) -> None:
        super()._validate()
        require_weights(self.weights)
        require_radius(self.radius)

    def _usual_radius(self):
        return self.radius

    def _asked(self, X: Any) -> tuple[Neighbourhoods, np.ndarray]:
        """The neighbours of X, and their weights."""
        found = self._within(X)
        return found, weigh(self.weights_, found)

    def check_state(self) -> None:
        super().check_state()
        require_weights(self.weights_)


@dataclass(eq=False, repr=False)
class KernelRadiusNeighborsClassifier(NeighbourVotes, RadiusMachine):
    """Neighbours within a radius by a kernel: the share of each class among all examples that near.

    The distance is that of the kernel, d(x, z)² = k(x,x) + k(z,z) − 2 k(x,z), or one by `metric`.

    Parameters
    ----------
    kernel, search, engine, metric, metric_params : as in `KernelNearestNeighbors`
    radius : float
        Who is at most that far answers. A Gaussian's distances are at most √2, and ¾ where k(x,z) = 0.72, at
        ‖x−z‖ = 0.81 σ.
    weights : "uniform", "distance" or function of an array of distances
        As in `KernelNeighborsClassifier`; a function gets a row of distances for each of a few points that
        have equally many neighbours.
    outlier_label : None, label, "most_frequent", or a list of these, one for each column of y
        What is said of a point without neighbours. None: nothing, `predict` raises an error. A label that is
        none of the classes has no share in `predict_proba`, where all are 0 then.

    Attributes
    ----------
    classes_ : the labels, in order; a list of them if y has several columns of labels
    outlier_label_ : what is said of points without neighbours, or None; a list for several columns
    kernel_, search_, plan_, n_samples_fit_ : as in `KernelNearestNeighbors`

    Examples
    --------
    >>> from mercer import KernelRadiusNeighborsClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [10.0]], ["low", "low", "high", "high"]
    >>> machine = KernelRadiusNeighborsClassifier(metric="euclidean", radius=1.5, outlier_label="far")
    >>> print(machine.fit(X, y).predict([[0.5], [5.0], [11.0]]))
    ['low' 'far' 'high']
    >>> machine.predict_proba([[1.5]]).round(2)  # classes in order: high, low
    array([[0.33, 0.67]])
    """

    kernel: Any = GAUSSIAN
    radius: float = 0.75
    weights: Any = "uniform"
    search: Any = "auto"
    engine: Any = "auto"
    metric: Any = None
    metric_params: Any = None
    outlier_label: Any = None

    def fit(self, X, y):
        """Keep the examples."""
        super().fit(X, y)
        columns = self._columns()
        given = self.outlier_label
        if self._targets.ndim == 1:
            labels = [given]
        elif isinstance(given, (list, tuple, np.ndarray)):
            labels = list(given)
            if len(labels) != len(columns):
                raise ValueError(f"outlier_label has {len(labels)} labels for {len(columns)} columns of y")
        else:
            labels = [given] * len(columns)
        found = [_outlier(label, *column) for label, column in zip(labels, columns, strict=True)]
        self.outlier_label_ = found[0] if self._targets.ndim == 1 else found
        return self

    @follows_data
    def predict(self, X):
        """The label with the largest share, of equals the first; `outlier_label_` where nobody is near."""
        found, weights = self._asked(X)
        empty = self._empty(found)
        predicted = self._labels(self._answer(found, weights))
        if not len(empty):
            return predicted
        if predicted.ndim == 1:
            return _put(predicted, empty, self.outlier_label_)
        columns = [_put(p, empty, label) for p, label in zip(predicted.T, self.outlier_label_, strict=True)]
        return np.stack(columns, axis=1)

    @follows_data
    def predict_proba(self, X):
        """The share of each class among those within the radius, by weight; a list for several columns."""
        found, weights = self._asked(X)
        empty = self._empty(found)
        shares = self._answer(found, weights)
        if len(empty):
            several = self._targets.ndim > 1
            tables = shares if several else [shares]
            labels = self.outlier_label_ if several else [self.outlier_label_]
            for table, (classes, _), label in zip(tables, self._columns(), labels, strict=True):
                table[empty] = classes == label
                if not (classes == label).any():
                    self._warn(f"{label!r} is none of the classes: points without neighbours have no shares")
        return shares

    def _empty(self, found: Neighbourhoods) -> np.ndarray:
        """Points without neighbours; an error unless it is known what to say of them."""
        empty = np.flatnonzero(found.counts == 0)
        labels = self.outlier_label_ if self._targets.ndim > 1 else [self.outlier_label_]
        if len(empty) and any(label is None for label in labels):
            raise ValueError(
                f"{len(empty)} of {len(found)} points have no neighbours within radius={self.radius:g} (the "
                f"first is row {empty[0]}): take a larger radius, or say what they are by outlier_label"
            )
        return empty

    def _warn(self, what: str) -> None:
        warnings.warn(f"{type(self).__name__}: {what}", UserWarning, stacklevel=frames_inside())

    def check_state(self):
        super().check_state()
        several = self._targets.ndim > 1
        fine = not several or (
            isinstance(self.outlier_label_, list) and len(self.outlier_label_) == len(self.classes_)
        )
        require(fine, "there are not as many labels for outliers as columns of labels")


@dataclass(eq=False, repr=False)
class KernelRadiusNeighborsRegressor(NeighbourMeans, RadiusMachine):
    """Neighbours within a radius by a kernel: the mean of the targets of all examples that near.

    Of a point without neighbours the prediction is NaN, with a warning.

    Parameters
    ----------
    kernel, radius, weights, search, engine, metric, metric_params
        As in `KernelRadiusNeighborsClassifier`.

    Attributes
    ----------
    kernel_, search_, plan_, n_samples_fit_ : as in `KernelNearestNeighbors`

    Examples
    --------
    >>> from mercer import KernelRadiusNeighborsRegressor
    >>> machine = KernelRadiusNeighborsRegressor(metric="manhattan", radius=1.5)
    >>> machine.fit([[0.0], [1.0], [2.0], [10.0]], [1.0, 2.0, 6.0, 20.0]).predict([[1.0], [9.0]])
    array([ 3., 20.])
    """

    kernel: Any = GAUSSIAN
    radius: float = 0.75
    weights: Any = "uniform"
    search: Any = "auto"
    engine: Any = "auto"
    metric: Any = None
    metric_params: Any = None

    @follows_data
    def predict(self, X):
        """The (weighted) mean of the targets within the radius, shaped as y was at fit."""
        found, weights = self._asked(X)
        means = self._answer(found, weights)
        empty = np.flatnonzero(found.counts == 0)
        if len(empty):
            means[empty] = np.nan
            warnings.warn(
                f"KernelRadiusNeighborsRegressor: {len(empty)} of {len(found)} points have no neighbours "
                f"within radius={self.radius:g} (the first is row {empty[0]}): NaN is predicted",
                UserWarning,
                stacklevel=frames_inside(),
            )
        return self._shaped(means)


def _outlier(label: Any, classes: np.ndarray, codes: np.ndarray) -> Any:
    """A label for points without neighbours, of the kind of the classes."""
    if label is None:
        return None
    if isinstance(label, str) and label == _MOST_FREQUENT:
        label = classes[np.bincount(codes).argmax()]
        return label.item() if isinstance(label, np.generic) else label
    fits = np.ndim(label) == 0 and (isinstance(label, str) == (classes.dtype.kind in "OUS"))
    if not fits:
        raise ValueError(
            f"outlier_label={label!r} is not of the kind of the labels of y, such as {classes[0]!r}"
        )
    return label.item() if isinstance(label, np.generic) else label


def _put(predicted: np.ndarray, rows: np.ndarray, label: Any) -> np.ndarray:
    """Labels of which some are replaced by one that may be longer than the others."""
    known = np.asarray(label)
    dtype = predicted.dtype if predicted.dtype == object else np.result_type(predicted, known)
    out = predicted.astype(dtype)
    out[rows] = known
    return out
