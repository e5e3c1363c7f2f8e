"""K(X, Z) as an operator on the device: blocks of it, and products with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mercer.codegen.formula import Formula
from mercer.codegen.triton.code import SINGLE_ONLY
from mercer.codegen.triton.roots import absorbed
from mercer.engines._triton import blocks, launch
from mercer.engines._triton.halves import halved
from mercer.engines._triton.pack import PAD, middle, pack, represented, scalars
from mercer.engines._triton.store import Points

_BLOCK_BYTES = 1 << 28


class DevicePairs:
    """K(X, Z) for a traced formula.

    Parameters
    ----------
    formula : Formula
    X, Z : Points of one dtype
    anchor : Points
        The set whose mean becomes the origin; the same for K(X, Z) and K(Z, X), so that they agree.
    precision : {"float32", "fast"}
    native : bool
        False under Triton's interpreter.
    """

    def __init__(self, formula: Formula, X: Points, Z: Points, anchor: Points, precision: str, native: bool):
        self.formula, self.X, self.Z, self.anchor = absorbed(formula), X, Z, anchor
        self.precision, self.native = precision, native
        self._made: dict[tuple[str, bool], Any] = {}

    @property
    def by_torch(self) -> bool:
        """Is this a float64 formula with functions that generated code lacks?"""
        programmes = [self.formula.programme] + [f.term for f in self.formula.leaves if f.term is not None]
        used = {i[0] for p in programmes for i in p.instructions}
        return self.X.raw.element_size() == 8 and bool(used & SINGLE_ONLY)

    def packed(self, whole: bool) -> Any:
        """Operands, made once; for points that last, once for all calls with the same numbers."""

        def make() -> Any:
            return pack(self.formula, self.X, self.Z, self.anchor, self.precision, whole, self.native)

        return self._kept("packed", whole, make)

    def halved(self) -> Any:
        """Operands for products in half-precision pieces; None where they would not be accurate."""

        def make() -> Any:
            return halved(self.formula, self.packed(False), self.X, self.Z, self.anchor)

        return self._kept("halved", False, make)

    def _kept(self, kind: str, whole: bool, make: Any) -> Any:
        if (kind, whole) not in self._made:
            if self.X.lasting and self.Z.lasting and self.anchor.lasting:
                others = (self.Z.serial, self.anchor.serial, self.precision, whole, self.native)
                self._made[kind, whole] = self.X.form((kind, *others, *_numbers(self.formula)), make)
            else:
                self._made[kind, whole] = make()
        return self._made[kind, whole]

    def block(self, first: int, last: int, columns: int | None = None, out: Any = None) -> Any:
        """Rows first … last of K, `first` a multiple of PAD; `columns`: only so many; into `out` if given."""
        m = len(self.Z) if columns is None else columns
        if self.by_torch:
            K = self._torch_block(first, last)[:, :m]
            return K if out is None else out.copy_(K)
        import torch

        part = self.packed(True).rows(first, last)
        part.m = m
        if out is None or out.stride(1) != 1 or out.dtype != self.X.raw.dtype:
            K = torch.empty((last - first, m), dtype=self.X.raw.dtype, device=self.X.raw.device)
            launch.matrix(part, K)
            return K if out is None else out.copy_(K)
        return launch.matrix(part, out)

    def as_multiplied(self, first: int, last: int) -> Any:
        """Rows of K with the values that products use; in float64 where they are made from factors."""
        if self.by_torch or self.packed(False).row_weights is None:
            return self.block(first, last)
        import torch

        part = self.packed(False).rows(first, last)
        part.code = replace(part.code, mode="matrix")
        K = torch.empty((last - first, len(self.Z)), dtype=self.X.raw.dtype, device=self.X.raw.device)
        return launch.matrix(part, K).double().mul_(part.row_weights[:, None]).mul_(part.column_weights)

    def columns(self) -> Any:
        """The points that columns stand for in products, in float64; None where that is not known."""
        if self.by_torch:
            return None
        return represented(self.formula, self.packed(False), self.Z, self.precision)

    def _torch_block(self, first: int, last: int) -> Any:
        values = []
        for leaf in self.formula.leaves:
            x, z = (P.seen_through(leaf.view) for P in (self.X, self.Z))
            values.append(
                blocks.statistic(leaf, x.raw[first:last], z.raw, middle(self.anchor.seen_through(leaf.view)))
            )
        rows = [s[first:last] for s in scalars(self.formula, self.X)]
        columns = [s[: len(self.Z)] for s in scalars(self.formula, self.Z)]
        return blocks.evaluate(self.formula, values, rows, columns)

    def height(self, bytes_: int = _BLOCK_BYTES) -> int:
        """Rows of a block that takes about so many bytes."""
        rows = bytes_ // (self.X.raw.element_size() * max(len(self.Z), 1))
        return max(rows // PAD, 1) * PAD

    def multiply(self, V: Any, same: bool = False) -> Any:
        """K V in float64, for V of shape (m, t) on the device."""
        import torch

        if not self.by_torch:
            return launch.multiply(self.packed(False), V, same, self.halved)
        height = self.height()
        parts = [
            self._torch_block(i, min(i + height, len(self.X))) @ V.double()
            for i in range(0, len(self.X), height)
        ]
        return torch.cat(parts)


def _numbers(formula: Formula) -> tuple[Any, ...]:
    """What tells formulas apart, numbers included."""
    leaves = tuple((f.view, f.scale, f.term and f.term.constants) for f in formula.leaves)
    scalars = tuple((s.name, s.view) for s in formula.scalars)
    return formula.structure, formula.programme.constants, leaves, scalars
