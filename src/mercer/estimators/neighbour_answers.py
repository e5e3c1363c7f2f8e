"""What neighbours say: shares of classes, or means of targets, each counting as much as its weight."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_array

from mercer._state import ArraySpec, positions, require
from mercer.estimators.inputs import checked_labels
from mercer.estimators.tensors import on_host
from mercer.estimators.within import Neighbourhoods


class NeighbourVotes(MultiOutputMixin, ClassifierMixin):
    """Labels, in one column or several, and the shares of the classes among neighbours."""

    classes_: Any
    _targets: np.ndarray

    def score(self, X, y, sample_weight=None):
        """The share of points whose labels are predicted; of tensors that of the same arrays."""
        return super().score(on_host(X), on_host(y), on_host(sample_weight))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _learn(self, y: Any) -> np.ndarray:
        """Labels as they are looked up: positions in `classes_`, a row an example."""
        table = y.toarray() if hasattr(y, "toarray") else np.asarray(y)
        if table.ndim < 2 or table.shape[1:] == (1,):
            self.classes_, codes = np.unique(checked_labels(y), return_inverse=True)
            return codes
        if table.ndim != 2 or not table.shape[1]:
            raise ValueError(f"y must be labels, or a table with columns of labels; got shape {table.shape}")
        parts = [np.unique(checked_labels(column), return_inverse=True) for column in table.T]
        self.classes_ = [classes for classes, _ in parts]
        return np.stack([codes for _, codes in parts], axis=1)

    def _columns(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Classes and codes of each column of labels."""
        if self._targets.ndim == 1:
            return [(self.classes_, self._targets)]
        return list(zip(self.classes_, self._targets.T, strict=True))

    def _answer(self, found: Neighbourhoods, weights: np.ndarray) -> Any:
        """The share of each class, (n, k); a list of them for several columns."""
        shares = [
            shares_of(codes[found.index], found.owners, weights, len(found), np.bincount(codes))
            for _, codes in self._columns()
        ]
        return shares[0] if self._targets.ndim == 1 else shares

    def _labels(self, shares: Any) -> np.ndarray:
        """The classes with the largest shares; of equals the first."""
        if self._targets.ndim == 1:
            return self.classes_[shares.argmax(axis=1)]
        return np.stack([c[s.argmax(axis=1)] for c, s in zip(self.classes_, shares, strict=True)], axis=1)

    holds = {
        "classes_": (ArraySpec("", None), list),
        "_targets": (ArraySpec("i", None), ArraySpec("i", None, None)),
    }

    def check_state(self) -> None:
        super().check_state()  # type: ignore[misc]
        several = isinstance(self.classes_, list)
        columns = self._targets.shape[1] if self._targets.ndim == 2 else None
        fine = len(self.classes_) == columns if several else columns is None
        require(fine, "classes and labels do not belong together")
        for classes, codes in self._columns():
            known = isinstance(classes, np.ndarray) and classes.ndim == 1 and positions(codes, len(classes))
            # All classes are there, because they are those of the examples.
            known = known and len(np.unique(codes)) == len(classes)
            require(known, "the examples have labels that are none of the classes")
        require_together(self, self._targets)

    def try_state(self) -> None:
        """One example answers for itself."""
        super().try_state()  # type: ignore[misc]
        self._labels(self._answer(Neighbourhoods.of_table(np.zeros((1, 1), np.intp)), np.ones(1)))


class NeighbourMeans(MultiOutputMixin, RegressorMixin):
    """Targets, in one column or several, and their means among neighbours."""

    _targets: np.ndarray
    _one_dimensional: bool

    def _learn(self, y: Any) -> np.ndarray:
        """Targets as they are looked up, (n, columns)."""
        y = check_array(y, ensure_2d=False, allow_nd=False, dtype="numeric", input_name="y")
        self._one_dimensional = y.ndim == 1
        return y.reshape(len(y), -1).astype(np.float64)

    def _answer(self, found: Neighbourhoods, weights: np.ndarray) -> np.ndarray:
        """Means, (n, columns)."""
        base = self._targets.mean(axis=0)
        return means_of(self._targets[found.index], found.owners, weights, len(found), base)

    def _shaped(self, means: np.ndarray) -> np.ndarray:
        """In the shape y had."""
        return means[:, 0] if self._one_dimensional else means

    holds = {"_targets": ArraySpec("f", None, None)}

    def check_state(self) -> None:
        super().check_state()  # type: ignore[misc]
        require_together(self, self._targets)

    def try_state(self) -> None:
        """One example answers for itself."""
        super().try_state()  # type: ignore[misc]
        self._shaped(self._answer(Neighbourhoods.of_table(np.zeros((1, 1), np.intp)), np.ones(1)))


