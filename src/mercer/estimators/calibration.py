"""Probabilities from scores, learned out of sample, that can't contradict the prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax
from sklearn.base import clone

from mercer._state import require
from mercer._units import fewest_in_a_class, folds, units_of
from mercer.estimators.lam import FromC, is_auto
from mercer.losses.coding import LabelCoding, favouring
from mercer.losses.pairs import PairCoding

_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Calibration:
    """Two classes: P = 1/(1 + exp(−a s)), one a for each sign of s; more: softmax of a times the evidence.

    Both are increasing and give a half (or a tie) exactly where the machine is undecided, so the likeliest
    class is the predicted one. Platt's sigmoid has a constant, too, and with it can contradict the machine.
    """

    slopes: tuple[float, ...]

    @classmethod
    def learn(
        cls, machine: Any, X: Any, y: Any, sample_weight: Any, weights: Any, units: np.ndarray | None = None
    ) -> Calibration:
        """From scores of examples by machines that have not seen them, nor others of their unit.

        `weights` include those of classes; without `units` equal examples are one.
        """
        y = np.asarray(y).ravel()
        w = np.ones(len(y)) if weights is None else np.broadcast_to(weights, len(y))
        given = None if sample_weight is None else np.broadcast_to(np.asarray(sample_weight), len(y))
        rows = np.flatnonzero(w)  # weight 0 means absent: no fold has such examples
        units = units_of(X) if units is None else units
        scores, labels = _out_of_sample(machine, X, y, given, rows, units[rows])
        return cls.of_scores(scores, labels, machine.coding_, w[rows])

    @classmethod
    def of_scores(
        cls, scores: np.ndarray, labels: np.ndarray, coding: LabelCoding, weights: Any = None
    ) -> Calibration:
        """From scores (n, outputs) of examples not fitted to, and the numbers of their classes."""
        w = np.ones(len(labels)) if weights is None else np.asarray(weights, dtype=np.float64)
        if scores.shape[1] == 1:
            return cls(_two_slopes(scores[:, 0], labels, w))
        evidence = _evidence(scores, coding)
        size = float(np.abs(evidence).max()) or 1.0
        target = _sure(labels, w, len(coding.classes))

        def cost(a):
            return -float(w @ (target * log_softmax(a[0] * evidence, axis=1)).sum(axis=1))

        found = minimize(cost, [1.0 / size], bounds=[(1e-3 / size, 1e3 / size)], method="L-BFGS-B")
        return cls((float(found.x[0]),))

    def check_for(self, coding: LabelCoding) -> None:
        """Require one slope for each side of two classes, or one for more."""
        slopes = 2 if coding.n_outputs == 1 else 1
        require(len(self.slopes) == slopes, f"the calibration has not {slopes} slopes")

    def probability(self, scores: np.ndarray, coding: LabelCoding) -> np.ndarray:
        """(n, k)"""
        decision = coding.decision(scores)
        if scores.shape[1] == 1:
            negative, positive = self.slopes
            s = scores[:, 0]
            p = expit(np.where(s > 0, positive, negative) * s)
            return favouring(np.column_stack([1 - p, p]), (s > 0).astype(np.intp))
        p = softmax(self.slopes[0] * _evidence(scores, coding), axis=1)
        best = decision.argmax(axis=1)
        # A vote can be won on less evidence.
        rows = np.flatnonzero(p.argmax(axis=1) != best)
        p[rows] = _levelled(p[rows], best[rows])
        return favouring(p, best)


def _levelled(p: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Probabilities of which none is above that at `best`: it shares alike with those that were."""
    rows = np.arange(len(p))
    own, others = p[rows, best], p.copy()
    others[rows, best] = 0
    total = own[:, None] + np.cumsum(-np.sort(-others, axis=1), axis=1)
    level = (total / np.arange(2, p.shape[1] + 2)).max(axis=1)
    out = np.minimum(p, level[:, None])
    out[rows, best] = level
    return out


def _evidence(scores: np.ndarray, coding: LabelCoding) -> np.ndarray:
    return coding.votes(scores, soft=True) if isinstance(coding, PairCoding) else scores


def _two_slopes(s: np.ndarray, labels: np.ndarray, w: np.ndarray) -> tuple[float, float]:
    """The likeliest a for s < 0 and a for s > 0."""
    size = float(np.abs(s).max()) or 1.0
    target = _sure(labels, w, 2)[:, 1]
    sides = np.column_stack([np.minimum(s, 0), np.maximum(s, 0)]) / size

    def cost(a):
        z = sides @ a
        return float(w @ (np.logaddexp(0, z) - target * z)), sides.T @ (w * (expit(z) - target))

    found = minimize(cost, [1.0, 1.0], jac=True, bounds=[(1e-3, 1e4)] * 2, method="L-BFGS-B")
    a = found.x / size
    return float(a[0]), float(a[1])


def _sure(labels: np.ndarray, w: np.ndarray, k: int) -> np.ndarray:
    """How sure of each class to be, (n, k): with m examples of it (m + 1)/(m + 2), as Platt is.

    Otherwise scores that separate the classes would make probabilities of 0 and 1.
    """
    m = np.bincount(labels, weights=w, minlength=k)[labels]
    target = np.repeat((1 / ((m + 2) * (k - 1)))[:, None], k, axis=1)
    target[np.arange(len(labels)), labels] = (m + 1) / (m + 2)
    return target


def _out_of_sample(
    machine: Any, X: Any, y: np.ndarray, sample_weight: Any, rows: np.ndarray, units: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Scores (rows, outputs) of rows by a machine fitted to other folds, and their classes."""
    from sklearn.utils.metaestimators import _safe_split

    labels = np.searchsorted(machine.classes_, y[rows])
    if np.bincount(labels).min() < 2:
        rare = machine.classes_.tolist()[int(np.bincount(labels).argmin())]
        raise ValueError(
            f"probability=True needs at least two examples of each class, but {rare!r} has one: drop it, or "
            "use KernelLogistic, whose probabilities need no calibration"
        )
    fewest = fewest_in_a_class(labels, units)
    if fewest < 2:
        raise ValueError(
            "probability=True needs two different examples of each class at least; one has equal ones (or "
            "those of one group) only: use KernelLogistic, whose probabilities need no calibration"
        )
    other = clone(machine).set_params(probability=False, warm_start=False)
    if is_auto(machine.lam) and machine.nu is None:
        # Not chosen anew: the same C, whose λ goes with the rows of a fold.
        weights = machine._example_weights(y, sample_weight)
        other.set_params(lam=FromC(1 / (2 * machine.lam_ * (len(y) if weights is None else np.sum(weights)))))
    scores = np.empty((len(rows), machine.solution_.intercept.shape[0]))
    for train, test in folds(units, min(_FOLDS, fewest), labels):
        here, labels_here = _safe_split(other, X, y, rows[train])
        there, _ = _safe_split(other, X, y, rows[test], rows[train])
        w = None if sample_weight is None else sample_weight[rows[train]]
        scores[test] = clone(other).fit(here, labels_here, w).scores(there)
    return scores, labels
