"""scikit-learn's Gaussian processes, gradient boosting and linear models."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import GridSearchCV

from benchmarks.accuracy import tuning
from benchmarks.accuracy.score import Answer
from benchmarks.accuracy.sets import Split

GP_ROWS = 1_000
BOOSTING = {"learning_rate": [0.03, 0.1, 0.2], "max_leaf_nodes": [10, 31], "l2_regularization": [0.0, 1.0]}
ROUNDS = 300
# With many classes a round is as many trees: fewer rounds, a smaller grid.
MANY_CLASSES, MANY_CLASSES_ROUNDS = 4, 100
MANY_CLASSES_BOOSTING = {"learning_rate": [0.05, 0.1, 0.2], "max_leaf_nodes": [10, 31]}
RIDGE_ALPHAS = np.logspace(-4, 4, 17)
LOGISTIC_COSTS = [0.01, 0.1, 1.0, 10.0, 100.0]


class Skipped(Exception):
    """The method isn't meant for this table."""


class Missing(Skipped):
    """What the method needs isn't installed here."""


def gaussian_process(task: str, split: Split) -> Answer:
    """One length a column, all found by maximising the evidence from one start."""
    n, d = split.X.shape
    if n > GP_ROWS:
        raise Skipped(f"{n:,} training rows, more than {GP_ROWS:,}")
    scale = tuning.Standard(split.X)
    kernel = ConstantKernel(1.0, (1e-3, 1e4)) * RBF(np.full(d, d**0.5), (1e-2, 1e4))
    if task == "regression":
        kernel = kernel + WhiteKernel(0.1, (1e-6, 1e1))
        machine: Any = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
    else:
        machine = GaussianProcessClassifier(kernel, random_state=0)
    machine.fit(scale(split.X), split.y)
    return _answer(task, machine, scale(split.X_test), {"kernel": str(machine.kernel_)})


def boosting(task: str, split: Split) -> Answer:
    """Early stopping is scikit-learn's: on from 10,000 rows."""
    many = task == "classification" and len(np.unique(split.y)) >= MANY_CLASSES
    options = {"max_iter": MANY_CLASSES_ROUNDS if many else ROUNDS, "random_state": 0}
    grid = MANY_CLASSES_BOOSTING if many else BOOSTING
    X, y = tuning.sample(split.X, split.y)
    machine, cv = _boosting(task)(**options), tuning.folds(y)
    best = (
        GridSearchCV(machine, grid, scoring=tuning.scoring(task), cv=cv, refit=False).fit(X, y).best_params_
    )
    machine = _boosting(task)(**options, **best).fit(split.X, split.y)
    return _answer(task, machine, split.X_test, best)


def boosting_defaults(task: str, split: Split) -> Answer:
    machine = _boosting(task)(random_state=0).fit(split.X, split.y)
    return _answer(task, machine, split.X_test, {})


def linear(task: str, split: Split) -> Answer:
    """Ridge by leave-one-out, logistic regression by cross-validation."""
    scale = tuning.Standard(split.X)
    if task == "regression":
        machine: Any = RidgeCV(RIDGE_ALPHAS).fit(scale(split.X), split.y)
        return _answer(task, machine, scale(split.X_test), {"alpha": float(machine.alpha_)})
    X, y = tuning.sample(scale(split.X), split.y)
    grid = {"C": LOGISTIC_COSTS}
    search = GridSearchCV(
        LogisticRegression(max_iter=1000), grid, scoring="neg_log_loss", cv=tuning.folds(y), refit=False
    )
    best = search.fit(X, y).best_params_
    machine = LogisticRegression(max_iter=1000, **best).fit(scale(split.X), split.y)
    return _answer(task, machine, scale(split.X_test), best)


def _boosting(task: str) -> Any:
    return HistGradientBoostingRegressor if task == "regression" else HistGradientBoostingClassifier


def _answer(task: str, machine: Any, X: np.ndarray, chosen: dict) -> Answer:
    if task == "regression":
        return Answer(machine.predict(X), chosen=chosen)
    proba = machine.predict_proba(X)
    return Answer(machine.classes_[np.argmax(proba, axis=1)], proba, machine.classes_, chosen=chosen)
