"""2^t for generated kernels: a share of the exponentials on the multiply-add units.

The special-function unit gives 16 exponentials a clock and multiprocessor, the multiply-add units 128
operations. Where exponentials are the limit, a few of every eight are computed by a polynomial instead.
"""

from __future__ import annotations

import struct
from functools import lru_cache

# 2^f on [−1/2, 1/2], smallest relative error: 7e-8 (float32), 2e-14 (float64).
_SINGLE = (
    1.0000000716546822,
    0.6931469670647331,
    0.24022119723848476,
    0.05550713273542589,
    0.009675541334216184,
    0.0013276471979479397,
)
_DOUBLE = (
    1.0000000000000133,
    0.6931471805599475,
    0.24022650695644043,
    0.055504108664642365,
    0.009618129193038267,
    0.001333355819811677,
    0.00015403434394064552,
    1.5252675488497403e-05,
    1.3259506189911009e-06,
    1.0205338298874267e-07,
)
# Adding 1.5·2²³ (1.5·2⁵²) rounds to an integer, which is then found in the low bits.
_ROUND_SINGLE = 12582912.0
_ROUND_DOUBLE = 6755399441055744.0
_PACK = 8


def _bits(value: float) -> str:
    return f"0f{struct.unpack('<I', struct.pack('<f', value))[0]:08X}"


@lru_cache(maxsize=32)
def assembly(polynomials: int, clamp: bool) -> tuple[str, str]:
    """PTX for eight exponentials, `polynomials` of them by polynomial; its register constraints.

    The polynomial takes arguments below 127; `clamp` guards it against those below −126.
    """
    chosen = {int(k * _PACK / polynomials) for k in range(polynomials)} if polynomials else set()
    declare, body = [], []
    for e in range(_PACK):
        out, t = f"${e}", f"${_PACK + e}"
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


def single(out: str, t: str, share: int, clamp: bool, native: bool) -> list[str]:
    """Statements: out = 2^t in float32."""
    if not native:  # Triton's interpreter has no assembler
        return [f"{out} = tl.exp2({t})"]
    text, constraints = assembly(share, clamp)
    return [
        f"{out} = tl.inline_asm_elementwise({text!r}, {constraints!r}, [{t}],"
        f" dtype=tl.float32, is_pure=True, pack={_PACK})"
    ]


def double(out: str, t: str, low: bool, high: bool) -> list[str]:
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
