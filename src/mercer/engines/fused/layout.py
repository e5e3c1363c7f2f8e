"""How a formula's points are laid out for the loops: groups of coordinates, means, scales, slots."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.codegen.formula import Formula, Leaf, View
from mercer.codegen.llvm.processor import host
from mercer.codegen.symbols import NotTraceable
from mercer.engines.fused.code import packer
from mercer.engines.fused.recipe import UNROLL, Group, Recipe, constants_of, slots_of
from mercer.kernels.statistics import SQUARED, DotProduct, SquaredDistance, Statistic

# Up to here differences are taken coordinate by coordinate: no slower.
_DIRECT = 4
# Centring and scaling round coordinates to float32. Where points are spread over more than so many kernel
# widths, or so many times the distance of near points, that is too much: then they are left as they are.
_MOST_WIDTHS = 8.0
_MOST_DISTANCES = 25.0
_SAMPLE = 96
# Points that are looked at together, before all of them are packed.
_AT_ONCE = 4096
# Points that the centre is found from.
_CENTRE = 512
# Up to here the loop over coordinates is unrolled; from there on to the next bound it is not; beyond,
# BLAS makes the inner products. With 32 registers of 512 bits our own loop is as good as BLAS's.
_UNROLLED = 16
_OWN_LOOP = {True: 200, False: 40}


@dataclass(frozen=True)
class PackedGroup:
    """One group of coordinates as it is packed: (view(x) − mean)·scale."""

    view: View
    group: Group
    mean: np.ndarray
    x_scale: float
    z_scale: float
    norm: float


def _filled(d: int, group: Group) -> int:
    return d if group.size is not None or group.loaded or group.kind == "sum" else -(-d // UNROLL) * UNROLL


class Layout:
    """Everything about a formula that depends on the data's shape and place, but not on its rows."""

    def __init__(self, formula: Formula, X: np.ndarray, Z: np.ndarray, dtype: np.dtype):
        self.formula, self.dtype = formula, np.dtype(dtype)
        # The largest number in the columns, as each view shows them.
        self._largest_column: dict[View, float] = {}
        self._by_view: dict[View, list[Leaf]] = {}
        self.parts: list[PackedGroup] = []
        self.leaves: list[tuple[int, str]] = []
        self.own: list[float] = []
        for leaf in formula.leaves:
            self._by_view.setdefault(leaf.view, []).append(leaf)
        place: dict[int, tuple[int, str]] = {}
        for view in self._by_view:
            seen = view.points(self._ready(view, Z[:4096]))
            if not isinstance(seen, np.ndarray) or seen.ndim != 2 or seen.dtype.kind != "f":
                raise NotTraceable("its points are not rows of numbers")
            self._require_room(view, X, Z)
            leaves = [(i, leaf) for i, leaf in enumerate(formula.leaves) if leaf.view == view]
            for part, roles in self._parts(view, leaves, Z, seen):
                for i, role in roles:
                    place[i] = (len(self.parts), role)
                self.parts.append(part)
        self.leaves = [place[i] for i in range(len(formula.leaves))]
        self.sizes = [_filled(len(p.mean), p.group) for p in self.parts]
        self.groups = tuple(p.group for p in self.parts)
        self.slots = sum(slots_of(g) for g in self.groups) + len(formula.scalars)
        self.width = self.slots + sum(self.sizes)
        constants = [*self.own]
        for part in self.parts:
            for leaf, (g, _) in zip(formula.leaves, self.leaves, strict=True):
                if self.parts[g] is part and leaf.term is not None:
                    constants += leaf.term.constants
        constants += formula.programme.constants
        self.constants = np.array(constants or [0.0], self.dtype)
        self.dimensions = np.array([self.width, *self.sizes], np.int64)

    def _parts(self, view: View, members: list[tuple[int, Leaf]], Z: Any, seen: np.ndarray):
        """(part, [(leaf, role)…]) for the leaves that look at the same points."""
        d = seen.shape[1]
        zero = np.zeros(d, self.dtype)
        distance = next(((i, f) for i, f in members if isinstance(f.statistic, SquaredDistance)), None)
        dot = next(((i, f) for i, f in members if isinstance(f.statistic, DotProduct)), None)
        size = d if d <= _UNROLLED else None
        # One job for BLAS at a time: the others keep their loops.
        own = _OWN_LOOP[host().avx512]
        loaded = d > own and not any(p.group.loaded for p in self.parts)
        if distance is not None and d <= own and self._fragile(view, distance[1], Z):
            i, leaf = distance
            self.own.append(leaf.scale)
            mean = self._mean(view, Z) if view.rounds else zero
            yield (
                PackedGroup(view, Group("exact", leaf.scale < 0, size), mean, 1.0, 1.0, 0.0),
                [(i, "distance")],
            )
            distance = None
        if distance is not None and d <= _DIRECT:
            i, leaf = distance
            root = math.sqrt(abs(leaf.scale))
            mean = self._mean(view, Z)
            group = Group("difference", leaf.scale < 0, size)
            yield PackedGroup(view, group, mean, root, root, 0.0), [(i, "distance")]
            distance = None
        if distance is not None and dot is not None:
            (i, a), (j, b) = distance, dot
            self.own += [-2 * a.scale, b.scale]
            group = Group("both", a.scale < 0, size, loaded)
            yield (
                PackedGroup(view, group, self._mean(view, Z), 1.0, 1.0, a.scale),
                [(i, "distance"), (j, "dot")],
            )
        elif distance is not None:
            i, leaf = distance
            root = math.sqrt(2 * abs(leaf.scale))
            sign = -1.0 if leaf.scale > 0 else 1.0
            norm = math.copysign(0.5, leaf.scale)
            group = Group("distance", leaf.scale < 0, size, loaded)
            yield PackedGroup(view, group, self._mean(view, Z), sign * root, root, norm), [(i, "distance")]
        elif dot is not None:
            i, leaf = dot
            # Half the factor on either side, or k(x,z) and k(z,x) would round differently.
            root = math.sqrt(abs(leaf.scale))
            signed = math.copysign(root, leaf.scale)
            yield PackedGroup(view, Group("dot", False, size, loaded), zero, signed, root, 0.0), [(i, "dot")]
        for i, leaf in members:
            if leaf.term is not None:
                # Points as they are, for the loop to subtract; those that were rounded on the way come
                # centred.
                self.own.append(leaf.scale)
                size = d if d <= _DIRECT else None
                mean = self._mean(view, Z) if view.rounds and leaf.invariant else zero
                group = Group("sum", False, size, False, leaf.term.instructions)
                yield PackedGroup(view, group, mean, 1.0, 1.0, 0.0), [(i, "sum")]

    def _fragile(self, view: View, leaf: Leaf, Z: Any) -> bool:
        """Would rounding the points, centred and scaled, to float32 be felt?

        Only columns are looked at, so that a row has the same value whichever rows come with it. Rows far
        from all columns lose nothing: their distances are as large as what they are rounded to.
        """
        if self.dtype != np.float32:
            return False
        some = Z[:: max(len(Z) // _SAMPLE, 1)][:_SAMPLE]
        few = view.points(self._ready(view, some)).astype(np.float64, copy=False)
        few = few - few.mean(axis=0)
        extent = float(np.abs(few).max())
        if leaf.scale != 1.0:
            return math.sqrt(abs(leaf.scale)) * extent > _MOST_WIDTHS
        norms = (few * few).sum(1)
        r2 = norms[:, None] + norms - 2 * few @ few.T
        r2 = r2[r2 > 1e-12 * extent**2]
        return bool(r2.size) and extent > _MOST_DISTANCES * math.sqrt(float(np.quantile(r2, 0.05)))

    def admits(self, X: np.ndarray, Z: np.ndarray) -> bool:
        """Can other rows, with the same columns, be laid out in this way?"""
        try:
            for view in self._by_view:
                self._require_room(view, X, Z)
        except NotTraceable:
            return False
        return True

    def _require_room(self, view: View, X: Any, Z: Any) -> None:
        """Raise NotTraceable where squares are too large or too small for this precision.

        Where a factor goes into the points beforehand nothing is too small.
        """
        squared = [leaf for leaf in self._by_view[view] if type(leaf.statistic).fits is not Statistic.fits]
        if not squared:
            return
        least, most = SQUARED[self.dtype]
        if view not in self._largest_column:
            self._largest_column[view] = self._largest(view, Z)
        largest = max(self._largest(view, X), self._largest_column[view])
        absorbed = all(leaf.scale != 1.0 and leaf.term is None for leaf in squared)
        if largest > most or (0 < largest < least and not absorbed):
            raise NotTraceable(f"squares of numbers of size {largest:.0e} are beyond {self.dtype}")

    def _largest(self, view: View, points: Any) -> float:
        """The size of the largest number among all points: one that is too large spoils its row."""
        found = 0.0
        for i in range(0, len(points), _AT_ONCE):
            shown = view.points(self._ready(view, points[i : i + _AT_ONCE]))
            found = max(found, float(shown.max(initial=0.0)), -float(shown.min(initial=0.0)))
        return found

    def _ready(self, view: View, points: Any) -> Any:
        """Points before they go through a view: in float64 if it would round them."""
        return points.astype(np.float64, copy=False) if view.rounds else points

    def _mean(self, view: View, Z: np.ndarray) -> np.ndarray:
        """The centre of (a sample of) the columns: subtracting it changes no distance, only rounding.

        The median, so that one point far away does not move all the others where they can't be told apart.
        """
        some = view.points(self._ready(view, Z[:: max(len(Z) // _CENTRE, 1)]))
        mean = np.median(some, axis=0).astype(np.float64)
        return mean if view.rounds else mean.astype(self.dtype)

    def recipe(self, job: str, rows: int, vectors: int) -> Recipe:
        return Recipe(
            self.formula.programme.instructions,
            tuple(self.leaves),
            self.groups,
            len(self.formula.scalars),
            self.dtype.name,
            job,
            rows,
            vectors,
        )

    def pack(self, points: Any, block: int, rows: int, side: str, out: np.ndarray) -> np.ndarray:
        """`points` in blocks of `block`, `rows` of them in all (the last one repeated), into `out`."""
        pack = packer(self.dtype)
        n = points.shape[0]
        if block < 1 or not 0 < n <= rows or rows % block or side not in ("x", "z"):
            raise ValueError(f"{n} points do not fit {rows} rows in blocks of {block}")
        if out.dtype != self.dtype or out.ndim != 1 or len(out) < rows * self.width or not out.flags.carray:
            raise ValueError(f"packed points need {rows * self.width} numbers of {self.dtype} side by side")
        blocks = rows // block
        table = out[: rows * self.width].reshape(blocks, self.width, block)
        offset, slot = self.slots, 0
        shown: dict[View, np.ndarray] = {}
        for part in self.parts:
            if part.view not in shown:
                shown[part.view] = part.view.rows(self._ready(part.view, points), len(part.mean))
            P, mean = self._centred(shown[part.view], part)
            scale = part.x_scale if side == "x" else part.z_scale
            has_norm = slots_of(part.group) > 0
            pack(
                P.ctypes.data, mean.ctypes.data, table.ctypes.data,
                P.strides[0] // P.itemsize, n, rows, P.shape[1], self.width, offset, block,
                slot if has_norm else -1, scale, part.norm,
            )  # fmt: skip
            if part.group.kind == "both":
                mean = part.mean.astype(np.float64)
                # Not by BLAS, whose sums for one row depend on how many there are.
                inner = np.einsum("ij,j->i", shown[part.view], mean)
                shift = (inner - 0.5 * mean @ mean) * self.own[self._own(part) + 1]
                self._put(table, slot + 1, shift, block)
            size = _filled(len(part.mean), part.group)
            if size > len(part.mean):
                table[:, offset + len(part.mean) : offset + size] = 0
            offset += size
            slot += slots_of(part.group)
        for s, scalar in enumerate(self.formula.scalars):
            if scalar.view not in shown:
                shown[scalar.view] = scalar.view.points(self._ready(scalar.view, points))
            values = np.asarray(scalar.compute(shown[scalar.view]))
            if values.shape != (n,):
                raise ValueError(
                    f"{scalar.name}: {n} numbers are needed, one a point; got shape {values.shape}"
                )
            self._put(table, slot + s, values, block)
        return out

    def _own(self, part: PackedGroup) -> int:
        before = self.parts[: next(q for q, p in enumerate(self.parts) if p is part)]
        return constants_of([p.group for p in before])

    @staticmethod
    def _put(table: np.ndarray, slot: int, values: np.ndarray, block: int) -> None:
        n, rows = len(values), table.shape[0] * block
        padded = np.concatenate([values, np.full(rows - n, values[-1])]) if n < rows else values
        table[:, slot, :] = padded.reshape(-1, block)

    def _centred(self, P: np.ndarray, part: PackedGroup) -> tuple[np.ndarray, np.ndarray]:
        """(points, mean) for the packer, which subtracts one from the other in this precision.

        Points that a view has multiplied are centred in float64 first, and rounded once.
        """
        if not part.view.rounds or self.dtype == np.float64:
            return self._contiguous(P), np.ascontiguousarray(part.mean, self.dtype)
        return self._contiguous(P - part.mean), np.zeros(len(part.mean), self.dtype)

    def _contiguous(self, P: np.ndarray) -> np.ndarray:
        P = np.asarray(P)
        if (
            P.dtype != self.dtype
            or P.strides[1] != P.itemsize
            or P.strides[0] < 0
            or P.strides[0] % P.itemsize
        ):
            P = np.ascontiguousarray(P, self.dtype)
        return P
