"""`sklearn.svm`: SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC, LinearSVR."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.svm as theirs
from sklearn.base import ClassifierMixin, OutlierMixin, RegressorMixin

from mercer.estimators import KernelClassifier, KernelOneClass, KernelRegressor, KernelSVC, KernelSVR
from mercer.kernels import Linear
from mercer.losses import CrammerSinger, EpsilonInsensitive, Hinge, SquaredEpsilonInsensitive, SquaredHinge
from mercer.representations import ElasticNet
from mercer.solvers import Dual, Newton
from peers.adapter import FromC, Theirs, augmented, kernel_of, lacking, ours, price, stopping


class Libsvm(Theirs):
    """What is said of all machines with support vectors: arrays in LIBSVM's layout."""

    def _start(self, X: Any, sample_weight: Any) -> dict[str, Any]:
        if sample_weight is not None and (np.asarray(sample_weight) < 0).any():
            raise lacking("negative weights, which mean absence")
        self.vars_sparse = sp.issparse(X)
        said = {"kernel": kernel_of(self, X), "solver": stopping(Dual, self, -1)}
        if self.kernel == "sigmoid":
            said["indefinite"] = "allow"
        return said

    def _order(self) -> np.ndarray:
        """Support vectors in LIBSVM's order, as places in ours."""
        return np.arange(len(self.fitted().support_))

    @property
    def support_(self) -> np.ndarray:
        return self.fitted().support_[self._order()].astype(np.int32)

    @property
    def support_vectors_(self) -> Any:
        if getattr(self, "kernel", None) == "precomputed":
            return np.empty((0, 0))
        return self.fitted().support_vectors_[self._order()]

    @property
    def dual_coef_(self) -> Any:
        return self._in_layout(self._coefficients())

    @property
    def coef_(self) -> Any:
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        coef = np.atleast_2d(self.fitted().coef_)
        coef = self._in_layout(coef)
        (coef.data if sp.issparse(coef) else coef).flags.writeable = False
        return coef

    def _coefficients(self) -> np.ndarray:
        return self.fitted().dual_coef_[self._order()][None, :]

    def _in_layout(self, values: np.ndarray) -> Any:
        return sp.csr_array(values) if self.vars_sparse else values.copy()

    @property
    def intercept_(self) -> np.ndarray:
        return np.atleast_1d(np.asarray(self.fitted().intercept_, float))

    @property
    def n_support_(self) -> np.ndarray:
        return np.array([len(self.fitted().support_)], dtype=np.int32)

    @property
    def n_iter_(self) -> Any:
        return int(self.fitted().solution_.iterations)

    @property
    def fit_status_(self) -> int:
        return int(self.fitted().solution_.status != "converged")

    def predict(self, X: Any) -> np.ndarray:
        return self.fitted().predict(X)


