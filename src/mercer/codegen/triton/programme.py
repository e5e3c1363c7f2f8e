"""A traced programme as statements of a Triton kernel."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any

from mercer.codegen.triton.code import Code

# 2^f on [−1/2, 1/2], smallest relative error: 7e-8 (float32), 2e-17 (float64).
_SINGLE = (
    1.0000000716546822,
    0.6931469670647331,
    0.24022119723848476,
    0.05550713273542589,
    0.009675541334216184,
    0.0013276471979479397,
)
_DOUBLE = (
    1.0,
    0.6931471805599453,
    0.24022650695910158,
    0.055504108664821625,
    0.009618129107587256,
    0.001333355814640647,
    0.00015403530463724353,
    1.5252733841556773e-05,
    1.3215432535912375e-06,
    1.0178057087733941e-07,
    7.074194297288521e-09,
    4.4558179083360645e-10,
)
# Adding 1.5·2²³ (1.5·2⁵²) rounds to an integer, which is then found in the low bits.
_ROUND_SINGLE = 12582912.0
_ROUND_DOUBLE = 6755399441055744.0
_PACK = 8
_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def statements(
    w: Any, code: Code, instructions: Any, name: str, bounded: frozenset[int], x="", z="", leaf: int = -1
) -> str:
    """The instructions as statements; returns the name of the result."""
    names: list[str] = []
    for position, (operation, *o) in enumerate(instructions):
        out = f"{name}{position}"
        if operation == "leaf":
            out = f"s{o[0]}"
        elif operation == "row":
            out = f"row{o[0]}[:, None]"
        elif operation == "column":
            out = f"column{o[0]}[None, :]"
        elif operation == "constant":
            out = f"k{o[0]}" if leaf < 0 else f"k{leaf}_{o[0]}"
        elif operation in ("x", "z"):
            out = x if operation == "x" else z
        else:
            # A sign costs nothing where an exponential is taken, but for itself it does.
            negated = operation == "exp2" and code.dtype == "float32" and instructions[o[0]][0] == "neg"
            given = [names[instructions[o[0]][1]]] if negated else [names[p] for p in o]
            w(*_statement(code, operation, out, given, position in bounded, negated))
        names.append(out)
    result = names[-1]
    if not any(i[0] == "leaf" for i in instructions) and leaf < 0:
        result = f"{result} + tl.zeros((BM, BN), dtype=tl.{code.dtype})"
    return result


def _statement(code: Code, operation: str, out: str, a: list[str], bounded: bool, negated: bool) -> list[str]:
    if operation in _INFIX:
        return [f"{out} = {a[0]} {_INFIX[operation]} {a[1]}"]
    if operation == "exp2" and code.dtype == "float64":
        return _double(out, a[0], low=not code.small, high=not (code.small or bounded))
    if operation == "exp2":
        share = code.share if bounded or code.small else 0
        return _single(out, a[0], share, not code.small, negated, code.native)
    if operation == "sqrt" and code.dtype == "float32" and code.native:
        # Without the detour for numbers below 1e-38, which count as zero.
        root = "'sqrt.approx.ftz.f32 $0, $1;', '=f,f'"
        return [
            f"{out} = tl.inline_asm_elementwise({root}, [{a[0]}], dtype=tl.float32, is_pure=True, pack=1)"
        ]
    if operation == "neg":
        return [f"{out} = -{a[0]}"]
    if operation in ("max", "min"):
        return [f"{out} = tl.{operation}imum({a[0]}, {a[1]})"]
    if operation in ("sin", "cos"):
        return _wave(operation, out, a[0])
    if operation == "tanh":  # series near zero, where 1 − e would cancel
        return [
            f"{out}_e = tl.exp2(tl.abs({a[0]}) * -2.8853900817779268)",
            f"{out}_l = (1.0 - {out}_e) / (1.0 + {out}_e)",
            f"{out}_q = {a[0]} * {a[0]}",
            f"{out}_s = {a[0]} * (1.0 + {out}_q * (-0.3333333333 + {out}_q * (0.1333333333"
            f" + {out}_q * (-0.0539682540 + {out}_q * 0.0218694885))))",
            f"{out} = tl.where({out}_q < 0.04, {out}_s, tl.where({a[0]} < 0, -{out}_l, {out}_l))",
        ]
    if operation == "arccos":  # Hastings' approximation, 2e-8
        coefficients = (
            -0.0012624911,
            0.0066700901,
            -0.0170881256,
            0.0308918810,
            -0.0501743046,
            0.0889789874,
            -0.2145988016,
            1.5707963050,
        )
        horner = repr(coefficients[0])
        for c in coefficients[1:]:
            horner = f"({horner} * {out}_x + {c!r})"
        return [
            f"{out}_x = tl.abs({a[0]})",
            f"{out}_y = tl.sqrt(tl.maximum(1.0 - {out}_x, 0.0)) * {horner}",
            f"{out} = tl.where({a[0]} < 0, 3.14159265358979 - {out}_y, {out}_y)",
        ]
    return [f"{out} = tl.{operation}({a[0]})"]


def _wave(operation: str, out: str, t: str) -> list[str]:
    """sin and cos in float32: what is left after multiples of π, then a polynomial.

    Past 25,000 the multiple of π is no longer exact, but there float32 arguments are off by 1e-3 themselves.
    """
    turns = f"tl.floor({t} * 0.3183098861837907" + (" + 0.5)" if operation == "sin" else ")")
    shifted = f"{out}_k" if operation == "sin" else f"({out}_k + 0.5)"
    odd = f"{out}_k - 2.0 * tl.floor({out}_k * 0.5)"
    first, second = ("-1.0", "1.0") if operation == "sin" else ("1.0", "-1.0")
    return [
        f"{out}_k = {turns}",
        f"{out}_r = {t} - {shifted} * 3.140625",
        f"{out}_r = {out}_r - {shifted} * 9.67502593994140625e-4",
        f"{out}_r = {out}_r - {shifted} * 1.509957990978376e-7",
        f"{out}_q = {out}_r * {out}_r",
        f"{out}_p = {out}_q * -2.3889859e-08 + 2.7525562e-06",
        f"{out}_p = {out}_p * {out}_q - 1.9840874e-04",
        f"{out}_p = {out}_p * {out}_q + 8.3333310e-03",
        f"{out}_p = {out}_p * {out}_q - 1.6666667e-01",
        f"{out}_p = {out}_p * {out}_q * {out}_r + {out}_r",
        f"{out} = {out}_p * tl.where({odd} > 0.5, {first}, {second})",
    ]


# -- 2^t ---------------------------------------------------------------------------------------------------
#
# The special-function unit gives 16 exponentials a clock and multiprocessor, the multiply-add units 128
# operations. Where exponentials are the limit, a few of every eight are computed by a polynomial instead.


def _bits(value: float) -> str:
    return f"0f{struct.unpack('<I', struct.pack('<f', value))[0]:08X}"


@lru_cache(maxsize=32)
def _assembly(polynomials: int, clamp: bool, negated: bool) -> tuple[str, str]:
    """PTX for eight exponentials (of −t), `polynomials` of them by polynomial; its register constraints.

    The polynomial takes arguments below 127; `clamp` guards it against those below −126.
    """
    chosen = {int(k * _PACK / polynomials) for k in range(polynomials)} if polynomials else set()
    declare, body = [], []
    for e in range(_PACK):
        out, t = f"${e}", f"${_PACK + e}"
        if negated:
            declare.append(f".reg .f32 n{e};")
            body.append(f"neg.f32 n{e},{t};")
            t = f"n{e}"
        if e not in chosen:
            body.append(f"ex2.approx.ftz.f32 {out},{t};")
            continue
        declare.append(f".reg .f32 t{e},r{e},f{e},p{e}; .reg .b32 i{e},q{e};")
        body.append(f"max.ftz.f32 t{e},{t},{_bits(-126.0)};" if clamp else f"mov.f32 t{e},{t};")
        body.append(f"add.rn.ftz.f32 r{e},t{e},{_bits(_ROUND_SINGLE)};")
        body.append(f"add.rn.ftz.f32 f{e},r{e},{_bits(-_ROUND_SINGLE)}; sub.rn.ftz.f32 f{e},t{e},f{e};")
        body.append(f"mov.b32 i{e},r{e}; shl.b32 i{e},i{e},23;")
        body.append(f"fma.rn.ftz.f32 p{e},f{e},{_bits(_SINGLE[-1])},{_bits(_SINGLE[-2])};")
        body += [f"fma.rn.ftz.f32 p{e},p{e},f{e},{_bits(c)};" for c in _SINGLE[-3::-1]]
        body.append(f"mov.b32 q{e},p{e}; add.s32 q{e},q{e},i{e}; mov.b32 {out},q{e};")
    return "{ " + " ".join(declare + body) + " }", ",".join(["=f"] * _PACK + ["f"] * _PACK)


def _single(out: str, t: str, share: int, clamp: bool, negated: bool, native: bool) -> list[str]:
    """Statements: out = 2^t, or 2^−t, in float32."""
    if not native:  # Triton's interpreter has no assembler
        return [f"{out} = tl.exp2({'-' * negated}{t})"]
    text, constraints = _assembly(share, clamp, negated)
    return [
        f"{out} = tl.inline_asm_elementwise({text!r}, {constraints!r}, [{t}],"
        f" dtype=tl.float32, is_pure=True, pack={_PACK})"
    ]


def _double(out: str, t: str, low: bool, high: bool) -> list[str]:
    """Statements: out = 2^t in float64, clamped where t may leave [−1020, 1023]."""
    lines = [f"{out}_t = {t}"]
    if low:
        lines.append(f"{out}_t = tl.maximum({out}_t, -1020.0)")
    if high:
        lines.append(f"{out}_t = tl.minimum({out}_t, 1023.0)")
    lines.append(f"{out}_r = {out}_t + {_ROUND_DOUBLE!r}")
    lines.append(f"{out}_f = {out}_t - ({out}_r - {_ROUND_DOUBLE!r})")
    lines.append(f"{out}_p = {out}_f * {_DOUBLE[-1]!r} + {_DOUBLE[-2]!r}")
    lines += [f"{out}_p = {out}_p * {out}_f + {c!r}" for c in _DOUBLE[-3::-1]]
    lines.append(
        f"{out} = ({out}_p.to(tl.int64, bitcast=True) + ({out}_r.to(tl.int64, bitcast=True) << 52))"
        ".to(tl.float64, bitcast=True)"
    )
    return lines
