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

# Up to so many kernel values (or features) float32 saves no time worth having.
SMALL = 50_000_000


def precise(kernel: Kernel, X: Any, unknowns: int, n: int | None = None) -> Any:
    """The points, in float64 where the problem is so small that float32 would save nothing.

    Coefficients of both signs are large and cancel, and kernel values of points far from 0 differ little:
    rounded to float32, what matters may be lost. `n` counts all points, where these are a sample.
    """
    return in_float64(kernel, X) if (n or X.shape[0]) * unknowns <= SMALL else X


def in_float64(kernel: Kernel, X: Any) -> Any:
    """The points, if they are float32 vectors, in float64."""
    return X.astype(np.float64) if kernel.vectors and X.dtype == np.float32 else X


@dataclass(frozen=True, eq=False)
class Built:
    """A, B of the problem, and the way from coefficients to a function.

    `facing` makes A of other points; it can be sent to where they are. None: there is no such way. `remark`
    is what a plan should say that was not known before.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.engines import Tiled
    >>> from mercer.kernels import Gaussian
    >>> from mercer.representations import Full
    >>> X = np.linspace(0, 1, 5)[:, None]
    >>> built = Full().build(Gaussian(1.0), X, np.random.default_rng(0), Tiled())
    >>> c = np.ones((5, 1))
    >>> bool(np.allclose(built.lift(c)(X), built.A @ c))
    True
    """

    A: Operator
    B: Operator
    lift: Callable[[np.ndarray], Function]
    facing: Callable[[np.ndarray], Operator] | None = None
    remark: str = ""


class Representation(Params):
    """Contract: `build` → Built; `size(kernel, n, d)` → number of unknowns.

    `seen` names the rows of positive weight (None for all): what is learned from data is learned there. `n`
    is the number of all examples where X is a sample of them.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.representations import Full, Nystrom, Representation
    >>> [r.size(Gaussian(), 1000, 5) for r in (Full(), Nystrom(20)) if isinstance(r, Representation)]
    [1000, 20]
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
        n: int | None = None,
    ) -> Built:
        """A, B and the way back, for a resolved kernel and checked points."""
        raise NotImplementedError

    def size(self, kernel: Kernel, n: int, d: int) -> int:
        """How many unknowns `build` would make for n points with d features."""
        raise NotImplementedError
