"""Small products with a block of K that has just been computed and lies in cache.

`times`: out[i, t] += Σ_j K[i, j] V[t, j]      `times_transposed`: out[t, j] += Σ_i K[i, j] S[i, t]

K may be float32 while V, S and out are float64: entries are widened on the way through the registers.
BLAS has no such product, and is slow for the few columns of V there usually are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from mercer.codegen.llvm.emitter import Emitter
from mercer.codegen.llvm.processor import Processor
from mercer.codegen.llvm.vectors import F32, F64, I64


class _Blocks(Emitter):
    """Emits both functions for `columns` columns of V."""

    def __init__(self, target: Processor, entries: str, sums: str, columns: int):
        self.module = ir.Module()
        self.entry = F64 if entries == "float64" else F32
        self.sum = F64 if sums == "float64" else F32
        # Whole registers of sums; entries of half that size come half a register at a time.
        self.lanes = target.lanes(np.dtype(sums))
        self.vector = ir.VectorType(self.sum, self.lanes)
        self.T = columns

    def begin(self, name: str, pointers: int, integers: int) -> list[Any]:
        types = [ir.PointerType()] * pointers + [I64] * integers
        self.function = ir.Function(self.module, ir.FunctionType(ir.VoidType(), types), name)
        for arg in self.function.args[:pointers]:
            arg.add_attribute("noalias")
        self.b = ir.IRBuilder(self.function.append_basic_block())
        return list(self.function.args)

    def at(self, pointer: Any, index: Any, kind: ir.Type) -> Any:
        return self.b.gep(pointer, [index], source_etype=kind)

    def load(self, pointer: Any, kind: ir.Type) -> Any:
        v = self.b.load(pointer, typ=ir.VectorType(kind, self.lanes))
        v.align = 8 if kind is F64 else 4
        return v

    def entries(self, pointer: Any) -> Any:
        """A vector of K, as wide as the sums are."""
        K = self.load(pointer, self.entry)
        return K if self.entry is self.sum else self.b.fpext(K, self.vector)

    def fma(self, a: Any, x: Any, y: Any) -> Any:
        name = f"llvm.fma.v{self.lanes}f{64 if self.sum is F64 else 32}"
        return self.call(name, self.vector, a, x, y)

    def times(self) -> None:
        """times(K, V, out, rows, columns, stride of K, of V, of out); `columns` in whole vectors."""
        K, V, out, rows, columns, k_stride, v_stride, o_stride = self.begin("times", 3, 5)
        b, R = self.b, 4

        def some_rows(i, _):
            # The last rows may be done twice, so they are not added to `out` but put there.
            first = b.select(b.icmp_signed("<", b.add(i, self.k(R)), rows), i, b.sub(rows, self.k(R)))

            def step(j, sums):
                values = [
                    self.entries(self.at(K, b.add(b.mul(b.add(first, self.k(r)), k_stride), j), self.entry))
                    for r in range(R)
                ]
                v = [
                    self.load(self.at(V, b.add(b.mul(self.k(t), v_stride), j), self.sum), self.sum)
                    for t in range(self.T)
                ]
                return [
                    self.fma(values[r], v[t], sums[r * self.T + t]) for r in range(R) for t in range(self.T)
                ]

            zero = ir.Constant(self.vector, [0.0] * self.lanes)
            sums = self.loop(self.k(0), columns, self.lanes, step, [zero] * (R * self.T))
            for r in range(R):
                for t in range(self.T):
                    total = self.total(sums[r * self.T + t])
                    where = b.add(b.mul(b.add(first, self.k(r)), o_stride), self.k(t))
                    b.store(total, self.at(out, where, F64))

        self.loop(self.k(0), rows, R, some_rows)
        b.ret_void()

    def total(self, v: Any) -> Any:
        name = f"llvm.vector.reduce.fadd.v{self.lanes}f{64 if self.sum is F64 else 32}"
        out = self.call(name, self.sum, ir.Constant(self.sum, 0.0), v)
        out.fastmath.add("reassoc")
        return out if self.sum is F64 else self.b.fpext(out, F64)

    def times_transposed(self) -> None:
        """times_transposed(K, S, out, rows, columns, stride of K, of S, of out)"""
        K, S, out, rows, columns, k_stride, s_stride, o_stride = self.begin("times_transposed", 3, 5)
        b, R = self.b, 8

        def add_rows(first, count):
            """A few whole rows at a time: both they and `out` are then read in order."""
            factors = [
                self.splat(
                    b.load(
                        self.at(S, b.add(b.mul(b.add(first, self.k(r)), s_stride), self.k(t)), self.sum),
                        typ=self.sum,
                    )
                )
                for r in range(count)
                for t in range(self.T)
            ]

            def step(j, _):
                where = [self.at(out, b.add(b.mul(self.k(t), o_stride), j), self.sum) for t in range(self.T)]
                sums = [self.load(w, self.sum) for w in where]
                for r in range(count):
                    row = b.add(b.mul(b.add(first, self.k(r)), k_stride), j)
                    values = self.entries(self.at(K, row, self.entry))
                    sums = [self.fma(values, factors[r * self.T + t], sums[t]) for t in range(self.T)]
                for w, total in zip(where, sums, strict=True):
                    b.store(total, w).align = 8 if self.sum is F64 else 4

            self.loop(self.k(0), columns, self.lanes, step)

        whole = b.sub(rows, b.srem(rows, self.k(R)))
        self.loop(self.k(0), whole, R, lambda i, _: add_rows(i, R))
        self.loop(whole, rows, 1, lambda i, _: add_rows(i, 1))
        b.ret_void()


def blocks_ir(target: Processor, entries: str, sums: str, columns: int) -> str:
    """LLVM IR of `times` and `times_transposed`."""
    emitter = _Blocks(target, entries, sums, columns)
    emitter.times()
    emitter.times_transposed()
    return str(emitter.module)
