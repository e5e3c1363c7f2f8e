"""A small part of Python, compiled: numbers, arrays, `for`, `while` and `if`.

Loops that go from one number to the next (an example at a time, a letter at a time) are slow in NumPy and
short in plain Python. Written in this subset they are both: Python runs them as they stand, which is what
tests and machines without LLVM do, and `compiled` turns the same source into machine code.

Parameters are annotated: ``int``, ``float``, an array as ``"f64[:]"``, ``"i64[:]"``, ``"f32[:,:]"``, or a
``"function"`` that returns nothing; ``T`` in place of a number type is filled in when compiling. Rows of
arrays are contiguous, and two arrays never overlap. A local variable has the type of the first thing it is
given; numbers in capitals are constants of the module. Sums may be reordered, as for vectors they must be.
"""

from __future__ import annotations

import ast
import ctypes
import hashlib
import inspect
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

I1, I64, F32, F64 = ir.IntType(1), ir.IntType(64), ir.FloatType(), ir.DoubleType()
_ENTRIES = {"f64": F64, "f32": F32, "i64": I64}
_DTYPES = {"f64": np.dtype(np.float64), "f32": np.dtype(np.float32), "i64": np.dtype(np.int64)}
# Reductions become vectors only where the order of additions is free.
_FREE = ("reassoc", "contract", "nsz")
_ONE = {"abs": "llvm.fabs.f64", "sqrt": "llvm.sqrt.f64"}
_NUMBERS = {"int": I64, "float": F64}
_LIBRARY = ("exp", "expm1", "log", "log1p", "tanh", "sin", "cos")


class Unsupported(SyntaxError):
    """Python that is not in the subset."""


@dataclass(frozen=True)
class ArrayOf:
    """The type of an array: its entries and its number of axes."""

    entries: str
    axes: int


@dataclass(frozen=True)
class Given:
    """A function that is handed over: its address."""

    address: Any
    type = "a function"


@dataclass(frozen=True)
class View:
    """An array where it is: a pointer and, with two axes, the number of entries between rows."""

    type: ArrayOf
    pointer: Any
    stride: Any = None


def _type_of(note: Any, fill: str) -> Any:
    if isinstance(note, ast.Constant):
        note = note.value
    elif isinstance(note, ast.Name) and note.id in _NUMBERS:
        return _NUMBERS[note.id]
    if note == "function":
        return Given
    kind, _, axes = note.partition("[") if isinstance(note, str) else ("", "", "")
    kind = fill if kind == "T" else kind
    if kind not in _ENTRIES or axes not in (":]", ":,:]"):
        given = ast.unparse(note) if isinstance(note, ast.AST) else repr(note)
        raise Unsupported(
            f'a parameter is an int, a float, a "function" or an array such as "f64[:]", got {given}'
        )
    return ArrayOf(kind, axes.count(":"))


def _types(tree: ast.FunctionDef, fill: str) -> tuple[list[Any], Any]:
    """Types of the parameters, and of the result: a number or None."""
    if tree.args.vararg or tree.args.kwarg or tree.args.kwonlyargs or tree.args.defaults:
        raise Unsupported(f"{tree.name} has parameters other than plain ones")
    result = None if tree.returns is None else _type_of(tree.returns, fill)
    if result not in (None, I64, F64):
        raise Unsupported(f"{tree.name} returns something other than a number")
    return [_type_of(a.annotation, fill) for a in tree.args.args], result


