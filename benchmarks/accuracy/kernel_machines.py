"""scikit-learn's support vector machines and kernel ridge, over a grid of kernels and penalties.

Columns are standardised, y too. Distances within the sample are computed once, and the kernel matrix of each
gamma once: the grid search one would write with kernel="rbf", in a fraction of its time. Kernel ridge
classifies by regression on the indicators of the classes: the largest value wins.

They hold n² numbers, or take n² of them again and again: of more than ROWS training rows they get so many at
random, and the result says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances
from sklearn.model_selection import ParameterGrid
from sklearn.svm import SVC, SVR

from benchmarks.accuracy import tuning
from benchmarks.accuracy.score import Answer, losses
from benchmarks.accuracy.sets import Split

GAMMAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # times 1/d, as columns have variance 1
COSTS = (0.1, 1.0, 10.0, 100.0, 1000.0)
EPSILONS = (0.01, 0.1, 0.3)  # times the standard deviation of y
ALPHAS = tuple(10.0**k for k in range(-6, 2))
TUNING_STEPS, FINAL_STEPS = 100_000, 1_000_000  # where C is far too large LIBSVM would need hours
CACHE = 1_000  # megabytes
ROWS = 20_000


def svm(task: str, split: Split) -> Answer:
    if task == "regression":
        grid = ParameterGrid({"C": COSTS, "epsilon": EPSILONS})
        return _tuned(task, split, _squared_distances, "rbf", SVR, grid, max_iter=(TUNING_STEPS, FINAL_STEPS))
    grid = ParameterGrid({"C": COSTS})
    return _tuned(task, split, _squared_distances, "rbf", SVC, grid, max_iter=(TUNING_STEPS, FINAL_STEPS))


def gaussian_ridge(task: str, split: Split) -> Answer:
    machine = KernelRidge if task == "regression" else _RidgeOnIndicators
    return _tuned(task, split, _squared_distances, "rbf", machine, ParameterGrid({"alpha": ALPHAS}))


def laplacian_ridge(task: str, split: Split) -> Answer:
    machine = KernelRidge if task == "regression" else _RidgeOnIndicators
    return _tuned(task, split, manhattan_distances, "laplacian", machine, ParameterGrid({"alpha": ALPHAS}))


def _tuned(
    task: str,
    split: Split,
    distances: Callable[[np.ndarray], np.ndarray],
    kernel: str,
    machine: Callable[..., Any],
    grid: ParameterGrid,
    max_iter: tuple[int, int] | None = None,
) -> Answer:
    """The best cell of the grid, fitted on all training rows."""
    tuning_options = {"max_iter": max_iter[0]} if max_iter else {}
    final_options = {"max_iter": max_iter[1], "cache_size": CACHE} if max_iter else {}
    X, y = tuning.sample(split.X, split.y, ROWS)
    taken = len(y) if len(y) < len(split.y) else None
    scale = tuning.Standard(X)
    target = tuning.Standard(y) if task == "regression" else None
    X, y = scale(X), y if target is None else target(y)

    sample, answers = tuning.sample(X, y)
    D, gammas = distances(sample), [g / X.shape[1] for g in GAMMAS]
    folds = list(tuning.folds(answers).split(sample, answers))
    best: tuple[float, dict] = (np.inf, {})
    for gamma in gammas:
        K = np.exp(-gamma * D)
        for cell in grid:
            candidate = machine(kernel="precomputed", **cell, **tuning_options)
            loss = np.mean([_loss(task, candidate, K, answers, *rows) for rows in folds])
            if loss < best[0]:
                best = (float(loss), {"gamma": gamma, **cell})
    fitted = machine(kernel=kernel, **best[1], **final_options).fit(X, y)
    prediction = fitted.predict(scale(split.X_test))
    steps = {"steps": int(np.max(fitted.n_iter_))} if max_iter else {}
    prediction = prediction if target is None else target.back(prediction)
    return Answer(prediction, chosen={**best[1], **steps}, rows=taken)


def _loss(
    task: str, machine: Any, K: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray
) -> float:
    machine.fit(K[np.ix_(train, train)], y[train])
    return float(np.mean(losses(task, y[test], machine.predict(K[np.ix_(test, train)]))))


def _squared_distances(X: np.ndarray) -> np.ndarray:
    return euclidean_distances(X, squared=True)


class _RidgeOnIndicators:
    def __init__(self, **params: Any) -> None:
        self.ridge = KernelRidge(**params)

    def fit(self, X: np.ndarray, y: np.ndarray) -> _RidgeOnIndicators:
        self.classes = np.unique(y)
        indicators = (y[:, None] == self.classes).astype(float)
        self.mean = indicators.mean(axis=0)
        self.ridge.fit(X, indicators - self.mean)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.classes[np.argmax(self.ridge.predict(X) + self.mean, axis=1)]
