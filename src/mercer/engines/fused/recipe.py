"""What compiled loops depend on, as values: groups of coordinates, and the recipe made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer.codegen.programme import Instruction

# Sizes of groups that are not unrolled altogether are filled up with zeros to a multiple of this.
UNROLL = 4
# Columns of V that products with a block of K work on at once.
COLUMNS = (1, 2, 4)
# Pairs closer than this part of ‖x‖² + ‖z‖² are computed again from their difference: beyond it the
# rounding of ‖x‖² + ‖z‖² − 2x·z is a small relative error.
CLOSE = {np.dtype(np.float32): 1e-2, np.dtype(np.float64): 1e-6}


@dataclass(frozen=True)
class Group:
    """Coordinates that one or two leaves are made of.

    kind      "distance" (‖x−z‖² from norms and inner products), "difference" (‖x−z‖² directly), "exact"
              (the same, from points as they are), "dot", "both" (distance and dot from one inner product),
              "sum" (of a term over coordinates)
    negative  is the distance's factor negative? (its root is in the coordinates)
    size      number of coordinates if the loop over them is unrolled, else None
    loaded    inner products were made by BLAS and are read from memory
    """

    kind: str
    negative: bool = False
    size: int | None = None
    loaded: bool = False
    term: tuple[Instruction, ...] | None = None


@dataclass(frozen=True)
class Recipe:
    """All that code depends on."""

    instructions: tuple[Instruction, ...]
    # leaf → (group, "distance" | "dot" | "sum")
    leaves: tuple[tuple[int, str], ...]
    groups: tuple[Group, ...]
    scalars: int
    dtype: str
    # "fill"; or with sums in float32 or float64 "product", "symmetric" or "keep" (the entries too) 32 or 64
    job: str
    rows: int
    vectors: int

    @property
    def loaded(self) -> bool:
        return any(g.loaded for g in self.groups)

    @property
    def slots(self) -> int:
        """Numbers per point that stand before the coordinates."""
        return sum(slots_of(g) for g in self.groups) + self.scalars

    def slot(self, group: int) -> int:
        return sum(slots_of(g) for g in self.groups[:group])


def slots_of(group: Group) -> int:
    """Numbers per point a group needs beside its coordinates: a norm, and the dot product's shift."""
    return {"distance": 1, "both": 2}.get(group.kind, 0)


def constants_of(groups: Sequence[Group]) -> int:
    """How many constants of their own, before those of the formula, these groups take."""
    return sum({"both": 2, "exact": 1, "sum": 1}.get(g.kind, 0) for g in groups)


def constants_in(instructions: tuple[Instruction, ...]) -> int:
    """How many constants a programme has."""
    return 1 + max((i[1] for i in instructions if i[0] == "constant"), default=-1)