class _Function:
    """One function of the subset, as IR."""

    def __init__(self, module: ir.Module, tree: ast.FunctionDef, fill: str, constants: dict, public: bool):
        self.module, self.tree, self.constants = module, tree, {"inf": float("inf")} | constants
        self.types, result = _types(tree, fill)
        self.result = ir.VoidType() if result is None else result
        flat: list[ir.Type] = []
        for kind in self.types:
            if isinstance(kind, ArrayOf):
                flat += [ir.PointerType(), *[I64] * (kind.axes - 1)]
            else:
                flat.append(I64 if kind is Given else kind)
        self.ir = ir.Function(module, ir.FunctionType(self.result, flat), tree.name)
        if not public:
            self.ir.linkage = "internal"
            self.ir.attributes.add("alwaysinline")

    def emit(self, others: dict[str, _Function]) -> None:
        self.others = others
        self.entry = self.ir.append_basic_block("entry")
        body = self.ir.append_basic_block("body")
        self.b = ir.IRBuilder(body)
        self.names: dict[str, Any] = {}
        self.loops: list[tuple[Any, Any]] = []
        given = iter(self.ir.args)
        for argument, kind in zip(self.tree.args.args, self.types):
            value = next(given)
            if isinstance(kind, ArrayOf):
                value.add_attribute("noalias")
                stride = next(given) if kind.axes == 2 else None
                self.names[argument.arg] = View(kind, value, stride)
            elif kind is Given:
                self.names[argument.arg] = Given(value)
            else:
                self._assign(argument.arg, value)
        self._block(self.tree.body)
        if not self.b.block.is_terminated:
            if not isinstance(self.result, ir.VoidType):
                raise Unsupported(f"{self.tree.name} ends without a result")
            self.b.ret_void()
        ir.IRBuilder(self.entry).branch(body)

    # -- statements --------------------------------------------------------------------------------

    def _block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if self.b.block.is_terminated:
                return
            getattr(self, f"_do_{type(statement).__name__}", self._refuse)(statement)

    def _refuse(self, node: ast.AST) -> Any:
        raise Unsupported(f"{type(node).__name__} in {self.tree.name}, line {getattr(node, 'lineno', '?')}")

    def _do_Pass(self, node: ast.Pass) -> None:
        pass

    def _do_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self._value(node.value)

    def _do_Return(self, node: ast.Return) -> None:
        if node.value is None and isinstance(self.result, ir.VoidType):
            self.b.ret_void()
        elif node.value is None or isinstance(self.result, ir.VoidType):
            self._refuse(node)
        else:
            self.b.ret(self._as(self._value(node.value), self.result))

    def _do_Assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            self._refuse(node)
        self._store(node.targets[0], self._value(node.value))

    def _do_AugAssign(self, node: ast.AugAssign) -> None:
        load = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
        self._store(node.target, self._value(load))

    def _store(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self._assign(target.id, value)
        elif isinstance(target, ast.Subscript):
            view, index = self._place(target)
            kind = _ENTRIES[view.type.entries]
            pointer = self.b.gep(view.pointer, [index], source_etype=kind)
            value = self._as(value, F64 if kind is F32 else kind)
            self.b.store(self.b.fptrunc(value, F32) if kind is F32 else value, pointer)
        else:
            self._refuse(target)

    def _assign(self, name: str, value: Any) -> None:
        if name not in self.names:
            kind = value.type
            if kind not in (I1, I64, F64):
                raise Unsupported(f"{name} can only be given a number, in {self.tree.name}")
            with self.b.goto_block(self.entry):
                self.names[name] = self.b.alloca(kind, name=name)
        place = self.names[name]
        if isinstance(place, (View, Given)):
            raise Unsupported(f"{name} can't be assigned to, in {self.tree.name}")
        self.b.store(self._as(value, place.allocated_type), place)

    def _do_If(self, node: ast.If) -> None:
        yes, after = (self.ir.append_basic_block() for _ in range(2))
        no = self.ir.append_basic_block() if node.orelse else after
        self.b.cbranch(self._truth(node.test), yes, no)
        goes_on = not node.orelse
        for block, statements in ((yes, node.body), (no, node.orelse)):
            if statements:
                self.b.position_at_end(block)
                self._block(statements)
                if not self.b.block.is_terminated:
                    self.b.branch(after)
                    goes_on = True
        self.b.position_at_end(after)
        if not goes_on:
            self.b.unreachable()

    def _do_While(self, node: ast.While) -> None:
        if node.orelse:
            self._refuse(node)
        head, body, after = (self.ir.append_basic_block() for _ in range(3))
        self.b.branch(head)
        self.b.position_at_end(head)
        self.b.cbranch(self._truth(node.test), body, after)
        self._loop_body(node.body, body, head, after)

    def _do_For(self, node: ast.For) -> None:
        call = node.iter
        if node.orelse or not isinstance(node.target, ast.Name) or not _is_range(call):
            self._refuse(node)
        assert isinstance(call, ast.Call) and isinstance(node.target, ast.Name)
        bounds = [self._as(self._value(a), I64) for a in call.args]
        low, high = (ir.Constant(I64, 0), bounds[0]) if len(bounds) == 1 else bounds
        head, body, step, after = (self.ir.append_basic_block() for _ in range(4))
        before = self.b.block
        self.b.branch(head)
        self.b.position_at_end(head)
        counter = self.b.phi(I64)
        counter.add_incoming(low, before)
        self.b.cbranch(self.b.icmp_signed("<", counter, high), body, after)
        self.b.position_at_end(body)
        self._assign(node.target.id, counter)
        self._loop_body(node.body, body, step, after)
        self.b.position_at_end(step)
        counter.add_incoming(self.b.add(counter, ir.Constant(I64, 1)), step)
        self.b.branch(head)
        self.b.position_at_end(after)

    def _loop_body(self, statements: Sequence[ast.stmt], body: Any, again: Any, after: Any) -> None:
        self.b.position_at_end(body)
        self.loops.append((again, after))
        self._block(statements)
        self.loops.pop()
        if not self.b.block.is_terminated:
            self.b.branch(again)
        self.b.position_at_end(after)

    def _do_Break(self, node: ast.Break) -> None:
        self.b.branch(self.loops[-1][1])

    def _do_Continue(self, node: ast.Continue) -> None:
        self.b.branch(self.loops[-1][0])

    # -- expressions -------------------------------------------------------------------------------

    def _value(self, node: ast.expr) -> Any:
        return getattr(self, f"_see_{type(node).__name__}", self._refuse)(node)

    def _as(self, value: Any, kind: ir.Type) -> Any:
        if value.type == kind:
            return value
        if kind == F64 and value.type == I64:
            return self.b.sitofp(value, F64)
        raise Unsupported(f"{value.type} where {kind} is needed, in {self.tree.name}")

    def _truth(self, node: ast.expr) -> Any:
        value = self._value(node)
        return (
            value if value.type == I1 else self.b.icmp_signed("!=", self._as(value, I64), ir.Constant(I64, 0))
        )

    def _see_Constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, bool) or not isinstance(node.value, (int, float)):
            self._refuse(node)
        return self._number(node.value)  # type: ignore[arg-type]

    def _number(self, value: float) -> ir.Constant:
        return ir.Constant(I64 if isinstance(value, int) else F64, value)

    def _see_Name(self, node: ast.Name) -> Any:
        if node.id not in self.names and node.id in self.constants:
            return self._number(self.constants[node.id])
        if node.id not in self.names:
            raise Unsupported(f"{node.id} has no value, in {self.tree.name}")
        place = self.names[node.id]
        return place if isinstance(place, (View, Given)) else self.b.load(place, typ=place.allocated_type)

    def _place(self, node: ast.Subscript) -> tuple[View, Any]:
        view = self._value(node.value)
        if not isinstance(view, View):
            self._refuse(node)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(parts) != view.type.axes:
            self._refuse(node)
        index = [self._as(self._value(p), I64) for p in parts]
        if len(index) == 2:
            return view, self.b.add(self.b.mul(index[0], view.stride), index[1])
        return view, index[0]

    def _see_Subscript(self, node: ast.Subscript) -> Any:
        view = self._value(node.value)
        if isinstance(view, View) and view.type.axes == 2 and not isinstance(node.slice, ast.Tuple):
            start = self.b.mul(self._as(self._value(node.slice), I64), view.stride)
            kind = _ENTRIES[view.type.entries]
            return View(ArrayOf(view.type.entries, 1), self.b.gep(view.pointer, [start], source_etype=kind))
        view, index = self._place(node)
        kind = _ENTRIES[view.type.entries]
        value = self.b.load(self.b.gep(view.pointer, [index], source_etype=kind), typ=kind)
        return self.b.fpext(value, F64) if kind is F32 else value

    def _see_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return self.b.not_(self._truth(node.operand))
        value = self._value(node.operand)
        if not isinstance(node.op, ast.USub):
            self._refuse(node)
        return self.b.neg(value) if value.type == I64 else self.b.fneg(self._as(value, F64))

    def _see_BinOp(self, node: ast.BinOp) -> Any:
        a, b = self._value(node.left), self._value(node.right)
        name = type(node.op).__name__
        if a.type == I64 and b.type == I64 and name != "Div":
            whole = {"Add": self.b.add, "Sub": self.b.sub, "Mult": self.b.mul}
            return whole[name](a, b) if name in whole else self._refuse(node)
        a, b = self._as(a, F64), self._as(b, F64)
        if name == "Div":
            return self.b.fdiv(a, b)
        numbers = {"Add": self.b.fadd, "Sub": self.b.fsub, "Mult": self.b.fmul}
        return numbers[name](a, b, flags=_FREE) if name in numbers else self._refuse(node)

    def _see_Compare(self, node: ast.Compare) -> Any:
        if len(node.ops) != 1:
            self._refuse(node)
        signs = {"Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=", "Eq": "==", "NotEq": "!="}
        sign = signs.get(type(node.ops[0]).__name__) or self._refuse(node)
        a, b = self._value(node.left), self._value(node.comparators[0])
        if a.type == I64 and b.type == I64:
            return self.b.icmp_signed(sign, a, b)
        compare = self.b.fcmp_unordered if sign == "!=" else self.b.fcmp_ordered
        return compare(sign, self._as(a, F64), self._as(b, F64))

    def _see_BoolOp(self, node: ast.BoolOp) -> Any:
        """Left to right, and no further than needed."""
        after = self.ir.append_basic_block()
        stop = isinstance(node.op, ast.Or)
        found = []
        for part in node.values[:-1]:
            truth, rest = self._truth(part), self.ir.append_basic_block()
            found.append((ir.Constant(I1, int(stop)), self.b.block))
            self.b.cbranch(truth, *((after, rest) if stop else (rest, after)))
            self.b.position_at_end(rest)
        last = self._truth(node.values[-1])
        found.append((last, self.b.block))
        self.b.branch(after)
        self.b.position_at_end(after)
        phi = self.b.phi(I1)
        for value, block in found:
            phi.add_incoming(value, block)
        return phi

    def _see_IfExp(self, node: ast.IfExp) -> Any:
        yes, no, after = (self.ir.append_basic_block() for _ in range(3))
        self.b.cbranch(self._truth(node.test), yes, no)
        found = []
        for block, part in ((yes, node.body), (no, node.orelse)):
            self.b.position_at_end(block)
            found.append((self._value(part), self.b.block))
        kinds = [value.type for value, _ in found]
        kind = F64 if F64 in kinds else kinds[0]
        if kind not in (I1, I64, F64):
            self._refuse(node)
        values = []
        for value, block in found:
            self.b.position_at_end(block)
            values.append((self._as(value, kind), block))
            self.b.branch(after)
        self.b.position_at_end(after)
        phi = self.b.phi(kind)
        for value, block in values:
            phi.add_incoming(value, block)
        return phi

    def _see_Call(self, node: ast.Call) -> Any:
        if not isinstance(node.func, ast.Name) or node.keywords:
            self._refuse(node)
        assert isinstance(node.func, ast.Name)
        name, args = node.func.id, [self._value(a) for a in node.args]
        if name in self.others:
            return self._call(self.others[name], args)
        if isinstance(given := self.names.get(name), Given):
            flat = [part for value in args for part in _flat(value)]
            kind = ir.FunctionType(ir.VoidType(), [part.type for part in flat])
            return self.b.call(self.b.inttoptr(given.address, kind.as_pointer()), flat)
        if name in ("min", "max") and len(args) == 2:
            return self._extreme(name, *args)
        if len(args) != 1:
            self._refuse(node)
        if name == "float":
            return self._as(args[0], F64)
        if name == "int":
            return args[0] if args[0].type == I64 else self.b.fptosi(self._as(args[0], F64), I64)
        if name == "abs" and args[0].type == I64:
            return self._extreme("max", args[0], self.b.neg(args[0]))
        if name in _ONE or name in _LIBRARY:
            value = self._as(args[0], F64)
            return self.b.call(self._declared(_ONE.get(name, name), F64, F64), [value])
        return self._refuse(node)

    def _extreme(self, name: str, a: Any, b: Any) -> Any:
        sign = "<" if name == "min" else ">"
        if a.type == I64 and b.type == I64:
            return self.b.select(self.b.icmp_signed(sign, a, b), a, b)
        a, b = self._as(a, F64), self._as(b, F64)
        free = ("nnan", "nsz")
        return self.b.select(self.b.fcmp_ordered(sign, a, b, flags=free), a, b, flags=free)

    def _call(self, other: _Function, args: list[Any]) -> Any:
        flat: list[Any] = []
        if len(args) != len(other.types):
            raise Unsupported(f"{other.tree.name} needs {len(other.types)} arguments, got {len(args)}")
        for value, kind in zip(args, other.types):
            if isinstance(kind, ArrayOf) and not (isinstance(value, View) and value.type == kind):
                raise Unsupported(f"{other.tree.name} needs {kind}")
            numeric = not isinstance(value, (View, Given))
            flat += _flat(self._as(value, kind) if numeric else value)
        return self.b.call(other.ir, flat)

    def _declared(self, name: str, result: ir.Type, *kinds: ir.Type) -> Any:
        known = self.module.globals.get(name)
        return known or ir.Function(self.module, ir.FunctionType(result, kinds), name)


