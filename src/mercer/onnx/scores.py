"""From points to scores: functions of kernels and of feature maps, as nodes of a graph.

`mercer.codegen.onnx` translates formulas of kernels, so a new kernel needs no line here.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._xp import issparse
from mercer.codegen.formula import PointScalar, View
from mercer.codegen.onnx.pairs import GraphPoints, result, statistic, term_of
from mercer.codegen.symbols import NotTraceable, Symbol
from mercer.features import ExplicitFeatures, NystromFeatures, RandomFourierFeatures
from mercer.functions import FeatureFunction, KernelFunction
from mercer.functions.base import as_columns
from mercer.kernels import Kernel
from mercer.kernels.formula import trace


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
    if type(map) is RandomFourierFeatures:  # others are of other coordinates
        return _waves(points, map, coef)
    if isinstance(map, ExplicitFeatures):
        return _monomials(points, map, coef)
    raise NotTraceable(
        f"the feature map {map!r} has no ONNX version; NystromFeatures, RandomFourierFeatures and "
        "ExplicitFeatures have"
    )


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


def kernel_matrix(points: GraphPoints, kernel: Kernel, Z: np.ndarray) -> Symbol:
    """K(X, Z), shape (n, m)."""
    graph, formula = points.graph, trace(kernel)
    leaves = [statistic(points, leaf, Z) for leaf in formula.leaves]

    def row(i: int) -> Symbol:
        return graph.column(_number_of_x(points, formula.scalars[i]))

    def column(i: int) -> Symbol:
        scalar = formula.scalars[i]
        return graph.constant(np.asarray(scalar.compute(scalar.view.points(Z)), np.float64)[None, :])

    out = result(graph, formula.programme, {"leaf": leaves.__getitem__, "row": row, "column": column})
    if not formula.leaves and not formula.scalars:  # a constant is to have a shape
        out = graph.filled(points.x, 0.0, len(Z)) + out
    return out


def diagonal(points: GraphPoints, kernel: Kernel, view: View) -> Symbol:
    """k(x, x) of every point as the view shows it, shape (n,)."""
    graph, formula = points.graph, trace(kernel)

    def beyond(inner: View) -> View:
        return View((*view.chain, *inner.chain))

    def number(i: int) -> Symbol:
        scalar = formula.scalars[i]
        return _number_of_x(points, replace(scalar, view=beyond(scalar.view)))

    def statistic_of_one(i: int) -> Any:
        leaf = formula.leaves[i]
        x = points.through(beyond(leaf.view))
        if leaf.kind == "dot":
            return graph.row_sums(x * x) * leaf.scale
        if leaf.kind == "distance":
            return 0.0
        return graph.row_sums(result(graph, term_of(leaf), {"x": lambda: x, "z": lambda: x})) * leaf.scale

    sources = {"leaf": statistic_of_one, "row": number, "column": number}
    return graph.filled(points.x, 0.0) + result(graph, formula.programme, sources)


def _number_of_x(points: GraphPoints, scalar: PointScalar) -> Symbol:
    """A number that belongs to each new point, shape (n,)."""
    owner = getattr(scalar.compute, "__self__", None)
    x = points.through(scalar.view)
    if not isinstance(owner, Kernel) or not owner.children():
        return scalar.compute(x)  # type: ignore[return-value]
    # A number made of k(x, x) of kernels inside: these are given by their formulas.
    stand_in = copy.copy(owner)
    for name, child in owner.children().items():
        setattr(stand_in, name, _Diagonal(points, child, scalar.view))
    return scalar.compute.__func__(stand_in, x)  # type: ignore[attr-defined]


class _Diagonal:
    """A kernel of which only k(x, x) is asked."""

    def __init__(self, points: GraphPoints, kernel: Kernel, view: View):
        self._of = points, kernel, view

    def diagonal(self, X: Any) -> Symbol:
        return diagonal(*self._of)
