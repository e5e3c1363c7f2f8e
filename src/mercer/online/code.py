"""Loops and losses, compiled once and kept; where LLVM does not work, as Python."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from mercer.codegen.rows import row_source
from mercer.codegen.subset.compiled import Callback, compiled
from mercer.codegen.symbols import NotTraceable
from mercer.losses.base import Loss
from mercer.online import linear_loops, loops


def as_python(name: str) -> Any:
    """One of the loops, as it stands."""
    return getattr(loops if name == "expansion" else linear_loops, name)


@lru_cache(maxsize=16)
def loop(name: str, dtype: str = "float64") -> Any:
    """One of the loops, compiled for kernel values of that dtype; the Python function where that fails."""
    plain = as_python(name)
    return compiled([plain], dtype) or plain


def is_compiled() -> bool:
    """Is there machine code?"""
    return loop("expansion") is not as_python("expansion")


class LossCode:
    """V and V' for one example of t outputs, as the loops call them, with the arrays they work on."""

    def __init__(self, loss: Loss, outputs: int):
        self.loss, self.outputs = loss, outputs
        self.y, self.s, self.g = (np.zeros(outputs) for _ in range(3))
        self.v = np.zeros(1)
        self.slope, self._rows = self._code("grad")
        self.value, more = self._code("value")
        self.w = np.zeros((max(self._rows, more), outputs))

    def _code(self, what: str) -> tuple[Any, int]:
        called = self._grad if what == "grad" else self._value
        if not is_compiled():
            return (lambda *_: called()), 1  # as Python the loops pass what compiled ones do
        try:
            source, rows = row_source(getattr(self.loss, what), total=what == "value")
            code = compiled([source])
        except NotTraceable:
            code, rows = None, 1
        return (Callback(called), 1) if code is None else (code, rows)

    def _grad(self) -> None:
        self.g[:] = self.loss.grad(self.y[None], self.s[None])[0]

    def _value(self) -> None:
        self.v[0] = np.sum(self.loss.value(self.y[None], self.s[None]))

    @property
    def record(self) -> loops.LossAt:
        return loops.LossAt(self.y, self.s, self.g, self.v, self.w, self.slope, self.value)
