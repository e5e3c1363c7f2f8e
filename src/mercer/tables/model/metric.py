"""What predictions are judged by: what a metric is called, and what it is of rows, equal or weighted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

# What was true of some rows, as numbers or as (n, k) memberships of classes, what was predicted (None of
# metrics that judge probabilities), and probabilities; and (resamples, n) weights ↦ (resamples,) values.
_Formula = Callable[[np.ndarray, Any, Any, np.ndarray], np.ndarray]
_LEAST = 1e-15


@dataclass(frozen=True)
class _MetricKind:
    """A metric, whatever it is asked of."""

    words: str  # as people read it
    larger_is_better: bool
    judges: str  # "labels", "probabilities" or "numbers"
    formula: _Formula
    most: float = np.inf  # the largest value there is


@dataclass(frozen=True, eq=False)
class Metric:
    """A metric of one question: how good predictions are, and what they cost.

    Attributes
    ----------
    name : "accuracy", "balanced_accuracy", "log_loss", "auc", "average_precision", "rmse", "mae" or "r2"
    classes : all labels, sorted; None for numbers
    place : of two classes that which average precision is about: the rarer one

    Examples
    --------
    >>> auc = metric_of("auc", "classification", np.array(["no", "yes"]))
    >>> P = np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]])
    >>> auc.value(np.array(["no", "yes", "no"]), None, P), auc.cost(np.array(["yes", "no", "no"]), None, P)
    (1.0, 1.0)
    """

    name: str
    classes: np.ndarray | None = None
    place: int = 1

    @property
    def words(self) -> str:
        """What it is called where people read it."""
        return _KNOWN[self.name].words

    @property
    def larger_is_better(self) -> bool:
        """Whether larger values are better ones."""
        return _KNOWN[self.name].larger_is_better

    @property
    def judges(self) -> str:
        """What it looks at: "labels", "probabilities" or "numbers"."""
        return _KNOWN[self.name].judges

    @property
    def most(self) -> float:
        """The largest value there is."""
        return _KNOWN[self.name].most

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest value there could be."""
        shares = self.judges != "numbers" and self.larger_is_better
        return 0.0 if shares or not self.larger_is_better else -np.inf, self.most

    def value(self, truth: Any, predicted: Any, probability: Any = None) -> float:
        """The number scikit-learn gives; NaN where these rows can't say it, having one label only.

        Parameters
        ----------
        truth, predicted : (n,) numbers or labels; `predicted` may be None where probabilities are judged
        probability : (n, classes), in the order of the classes
        """
        return float(self.values(truth, predicted, probability, np.ones((1, len(truth))))[0])

    def cost(self, truth: Any, predicted: Any, probability: Any = None) -> float:
        """What is the smaller the better: the value, or 1 − value where larger is better.

        So accuracy becomes the error rate, and AUC the share of pairs in the wrong order.
        """
        value = self.value(truth, predicted, probability)
        return 1 - value if self.larger_is_better else value

    def values(self, truth: Any, predicted: Any, probability: Any, weights: np.ndarray) -> np.ndarray:
        """(r,) values, each of the rows as often as a row of `weights`, (r, n), says."""
        known, truth = _KNOWN[self.name], np.asarray(truth)
        if self.classes is None:
            return known.formula(truth, np.asarray(predicted), None, weights)
        member = truth[:, None] == self.classes
        if known.formula in (_auc, _average_precision) and len(self.classes) == 2:
            # One against the rest is the same for both in the one, and not in the other.
            only = slice(self.place, self.place + 1)
            member, probability = member[:, only], np.asarray(probability)[:, only]
        right = None if predicted is None else np.asarray(predicted) == truth
        return known.formula(member, right, probability, weights)


def metric_of(name: str | None, task: str, classes: Any = None, y: Any = None) -> Metric:
    """The metric of that name; None: accuracy of labels, root mean squared error of numbers.

    Of two classes the rarer one among `y` is that which average precision is about; the second without.

    >>> metric_of(None, "regression").words, metric_of("auc", "classification", ["no", "yes"]).words
    ('RMSE', 'AUC')
    >>> metric_of("auc", "regression")
    Traceback (most recent call last):
    ...
    ValueError: metric 'auc' is none of numbers: choose 'rmse', 'mae' or 'r2'
    """
    numbers = task == "regression"
    if name is None:
        name = "rmse" if numbers else "accuracy"
    fitting = [n for n, known in _KNOWN.items() if (known.judges == "numbers") == numbers]
    if not isinstance(name, str) or name not in fitting:
        what = "numbers" if numbers else "labels"
        words = ", ".join(map(repr, fitting[:-1])) + f" or {fitting[-1]!r}"
        raise ValueError(f"metric {name!r} is none of {what}: choose {words}")
    if numbers:
        return Metric(name)
    classes = np.asarray(classes)
    place = 1
    if y is not None and len(classes) == 2:
        place = int(2 * np.sum(np.asarray(y) == classes[1]) <= len(y))
    return Metric(name, classes, place)


