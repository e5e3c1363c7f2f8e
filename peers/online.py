"""`sklearn.linear_model`, one example after another: Perceptron, passive-aggressive machines, SGD."""

from __future__ import annotations

from operator import methodcaller
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.linear_model as theirs
from sklearn.base import ClassifierMixin, OutlierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if

from mercer import losses, online
from mercer.kernels import Linear
from mercer.online import ConstantStep, OnlineKernelClassifier, OnlineKernelRegressor, PassiveAggressiveStep
from peers.adapter import Theirs, lacking, ours

_OF_NUMBERS = ("huber", "epsilon_insensitive", "squared_epsilon_insensitive")


class Stepwise(Theirs):
    """Weights that go along with each example; a row of them for each output."""

    kind: Any
    wide = True
    power_t, l1_ratio, average, warm_start = 0.5, 0.0, False, False

    # -- what is asked for ------------------------------------------------------------------------

    def _passes(self) -> dict[str, Any]:
        """How often `fit` goes through the rows, and when it ends earlier."""
        if self.tol is None and not self.early_stopping:
            return {"passes": int(self.max_iter)}
        tol = 0.0 if self.tol is None or self.tol == -np.inf else float(self.tol)
        held_out = float(self.validation_fraction) if self.early_stopping else 0.0
        rule = online.Stopping(tol=tol, patience=int(self.n_iter_no_change), held_out=held_out)
        return {"passes": int(self.max_iter), "stopping": rule}

    def _machine(self, fitting: bool) -> Any:
        said: dict[str, Any] = {}
        if fitting and self.max_iter > 1:
            said |= self._passes()
        if self.average is not False:
            said["averaging"] = bool(self.average) if isinstance(self.average, bool) else int(self.average)
        if self.warm_start:
            said["warm_start"] = True
        loss, factor = self._loss()
        penalty = self._penalty()
        return ours(
            self.kind,
            kernel=Linear(),
            loss=loss,
            # Where our loss is twice theirs, half the step does the same, and λ counts double.
            lam=penalty / 2 * factor,
            step=self._step(factor),
            representation="features",
            offset=bool(self.fit_intercept),
            random_state=self.random_state,
            **said,
        )

    def _penalty(self) -> float:
        return 0.0

    def _loss(self) -> tuple[Any, float]:
        """Our loss, and how many times theirs it is."""
        raise NotImplementedError

    def _step(self, factor: float) -> Any:
        raise NotImplementedError

    # -- learning --------------------------------------------------------------------------------

    def _in_order(self, *arrays: Any) -> list[Any]:
        """Rows in the order in which they are learned: as they are, or in one that is drawn."""
        n = arrays[0].shape[0]
        order = check_random_state(self.random_state).permutation(n) if self.shuffle else np.arange(n)
        return [None if array is None else array[order] for array in arrays]

    def _weights(self, y: np.ndarray, weights: Any) -> Any:
        chosen = getattr(self, "class_weight", None)
        if chosen is None:
            return weights
        classes = np.unique(y)
        factors = compute_class_weight(chosen, classes=classes, y=y)
        given = np.ones(len(y)) if weights is None else np.asarray(weights, float)
        return given * factors[np.searchsorted(classes, y)]

    def fit(
        self, X: Any, y: Any, coef_init: Any = None, intercept_init: Any = None, sample_weight: Any = None
    ) -> Any:
        if coef_init is not None or intercept_init is not None:
            raise lacking("a start at given weights")
        X, y, weights = self._arrays(X, y, sample_weight)
        if self.warm_start and "machine_" in vars(self):
            self.machine_.set_params(**self._machine(True).get_params(deep=False))
        else:
            self.keep(self._machine(True), X)
        X, y, weights = self._in_order(X, y, self._weights(y, weights))
        self.machine_.fit(X, y, weights)
        return self

    def _arrays(self, X: Any, y: Any, weights: Any) -> tuple[Any, np.ndarray, Any]:
        X = X.tocsr() if sp.issparse(X) else np.asarray(X)
        y = np.asarray(y)
        weights = None if weights is None else np.broadcast_to(np.asarray(weights, float), len(y))
        return X, y, weights

    def _learn(self, X: Any, y: Any, weights: Any, **classes: Any) -> Any:
        X, y, weights = self._arrays(X, y, weights)
        if "machine_" not in vars(self):
            self.keep(self._machine(False), X)
        self.machine_.partial_fit(X, y, sample_weight=weights, **classes)
        return self

    # -- what is known ---------------------------------------------------------------------------

    @property
    def coef_(self) -> np.ndarray:
        coef = np.atleast_2d(self.cast(self.fitted().coef_))
        return coef if self.wide else coef[0]

    @property
    def intercept_(self) -> np.ndarray:
        return np.atleast_1d(self.cast(self.fitted().intercept_))

    @property
    def n_iter_(self) -> int:
        return int(getattr(self.fitted(), "n_passes_", self.max_iter))

    @property
    def t_(self) -> float:
        return float(self.fitted().n_seen_ + 1)

    def predict(self, X: Any) -> np.ndarray:
        return self.fitted().predict(X)

    def sparsify(self) -> Any:
        raise lacking("sparsify")

    def densify(self) -> Any:
        raise lacking("sparsify")


