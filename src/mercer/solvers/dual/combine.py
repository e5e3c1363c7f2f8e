"""LLVM IR of out[j] += Σ_k factors[k] · rows[index[k], j]: chosen rows of a matrix, without copies."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from mercer.codegen.llvm.emitter import I64, Emitter
from mercer.codegen.llvm.processor import Processor
from mercer.codegen.llvm.vectors import F32, F64

_TOGETHER = 4


class _Combine(Emitter):
    def __init__(self, target: Processor, dtype: str):
        self.module = ir.Module()
        self.entry = F64 if dtype == "float64" else F32
        self.lanes = target.lanes(np.dtype(np.float64))

    def _load(self, pointer: Any, index: Any, kind: ir.Type) -> Any:
        where = self.b.gep(pointer, [index], source_etype=kind)
        v = self.b.load(where, typ=ir.VectorType(kind, self.lanes))
        v.align = 8 if kind is F64 else 4
        return v

    def emit(self) -> None:
        """combine(rows, index, factors, out, count, stride, j0, j1): columns j0 to j1, in whole vectors."""
        types = [ir.PointerType()] * 4 + [I64] * 4
        self.function = ir.Function(self.module, ir.FunctionType(ir.VoidType(), types), "combine")
        rows, index, factors, out, count, stride, j0, j1 = self.function.args
        self.b = b = ir.IRBuilder(self.function.append_basic_block())
        wide = ir.VectorType(F64, self.lanes)

        def add(first: Any, together: int) -> None:
            sources, scales = [], []
            for r in range(together):
                k = b.add(first, self.k(r))
                row = b.load(b.gep(index, [k], source_etype=I64), typ=I64)
                sources.append(b.gep(rows, [b.mul(row, stride)], source_etype=self.entry))
                scales.append(self.splat(b.load(b.gep(factors, [k], source_etype=F64), typ=F64)))

            def step(j, _):
                total = self._load(out, j, F64)
                for source, scale in zip(sources, scales, strict=True):
                    values = self._load(source, j, self.entry)
                    values = values if self.entry is F64 else b.fpext(values, wide)
                    total = self.call(f"llvm.fma.v{self.lanes}f64", wide, values, scale, total)
                b.store(total, b.gep(out, [j], source_etype=F64)).align = 8

            self.loop(j0, j1, self.lanes, step)

        whole = b.sub(count, b.srem(count, self.k(_TOGETHER)))
        self.loop(self.k(0), whole, _TOGETHER, lambda k, _: add(k, _TOGETHER))
        self.loop(whole, count, 1, lambda k, _: add(k, 1))
        b.ret_void()


def combine_ir(target: Processor, dtype: str) -> str:
    emitter = _Combine(target, dtype)
    emitter.emit()
    return str(emitter.module)
