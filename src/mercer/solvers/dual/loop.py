"""The innermost loop of the dual solver, as LLVM IR: two coordinates a step, or one without an offset.

    minimise ½ cᵀKc + gᵀc + κ Σ|c_k| over lower ≤ c ≤ upper, from where c and the gradient g are

on a block of K that lies in cache. With an offset Σc must not change: the pair (i, j) goes to
(c_i + t, c_j − t), where i is the coordinate that most wants to grow and j the one whose partnership
promises the largest decrease, (slope)²/curvature. Without one, the coordinate of the largest decrease
moves alone. `reference.py` says the same in NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from mercer.codegen.llvm.emitter import I64, Emitter
from mercer.codegen.llvm.processor import Processor
from mercer.codegen.llvm.vectors import F32, F64
from mercer.solvers.dual.block import PADDING

BIG = 1e30


class _Loop(Emitter):
    def __init__(self, target: Processor, dtype: str, paired: bool):
        self.module = ir.Module()
        self.T = F64 if dtype == "float64" else F32
        self.align = 8 if dtype == "float64" else 4
        self.lanes = target.lanes(np.dtype(dtype))
        self.vector = ir.VectorType(self.T, self.lanes)
        self.indices = ir.VectorType(I64 if dtype == "float64" else ir.IntType(32), self.lanes)
        self.paired = paired
        # Two chains of comparisons hide each other's latency; blocks are padded to whole rounds of them.
        self.chains = 2
        assert PADDING % (self.lanes * self.chains) == 0

    # -- small things ------------------------------------------------------------------------------

    def at(self, pointer: Any, index: Any, kind: ir.Type) -> Any:
        return self.b.gep(pointer, [index], source_etype=kind)

    def load(self, pointer: Any, index: Any) -> Any:
        v = self.b.load(self.at(pointer, index, self.T), typ=self.vector)
        v.align = self.align
        return v

    def scalar(self, pointer: Any, index: Any, kind: ir.Type | None = None) -> Any:
        kind = kind or self.T
        return self.b.load(self.at(pointer, index, kind), typ=kind)

    def put(self, value: Any, pointer: Any, index: Any, kind: ir.Type | None = None) -> None:
        self.b.store(value, self.at(pointer, index, kind or self.T))

    def number(self, value: float, kind: ir.Type | None = None) -> Any:
        return ir.Constant(kind or self.T, value)

    def all(self, value: float) -> Any:
        return ir.Constant(self.vector, [value] * self.lanes)

    def wide(self, value: Any) -> Any:
        return value if self.T is F64 else self.b.fpext(value, F64)

    def narrow(self, value: Any) -> Any:
        return value if self.T is F64 else self.b.fptrunc(value, self.T)

    def fma(self, a: Any, x: Any, y: Any) -> Any:
        return self.call(f"llvm.fma.v{self.lanes}f{8 * self.align}", self.vector, a, x, y)

    def larger(self, a: Any, b: Any) -> Any:
        return self.b.select(self.b.fcmp_ordered(">", a, b), a, b)

    def highest(self, v: Any) -> Any:
        out = self.call(f"llvm.vector.reduce.fmax.v{self.lanes}f{8 * self.align}", self.T, v)
        out.fastmath.add("nnan")
        return out

    # -- the best coordinate of a pass -------------------------------------------------------------

    def best(self, size: Any, score: Any) -> tuple[Any, Any, Any]:
        """(largest score, its index, largest of the second thing) over all coordinates.

        score(first index) → (vector of scores, vector of something whose maximum is wanted too).
        """
        b, lanes, chains = self.b, self.lanes, self.chains
        whole = ir.Constant(self.indices, list(range(lanes)))
        step = ir.Constant(self.indices, [lanes * chains] * lanes)
        start = [b.add(whole, ir.Constant(self.indices, [lanes * k] * lanes)) for k in range(chains)]
        carried = []
        for k in range(chains):
            carried += [self.all(-BIG), start[k], self.all(-BIG), start[k]]

        def body(first, state):
            out = []
            for k in range(chains):
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

        final = self.loop(self.k(0), size, lanes * chains, body, carried)
        top, where, other = final[0], final[1], final[2]
        for k in range(1, chains):
            value, index = final[4 * k], final[4 * k + 1]
            first = b.and_(b.fcmp_ordered("==", value, top), b.icmp_unsigned("<", index, where))
            better = b.or_(b.fcmp_ordered(">", value, top), first)
            top, where = b.select(better, value, top), b.select(better, index, where)
            other = self.larger(final[4 * k + 2], other)
        highest = self.highest(top)
        # Of equal ones the first, so that results do not depend on the width of vectors.
        none = ir.Constant(self.indices, [2**31 - 1] * lanes)
        held = b.select(b.fcmp_ordered("==", top, self.splat(highest)), where, none)
        name = f"llvm.vector.reduce.umin.v{lanes}i{8 * self.align}"
        index = self.call(name, self.indices.element, held)
        return highest, index if self.T is F64 else b.zext(index, I64), self.highest(other)

    # -- scalars -----------------------------------------------------------------------------------

    def borders(self, k: Any) -> None:
        """Write what must be added to g_k for the slope upwards and downwards; out of reach: ±BIG."""
        b, zero = self.b, self.number(0.0, F64)
        c, low, high = (self.scalar(p, k, F64) for p in (self.c, self.lower, self.upper))
        minus = b.fneg(self.kink)
        up = b.select(b.fcmp_ordered(">=", c, zero), self.kink, minus)
        down = b.select(b.fcmp_ordered(">", c, zero), self.kink, minus)
        up = b.select(b.fcmp_ordered("<", c, high), up, self.number(BIG, F64))
        down = b.select(b.fcmp_ordered(">", c, low), down, self.number(-BIG, F64))
        self.put(self.narrow(up), self.up, k)
        self.put(self.narrow(down), self.down, k)

    def reach(self, k: Any, upwards: Any) -> tuple[Any, Any]:
        """(how far c_k can go, where it then is): to its bound, or to the kink at 0 on the way."""
        b, zero = self.b, self.number(0.0, F64)
        c = self.scalar(self.c, k, F64)
        bound = b.select(upwards, self.scalar(self.upper, k, F64), self.scalar(self.lower, k, F64))
        before = b.select(upwards, b.fcmp_ordered("<", c, zero), b.fcmp_ordered(">", c, zero))
        kinked = b.and_(before, b.fcmp_ordered(">", self.kink, zero))
        end = b.select(kinked, zero, bound)
        distance = b.fsub(end, c)
        return b.select(upwards, distance, b.fneg(distance)), end

    def shift(self, k: Any, t: Any, reach: Any, end: Any) -> None:
        """c_k += t, exactly to `end` if |t| is all the way there; the curvature of the loss joins g_k."""
        b = self.b
        c = self.scalar(self.c, k, F64)
        size = self.call("llvm.fabs.f64", F64, t)
        self.put(b.select(b.fcmp_ordered(">=", size, reach), end, b.fadd(c, t)), self.c, k, F64)
        extra = b.fmul(t, self.scalar(self.extra, k, F64))
        g = self.wide(self.scalar(self.g, k))
        self.put(self.narrow(b.fadd(g, extra)), self.g, k)
        self.borders(k)

    # -- the function ------------------------------------------------------------------------------

    def emit(self) -> None:
        """run(K, diagonal, c, g, lower, upper, extra, up, down, result, size, stride, max_iter, kink, tol)"""
        types = [ir.PointerType()] * 10 + [I64] * 3 + [F64] * 2
        self.function = ir.Function(self.module, ir.FunctionType(ir.VoidType(), types), "run")
        for arg in self.function.args[:10]:
            arg.add_attribute("noalias")
        self.K, self.diagonal, self.c, self.g, self.lower, self.upper = self.function.args[:6]
        self.extra, self.up, self.down, self.result = self.function.args[6:10]
        self.size, self.stride, self.limit, self.kink, self.tol = self.function.args[10:]
        self.b = b = ir.IRBuilder(self.function.append_basic_block())

        self.loop(self.k(0), self.size, 1, lambda k, _: self.borders(k))
        entry = b.block
        head, move, done = (self.function.append_basic_block() for _ in range(3))
        b.branch(head)
        b.position_at_end(head)
        count, i, j = (b.phi(I64) for _ in range(3))
        t, first = b.phi(self.T), b.phi(self.T)
        for phi, value in (
            (count, self.k(0)),
            (i, self.k(0)),
            (j, self.k(0)),
            (t, self.number(0.0)),
            (first, self.number(-1.0)),
        ):
            phi.add_incoming(value, entry)
        row_i, row_j = (self.at(self.K, b.mul(k, self.stride), self.T) for k in (i, j))
        select = self._pair if self.paired else self._single
        new_i, new_j, violation, slope_data = select(row_i, row_j, t)
        begun = b.select(
            b.fcmp_ordered("<", first, self.number(0.0)), self.larger(violation, self.number(0.0)), first
        )
        finished = b.or_(
            b.fcmp_ordered("<=", violation, self.narrow(self.tol)), b.icmp_signed(">=", count, self.limit)
        )
        b.cbranch(finished, done, move)

        b.position_at_end(move)
        step = (
            self._move_pair(new_i, new_j, slope_data) if self.paired else self._move_single(new_i, slope_data)
        )
        for phi, value in (
            (count, b.add(count, self.k(1))),
            (i, new_i),
            (j, new_j),
            (t, self.narrow(step)),
            (first, begun),
        ):
            phi.add_incoming(value, b.block)
        b.branch(head)

        b.position_at_end(done)
        self.put(b.sitofp(count, F64), self.result, self.k(0), F64)
        self.put(self.wide(begun), self.result, self.k(1), F64)
        self.put(self.wide(violation), self.result, self.k(2), F64)
        b.ret_void()

    def _moved(self, k: Any, row_i: Any, row_j: Any, t: Any) -> Any:
        """The gradient at k.. after the last step, stored."""
        b = self.b
        change = self.load(row_i, k)
        if self.paired:
            change = b.fsub(change, self.load(row_j, k))
        g = self.fma(t, change, self.load(self.g, k))
        b.store(g, self.at(self.g, k, self.T)).align = self.align
        return g

    def _pair(self, row_i, row_j, t):
        b = self.b
        step = self.splat(t)

        def wants_up(k):
            g = self._moved(k, row_i, row_j, step)
            value = b.fneg(b.fadd(g, self.load(self.up, k)))
            return value, value

        lowest, i, _ = self.best(self.size, wants_up)
        row = self.at(self.K, b.mul(i, self.stride), self.T)
        diagonal = self.splat(self.scalar(self.diagonal, i))
        offset, zero, two = self.splat(lowest), self.all(0.0), self.all(-2.0)
        least = self.all(self._least)

        def gain(k):
            slope = b.fadd(b.fadd(self.load(self.g, k), self.load(self.down, k)), offset)
            curvature = self.fma(two, self.load(row, k), b.fadd(diagonal, self.load(self.diagonal, k)))
            useful = self.larger(slope, zero)
            return b.fdiv(b.fmul(useful, useful), self.larger(curvature, least)), slope

        _, j, violation = self.best(self.size, gain)
        return i, j, violation, lowest

    @property
    def _least(self) -> float:
        """Curvatures below this are rounding: of points that coincide, say."""
        return 1e-12 if self.T is F64 else 1e-6

    def _move_pair(self, i, j, lowest):
        b = self.b
        row = self.at(self.K, b.mul(i, self.stride), self.T)
        slope = b.fadd(b.fadd(self.scalar(self.g, j), self.scalar(self.down, j)), lowest)
        curvature = b.fadd(self.scalar(self.diagonal, i), self.scalar(self.diagonal, j))
        curvature = b.fsub(curvature, b.fmul(self.number(2.0), self.scalar(row, j)))
        want = b.fdiv(self.wide(slope), self.wide(self.larger(curvature, self.number(self._least))))
        up, down = ir.Constant(ir.IntType(1), 1), ir.Constant(ir.IntType(1), 0)
        reach_i, end_i = self.reach(i, up)
        reach_j, end_j = self.reach(j, down)
        for reach in (reach_i, reach_j):
            want = b.select(b.fcmp_ordered(">", want, reach), reach, want)
        self.shift(i, want, reach_i, end_i)
        self.shift(j, b.fneg(want), reach_j, end_j)
        return want

    def _single(self, row_i, row_j, t):
        b = self.b
        step, zero = self.splat(t), self.all(0.0)

        def gain(k):
            g = self._moved(k, row_i, row_j, step)
            upwards = b.fneg(b.fadd(g, self.load(self.up, k)))
            slope = self.larger(upwards, b.fadd(g, self.load(self.down, k)))
            useful = self.larger(slope, zero)
            return b.fdiv(b.fmul(useful, useful), self.load(self.diagonal, k)), slope

        _, i, violation = self.best(self.size, gain)
        return i, i, violation, None

    def _move_single(self, i, _):
        b = self.b
        g = self.scalar(self.g, i)
        up = b.fneg(b.fadd(g, self.scalar(self.up, i)))
        down = b.fadd(g, self.scalar(self.down, i))
        upwards = b.fcmp_ordered(">", up, down)
        want = b.fdiv(self.wide(self.larger(up, down)), self.wide(self.scalar(self.diagonal, i)))
        reach, end = self.reach(i, upwards)
        want = b.select(b.fcmp_ordered(">", want, reach), reach, want)
        step = b.select(upwards, want, b.fneg(want))
        self.shift(i, step, reach, end)
        return step


def loop_ir(target: Processor, dtype: str, paired: bool) -> str:
    """LLVM IR of `run` for blocks of that dtype."""
    emitter = _Loop(target, dtype, paired)
    emitter.emit()
    return str(emitter.module)
