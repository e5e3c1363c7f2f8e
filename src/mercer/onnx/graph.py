"""An ONNX graph under construction, and values in it that can be computed with like arrays.

Numbers are doubles throughout: kernels of points that lie close, and coefficients that cancel, need them.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from mercer.kernels.symbols import NotTraceable

# Opset 17 is what runtimes of the last years have.
OPSET = 17
IR_VERSION = 8

_UFUNCS = {
    np.add: "Add",
    np.subtract: "Sub",
    np.multiply: "Mul",
    np.true_divide: "Div",
    np.power: "Pow",
    np.negative: "Neg",
    np.abs: "Abs",
    np.sqrt: "Sqrt",
    np.exp: "Exp",
    np.log: "Log",
    np.sin: "Sin",
    np.cos: "Cos",
    np.tanh: "Tanh",
    np.sign: "Sign",
    np.maximum: "Max",
    np.minimum: "Min",
    np.greater: "Greater",
    np.greater_equal: "GreaterOrEqual",
    np.less: "Less",
    np.less_equal: "LessOrEqual",
    np.equal: "Equal",
    np.logical_not: "Not",
    np.logical_and: "And",
    np.logical_or: "Or",
}


class Graph:
    """Nodes in order, and constants, each stored once."""

    def __init__(self, outer: Graph | None = None):
        self.nodes: list[Any] = []
        self.constants: dict[Any, Any] = {} if outer is None else outer.constants
        self._names: list[None] = [] if outer is None else outer._names

    def name(self) -> str:
        self._names.append(None)
        return f"v{len(self._names)}"

    def op(self, kind: str, *inputs: Any, **attributes: Any) -> Value:
        """The first result of a new node."""
        return self.ops(kind, 1, *inputs, **attributes)[0]

    def ops(self, kind: str, results: int, *inputs: Any, **attributes: Any) -> list[Value]:
        """The results of a new node."""
        from onnx import helper

        names = [self.value(x).name for x in inputs]
        out = [self.name() for _ in range(results)]
        self.nodes.append(helper.make_node(kind, names, out, **attributes))
        return [Value(self, name) for name in out]

    def value(self, x: Any) -> Value:
        """A value of the graph; numbers and arrays become constants."""
        return Value(self, x.name) if isinstance(x, Value) else self.constant(x)

    def constant(self, x: Any) -> Value:
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
        return Value(self, self.constants[key].name)

    # -- shapes and types -------------------------------------------------------------------------

    def column(self, x: Any) -> Value:
        """(n,) as (n, 1)."""
        return self.op("Unsqueeze", x, np.array([1], np.int64))

    def flat(self, x: Any) -> Value:
        """(n, 1) as (n,)."""
        return self.op("Squeeze", x, np.array([1], np.int64))

    def filled(self, like: Any, number: float, *shape: int) -> Value:
        """A number, as often as `like` has rows, each of this shape."""
        rows = self.op("Shape", like, end=1)
        return self.op("Expand", number, self.op("Concat", rows, np.array(shape, np.int64), axis=0))

    def cast(self, x: Any, dtype: Any) -> Value:
        from onnx import helper

        return self.op("Cast", x, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def row_sums(self, x: Any, keep: bool = False) -> Value:
        return self.op("ReduceSum", x, np.array([1], np.int64), keepdims=int(keep))


class Value:
    """A tensor that a node will compute; what NumPy does with it becomes more nodes."""

    __slots__ = ("graph", "name")
    dtype = np.dtype(np.float64)

    def __init__(self, graph: Graph, name: str):
        self.graph, self.name = graph, name

    def __array__(self, *args: Any, **kwargs: Any):
        raise NotTraceable("its formula turns values into arrays")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any):
        if method != "__call__" or kwargs:
            raise NotTraceable(f"its formula calls np.{ufunc.__name__} in a way ONNX has not")
        if ufunc is np.not_equal:
            return self.graph.op("Not", self.graph.op("Equal", *inputs))
        if ufunc is np.square:
            return self.graph.op("Mul", *inputs, *inputs)
        if ufunc not in _UFUNCS:
            raise NotTraceable(f"its formula calls np.{ufunc.__name__}, which has no ONNX version")
        return self.graph.op(_UFUNCS[ufunc], *inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any):
        if function is np.where and len(args) == 3 and not kwargs:
            return self.graph.op("Where", *args)
        if function is np.einsum and args[0] == "ij,ij->i" and len(args) == 3 and not kwargs:
            return self.graph.row_sums(self.graph.op("Mul", *args[1:]))
        raise NotTraceable(f"its formula calls np.{function.__name__}, which has no ONNX version")

    def astype(self, dtype: Any) -> Value:
        return self.graph.cast(self, dtype)

    def sum(self, axis: int) -> Value:
        if axis != 1:
            raise NotTraceable("its formula sums over points")
        return self.graph.row_sums(self)

    def __bool__(self) -> bool:
        raise NotTraceable("its formula branches on values")

    def __add__(self, o):
        return np.add(self, o)

    def __sub__(self, o):
        return np.subtract(self, o)

    def __rsub__(self, o):
        return np.subtract(o, self)

    def __mul__(self, o):
        return np.multiply(self, o)

    def __truediv__(self, o):
        return np.true_divide(self, o)

    def __rtruediv__(self, o):
        return np.true_divide(o, self)

    def __pow__(self, o):
        return np.power(self, o)

    def __neg__(self):
        return np.negative(self)

    def __gt__(self, o):
        return np.greater(self, o)

    def __ge__(self, o):
        return np.greater_equal(self, o)

    def __lt__(self, o):
        return np.less(self, o)

    def __le__(self, o):
        return np.less_equal(self, o)

    def __eq__(self, o):
        return np.equal(self, o)

    def __ne__(self, o):
        return np.not_equal(self, o)

    def __matmul__(self, o):
        # Not MatMul: onnxruntime takes numbers beside one into it, and rounds them to float32.
        return self.graph.op("Gemm", self, o)

    __radd__, __rmul__ = __add__, __mul__
    __hash__ = object.__hash__
