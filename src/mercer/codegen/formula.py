"""A kernel's formula, traced: the straight-line programme that turns pairwise statistics into k(x,z).

A kernel's profile is written once, in operations of a namespace. `trace(kernel)` calls it with symbols
in place of arrays, composites included, and records what was done:

    leaves       pairwise statistics (‖x−z‖², x·z, …) of the points as some transformation shows them
    scalars      numbers that belong to one point (‖x‖², 1/√k(x,x), …)
    programme    the operations between these and k, each written once (common parts are shared)

Fast engines make one loop of it. Numbers are kept apart from the structure, so that code made for
Gaussian(1.0) serves Gaussian(2.0).
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.codegen.symbols import NotTraceable, Symbol, int_power

# (operation, operands): operands are positions of earlier instructions or, for sources, the number of a
# leaf, a scalar or a constant.
Instruction = tuple[Any, ...]
SOURCES = ("leaf", "row", "column", "constant", "x", "z")
_LOG2E = math.log2(math.e)


def require_equal_widths(here: int, elsewhere: int) -> None:
    """Raise ValueError where a map gives points of different widths for different rows."""
    if here != elsewhere:
        raise ValueError(
            f"the map gave {here} columns for these rows and {elsewhere} for others: a map must give "
            "every row the "
            "same width, whatever rows are beside it and however many (a one-hot code needs the list of all "
            "categories, not those it happens to meet)"
        )


@dataclass(frozen=True)
class View:
    """The points as a chain of transformations shows them: columns, length scales, a metric, a map."""

    chain: tuple[Any, ...] = ()

    def then(self, transformed: Any) -> View:
        return View((*self.chain, transformed))

    def points(self, X: Any) -> Any:
        for transformed in self.chain:
            X = transformed.child_points(X)
        return X

    @property
    def rounds(self) -> bool:
        """Are float32 points rounded on the way, by a multiplication?"""
        mapped = any(type(t).maps_points is True for t in self.chain)  # a map takes what it was made for
        return not mapped and any(t.rounds for t in self.chain)

    def rows(self, X: Any, width: int) -> np.ndarray:
        """`points`, rows of so many numbers each: what code that makes room beforehand relies on."""
        P = self.points(X)
        if not isinstance(P, np.ndarray) or P.ndim != 2 or P.dtype.kind != "f" or len(P) != X.shape[0]:
            shape = getattr(P, "shape", None)
            raise ValueError(
                f"the map gave {type(P).__name__} of shape {shape} for {X.shape[0]} points, not rows of "
                "numbers"
            )
        require_equal_widths(P.shape[1], width)
        return P


@dataclass(frozen=True)
class Programme:
    """Instructions in order, the last one being the result; constants by number."""

    instructions: tuple[Instruction, ...]
    constants: tuple[float, ...]


@dataclass(frozen=True)
class Leaf:
    """scale · statistic(view(x), view(z)).

    `term` is the statistic's summand t(x_k, z_k), traced, where it is a sum over coordinates.
    """

    statistic: Any
    view: View
    scale: float = 1.0
    term: Programme | None = None

    @property
    def invariant(self) -> bool:
        """Does it stay as it is when all points are moved alike?"""
        if self.term is None:
            return self.statistic.name == "‖x−z‖²"
        code = self.term.instructions
        return all(
            code[i] == ("sub", *operands) and [code[o] for o in operands] == [("x",), ("z",)]
            for i, (operation, *operands) in enumerate(code)
            if operation not in SOURCES and any(code[o] in (("x",), ("z",)) for o in operands)
        )


@dataclass(frozen=True)
class Scalar:
    """One number per point: compute(view(X))."""

    name: Any
    view: View
    compute: Callable[[Any], np.ndarray] = field(compare=False)


@dataclass(frozen=True)
class Formula:
    """A traced kernel."""

    programme: Programme
    leaves: tuple[Leaf, ...]
    scalars: tuple[Scalar, ...]

    @property
    def structure(self) -> tuple[Any, ...]:
        """What code depends on: everything but the numbers and the views' parameters."""
        views = list(dict.fromkeys(leaf.view for leaf in self.leaves))
        leaves = tuple(
            (type(f.statistic).__name__, views.index(f.view), f.term and f.term.instructions)
            for f in self.leaves
        )
        return self.programme.instructions, leaves, len(self.scalars)


