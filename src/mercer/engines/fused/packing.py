"""IR for packing points: centred, scaled, laid out in blocks, with a norm on request."""

from __future__ import annotations

from llvmlite import ir

from mercer.codegen.llvm.emitter import F64, Emitter, number_type
from mercer.codegen.llvm.processor import Processor


def packing_ir(processor: Processor, dtype: str) -> str:
    """LLVM IR of `pack`: centre, scale and lay out points in blocks of B, with a norm on request.

    pack(source, mean, out, stride, n, rows, d, width, offset, B, slot, scale, factor)
    """
    loops, scalar = Emitter(), number_type(dtype)
    arguments = loops.begin("pack", 3, 8, 2)
    source, mean, out, stride, n, rows, d, width, offset, B, slot, scale64, factor = arguments
    b, k = loops.b, loops.k
    scale = scale64 if scalar is F64 else b.fptrunc(scale64, scalar)
    last = b.sub(n, k(1))

    def row(i, _):
        block, r = b.sdiv(i, B), b.srem(i, B)
        # Rows beyond the last repeat it: any values would do, but these give no NaN.
        from_row = b.mul(b.select(b.icmp_signed("<", i, n), i, last), stride)
        base = b.add(b.mul(block, b.mul(width, B)), r)

        def coordinate(q, sums):
            x = loops.entry(source, b.add(from_row, q), scalar)
            x = b.fmul(b.fsub(x, loops.entry(mean, q, scalar)), scale)
            b.store(x, loops.at(out, b.add(base, b.mul(b.add(offset, q), B)), scalar))
            wide = x if scalar is F64 else b.fpext(x, F64)
            return [b.fadd(sums[0], b.fmul(wide, wide, flags=("contract",)), flags=("contract",))]

        (total,) = loops.loop(k(0), d, 1, coordinate, [ir.Constant(F64, 0.0)])
        with b.if_then(b.icmp_signed(">=", slot, k(0))):
            norm = b.fmul(total, factor)
            norm = norm if scalar is F64 else b.fptrunc(norm, scalar)
            b.store(norm, loops.at(out, b.add(base, b.mul(slot, B)), scalar))

    loops.loop(k(0), rows, 1, row)
    b.ret_void()
    return str(loops.module)
