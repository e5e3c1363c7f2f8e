"""From points to scores: functions of kernels and of feature maps."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._xp import issparse
from mercer.codegen.onnx.pairs import GraphPoints
from mercer.codegen.symbols import NotTraceable, Symbol
from mercer.features import ExplicitFeatures, NystromFeatures, RandomFourierFeatures
from mercer.functions import FeatureFunction, KernelFunction
from mercer.functions.base import as_columns
from mercer.onnx.pairs import kernel_matrix


def scores(points: GraphPoints, f: KernelFunction | FeatureFunction) -> Symbol:
    """f(X), shape (n, t)."""
    coef = as_columns(np.asarray(f.coef, np.float64))
    if len(coef) == 0:
        return points.graph.filled(points.x, 0.0, coef.shape[1])
    if isinstance(f, KernelFunction):
        return _matrix(points, f.kernel, f.points) @ coef
    map = f.map
    if isinstance(map, NystromFeatures):
        return _matrix(points, map.kernel_, map.centres_) @ (map.whitening_ @ coef)
    if isinstance(map, RandomFourierFeatures):
        return _waves(points, map, coef)
    if isinstance(map, ExplicitFeatures):
        return _monomials(points, map, coef)
    raise NotTraceable(f"the feature map {map!r} has no ONNX version; mercer's own have")


def votes(
    points: GraphPoints, f: KernelFunction, where: np.ndarray, changes: np.ndarray, survival: np.ndarray
) -> Symbol:
    """Σ_j c_j sign f_j(X)/T, or the share of votes for each class: see `mercer.solvers.perceptron.vote`."""
    graph = points.graph
    K = _matrix(points, f.kernel, f.points)
    steps = graph.op("Gather", K, where.astype(np.int64), axis=1)
    share = (survival / survival.sum()).astype(np.float64)
    outputs = changes.shape[1]
    along = np.array(1, np.int64)
    values = [
        graph.op("CumSum", steps * changes[None, :, j].astype(np.float64), along) for j in range(outputs)
    ]
    if outputs == 1:
        return graph.op("Sign", values[0]) @ share[:, None]
    stacked = graph.op("Concat", *(graph.op("Unsqueeze", v, np.array([2], np.int64)) for v in values), axis=2)
    best = graph.op("ArgMax", stacked, axis=2, keepdims=0)
    columns = [graph.cast(graph.op("Equal", best, np.array(j, np.int64)), np.float64) for j in range(outputs)]
    return graph.op("Concat", *(c @ share[:, None] for c in columns), axis=1)


def _matrix(points: GraphPoints, kernel: Any, Z: Any) -> Symbol:
    Z = Z.toarray() if issparse(Z) else Z
    return kernel_matrix(points, kernel, np.asarray(Z, np.float64))


def _waves(points: GraphPoints, map: RandomFourierFeatures, coef: np.ndarray) -> Symbol:
    graph, half = points.graph, len(map.frequencies_)
    angle = points.x @ np.asarray(map.frequencies_, np.float64).T
    coef = coef * np.sqrt(map.amplitude_ / half)
    return graph.op("Cos", angle) @ coef[:half] + graph.op("Sin", angle) @ coef[half:]


def _monomials(points: GraphPoints, map: ExplicitFeatures, coef: np.ndarray) -> Symbol:
    """Degree by degree, each monomial from one of lower degree times one variable."""
    graph = points.graph
    coef = coef * np.sqrt(map.weights_)[:, None]
    level = graph.filled(points.x, 1.0, 1)
    total = None
    for parent, factor, wanted, place in map.levels_:
        if parent is not None:
            below = graph.op("Gather", level, parent.astype(np.int64), axis=1)
            level = below * graph.op("Gather", points.x, factor.astype(np.int64), axis=1)
        if place.start == place.stop:
            continue
        part = level if wanted is None else graph.op("Gather", level, wanted.astype(np.int64), axis=1)
        value = part @ coef[place]
        total = value if total is None else total + value
    assert total is not None  # there is at least one monomial, or there would be no coefficients
    return total