class Tracer:
    """The namespace symbols live in: NumPy's names, each recording one instruction."""

    pi = math.pi

    def __init__(self) -> None:
        self.instructions: list[Instruction] = []
        self.constants: list[float] = []
        self.known: dict[Instruction, int] = {}
        self.leaves: list[Leaf] = []
        self.scalars: list[Scalar] = []

    # -- recording --------------------------------------------------------------------------------

    def emit(self, *instruction: Any) -> Symbol:
        if instruction not in self.known:
            self.known[instruction] = len(self.instructions)
            self.instructions.append(instruction)
        return Symbol(self, self.known[instruction])

    def number(self, value: Any) -> Symbol:
        """A constant; equal ones share a number."""
        if isinstance(value, Symbol):
            return value
        if not isinstance(value, (numbers.Real, np.generic)):
            raise NotTraceable(f"its formula holds a {type(value).__name__}, not a number")
        value = float(value)
        if value not in self.constants:
            self.constants.append(value)
        return self.emit("constant", self.constants.index(value))

    def constant(self, s: Any) -> float | None:
        """The value of s if it is a number."""
        if not isinstance(s, Symbol):
            return float(s)
        instruction = self.instructions[s.position]
        return self.constants[instruction[1]] if instruction[0] == "constant" else None

    def statistic(self, statistic: Any, view: View) -> Symbol:
        """A pairwise statistic; the same one on the same points is one leaf."""
        if overridden(statistic, "term" if hasattr(statistic, "term") else "formula", "pairwise"):
            raise NotTraceable(f"its statistic {type(statistic).__name__} has no formula")
        for i, leaf in enumerate(self.leaves):
            if leaf.view == view and _same_statistic(leaf.statistic, statistic):
                return self.emit("leaf", i)
        self.leaves.append(Leaf(statistic, view, term=_traced_term(statistic)))
        return self.emit("leaf", len(self.leaves) - 1)

    def both(self, name: Any, view: View, compute: Callable[[Any], np.ndarray]) -> tuple[Symbol, Symbol]:
        """A number of x and the same number of z."""
        scalar = Scalar(name, view, compute)
        if scalar not in self.scalars:
            self.scalars.append(scalar)
        i = self.scalars.index(scalar)
        return self.emit("row", i), self.emit("column", i)

    def _unary(self, operation: str, s: Any, function: Callable[[float], float]) -> Symbol:
        value = self.constant(s)
        return self.emit(operation, s.position) if value is None else self.number(function(value))

    def _binary(self, operation: str, a: Any, b: Any, function: Callable[[float, float], float]) -> Symbol:
        u, v = self.constant(a), self.constant(b)
        if u is not None and v is not None:
            return self.number(function(u, v))
        return self.emit(operation, self.number(a).position, self.number(b).position)

    # -- arithmetic -------------------------------------------------------------------------------

    def add(self, a, b):
        if self.constant(b) == 0:
            return a
        if self.constant(a) == 0:
            return b
        if self.constant(a) is not None:
            a, b = b, a
        return self._binary("add", a, b, lambda u, v: u + v)

    def subtract(self, a, b):
        return a if self.constant(b) == 0 else self._binary("sub", a, b, lambda u, v: u - v)

    def multiply(self, a, b):
        if self.constant(a) is not None:
            a, b = b, a
        c = self.constant(b)
        if c == 1 and isinstance(a, Symbol):
            return a
        if c is not None and isinstance(a, Symbol):
            instruction = self.instructions[a.position]
            if instruction[0] == "mul":  # (a·c₁)·c₂ = a·(c₁c₂)
                inner = self.constant(Symbol(self, instruction[2]))
                if inner is not None:
                    return self.multiply(Symbol(self, instruction[1]), inner * c)
        return self._binary("mul", a, b, lambda u, v: u * v)

    def divide(self, a, b):
        c = self.constant(b)
        if c is not None and c != 0:
            return self.multiply(a, 1 / c)
        return self._binary("div", a, b, lambda u, v: u / v)

    def power(self, s, p):
        if isinstance(p, Symbol):
            raise NotTraceable("its formula has an exponent that is not a number")
        p = float(p)
        if p.is_integer() and 0 <= abs(p) <= 16:
            if p == 0:
                return self.number(1.0)
            raised = int_power(s, int(abs(p)))
            return raised if p > 0 else self.divide(1.0, raised)
        if p == 0.5 and self.instructions[s.position][0] != "exp2":
            return self.sqrt(s)
        # s^p = 2^(p log₂ s), for the positive s such powers are made of.
        return self.exp2(self.multiply(self.log2(s), p))

    # -- functions, NumPy's names -----------------------------------------------------------------

    def exp(self, s):
        return self.exp2(self.multiply(s, _LOG2E))

    def exp2(self, s):
        return self._unary("exp2", s, lambda u: 2.0**u)

    def log2(self, s):
        if isinstance(s, Symbol) and self.instructions[s.position][0] == "exp2":
            return Symbol(self, self.instructions[s.position][1])  # also where 2^s underflows
        return self._unary("log2", s, math.log2)

    def log(self, s):
        return self.multiply(self.log2(s), math.log(2))

    def sqrt(self, s):
        return self._unary("sqrt", s, math.sqrt)

    def sin(self, s):
        return self._unary("sin", s, math.sin)

    def cos(self, s):
        return self._unary("cos", s, math.cos)

    def tanh(self, s):
        return self._unary("tanh", s, math.tanh)

    def arccos(self, s):
        return self._unary("arccos", s, math.acos)

    def abs(self, s):
        return self._unary("abs", s, abs)

    def maximum(self, a, b):
        return self._binary("max", a, b, max)

    def minimum(self, a, b):
        return self._binary("min", a, b, min)

    def clip(self, s, lo, hi):
        return self.minimum(self.maximum(s, lo), hi)

    def square(self, s):
        return self.multiply(s, s)

    absolute = abs

    def __getattr__(self, name):
        raise NotTraceable(f"its formula calls xp.{name}, which has no traced version")

    # -- the result -------------------------------------------------------------------------------

    def finish(self, root: Any) -> Formula:
        """The formula whose value is `root`, without what it does not need."""
        root = self.number(root)
        self._absorb_scales(self._needed(root.position))
        needed = self._needed(root.position)
        place: dict[int, int] = {}
        leaves: list[int] = []
        scalars: list[int] = []
        constants: list[int] = []
        out: list[Instruction] = []
        # The result comes last, whatever it is.
        for i in [*sorted(needed - {root.position}), root.position]:
            operation, *operands = self.instructions[i]
            if operation in SOURCES:
                table = {"leaf": leaves, "constant": constants}.get(operation, scalars)
                if operation in ("x", "z"):
                    operands = []
                else:
                    if operands[0] not in table:
                        table.append(operands[0])
                    operands = [table.index(operands[0])]
            else:
                operands = [place[o] for o in operands]
            place[i] = len(out)
            out.append((operation, *operands))
        programme = Programme(tuple(out), tuple(self.constants[c] for c in constants))
        return Formula(
            programme, tuple(self.leaves[f] for f in leaves), tuple(self.scalars[s] for s in scalars)
        )

    def _needed(self, root: int) -> set[int]:
        """Positions of the instructions that `root` depends on, itself included."""
        needed, stack = set(), [root]
        while stack:
            i = stack.pop()
            if i not in needed:
                needed.add(i)
                if self.instructions[i][0] not in SOURCES:
                    stack += self.instructions[i][1:]
        return needed

    def _absorb_scales(self, needed: set[int]) -> None:
        """c·‖x−z‖² costs nothing if the points are scaled beforehand: one multiplication a pair less."""
        for i, leaf in enumerate(self.leaves):
            if not leaf.statistic.homogeneous:
                continue
            at = self.known.get(("leaf", i))
            users = [
                j for j in needed if self.instructions[j][0] not in SOURCES and at in self.instructions[j][1:]
            ]
            if len(users) != 1 or self.instructions[users[0]][0] != "mul":
                continue
            a, b = (Symbol(self, p) for p in self.instructions[users[0]][1:])
            c = self.constant(b)
            if c is None or a.position != at or not 0 < abs(c) < math.inf:
                continue
            self.leaves[i] = Leaf(leaf.statistic, leaf.view, c, leaf.term)
            self.instructions[users[0]] = ("leaf", i)


def overridden(thing: Any, formula: str, values: str) -> bool:
    """Is the method `values` defined by a class further down than the one that gives the formula?"""
    for cls in type(thing).__mro__:
        if formula in vars(cls):
            return False
        if values in vars(cls):
            return True
    return True


def _same_statistic(a: Any, b: Any) -> bool:
    return type(a) is type(b) and vars(a) == vars(b)


def _traced_term(statistic: Any) -> Programme | None:
    if not hasattr(statistic, "term"):
        return None
    tracer = Tracer()
    return tracer.finish(statistic.term(tracer.emit("x"), tracer.emit("z"), tracer)).programme
