"""The scans of the dual solver's inner loop, as LLVM IR: the best of all coordinates, and where it is.

Each takes the last step into the gradient or looks at what another one found, one vector of coordinates after
the other. LLVM makes no vectors of a running maximum with its index, so this is emitted; what goes on between
scans is Python (`steps.py`), and the scans in NumPy are at the end of that file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from mercer.codegen.llvm.emitter import I64, Emitter
from mercer.codegen.llvm.processor import Processor
from mercer.codegen.llvm.vectors import Vectors
from mercer.solvers.dual.block import PADDING
from mercer.solvers.dual.steps import BIG

# Two chains of comparisons hide each other's latency; blocks are padded to whole rounds of them.
_CHAINS = 2


class _Scans(Emitter):
    """Emits all three for arrays of one dtype, to be called by functions of the subset."""

    def __init__(self, processor: Processor, dtype: str):
        super().__init__()
        self.processor, self.dtype = processor, dtype

    def arrays(self, name: str, count: int) -> list[Any]:
        """Start a function of so many arrays; where they begin. All but the last are as long as the third."""
        kind = ir.FunctionType(I64, [ir.PointerType(), I64] * count)
        self.function = ir.Function(self.module, kind, name)
        for argument in self.function.args[::2]:
            argument.add_attribute("noalias")
        self.b = ir.IRBuilder(self.function.append_basic_block())
        self.v = Vectors(self.b, self.processor, self.dtype)
        assert PADDING % (self.v.lanes * _CHAINS) == 0
        self.size = self.function.args[5]
        return list(self.function.args[::2])

    def load(self, pointer: Any, k: Any) -> Any:
        return self.v.load(self.v.at(pointer, k))

    def number(self, pointer: Any, k: int) -> Any:
        return self.entry(pointer, self.k(k), self.v.scalar)

    def larger(self, a: Any, b: Any) -> Any:
        return self.b.select(self.b.fcmp_ordered(">", a, b), a, b)

    def best(self, score: Callable[[Any], tuple[Any, Any]]) -> tuple[Any, Any, Any]:
        """(largest score, its index, largest of the second thing) over all coordinates.

        score(first index) → (vector of scores, vector of something whose maximum is wanted too).
        """
        b, v, lanes = self.b, self.v, self.v.lanes
        step, lowest = v.iconst(lanes * _CHAINS), v.const(-BIG)
        carried = []
        for k in range(_CHAINS):
            start = ir.Constant(v.itype, list(range(lanes * k, lanes * (k + 1))))
            carried += [lowest, start, lowest, start]

        def body(first, state):
            out = []
            for k in range(_CHAINS):
                top, where, other, here = state[4 * k : 4 * k + 4]
                value, second = score(b.add(first, self.k(lanes * k)))
                better = b.fcmp_ordered(">", value, top)
                out += [
                    b.select(better, value, top),
                    b.select(better, here, where),
                    self.larger(second, other),
                    b.add(here, step),
                ]
            return out

        final = self.loop(self.k(0), self.size, lanes * _CHAINS, body, carried)
        top, where, other = final[:3]
        for k in range(1, _CHAINS):
            value, index = final[4 * k], final[4 * k + 1]
            first = b.and_(b.fcmp_ordered("==", value, top), b.icmp_unsigned("<", index, where))
            better = b.or_(b.fcmp_ordered(">", value, top), first)
            top, where = b.select(better, value, top), b.select(better, index, where)
            other = self.larger(final[4 * k + 2], other)
        highest = v.reduced("fmax", "nnan", top)
        # Of equal ones the first, so that results do not depend on the width of vectors.
        held = b.select(b.fcmp_ordered("==", top, v.splat(highest)), where, v.iconst(2**31 - 1))
        index = v.call(f"llvm.vector.reduce.umin.v{lanes}i{v.integer.width}", v.integer, held)
        return highest, index if v.double else b.zext(index, I64), v.reduced("fmax", "nnan", other)

    def finish(self, found: Any, place: int, index: Any, scores: Any, **values: Any) -> None:
        self.b.store(index, self.at(found, self.k(place), I64))
        for name, value in values.items():
            self.b.store(value, self.v.at(scores, self.k({"top": 1, "violation": 2}[name])))
        self.b.ret(self.k(0))

    # -- the three ---------------------------------------------------------------------------------

    def rise(self) -> None:
        """rise(row i, row j, g, up, scores, found): who most wants to grow, after the last step."""
        row_i, row_j, g, up, scores, found = self.arrays("rise", 6)
        b, v = self.b, self.v
        t = v.splat(self.number(scores, 0))

        def wants_up(k):
            new = v.fma(t, b.fsub(self.load(row_i, k), self.load(row_j, k)), self.load(g, k))
            v.store(new, v.at(g, k))
            value = b.fneg(b.fadd(new, self.load(up, k)))
            return value, value

        top, i, _ = self.best(wants_up)
        self.finish(found, 0, i, scores, top=top)

    def gain(self) -> None:
        """gain(row i, diagonal, g, down, scores, found): whose partnership with i promises most."""
        row, diagonal, g, down, scores, found = self.arrays("gain", 6)
        b, v = self.b, self.v
        own = v.load_splat(v.at(diagonal, self.entry(found, self.k(0), I64)))
        top, zero = v.splat(self.number(scores, 1)), v.const(0.0)
        two, least = v.const(-2.0), v.splat(self.number(scores, 3))

        def promise(k):
            slope = b.fadd(b.fadd(self.load(g, k), self.load(down, k)), top)
            curvature = v.fma(two, self.load(row, k), b.fadd(own, self.load(diagonal, k)))
            useful = self.larger(slope, zero)
            return b.fdiv(b.fmul(useful, useful), self.larger(curvature, least)), slope

        _, j, violation = self.best(promise)
        self.finish(found, 1, j, scores, violation=violation)

    def alone(self) -> None:
        """alone(row i, diagonal, g, up, down, scores, found): who gains most alone, after the last step."""
        row, diagonal, g, up, down, scores, found = self.arrays("alone", 7)
        b, v = self.b, self.v
        t, zero = v.splat(self.number(scores, 0)), v.const(0.0)

        def promise(k):
            new = v.fma(t, self.load(row, k), self.load(g, k))
            v.store(new, v.at(g, k))
            slope = self.larger(b.fneg(b.fadd(new, self.load(up, k))), b.fadd(new, self.load(down, k)))
            useful = self.larger(slope, zero)
            return b.fdiv(b.fmul(useful, useful), self.load(diagonal, k)), slope

        _, i, violation = self.best(promise)
        self.finish(found, 0, i, scores, violation=violation)


def scans_ir(processor: Processor, dtype: str) -> str:
    """LLVM IR of `rise`, `gain` and `alone`."""
    emitter = _Scans(processor, dtype)
    emitter.rise()
    emitter.gain()
    emitter.alone()
    return str(emitter.module)
