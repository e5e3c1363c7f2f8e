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
        if is_compiled():
            try:
                return _compiled_loss(self.loss, what)
            except NotTraceable:
                return Callback(self._grad if what == "grad" else self._value), 1
        # As Python the loops pass what compiled ones do.
        return (lambda *_: self._grad()) if what == "grad" else (lambda *_: self._value()), 1

    def _grad(self) -> None:
        self.g[:] = self.loss.grad(self.y[None], self.s[None])[0]

    def _value(self) -> None:
        self.v[0] = np.sum(self.loss.value(self.y[None], self.s[None]))

    @property
    def record(self) -> loops.LossAt:
        return loops.LossAt(self.y, self.s, self.g, self.v, self.w, self.slope, self.value)


def _compiled_loss(loss: Loss, what: str) -> tuple[Any, int]:
    source, rows = row_source(loss.grad if what == "grad" else loss.value, total=what == "value")
    code = compiled([source])
    if code is None:
        raise NotTraceable("no compiler")
    return code, rows
