"""What every emitter of loops needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

I32, I64, F32, F64 = ir.IntType(32), ir.IntType(64), ir.FloatType(), ir.DoubleType()


def number_type(dtype: Any) -> ir.Type:
    """float32 or float64, as LLVM has it."""
    return F64 if np.dtype(dtype) == np.float64 else F32


class Emitter:
    """A module and the function in it that is being written, through the builder `b`."""

    function: Any
    b: Any

    def __init__(self) -> None:
        self.module = ir.Module()

    def begin(
        self, name: str, pointers: int, integers: int, doubles: int = 0, apart: bool = True
    ) -> list[Any]:
        """Start a function; its arguments. Pointers lead to memory that no other one leads to, if `apart`."""
        types = [ir.PointerType()] * pointers + [I64] * integers + [F64] * doubles
        self.function = ir.Function(self.module, ir.FunctionType(ir.VoidType(), types), name)
        for arg in self.function.args[:pointers] if apart else ():
            arg.add_attribute("noalias")
        self.b = ir.IRBuilder(self.function.append_basic_block())
        return list(self.function.args)

    def k(self, value: int) -> ir.Constant:
        return ir.Constant(I64, value)

    def at(self, pointer: Any, index: Any, kind: ir.Type) -> Any:
        """The address of an entry."""
        return self.b.gep(pointer, [index], source_etype=kind)

    def entry(self, pointer: Any, index: Any, kind: ir.Type) -> Any:
        return self.b.load(self.at(pointer, index, kind), typ=kind)

    def loop(self, low: Any, high: Any, step: int, body: Callable[..., Any], carried: Any = ()) -> list[Any]:
        """for i in range(low, high, step): carried = body(i, carried). The carried values after it."""
        b, fn = self.b, self.function
        before = b.block
        head, inner, end = (fn.append_basic_block() for _ in range(3))
        b.branch(head)
        b.position_at_end(head)
        i = b.phi(I64)
        i.add_incoming(low, before)
        phis = []
        for value in carried:
            p = b.phi(value.type)
            p.add_incoming(value, before)
            phis.append(p)
        b.cbranch(b.icmp_signed("<", i, high), inner, end)
        b.position_at_end(inner)
        new = body(i, phis) or []
        i.add_incoming(b.add(i, self.k(step)), b.block)
        for p, value in zip(phis, new, strict=True):
            p.add_incoming(value, b.block)
        b.branch(head)
        b.position_at_end(end)
        return phis
