"""Programmes on a grid of pairs: R rows × C vectors of columns at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from mercer.codegen.llvm.vectors import Vectors
from mercer.codegen.programme import Instruction, run

# What a value belongs to ("one", "row", "column" or "pair"), and the values.
Entry = tuple[str, list[Any]]


class Grid:
    """Evaluates programmes; what depends on a row or a column alone is computed once for it."""

    def __init__(self, v: Vectors, rows: int, columns: int):
        self.v, self.columns = v, columns
        self.cells = {
            "one": [(0, 0)],
            "row": [(r, 0) for r in range(rows)],
            "column": [(0, c) for c in range(columns)],
            "pair": [(r, c) for r in range(rows) for c in range(columns)],
        }

    def values(
        self, instructions: Sequence[Instruction], sources: Mapping[str, Callable[..., Entry]]
    ) -> list[Any]:
        """The result for every pair, row by row."""
        last = run(instructions, self._apply, sources)
        return [self._pick(last, r, c) for r, c in self.cells["pair"]]

    def _pick(self, entry: Entry, r: int, c: int) -> Any:
        kind, values = entry
        return values[{"one": 0, "row": r, "column": c, "pair": r * self.columns + c}[kind]]

    def _apply(self, operation: str, *operands: Entry) -> Entry:
        kinds = {kind for kind, _ in operands} - {"one"}
        kind = "one" if not kinds else kinds.pop() if len(kinds) == 1 else "pair"
        emit = partial(self.v.apply, operation)
        return kind, [emit(*(self._pick(o, r, c) for o in operands)) for r, c in self.cells[kind]]