def _is_range(call: ast.expr) -> bool:
    """range(n) or range(low, high)"""
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "range"
        and len(call.args) in (1, 2)
        and not call.keywords
    )


def _flat(value: Any) -> list[Any]:
    """What is handed over for one argument."""
    if isinstance(value, Given):
        return [value.address]
    if isinstance(value, View):
        return [value.pointer, *([] if value.stride is None else [value.stride])]
    return [value]


# -- from functions to machine code -------------------------------------------------------------------


def _tree(source: str) -> ast.FunctionDef:
    tree = ast.parse(textwrap.dedent(source)).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return tree


def subset_ir(sources: Sequence[str], fill: str, constants: dict) -> str:
    """LLVM IR of functions; each may call those before it, and the last can be called from outside."""
    module = ir.Module()
    known: dict[str, _Function] = {}
    for source in sources:
        function = _Function(module, _tree(source), fill, constants, public=source is sources[-1])
        function.emit(dict(known))
        known[function.tree.name] = function
    return str(module)


class Compiled:
    """A function of the subset in machine code, called with arrays and numbers."""

    def __init__(self, sources: Sequence[str], fill: str, constants: dict):
        from mercer.engines.fused import code

        tree = _tree(sources[-1])
        self._types, returns = _types(tree, fill)
        flat: list[Any] = []
        for kind in self._types:
            if isinstance(kind, ArrayOf):
                flat += [ctypes.c_void_p, *[ctypes.c_int64] * (kind.axes - 1)]
            else:
                flat.append(ctypes.c_double if kind == F64 else ctypes.c_int64)
        # What __call__ looks at: axes and dtype of an array, or no axes.
        self._plan: list[tuple[int, Any]] = [
            (kind.axes, _DTYPES[kind.entries]) if isinstance(kind, ArrayOf) else (0, None)
            for kind in self._types
        ]
        result = None if returns is None else ctypes.c_double if returns == F64 else ctypes.c_int64
        digest = hashlib.sha256("\n".join([*sources, repr(sorted(constants.items()))]).encode()).hexdigest()
        self._run = code.function(
            ("subset", fill, digest),
            tree.name,
            ctypes.CFUNCTYPE(result, *flat),
            lambda: subset_ir(sources, fill, constants),
        )
        # Where the machine code is, to be handed to another function of the subset.
        self.address: int = ctypes.cast(self._run, ctypes.c_void_p).value or 0

    def __call__(self, *args: Any) -> Any:
        flat: list[Any] = []
        for value, (axes, dtype) in zip(args, self._plan, strict=True):
            if dtype is None:
                flat.append(getattr(value, "address", value))
                continue
            strides = value.strides
            in_rows = strides[-1] == dtype.itemsize or value.shape[-1] <= 1
            if value.dtype != dtype or len(strides) != axes or not in_rows:
                raise TypeError(
                    f"an array of {dtype} with {axes} axes, in rows, is needed; got {value.dtype} {strides}"
                )
            flat.append(value.ctypes.data)
            if axes == 2:
                flat.append(strides[0] // dtype.itemsize)
        return self._run(*flat)


class Callback:
    """A Python function without arguments, to be handed to a function of the subset in place of a compiled
    one.

    What it is called with is dropped: it reads and writes arrays that both sides know.
    """

    def __init__(self, function: Callable[[], None]):
        # More arguments than are given would be read from nowhere; the caller's are left where they are.
        self.error: BaseException | None = None

        def run() -> None:
            try:
                function()
            except BaseException as error:  # can't pass through machine code
                self.error = self.error or error

        self._run = ctypes.CFUNCTYPE(None)(run)
        self.address: int = ctypes.cast(self._run, ctypes.c_void_p).value or 0


def source_of(function: Callable) -> str:
    """The source of a function of the subset."""
    return textwrap.dedent(inspect.getsource(function))


def compiled(functions: Sequence[Callable | str], dtype: Any = np.float64) -> Compiled | None:
    """The last of some functions (or sources) in machine code, or None where LLVM does not work.

    Parameters
    ----------
    functions : each may call those before it
    dtype : of arrays of ``T``

    Examples
    --------
    >>> import numpy as np
    >>> def dot(a: "f64[:]", b: "T[:]", n: int) -> float:
    ...     total = 0.0
    ...     for i in range(n):
    ...         total += a[i] * b[i]
    ...     return total
    >>> a, b = np.arange(5.0), np.ones(5, np.float32)
    >>> dot(a, b, 5)
    np.float64(10.0)
    >>> source = '''
    ... def dot(a: "f64[:]", b: "T[:]", n: int) -> float:
    ...     total = 0.0
    ...     for i in range(n):
    ...         total += a[i] * b[i]
    ...     return total
    ... '''
    >>> compiled([source], np.float32)(a, b, 5)
    10.0
    """
    fill = {"float64": "f64", "float32": "f32"}[np.dtype(dtype).name]
    sources = [f if isinstance(f, str) else source_of(f) for f in functions]
    constants: dict[str, float] = {}
    for f in functions:
        here = {} if isinstance(f, str) else f.__globals__
        constants |= {k: v for k, v in here.items() if k.isupper() and type(v) in (int, float)}
    try:
        return Compiled(sources, fill, constants)
    except Unsupported:
        raise
    except Exception:  # no LLVM, or one that can't work here: Python does the same, slowly
        return None
