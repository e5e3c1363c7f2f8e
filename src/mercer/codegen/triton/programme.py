"""A traced programme as statements of a Triton kernel."""

from __future__ import annotations

from typing import Any

from mercer.codegen.triton import exponential
from mercer.codegen.triton.code import Code

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
            w(*_statement(code, operation, out, [names[p] for p in o], position in bounded))
        names.append(out)
    result = names[-1]
    if not any(i[0] == "leaf" for i in instructions) and leaf < 0:
        result = f"{result} + tl.zeros((BM, BN), dtype=tl.{code.dtype})"
    return result


def _statement(code: Code, operation: str, out: str, a: list[str], bounded: bool) -> list[str]:
    if operation in _INFIX:
        return [f"{out} = {a[0]} {_INFIX[operation]} {a[1]}"]
    if operation == "exp2" and code.dtype == "float64":
        return exponential.double(out, a[0], low=not code.small, high=not (code.small or bounded))
    if operation == "exp2":
        share = code.share if bounded or code.small else 0
        return exponential.single(out, a[0], share, not code.small, code.native)
    if operation == "sqrt" and code.dtype == "float32" and code.native:
        # Without the detour for numbers below 1e-38, which count as zero.
        root = "'sqrt.approx.ftz.f32 $0, $1;', '=f,f'"
        return [
            f"{out} = tl.inline_asm_elementwise({root}, [{a[0]}], dtype=tl.float32, is_pure=True, pack=1)"
        ]
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
