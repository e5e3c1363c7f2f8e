"""`sklearn.linear_model`, batch: ridge, logistic, Huber, quantiles; and `sklearn.kernel_ridge`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.kernel_ridge
import sklearn.linear_model as theirs
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MultiOutputMixin,
    RegressorMixin,
    clone,
    is_classifier,
)
from sklearn.metrics import check_scoring, get_scorer
from sklearn.model_selection import GridSearchCV, check_cv

from mercer import losses
from mercer.estimators import KernelClassifier, KernelLogistic, KernelRegressor, KernelRidge
from mercer.kernels import Linear
from mercer.selection import path
from mercer.solvers import CG, Newton
from peers.adapter import (
    FromAlpha,
    FromC,
    Theirs,
    able,
    augmented,
    kernel_of,
    lacking,
    net,
    ours,
    price,
    stopping,
)


class RidgeByKernel(MultiOutputMixin, RegressorMixin, Theirs, stands_for=sklearn.kernel_ridge.KernelRidge):
    """There is no offset."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        weights = sample_weight
        if sample_weight is not None and np.ndim(sample_weight) == 0:
            weights = np.full(np.shape(X)[0], float(sample_weight))
        alpha = price(FromAlpha, self.alpha)
        machine = ours(KernelRidge, kernel=kernel_of(self, X), lam=alpha, offset=False)
        self.keep(machine, X).fit(X, y, weights)
        return self

    @property
    def dual_coef_(self) -> np.ndarray:
        return self.fitted().dual_coef_

    def predict(self, X: Any) -> np.ndarray:
        return self.fitted().predict(X)


class Linearly(Theirs):
    """Weights and intercepts in their layout."""

    wide = False

    def _remember(self, X: Any, y: Any) -> None:
        self.wide = np.ndim(y) == 2
        self.one_column = self.wide and np.shape(y)[1] == 1

    @property
    def coef_(self) -> np.ndarray:
        coef = self.cast(self.fitted().coef_)
        return np.atleast_2d(coef) if self.wide else coef

    @property
    def intercept_(self) -> Any:
        if not self.fit_intercept:
            return 0.0
        b = self.cast(self.fitted().intercept_)
        return np.atleast_1d(b) if self.wide else b[()]

    def predict(self, X: Any) -> np.ndarray:
        return self.fitted().predict(X)


class _Ridges(Linearly):
    def _said(self) -> dict[str, Any]:
        lam = price(FromAlpha, self.alpha)
        said = {"kernel": Linear(), "lam": lam, "offset": bool(self.fit_intercept)}
        if not self.positive:
            return {**said, "solver": stopping(CG, self, None)}
        if not able(KernelRegressor, None, 0.0, True):
            raise lacking("positive coefficients")
        # Without ℓ1, the penalty of a net is ½λ‖c‖².
        return {**said, "lam": FromAlpha(2 * lam.alpha), "representation": net(0.0, True)}


class Ridge(MultiOutputMixin, RegressorMixin, _Ridges, stands_for=theirs.Ridge):
    @property
    def coef_(self) -> np.ndarray:
        return super().coef_[0] if self.one_column else super().coef_

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self._remember(X, y)
        weights = sample_weight
        if np.isscalar(sample_weight) and sample_weight is not None:
            weights = np.full(np.shape(X)[0], float(sample_weight))
        self.keep(ours(KernelRidge, **self._said()), X).fit(X, y, weights)
        return self


class RidgeClassifier(ClassifierMixin, _Ridges, stands_for=theirs.RidgeClassifier):
    wide = True

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        machine = ours(
            KernelClassifier, **self._said(), loss=losses.Squared(), class_weight=self.class_weight
        )
        self.keep(machine, X).fit(X, _one_question(y), sample_weight)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        return self.fitted().decision_function(X)


def _one_question(y: Any) -> Any:
    if np.ndim(y) == 2 and np.shape(y)[1] > 1:
        raise lacking("several labels a row")
    return y


