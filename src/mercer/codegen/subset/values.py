"""Expressions of the compiled part of Python, as LLVM IR; every index is checked."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from mercer.codegen.subset.grammar import (
    ArrayOf,
    FunctionOf,
    RecordOf,
    Records,
    Unsupported,
    parts_of,
    path,
    types_of,
)

I1, I32, I64, F32, F64 = *(ir.IntType(bits) for bits in (1, 32, 64)), ir.FloatType(), ir.DoubleType()
ENTRIES = {"f64": F64, "f32": F32, "i64": I64, "i32": I32}
NUMBERS = {"int": I64, "float": F64}
# Reductions become vectors only where the order of additions is free.
_FREE = ("reassoc", "contract", "nsz")
_ONE = {"abs": "llvm.fabs.f64", "sqrt": "llvm.sqrt.f64"}
_LIBRARY = ("exp", "expm1", "log", "log1p", "tanh", "sin", "cos")
# Numbers beyond this have no 64-bit integer part.
_WHOLE = 2.0**62
# A fault is where it happened: the number of the function (from 1) above this many bits, and the line below.
LINE_BITS = 32
# The fault of a Python function that was called back.
CALLED_BACK = -1


@dataclass(frozen=True)
class Given:
    """A function that is handed over: its address."""

    type: FunctionOf
    address: Any


@dataclass(frozen=True)
class RecordAt:
    """A record: what it holds, by name."""

    type: RecordOf
    fields: dict[str, Any]


@dataclass(frozen=True)
class ArrayAt:
    """An array where it is: a pointer, its lengths and, with two axes, the number of entries between rows."""

    type: ArrayOf
    pointer: Any
    lengths: tuple[Any, ...]
    stride: Any = None


def flat_types(kind: Any) -> list[ir.Type]:
    """What is handed over for one parameter."""
    if isinstance(kind, RecordOf):
        return [part for _, field in kind.fields for part in flat_types(field)]
    if isinstance(kind, ArrayOf):
        return [ir.PointerType(), *[I64] * (1 if kind.axes == 1 else 3)]
    return [I64 if isinstance(kind, FunctionOf) else NUMBERS[kind]]


def flat(value: Any) -> list[Any]:
    """`flat_types`, in values."""
    if isinstance(value, RecordAt):
        return [part for field in value.fields.values() for part in flat(field)]
    if isinstance(value, Given):
        return [value.address]
    if isinstance(value, ArrayAt):
        return [value.pointer, *value.lengths, *([] if value.stride is None else [value.stride])]
    return [value]


def is_number(place: Any) -> bool:
    """Is this where a number is kept, rather than an array, a function or a record?"""
    return not isinstance(place, (ArrayAt, Given, RecordAt))


class Values:
    """Expressions of one function, through a builder `b`.

    A function returns its fault, 0 if there was none, and with it its result.
    """

    def __init__(
        self,
        module: ir.Module,
        tree: ast.FunctionDef,
        number: int,
        fill: str,
        constants: dict,
        records: Records,
    ):
        self.module, self.tree, self.number = module, tree, number
        self.constants = {"inf": float("inf")} | constants
        self.types, result = types_of(tree, fill, records)
        self.result = None if result is None else NUMBERS[result]
        self.names: dict[str, Any] = {}
        self.others: dict[str, Values] = {}
        # (array, axis, index) of places that a loop has checked before it began.
        self.safe: set[tuple[str, int, str]] = set()
        returned = I64 if self.result is None else ir.LiteralStructType([I64, self.result])
        kinds = [part for kind in self.types for part in flat_types(kind)]
        self.ir = ir.Function(module, ir.FunctionType(returned, kinds), f"{tree.name}.{number}")
        self.ir.linkage = "internal"
        self.ir.attributes.add("alwaysinline")
        self.b: Any = None

    def refuse(self, node: ast.AST) -> Any:
        raise Unsupported(f"{type(node).__name__} in {self.tree.name}, line {getattr(node, 'lineno', '?')}")

    # -- faults ------------------------------------------------------------------------------------

    def leave(self, fault: Any, result: Any = None) -> None:
        """Return this fault, and a result."""
        if self.result is None:
            self.b.ret(fault)
            return
        result = ir.Constant(self.result, ir.Undefined) if result is None else result
        out = self.b.insert_value(ir.Constant(self.ir.return_value.type, ir.Undefined), fault, 0)
        self.b.ret(self.b.insert_value(out, result, 1))

    def require(self, truth: Any, node: ast.AST) -> None:
        """Go on if this holds; otherwise return where it did not."""
        here = (self.number + 1 << LINE_BITS) + getattr(node, "lineno", 0)
        self._unless(truth, ir.Constant(I64, here))

    def _unless(self, truth: Any, fault: Any) -> None:
        on, out = (self.ir.append_basic_block() for _ in range(2))
        weights = [ir.MetaDataString(self.module, "branch_weights")]
        weights += [ir.Constant(ir.IntType(32), w) for w in (1 << 20, 1)]
        self.b.cbranch(truth, on, out).set_metadata("prof", self.module.add_metadata(weights))
        self.b.position_at_end(out)
        self.leave(fault)
        self.b.position_at_end(on)

    def inside(self, view: ArrayAt, axis: int, index: Any) -> Any:
        """Is there such a place? (Negative numbers are large ones without a sign.)"""
        return self.b.icmp_unsigned("<", index, view.lengths[axis])

    # -- numbers -----------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> Any:
        return getattr(self, f"_see_{type(node).__name__}", self.refuse)(node)

    def cast(self, value: Any, kind: ir.Type) -> Any:
        """A number as this type; only integers become something else."""
        if value.type == kind:
            return value
        if kind == F64 and value.type == I64:
            return self.b.sitofp(value, F64)
        raise Unsupported(f"{value.type} where {kind} is needed, in {self.tree.name}")

    def truth(self, node: ast.expr) -> Any:
        value = self.value(node)
        if value.type == I1:
            return value
        return self.b.icmp_signed("!=", self.cast(value, I64), ir.Constant(I64, 0))

    def _see_Constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, bool) or not isinstance(node.value, (int, float)):
            self.refuse(node)
        return self._number(node.value)  # type: ignore[arg-type]

    def _number(self, value: float) -> ir.Constant:
        return ir.Constant(I64 if isinstance(value, int) else F64, value)

    def _see_Name(self, node: ast.Name) -> Any:
        if node.id not in self.names and node.id in self.constants:
            return self._number(self.constants[node.id])
        if node.id not in self.names:
            raise Unsupported(f"{node.id} has no value, in {self.tree.name}")
        place = self.names[node.id]
        return self.b.load(place, typ=place.allocated_type) if is_number(place) else place

    def _see_Attribute(self, node: ast.Attribute) -> Any:
        record = self.value(node.value)
        if not isinstance(record, RecordAt) or node.attr not in record.fields:
            self.refuse(node)
        return record.fields[node.attr]

    # -- arrays ------------------------------------------------------------------------------------

    def _index(self, node: ast.Subscript, view: ArrayAt) -> list[Any]:
        """The index of each axis that is named, checked."""
        index = []
        for axis, part in enumerate(parts_of(node)):
            index.append(self.cast(self.value(part), I64))
            if (path(node.value), axis, ast.dump(part)) not in self.safe:
                self.require(self.inside(view, axis, index[-1]), node)
        return index

    def place(self, node: ast.Subscript) -> tuple[ir.Type, Any]:
        """(type, address) of one entry."""
        view = self.value(node.value)
        if not isinstance(view, ArrayAt) or len(parts_of(node)) != view.type.axes:
            self.refuse(node)
        index = self._index(node, view)
        where = index[0] if len(index) == 1 else self.b.add(self.b.mul(index[0], view.stride), index[1])
        kind = ENTRIES[view.type.entries]
        return kind, self.b.gep(view.pointer, [where], source_etype=kind)

    def _see_Subscript(self, node: ast.Subscript) -> Any:
        view = self.value(node.value)
        if isinstance(view, ArrayAt) and view.type.axes == 2 and not isinstance(node.slice, ast.Tuple):
            start = self.b.mul(self._index(node, view)[0], view.stride)
            pointer = self.b.gep(view.pointer, [start], source_etype=ENTRIES[view.type.entries])
            return ArrayAt(ArrayOf(view.type.entries, 1), pointer, view.lengths[1:])
        kind, pointer = self.place(node)
        value = self.b.load(pointer, typ=kind)
        if kind is I32:
            return self.b.sext(value, I64)
        return self.b.fpext(value, F64) if kind is F32 else value

    # -- operations --------------------------------------------------------------------------------

    def _see_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return self.b.not_(self.truth(node.operand))
        value = self.value(node.operand)
        if isinstance(node.op, ast.Invert) and value.type == I64:
            return self.b.not_(value)
        if not isinstance(node.op, ast.USub):
            self.refuse(node)
        return self.b.neg(value) if value.type == I64 else self.b.fneg(self.cast(value, F64))

    def _see_BinOp(self, node: ast.BinOp) -> Any:
        a, b = self.value(node.left), self.value(node.right)
        name = type(node.op).__name__
        if a.type == I64 and b.type == I64 and name != "Div":
            if name in ("LShift", "RShift"):
                return self._shifted(name, a, b, node)
            whole = {"Add": self.b.add, "Sub": self.b.sub, "Mult": self.b.mul}
            whole |= {"BitAnd": self.b.and_, "BitOr": self.b.or_, "BitXor": self.b.xor}
            return whole[name](a, b) if name in whole else self.refuse(node)
        a, b = self.cast(a, F64), self.cast(b, F64)
        if name == "Div":
            return self.b.fdiv(a, b)
        numbers = {"Add": self.b.fadd, "Sub": self.b.fsub, "Mult": self.b.fmul}
        return numbers[name](a, b, flags=_FREE) if name in numbers else self.refuse(node)

    def _shifted(self, name: str, value: Any, places: Any, node: ast.AST) -> Any:
        """As Python shifts: the sign comes in from the left, and a negative number of places is an error.

        The machine leaves open what a shift by 64 places or more is. To the right it is that by 63, where
        nothing but the sign is left; to the left, the last 64 bits are 0.
        """
        self.require(self.b.icmp_signed(">=", places, ir.Constant(I64, 0)), node)
        inside = self._extreme("min", places, ir.Constant(I64, 63))
        if name == "RShift":
            return self.b.ashr(value, inside)
        return self.b.select(
            self.b.icmp_signed("==", places, inside), self.b.shl(value, inside), ir.Constant(I64, 0)
        )

    def _see_Compare(self, node: ast.Compare) -> Any:
        if len(node.ops) != 1:
            self.refuse(node)
        signs = {"Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=", "Eq": "==", "NotEq": "!="}
        sign = signs.get(type(node.ops[0]).__name__) or self.refuse(node)
        a, b = self.value(node.left), self.value(node.comparators[0])
        if a.type == I64 and b.type == I64:
            return self.b.icmp_signed(sign, a, b)
        compare = self.b.fcmp_unordered if sign == "!=" else self.b.fcmp_ordered
        return compare(sign, self.cast(a, F64), self.cast(b, F64))

    def _see_BoolOp(self, node: ast.BoolOp) -> Any:
        """Left to right, and no further than needed."""
        after = self.ir.append_basic_block()
        stop = isinstance(node.op, ast.Or)
        found = []
        for part in node.values[:-1]:
            truth, rest = self.truth(part), self.ir.append_basic_block()
            found.append((ir.Constant(I1, int(stop)), self.b.block))
            self.b.cbranch(truth, *((after, rest) if stop else (rest, after)))
            self.b.position_at_end(rest)
        last = self.truth(node.values[-1])
        found.append((last, self.b.block))
        self.b.branch(after)
        self.b.position_at_end(after)
        return self._phi(I1, found)

    def _phi(self, kind: ir.Type, found: list[tuple[Any, Any]]) -> Any:
        phi = self.b.phi(kind)
        for value, block in found:
            phi.add_incoming(value, block)
        return phi

    def _see_IfExp(self, node: ast.IfExp) -> Any:
        yes, no, after = (self.ir.append_basic_block() for _ in range(3))
        self.b.cbranch(self.truth(node.test), yes, no)
        found = []
        for block, part in ((yes, node.body), (no, node.orelse)):
            self.b.position_at_end(block)
            found.append((self.value(part), self.b.block))
        kinds = [value.type for value, _ in found]
        kind = F64 if F64 in kinds else kinds[0]
        if kind not in (I1, I64, F64):
            self.refuse(node)
        values = []
        for value, block in found:
            self.b.position_at_end(block)
            values.append((self.cast(value, kind), block))
            self.b.branch(after)
        self.b.position_at_end(after)
        return self._phi(kind, values)

    # -- calls -------------------------------------------------------------------------------------

    def _see_Call(self, node: ast.Call) -> Any:
        name, args = path(node.func), [self.value(a) for a in node.args]
        if not name or node.keywords:
            self.refuse(node)
        if name in self.others:
            return self._call_other(self.others[name], args)
        root = self.names.get(name.partition(".")[0])
        if isinstance(root, (Given, RecordAt)) and isinstance(given := self.value(node.func), Given):
            return self._call_given(name, given, args)
        if name in ("min", "max") and len(args) == 2:
            return self._extreme(name, *args)
        if len(args) != 1:
            self.refuse(node)
        if name == "float":
            return self.cast(args[0], F64)
        if name == "int":
            return self._whole(args[0], node)
        if name == "abs" and args[0].type == I64:
            return self._extreme("max", args[0], self.b.neg(args[0]))
        if name in _ONE or name in _LIBRARY:
            return self._declared(_ONE.get(name, name), self.cast(args[0], F64))
        return self.refuse(node)

    def _whole(self, value: Any, node: ast.AST) -> Any:
        """int(value); NaN and numbers without end have none."""
        if value.type == I64:
            return value
        value = self.cast(value, F64)
        self.require(
            self.b.fcmp_ordered("<", self._declared("llvm.fabs.f64", value), ir.Constant(F64, _WHOLE)), node
        )
        return self.b.fptosi(value, I64)

    def _extreme(self, name: str, a: Any, b: Any) -> Any:
        if a.type == I64 and b.type == I64:
            return self.b.select(self.b.icmp_signed("<" if name == "min" else ">", a, b), a, b)
        # The one that hands NaN on: it becomes a vector in a reduction, without a promise that none comes.
        return self._declared(f"llvm.{name}imum.f64", self.cast(a, F64), self.cast(b, F64))

    def _arguments(self, name: str, kinds: Any, args: list[Any]) -> list[Any]:
        if len(args) != len(kinds):
            raise Unsupported(f"{name} needs {len(kinds)} arguments, got {len(args)}")
        out: list[Any] = []
        for value, kind in zip(args, kinds, strict=True):
            if kind in NUMBERS:
                value = self.cast(value, NUMBERS[kind])
            elif value.type != kind:
                raise Unsupported(f"{name} needs {kind}")
            out += flat(value)
        return out

    def _call_other(self, other: Values, args: list[Any]) -> Any:
        out = self.b.call(other.ir, self._arguments(other.tree.name, other.types, args))
        fault = out if other.result is None else self.b.extract_value(out, 0)
        self._unless(self.b.icmp_signed("==", fault, ir.Constant(I64, 0)), fault)
        return None if other.result is None else self.b.extract_value(out, 1)

    def _call_given(self, name: str, given: Given, args: list[Any]) -> None:
        parts = self._arguments(name, given.type.parameters, args)
        kind = ir.FunctionType(I64, [part.type for part in parts])
        fault = self.b.call(self.b.inttoptr(given.address, kind.as_pointer()), parts)
        self._unless(self.b.icmp_signed("==", fault, ir.Constant(I64, 0)), fault)

    def _declared(self, name: str, *args: Any) -> Any:
        """Call a function of the library on numbers."""
        known = self.module.globals.get(name)
        known = known or ir.Function(self.module, ir.FunctionType(F64, [F64] * len(args)), name)
        return self.b.call(known, args)
