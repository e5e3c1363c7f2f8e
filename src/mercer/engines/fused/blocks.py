"""Small products with a block of K that has just been computed and lies in cache.

`times`: out[i, t] += Σ_j K[i, j] V[t, j]      `times_transposed`: out[t, j] += Σ_i K[i, j] S[i, t]

K may be float32 while V, S and out are float64: entries are widened on the way through the registers.
BLAS has no such product, and is slow for the few columns of V there usually are.
"""

from __future__ import annotations

from typing import Any

from mercer.codegen.llvm.emitter import F64, Emitter, number_type
from mercer.codegen.llvm.processor import Processor
from mercer.codegen.llvm.vectors import Vectors


class _Products(Emitter):
    """Emits both functions for `columns` columns of V."""

    def __init__(self, processor: Processor, entries: str, sums: str, columns: int):
        super().__init__()
        self.processor, self.sums, self.T = processor, sums, columns
        self.kind = number_type(entries)

    def begin(self, name: str, *numbers: Any, **options: Any) -> list[Any]:
        arguments = super().begin(name, *numbers, **options)
        # Whole registers of sums; entries of half that size come half a register at a time.
        self.v = Vectors(self.b, self.processor, self.sums)
        return arguments

    def place(self, row: Any, stride: Any, column: Any) -> Any:
        return self.b.add(self.b.mul(row, stride), column)

    def entries(self, K: Any, where: Any) -> Any:
        """A vector of K, as wide as the sums are."""
        return self.v.load(self.at(K, where, self.kind), self.kind)

    def times(self) -> None:
        """times(K, V, out, rows, columns, stride of K, of V, of out); `columns` in whole vectors."""
        K, V, out, rows, columns, k_stride, v_stride, o_stride = self.begin("times", 3, 5)
        b, v, R = self.b, self.v, 4

        def some_rows(i, _):
            # The last rows may be done twice, so they are not added to `out` but put there.
            first = b.select(b.icmp_signed("<", b.add(i, self.k(R)), rows), i, b.sub(rows, self.k(R)))

            def step(j, sums):
                values = [self.entries(K, self.place(b.add(first, self.k(r)), k_stride, j)) for r in range(R)]
                vectors = [v.load(v.at(V, self.place(self.k(t), v_stride, j))) for t in range(self.T)]
                return [
                    v.fma(values[r], vectors[t], sums[r * self.T + t])
                    for r in range(R)
                    for t in range(self.T)
                ]

            sums = self.loop(self.k(0), columns, v.lanes, step, [v.const(0.0)] * (R * self.T))
            for r in range(R):
                for t in range(self.T):
                    total = v.total(sums[r * self.T + t])
                    total = total if v.double else b.fpext(total, F64)
                    where = self.place(b.add(first, self.k(r)), o_stride, self.k(t))
                    b.store(total, self.at(out, where, F64))

        self.loop(self.k(0), rows, R, some_rows)
        b.ret_void()

    def times_transposed(self) -> None:
        """times_transposed(K, S, out, rows, columns, stride of K, of S, of out)"""
        K, S, out, rows, columns, k_stride, s_stride, o_stride = self.begin("times_transposed", 3, 5)
        b, v, R = self.b, self.v, 8

        def add_rows(first, count):
            """A few whole rows at a time: both they and `out` are then read in order."""
            factors = [
                v.load_splat(v.at(S, self.place(b.add(first, self.k(r)), s_stride, self.k(t))))
                for r in range(count)
                for t in range(self.T)
            ]

            def step(j, _):
                where = [v.at(out, self.place(self.k(t), o_stride, j)) for t in range(self.T)]
                sums = [v.load(w) for w in where]
                for r in range(count):
                    values = self.entries(K, self.place(b.add(first, self.k(r)), k_stride, j))
                    sums = [v.fma(values, factors[r * self.T + t], sums[t]) for t in range(self.T)]
                for w, total in zip(where, sums, strict=True):
                    v.store(total, w)

            self.loop(self.k(0), columns, v.lanes, step)

        whole = b.sub(rows, b.srem(rows, self.k(R)))
        self.loop(self.k(0), whole, R, lambda i, _: add_rows(i, R))
        self.loop(whole, rows, 1, lambda i, _: add_rows(i, 1))
        b.ret_void()


def blocks_ir(processor: Processor, entries: str, sums: str, columns: int) -> str:
    """LLVM IR of `times` and `times_transposed`."""
    emitter = _Products(processor, entries, sums, columns)
    emitter.times()
    emitter.times_transposed()
    return str(emitter.module)
