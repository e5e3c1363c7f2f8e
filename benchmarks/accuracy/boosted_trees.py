"""LightGBM and CatBoost as they come: all columns, and the codes of names said to be categories.

A code that is not among the training rows is a missing value for LightGBM, and an unseen name for CatBoost.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.accuracy import threads
from benchmarks.accuracy.other_machines import Missing
from benchmarks.accuracy.score import Answer
from benchmarks.accuracy.sets import Split


def lightgbm(task: str, split: Split) -> Answer:
    try:
        from lightgbm import LGBMClassifier, LGBMRegressor
    except ImportError:
        raise Missing('lightgbm is not installed: pip install -e ".[bench]"') from None
    kind = LGBMRegressor if task == "regression" else LGBMClassifier
    machine = kind(random_state=0, n_jobs=threads.count(), verbose=-1)
    X, X_test = coded(split.X, split.X_test, split.categories)
    machine.fit(X, split.y, categorical_feature=list(split.categories) or "auto")
    return _answer(task, machine, X_test, {"categories": len(split.categories)})


def catboost(task: str, split: Split) -> Answer:
    try:
        from catboost import CatBoostClassifier, CatBoostRegressor
    except ImportError:
        raise Missing('catboost is not installed: pip install -e ".[bench]"') from None
    kind = CatBoostRegressor if task == "regression" else CatBoostClassifier
    quiet = {"verbose": False, "allow_writing_files": False}
    machine = kind(random_seed=0, thread_count=threads.count(), **quiet)
    X, X_test = (_with_names(Z, split.categories) for Z in (split.X, split.X_test))
    machine.fit(X, split.y, cat_features=list(split.categories))
    return _answer(task, machine, X_test, {"categories": len(split.categories)})


def coded(X: np.ndarray, X_test: np.ndarray, categories: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Both with codes 0, 1, … of the values that the training rows have; others are missing."""
    X, X_test = X.copy(), X_test.copy()
    for j in categories:
        known, X[:, j] = np.unique(X[:, j], return_inverse=True)
        at = np.minimum(np.searchsorted(known, X_test[:, j]), len(known) - 1)
        X_test[:, j] = np.where(known[at] == X_test[:, j], at, np.nan)
    return X, X_test


def _with_names(X: np.ndarray, categories: tuple[int, ...]) -> Any:
    if not categories:
        return X
    from pandas import DataFrame

    table = DataFrame(X)
    for j in categories:
        table[j] = table[j].map(repr)
    return table


def _answer(task: str, machine: Any, X_test: Any, chosen: dict) -> Answer:
    if task == "regression":
        return Answer(np.asarray(machine.predict(X_test)).reshape(-1), chosen=chosen)
    proba, classes = machine.predict_proba(X_test), np.asarray(machine.classes_)
    return Answer(classes[np.argmax(proba, axis=1)], proba, classes, chosen=chosen)
