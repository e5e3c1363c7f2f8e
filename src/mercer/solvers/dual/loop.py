"""The innermost loop of the dual solver, as LLVM IR: two coordinates a step, or one without an offset.

    minimise ½ cᵀKc + gᵀc + κ Σ|c_k| over lower ≤ c ≤ upper, from where c and the gradient g are

on a block of K that lies in cache. With an offset Σc must not change: the pair (i, j) goes to
(c_i + t, c_j − t), where i is the coordinate that most wants to grow and j the one whose partnership
promises the largest decrease, (slope)²/curvature. Without one, the coordinate of the largest decrease
moves alone. `reference.py` says the same in NumPy.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from mercer.codegen.llvm.emitter import F64, I64, Emitter
from mercer.codegen.llvm.processor import Processor
from mercer.codegen.llvm.vectors import Vectors
from mercer.solvers.dual.block import PADDING

BIG = 1e30


class _Loop(Emitter):
    def __init__(self, processor: Processor, dtype: str, paired: bool):
        """run(K, diagonal, c, g, lower, upper, extra, up, down, result, size, stride, max_iter, kink, tol)"""
        super().__init__()
        arguments = self.begin("run", 10, 3, 2)
        self.K, self.diagonal, self.c, self.g, self.lower, self.upper = arguments[:6]
        self.extra, self.up, self.down, self.result = arguments[6:10]
        self.size, self.stride, self.limit, self.kink, self.tol = arguments[10:]
        self.v = Vectors(self.b, processor, dtype)
        self.T, self.paired = self.v.scalar, paired
        # Two chains of comparisons hide each other's latency; blocks are padded to whole rounds of them.
        self.chains = 2
        assert PADDING % (self.v.lanes * self.chains) == 0

    # -- small things ------------------------------------------------------------------------------

    def load(self, pointer: Any, index: Any) -> Any:
        return self.v.load(self.v.at(pointer, index))

    def scalar(self, pointer: Any, index: Any, kind: ir.Type | None = None) -> Any:
        return self.entry(pointer, index, kind or self.T)

    def row(self, i: Any) -> Any:
        return self.v.at(self.K, self.b.mul(i, self.stride))

    def put(self, value: Any, pointer: Any, index: Any, kind: ir.Type | None = None) -> None:
        self.b.store(value, self.at(pointer, index, kind or self.T))

    def number(self, value: float, kind: ir.Type | None = None) -> Any:
        return ir.Constant(kind or self.T, value)

    def wide(self, value: Any) -> Any:
        return value if self.v.double else self.b.fpext(value, F64)

    def narrow(self, value: Any) -> Any:
        return value if self.v.double else self.b.fptrunc(value, self.T)

    def larger(self, a: Any, b: Any) -> Any:
        return self.b.select(self.b.fcmp_ordered(">", a, b), a, b)

    def highest(self, v: Any) -> Any:
        return self.v.reduced("fmax", "nnan", v)

    # -- the best coordinate of a pass -------------------------------------------------------------

    def best(self, size: Any, score: Any) -> tuple[Any, Any, Any]:
        """(largest score, its index, largest of the second thing) over all coordinates.

        score(first index) → (vector of scores, vector of something whose maximum is wanted too).
        """
        b, v, lanes, chains = self.b, self.v, self.v.lanes, self.chains
        step, lowest = v.iconst(lanes * chains), v.const(-BIG)
        carried = []
        for k in range(chains):
            start = ir.Constant(v.itype, list(range(lanes * k, lanes * (k + 1))))
            carried += [lowest, start, lowest, start]

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
        held = b.select(b.fcmp_ordered("==", top, v.splat(highest)), where, v.iconst(2**31 - 1))
        name = f"llvm.vector.reduce.umin.v{lanes}i{v.integer.width}"
        index = v.call(name, v.integer, held)
        return highest, index if v.double else b.zext(index, I64), self.highest(other)

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
        size = self.v.call("llvm.fabs.f64", F64, t)
        self.put(b.select(b.fcmp_ordered(">=", size, reach), end, b.fadd(c, t)), self.c, k, F64)
        extra = b.fmul(t, self.scalar(self.extra, k, F64))
        g = self.wide(self.scalar(self.g, k))
        self.put(self.narrow(b.fadd(g, extra)), self.g, k)
        self.borders(k)

    # -- the function ------------------------------------------------------------------------------

    def emit(self) -> str:
        """The IR of the function."""
        b = self.b
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
        select = self._pair if self.paired else self._single
        new_i, new_j, violation, slope_data = select(self.row(i), self.row(j), self.v.splat(t))
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
        return str(self.module)

    def _moved(self, k: Any, row_i: Any, row_j: Any, t: Any) -> Any:
        """The gradient at k.. after the last step, stored."""
        change = self.load(row_i, k)
        if self.paired:
            change = self.b.fsub(change, self.load(row_j, k))
        g = self.v.fma(t, change, self.load(self.g, k))
        self.v.store(g, self.v.at(self.g, k))
        return g

    def _pair(self, row_i, row_j, step):
        b, v = self.b, self.v

        def wants_up(k):
            g = self._moved(k, row_i, row_j, step)
            value = b.fneg(b.fadd(g, self.load(self.up, k)))
            return value, value

        lowest, i, _ = self.best(self.size, wants_up)
        row, diagonal = self.row(i), v.load_splat(v.at(self.diagonal, i))
        offset, zero, two, least = v.splat(lowest), v.const(0.0), v.const(-2.0), v.const(self._least)

        def gain(k):
            slope = b.fadd(b.fadd(self.load(self.g, k), self.load(self.down, k)), offset)
            curvature = v.fma(two, self.load(row, k), b.fadd(diagonal, self.load(self.diagonal, k)))
            useful = self.larger(slope, zero)
            return b.fdiv(b.fmul(useful, useful), self.larger(curvature, least)), slope

        _, j, violation = self.best(self.size, gain)
        return i, j, violation, lowest

    @property
    def _least(self) -> float:
        """Curvatures below this are rounding: of points that coincide, say."""
        return 1e-12 if self.v.double else 1e-6

    def _move_pair(self, i, j, lowest):
        b = self.b
        row = self.row(i)
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

    def _single(self, row_i, row_j, step):
        b, zero = self.b, self.v.const(0.0)

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


def loop_ir(processor: Processor, dtype: str, paired: bool) -> str:
    """LLVM IR of `run` for blocks of that dtype."""
    return _Loop(processor, dtype, paired).emit()
