"""K(X, Z) for new points X and known ones Z, as nodes of a graph: a kernel's formula, traced.

`mercer.codegen.onnx` translates formulas, so a new kernel needs no line here.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.codegen.formula import PointScalar, View
from mercer.codegen.onnx.pairs import GraphPoints, result, statistic, term_of
from mercer.codegen.symbols import Symbol
from mercer.kernels import Kernel
from mercer.kernels.formula import trace


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
