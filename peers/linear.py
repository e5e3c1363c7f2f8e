"""`sklearn.linear_model`, batch: ridge, logistic, Huber, quantiles; and `sklearn.kernel_ridge`."""

from __future__ import annotations

import numbers
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
    is_classifier,
)
from sklearn.metrics import check_scoring, get_scorer
from sklearn.model_selection import GridSearchCV, LeaveOneOut, check_cv
from sklearn.utils import check_scalar
from sklearn.utils.class_weight import compute_sample_weight

from mercer import losses
from mercer.estimators import KernelClassifier, KernelLogistic, KernelRegressor, KernelRidge
from mercer.kernels import Linear
from mercer.representations import ElasticNet
from mercer.selection import path
from mercer.solvers import CG, Newton
from peers.adapter import (
    FromAlpha,
    FromC,
    Theirs,
    augmented,
    kernel_of,
    lacking,
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
        # Without ℓ1, the penalty of a net is ½λ‖c‖².
        return {
            **said,
            "lam": FromAlpha(2 * lam.alpha),
            "representation": ElasticNet(l1_ratio=0.0, positive=True),
        }


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
        self.keep(machine, X).fit(X, y, sample_weight)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        return self.fitted().decision_function(X)


class _RidgesCV(Linearly):
    """λ by leaving one out, all of them from one factorisation; or by folds, as anybody would."""

    def _chosen(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """The best alpha, or that of each target; besides `best_score_` and, if asked for, `cv_results_`."""
        alphas = np.atleast_1d(np.asarray(self.alphas))
        bounds = {"min_val": 0.0, "include_boundaries": "left" if self.cv is not None else "neither"}
        for i, alpha in enumerate(np.atleast_1d(np.asarray(self.alphas, dtype=object))):
            check_scalar(alpha, f"alphas[{i}]", numbers.Real, **bounds)
        if self.cv is None:
            return self._left_out(X, y, sample_weight, alphas.astype(float))
        if self.store_cv_results:
            raise ValueError("cv!=None and store_cv_results=True are incompatible")
        if getattr(self, "alpha_per_target", False):
            raise ValueError("cv!=None and alpha_per_target=True are incompatible")
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

    def _left_out(self, X: Any, y: Any, weights: Any, alphas: np.ndarray) -> Any:
        if getattr(self, "class_weight", None) is not None:
            factors = compute_sample_weight(self.class_weight, y)
            weights = factors if weights is None else factors * weights
        targets = self._targets(y).reshape(len(np.asarray(y)), -1)
        if weights is None:
            machine = KernelRidge(kernel=Linear(), offset=bool(self.fit_intercept))
            found = path(machine, X, targets, lams=alphas / (np.shape(X)[0] - 1))
            residuals = np.asarray(found.loo_residuals).reshape(len(alphas), *targets.shape)
            weights = np.ones(len(targets))
        else:
            # What is left has less weight, here one and there another: at one alpha λ is another each time.
            weights = np.asarray(weights, float)
            residuals = np.array([self._refitted(X, targets, weights, alpha) for alpha in alphas])
        flat = np.moveaxis(residuals, 0, -1)
        predicted = targets[:, :, None] - flat
        kept = weights[:, None, None] * flat**2 if self.scoring is None else predicted
        if self.store_cv_results:
            self.cv_results_ = kept if self._many(y) else kept[:, 0, :]
        if not (getattr(self, "alpha_per_target", False) and np.ndim(y) == 2):
            best, self.best_score_ = self._best(kept, predicted, y)
            return float(alphas[best])
        y = np.asarray(y)
        each = [self._best(kept[:, [j]], predicted[:, [j]], y[:, j]) for j in range(y.shape[1])]
        self.best_score_ = np.array([score for _, score in each])
        return alphas[[best for best, _ in each]]

    def _best(self, kept: np.ndarray, predicted: np.ndarray, y: Any) -> tuple[int, float]:
        """Which alpha has the best score, and that."""
        if self.scoring is None:
            scores = -kept.mean(axis=(0, 1))
        else:
            scorer = check_scoring(_Identity(), scoring=self.scoring, allow_none=True)
            scores = np.array([self._score(scorer, one, y) for one in np.moveaxis(predicted, -1, 0)])
        best = int(np.argmax(scores))
        return best, float(scores[best])

    def _refitted(self, X: Any, targets: np.ndarray, weights: np.ndarray, alpha: float) -> np.ndarray:
        X = X.tocsr() if sp.issparse(X) else np.asarray(X)
        left = np.empty(targets.shape)
        for train, test in LeaveOneOut().split(targets):
            machine = Ridge(alpha=alpha, fit_intercept=self.fit_intercept)
            machine.fit(X[train], targets[train], weights[train])
            left[test] = targets[test] - machine.predict(X[test]).reshape(1, -1)
        return left

    def _score(self, scorer: Any, predicted: np.ndarray, y: Any) -> float:
        raise NotImplementedError

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

    def __init__(self, y: Any = None) -> None:
        self.y = y
        self.classes_ = np.unique(y)

    def fit(self, X: Any, y: Any) -> Any:
        return self

    def predict(self, X: Any) -> Any:
        if np.ndim(self.y) == 2:
            return np.where(X > 0, self.y.max(axis=0), self.y.min(axis=0))
        return self.classes_[(X > 0).astype(int) if X.ndim == 1 else X.argmax(axis=1)]

    def decision_function(self, X: Any) -> Any:
        return X


class RidgeCV(MultiOutputMixin, RegressorMixin, _RidgesCV, stands_for=theirs.RidgeCV):
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Any:
        if params:
            raise lacking("routed parameters")
        self._remember(X, y)
        self.alpha_ = self._chosen(X, y, sample_weight)
        lam = price(FromAlpha, self.alpha_)
        machine = KernelRidge(kernel=Linear(), lam=lam, offset=bool(self.fit_intercept))
        self.keep(machine, X).fit(X, y, sample_weight)
        return self

    def _score(self, scorer: Any, predicted: np.ndarray, y: Any) -> float:
        said = predicted if np.ndim(y) == 2 else predicted[:, 0]
        return scorer(_Identity(), said, y)


class RidgeClassifierCV(ClassifierMixin, _RidgesCV, stands_for=theirs.RidgeClassifierCV):
    wide = True

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Any:
        if params:
            raise lacking("routed parameters")
        self.alpha_ = self._chosen(X, y, sample_weight)
        machine = KernelClassifier(
            kernel=Linear(),
            loss=losses.Squared(),
            lam=FromAlpha(self.alpha_),
            offset=bool(self.fit_intercept),
            class_weight=self.class_weight,
        )
        self.keep(machine, X).fit(X, y, sample_weight)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        return self.fitted().decision_function(X)

    @property
    def coef_(self) -> np.ndarray:
        coef = super().coef_
        return coef[0] if len(coef) == 1 else coef

    def _score(self, scorer: Any, predicted: np.ndarray, y: Any) -> float:
        said = predicted[:, 0] if predicted.shape[1] == 1 else predicted
        return scorer(_Signs(np.asarray(y)), said, np.asarray(y))

    def _many(self, y: Any) -> bool:
        return True

    def _targets(self, y: Any) -> np.ndarray:
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] > 1:
            return np.where(y == y.max(axis=0), 1.0, -1.0)
        return losses.Squared().encode_labels(y.ravel())[0]


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
            # There, half the square is taken, and the ℓ1 norm whole: λ = 1/(C n).
            lam, said = FromC(C / 2), {"representation": ElasticNet(l1_ratio=ratio)}
        return ours(
            KernelLogistic,
            kernel=Linear(),
            lam=lam,
            offset=bool(self.fit_intercept) and self.solver != "liblinear",
            class_weight=self.class_weight,
            solver="auto" if said or np.inf == lam.C else stopping(Newton, self, 100),
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
        if not self.alpha:
            raise lacking("Huber's loss and no penalty")
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
        if not self.alpha:
            raise lacking("the loss of quantiles and no penalty")
        machine = ours(
            KernelRegressor,
            kernel=Linear(),
            loss=losses.Quantile(self.quantile),
            lam=float(self.alpha),
            offset=bool(self.fit_intercept),
            representation=ElasticNet(l1_ratio=1.0),
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