def metric_names() -> tuple[str, ...]:
    """All names there are."""
    return tuple(_KNOWN)


# -- formulas ---------------------------------------------------------------------------------------


def _mean(values: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Weighted means of the values of rows, (n,) or (n, columns)."""
    total = W.sum(axis=1)
    return (W @ values) / (total if values.ndim == 1 else total[:, None])


def _accuracy(member: np.ndarray, right: np.ndarray, P: Any, W: np.ndarray) -> np.ndarray:
    return _mean(right.astype(np.float64), W)


def _balanced_accuracy(member: np.ndarray, right: np.ndarray, P: Any, W: np.ndarray) -> np.ndarray:
    there = W @ member.astype(np.float64)
    found = W @ (member & right[:, None]).astype(np.float64)
    return _mean_there(np.where(there > 0, found / np.where(there > 0, there, 1), np.nan))


def _log_loss(member: np.ndarray, right: Any, P: np.ndarray, W: np.ndarray) -> np.ndarray:
    likely = np.take_along_axis(np.asarray(P), member.argmax(axis=1)[:, None], axis=1)[:, 0]
    return _mean(-np.log(np.clip(likely, _LEAST, 1)), W)


def _auc(member: np.ndarray, right: Any, P: np.ndarray, W: np.ndarray) -> np.ndarray:
    return _mean_there(_each(member, P, W, _auc_of))


def _average_precision(member: np.ndarray, right: Any, P: np.ndarray, W: np.ndarray) -> np.ndarray:
    return _mean_there(_each(member, P, W, _precision_of))


def _each(member: np.ndarray, P: np.ndarray, W: np.ndarray, of: Callable) -> np.ndarray:
    """(r, classes): one against the rest, each class by its own probability."""
    return np.column_stack([of(*_levels(member[:, j], P[:, j], W)) for j in range(member.shape[1])])


def _levels(mine: np.ndarray, p: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(r, levels) weights of rows of a class, and of others, at each probability, the highest first."""
    order = np.argsort(-p, kind="stable")
    starts = np.flatnonzero(np.diff(p[order], prepend=np.inf))
    ordered, mine = W[:, order], mine[order]
    hits = np.add.reduceat(ordered * mine, starts, axis=1)
    return hits, np.add.reduceat(ordered, starts, axis=1) - hits


def _auc_of(hits: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The share of pairs (one of the class, one of the others) in the right order; ties count a half."""
    pairs = hits.sum(axis=1) * others.sum(axis=1)
    below = others.sum(axis=1)[:, None] - np.cumsum(others, axis=1) + 0.5 * others
    return _over((hits * below).sum(axis=1), pairs)


def _precision_of(hits: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The mean, over rows of the class, of the share of the class among rows that are at least as likely."""
    found = np.cumsum(hits, axis=1)
    taken = found + np.cumsum(others, axis=1)
    share = found / np.where(taken > 0, taken, 1)
    return _over((hits * share).sum(axis=1), found[:, -1])


def _over(sums: np.ndarray, total: np.ndarray) -> np.ndarray:
    return np.where(total > 0, sums / np.where(total > 0, total, 1), np.nan)


def _mean_there(values: np.ndarray) -> np.ndarray:
    """Means over the columns that are there; NaN where none is."""
    there = ~np.isnan(values)
    return _over(np.where(there, values, 0).sum(axis=1), there.sum(axis=1))


def _rmse(truth: np.ndarray, predicted: np.ndarray, P: Any, W: np.ndarray) -> np.ndarray:
    return np.sqrt(_mean((predicted - truth) ** 2, W))


def _mae(truth: np.ndarray, predicted: np.ndarray, P: Any, W: np.ndarray) -> np.ndarray:
    return _mean(np.abs(predicted - truth), W)


def _r2(truth: np.ndarray, predicted: np.ndarray, P: Any, W: np.ndarray) -> np.ndarray:
    # Around the mean of all, so that rounding does not count where the targets are far from 0.
    apart = truth - truth.mean()
    left, square, mean = _mean(np.column_stack([(predicted - truth) ** 2, apart**2, apart]), W).T
    there = np.maximum(square - mean**2, 0)
    # Where all rows are alike there is nothing to explain: 0, or 1 if they are met.
    alike = there <= 1e-14 * square
    return np.where(alike, left == 0, 1 - left / np.where(alike, 1, there))


_KNOWN = {
    "accuracy": _MetricKind("accuracy", True, "labels", _accuracy, 1.0),
    "balanced_accuracy": _MetricKind("balanced accuracy", True, "labels", _balanced_accuracy, 1.0),
    "log_loss": _MetricKind("log loss", False, "probabilities", _log_loss),
    "auc": _MetricKind("AUC", True, "probabilities", _auc, 1.0),
    "average_precision": _MetricKind("average precision", True, "probabilities", _average_precision, 1.0),
    "rmse": _MetricKind("RMSE", False, "numbers", _rmse),
    "mae": _MetricKind("MAE", False, "numbers", _mae),
    "r2": _MetricKind("R²", True, "numbers", _r2, 1.0),
}
