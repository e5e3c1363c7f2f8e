"""Statistics of pairs as IR: sums over groups of coordinates, for a block of rows × vectors of columns.

Points come packed in blocks of B rows, laid out [position][row in block]: first a few numbers per point
(norms, scalars of the formula), then coordinates. Rows of K come in blocks of R (or of 1 where BLAS has
made the inner products), columns in tiles of J, so that the innermost loop reads both in order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from mercer.codegen.llvm.emitter import I32, I64, Emitter
from mercer.codegen.llvm.processor import Processor
from mercer.codegen.llvm.vectors import Vectors
from mercer.codegen.programme import run
from mercer.engines.fused.recipe import CLOSE, UNROLL, Recipe, constants_in, constants_of


class Groups(Emitter):
    """A function `run` over tiles of pairs, and the statistics of one block of them."""

    # The first row of the block at hand.
    row: Any

    def __init__(self, recipe: Recipe, processor: Processor):
        super().__init__()
        self.recipe = recipe
        # x, z, constants, sizes, inner products, V, out; i0, i1, tile0, tile1, J, stride, n, m
        arguments = self.begin("run", 7, 8, apart=False)
        for arg in arguments[:4]:  # inner products may be overwritten by what is made of them
            arg.add_attribute("noalias")
        self.X, self.Z, self.P, self.D, self.S, self.V, self.O = arguments[:7]
        self.i0, self.i1, self.t0, self.t1, self.J, self.stride, self.n, self.m = arguments[7:]
        self.v = Vectors(self.b, processor, np.dtype(recipe.dtype))
        self.R, self.C = recipe.rows, recipe.vectors
        self.width = self._size(0)
        self.sizes = [self._size(1 + g) for g in range(len(recipe.groups))]
        self.offsets: list[Any] = []
        offset: Any = self.k(recipe.slots)
        for size in self.sizes:
            self.offsets.append(offset)
            offset = self.b.add(offset, size)

    def _size(self, index: int) -> Any:
        return self.entry(self.D, self.k(index), I64)

    # -- where things lie -------------------------------------------------------------------------

    def x_at(self, i: Any, position: Any, r: int) -> Any:
        """Address of number `position` of row r of the block at i."""
        b = self.b
        if self.recipe.loaded:
            return self.v.at(i, b.add(b.mul(self.k(r), self.width), position))
        return self.v.at(i, b.add(b.mul(position, self.k(self.R)), self.k(r)))

    def block_at(self, i: Any) -> Any:
        """Address of the block of rows that starts with i, hidden from the optimiser.

        It would otherwise load every coordinate of the block once, ahead of the loop over columns, and
        then, short of registers, keep them in memory as whole vectors; reading each number where it is
        used, as part of the multiplication, is faster.
        """
        kind = ir.FunctionType(ir.PointerType(), [ir.PointerType()])
        address = self.v.at(self.X, self.b.mul(i, self.width))
        return self.b.asm(kind, "", "=r,0", [address], side_effect=True)

    def z_at(self, tile: Any, position: Any, j: Any, c: int) -> Any:
        """Address of number `position` of columns j + c·lanes onwards."""
        b = self.b
        return self.v.at(tile, b.add(b.mul(position, self.J), b.add(j, self.k(c * self.v.lanes))))

    # -- groups -----------------------------------------------------------------------------------

    def statistics(self, i: Any, tile: Any, j: Any) -> dict[tuple[int, str], list[Any]]:
        """The sums of every group, (group, role) → R × C vectors, for the block at i."""
        v, recipe = self.v, self.recipe
        found: dict[tuple[int, str], list[Any]] = {}
        for g, group in enumerate(recipe.groups):
            if group.kind in ("distance", "both"):
                distances, dots = self._distance(g, i, tile, j)
                found[g, "distance"] = distances
                if group.kind == "both":
                    found[g, "dot"] = self._shifted_dots(g, i, tile, j, dots)
            else:
                role = {"difference": "distance", "exact": "distance", "dot": "dot"}.get(group.kind, "sum")
                found[g, role] = self._accumulate(g, i, tile, j, [None] * (self.R * self.C))
                if group.kind == "exact":
                    factor = self._own_constant(g, 0)
                    # Points far apart overflow here and nowhere else; √∞ would be ∞·0.
                    most = v.const(float(np.finfo(recipe.dtype).max))
                    found[g, role] = [v.mul(v.min(s, most), factor) for s in found[g, role]]
                elif group.kind == "sum":
                    # The factor comes last: points multiplied by it beforehand would be rounded, and far
                    # from the origin that is more than all of their difference.
                    found[g, role] = [v.mul(s, self._own_constant(g, 0)) for s in found[g, role]]
        for (g, role), values in found.items():
            if recipe.groups[g].kind in ("distance", "both") and role == "distance" and self._needs_clamp():
                zero = v.const(0.0)
                bound = v.min if self._negative(g) else v.max
                found[g, role] = [bound(s, zero) for s in values]
        return found

    def _accumulate(self, g: int, i: Any, tile: Any, j: Any, start: list[Any]) -> list[Any]:
        """Σ over coordinates, for R × C vectors."""
        group, v, b = self.recipe.groups[g], self.v, self.b
        cells = [(r, c) for r in range(self.R) for c in range(self.C)]
        if group.loaded:
            out = []
            for (r, c), first in zip(cells, start, strict=True):
                row = b.add(b.sub(self.row, self.i0), self.k(r))
                where = b.add(b.mul(row, self.J), b.add(j, self.k(c * v.lanes)))
                inner = v.load(v.at(self.S, where))
                out.append(inner if first is None else v.add(first, inner))
            return out

        def step(position, sums):
            z = [v.load(self.z_at(tile, position, j, c)) for c in range(self.C)]
            x = [v.load_splat(self.x_at(i, position, r)) for r in range(self.R)]
            return [self._term(g, x[r], z[c], s) for (r, c), s in zip(cells, sums, strict=True)]

        first = self.offsets[g]
        sums = [v.const(0.0) if s is None else s for s in start]
        if group.size is not None:
            for q in range(group.size):
                sums = step(b.add(first, self.k(q)), sums)
            return sums

        def several(position, sums):
            for q in range(UNROLL):
                sums = step(b.add(position, self.k(q)), sums)
            return sums

        last = b.add(first, self.sizes[g])
        if group.kind == "sum":
            return self.loop(first, last, 1, step, sums)
        return self.loop(first, last, UNROLL, several, sums)

    def _term(self, g: int, x: Any, z: Any, s: Any) -> Any:
        group, v = self.recipe.groups[g], self.v
        if group.kind in ("difference", "exact"):
            difference = v.sub(x, z)
            flip = group.negative and group.kind == "difference"
            return v.fma(v.neg(difference) if flip else difference, difference, s)
        if group.kind == "sum":
            sources: dict[str, Any] = {
                "x": lambda: x,
                "z": lambda: z,
                "constant": lambda c: self.constant(g, c),
            }
            return v.add(s, run(group.term or (), v.apply, sources))
        return v.fma(x, z, s)

    def _distance(self, g: int, i: Any, tile: Any, j: Any) -> tuple[list[Any], list[Any]]:
        """(scaled squared distances, inner products) of a group that makes the first from the second."""
        group, v, b = self.recipe.groups[g], self.v, self.b
        slot = self.k(self.recipe.slot(g))
        a = [v.load_splat(self.x_at(i, slot, r)) for r in range(self.R)]
        z = [v.load(self.z_at(tile, slot, j, c)) for c in range(self.C)]
        norms = [v.add(a[r], z[c]) for r in range(self.R) for c in range(self.C)]
        if group.kind == "distance":
            sums = self._accumulate(g, i, tile, j, norms)
            dots: list[Any] = []
        else:
            dots = self._accumulate(g, i, tile, j, [None] * len(norms))
            minus_two = self._own_constant(g, 0)
            sums = [v.fma(minus_two, s, base) for s, base in zip(dots, norms, strict=True)]
        # Where a pair is close, its distance has cancelled: see whether any is, and do those again.
        # (Measured against both norms, so that k(x,z) and k(z,x) agree to the last bit.)
        part = v.const(CLOSE[np.dtype(self.recipe.dtype)])
        near = [
            b.fcmp_ordered(">" if group.negative else "<", s, v.mul(base, part))
            for s, base in zip(sums, norms, strict=True)
        ]
        union = near[0]
        for flag in near[1:]:
            union = b.or_(union, flag)
        any_near = b.icmp_unsigned(
            "!=", b.bitcast(union, ir.IntType(v.lanes)), ir.Constant(ir.IntType(v.lanes), 0)
        )
        before = b.block
        again, end = self.function.append_basic_block(), self.function.append_basic_block()
        weights = self.module.add_metadata(
            [ir.MetaDataString(self.module, "branch_weights"), ir.Constant(I32, 1), ir.Constant(I32, 4000)]
        )
        b.cbranch(any_near, again, end).set_metadata("prof", weights)
        b.position_at_end(again)
        exact = self._differences(g, i, tile, j)
        fixed = [b.select(flag, e, s) for flag, e, s in zip(near, exact, sums, strict=True)]
        fix_end = b.block
        b.branch(end)
        b.position_at_end(end)
        out = []
        for s, f in zip(sums, fixed, strict=True):
            p = b.phi(v.type)
            p.add_incoming(s, before)
            p.add_incoming(f, fix_end)
            out.append(p)
        return out, dots

    def _differences(self, g: int, i: Any, tile: Any, j: Any) -> list[Any]:
        group, v, b = self.recipe.groups[g], self.v, self.b
        # With a positive factor the rows are stored with the opposite sign.
        flip = group.kind == "distance" and not group.negative

        def step(position, sums):
            z = [v.load(self.z_at(tile, position, j, c)) for c in range(self.C)]
            out = []
            for r in range(self.R):
                x = v.load_splat(self.x_at(i, position, r))
                for c in range(self.C):
                    difference = v.add(x, z[c]) if flip else v.sub(x, z[c])
                    out.append(v.fma(difference, difference, sums[r * self.C + c]))
            return out

        first = self.offsets[g]
        zeros = [v.const(0.0)] * (self.R * self.C)
        sums = self.loop(first, b.add(first, self.sizes[g]), 1, step, zeros)
        if group.kind == "both":  # −½ of the constant −2c
            factor = v.mul(self._own_constant(g, 0), v.const(-0.5))
        else:
            factor = v.const(-0.5 if group.negative else 0.5)
        return [v.mul(s, factor) for s in sums]

    def _shifted_dots(self, g: int, i: Any, tile: Any, j: Any, dots: list[Any]) -> list[Any]:
        """x·z from the inner products of centred points: + p(x) + p(z), times the leaf's factor."""
        v = self.v
        slot = self.k(self.recipe.slot(g) + 1)
        x = [v.load_splat(self.x_at(i, slot, r)) for r in range(self.R)]
        z = [v.load(self.z_at(tile, slot, j, c)) for c in range(self.C)]
        scale = self._own_constant(g, 1)
        return [v.fma(scale, s, v.add(x[q // self.C], z[q % self.C])) for q, s in enumerate(dots)]

    def _negative(self, g: int) -> bool:
        return self.recipe.groups[g].negative

    def _needs_clamp(self) -> bool:
        """Rounding may leave ‖x−z‖² a little below 0; an exponential does not mind, a root does."""
        return any(i[0] in ("sqrt", "log2", "div") for i in self.recipe.instructions)

    # -- constants --------------------------------------------------------------------------------

    def _parameter(self, position: int) -> Any:
        return self.v.load_splat(self.v.at(self.P, self.k(position)))

    def _own_constant(self, g: int, which: int) -> Any:
        return self._parameter(constants_of(self.recipe.groups[:g]) + which)

    def constant(self, g: int | None, c: int) -> Any:
        """Constants in the order: groups' own, terms' (group by group), the formula's."""
        position = constants_of(self.recipe.groups)
        for q, group in enumerate(self.recipe.groups):
            if g is not None and q == g:
                break
            position += constants_in(group.term or ())
        return self._parameter(position + c)
