"""What machines say, whatever they learned by: labels, probabilities, numbers, and how good they are."""

from __future__ import annotations

from operator import methodcaller
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from mercer import _resolve
from mercer.estimators.inputs import checked_labels
from mercer.estimators.scoring import Accuracy, Determination, scored_elsewhere
from mercer.estimators.tensors import follows_data, on_host
from mercer.functions import FeatureFunction, KernelFunction
from mercer.kernels import Linear
from mercer.losses.coding import LabelCoding
from mercer.rows import lives_elsewhere


class Judged:
    """`score` by one `measure`, wherever the points are."""

    measure: Any
    predict: Any

    def score(self, X, y=None, sample_weight=None):
        """How good predictions are: of numbers R², of labels the share, by weight, that is predicted.

        R² = 1 − Σw(y − f)²/Σw(y − ȳ)², the mean over outputs. For several quantiles it is D², the share of
        the pinball loss of constants that is explained.

        Parameters
        ----------
        X : points
            They may live elsewhere, as in `fit`: then sums are added up pass by pass (for R² and labels one),
            and nothing as long as X is kept.
        y : targets or labels
            Of points that live elsewhere also the name of a column; None where X are rows that have theirs.
        sample_weight : weights
        """
        if lives_elsewhere(X):
            return scored_elsewhere(self, self.measure, X, y, sample_weight)
        # On the host, where a mean of tensors is in double precision as well.
        return self.measure.here(on_host(y), on_host(self.predict(X)), on_host(sample_weight))


class Labelled(Judged, ClassifierMixin):
    """Labels in, labels out; a subclass has `scored(X)`: scores, and the coding that was theirs then."""

    scored: Any
    measure = Accuracy()

    holds: dict[str, Any] = {"coding_": LabelCoding}

    def _check_y(self, y: Any) -> np.ndarray:
        return checked_labels(y)

    @follows_data
    def decision_function(self, X):
        """Scores: one column for two classes (positive: the second), one per class otherwise."""
        scores, coding = self.scored(X)
        return coding.decision(scores)

    @follows_data
    def predict(self, X):
        """The label of the largest score (or probability: they never disagree)."""
        scores, coding = self.scored(X)
        return coding.decode(scores)


class Likely(Labelled):
    """Labels with probabilities, where the loss has some."""

    def _has_probability(self) -> bool:
        """True, or an AttributeError that says what has probabilities."""
        # Once fitted, what was fitted counts, whatever `loss` has been set to since.
        loss = getattr(self, "loss_", getattr(self, "loss", "logistic"))
        try:
            if _resolve.loss_of(loss, classification=True).has_probability:
                return True
        except (TypeError, ValueError) as error:  # `hasattr` asks, too, and must not fail
            raise AttributeError(str(error)) from None
        raise AttributeError(f"{loss!r} has no probabilities; use loss=Logistic() for predict_proba")

    def _probability(self, scores: np.ndarray, coding: LabelCoding) -> np.ndarray:
        return coding.probability(scores)

    @available_if(methodcaller("_has_probability"))
    @follows_data
    def predict_proba(self, X):
        """Probability of each class, rows summing to one."""
        return self._probability(*self.scored(X))

    @available_if(methodcaller("_has_probability"))
    @follows_data
    def predict_log_proba(self, X):
        """Logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            P = self.predict_proba(on_host(X))
            return [np.log(each) for each in P] if isinstance(P, list) else np.log(P)


class Numbered(Judged, MultiOutputMixin, RegressorMixin):
    """Numbers in, numbers out; a subclass has `scored(X)`, as above."""

    scored: Any
    measure = Determination()

    @follows_data
    def predict(self, X):
        """Predictions for X, shaped as y was at fit."""
        scores, coding = self.scored(X)
        return coding.decode(scores)


class Coefficients:
    """`dual_coef_` of a function made of kernels at points, `coef_` of one made of features."""

    function_: Any
    kernel_: Any

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients c of f = Σ_j c_j k(z_j,·), z_j = function_.points: (terms,) or (terms, outputs)."""
        f = self.function_
        if not isinstance(f, KernelFunction):
            raise AttributeError("f is a combination of features, not of kernels: coef_ holds its weights")
        return f.coef

    @property
    def coef_(self) -> np.ndarray:
        """Weights w of f = ⟨w, φ(·)⟩: (features,) or (outputs, features); for Linear(), φ(x) = x."""
        f = self.function_
        if isinstance(f, FeatureFunction):
            return f.coef.T
        if not isinstance(self.kernel_, Linear):
            raise AttributeError("f is a combination of kernels at points: dual_coef_ holds its coefficients")
        return (f.points.T @ f.coef).T
