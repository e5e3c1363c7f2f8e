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
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.codegen.programme import Programme, Tracer
from mercer.codegen.symbols import NotTraceable, Symbol

_LOG2E = math.log2(math.e)
_ARITHMETIC = ("add", "subtract", "multiply", "divide", "power", "negative")
_COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")


def require_equal_widths(here: int, elsewhere: int) -> None:
    """Raise ValueError where a map gives points of different widths for different rows."""
    if here != elsewhere:
        raise ValueError(
            f"the map gave {here} columns for these rows and {elsewhere} for others: a map must give every "
            "row the same width, whatever rows are beside it and however many (a one-hot code needs the "
            "list of all categories, not those it happens to meet)"
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
class Leaf:
    """scale · statistic(view(x), view(z)).

    `term` is the statistic's summand t(x_k, z_k), traced, where it is a sum over coordinates.
    """

    statistic: Any
    view: View
    scale: float = 1.0
    term: Programme | None = None

    @property
    def kind(self) -> str:
        """ "distance" (‖x−z‖²), "dot" (x·z) or "sum" (of the term over coordinates)."""
        return self.statistic.kind

    @property
    def invariant(self) -> bool:
        """Does it stay as it is when all points are moved alike?"""
        if self.term is None:
            return self.kind == "distance"
        code = self.term.instructions
        return all(
            code[i] == ("sub", *operands) and [code[o] for o in operands] == [("x",), ("z",)]
            for i, (operation, *operands) in enumerate(code)
            if operation not in PairTracer.tables and any(code[o] in (("x",), ("z",)) for o in operands)
        )


@dataclass(frozen=True)
class PointScalar:
    """One number per point: compute(view(X))."""

    name: Any
    view: View
    compute: Callable[[Any], np.ndarray] = field(compare=False)


@dataclass(frozen=True)
class Formula:
    """A traced kernel."""

    programme: Programme
    leaves: tuple[Leaf, ...]
    scalars: tuple[PointScalar, ...]

    @property
    def structure(self) -> tuple[Any, ...]:
        """What code depends on: everything but the numbers and the views' parameters."""
        views = list(dict.fromkeys(leaf.view for leaf in self.leaves))
        leaves = tuple(
            (type(f.statistic).__name__, views.index(f.view), f.term and f.term.instructions)
            for f in self.leaves
        )
        return self.programme.instructions, leaves, len(self.scalars)


class PairTracer(Tracer):
    """Traces functions of two points: beside numbers there are statistics of both and scalars of each.

    Exponentials and logarithms are those to base 2, which is what processors have.
    """

    tables = {
        "leaf": "leaves",
        "row": "scalars",
        "column": "scalars",
        "constant": "constants",
        "x": None,
        "z": None,
    }
    unary = {**Tracer.unary, "arccos": ("arccos", math.acos), "exp2": ("exp2", lambda u: 2.0**u)}

    def __init__(self) -> None:
        super().__init__()
        self.leaves: list[Leaf] = []
        self.scalars: list[PointScalar] = []

    def apply(self, name, *inputs, **options):
        if name in _COMPARISONS:
            raise NotTraceable("its formula compares values")
        return super().apply(name, *inputs, **options)

    def numpy(self, name, *inputs, **options):
        # A number of NumPy's before an operator; functions are to be those of the namespace they were given,
        # which differentiates as well.
        if name not in _ARITHMETIC:
            raise NotTraceable(f"its formula does not take symbols: it calls np.{name}, not xp.{name}")
        return self.apply(name, *inputs, **options)

    # -- points ------------------------------------------------------------------------------------

    def statistic(self, statistic: Any, view: View) -> Symbol:
        """A pairwise statistic; the same one on the same points is one leaf."""
        if overridden(statistic, "term" if hasattr(statistic, "term") else "kind", "pairwise"):
            raise NotTraceable(f"its statistic {type(statistic).__name__} has no formula")
        for i, leaf in enumerate(self.leaves):
            same = type(leaf.statistic) is type(statistic) and vars(leaf.statistic) == vars(statistic)
            if leaf.view == view and same:
                return self.emit("leaf", i)
        self.leaves.append(Leaf(statistic, view, term=_traced_term(statistic)))
        return self.emit("leaf", len(self.leaves) - 1)

    def both(self, name: Any, view: View, compute: Callable[[Any], np.ndarray]) -> tuple[Symbol, Symbol]:
        """A number of x and the same number of z."""
        scalar = PointScalar(name, view, compute)
        if scalar not in self.scalars:
            self.scalars.append(scalar)
        i = self.scalars.index(scalar)
        return self.emit("row", i), self.emit("column", i)

    # -- functions ---------------------------------------------------------------------------------

    def exp(self, s):
        return self.apply("exp2", self.multiply(s, _LOG2E))

    def log(self, s):
        return self.multiply(self.log2(s), math.log(2))

    def log2(self, s):
        s = self.number(s)
        operation, *operands = self.instructions[s.place]
        if operation == "exp2":
            return Symbol(self, operands[0])  # also where 2^s underflows
        return self.folded("log2", math.log2, s)

    def real_power(self, s, p):
        if p == 0.5 and self.instructions[s.place][0] != "exp2":
            return self.apply("sqrt", s)
        # s^p = 2^(p log₂ s), for the positive s such powers are made of.
        return self.apply("exp2", self.multiply(self.log2(s), p))

    # -- the result --------------------------------------------------------------------------------

    def formula(self, root: Any) -> Formula:
        """The formula whose value is `root`, without what it does not need."""
        root = self.number(root)
        self._absorb_scales(self.needed(root.place))
        programme, used = self.finish(root)
        leaves, scalars = (
            tuple(getattr(self, name)[i] for i in used[name]) for name in ("leaves", "scalars")
        )
        return Formula(programme, leaves, scalars)

    def _absorb_scales(self, needed: set[int]) -> None:
        """c·‖x−z‖² costs nothing if the points are scaled beforehand: one multiplication a pair less."""
        for i, leaf in enumerate(self.leaves):
            at = self.known.get(("leaf", i))
            users = [j for j in needed if at in self.operands(j)]
            if not leaf.statistic.homogeneous or len(users) != 1 or self.instructions[users[0]][0] != "mul":
                continue
            a, b = self.operands(users[0])
            c = self.constant(Symbol(self, b))
            if c is None or a != at or not 0 < abs(c) < math.inf:
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


def _traced_term(statistic: Any) -> Programme | None:
    if not hasattr(statistic, "term"):
        return None
    tracer = PairTracer()
    return tracer.finish(statistic.term(tracer.emit("x"), tracer.emit("z"), tracer))[0]
