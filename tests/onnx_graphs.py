"""Running pieces of ONNX graphs."""

import onnxruntime

from mercer.codegen.onnx.graph import IR_VERSION, OPSET, OnnxGraph
from mercer.codegen.symbols import Symbol
from onnx import TensorProto, helper


def computed(make, x):
    """What make(graph, value) is where the value is x."""
    graph = OnnxGraph()
    result = make(graph, Symbol(graph, "x"))
    given = helper.make_tensor_value_info("x", TensorProto.DOUBLE, ["n", x.shape[1]])
    answer = helper.make_empty_tensor_value_info(result.place)
    body = helper.make_graph(graph.nodes, "it", [given], [answer], list(graph.constants.values()))
    model = helper.make_model(body, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    return onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]
