"""K(X, Z) for new points X and known ones Z: a kernel's formula, traced, as nodes of a graph.

`mercer.kernels.formula.trace` calls a kernel's formula with symbols and gives a short programme. Its
operations, its statistics of pairs and its numbers of single points are all there is to translate, so a
new kernel needs no line here.
"""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np

from mercer.kernels import Kernel
from mercer.kernels.formula import Leaf, Programme, Scalar, View, trace
from mercer.kernels.symbols import NotTraceable
from mercer.onnx.graph import Graph, Value

# Up to this dimension squared distances are sums of squared differences, one coordinate at a time.
_DIRECT_DIMENSIONS = 16
_ROUNDING = 64 * float(np.finfo(np.float64).eps)

_UNARY = {"sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "tanh": "Tanh", "abs": "Abs"}
_BINARY = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "max": "Max", "min": "Min"}


class Points:
    """The input X of a graph (doubles, d features), as views show it."""

    def __init__(self, graph: Graph, x: Value, width: int):
        self.graph, self.x, self.width = graph, x, width
        self._seen: dict[View, Value] = {}

    def through(self, view: View) -> Value:
        if view not in self._seen:
            self._seen[view] = self._mapped(view) if view.chain else self.x
        return self._seen[view]

    def _mapped(self, view: View) -> Value:
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


def kernel_matrix(points: Points, kernel: Kernel, Z: np.ndarray) -> Value:
    """K(X, Z), shape (n, m)."""
    graph, formula = points.graph, trace(kernel)
    leaves = [_statistic(points, leaf, Z) for leaf in formula.leaves]

    def source(what: str, i: int) -> Any:
        if what == "leaf":
            return leaves[i]
        scalar = formula.scalars[i]
        if what == "row":
            return graph.column(_number_of_x(points, scalar))
        return graph.constant(np.asarray(scalar.compute(scalar.view.points(Z)), np.float64)[None, :])

    out = _run(graph, formula.programme, source)
    if not formula.leaves and not formula.scalars:  # a constant is to have a shape
        out = graph.filled(points.x, 0.0, len(Z)) + out
    return out


def diagonal(points: Points, kernel: Kernel, view: View) -> Value:
    """k(x, x) of every point as the view shows it, shape (n,)."""
    graph, formula = points.graph, trace(kernel)

    def beyond(inner: View) -> View:
        return View((*view.chain, *inner.chain))

    def source(what: str, i: int) -> Any:
        if what != "leaf":
            scalar = formula.scalars[i]
            return _number_of_x(points, Scalar(scalar.name, beyond(scalar.view), scalar.compute))
        leaf = formula.leaves[i]
        x = points.through(beyond(leaf.view))
        if leaf.statistic.formula == "x·z":
            return graph.row_sums(x * x) * leaf.scale
        if leaf.statistic.formula == "‖x−z‖²":
            return 0.0
        return graph.row_sums(_run(graph, _term(leaf), lambda what, _: x)) * leaf.scale

    return graph.filled(points.x, 0.0) + _run(graph, formula.programme, source)


def _number_of_x(points: Points, scalar: Scalar) -> Value:
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

    def __init__(self, points: Points, kernel: Kernel, view: View):
        self._of = points, kernel, view

    def diagonal(self, X: Any) -> Value:
        return diagonal(*self._of)


# -- statistics of pairs --------------------------------------------------------------------------


def _statistic(points: Points, leaf: Leaf, Z: np.ndarray) -> Value:
    graph, x, z = points.graph, points.through(leaf.view), np.asarray(leaf.view.points(Z), np.float64)
    if leaf.statistic.formula == "x·z":
        return x @ (z.T * leaf.scale)
    if leaf.statistic.formula != "‖x−z‖²":
        return _coordinate_sum(graph, x, z, _term(leaf)) * leaf.scale
    if z.shape[1] <= _DIRECT_DIMENSIONS:
        return _coordinate_sum(graph, x, z, None) * leaf.scale
    # Subtracting one vector from all points changes no distance, only the rounding.
    centre = z.mean(axis=0, keepdims=True)
    x, z = x - centre, z - centre
    both = graph.row_sums(x * x, keep=True) + (z * z).sum(axis=1)[None, :]
    S = both - x @ (2 * z.T)
    # What rounding leaves of a zero is cleaned up: a root would make much of it.
    return graph.op("Where", both * _ROUNDING < S, S, 0.0) * leaf.scale


