"""Learning a class of hypotheses with scikit-learn's interface."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer.theory.learnability.classes import require_class
from mercer.theory.learnability.inputs import as_labels
from mercer.theory.learnability.intervals import Rectangles

_RECTANGLES = Rectangles()


class ConsistentLearner(ClassifierMixin, BaseEstimator):
    """A hypothesis of a class that explains all examples: elimination, tightest fit, separation.

    If none does, there is noise, or the class is the wrong one; `fit` raises `Inconsistent`, which names
    an example that can't be explained. How far such a hypothesis can be trusted says `sample_size`.

    Parameters
    ----------
    H : `Conjunctions`, `Rectangles`, `Intervals`, `HalfSpaces`, …

    Attributes
    ----------
    hypothesis_ : what was learned
    classes_ : the labels, negative first
        Of two labels the larger is the positive one. If there is only one, it must be 0, −1 or False
        (negative) or 1 or True (positive).

    Examples
    --------
    >>> from mercer.theory.learnability import ConsistentLearner, Conjunctions
    >>> X = [[1, 1, 0], [1, 0, 0], [0, 1, 0]]
    >>> machine = ConsistentLearner(Conjunctions()).fit(X, ["yes", "yes", "no"])
    >>> print(machine.hypothesis_), machine.predict([[1, 1, 1]]).tolist()
    x₁ ∧ ¬x₃
    (None, ['no'])
    """

    def __init__(self, H=_RECTANGLES):
        self.H = H

    def fit(self, X: Any, y: Any) -> ConsistentLearner:
        """Learn from labelled examples, or raise `Inconsistent`."""
        require_class(self.H)
        y = column_or_1d(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) == 2:
            labels = codes == 1
        elif len(self.classes_) == 1:
            labels = as_labels(y, len(y))
            low = self.classes_.dtype.type(-1 if -1 in self.classes_ else 0)
            self.classes_ = np.array([low, low.dtype.type(1)])
        else:
            raise ValueError(f"a hypothesis tells two classes apart, got {len(self.classes_)}")
        self.hypothesis_ = self.H.learn(X, labels)
        self.n_features_in_ = np.shape(X)[1] if np.ndim(X) > 1 else 1
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The label of each point."""
        check_is_fitted(self, "hypothesis_")
        return self.classes_[self.hypothesis_(X).astype(int)]