class _RidgesCV(Linearly):
    """λ by leaving one out, all of them from one factorisation; or by folds, as anybody would."""

    def _chosen(self, X: Any, y: Any, sample_weight: Any, machine: Any) -> float:
        """The best alpha; `best_score_` and, where asked for, `cv_results_` besides."""
        alphas = np.atleast_1d(np.asarray(self.alphas, float))
        if getattr(self, "alpha_per_target", False) and np.ndim(y) == 2 and np.shape(y)[1] > 1:
            raise lacking("one λ a target")
        if (alphas <= 0).any():
            raise lacking("a path of λ with 0 on it")
        if self.cv is None:
            return self._left_out(X, y, sample_weight, machine, alphas)
        if self.store_cv_results:
            raise ValueError("cv!=None and store_cv_results=True are incompatible")
        one = Ridge if not is_classifier(self) else RidgeClassifier
        extra = {"class_weight": self.class_weight} if is_classifier(self) else {}
        search = GridSearchCV(
            one(fit_intercept=self.fit_intercept, **extra),
            {"alpha": alphas},
            cv=check_cv(self.cv, y, classifier=is_classifier(self)),
            scoring=self.scoring,
        ).fit(X, y, sample_weight=sample_weight)
        self.best_score_ = search.best_score_
        return search.best_params_["alpha"]

    def _left_out(self, X: Any, y: Any, weights: Any, machine: Any, alphas: np.ndarray) -> float:
        factors = getattr(machine, "class_weight", None)
        if weights is not None or factors is not None:
            # What is left has less weight, here one and there another, and λ stays: so alpha does not.
            raise lacking("leaving one of several weights out at the same alpha")
        found = path(machine, X, y, lams=alphas / (np.shape(X)[0] - 1))
        targets = self._targets(y)
        errors = np.asarray(found.loo_residuals)
        errors = errors.reshape(len(alphas), len(targets), -1)
        flat = np.moveaxis(errors, 0, -1)
        if self.scoring is None:
            scores = -found.loo_mse
            kept = flat**2
        else:
            predicted = targets.reshape(len(targets), -1)[:, :, None] - flat
            scorer = check_scoring(_Identity(), scoring=self.scoring, allow_none=True)
            scores = np.array([self._score(scorer, predicted[..., i], y) for i in range(len(alphas))])
            kept = predicted
        best = int(np.argmax(scores))
        self.best_score_ = float(scores[best])
        if self.store_cv_results:
            self.cv_results_ = kept if self._many(y) else kept[:, 0, :]
        return float(alphas[best])

    def _score(self, scorer: Any, predicted: np.ndarray, y: Any) -> float:
        raise lacking("leave-one-out by another score than the loss")

    def _many(self, y: Any) -> bool:
        return np.ndim(y) == 2

    def _targets(self, y: Any) -> np.ndarray:
        return np.asarray(y, float)


class _Identity(RegressorMixin, BaseEstimator):
    """Predicts what it is given."""

    def fit(self, X: Any, y: Any) -> Any:
        return self

    def predict(self, X: Any) -> Any:
        return X


class _Signs(ClassifierMixin, BaseEstimator):
    """Decides by scores that it is given."""

    def __init__(self, classes: Any = None) -> None:
        self.classes_ = self.classes = classes

    def fit(self, X: Any, y: Any) -> Any:
        return self

    def predict(self, X: Any) -> Any:
        return self.classes[(X > 0).astype(int) if X.ndim == 1 else X.argmax(axis=1)]

    def decision_function(self, X: Any) -> Any:
        return X


class RidgeCV(MultiOutputMixin, RegressorMixin, _RidgesCV, stands_for=theirs.RidgeCV):
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Any:
        if params:
            raise lacking("routed parameters")
        self._remember(X, y)
        machine = KernelRidge(kernel=Linear(), offset=bool(self.fit_intercept))
        self.alpha_ = self._chosen(X, y, sample_weight, machine)
        self.keep(clone(machine).set_params(lam=FromAlpha(self.alpha_)), X).fit(X, y, sample_weight)
        return self

    def _score(self, scorer: Any, predicted: np.ndarray, y: Any) -> float:
        said = predicted if np.ndim(y) == 2 else predicted[:, 0]
        return scorer(_Identity(), said, y)


class RidgeClassifierCV(ClassifierMixin, _RidgesCV, stands_for=theirs.RidgeClassifierCV):
    wide = True

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Any:
        if params:
            raise lacking("routed parameters")
        machine = KernelClassifier(
            kernel=Linear(),
            loss=losses.Squared(),
            offset=bool(self.fit_intercept),
            class_weight=self.class_weight,
        )
        self.alpha_ = self._chosen(X, _one_question(y), sample_weight, machine)
        self.keep(clone(machine).set_params(lam=FromAlpha(self.alpha_)), X).fit(X, y, sample_weight)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        return self.fitted().decision_function(X)

    @property
    def coef_(self) -> np.ndarray:
        coef = super().coef_
        return coef[0] if len(coef) == 1 else coef

    def _score(self, scorer: Any, predicted: np.ndarray, y: Any) -> float:
        said = predicted[:, 0] if predicted.shape[1] == 1 else predicted
        return scorer(_Signs(np.unique(y)), said, np.asarray(y))

    def _many(self, y: Any) -> bool:
        return True

    def _targets(self, y: Any) -> np.ndarray:
        return losses.Squared().encode_labels(np.asarray(y))[0]


