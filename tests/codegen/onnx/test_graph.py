"""Values that become nodes: what NumPy says of numbers, onnxruntime says of the graph."""

import numpy as np
import pytest

from mercer.codegen.onnx.graph import OnnxGraph
from mercer.codegen.symbols import NotTraceable, Symbol
from onnx_graphs import computed

X = np.random.default_rng(0).uniform(0.2, 2.0, (4, 3))


EXPRESSIONS = [
    lambda x: x + 1,
    lambda x: 2.5 - x,
    lambda x: 3 / x - x / 2,
    lambda x: -x * x,
    lambda x: x**1.5,
    lambda x: np.sqrt(x) + np.exp(x) * np.log(x),
    lambda x: np.sin(x) - np.cos(x) + np.tanh(x) + np.abs(x - 1),
    lambda x: np.maximum(x, 1) * np.minimum(1.5, x) + np.square(x) + np.sign(x - 1),
    lambda x: np.where(x > 1, x, 0),
    lambda x: np.where(
        (x >= 1) & (x < 1.5) if isinstance(x, np.ndarray) else np.logical_and(x >= 1, x < 1.5), 1, x
    ),
    lambda x: (x <= 1).astype(np.float64),
    lambda x: np.where(x == x, 1.0, 2.0) + np.where(x != x, 1.0, 2.0),
    lambda x: np.einsum("ij,ij->i", x, x + 1),
    lambda x: (x * np.arange(3.0)).sum(axis=1),
    lambda x: x @ np.arange(6.0).reshape(3, 2),
]


@pytest.mark.parametrize("function", EXPRESSIONS)
def test_arithmetic(function):
    np.testing.assert_allclose(computed(lambda graph, x: function(x), X), function(X), rtol=1e-14)


def test_shapes():
    assert computed(lambda graph, x: graph.column(graph.row_sums(x)), X).shape == (4, 1)
    assert computed(lambda graph, x: graph.flat(graph.row_sums(x, keep=True)), X).shape == (4,)
    assert computed(lambda graph, x: graph.filled(x, 2.5, 6), X).tolist() == np.full((4, 6), 2.5).tolist()
    assert computed(lambda graph, x: graph.filled(x, 2.5), X).tolist() == [2.5] * 4


def test_constants_are_stored_once():
    graph = OnnxGraph()
    a, b = graph.constant(2.0), graph.constant(2)
    assert a.place == b.place and len(graph.constants) == 1
    graph.constant(np.array([2.0]))
    graph.constant(np.array(["a", "b"]))
    graph.constant(np.array([2], np.int64))
    assert len(graph.constants) == 4
    inner = OnnxGraph(graph)
    assert inner.constant(2.0).place == a.place and inner.name() != graph.name()


def test_numbers_beside_products_keep_their_digits():
    """onnxruntime would round 0.1 to float32 here, if the product were a MatMul."""
    A = np.arange(6.0).reshape(3, 2)
    np.testing.assert_allclose(computed(lambda graph, x: (x @ A) * 0.1, X), (X @ A) * 0.1, rtol=1e-15)


@pytest.mark.parametrize(
    "function, match",
    [
        (lambda x: np.arctan(x), "np.arctan, which has no ONNX version"),
        (lambda x: np.sort(x), "np.sort, which has no ONNX version"),
        (lambda x: np.asarray(x), "turns values into arrays"),
        (lambda x: np.add.reduce(x), "in a way ONNX has not"),
        (lambda x: x.sum(axis=0), "sums over points"),
        (lambda x: 1 if x > 0 else 2, "branches on values"),
        (lambda x: np.einsum("ij,kj->ik", x, x), "np.einsum"),
    ],
)
def test_what_has_no_version(function, match):
    with pytest.raises(NotTraceable, match=match):
        function(Symbol(OnnxGraph(), "X"))
