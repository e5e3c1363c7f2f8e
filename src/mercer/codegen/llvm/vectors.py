"""Vector arithmetic in LLVM IR: one builder, one width, elementary functions of our own.

Everything here emits instructions for whole vectors. Polynomials are fitted when first needed
(Chebyshev points), so that no table of magic numbers has to be believed.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from llvmlite import ir

from mercer.codegen.llvm.emitter import F64, I32, I64, number_type
from mercer.codegen.llvm.processor import Processor

# No reassociation: rounding tricks below rely on the order of operations.
_FLAGS = ("contract", "nsz")
_SMALLEST = float(np.finfo(np.float32).tiny)


@lru_cache(maxsize=64)
def _fitted(name: str, degree: int) -> tuple[float, ...]:
    """Coefficients, lowest first, of a near-minimax polynomial."""
    function, low, high = _TO_FIT[name]
    fit = np.polynomial.Chebyshev.interpolate(function, degree, domain=[low, high])
    return tuple(float(c) for c in fit.convert(kind=np.polynomial.Polynomial).coef)


def _sinc_of_square(u):
    r = np.sqrt(u)
    return np.where(r > 1e-4, np.sin(r) / np.where(r > 1e-4, r, 1), 1 - u / 6)


def _arcsin_of_square(u):
    r = np.sqrt(u)
    return np.where(r > 1e-4, np.arcsin(r) / np.where(r > 1e-4, r, 1), 1 + u / 6)


_TO_FIT: dict[str, tuple[Any, float, float]] = {
    "2^f": (np.exp2, -0.5, 0.5),
    "sin(√u)/√u": (_sinc_of_square, 0.0, (math.pi / 2) ** 2 * 1.001),
    "arcsin(√u)/√u": (_arcsin_of_square, 0.0, 0.2501),
}


def _with_flags(name: str) -> Any:
    return lambda self, a, b: getattr(self.b, name)(a, b, flags=_FLAGS)


def _intrinsic(name: str) -> Any:
    return lambda self, *operands: self.intrinsic(name, *operands)


class Vectors:
    """Emits vector instructions through an IR builder; all vectors have `lanes` numbers of one type."""

    def __init__(self, builder: ir.IRBuilder, processor: Processor, dtype: Any):
        self.b, self.double = builder, np.dtype(dtype) == np.float64
        self.lanes = processor.lanes(dtype)
        self.scalar = number_type(dtype)
        self.integer = I64 if self.double else I32
        self.type = ir.VectorType(self.scalar, self.lanes)
        self.itype = ir.VectorType(self.integer, self.lanes)
        self.mantissa = 52 if self.double else 23
        self.wide = processor.avx512 and self.lanes * (64 if self.double else 32) == 512

    # -- constants, loads, calls ------------------------------------------------------------------

    def const(self, x: float) -> ir.Constant:
        x = float(x) if self.double else float(np.float32(x))
        return ir.Constant(self.type, [x] * self.lanes)

    def iconst(self, x: int) -> ir.Constant:
        return ir.Constant(self.itype, [x] * self.lanes)

    def at(self, pointer: Any, index: Any) -> Any:
        return self.b.gep(pointer, [index], source_etype=self.scalar)

    def load(self, pointer: Any, kind: ir.Type | None = None) -> Any:
        """As many numbers as a vector has; narrower ones are widened."""
        kind = kind or self.scalar
        v = self.b.load(pointer, typ=ir.VectorType(kind, self.lanes))
        v.align = 8 if kind is F64 else 4
        return v if kind is self.scalar else self.b.fpext(v, self.type)

    def store(self, value: Any, pointer: Any) -> None:
        self.b.store(value, pointer).align = 8 if self.double else 4

    def load_splat(self, pointer: Any) -> Any:
        return self.splat(self.b.load(pointer, typ=self.scalar))

    def splat(self, scalar: Any) -> Any:
        """A vector that holds the scalar in every lane."""
        empty = ir.Constant(ir.VectorType(scalar.type, self.lanes), ir.Undefined)
        first = self.b.insert_element(empty, scalar, ir.Constant(I32, 0))
        return self.b.shuffle_vector(
            first, empty, ir.Constant(ir.VectorType(I32, self.lanes), [0] * self.lanes)
        )

    def call(self, name: str, result: ir.Type, *args: Any) -> Any:
        """Call a function by name, declaring it if need be."""
        module = self.b.module
        function = module.globals.get(name)
        if function is None:
            function = ir.Function(module, ir.FunctionType(result, [a.type for a in args]), name)
        return self.b.call(function, args)

    def intrinsic(self, name: str, *args: Any) -> Any:
        return self.call(f"llvm.{name}.{self._suffix}", self.type, *args)

    def reduced(self, name: str, flag: str, *args: Any) -> Any:
        """A number made of a vector's entries."""
        out = self.call(f"llvm.vector.reduce.{name}.{self._suffix}", self.scalar, *args)
        out.fastmath.add(flag)
        return out

    @property
    def _suffix(self) -> str:
        return f"v{self.lanes}f{64 if self.double else 32}"

    # -- arithmetic -------------------------------------------------------------------------------

    def apply(self, operation: str, *operands: Any) -> Any:
        """An operation of a programme."""
        return getattr(self, operation)(*operands)

    add, sub, mul, div = (_with_flags(name) for name in ("fadd", "fsub", "fmul", "fdiv"))
    fma, max, min, abs = (_intrinsic(name) for name in ("fma", "maxnum", "minnum", "fabs"))

    def neg(self, a):
        return self.b.fneg(a)

    def total(self, a) -> Any:
        """The sum of a vector's entries."""
        return self.reduced("fadd", "reassoc", ir.Constant(self.scalar, 0.0), a)

    def bits(self, a):
        return self.b.bitcast(a, self.itype)

    def unbits(self, a):
        return self.b.bitcast(a, self.type)

    def polynomial(self, name: str, degree: int, x: Any) -> Any:
        *lower, value = (self.const(c) for c in _fitted(name, degree))
        for c in reversed(lower):
            value = self.fma(value, x, c)
        return value

    def select(self, condition, a, b):
        return self.b.select(condition, a, b)

    def _rounded(self, x):
        """(the nearest whole number, a vector whose low bits hold it): adding 1.5·2^mantissa rounds."""
        magic = self.const(1.5 * 2.0**self.mantissa)
        t = self.add(x, magic)
        return self.sub(t, magic), self.bits(t)

    # -- elementary functions ---------------------------------------------------------------------

    def exp2(self, x):
        """2^x; underflows to 0 (or the smallest normal number), never to NaN."""
        degree = 11 if self.double else 5
        if self.wide:
            n, _ = self._rounded(x)
            p = self.polynomial("2^f", degree, self.sub(x, n))
            kind, mask = ("pd", ir.IntType(8)) if self.double else ("ps", ir.IntType(16))
            every = ir.Constant(mask, (1 << self.lanes) - 1)
            return self.call(
                f"llvm.x86.avx512.mask.scalef.{kind}.512", self.type, p, n, p, every, ir.Constant(I32, 4)
            )
        largest = (1024.0 if self.double else 128.0) * (1 - 2.0**-self.mantissa)
        x = self.min(self.max(x, self.const(-1022.0 if self.double else -126.0)), self.const(largest))
        n, low = self._rounded(x)
        p = self.polynomial("2^f", degree, self.sub(x, n))
        return self.unbits(self.b.add(self.bits(p), self.b.shl(low, self.iconst(self.mantissa))))

    def log2(self, x):
        """log₂ x for x > 0: the exponent, and 2 artanh(s)/ln 2 with s = (m−1)/(m+1) of the rest."""
        root_half = 0x3FE6A09E667F3BCD if self.double else 0x3F3504F3
        bits = self.bits(x)
        shift = self.iconst(self.mantissa)
        e = self.b.ashr(self.b.sub(bits, self.iconst(root_half)), shift)
        m = self.unbits(self.b.sub(bits, self.b.shl(e, shift)))
        one = self.const(1.0)
        s = self.div(self.sub(m, one), self.add(m, one))
        u = self.mul(s, s)
        terms = 11 if self.double else 5
        p = self.const(2 / ((2 * terms - 1) * math.log(2)))
        for k in range(terms - 2, -1, -1):
            p = self.fma(p, u, self.const(2 / ((2 * k + 1) * math.log(2))))
        return self.fma(p, s, self.b.sitofp(e, self.type))

    def sqrt(self, x):
        if not self.wide or self.double:
            return self.intrinsic("sqrt", x)
        # The approximate reciprocal root and one Newton step: a third of the time of the instruction.
        positive = self.max(x, self.const(_SMALLEST))  # 1/√0 is infinite, but 0 times a number is 0
        everywhere = ir.Constant(ir.IntType(16), 0xFFFF)
        r = self.call("llvm.x86.avx512.rsqrt14.ps.512", self.type, positive, positive, everywhere)
        y = self.mul(x, r)
        error = self.fma(self.neg(y), y, x)
        return self.fma(self.mul(r, self.const(0.5)), error, y)

    def sin(self, x, shift: float = 0.0):
        """sin(x + shift·π), by taking off the nearest multiple of π in two steps."""
        t, low = self._rounded(self.fma(x, self.const(1 / math.pi), self.const(shift)))
        n = self.sub(t, self.const(shift))
        high = float(np.float32(math.pi))
        rest = math.pi - high
        if self.double:
            middle = float(np.float32(rest))
            r = self.fma(n, self.const(-high), x)
            r = self.fma(n, self.const(-middle), r)
            # π − high − middle, from more digits of π than a float holds.
            r = self.fma(n, self.const(-_PI_TAIL), r)
        else:
            r = self.fma(n, self.const(-high), x)
            r = self.fma(n, self.const(-rest), r)
        u = self.mul(r, r)
        p = self.mul(self.polynomial("sin(√u)/√u", 8 if self.double else 4, u), r)
        sign = self.b.shl(low, self.iconst(63 if self.double else 31))
        return self.unbits(self.b.xor(self.bits(p), sign))

    def cos(self, x):
        return self.sin(x, shift=0.5)

    def tanh(self, x):
        e = self.exp2(self.mul(self.abs(x), self.const(-2 * math.log2(math.e))))
        one = self.const(1.0)
        size = self.div(self.sub(one, e), self.add(one, e))
        return self.intrinsic("copysign", size, x)

    def arccos(self, x):
        """arccos x; beyond |x| = 1/2 through arccos x = 2 arcsin √((1−x)/2)."""
        a = self.abs(x)
        half = self.const(0.5)
        outer = self.b.fcmp_ordered(">", a, half)
        square = self.select(outer, self.mul(self.sub(self.const(1.0), a), half), self.mul(x, x))
        root = self.select(outer, self.sqrt(self.max(square, self.const(0.0))), a)
        s = self.mul(self.polynomial("arcsin(√u)/√u", 13 if self.double else 5, square), root)
        near = self.sub(self.const(math.pi / 2), self.intrinsic("copysign", s, x))
        twice = self.add(s, s)
        far = self.select(
            self.b.fcmp_ordered(">", x, self.const(0.0)), twice, self.sub(self.const(math.pi), twice)
        )
        return self.select(outer, far, near)


def _pi_tail() -> float:
    """π minus its two float32 pieces, exact to float64."""
    pi = Fraction(314159265358979323846264338327950288419716939937510, 10**50)
    high = float(np.float32(math.pi))
    return float(pi - Fraction(high) - Fraction(float(np.float32(math.pi - high))))


_PI_TAIL = _pi_tail()
