"""One batch of a stream: every example is predicted, then learned."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from mercer.estimators.inputs import Labelled
from mercer.online.machine import OnlineMachine
from mercer.online.metrics import Metrics


@dataclass
class Batch:
    """What became of some examples: predictions made before they were learned, and what those were worth.

    Attributes
    ----------
    prediction : labels or numbers
    probability : of the label that was predicted; None where the loss has none
    values : for a `Metrics`
    """

    prediction: np.ndarray
    probability: np.ndarray | None
    values: np.ndarray


def learn(
    machine: OnlineMachine,
    X: Any,
    y: np.ndarray,
    classes: Any = None,
    centre: float = 0.0,
    scale: float = 1.0,
) -> Batch:
    """Predict and learn examples in their order; of numbers, (y − centre)/scale is what is learned."""
    if not isinstance(machine, Labelled):
        scores = machine.partial_fit_scores(X, (y - centre) / scale)
        prediction = machine.coding_.decode(scores) * scale + centre
        return Batch(prediction, None, Metrics.errors(y, prediction))
    if not machine.begun:
        classes = np.union1d(y, y if classes is None else _expected(classes, y))
        if len(classes) > 1:
            return _labelled(machine, X, y, classes)
        # Nothing to tell apart yet. `learn_one` begins with one class, and with what is said of it.
        machine.learn_one(X[0], y[0].item())
        first = Batch(y[:1], np.ones(1), Metrics.mistakes(np.ones(1), np.ones(1)))
        return _joined([first, learn(machine, X[1:], y[1:])] if len(y) > 1 else [first])
    return _joined([_labelled(machine, X[a:b], y[a:b]) for a, b in _stretches(machine, y)])


def _expected(classes: Any, y: np.ndarray) -> np.ndarray:
    """Labels that were announced, as those that came; the command knows words only."""
    try:
        return np.asarray(classes).astype(y.dtype if y.dtype.kind != "U" else str)
    except ValueError:
        what = f"classes={list(classes)} are expected, but the labels that come are whole numbers"
        raise ValueError(f"{what}, such as {y[0]}") from None


def _joined(parts: list[Batch]) -> Batch:
    sure = [p.probability for p in parts if p.probability is not None]
    return Batch(
        np.concatenate([p.prediction for p in parts]),
        np.concatenate(sure) if len(sure) == len(parts) else None,
        np.concatenate([p.values for p in parts]),
    )


def _stretches(machine: Any, y: np.ndarray) -> list[tuple[int, int]]:
    """Parts of a batch that begin with labels nobody knew: no prediction may know them beforehand."""
    known, cuts = set(machine.classes_.tolist()), [0]
    for i, label in enumerate(y.tolist()):
        if label not in known:
            known.add(label)
            cuts.append(i)
    cuts = sorted({*cuts, len(y)})
    return list(pairwise(cuts))


def _labelled(machine: Any, X: Any, y: np.ndarray, classes: Any = None) -> Batch:
    """A stretch of a batch; its first label may be new."""
    if not machine.begun or y[0] in machine.classes_:
        return _judged(machine, machine.partial_fit_scores(X, y, classes), y)
    surprise = _judged(machine, machine.scores(X[:1]), y[:1])
    batch = _judged(machine, machine.partial_fit_scores(X, y), y)
    rest = Batch(batch.prediction[1:], None, batch.values[1:])
    rest.probability = None if batch.probability is None else batch.probability[1:]
    return _joined([surprise, rest])


def _judged(machine: Any, scores: np.ndarray, y: np.ndarray) -> Batch:
    coding = machine.coding_
    prediction = coding.decode(scores)
    if not machine.rule_.loss.has_probability:
        return Batch(prediction, None, Metrics.mistakes(prediction == y, None))
    P = coding.probability(scores)
    rows = np.arange(len(y))
    place = np.minimum(np.searchsorted(coding.classes, y), len(coding.classes) - 1)
    truth = np.where(coding.classes[place] == y, P[rows, place], 0.0)
    return Batch(prediction, P.max(axis=1), Metrics.mistakes(prediction == y, truth))
