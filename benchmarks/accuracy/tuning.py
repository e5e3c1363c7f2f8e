"""How peers are tuned: three-fold cross-validation over a grid, on a sample where the table is large.

The parameters found on the sample are used on all training rows as they are: alpha (a noise variance, in
scikit-learn's convention), C and gamma keep their meaning when rows are added.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

ROWS = 2_000
FOLDS = 3


def sample(X: np.ndarray, y: np.ndarray, rows: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    """The rows that grids are tried on: all, or as many as `rows` at random."""
    if len(y) <= rows:
        return X, y
    keep = np.sort(np.random.default_rng(2).permutation(len(y))[:rows])
    return X[keep], y[keep]


def folds(y: np.ndarray) -> Any:
    kind = StratifiedKFold if y.dtype.kind == "i" else KFold
    return kind(FOLDS, shuffle=True, random_state=0)


def scoring(task: str) -> str:
    return "neg_mean_squared_error" if task == "regression" else "accuracy"


class Standard:
    """Columns with mean 0 and variance 1 on the training rows; constant ones are only centred."""

    def __init__(self, X: np.ndarray) -> None:
        self.mean, std = X.mean(axis=0), X.std(axis=0)
        self.std = np.where(std > 1e-12 * np.abs(X).max(axis=0), std, 1.0)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return (X - self.mean) / self.std

    def back(self, Z: np.ndarray) -> np.ndarray:
        return Z * self.std + self.mean
