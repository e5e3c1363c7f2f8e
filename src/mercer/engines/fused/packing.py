"""IR for packing points: centred, scaled, laid out in blocks, with a norm on request."""

from __future__ import annotations

from llvmlite import ir

from mercer.codegen.llvm.emitter import Emitter
from mercer.codegen.llvm.vectors import F64, I64


def pack_ir(dtype: str) -> str:
    """LLVM IR of `pack`: centre, scale and lay out points in blocks of B, with a norm on request.

    pack(source, mean, out, stride, n, rows, d, width, offset, B, slot, scale, factor)
    """
    module = ir.Module()
    scalar = F64 if dtype == "float64" else ir.FloatType()
    pointer = ir.PointerType()
    types = [pointer] * 3 + [I64] * 8 + [F64, F64]
    fn = ir.Function(module, ir.FunctionType(ir.VoidType(), types), "pack")
    source, mean, out, stride, n, rows, d, width, offset, B, slot, scale64, factor = fn.args
    for arg in fn.args[:3]:
        arg.add_attribute("noalias")
    loops = Emitter()
    loops.function, loops.b = fn, ir.IRBuilder(fn.append_basic_block())
    b, k = loops.b, loops.k
    at = lambda p, i: b.gep(p, [i], source_etype=scalar)  # noqa: E731
    scale = scale64 if scalar is F64 else b.fptrunc(scale64, scalar)
    last = b.sub(n, k(1))

    def row(i, _):
        block, r = b.sdiv(i, B), b.srem(i, B)
        # Rows beyond the last repeat it: any values would do, but these give no NaN.
        from_row = b.mul(b.select(b.icmp_signed("<", i, n), i, last), stride)
        base = b.add(b.mul(block, b.mul(width, B)), r)

        def coordinate(q, sums):
            x = b.load(at(source, b.add(from_row, q)), typ=scalar)
            x = b.fmul(b.fsub(x, b.load(at(mean, q), typ=scalar)), scale)
            b.store(x, at(out, b.add(base, b.mul(b.add(offset, q), B))))
            wide = x if scalar is F64 else b.fpext(x, F64)
            return [b.fadd(sums[0], b.fmul(wide, wide, flags=("contract",)), flags=("contract",))]

        (total,) = loops.loop(k(0), d, 1, coordinate, [ir.Constant(F64, 0.0)])
        with b.if_then(b.icmp_signed(">=", slot, k(0))):
            norm = b.fmul(total, factor)
            norm = norm if scalar is F64 else b.fptrunc(norm, scalar)
            b.store(norm, at(out, b.add(base, b.mul(slot, B))))

    loops.loop(k(0), rows, 1, row)
    b.ret_void()
    return str(module)
