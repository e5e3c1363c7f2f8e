"""Classification: y is a label."""

from __future__ import annotations

import numbers

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.metaestimators import available_if

from mercer import _resolve
from mercer.estimators.base import KernelMachine
from mercer.estimators.inputs import Labelled
from mercer.estimators.tensors import follows_data, on_host
from mercer.kernels import Gaussian
from mercer.losses import Logistic, Loss, Multinomial

_GAUSSIAN = Gaussian()


def _gives_probability(machine) -> bool:
    return machine._has_probability()


class Classifier(Labelled, KernelMachine):
    def _encode(self, loss, y):
        return loss.encode_labels(y)

    def _has_probability(self) -> bool:
        """True, or an AttributeError that says what has probabilities."""
        loss = getattr(self, "loss", "logistic")
        try:
            if _resolve.loss_of(loss, classification=True).has_probability:
                return True
        except (TypeError, ValueError) as error:  # `hasattr` asks, too, and must not fail
            raise AttributeError(str(error)) from None
        raise AttributeError(f"{loss!r} has no probabilities; use loss=Logistic() for predict_proba")

    def _probability(self, scores: np.ndarray) -> np.ndarray:
        return self._coding.probability(scores)

    def _example_weights(self, y, sample_weight):
        chosen = getattr(self, "class_weight", None)
        if sample_weight is not None and not isinstance(sample_weight, numbers.Number):
            sample_weight = np.asarray(sample_weight)
        if chosen is None and getattr(sample_weight, "ndim", 0) != 1:
            return sample_weight
        y = self._check_y(on_host(y))
        weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if chosen is not None:
            try:
                weights = weights * compute_sample_weight(chosen, y)
            except ValueError as error:
                raise ValueError(f"class_weight: {error}") from None
        if len(weights) == len(y) and weights.any() and len(left := np.unique(y[weights != 0])) < 2:
            raise ValueError(
                f"only class {left.tolist()[0]!r} has examples of positive weight, and a classifier needs two"
            )
        return weights

    def fit(self, X, y, sample_weight=None):
        """Fit f to labelled examples."""
        self._fit(X, y, sample_weight)
        self.classes_ = self._coding.classes
        return self

    @available_if(_gives_probability)
    @follows_data
    def predict_proba(self, X):
        """Probability of each class, rows summing to one."""
        return self._probability(self._scores(X))

    @available_if(_gives_probability)
    @follows_data
    def predict_log_proba(self, X):
        """Logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(on_host(X)))


class KernelClassifier(Classifier):
    """Kernel classification with any loss: minimise (1/n) Σ w_i V(y_i, f(x_i)) + λ‖f‖².

    Two classes are coded ±1. More are done one against the rest, or jointly by Multinomial().

    Parameters
    ----------
    kernel : Kernel, str or function of two points
    loss : Loss or str
        Logistic(), Multinomial(), Hinge(), SquaredHinge(), Exponential(), Squared(), … or one of your own, a
        Loss or a function V(y, s) of y = ±1.
    lam : "auto" or float > 0
        λ. "auto" chooses it at about the price of one more fit, by the loss on rows not fitted to (for the
        squared loss by leaving one out); the value is `lam_`, the reason in `plan_`.
    representation : "auto", "full", "nystrom", "features" or a Representation
    solver : "auto", "cholesky", "cg", "newton", "dual", "smoothing", "descent" or a Solver
    engine : "auto" or an Engine
    offset : bool
        Add an unpenalised constant b to f.
    class_weight : dict, "balanced" or None
        Factors for the weights of the examples of each class.
    random_state : int, RandomState or None

    Attributes
    ----------
    classes_ : the labels
    function_, coef_, intercept_, kernel_, lam_, solution_, plan_ : as in `KernelRidge`

    Examples
    --------
    >>> from mercer import KernelClassifier
    >>> from mercer.losses import SquaredHinge
    >>> machine = KernelClassifier(loss=SquaredHinge()).fit([[0.0], [1.0], [2.0]], ["no", "yes", "no"])
    >>> machine.predict([[1.1]]).tolist()
    ['yes']
    """

    def __init__(
        self,
        kernel=_GAUSSIAN,
        loss="logistic",
        lam="auto",
        representation="auto",
        solver="auto",
        engine="auto",
        offset=False,
        class_weight=None,
        random_state=None,
    ):
        self.kernel = kernel
        self.loss = loss
        self.lam = lam
        self.representation = representation
        self.solver = solver
        self.engine = engine
        self.offset = offset
        self.class_weight = class_weight
        self.random_state = random_state

    def _loss(self, y) -> Loss:
        return _resolve.loss_of(self.loss, classification=True)


class KernelLogistic(Classifier):
    """Kernel logistic regression, two classes or more.

    Two classes: minimise (1/n) Σ w_i log(1 + exp(−y_i f(x_i))) + λ‖f‖², P(y=+1|x) = 1/(1+exp(−f(x))).
    k classes: k functions, P(y=l|x) = exp f_l(x) / Σ_m exp f_m(x), penalty λ Σ ‖f_l‖².

    Parameters
    ----------
    kernel : Kernel, str or function of two points
    lam : "auto" or float > 0
        λ. "auto" chooses it at about the price of one more fit, by the loss on rows not fitted to; the value
        is `lam_`, the reason in `plan_`. scikit-learn's ``LogisticRegression(C)`` on explicit features is
        λ = 1/(2Cn).
    representation : "auto", "full", "nystrom", "features" or a Representation
    solver : "auto", "newton", "descent" or a Solver
    engine : "auto" or an Engine
    offset : bool
        Add an unpenalised constant b to f.
    class_weight : dict, "balanced" or None
        Factors for the weights of the examples of each class.
    random_state : int, RandomState or None

    Attributes
    ----------
    classes_ : the labels
    function_, coef_, intercept_, kernel_, lam_, solution_, plan_ : as in `KernelRidge`

    Examples
    --------
    >>> from mercer import KernelLogistic
    >>> from mercer.kernels import Gaussian
    >>> machine = KernelLogistic(Gaussian(1.0), lam=0.01).fit([[0.0], [1.0], [2.0]], ["no", "yes", "no"])
    >>> machine.predict([[1.1]]).tolist()
    ['yes']
    >>> machine.predict_proba([[1.1]]).round(1).tolist()
    [[0.3, 0.7]]
    """

    def __init__(
        self,
        kernel=_GAUSSIAN,
        lam="auto",
        representation="auto",
        solver="auto",
        engine="auto",
        offset=False,
        class_weight=None,
        random_state=None,
    ):
        self.kernel = kernel
        self.lam = lam
        self.representation = representation
        self.solver = solver
        self.engine = engine
        self.offset = offset
        self.class_weight = class_weight
        self.random_state = random_state

    def _loss(self, y) -> Loss:
        return Logistic() if len(np.unique(y)) <= 2 else Multinomial()