class _Classifies(ClassifierMixin, Libsvm):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        said = self._start(X, sample_weight)
        machine = ours(
            KernelSVC,
            **said,
            **self._asked(),
            class_weight=self.class_weight,
            probability=self.probability is True,
            random_state=self.random_state,
        )
        self.keep(machine, X).fit(X, y, sample_weight)
        return self

    def _order(self) -> np.ndarray:
        ends = np.cumsum(self.fitted().n_support_)
        places = self._classes_of_support()
        assert np.bincount(places, minlength=len(ends)).tolist() == self.fitted().n_support_.tolist()
        return np.argsort(places, kind="stable")

    def _classes_of_support(self) -> np.ndarray:
        """Which class every support vector is of, by the signs of its coefficients."""
        machine = self.fitted()
        c = machine.dual_coef_
        if c.ndim == 1:
            return (c > 0).astype(int)
        sides = machine.coding_.sides
        # A vector of class l has coefficients of the sign of l's side, in the pairs of l only.
        fits = [((c == 0) | (np.sign(c) == side)).all(axis=1) for side in sides]
        return np.argmax(fits, axis=0)

    def _coefficients(self) -> np.ndarray:
        machine, order = self.fitted(), self._order()
        c = machine.dual_coef_[order]
        if c.ndim == 1:
            return c[None, :]
        classes = self._classes_of_support()[order]
        k = len(machine.classes_)
        rows = np.zeros((k - 1, len(c)))
        for question, (i, j) in enumerate(machine.coding_.pairs):
            rows[j - 1, classes == i] = c[classes == i, question]
            rows[i, classes == j] = c[classes == j, question]
        return rows

    @property
    def n_support_(self) -> np.ndarray:
        return self.fitted().n_support_.astype(np.int32)

    @property
    def n_iter_(self) -> np.ndarray:
        k = len(self.fitted().classes_)
        return np.full(k * (k - 1) // 2, self.fitted().solution_.iterations, dtype=np.int32)

    def predict(self, X: Any) -> np.ndarray:
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        return self.fitted().predict(X)

    def decision_function(self, X: Any) -> np.ndarray:
        machine = self.fitted()
        if len(machine.classes_) == 2:
            return machine.decision_function(X)
        if self.decision_function_shape == "ovo":
            return machine.pair_decision_function(X)
        return machine.decision_function(X)

    def __getattr__(self, name: str) -> Any:
        if name in ("predict_proba", "predict_log_proba") and self.probability is True:
            return getattr(self.fitted(), name)
        return super().__getattr__(name)


class SVC(_Classifies, stands_for=theirs.SVC):
    def _asked(self) -> dict[str, Any]:
        return {"lam": price(FromC, self.C)}


class NuSVC(_Classifies, stands_for=theirs.NuSVC):
    def _asked(self) -> dict[str, Any]:
        return {"nu": self.nu}


class _Regresses(RegressorMixin, Libsvm):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        said = self._start(X, sample_weight)
        if np.inf == self.C:
            raise lacking("a tube that nobody may leave (C = ∞)")
        machine = ours(KernelSVR, **said, lam=price(FromC, self.C), **self._asked())
        self.keep(machine, X).fit(X, y, sample_weight)
        return self


class SVR(_Regresses, stands_for=theirs.SVR):
    def _asked(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon}


class NuSVR(_Regresses, stands_for=theirs.NuSVR):
    def _asked(self) -> dict[str, Any]:
        return {"nu": self.nu}


class OneClassSVM(OutlierMixin, Libsvm, stands_for=theirs.OneClassSVM):
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        said = self._start(X, sample_weight)
        self.keep(ours(KernelOneClass, **said, nu=self.nu)).fit(X, sample_weight=sample_weight)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        return self.fitted().decision_function(X)

    def score_samples(self, X: Any) -> np.ndarray:
        return self.fitted().score_samples(X)


class Liblinear(Theirs):
    """Linear machines whose intercept is penalised: a weight of one more column."""

    def _columns(self, X: Any) -> Any:
        return augmented(X, float(self.intercept_scaling)) if self.fit_intercept else X

    def _said(self) -> dict[str, Any]:
        return {
            "kernel": Linear(),
            "lam": price(FromC, self.C),
            "offset": False,
            "solver": "auto" if self.max_iter == 1000 else self._solver()(max_iter=self.max_iter),
        }

    def _solver(self) -> Any:
        return Newton if self.loss.startswith("squared") else Dual

    @property
    def _weights(self) -> np.ndarray:
        return np.atleast_2d(self.fitted().coef_)

    @property
    def coef_(self) -> np.ndarray:
        return self._one(self._weights[:, :-1] if self.fit_intercept else self._weights)

    @coef_.setter
    def coef_(self, value: Any) -> None:
        assert np.array_equal(value, self.coef_), "weights of another machine"

    @property
    def intercept_(self) -> Any:
        if not self.fit_intercept:
            return 0.0
        return self._weights[:, -1] * self.intercept_scaling

    @intercept_.setter
    def intercept_(self, value: Any) -> None:
        assert np.array_equal(value, self.intercept_), "the intercept of another machine"

    def _one(self, coef: np.ndarray) -> np.ndarray:
        return coef

    @property
    def n_features_in_(self) -> int:
        return self.fitted().n_features_in_ - bool(self.fit_intercept)

    @property
    def n_iter_(self) -> int:
        return int(self.fitted().solution_.iterations)

    def predict(self, X: Any) -> np.ndarray:
        return self.fitted().predict(self._columns(X))


class LinearSVC(ClassifierMixin, Liblinear, stands_for=theirs.LinearSVC):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        loss = {"hinge": Hinge(), "squared_hinge": SquaredHinge()}[self.loss]
        said = self._said()
        if self.penalty == "l1":
            # The ℓ1 norm is taken whole there: λ = 1/(C n).
            said = {
                **said,
                "solver": "auto",
                "lam": FromC(self.C / 2),
                "representation": ElasticNet(l1_ratio=1.0),
            }
        if self.multi_class == "crammer_singer":
            loss = CrammerSinger()
        machine = ours(KernelClassifier, **said, loss=loss, class_weight=self.class_weight)
        self.keep(machine, X).fit(self._columns(X), y, sample_weight)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        return self.fitted().decision_function(self._columns(X))

    def sparsify(self) -> Any:
        raise lacking("sparsify")


class LinearSVR(RegressorMixin, Liblinear, stands_for=theirs.LinearSVR):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        squared = self.loss == "squared_epsilon_insensitive"
        loss = (SquaredEpsilonInsensitive if squared else EpsilonInsensitive)(float(self.epsilon))
        machine = ours(KernelRegressor, **self._said(), loss=loss)
        self.keep(machine, X).fit(self._columns(X), y, sample_weight)
        return self

    def _one(self, coef: np.ndarray) -> np.ndarray:
        return coef[0]


def replaced() -> dict[str, type]:
    """Names in `sklearn.svm`, and what stands for them."""
    machines = (SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC, LinearSVR)
    return {f"sklearn.svm.{machine.__name__}": machine for machine in machines}