def require_together(machine: Any, targets: np.ndarray) -> None:
    """Refuse targets of other examples."""
    require(len(targets) == machine.n_samples_fit_, "examples and targets do not belong together")


# -- arithmetic -----------------------------------------------------------------------------------


def shares_of(
    labels: np.ndarray, owners: np.ndarray, weights: np.ndarray, n: int, base: np.ndarray
) -> np.ndarray:
    """The share of each of len(base) classes among the neighbours of n points.

    Where no neighbour has any weight, the numbers `base` speak.

    >>> owners, weights = np.array([0, 0, 0]), np.array([1.0, 1.0, 2.0])
    >>> shares_of(np.array([0, 1, 1]), owners, weights, 2, np.array([9, 1]))
    array([[0.25, 0.75],
           [0.9 , 0.1 ]])
    """
    k = len(base)
    counts = np.bincount(labels + k * owners, weights, minlength=k * n).reshape(-1, k)
    counts[~counts.any(axis=1)] = base
    return counts / counts.sum(axis=1, keepdims=True)


def means_of(
    targets: np.ndarray, owners: np.ndarray, weights: np.ndarray, n: int, base: np.ndarray
) -> np.ndarray:
    """The weighted mean of the targets of the neighbours of n points; `base` where none has any weight.

    >>> targets, owners = np.array([[1.0], [4.0]]), np.array([0, 0])
    >>> means_of(targets, owners, np.array([2.0, 1.0]), 2, np.array([7.0]))
    array([[2.],
           [7.]])
    """
    total = np.bincount(owners, weights, minlength=n)
    sums = [np.bincount(owners, weights * column, minlength=n) for column in targets.T]
    silent = total == 0
    means = np.stack(sums, axis=1) / np.where(silent, 1, total)[:, None]
    means[silent] = base
    return means


def require_weights(weights: Any) -> None:
    """Refuse what gives neighbours no weights."""
    named = isinstance(weights, str) and weights in ("uniform", "distance")
    if not named and not callable(weights):
        raise ValueError(
            f"weights must be 'uniform', 'distance' or a function of an array of distances, got {weights!r}"
        )


def weigh(weights: Any, found: Neighbourhoods) -> np.ndarray:
    """What each neighbour counts; points with equally many neighbours are asked for together."""
    out = np.ones(len(found.index))
    if isinstance(weights, str) and weights == "uniform":
        return out
    assert found.distances is not None
    counts = found.counts
    for count in np.unique(counts[counts > 0]):
        places = found.starts[np.flatnonzero(counts == count)][:, None] + np.arange(count)
        out[places] = table_of_weights(weights, found.distances[places])
    return out


def table_of_weights(rule: Any, distances: np.ndarray) -> np.ndarray:
    """Weights of neighbours, a row a point; of a point that equals examples, only these count."""
    if not callable(rule):
        zero = distances == 0
        # As shares of the nearest one's, 1/d can't overflow.
        weights = distances.min(axis=1, keepdims=True, initial=np.inf) / np.where(zero, 1, distances)
        return np.where(zero.any(axis=1, keepdims=True), zero, weights)
    weights = np.asarray(rule(distances), dtype=np.float64)
    if weights.shape != distances.shape:
        raise ValueError(
            f"weights: the function got distances of shape {distances.shape} and returned weights of "
            f"shape {weights.shape}; it must return one number for each"
        )
    if not np.isfinite(weights).all():
        raise ValueError("weights: the function returned NaN or infinity; does it divide by a distance 0?")
    if (weights < 0).any():
        raise ValueError("weights: the function returned negative numbers: 0 is the least a neighbour counts")
    # So that a sum of large ones is a number.
    return weights / np.maximum(weights.max(axis=1, keepdims=True, initial=0.0), 1)
