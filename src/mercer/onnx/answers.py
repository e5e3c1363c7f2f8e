"""From scores to what a machine answers: predictions, labels, probabilities.

How a loss turns scores into answers is recognised by its values (the identity, an exponential, a sigmoid,
…) and not by its name, so that losses of one's own are served as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import expit, logit, softmax

from mercer.codegen.onnx.graph import OnnxGraph
from mercer.codegen.symbols import NotTraceable, Symbol
from mercer.estimators.calibration import Calibration
from mercer.losses.coding import LabelCoding, TargetCoding
from mercer.losses.pairs import PairCoding
from mercer.tables.model.decision import Decision


def _some_scores(outputs: int) -> np.ndarray:
    """Scores on which functions are told apart; those of several outputs come in all orders."""
    return np.random.default_rng(0).standard_normal((50, outputs))


# -- numbers --------------------------------------------------------------------------------------


def prediction(graph: OnnxGraph, s: Symbol, coding: TargetCoding) -> Symbol:
    """What a regression predicts, shaped as y was."""
    t = coding.n_outputs
    probe = _some_scores(t)
    linked = np.asarray(coding.loss.link(probe))
    if np.allclose(linked, np.exp(probe)):
        s = graph.op("Exp", s)
    elif not np.allclose(linked, probe):
        # Sorted, and put in the order of the levels: where does the smallest go?
        places = np.argsort(np.argsort(linked[0]))
        if not np.allclose(linked, np.sort(probe, axis=1)[:, places]):
            raise NotTraceable(
                f"the predictions of {coding.loss!r} are no function of scores that ONNX export knows"
            )
        ascending, _ = graph.ops("TopK", 2, s, np.array([t], np.int64), axis=1, largest=0, sorted=1)
        s = graph.op("Gather", ascending, places.astype(np.int64), axis=1)
    return graph.flat(s) if coding.one_dimensional else s


# -- decisions of models ----------------------------------------------------------------------------


def unweighted(graph: OnnxGraph, P: Symbol, classes: np.ndarray, weights: Mapping[Any, float]) -> Symbol:
    """Probabilities among rows as they are; see `mercer.tables.model.decision.unweighted`."""
    w = np.array([weights.get(c, 1.0) for c in classes.tolist()])
    found = P * (w.min() / w)[None, :]
    return found / graph.op("MatMul", found, np.ones((len(w), 1)))


def decided(graph: OnnxGraph, P: Symbol, decision: Decision, classes: np.ndarray) -> Symbol:
    """The labels of a threshold, or of the least expected cost."""
    if decision.threshold is not None:
        second = graph.flat(graph.op("MatMul", P, np.array([[0.0], [1.0]])))
        place = graph.op("Where", second >= decision.threshold, np.array(1, np.int64), np.array(0, np.int64))
    else:
        place = graph.op("ArgMin", graph.op("MatMul", P, decision.costs), axis=1, keepdims=0)
    return graph.op("Gather", labels_of(classes), place)


# -- labels ---------------------------------------------------------------------------------------


def labels_of(classes: np.ndarray) -> np.ndarray:
    """Labels as ONNX has them: whole numbers or text."""
    values = classes.tolist()
    if all(isinstance(v, str) for v in values):
        return np.array(values, dtype=str)
    if all(isinstance(v, (bool, int, float)) and float(v).is_integer() for v in values):
        return np.array([int(v) for v in values], np.int64)
    raise NotTraceable(f"the labels {values[:3]} are neither text nor whole numbers")


def decision(graph: OnnxGraph, s: Symbol, coding: LabelCoding) -> Symbol:
    """(n,) for two classes, else (n, k)."""
    k = len(coding.classes)
    if isinstance(coding, PairCoding):
        sides = coding.sides
        won = graph.cast(s > 0.0, np.float64)
        ballot = won @ np.maximum(sides, 0).T - (1.0 - won) @ np.minimum(sides, 0).T
        confidence = s @ sides.T
        return ballot + confidence / (3.0 * (np.abs(confidence) + 1.0))
    if coding.n_outputs == 1:
        return graph.flat(s)
    return graph.flat(s @ np.array([[-1.0], [1.0]])) if k == 2 else s


def best_class(graph: OnnxGraph, d: Symbol, coding: LabelCoding) -> Symbol:
    """Positions of the chosen classes, (n,)."""
    if len(coding.classes) == 2:
        return graph.cast(d > 0.0, np.int64)
    return graph.op("ArgMax", d, axis=1, keepdims=0)


# -- probabilities --------------------------------------------------------------------------------


def probabilities(graph: OnnxGraph, s: Symbol, coding: LabelCoding, best: Symbol) -> Symbol:
    """(n, k), of a loss that has them."""
    loss, t = coding.loss, coding.n_outputs
    if loss.joint:
        probe = _some_scores(t)
        if not np.allclose(loss.probability(probe), softmax(probe, axis=1)):
            raise NotTraceable(f"the probabilities of {loss!r} are not a softmax of scores")
        return graph.op("Softmax", s, axis=1)
    slope = _slope(loss)
    p = graph.op("Sigmoid", s * slope)
    if t == 1:
        # 1 − σ(s) would lose the digits of a small probability.
        return graph.op("Concat", graph.op("Sigmoid", s * -slope), p, axis=1)
    total = graph.row_sums(p, keep=True)
    sure = graph.cast(_chosen(graph, best, t), np.float64)
    return graph.op("Where", total > 0.0, p / np.maximum(total, 1e-300), sure)


def _slope(loss: Any) -> float:
    """a with P = σ(a s)."""
    s = _some_scores(1)
    p = np.asarray(loss.probability(s))
    with np.errstate(divide="ignore"):
        slope = float(logit(p[0, 0]) / s[0, 0])
    if not np.isfinite(slope) or not np.allclose(p, expit(slope * s)):
        raise NotTraceable(f"the probabilities of {loss!r} are not a sigmoid of scores")
    return slope


def calibrated(
    graph: OnnxGraph, s: Symbol, coding: LabelCoding, calibration: Calibration, best: Symbol
) -> Symbol:
    """(n, k), learned out of sample: see `mercer.estimators.calibration`."""
    if coding.n_outputs == 1:
        negative, positive = calibration.slopes
        a = graph.op("Where", s > 0.0, positive, negative) * s
        return graph.op("Concat", graph.op("Sigmoid", -a), graph.op("Sigmoid", a), axis=1)
    slope = calibration.slopes[0]
    if isinstance(coding, PairCoding):
        evidence = np.minimum(np.maximum(s, -1.0), 1.0) @ (slope * coding.sides.T)
    else:
        evidence = s * slope
    p = graph.op("Softmax", evidence, axis=1)
    k = len(coding.classes)
    chosen = _chosen(graph, best, k)
    likeliest = graph.op("ArgMax", p, axis=1, keepdims=0)
    agreed = graph.column(graph.op("Equal", likeliest, best))
    return graph.op("Where", agreed, p, _levelled(graph, p, chosen, k))


def _levelled(graph: OnnxGraph, p: Symbol, chosen: Symbol, k: int) -> Symbol:
    """No probability above that of the chosen class: it shares alike with those that were."""
    own = graph.row_sums(graph.op("Where", chosen, p, 0.0), keep=True)
    others = graph.op("Where", chosen, 0.0, p)
    falling, _ = graph.ops("TopK", 2, others, np.array([k], np.int64), axis=1, largest=1, sorted=1)
    total = own + graph.op("CumSum", falling, np.array(1, np.int64))
    level = graph.op("ReduceMax", total / np.arange(2.0, k + 2)[None, :], axes=[1], keepdims=1)
    return graph.op("Where", chosen, level, graph.op("Min", p, level))


def _chosen(graph: OnnxGraph, best: Symbol, k: int) -> Symbol:
    """(n, k): is it the chosen class?"""
    return graph.op("Equal", graph.column(best), np.arange(k, dtype=np.int64)[None, :])
