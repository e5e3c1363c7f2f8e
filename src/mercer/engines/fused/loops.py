"""The loops: IR for one traced formula, in register blocks of rows × vectors of columns."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from mercer.codegen.llvm.emitter import F64, I32, I64
from mercer.codegen.llvm.grid import Grid
from mercer.codegen.llvm.processor import Processor
from mercer.engines.fused.groups import Groups
from mercer.engines.fused.recipe import Recipe


class _Loops(Groups):
    """What is done with every block of K: put into a matrix, or multiplied with a column of V."""

    # -- the formula ------------------------------------------------------------------------------

    def kernel_values(self, row: Any, tile: Any, j: Any) -> list[Any]:
        """k for R × C vectors."""
        v, recipe = self.v, self.recipe
        self.row, i = row, self.block_at(row)
        found = self.statistics(i, tile, j)
        first = recipe.slots - recipe.scalars
        rows = [
            [v.load_splat(self.x_at(i, self.k(first + s), r)) for r in range(self.R)]
            for s in range(recipe.scalars)
        ]
        columns = [
            [v.load(self.z_at(tile, self.k(first + s), j, c)) for c in range(self.C)]
            for s in range(recipe.scalars)
        ]
        sources = {
            "leaf": lambda leaf: ("pair", found[recipe.leaves[leaf]]),
            "row": lambda s: ("row", rows[s]),
            "column": lambda s: ("column", columns[s]),
            "constant": lambda c: ("one", [self.constant(None, c)]),
        }
        return Grid(v, self.R, self.C).values(recipe.instructions, sources)

    # -- the whole function -----------------------------------------------------------------------

    def build(self) -> str:
        b, v, recipe = self.b, self.v, self.recipe
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


def loops_ir(processor: Processor, recipe: Recipe) -> str:
    """LLVM IR of the function `run` for this recipe."""
    return _Loops(recipe, processor).build()
