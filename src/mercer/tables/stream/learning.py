"""One batch of a stream: every example is predicted, then learned."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from mercer.estimators.answers import Labelled
from mercer.online.machine import OnlineMachine
from mercer.online.streams import Metrics


@dataclass
class Foretold:
    """What became of some examples: predictions made before they were learned, and what those were worth."""

    prediction: np.ndarray  # labels or numbers
    probability: np.ndarray | None  # of the label that was predicted; None where the loss has none
    values: np.ndarray  # for a `Metrics`


def learn(
    machine: OnlineMachine,
    X: Any,
    y: np.ndarray,
    classes: Any = None,
    centre: float = 0.0,
    scale: float = 1.0,
) -> Foretold:
    """Predict and learn examples in their order; of numbers, (y − centre)/scale is what is learned."""
    if not isinstance(machine, Labelled):
        prediction = machine.predict_then_learn(X, (y - centre) / scale)[0] * scale + centre
        return Foretold(prediction, None, Metrics.errors(y, prediction))
    if machine.begun:
        return _joined([_labelled(machine, X[a:b], y[a:b]) for a, b in _stretches(machine, y)])
    classes = np.union1d(y, y if classes is None else _expected(classes, y))
    if len(classes) > 1:
        return _judged(machine, y, *machine.predict_then_learn(X, y, classes))
    # Nothing to tell apart yet. `learn_one` begins with one class, and with what is said of it.
    machine.learn_one(X[0], y[0].item())
    first = Foretold(y[:1], np.ones(1), Metrics.mistakes(np.ones(1), np.ones(1)))
    return _joined([first, learn(machine, X[1:], y[1:])] if len(y) > 1 else [first])


def _expected(classes: Any, y: np.ndarray) -> np.ndarray:
    """Labels that were announced, as those that came; the command knows words only."""
    try:
        return np.asarray(classes).astype(y.dtype if y.dtype.kind != "U" else str)
    except ValueError:
        what = f"classes={list(classes)} are expected, but the labels that come are whole numbers"
        raise ValueError(f"{what}, such as {y[0]}") from None


def _joined(parts: list[Foretold]) -> Foretold:
    sure = [p.probability for p in parts if p.probability is not None]
    return Foretold(
        np.concatenate([p.prediction for p in parts]),
        np.concatenate(sure) if len(sure) == len(parts) else None,
        np.concatenate([p.values for p in parts]),
    )


def _stretches(machine: Any, y: np.ndarray) -> list[tuple[int, int]]:
    """Parts of a batch that begin with labels nobody knew: no prediction may know them beforehand."""
    known, cuts = set(machine.classes_.tolist()), {0, len(y)}
    for i, label in enumerate(y.tolist()):
        if label not in known:
            known.add(label)
            cuts.add(i)
    return list(pairwise(sorted(cuts)))


def _labelled(machine: Any, X: Any, y: np.ndarray) -> Foretold:
    """A stretch of a batch; its first label may be new, and is predicted without knowing it."""
    if y[0] in machine.classes_:
        return _judged(machine, y, *machine.predict_then_learn(X, y))
    likely = machine.predict_proba(X[:1]) if hasattr(machine, "predict_proba") else None
    surprise = _judged(machine, y[:1], machine.predict(X[:1]), likely)
    rest = _judged(machine, y, *machine.predict_then_learn(X, y))
    sure = None if rest.probability is None else rest.probability[1:]
    return _joined([surprise, Foretold(rest.prediction[1:], sure, rest.values[1:])])


def _judged(machine: Any, y: np.ndarray, prediction: np.ndarray, P: np.ndarray | None) -> Foretold:
    """Predictions beside the labels that came; P are the probabilities of the machine's classes."""
    if P is None:
        return Foretold(prediction, None, Metrics.mistakes(prediction == y, None))
    classes = machine.classes_
    place = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    truth = np.where(classes[place] == y, P[np.arange(len(y)), place], 0.0)
    return Foretold(prediction, P.max(axis=1), Metrics.mistakes(prediction == y, truth))
