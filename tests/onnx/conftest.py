"""Pieces of graphs, run."""

import pytest

import onnx_graphs
from mercer.codegen.onnx.pairs import GraphPoints


@pytest.fixture
def at():
    """at(make, X): what make(points) is where the points are X."""
    return lambda make, X: onnx_graphs.computed(lambda graph, x: make(GraphPoints(graph, x, X.shape[1])), X)
