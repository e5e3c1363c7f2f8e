"""The loops: IR for one traced formula, in register blocks of rows × vectors of columns.

Points come packed in blocks of B rows, laid out [position][row in block]: first a few numbers per point
(norms, scalars of the formula), then coordinates. Rows of K come in blocks of R (or of 1 where BLAS has
made the inner products), columns in tiles of J, so that the innermost loop reads both in order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from mercer.codegen.formula import Instruction
from mercer.codegen.llvm.emitter import Emitter
from mercer.codegen.llvm.processor import Processor
from mercer.codegen.llvm.vectors import F64, I32, I64, Vectors
from mercer.engines.fused.recipe import CLOSE, UNROLL, Recipe, constants_in, constants_of


class _Loops(Emitter):
    """Emits one function."""

    def __init__(self, recipe: Recipe, target: Processor):
        self.recipe = recipe
        self.module = ir.Module()
        pointer = ir.PointerType()
        # x, z, constants, sizes, inner products, V, out; i0, i1, tile0, tile1, J, stride, n, m
        types = [pointer] * 7 + [I64] * 8
        self.function = ir.Function(self.module, ir.FunctionType(ir.VoidType(), types), "run")
        for arg in self.function.args[:4]:  # inner products may be overwritten by what is made of them
            arg.add_attribute("noalias")
        (self.X, self.Z, self.P, self.D, self.S, self.V, self.O) = self.function.args[:7]
        (self.i0, self.i1, self.t0, self.t1, self.J, self.stride, self.n, self.m) = self.function.args[7:]
        self.b = ir.IRBuilder(self.function.append_basic_block())
        self.v = Vectors(self.b, target, np.dtype(recipe.dtype))
        self.R, self.C = recipe.rows, recipe.vectors

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
            sources = {"x": lambda _: x, "z": lambda _: z, "constant": lambda c: self._constant(g, c)}
            return v.add(s, self._run(group.term or (), sources))
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

    # -- constants --------------------------------------------------------------------------------

    def _parameter(self, position: int) -> Any:
        return self.v.load_splat(self.v.at(self.P, self.k(position)))

    def _own_constant(self, g: int, which: int) -> Any:
        return self._parameter(constants_of(self.recipe.groups[:g]) + which)

    def _constant(self, g: int | None, c: int) -> Any:
        """Constants in the order: groups' own, terms' (group by group), the formula's."""
        position = constants_of(self.recipe.groups)
        for q, group in enumerate(self.recipe.groups):
            if g is not None and q == g:
                break
            position += constants_in(group.term or ())
        return self._parameter(position + c)

    # -- the formula ------------------------------------------------------------------------------

    def _run(self, instructions: tuple[Instruction, ...], sources: dict[str, Callable[[int], Any]]) -> Any:
        """One value of a programme, from where its sources come from."""
        values: list[Any] = []
        for operation, *operands in instructions:
            if operation in sources:
                values.append(sources[operation](operands[0] if operands else 0))
            else:
                values.append(getattr(self.v, operation)(*(values[o] for o in operands)))
        return values[-1]

    def kernel_values(self, row: Any, tile: Any, j: Any) -> list[Any]:
        """k for R × C vectors."""
        v, recipe = self.v, self.recipe
        self.row, i = row, self.block_at(row)
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
        first = recipe.slots - recipe.scalars
        rows = [
            [v.load_splat(self.x_at(i, self.k(first + s), r)) for r in range(self.R)]
            for s in range(recipe.scalars)
        ]
        columns = [
            [v.load(self.z_at(tile, self.k(first + s), j, c)) for c in range(self.C)]
            for s in range(recipe.scalars)
        ]
        constants: dict[int, Any] = {}

        def constant(c):
            if c not in constants:
                constants[c] = self._constant(None, c)
            return constants[c]

        # Instruction by instruction; what depends on a row or a column alone is computed once for it.
        table: list[tuple[str, Any]] = []
        for operation, *operands in recipe.instructions:
            if operation == "leaf":
                table.append(("pair", found[recipe.leaves[operands[0]]]))
            elif operation == "row":
                table.append(("row", rows[operands[0]]))
            elif operation == "column":
                table.append(("column", columns[operands[0]]))
            elif operation == "constant":
                table.append(("one", [constant(operands[0])]))
            else:
                table.append(self._apply(getattr(v, operation), [table[o] for o in operands]))
        return [self._pick(table[-1], r, c) for r in range(self.R) for c in range(self.C)]

    def _pick(self, entry: tuple[str, list[Any]], r: int, c: int) -> Any:
        kind, values = entry
        return values[{"one": 0, "row": r, "column": c, "pair": r * self.C + c}[kind]]

    def _apply(self, operation: Callable[..., Any], operands: list[Any]) -> tuple[str, list[Any]]:
        kinds = {kind for kind, _ in operands} - {"one"}
        kind = "one" if not kinds else kinds.pop() if len(kinds) == 1 else "pair"
        cells = {
            "one": [(0, 0)],
            "row": [(r, 0) for r in range(self.R)],
            "column": [(0, c) for c in range(self.C)],
            "pair": [(r, c) for r in range(self.R) for c in range(self.C)],
        }[kind]
        return kind, [operation(*(self._pick(o, r, c) for o in operands)) for r, c in cells]

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

    # -- the whole function -----------------------------------------------------------------------

    def build(self) -> str:
        b, v, recipe = self.b, self.v, self.recipe
        self.width = self._size(0)
        self.sizes = [self._size(1 + g) for g in range(len(recipe.groups))]
        self.offsets = []
        offset: Any = self.k(recipe.slots)
        for size in self.sizes:
            self.offsets.append(offset)
            offset = b.add(offset, size)
        # A tile of columns stays in the nearest cache while a few blocks of rows pass over it.
        chunk = self.k(32 * self.R)

        def some_rows(first, _):
            last = b.add(first, chunk)
            last = b.select(b.icmp_signed("<", last, self.i1), last, self.i1)

            def one_tile(t, _):
                tile = v.at(self.Z, b.mul(t, b.mul(self.width, self.J)))

                def one_block(i, _):
                    if recipe.job == "fill":
                        self._fill(i, t, tile)
                    else:
                        self._product(i, t, tile)

                self.loop(first, last, self.R, one_block)

            self.loop(self.t0, self.t1, 1, one_tile)

        self.loop(self.i0, self.i1, 32 * self.R, some_rows)
        b.ret_void()
        return str(self.module)

    def _size(self, index: int) -> Any:
        return self.b.load(self.b.gep(self.D, [self.k(index)], source_etype=I64), typ=I64)

    def _product(self, i: Any, t: Any, tile: Any) -> None:
        """out[i] += Σ_j K_ij V_j over a tile; in the symmetric job also out[j] += Σ_i K_ij V_i.

        There rows are columns too, `stride` further on. In the job that keeps entries they are stored where
        inner products would be read from.
        """
        b, v = self.b, self.v
        double = self.recipe.job.endswith("64") and not v.double
        symmetric, keep = (self.recipe.job.startswith(name) for name in ("symmetric", "keep"))
        kind = ir.VectorType(F64, v.lanes) if double else v.type
        scalar = F64 if double else v.scalar
        fma = f"llvm.fma.v{v.lanes}f{64 if scalar is F64 else 32}"
        out_row = [b.add(b.add(i, self.k(r)), self.stride if symmetric else self.k(0)) for r in range(self.R)]
        row_v = [b.gep(self.V, [row], source_etype=scalar) for row in out_row]

        def columns(j, sums):
            K = self.kernel_values(i, tile, j)
            sums = list(sums)
            for c in range(self.C):
                where = b.add(b.mul(t, self.J), b.add(j, self.k(c * v.lanes)))
                V = b.load(b.gep(self.V, [where], source_etype=scalar), typ=kind)
                V.align = 8 if scalar is F64 else 4
                down: Any = ir.Constant(kind, [0.0] * v.lanes)
                for r in range(self.R):
                    value = K[r * self.C + c]
                    if keep:
                        row = b.mul(b.add(b.sub(i, self.i0), self.k(r)), self.stride)
                        b.store(value, v.at(self.S, b.add(row, where))).align = 8 if v.double else 4
                    value = b.fpext(value, kind) if double else value
                    sums[r] = v.call(fma, kind, value, V, sums[r])
                    if symmetric:
                        down = v.call(fma, kind, value, v.splat(b.load(row_v[r], typ=scalar)), down)
                if symmetric:
                    place = b.gep(self.O, [where], source_etype=F64)
                    so_far = b.load(place, typ=ir.VectorType(F64, v.lanes))
                    so_far.align = 8
                    down = down if scalar is F64 else b.fpext(down, so_far.type)
                    b.store(b.fadd(so_far, down), place).align = 8
            return sums

        zero = ir.Constant(kind, [0.0] * v.lanes)
        sums = self.loop(self.k(0), self.J, self.C * v.lanes, columns, [zero] * self.R)
        for r in range(self.R):
            name = f"llvm.vector.reduce.fadd.v{v.lanes}f{64 if scalar is F64 else 32}"
            total = v.call(name, scalar, ir.Constant(scalar, 0.0), sums[r])
            total.fastmath.add("reassoc")
            if scalar is not F64:
                total = b.fpext(total, F64)
            where = b.gep(self.O, [out_row[r]], source_etype=F64)
            b.store(b.fadd(b.load(where, typ=F64), total), where)

    def _fill(self, i: Any, t: Any, tile: Any) -> None:
        """out[i, j] = K_ij, rows and columns beyond the last left alone."""
        b, v = self.b, self.v
        numbers = ir.Constant(ir.VectorType(I64, v.lanes), list(range(v.lanes)))

        def columns(j, _):
            K = self.kernel_values(i, tile, j)
            first = b.add(b.mul(t, self.J), j)
            cells = [(r, c, K[r * self.C + c]) for r in range(self.R) for c in range(self.C)]

            def where(r, c):
                row, column = b.add(i, self.k(r)), b.add(first, self.k(c * v.lanes))
                return row, column, v.at(self.O, b.add(b.mul(row, self.stride), column))

            inside = b.and_(
                b.icmp_signed("<=", b.add(first, self.k(self.C * v.lanes)), self.m),
                b.icmp_signed("<=", b.add(i, self.k(self.R)), self.n),
            )
            with b.if_else(inside, likely=True) as (whole, edge):
                with whole:
                    for r, c, value in cells:
                        b.store(value, where(r, c)[2]).align = 8 if v.double else 4
                with edge:  # masks cost more than the stores
                    for r, c, value in cells:
                        row, column, pointer = where(r, c)
                        left = b.sub(self.m, column)
                        left = b.select(b.icmp_signed("<", row, self.n), left, self.k(0))
                        mask = b.icmp_signed("<", numbers, v.splat(left))
                        self._masked_store(value, pointer, mask)

        self.loop(self.k(0), self.J, self.C * v.lanes, columns)

    def _masked_store(self, value: Any, pointer: Any, mask: Any) -> None:
        v = self.v
        name = f"llvm.masked.store.v{v.lanes}f{64 if v.double else 32}.p0"
        align = ir.Constant(I32, 8 if v.double else 4)
        v.call(name, ir.VoidType(), value, pointer, align, mask)


def loops_ir(recipe: Recipe, target: Processor) -> str:
    """LLVM IR of the function `run` for this recipe."""
    return _Loops(recipe, target).build()
