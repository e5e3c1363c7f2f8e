"""Running pieces of graphs."""

import onnxruntime
import pytest

from mercer.onnx.graph import IR_VERSION, OPSET, Graph, Value
from mercer.onnx.pairs import Points
from onnx import TensorProto, helper


def _computed(make, x):
    graph = Graph()
    result = make(graph, Value(graph, "x"))
    given = helper.make_tensor_value_info("x", TensorProto.DOUBLE, ["n", x.shape[1]])
    answer = helper.make_empty_tensor_value_info(result.name)
    body = helper.make_graph(graph.nodes, "it", [given], [answer], list(graph.constants.values()))
    model = helper.make_model(body, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    return onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]


@pytest.fixture
def computed():
    """computed(make, x): what make(graph, value) is where the value is x."""
    return _computed


@pytest.fixture
def at():
    """at(make, X): what make(points) is where the points are X."""
    return lambda make, X: _computed(lambda graph, x: make(Points(graph, x, X.shape[1])), X)
