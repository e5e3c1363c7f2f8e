"""Functions of a row of targets and a row of scores, as loops over the outputs in the compiled Python.

What is written with arithmetic, NumPy's functions, `np.where` and sums or maxima over a row becomes a few
loops: one up to each sum or maximum, which all outputs must have passed before anybody knows it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer.codegen.programme import Instruction, Programme, Tracer
from mercer.codegen.symbols import NotTraceable, Symbol

_COMPARISONS = {
    "greater": ">",
    "greater_equal": ">=",
    "less": "<",
    "less_equal": "<=",
    "equal": "==",
    "not_equal": "!=",
}
# Operations as expressions.
_TEXT = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "div": "{0} / {1}",
    "max": "max({0}, {1})",
    "min": "min({0}, {1})",
    "where": "{1} if {0} != 0.0 else {2}",
    "sign": "1.0 if {0} > 0.0 else (-1.0 if {0} < 0.0 else 0.0)",
    "expit": "1.0 / (1.0 + exp(-{0}))",
    "logaddexp": "max({0}, {1}) + log1p(exp(-abs({0} - {1})))",
    "spread": "{0}",
    **{name: f"1.0 if {{0}} {sign} {{1}} else 0.0" for name, sign in _COMPARISONS.items()},
    **{f: f + "({0})" for f in ("abs", "exp", "expm1", "log", "log1p", "tanh", "sqrt", "sin", "cos")},
}
# What a loop over the outputs makes of a row: where it begins, and a step.
_OVER_ROW = {"total": ("0.0", "{0} + {1}"), "highest": ("-inf", "max({0}, {1})")}


class RowTracer(Tracer):
    """Traces functions of one example: its targets y and scores s, one of each for every output."""

    tables = {"constant": "constants", "y": None, "s": None}
    unary = {
        **Tracer.unary,
        **{f: (f, getattr(math, f)) for f in ("exp", "expm1", "log", "log1p")},
        "sign": ("sign", lambda u: float(np.sign(u))),
        "expit": ("expit", lambda u: 1 / (1 + math.exp(-u))),
    }
    binary = {
        **Tracer.binary,
        "logaddexp": ("logaddexp", lambda u, v: float(np.logaddexp(u, v))),
        **{name: (name, lambda *_: math.nan) for name in _COMPARISONS},
    }

    def number(self, value):
        """A number, or one for every output."""
        if isinstance(value, np.ndarray) and value.ndim < 2 and value.size and value.dtype.kind in "biuf":
            values = tuple(float(v) for v in value.ravel())
            return self.numbered(values if len(values) > 1 else values[0])
        return super().number(value)

    def constant(self, s):
        return None if isinstance(s, np.ndarray) else super().constant(s)

    def is_row(self, s: Symbol) -> bool:
        """Is there one for every output?"""
        return _rows(self.instructions, self.constants)[s.place]

    # -- more of NumPy's functions -----------------------------------------------------------------

    def positive(self, s):
        return s

    def astype(self, s, dtype):
        return s

    def where(self, condition, yes, no):
        return self.emit("where", *(self.number(s).place for s in (condition, yes, no)))

    def full_like(self, like, value):
        value = self.number(value)
        return self.emit("spread", value.place) if self.is_row(like) else value

    def zeros_like(self, like):
        return self.full_like(like, 0.0)

    def ones_like(self, like):
        return self.full_like(like, 1.0)

    def sum(self, s, axis=None, keepdims=False):
        return self._over_row("total", s, axis)

    def max(self, s, axis=None, keepdims=False):
        return self._over_row("highest", s, axis)

    amax = max

    def _over_row(self, operation: str, s: Symbol, axis: Any) -> Symbol:
        if axis not in (1, -1) or not self.is_row(s):
            raise NotTraceable("its formula has a sum or maximum over something other than the outputs")
        return self.emit(operation, s.place)


def row_source(function: Callable[[Any, Any], Any], total: bool) -> tuple[str, int]:
    """(source, rows of scratch) of ``fill(y, s, g, w, t)``, filling g with function(y, s) of one example.

    With `total`, g[0] gets the sum over the outputs.

    >>> import numpy as np
    >>> print(row_source(lambda y, s: np.maximum(1 - y * s, 0), total=True)[0])
    def fill(y: "f64[:]", s: "f64[:]", g: "f64[:]", w: "f64[:,:]", t: int):
        v7 = 0.0
        for j in range(t):
            v2 = y[j] * s[j]
            v4 = 1.0 - v2
            v6 = max(v4, 0.0)
            v7 = v7 + v6
        g[0] = v7
    """
    tracer = RowTracer()
    try:
        out = function(tracer.emit("y"), tracer.emit("s"))
        if isinstance(out, Symbol) and total and tracer.is_row(out):
            out = out.sum(axis=1)
    except NotTraceable:
        raise
    except Exception as error:  # it expected an array
        raise NotTraceable(f"its formula does not take symbols ({type(error).__name__}: {error})") from error
    if not isinstance(out, Symbol) or tracer.is_row(out) == total:
        raise NotTraceable(f"its formula gives {out!r}, not a number for every output")
    lines, scratch = _written(tracer.finish(out)[0], total)
    head = 'def fill(y: "f64[:]", s: "f64[:]", g: "f64[:]", w: "f64[:,:]", t: int):'
    return "\n".join([head, *(f"    {line}" for line in lines)]), scratch


def _rows(instructions: Sequence[Instruction], constants: Sequence[Any]) -> list[bool]:
    """Of every instruction: is its result a row?"""
    out: list[bool] = []
    for operation, *operands in instructions:
        if operation == "constant":
            out.append(isinstance(constants[operands[0]], tuple))
        elif operation in _OVER_ROW:
            out.append(False)
        else:
            out.append(operation in ("y", "s", "spread") or any(out[o] for o in operands))
    return out


def _constant(value: Any) -> str:
    """A number, or the one that belongs to output j."""
    if isinstance(value, float):
        return {math.inf: "inf", -math.inf: "(-inf)"}.get(value, repr(value))
    first, *others = value
    if not others:
        return _constant(first)
    # Counted from the last, so that the rest can be written the same way.
    return f"({_constant(first)} if j == t - {len(value)} else {_constant(tuple(others))})"


def _written(programme: Programme, total: bool) -> tuple[list[str], int]:
    """The programme as loops, one after the other; a row that a later loop needs is put into scratch."""
    code, rows = programme.instructions, _rows(programme.instructions, programme.constants)
    names: list[str] = []
    loop: list[int] = []
    scratch: dict[int, str] = {}
    for i, (operation, *operands) in enumerate(code):
        if operation == "constant":
            names.append(_constant(programme.constants[operands[0]]))
        else:
            names.append(f"{operation}[j]" if operation in ("y", "s") else f"v{i}")
        # In which loop it is known: a sum only after the one that adds it up.
        source = operation in RowTracer.tables
        loop.append(0 if source else max(loop[o] for o in operands) + (operation in _OVER_ROW))
        for o in operands if rows[i] and not source else ():
            if rows[o] and loop[o] < loop[i] and names[o] == f"v{o}":
                scratch.setdefault(o, f"w[{len(scratch)}, j]")
    lines: list[str] = []
    for here in range(loop[-1] + 1):
        before, inside = [], []
        for i, (operation, *operands) in enumerate(code):
            if operation in _OVER_ROW and loop[i] == here + 1:
                first, step = _OVER_ROW[operation]
                before.append(f"v{i} = {first}")
                inside.append(f"v{i} = {step.format(f'v{i}', names[operands[0]])}")
            elif operation in _TEXT and loop[i] == here:
                values = [scratch.get(o, names[o]) if loop[o] < here else names[o] for o in operands]
                (inside if rows[i] else before).append(f"v{i} = {_TEXT[operation].format(*values)}")
                if i in scratch:
                    inside.append(f"{scratch[i]} = v{i}")
        if here == loop[-1]:
            (before if total else inside).append(f"g[{'0' if total else 'j'}] = {names[-1]}")
        lines += before
        if inside:
            lines += ["for j in range(t):", *(f"    {line}" for line in inside)]
    return lines, max(len(scratch), 1)
