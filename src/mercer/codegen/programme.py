"""Programmes: a formula as a list of operations, each written once, numbers kept apart."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mercer.codegen.symbols import NotTraceable, Recorder, Symbol, int_power

# (operation, operands): operands are positions of earlier instructions or, for sources, a number that says
# which one.
Instruction = tuple[Any, ...]
_ARITHMETIC = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv}


@dataclass(frozen=True)
class Programme:
    """Instructions in order, the last one being the result; constants by number."""

    instructions: tuple[Instruction, ...]
    constants: tuple[Any, ...]

    def evaluate(self, apply: Callable[..., Any], sources: Mapping[str, Callable[..., Any]]) -> Any:
        """The result; constants are what they are."""
        return run(self.instructions, apply, {"constant": self.constants.__getitem__, **sources})

    def on_arrays(self, sources: Mapping[str, Callable[..., Any]], xp: Any) -> Any:
        """The result in the namespace xp of the arrays that its sources give, NumPy's or torch's.

        Simple, for checks and rare functions.

        >>> programme = Programme((("x",), ("constant", 0), ("max", 0, 1), ("sqrt", 2)), (4.0,))
        >>> programme.on_arrays({"x": lambda: np.array([1.0, 9.0])}, np)
        array([2., 3.])
        """

        def apply(operation: str, *values: Any) -> Any:
            if operation in _ARITHMETIC:
                return _ARITHMETIC[operation](*values)
            if operation in (
                "max",
                "min",
            ):  # torch: of two arrays, or an array and then a number
                array, bound = reversed(values) if isinstance(values[0], float) else values
                return xp.clip(array, *((bound, None) if operation == "max" else (None, bound)))
            return -values[0] if operation == "neg" else getattr(xp, operation)(*values)

        return self.evaluate(apply, sources)


def run(
    instructions: Sequence[Instruction], apply: Callable[..., Any], sources: Mapping[str, Callable[..., Any]]
) -> Any:
    """The result of instructions: apply(operation, *values) of each, sources by what makes them.

    >>> run([("x",), ("y", 7), ("add", 0, 1)], lambda op, a, b: a + b, {"x": lambda: 1, "y": lambda i: i})
    8
    """
    values: list[Any] = []
    for operation, *operands in instructions:
        if operation in sources:
            values.append(sources[operation](*operands))
        else:
            values.append(apply(operation, *(values[o] for o in operands)))
    return values[-1]


class Tracer(Recorder):
    """Notes what formulas do, and is the namespace they do it in: it has NumPy's names.

    Numbers are computed with at once; what is noted twice is noted once.
    """

    pi = math.pi
    # Operations without operands, or with one that is no position: the table that their number refers to.
    tables: dict[str, str | None] = {"constant": "constants"}
    # NumPy's name → that of the instruction, and how numbers are computed with.
    unary: dict[str, tuple[str, Callable[[float], float]]] = {
        **{f: (f, getattr(math, f)) for f in ("sqrt", "sin", "cos", "tanh")},
        **{f: ("abs", abs) for f in ("abs", "absolute", "fabs")},
    }
    binary: dict[str, tuple[str, Callable[[float, float], float]]] = {
        "maximum": ("max", max),
        "minimum": ("min", min),
    }

    def __init__(self) -> None:
        self.instructions: list[Instruction] = []
        self.constants: list[Any] = []
        self.known: dict[Instruction, int] = {}

    # -- recording ---------------------------------------------------------------------------------

    def emit(self, *instruction: Any) -> Symbol:
        if instruction not in self.known:
            self.known[instruction] = len(self.instructions)
            self.instructions.append(instruction)
        return Symbol(self, self.known[instruction])

    def number(self, value: Any) -> Symbol:
        """A constant; equal ones share a number."""
        return value if isinstance(value, Symbol) else self.numbered(_number(value))

    def numbered(self, value: Any) -> Symbol:
        if value not in self.constants:
            self.constants.append(value)
        return self.emit("constant", self.constants.index(value))

    def constant(self, s: Any) -> float | None:
        """The value of s if it is a number."""
        if not isinstance(s, Symbol):
            return _number(s)
        operation, *operands = self.instructions[s.place]
        value = self.constants[operands[0]] if operation == "constant" else None
        return value if isinstance(value, float) else None

    def apply(self, name: str, *inputs: Any, **options: Any) -> Symbol:
        own = getattr(type(self), name, None)
        if own is not None:
            return own(self, *inputs, **options)
        if name in self.unary and len(inputs) == 1 and not options:
            return self.folded(*self.unary[name], *inputs)
        if name in self.binary and len(inputs) == 2 and not options:
            return self.folded(*self.binary[name], *inputs)
        raise NotTraceable(f"its formula calls xp.{name}, which has no traced version")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self.unary and name not in self.binary:
            raise NotTraceable(f"its formula calls xp.{name}, which has no traced version")
        return partial(self.apply, name)

    def folded(self, operation: str, function: Callable[..., float], *inputs: Any) -> Symbol:
        """An instruction, or its result where all inputs are numbers."""
        values = [self.constant(s) for s in inputs]
        if None not in values:
            return self.number(function(*values))
        return self.emit(operation, *(self.number(s).place for s in inputs))

    # -- arithmetic --------------------------------------------------------------------------------

    def add(self, a, b):
        if self.constant(b) == 0:
            return a
        if self.constant(a) == 0:
            return b
        if self.constant(a) is not None:
            a, b = b, a
        return self.folded("add", lambda u, v: u + v, a, b)

    def subtract(self, a, b):
        return a if self.constant(b) == 0 else self.folded("sub", lambda u, v: u - v, a, b)

    def multiply(self, a, b):
        if self.constant(a) is not None:
            a, b = b, a
        c = self.constant(b)
        if c == 1 and isinstance(a, Symbol):
            return a
        if c is not None and isinstance(a, Symbol):
            operation, *operands = self.instructions[a.place]
            if operation == "mul":  # (a·c₁)·c₂ = a·(c₁c₂)
                inner = self.constant(Symbol(self, operands[1]))
                if inner is not None:
                    return self.multiply(Symbol(self, operands[0]), inner * c)
        return self.folded("mul", lambda u, v: u * v, a, b)

    def divide(self, a, b):
        c = self.constant(b)
        if c is not None and c != 0:
            return self.multiply(a, 1 / c)
        return self.folded("div", lambda u, v: u / v, a, b)

    def negative(self, s):
        return self.multiply(s, -1.0)

    def square(self, s):
        return self.multiply(s, s)

    def clip(self, s, low, high):
        return self.apply("minimum", self.apply("maximum", s, low), high)

    def power(self, s, p):
        if isinstance(p, Symbol):
            raise NotTraceable("its formula has an exponent that is not a number")
        p = float(p)
        if not p.is_integer() or abs(p) > 16:
            return self.real_power(s, p)
        if p == 0:
            return self.number(1.0)
        raised = int_power(s, int(abs(p)))
        return raised if p > 0 else self.divide(1.0, raised)

    def real_power(self, s: Symbol, p: float) -> Symbol:
        raise NotTraceable(f"its formula has a power {p:g}")

    # -- the result --------------------------------------------------------------------------------

    def finish(self, root: Any) -> tuple[Programme, dict[str, list[int]]]:
        """The programme whose value is `root`, and which entries of the tables it needs, in order."""
        root = self.number(root)
        used: dict[str, list[int]] = {table: [] for table in self.tables.values() if table}
        place: dict[int, int] = {}
        out: list[Instruction] = []
        # The result comes last, whatever it is.
        for i in [*sorted(self.needed(root.place) - {root.place}), root.place]:
            operation, *operands = self.instructions[i]
            table = self.tables.get(operation)
            if table is not None:
                if operands[0] not in used[table]:
                    used[table].append(operands[0])
                operands = [used[table].index(operands[0])]
            else:
                operands = [place[o] for o in operands]
            place[i] = len(out)
            out.append((operation, *operands))
        return Programme(tuple(out), tuple(self.constants[c] for c in used["constants"])), used

    def needed(self, root: int) -> set[int]:
        """Positions of the instructions that `root` depends on, itself included."""
        needed, stack = set(), [root]
        while stack:
            i = stack.pop()
            if i not in needed:
                needed.add(i)
                stack += self.operands(i)
        return needed

    def operands(self, i: int) -> tuple[int, ...]:
        """Positions of the instructions that an instruction depends on directly."""
        operation, *operands = self.instructions[i]
        return () if operation in self.tables else tuple(operands)


def _number(value: Any) -> float:
    if not isinstance(value, (numbers.Real, np.generic)):
        raise NotTraceable(f"its formula holds a {type(value).__name__}, not a number")
    return float(value)
