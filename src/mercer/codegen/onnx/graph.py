"""An ONNX graph under construction; symbols of it can be computed with like arrays.

Numbers are doubles throughout: kernels of points that lie close, and coefficients that cancel, need them.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from mercer.codegen.symbols import NotTraceable, Recorder, Symbol

# Opset 17 is what runtimes of the last years have.
OPSET = 17
IR_VERSION = 8

# NumPy's names → ONNX's.
_OPERATIONS = {
    **{name: name.capitalize() for name in ("add", "sqrt", "exp", "log", "sin", "cos", "tanh", "sign")},
    **{name: name.capitalize() for name in ("greater", "less", "equal", "where")},
    "subtract": "Sub",
    "multiply": "Mul",
    "divide": "Div",
    "power": "Pow",
    "negative": "Neg",
    "absolute": "Abs",
    "maximum": "Max",
    "minimum": "Min",
    "greater_equal": "GreaterOrEqual",
    "less_equal": "LessOrEqual",
    "logical_not": "Not",
    "logical_and": "And",
    "logical_or": "Or",
    # Not MatMul: onnxruntime takes numbers beside one into it, and rounds them to float32.
    "matmul": "Gemm",
}


class OnnxGraph(Recorder):
    """Nodes in order, and constants, each stored once; what is done with its symbols becomes more nodes."""

    def __init__(self, outer: OnnxGraph | None = None):
        self.nodes: list[Any] = []
        self.constants: dict[Any, Any] = {} if outer is None else outer.constants
        self._names: list[None] = [] if outer is None else outer._names

    def name(self) -> str:
        self._names.append(None)
        return f"v{len(self._names)}"

    def apply(self, name, *inputs):
        if name == "not_equal":
            return self.op("Not", self.op("Equal", *inputs))
        if name == "square":
            return self.op("Mul", *inputs, *inputs)
        if name == "astype":
            return self.cast(*inputs)
        if name == "einsum" and inputs[0] == "ij,ij->i" and len(inputs) == 3:
            return self.row_sums(self.op("Mul", *inputs[1:]))
        if name not in _OPERATIONS:
            raise NotTraceable(f"its formula calls np.{name}, which has no ONNX version")
        return self.op(_OPERATIONS[name], *inputs)

    def numpy(self, name, *inputs, **options):
        if name == "sum" and options.get("axis") != 1:
            raise NotTraceable("its formula sums over points")
        if name == "sum":
            return self.row_sums(inputs[0], keep=options.get("keepdims", False))
        if options or "." in name:
            raise NotTraceable(f"its formula calls np.{name} in a way ONNX has not")
        return self.apply(name, *inputs)

    def op(self, kind: str, *inputs: Any, **attributes: Any) -> Symbol:
        """The first result of a new node."""
        return self.ops(kind, 1, *inputs, **attributes)[0]

    def ops(self, kind: str, results: int, *inputs: Any, **attributes: Any) -> list[Symbol]:
        """The results of a new node."""
        from onnx import helper

        names = [self.value(x).place for x in inputs]
        out = [self.name() for _ in range(results)]
        self.nodes.append(helper.make_node(kind, names, out, **attributes))
        return [Symbol(self, name) for name in out]

    def value(self, x: Any) -> Symbol:
        """A value of the graph; numbers and arrays become constants."""
        return Symbol(self, x.place) if isinstance(x, Symbol) else self.constant(x)

    def constant(self, x: Any) -> Symbol:
        """Numbers are doubles, unless x is an array of integers, truth values or text."""
        from onnx import numpy_helper

        a = np.asarray(x)
        if isinstance(x, (int, float)) or a.dtype.kind == "f":
            a = a.astype(np.float64)
        key = (a.dtype.str, a.shape, hashlib.sha256(np.ascontiguousarray(a).data).digest())
        if key not in self.constants:
            text = a.astype(object) if a.dtype.kind == "U" else a
            self.constants[key] = numpy_helper.from_array(
                np.ascontiguousarray(text).reshape(a.shape), self.name()
            )
        return Symbol(self, self.constants[key].name)

    # -- shapes and types -------------------------------------------------------------------------

    def column(self, x: Any) -> Symbol:
        """(n,) as (n, 1)."""
        return self.op("Unsqueeze", x, np.array([1], np.int64))

    def flat(self, x: Any) -> Symbol:
        """(n, 1) as (n,)."""
        return self.op("Squeeze", x, np.array([1], np.int64))

    def filled(self, like: Any, number: float, *shape: int) -> Symbol:
        """A number, as often as `like` has rows, each of this shape."""
        rows = self.op("Shape", like, end=1)
        return self.op("Expand", number, self.op("Concat", rows, np.array(shape, np.int64), axis=0))

    def cast(self, x: Any, dtype: Any) -> Symbol:
        from onnx import helper

        return self.op("Cast", x, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def row_sums(self, x: Any, keep: bool = False) -> Symbol:
        return self.op("ReduceSum", x, np.array([1], np.int64), keepdims=int(keep))
