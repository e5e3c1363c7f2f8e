"""What every emitter of loops needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

I32, I64 = ir.IntType(32), ir.IntType(64)


class Instructions:
    """Calls by name and copies of a number in every lane, through a builder `b`."""

    b: Any
    lanes: int

    def call(self, name: str, result: ir.Type, *args: Any) -> Any:
        """Call a function by name, declaring it if need be."""
        module = self.b.module
        function = module.globals.get(name)
        if function is None:
            function = ir.Function(module, ir.FunctionType(result, [a.type for a in args]), name)
        return self.b.call(function, args)

    def splat(self, scalar: Any) -> Any:
        """A vector that holds the scalar in every lane."""
        empty = ir.Constant(ir.VectorType(scalar.type, self.lanes), ir.Undefined)
        first = self.b.insert_element(empty, scalar, ir.Constant(I32, 0))
        return self.b.shuffle_vector(
            first, empty, ir.Constant(ir.VectorType(I32, self.lanes), [0] * self.lanes)
        )


class Emitter(Instructions):
    """What every emitter of loops needs: a function, its builder, counted loops, calls."""

    function: Any

    def k(self, value: int) -> ir.Constant:
        return ir.Constant(I64, value)

    def loop(self, low: Any, high: Any, step: int, body: Callable[..., Any], carried: Any = ()) -> list[Any]:
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
