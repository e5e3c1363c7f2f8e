"""What a generated kernel depends on: everything but the numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer.codegen.formula import Formula

# Up to this depth the packed coordinates of a row block stay on chip for the whole pass over Z.
RESIDENT_DEPTH = {"float32": 320, "float64": 64}
# Pairs with ‖x−z‖² below this multiple of ‖x‖² are close: cancellation shows.
CLOSE = {"float32": 1e-2, "float64": 2e-6}
# Columns that share a bound on their norms, by which it is asked whether any pair of a block is close.
TOGETHER = 256
# Columns whose sum is taken in float32 as it comes, where sums are added up with what rounding loses.
SUMMED = 1024
# Up to this many coordinates, differences are written out one by one.
UNROLLED = 16
# In float64, what Triton has no accurate version of everywhere goes through torch instead.
SINGLE_ONLY = frozenset({"sin", "cos", "tanh", "arccos"})


@dataclass(frozen=True)
class LeafCode:
    """How one pairwise statistic is computed.

    kind       'dot' on the matrix units, 'direct' coordinate by coordinate
    statistic  'distance', 'dot', or 'sum' (a term added up over coordinates)
    depth      inner length of the packed operands ('dot')
    width      number of coordinates
    view       which of the formula's views the coordinates come from
    negative   is the scale negative?
    norms      add row and column terms after the product
    factor     multiply by a constant after the product
    repair     recompute close pairs from their differences
    unit       coordinates are scaled beforehand, so that differences need no factor
    term       instructions of a 'sum'
    """

    kind: str
    statistic: str
    depth: int = 0
    width: int = 0
    view: int = 0
    negative: bool = False
    norms: bool = False
    factor: bool = False
    repair: bool = False
    unit: bool = False
    term: tuple[Any, ...] = ()

    @property
    def points(self) -> bool:
        """Does it read coordinates as they are?"""
        return self.kind == "direct" or self.repair


@dataclass(frozen=True)
class Code:
    """A kernel to generate.

    mode       'product', 'symmetric' (each pair once) or 'matrix' (K itself)
    columns    columns of V; wide: multiplied on the matrix units, `columns` then being a power of two
    halves     wide, values in two half-precision pieces, columns in several; lift: values times a number
    compensated  wide, with sums that keep what rounding loses
    bounded    exponentials (positions) whose argument can't be positive
    share      of eight exponentials, how many by polynomial
    fold       columns of a block that share a sum
    unroll     blocks of columns a turn of the loop
    small      all exponents are within ±100: no clamps
    """

    instructions: tuple[Any, ...]
    leaves: tuple[LeafCode, ...]
    scalars: int
    dtype: str
    mode: str
    columns: int = 1
    wide: bool = False
    halves: bool = False
    compensated: bool = False
    lift: bool = False
    bounded: frozenset[int] = frozenset()
    small: bool = False
    share: int = 0
    fold: int = 1
    unroll: int = 1
    native: bool = True

    @property
    def second(self) -> int:
        """Multiply-adds of the matrix units for a pair, beyond those for statistics."""
        return (2 if self.halves else 3 if self.dtype == "float32" else 1) * self.columns * self.wide

    @property
    def depth(self) -> int:
        return max((leaf.depth for leaf in self.leaves), default=0)

    @property
    def deep(self) -> bool:
        """Are packed rows too long to stay on chip?"""
        return self.depth > RESIDENT_DEPTH[self.dtype]

    @property
    def views(self) -> list[int]:
        """Views whose coordinates are read as they are."""
        return sorted({leaf.view for leaf in self.leaves if leaf.points})


def bounded(formula: Formula) -> frozenset[int]:
    """Positions of exponentials whose argument is never positive."""
    sign: list[str] = []  # '+': ≥ 0, '-': ≤ 0, '?': either
    found = set()
    for position, (operation, *operands) in enumerate(formula.programme.instructions):
        s = [sign[o] for o in operands] if operation not in ("leaf", "row", "column", "constant") else []
        out = "?"
        if operation == "leaf":
            leaf = formula.leaves[operands[0]]
            if leaf.statistic.distance:
                out = "+" if leaf.scale > 0 else "-"
        elif operation == "constant":
            out = "+" if formula.programme.constants[operands[0]] >= 0 else "-"
        elif operation == "mul" and "?" not in s:
            out = "+" if s[0] == s[1] else "-"
        elif operation == "mul" and operands[0] == operands[1]:
            out = "+"
        elif operation == "add" and s[0] == s[1]:
            out = s[0]
        elif operation == "neg" and s[0] != "?":
            out = "-" if s[0] == "+" else "+"
        elif operation == "div" and "?" not in s:
            out = "+" if s[0] == s[1] else "-"
        elif operation in ("sqrt", "abs", "exp2"):
            out = "+"
            if operation == "exp2" and s[0] == "-":
                found.add(position)
        sign.append(out)
    return frozenset(found)


def steep(formula: Formula, leaf: int) -> bool:
    """Is a function with unbounded slope at 0 (a root, a logarithm, a quotient) taken of this leaf?"""
    zero: set[int] = set()  # what vanishes where the leaf does
    for position, (operation, *operands) in enumerate(formula.programme.instructions):
        if operation == "leaf":
            if operands[0] == leaf:
                zero.add(position)
        elif operation in ("row", "column", "constant"):
            continue
        elif operation in ("sqrt", "log2", "div") and operands[-1] in zero:
            return True
        elif operation in ("exp2", "cos", "arccos"):
            continue
        elif zero.issuperset(operands) or (operation == "mul" and zero.intersection(operands)):
            zero.add(position)
    return False
