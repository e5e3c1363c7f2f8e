"""Classification: y is a label."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import _resolve
from mercer.estimators.answers import Likely
from mercer.estimators.base import KernelMachine
from mercer.estimators.inputs import GAUSSIAN, checked_labels, checked_weights
from mercer.estimators.lam import OtherWords
from mercer.estimators.tensors import on_host
from mercer.losses import Logistic, Loss, Multinomial
from mercer.losses.coding import LabelCoding
from mercer.losses.several import SeveralLabels


def _class_factors(chosen, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """What `class_weight` multiplies the weight of each example by; one of weight 0 counts as absent."""
    seen = weights > 0
    classes, index = np.unique(y[seen], return_inverse=True)
    if isinstance(chosen, dict):
        factors = _chosen_factors(chosen, classes.tolist())
    elif isinstance(chosen, str) and chosen == "balanced":
        # Sums of weights are balanced, not numbers of rows: a weight of 2 is the same as a row given twice.
        sums = np.bincount(index, weights=weights[seen], minlength=len(classes))
        factors = sums.sum() / (len(classes) * sums)
    else:
        raise ValueError(f"class_weight must be a dict of labels, 'balanced' or None, got {chosen!r}")
    out = np.zeros(len(y))
    out[seen] = factors[index]
    return out


def _chosen_factors(chosen: dict, labels: list) -> np.ndarray:
    """The factors of these labels; 1 for those that are not named."""
    unknown, unnamed = set(chosen) - set(labels), [label for label in labels if label not in chosen]
    if unknown and unnamed:
        raise ValueError(
            f"class_weight names {sorted(unknown, key=str)}, which y does not hold, and not {unnamed}"
        )
    for label, factor in chosen.items():
        if not isinstance(factor, numbers.Real) or not 0 <= float(factor) < np.inf:
            raise ValueError(f"class_weight: {label!r} has {factor!r}, which must be a number of at least 0")
    return np.array([float(chosen.get(label, 1.0)) for label in labels])


class Classifier(OtherWords, Likely, KernelMachine):
    holds = {"coding_": (LabelCoding, SeveralLabels)}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # Classes are weighed, and probabilities calibrated, for one label only.
        one = getattr(self, "class_weight", None) is not None or getattr(self, "probability", False)
        tags.classifier_tags.multi_label = tags.target_tags.multi_output = not one
        return tags

    def _check_y(self, y: Any) -> np.ndarray:
        return checked_labels(y, several=True)

    def _encode(self, loss, y):
        return SeveralLabels.learn(loss, y) if np.ndim(y) == 2 else loss.encode_labels(y)

    def _example_weights(self, y, sample_weight):
        chosen = getattr(self, "class_weight", None)
        if sample_weight is not None and not isinstance(sample_weight, numbers.Number):
            sample_weight = np.asarray(sample_weight)
        if chosen is None and getattr(sample_weight, "ndim", 0) != 1:
            return sample_weight
        y = self._check_y(on_host(y))
        weights = checked_weights(sample_weight, y)
        if y.ndim == 2:
            if chosen is not None:
                raise ValueError(
                    "class_weight weighs examples by their label, and here they have several: give weights "
                    "of examples, sample_weight"
                )
            return weights
        if chosen is not None:
            weights = weights * _class_factors(chosen, y, weights)
        left = np.unique(y[weights > 0])
        if len(left) == 1 and (y != left[0]).any():
            raise ValueError(
                f"only class {left.tolist()[0]!r} has examples of positive weight, and a classifier needs two"
            )
        return weights

    def _factors_of(self):
        chosen = getattr(self, "class_weight", None)

        def factors(labels: np.ndarray, weights: np.ndarray) -> np.ndarray | None:
            return None if chosen is None else _class_factors(chosen, labels, weights)

        return factors

    def _without_absent(self, y, weights):
        if getattr(weights, "ndim", 0) != 1 or weights.all() or not weights.any():
            return y
        y = self._check_y(on_host(y))
        # Any label will do for an example that is absent: one that others have makes no class of its own.
        if y.ndim == 2:
            return np.where((weights > 0)[:, None], y, y[weights.argmax()])
        return np.where(np.isin(y, np.unique(y[weights > 0])), y, y[weights.argmax()])

    def fit(self, X, y=None, sample_weight=None, *, checkpoint=None):
        """Fit f to labelled examples; parameters as in `KernelRidge.fit`.

        y may have several columns: an indicator matrix of the labels an example has, or several labels. Every
        column is then learned by itself, with the same kernel and λ.
        """
        super().fit(X, y, sample_weight, checkpoint=checkpoint)
        self.classes_ = self.coding_.classes
        return self


@dataclass(eq=False, repr=False)
class KernelClassifier(Classifier):
    """Kernel classification with any loss: minimise (1/n) Σ w_i V(y_i, f(x_i)) + λ‖f‖².

    Two classes are coded ±1. More are done one against the rest, or jointly by Multinomial(). y may have
    several columns, which are learned each by itself: indicators of labels, as scikit-learn has them (then
    predictions, scores and probabilities are (n, labels)), or labels of several kinds.

    Parameters
    ----------
    kernel : Kernel, str or function of two points
    loss : Loss or str
        Logistic(), Multinomial(), Hinge(), SquaredHinge(), Exponential(), Squared(), … or one of your own, a
        Loss or a function V(y, s) of y = ±1.
    lam : as in `KernelRegressor`
    solver : "auto", "cholesky", "cg", "newton", "dual", "smoothing", "descent" or a Solver
    representation, engine, offset, random_state : as in `KernelRidge`
    class_weight : dict, "balanced" or None
        Factors for the weights of the examples of each class; "balanced": such that the weights of each
        class add up to the same.
    warm_start : as in `KernelRegressor`
    indefinite : None, "clip", "flip" or "allow"
        What to do with a function that is no kernel on the examples: refuse it, unless it says that it is
        wanted; take negative eigenvalues of its matrix for 0, or for positive, and answer new points by the
        same change; or take it as it is, with a warning, which losses with kinks and the dual solver can (a
        stationary point is found then), and solvers that factor the matrix can't. See `plan_`.

    Attributes
    ----------
    classes_ : the labels
    function_, dual_coef_, coef_, intercept_, kernel_, lam_, solution_, plan_ : as in `KernelRidge`

    Examples
    --------
    >>> from mercer import KernelClassifier
    >>> from mercer.losses import SquaredHinge
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "yes", "yes", "no"]
    >>> machine = KernelClassifier(loss=SquaredHinge()).fit(X, y)
    >>> machine.predict([[1.5]]).tolist()
    ['yes']
    """

    kernel: Any = GAUSSIAN
    loss: Any = "logistic"
    lam: Any = "auto"
    representation: Any = "auto"
    solver: Any = "auto"
    engine: Any = "auto"
    offset: bool = True
    class_weight: Any = None
    warm_start: bool = False
    indefinite: str | None = None
    random_state: Any = None

    _takes_zero = True

    def loss_for(self, y) -> Loss:
        return _resolve.loss_of(self.loss, classification=True)


@dataclass(eq=False, repr=False)
class KernelLogistic(Classifier):
    """Kernel logistic regression, two classes or more.

    Two classes: minimise (1/n) Σ w_i log(1 + exp(−y_i f(x_i))) + λ‖f‖², P(y=+1|x) = 1/(1+exp(−f(x))).
    k classes: k functions, P(y=l|x) = exp f_l(x) / Σ_m exp f_m(x), penalty λ Σ ‖f_l‖².
    Several labels an example (y with several columns): each by itself, one against the rest.

    Parameters
    ----------
    kernel : Kernel, str or function of two points
    lam : as in `KernelRegressor`
        scikit-learn's ``LogisticRegression(C)`` on explicit features is λ = 1/(2Cn): see `from_C`. 0 (C = ∞)
        is the maximum of the likelihood; where classes can be told apart there is none, and fit says so.
    solver : "auto", "newton", "descent" or a Solver
    representation, engine, offset, random_state : as in `KernelRidge`
    class_weight, warm_start, indefinite : as in `KernelClassifier`

    Attributes
    ----------
    classes_ : the labels
    function_, dual_coef_, coef_, intercept_, kernel_, lam_, solution_, plan_ : as in `KernelRidge`

    Examples
    --------
    >>> from mercer import KernelLogistic
    >>> from mercer.kernels import Gaussian
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "yes", "yes", "no"]
    >>> machine = KernelLogistic(Gaussian(1.0), lam=0.01).fit(X, y)
    >>> machine.predict([[1.5]]).tolist()
    ['yes']
    >>> machine.predict_proba([[1.5]]).round(1).tolist()
    [[0.1, 0.9]]
    """

    kernel: Any = GAUSSIAN
    lam: Any = "auto"
    representation: Any = "auto"
    solver: Any = "auto"
    engine: Any = "auto"
    offset: bool = True
    class_weight: Any = None
    warm_start: bool = False
    indefinite: str | None = None
    random_state: Any = None

    _takes_zero = True

    def loss_for(self, y) -> Loss:
        return Logistic() if np.ndim(y) == 2 or len(np.unique(y)) <= 2 else Multinomial()
