"""What the unknown of a problem is: coefficients of which functions?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._params import Params
from mercer.engines import Engine
from mercer.functions import Function
from mercer.kernels.base import Kernel
from mercer.operators import Operator


@dataclass(frozen=True, eq=False)
class Built:
    """A, B of the problem, and the way from coefficients to a function."""

    A: Operator
    B: Operator
    lift: Callable[[np.ndarray], Function]


class Representation(Params):
    """Contract: `build` → Built; `size(kernel, n, d)` → number of unknowns.

    `seen` names the rows of positive weight (None for all): what is learned from data is learned there.
    """

    name = ""
    penalty = "ridge"

    def build(
        self,
        kernel: Kernel,
        X: Any,
        rng: np.random.Generator,
        engine: Engine,
        seen: np.ndarray | None = None,
    ) -> Built:
        """A, B and the way back, for a resolved kernel and checked points."""
        raise NotImplementedError

    def size(self, kernel: Kernel, n: int, d: int) -> int:
        """How many unknowns `build` would make for n points with d features."""
        raise NotImplementedError
