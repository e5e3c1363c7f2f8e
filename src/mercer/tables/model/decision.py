"""From probabilities to labels: by a threshold, or by the least expected cost."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._state import require
from mercer.tables.reading.objects import as_word

# Costs are multiplied by probabilities and added up: larger ones leave double precision.
_LARGEST = 1e100


@dataclass(frozen=True, eq=False)
class Decision:
    """Which label is predicted, given the probabilities of all of them. One of two rules:

    a threshold t: of two classes the second one where its probability is at least t;
    costs c: the class j of the least expected cost Σ_i P_i c_ij.

    Attributes
    ----------
    threshold : from 0 to 1, or None
    costs : (k, k) cost of predicting class j (column) where class i (row) is true, or None

    Examples
    --------
    >>> P = np.array([[0.9, 0.1], [0.7, 0.3]])
    >>> Decision(threshold=0.2).labels(P, np.array(["no", "yes"])).tolist()
    ['no', 'yes']
    >>> Decision(costs=np.array([[0.0, 1.0], [10.0, 0.0]])).labels(P, np.array(["no", "yes"])).tolist()
    ['yes', 'yes']
    """

    threshold: float | None = None
    costs: np.ndarray | None = None

    def check_state(self) -> None:
        """Refuse none or two rules, a threshold beyond 0 and 1, costs that are no numbers."""
        require(
            (self.threshold is None) != (self.costs is None), "a decision has one rule: threshold or costs"
        )
        if self.threshold is not None:
            require(0 < self.threshold < 1, "the threshold of a decision does not lie between 0 and 1")
            return
        c: Any = self.costs
        square = isinstance(c, np.ndarray) and c.dtype == np.float64 and c.ndim == 2 and len(c) == c.shape[1]
        require(square and len(c) >= 2, "the costs of a decision are no square matrix of doubles")
        sound = bool((np.abs(c) <= _LARGEST).all())  # of NaN this is not true
        require(sound, "the costs of a decision are no finite numbers")

    def check_for(self, classes: np.ndarray) -> None:
        """Require a rule for that many classes."""
        k = 2 if self.costs is None else len(self.costs)
        require(k == len(classes), f"the decision is one among {k} labels, and there are {len(classes)}")

    def labels(self, P: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """(n,) labels by (n, k) probabilities, in the order of the classes."""
        if self.threshold is not None:
            return classes[(P[:, 1] >= self.threshold).astype(np.intp)]
        return classes[np.argmin(P @ self.costs, axis=1)]

    def words(self, classes: Any) -> str:
        """The rule, in a sentence without a full stop."""
        names = [repr(c) for c in np.asarray(classes).tolist()]
        if self.threshold is not None:
            return f"{names[1]} is predicted where its probability is at least {self.threshold:.3g}"
        if len(names) == 2 and (t := break_even(self.costs)) is not None:
            return (
                f"the label of the least expected cost is predicted: {names[1]} where its probability is at "
                f"least {t:.3g}"
            )
        return "the label of the least expected cost is predicted"


@dataclass(frozen=True, eq=False)
class Decided:
    """How labels were decided on, for what is known of a model.

    Attributes
    ----------
    decision : the rule; None: the likeliest label
    said : about it, in sentences
    costs, cost : what errors cost, and what their mean is called; None where no costs were given
    by_cost : whether that is what models are judged by first
    """

    decision: Decision | None = None
    said: tuple[str, ...] = ()
    cost: str | None = None
    costs: np.ndarray | None = None
    by_cost: bool = False

    def cost_of(self, truth: np.ndarray, predicted: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """(n,) what predictions cost."""
        assert self.costs is not None
        return self.costs[np.searchsorted(classes, truth), np.searchsorted(classes, predicted)]


def threshold_of(threshold: Any, classes: Any = None) -> float | str | None:
    """A threshold for two classes, "auto" or None; refused where it is none, or the classes are not two.

    >>> threshold_of(0.2), threshold_of("auto")
    (0.2, 'auto')
    """
    if threshold is None:
        return None
    if classes is not None and len(classes) != 2:
        raise ValueError(
            f"threshold is for two labels, and there are {len(classes)}: costs= says what errors cost"
        )
    if isinstance(threshold, str) and threshold == "auto":
        return threshold
    real = isinstance(threshold, numbers.Real) and not isinstance(threshold, bool)
    if not real or not 0 < float(threshold) < 1:
        raise ValueError(f"threshold must be a number between 0 and 1, or 'auto'; got {threshold!r}")
    return float(threshold)


def costs_of(costs: Any, classes: Any) -> np.ndarray:
    """(k, k) costs, from a matrix or from ``{(true, predicted): cost}``.

    Of a mapping errors that are not named cost 1, and what is right costs nothing.

    >>> costs_of({("sick", "well"): 10}, np.array(["sick", "well"])).tolist()
    [[0.0, 10.0], [1.0, 0.0]]
    """
    names = [as_word(c) for c in np.asarray(classes).tolist()]
    k = len(names)
    if not isinstance(costs, Mapping):
        try:
            found = np.array(costs, dtype=np.float64)
        except (TypeError, ValueError):
            found = np.zeros(0)
        if found.shape != (k, k):
            raise ValueError(
                f"costs must be {{(true, predicted): cost}} or a matrix of {k} times {k} numbers, a row for "
                f"each true label ({_few(names)}), got {_shown(costs)}"
            )
    else:
        found = 1.0 - np.eye(k)
        for pair, cost in costs.items():
            found[_places(pair, names)] = _number(cost, f"costs: {pair!r}")
    if not (np.abs(found) <= _LARGEST).all():
        raise ValueError("costs must be finite numbers, no larger than 1e100")
    if (np.ptp(found, axis=1) == 0).all():
        raise ValueError("costs are the same whatever is predicted: they decide nothing")
    return found


def class_weights_of(weights: Any, y: np.ndarray, classes: np.ndarray) -> dict[Any, float] | None:
    """The weight of each label in a fit, by label, 1 on average over the rows; None if all weigh the same.

    "balanced" gives every class the same sum; of a mapping labels that are not named weigh 1.

    >>> class_weights_of("balanced", np.array(["a", "a", "a", "b"]), np.array(["a", "b"]))
    {'a': 0.666..., 'b': 2.0}
    """
    if weights is None:
        return None
    labels = classes.tolist()
    counts = np.array([np.sum(y == c) for c in classes], dtype=np.float64)
    if isinstance(weights, str) and weights == "balanced":
        found = len(y) / (len(labels) * counts)
    elif isinstance(weights, Mapping):
        names, found = [as_word(c) for c in labels], np.ones(len(labels))
        for label, weight in weights.items():
            if as_word(label) not in names:
                raise ValueError(f"class_weight: there is no label {label!r}; the labels are {_few(names)}")
            value = _number(weight, f"class_weight: {label!r}")
            if not 1e-6 <= value <= 1e6:
                raise ValueError(f"class_weight: {label!r} has {weight!r}, not between 1e-6 and 1e6")
            found[names.index(as_word(label))] = value
        found = found * len(y) / float(found @ counts)
    else:
        raise ValueError(
            f"class_weight must be 'balanced' or a mapping of labels to weights, got {weights!r}"
        )
    return dict(zip(labels, found.tolist(), strict=True))


def row_weights(machine: Any, y: np.ndarray) -> np.ndarray | None:
    """(n,) what rows with these labels weigh in the fit of a machine; None if all weigh the same."""
    weights = getattr(machine, "class_weight", None)
    if weights is None:
        return None
    labels, place = np.unique(y, return_inverse=True)
    return np.array([weights.get(c, 1.0) for c in labels.tolist()])[place.ravel()]


def unweighted(P: np.ndarray, classes: np.ndarray, weights: Mapping[Any, float]) -> np.ndarray:
    """Probabilities among rows as they are, from those of a machine that took each class c as w_c of them.

    It finds P'_c proportional to w_c P_c, so P_c is P'_c/w_c, over the sum of these.

    >>> unweighted(np.array([[0.5, 0.5]]), np.array(["a", "b"]), {"a": 1.0, "b": 4.0}).tolist()
    [[0.8, 0.2]]
    """
    # By the largest quotient at most 1, so that the smallest probabilities stay what they are.
    w = np.array([weights.get(c, 1.0) for c in classes.tolist()])
    found = P * (w.min() / w)
    return found / found.sum(axis=1, keepdims=True)


def decision_by_weights(weights: Mapping[Any, float], classes: np.ndarray) -> Decision:
    """What weights of classes mean for labels: to miss one of a class costs as much as it weighs."""
    w = np.array([weights[c] for c in classes.tolist()])
    return Decision(costs=w[:, None] * (1.0 - np.eye(len(w))))


def break_even(costs: Any) -> float | None:
    """The probability of the second of two classes at which both labels cost the same; None if none does."""
    risk, gain = costs[0, 1] - costs[0, 0], costs[1, 0] - costs[1, 1]
    return float(risk / (risk + gain)) if risk > 0 and gain > 0 else None


def best_threshold(p: np.ndarray, second: np.ndarray, costs: np.ndarray) -> float:
    """Where the total cost of rows is least; of equals that nearest to where the costs break even.

    `p` is the probability of the second class, `second` whether a row is of it.

    >>> best_threshold(np.array([0.1, 0.2, 0.3]), np.array([False, True, True]), 1.0 - np.eye(2))
    0.15...
    """
    order = np.argsort(p, kind="stable")
    p, second = p[order], second[order]
    # What it adds to the cost to give the first label to so many rows of the smallest probability.
    added = np.zeros(len(p) + 1)
    np.cumsum(np.where(second, costs[1, 0] - costs[1, 1], costs[0, 0] - costs[0, 1]), out=added[1:])
    edges = np.concatenate([[0.0], p, [1.0]])
    middle = 0.5 * (edges[:-1] + edges[1:])
    apart = (edges[:-1] < middle) & (middle <= edges[1:]) & (middle > 0) & (middle < 1)
    if not apart.any():
        return 0.5
    middle, added = middle[apart], added[apart]
    best = middle[added <= added.min() + 1e-12 * np.abs(added).max()]
    near = break_even(costs) or 0.5
    return float(best[np.argmin(np.abs(best - near))])


def _places(pair: Any, names: list[str]) -> tuple[int, int]:
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise ValueError(f"costs: {pair!r} is no pair (true label, predicted label)")
    for label in pair:
        if as_word(label) not in names:
            raise ValueError(f"costs: there is no label {label!r}; the labels are {_few(names)}")
    return names.index(as_word(pair[0])), names.index(as_word(pair[1]))


def _number(value: Any, what: str) -> float:
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"{what} has {value!r}, which is no finite number")
    return float(value)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"


def _few(names: list[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
