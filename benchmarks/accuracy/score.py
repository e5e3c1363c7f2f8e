"""What a prediction is worth: RMSE and R², error rate and log loss, coverage and width of intervals.

`se` is the standard error of the error: by how much it would change with other test rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

ERROR = {"regression": "rmse", "classification": "error"}  # the number methods are ranked by


@dataclass(frozen=True)
class Answer:
    """What a method says about the test rows, and what it chose to get there.

    `rows` is how many training rows it took, where it couldn't take all.
    """

    prediction: np.ndarray
    proba: np.ndarray | None = None
    classes: np.ndarray | None = None
    interval: np.ndarray | None = None
    chosen: dict = field(default_factory=dict)
    rows: int | None = None


def score(task: str, y: np.ndarray, answer: Answer) -> dict[str, float]:
    if task == "regression":
        found = _regression(y, answer.prediction)
    else:
        found = {"error": float(np.mean(answer.prediction != y))}
        if answer.proba is not None:
            found["logloss"] = _log_loss(y, answer.proba, answer.classes)
    found["se"] = standard_error(task, losses(task, y, answer.prediction))
    if answer.interval is not None:
        low, high = answer.interval.T
        found["coverage"] = float(np.mean((low <= y) & (y <= high)))
        # In standard deviations of y, so that widths on different tables can be compared.
        found["width"] = float(np.mean(high - low) / np.std(y))
    return found


def losses(task: str, y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    """Row by row, what the number in the table is the mean (regression: the root of the mean) of."""
    return (prediction - y) ** 2 if task == "regression" else (prediction != y).astype(float)


def standard_error(task: str, losses: np.ndarray) -> float:
    """s/√m of the mean of m losses; of its root, for regression, that over 2√mean (the delta method)."""
    se = float(losses.std(ddof=1) / len(losses) ** 0.5)
    if task == "classification" or se == 0:
        return se
    return se / (2 * float(losses.mean()) ** 0.5)


def _regression(y: np.ndarray, prediction: np.ndarray) -> dict[str, float]:
    mse = float(np.mean((prediction - y) ** 2))
    return {"rmse": mse**0.5, "r2": 1 - mse / float(np.var(y))}


def _log_loss(y: np.ndarray, proba: np.ndarray, classes: np.ndarray | None) -> float:
    """−mean log p(y), p no less than 1e-15; a class that wasn't among the training rows has p = 0."""
    assert classes is not None
    column = {label: j for j, label in enumerate(classes.tolist())}
    p = np.array([proba[i, column[label]] if label in column else 0.0 for i, label in enumerate(y.tolist())])
    return float(-np.mean(np.log(np.clip(p, 1e-15, 1.0))))