def _term(leaf: Leaf) -> Programme:
    if leaf.term is None:
        raise NotTraceable(f"its statistic {type(leaf.statistic).__name__} has no formula")
    return leaf.term


def _coordinate_sum(graph: Graph, x: Value, z: np.ndarray, term: Programme | None) -> Value:
    """Σ_k t(x_k, z_k), one coordinate after the other: no more than (n, m) numbers at a time.

    Without a programme t is (x_k − z_k)².
    """
    from onnx import TensorProto, helper

    start = graph.filled(x, 0.0, len(z))
    body = Graph(graph)
    total, xk, zk = (Value(body, body.name()) for _ in range(3))
    a, b = body.column(xk), body.op("Unsqueeze", zk, np.array([0], np.int64))
    t = np.square(a - b) if term is None else _run(body, term, lambda what, _: a if what == "x" else b)
    result = total + t
    declared: list[tuple[Value, list[Any]]] = [(total, ["n", len(z)]), (xk, ["n"]), (zk, [len(z)])]
    inputs = [helper.make_tensor_value_info(v.name, TensorProto.DOUBLE, shape) for v, shape in declared]
    output = helper.make_tensor_value_info(result.name, TensorProto.DOUBLE, ["n", len(z)])
    step = helper.make_graph(body.nodes, "coordinate", inputs, [output])
    across = graph.op("Transpose", x, perm=[1, 0])
    return graph.op("Scan", start, across, np.ascontiguousarray(z.T), body=step, num_scan_inputs=2)


# -- programmes -----------------------------------------------------------------------------------


def _run(graph: Graph, programme: Programme, source: Any) -> Any:
    """The result of a programme whose sources (leaf, row, column, x, z) are given."""
    done: list[Any] = []
    for operation, *operands in programme.instructions:
        if operation == "constant":
            done.append(programme.constants[operands[0]])
        elif operation in ("leaf", "row", "column", "x", "z"):
            done.append(source(operation, *(operands or [0])))
        elif operation in _UNARY:
            done.append(graph.op(_UNARY[operation], done[operands[0]]))
        elif operation in _BINARY:
            done.append(graph.op(_BINARY[operation], *(done[i] for i in operands)))
        elif operation == "exp2":
            done.append(graph.op("Exp", graph.op("Mul", done[operands[0]], math.log(2))))
        elif operation == "log2":
            done.append(graph.op("Mul", graph.op("Log", done[operands[0]]), 1 / math.log(2)))
        elif operation == "arccos":
            done.append(_arccos(graph, graph.value(done[operands[0]])))
        else:
            raise NotTraceable(f"its formula holds {operation!r}, which has no ONNX version")
    return done[-1]


def _arccos(graph: Graph, c: Value) -> Value:
    """arccos to double precision; runtimes have arcsin for single precision only.

    θ = 2 arcsin √((1 − |c|)/2) for c ≥ 0 and π minus that below: the sine is at most √½, so a single
    arcsin is off by 1e-7 and one step of Newton's method by 1e-14.
    """
    sine = graph.op("Sqrt", graph.op("Max", (1.0 - graph.op("Abs", c)) * 0.5, 0.0))
    rough = graph.cast(graph.op("Asin", graph.cast(sine, np.float32)), np.float64)
    half = rough + (sine - graph.op("Sin", rough)) / graph.op("Cos", rough)
    angle = half * 2.0
    return graph.op("Where", c >= 0.0, angle, math.pi - angle)