class _Labels(ClassifierMixin, Stepwise):
    kind = OnlineKernelClassifier

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        if isinstance(getattr(self, "class_weight", None), str):
            raise ValueError("class_weight 'balanced' is not supported for partial_fit")
        if "machine_" not in vars(self) and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        y = np.asarray(y)
        weights = self._weights(y, sample_weight) if sample_weight is not None or self.class_weight else None
        return self._learn(X, y, weights, classes=classes)

    def decision_function(self, X: Any) -> np.ndarray:
        return self.fitted().decision_function(X)


class _Numbers(RegressorMixin, Stepwise):
    kind = OnlineKernelRegressor
    wide = False

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        return self._learn(X, y, sample_weight)


class Perceptron(_Labels, stands_for=theirs.Perceptron):
    def _loss(self) -> tuple[Any, float]:
        return online.PerceptronLoss(), 1.0

    def _penalty(self) -> float:
        if self.penalty in ("l1", "elasticnet"):
            raise lacking("online machines with an ℓ1 penalty")
        return float(self.alpha) if self.penalty == "l2" else 0.0

    def _step(self, factor: float) -> Any:
        return ConstantStep(float(self.eta0))


class PassiveAggressiveClassifier(_Labels, stands_for=theirs.PassiveAggressiveClassifier):
    def _loss(self) -> tuple[Any, float]:
        return losses.Hinge(), 1.0

    def _step(self, factor: float) -> Any:
        return PassiveAggressiveStep(float(self.C), 1 if self.loss == "hinge" else 2)


class PassiveAggressiveRegressor(_Numbers, stands_for=theirs.PassiveAggressiveRegressor):
    def _loss(self) -> tuple[Any, float]:
        return losses.EpsilonInsensitive(float(self.epsilon)), 1.0

    def _step(self, factor: float) -> Any:
        return PassiveAggressiveStep(float(self.C), 1 if self.loss == "epsilon_insensitive" else 2)


class _Descent(Stepwise):
    def _penalty(self) -> float:
        if self.penalty in ("l1", "elasticnet"):
            raise lacking("online machines with an ℓ1 penalty")
        return float(self.alpha) if self.penalty == "l2" else 0.0

    def _step(self, factor: float) -> Any:
        eta, rate = float(self.eta0) / factor, self.learning_rate
        if rate == "constant":
            return ConstantStep(eta)
        if rate in ("pa1", "pa2"):
            if self.loss not in ("hinge", "epsilon_insensitive"):
                raise ValueError(f"Learning rate {rate} only works with hinge and epsilon_insensitive")
            if self._penalty():
                raise lacking("passive-aggressive steps with a penalty")
            return PassiveAggressiveStep(float(self.eta0), 1 if rate == "pa1" else 2)
        if rate == "invscaling":
            return online.PowerStep(eta, float(self.power_t))
        return online.AdaptiveStep(eta) if rate == "adaptive" else online.PegasosStep("auto")

    def _loss(self) -> tuple[Any, float]:
        epsilon = float(getattr(self, "epsilon", 0.0))
        made: dict[str, Any] = {
            "hinge": (losses.Hinge, 1.0),
            "squared_hinge": (losses.SquaredHinge, 1.0),
            "perceptron": (online.PerceptronLoss, 1.0),
            "log_loss": (losses.Logistic, 1.0),
            "modified_huber": (losses.ModifiedHuber, 1.0),
            "squared_error": (losses.Squared, 2.0),
            "huber": (lambda: losses.Huber(epsilon), 2.0),
            "epsilon_insensitive": (lambda: losses.EpsilonInsensitive(epsilon), 1.0),
            "squared_epsilon_insensitive": (lambda: losses.SquaredEpsilonInsensitive(epsilon), 1.0),
        }
        if self.kind is OnlineKernelClassifier and self.loss in _OF_NUMBERS:
            raise lacking("losses of numbers for labels")
        make, factor = made[self.loss]
        return make(), factor


class SGDClassifier(_Descent, _Labels, stands_for=theirs.SGDClassifier):
    def _has_probability(self) -> bool:
        return self.loss in ("log_loss", "modified_huber")

    @available_if(methodcaller("_has_probability"))
    def predict_proba(self, X: Any) -> np.ndarray:
        return self.fitted().predict_proba(X)

    @available_if(methodcaller("_has_probability"))
    def predict_log_proba(self, X: Any) -> np.ndarray:
        return self.fitted().predict_log_proba(X)


class SGDRegressor(_Descent, _Numbers, stands_for=theirs.SGDRegressor):
    pass


class SGDOneClassSVM(OutlierMixin, Stepwise, stands_for=theirs.SGDOneClassSVM):
    def fit(self, X: Any, y: Any = None, **words: Any) -> Any:
        raise lacking("one-class machines that learn one example at a time")

    partial_fit = fit


def replaced() -> dict[str, type]:
    """Names in `sklearn.linear_model`, and what stands for them."""
    machines = (
        *(Perceptron, PassiveAggressiveClassifier, PassiveAggressiveRegressor),
        *(SGDClassifier, SGDRegressor, SGDOneClassSVM),
    )
    return {f"sklearn.linear_model.{machine.__name__}": machine for machine in machines}