def ridge_regression(
    X: Any,
    y: Any,
    alpha: Any,
    *,
    sample_weight: Any = None,
    solver: str = "auto",
    max_iter: Any = None,
    tol: float = 1e-4,
    verbose: int = 0,
    positive: bool = False,
    random_state: Any = None,
    return_n_iter: bool = False,
    return_intercept: bool = False,
    check_input: bool = True,
) -> Any:
    """The function of that name: weights, and where asked for the intercept."""
    machine = Ridge(alpha=alpha, fit_intercept=return_intercept, positive=positive, max_iter=max_iter)
    machine.fit(X, y, sample_weight)
    found = [machine.coef_]
    if return_n_iter:
        found.append(None)
    if return_intercept:
        found.append(machine.intercept_)
    return found[0] if len(found) == 1 else tuple(found)


# -- labels ------------------------------------------------------------------------------------------------


class _Logistics(ClassifierMixin, Linearly):
    wide = True

    def _machine(self, C: float, l1_ratio: Any) -> Any:
        ratio = {"l1": 1.0, "l2": 0.0}.get(self.penalty, 0.0 if l1_ratio is None else float(l1_ratio))
        lam, said = price(FromC, np.inf if self.penalty is None else C), {}
        if ratio:
            if not able(KernelLogistic, None, ratio):
                raise lacking("logistic loss with an ℓ1 penalty")
            # There, half the square is taken, and the ℓ1 norm whole: λ = 1/(C n).
            lam, said = FromC(C / 2), {"representation": net(ratio)}
        elif np.inf == lam.C and not able(KernelLogistic, None):
            raise lacking("logistic loss without a penalty")
        return ours(
            KernelLogistic,
            kernel=Linear(),
            lam=lam,
            offset=bool(self.fit_intercept) and self.solver != "liblinear",
            class_weight=self.class_weight,
            solver="auto" if said else stopping(Newton, self, 100),
            **said,
            **({"warm_start": True} if getattr(self, "warm_start", False) else {}),
        )

    def _columns(self, X: Any) -> Any:
        return augmented(X, float(self.intercept_scaling)) if self._is_penalised() else X

    def _is_penalised(self) -> bool:
        return self.solver == "liblinear" and bool(self.fit_intercept)

    @property
    def coef_(self) -> np.ndarray:
        coef = np.atleast_2d(self.cast(self.fitted().coef_))
        return coef[:, :-1] if self._is_penalised() else coef

    @property
    def intercept_(self) -> np.ndarray:
        if not self.fit_intercept:
            return np.zeros(len(self.coef_))
        if self._is_penalised():
            return self.cast(np.atleast_2d(self.fitted().coef_)[:, -1] * self.intercept_scaling)
        return np.atleast_1d(self.cast(self.fitted().intercept_))

    @property
    def n_iter_(self) -> np.ndarray:
        return np.array([self.fitted().solution_.iterations], dtype=np.int32)

    @property
    def n_features_in_(self) -> int:
        return self.fitted().n_features_in_ - self._is_penalised()

    def predict(self, X: Any) -> np.ndarray:
        return self.fitted().predict(self._columns(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        return self.fitted().predict_proba(self._columns(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        return self.fitted().predict_log_proba(self._columns(X))

    def decision_function(self, X: Any) -> np.ndarray:
        return self.fitted().decision_function(self._columns(X))

    def sparsify(self) -> Any:
        raise lacking("sparsify")

    def densify(self) -> Any:
        raise lacking("sparsify")


class LogisticRegression(_Logistics, stands_for=theirs.LogisticRegression):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        if self.solver == "liblinear" and len(np.unique(y)) > 2:
            raise ValueError("The 'liblinear' solver does not support multiclass classification")
        machine = self._machine(self.C, self.l1_ratio)
        if self.warm_start and "machine_" in vars(self):
            machine = self.machine_.set_params(**machine.get_params(deep=False))
        self.keep(machine, X).fit(self._columns(X), y, sample_weight)
        return self


class LogisticRegressionCV(_Logistics, stands_for=theirs.LogisticRegressionCV):
    """λ by folds: the same machine for every λ and every fold."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Any:
        if params:
            raise lacking("routed parameters")
        ratios = self.l1_ratios if self.l1_ratios not in ("warn", None) else (0.0,)
        if any(ratio for ratio in np.atleast_1d(ratios)):
            raise lacking("an elastic net")
        Cs = np.logspace(-4, 4, self.Cs) if np.isscalar(self.Cs) else np.asarray(self.Cs, float)
        folds = list(check_cv(self.cv, y, classifier=True).split(X, y))
        X, y = (X if sp.issparse(X) else np.asarray(X)), np.asarray(y)
        scorer = None if self.scoring in ("warn", None) else get_scorer(self.scoring)
        scores, coefs = np.zeros((len(folds), 1, len(Cs))), []
        weights = None if sample_weight is None else np.asarray(sample_weight)
        for i, (train, test) in enumerate(folds):
            coefs.append([])
            for j, C in enumerate(Cs):
                one = LogisticRegression(**self._shared(), C=C)
                one.fit(X[train], y[train], None if weights is None else weights[train])
                extra = {} if weights is None else {"sample_weight": weights[test]}
                score = one.score if scorer is None else partial(scorer, one)
                scores[i, 0, j] = score(X[test], y[test], **extra)
                columns = [one.coef_, one.intercept_[:, None]] if self.fit_intercept else [one.coef_]
                coefs[i].append(np.hstack(columns))
        best_C = float(Cs[int(scores.mean(axis=(0, 1)).argmax())])
        if not self.refit:
            raise lacking("coefficients that are means over folds (refit=False)")
        self.keep(self._machine(best_C, 0.0), X).fit(self._columns(X), y, sample_weight)
        self.Cs_, self.l1_ratios_ = Cs, np.array([0.0])
        self._show(scores, np.array(coefs)[:, None], best_C)
        return self

    def _show(self, scores: np.ndarray, coefs: np.ndarray, best: float) -> None:
        """What was found on the way: (folds, ratios, λ) and (folds, ratios, λ, classes, weights)."""
        self.scores_, self.coefs_paths_, self.C_, self.l1_ratio_ = scores, coefs, best, 0.0
        if self.use_legacy_attributes in (True, "warn"):
            classes = self.classes_ if len(self.classes_) > 2 else self.classes_[1:]
            self.scores_ = {label: scores[:, 0] for label in classes}
            self.coefs_paths_ = {label: coefs[:, 0, :, i] for i, label in enumerate(classes)}
            self.C_, self.l1_ratio_ = np.full(len(classes), best), np.zeros(len(classes))

    def _shared(self) -> dict[str, Any]:
        names = ("fit_intercept", "solver", "class_weight", "max_iter", "intercept_scaling", "penalty")
        return {name: getattr(self, name) for name in names}


# -- other losses ------------------------------------------------------------------------------------------


class HuberRegressor(RegressorMixin, Linearly, stands_for=theirs.HuberRegressor):
    """The scale is found with the weights, so that epsilon counts in its units."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        if not hasattr(losses, "ScaledHuber"):
            raise lacking("Huber's loss with its scale estimated")
        machine = ours(
            KernelRegressor,
            kernel=Linear(),
            loss=losses.ScaledHuber(float(self.epsilon), scale=None),
            lam=price(FromAlpha, self.alpha),
            offset=bool(self.fit_intercept),
        )
        self.keep(machine, X).fit(X, y, sample_weight)
        return self


class QuantileRegressor(RegressorMixin, Linearly, stands_for=theirs.QuantileRegressor):
    """The penalty is ℓ1."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        loss, said = losses.Quantile(self.quantile), {}
        if not able(KernelRegressor, loss, 1.0 if self.alpha else None):
            raise lacking(
                "the loss of quantiles " + ("with an ℓ1 penalty" if self.alpha else "and no penalty")
            )
        if self.alpha:
            said = {"representation": net(1.0)}
        machine = ours(
            KernelRegressor,
            kernel=Linear(),
            loss=loss,
            lam=float(self.alpha),
            offset=bool(self.fit_intercept),
            **said,
        )
        self.keep(machine, X).fit(X, y, sample_weight)
        return self


def replaced() -> dict[str, Any]:
    """Names in `sklearn.linear_model` and `sklearn.kernel_ridge`, and what stands for them."""
    machines = (
        *(Ridge, RidgeCV, RidgeClassifier, RidgeClassifierCV, LogisticRegression, LogisticRegressionCV),
        *(HuberRegressor, QuantileRegressor),
    )
    found: dict[str, Any] = {f"sklearn.linear_model.{machine.__name__}": machine for machine in machines}
    found["sklearn.linear_model.ridge_regression"] = ridge_regression
    found["sklearn.kernel_ridge.KernelRidge"] = RidgeByKernel
    return found
