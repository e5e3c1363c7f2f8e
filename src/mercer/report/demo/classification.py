"""Kernel logistic regression on handwritten digits, beside scikit-learn's models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit, train_test_split
from sklearn.svm import SVC

from mercer.estimators import KernelLogistic
from mercer.kernels import Gaussian
from mercer.report.demo.scores import Score, timed, widths
from mercer.solvers import Newton


@dataclass(frozen=True, eq=False)
class Classification:
    """What the page needs."""

    scores: list[Score]
    machine: KernelLogistic
    examples: int
    X_test: np.ndarray
    y_test: np.ndarray


@dataclass(frozen=True, eq=False)
class Plane:
    """Three digits on their first two principal components."""

    machine: KernelLogistic
    X: np.ndarray
    y: np.ndarray


def digits(seed: int, examples: int | None, grid: int, progress: Callable[[str], None]) -> Classification:
    """Digits: images of 8×8 pixels in ten classes. All models are tuned on the same part of the training set.

    Parameters
    ----------
    seed : int
    examples : int, optional
        Take only so many.
    grid : int
        Values of λ to try for each width.
    progress : called with a line of text before each step
    """
    X, y = load_digits(return_X_y=True)
    X = X / 16
    if examples is not None:
        X, _, y, _ = train_test_split(X, y, train_size=examples, stratify=y, random_state=seed)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=seed)
    validation = StratifiedShuffleSplit(1, test_size=0.25, random_state=seed)
    sigmas = widths(X, (0.3, 0.4, 0.5))

    def tuned(model, parameters, scoring):
        return GridSearchCV(model, parameters, cv=validation, scoring=scoring, error_score="raise").fit(X, y)

    candidates = [
        (
            "Mercer KernelLogistic",
            KernelLogistic(Gaussian(sigmas[0]), solver=Newton(tol=1e-4)),
            {"kernel__sigma": sigmas, "lam": np.logspace(-9, -7, grid)},
            "neg_log_loss",
        ),
        (
            "scikit-learn SVC",
            SVC(),
            {"gamma": [1 / (2 * s * s) for s in sigmas], "C": [1.0, 10.0, 100.0]},
            "accuracy",
        ),
        (
            "scikit-learn LogisticRegression (linear)",
            LogisticRegression(max_iter=3000),
            {"C": [0.1, 1.0, 10.0]},
            "neg_log_loss",
        ),
    ]
    scores, machines = [], []
    for name, model, parameters, scoring in candidates:
        progress(f"Digits, {name}")
        search, seconds = timed(partial(tuned, model, parameters, scoring))
        accuracy = accuracy_score(y_test, search.predict(X_test))
        # A support vector machine gives scores, not probabilities.
        loss = (log_loss(y_test, search.predict_proba(X_test)),) if scoring == "neg_log_loss" else ()
        scores.append(
            Score("digits", name, "validation set", (accuracy,), loss, (seconds,), name.startswith("Mercer"))
        )
        machines.append(search.best_estimator_)
    return Classification(scores, machines[0], len(y), X_test, y_test)


def plane(examples: int) -> Plane:
    """Zeros, fours and sevens in the plane of their two directions of largest variance."""
    X, y = load_digits(return_X_y=True)
    chosen = np.flatnonzero(np.isin(y, (0, 4, 7)))[:examples]
    X = PCA(2, svd_solver="full").fit_transform(X[chosen] / 16)
    return Plane(KernelLogistic(Gaussian(0.6), lam=1e-3).fit(X, y[chosen]), X, y[chosen])
