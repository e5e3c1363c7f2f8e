"""Formulas of pairs of points as nodes of a graph: operations, statistics, and points as views show them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mercer.codegen.formula import Leaf, View
from mercer.codegen.onnx.graph import OnnxGraph
from mercer.codegen.programme import Programme
from mercer.codegen.symbols import NotTraceable, Symbol

# Up to this dimension squared distances are sums of squared differences, one coordinate at a time.
_DIRECT_DIMENSIONS = 16
_ROUNDING = 64 * float(np.finfo(np.float64).eps)

# Instructions → NumPy's names, where they differ.
_NUMPY = {
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "max": "maximum",
    "min": "minimum",
    "abs": "absolute",
}


class GraphPoints:
    """The input X of a graph (doubles, d features), as views show it."""

    def __init__(self, graph: OnnxGraph, x: Symbol, width: int):
        self.graph, self.x, self.width = graph, x, width
        self._seen: dict[View, Symbol] = {}

    def through(self, view: View) -> Symbol:
        if view not in self._seen:
            self._seen[view] = self._mapped(view) if view.chain else self.x
        return self._seen[view]

    def _mapped(self, view: View) -> Symbol:
        """view(X) = X A, since columns, length scales and metrics are linear in the points."""
        probe = np.random.default_rng(0).uniform(0.5, 1.5, (3, self.width))
        seen = np.asarray(view.points(probe), np.float64)
        index, scale = _picked(view, self.width)
        if np.allclose(seen, probe[:, index] * scale, rtol=1e-12, atol=0):
            same = np.array_equal(index, np.arange(self.width))
            out = self.x if same else self.graph.op("Gather", self.x, index, axis=1)
            return out if (scale == 1).all() else out * scale[None, :]
        A = np.asarray(view.points(np.eye(self.width)), np.float64)
        if not np.allclose(seen, probe @ A, rtol=1e-9, atol=1e-12 * np.abs(A).max(initial=1)):
            raise NotTraceable("it changes points in a way that is not linear")
        return self.x @ A


def _picked(view: View, width: int) -> tuple[np.ndarray, np.ndarray]:
    """(index, scale) of a view that picks columns and scales them; of another, something else."""
    scale = np.asarray(view.points(np.ones((1, width))), np.float64)[0]
    counted = np.asarray(view.points(np.arange(1.0, width + 1)[None, :]), np.float64)[0]
    index = np.rint(counted / np.where(scale == 0, 1, scale)) - 1
    return np.clip(index, 0, width - 1).astype(np.int64), scale


def statistic(points: GraphPoints, leaf: Leaf, Z: np.ndarray) -> Symbol:
    graph, x, z = points.graph, points.through(leaf.view), np.asarray(leaf.view.points(Z), np.float64)
    if leaf.kind == "dot":
        return x @ (z.T * leaf.scale)
    if leaf.kind != "distance":
        return _coordinate_sum(graph, x, z, term_of(leaf)) * leaf.scale
    if z.shape[1] <= _DIRECT_DIMENSIONS:
        return _coordinate_sum(graph, x, z, None) * leaf.scale
    # Subtracting one vector from all points changes no distance, only the rounding.
    centre = z.mean(axis=0, keepdims=True)
    x, z = x - centre, z - centre
    both = graph.row_sums(x * x, keep=True) + (z * z).sum(axis=1)[None, :]
    S = both - x @ (2 * z.T)
    # What rounding leaves of a zero is cleaned up: a root would make much of it.
    return graph.op("Where", both * _ROUNDING < S, S, 0.0) * leaf.scale


def term_of(leaf: Leaf) -> Programme:
    if leaf.term is None:
        raise NotTraceable(f"its statistic {type(leaf.statistic).__name__} has no formula")
    return leaf.term


def _coordinate_sum(graph: OnnxGraph, x: Symbol, z: np.ndarray, term: Programme | None) -> Symbol:
    """Σ_k t(x_k, z_k), one coordinate after the other: no more than (n, m) numbers at a time.

    Without a programme t is (x_k − z_k)².
    """
    from onnx import TensorProto, helper

    start = graph.filled(x, 0.0, len(z))
    body = OnnxGraph(graph)
    total, xk, zk = (Symbol(body, body.name()) for _ in range(3))
    a, b = body.column(xk), body.op("Unsqueeze", zk, np.array([0], np.int64))
    t = np.square(a - b) if term is None else result(body, term, {"x": lambda: a, "z": lambda: b})
    out = total + t
    declared: list[tuple[Symbol, list[Any]]] = [(total, ["n", len(z)]), (xk, ["n"]), (zk, [len(z)])]
    inputs = [helper.make_tensor_value_info(v.place, TensorProto.DOUBLE, shape) for v, shape in declared]
    output = helper.make_tensor_value_info(out.place, TensorProto.DOUBLE, ["n", len(z)])
    step = helper.make_graph(body.nodes, "coordinate", inputs, [output])
    across = graph.op("Transpose", x, perm=[1, 0])
    return graph.op("Scan", start, across, np.ascontiguousarray(z.T), body=step, num_scan_inputs=2)


def result(graph: OnnxGraph, programme: Programme, sources: Mapping[str, Callable[..., Any]]) -> Any:
    """The result of a programme whose sources (leaf, row, column, x, z) are given."""

    def apply(operation: str, *values: Any) -> Any:
        if operation == "exp2":
            return graph.op("Exp", graph.op("Mul", *values, math.log(2)))
        if operation == "log2":
            return graph.op("Mul", graph.op("Log", *values), 1 / math.log(2))
        if operation == "arccos":
            return _arccos(graph, graph.value(*values))
        return graph.apply(_NUMPY.get(operation, operation), *values)

    return programme.evaluate(apply, sources)


def _arccos(graph: OnnxGraph, c: Symbol) -> Symbol:
    """arccos to double precision; runtimes have arcsin for single precision only.

    θ = 2 arcsin √((1 − |c|)/2) for c ≥ 0 and π minus that below: the sine is at most √½, so a single
    arcsin is off by 1e-7 and one step of Newton's method by 1e-14.
    """
    sine = graph.op("Sqrt", graph.op("Max", (1.0 - graph.op("Abs", c)) * 0.5, 0.0))
    rough = graph.cast(graph.op("Asin", graph.cast(sine, np.float32)), np.float64)
    half = rough + (sine - graph.op("Sin", rough)) / graph.op("Cos", rough)
    angle = half * 2.0
    return graph.op("Where", c >= 0.0, angle, math.pi - angle)
