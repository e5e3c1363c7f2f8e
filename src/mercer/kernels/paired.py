"""k(x_i, z_i) of two lists of points, pair by pair: a kernel's formula, called with arrays of statistics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.codegen.formula import View
from mercer.codegen.symbols import NotTraceable
from mercer.kernels.base import Kernel
from mercer.kernels.formula import trace
from mercer.kernels.statistics import Statistic

# Without a formula, small matrices are made of which the diagonal is kept.
_SIDE = 16


class _Pairs:
    """NumPy, and of the points what formulas ask for."""

    def __init__(self, X: Any, Z: Any):
        self.X, self.Z = X, Z

    def statistic(self, statistic: Statistic, view: View) -> np.ndarray:
        return statistic.paired(view.points(self.X), view.points(self.Z))

    def both(self, name: Any, view: View, compute: Callable[[Any], np.ndarray]) -> tuple[Any, Any]:
        return compute(view.points(self.X)), compute(view.points(self.Z))

    def number(self, value: Any) -> float:
        return float(value)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def paired(kernel: Kernel, X: Any, Z: Any) -> np.ndarray:
    """k(x_i, z_i) for checked points of a resolved kernel, shape (n,).

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> X, Z = np.array([[0.0], [2.0]]), np.array([[1.0], [2.0]])
    >>> paired(Gaussian(1.0) + Linear(), X, Z).round(4)
    array([0.6065, 5.    ])
    """
    n = X.shape[0]
    try:
        trace(kernel)
    except NotTraceable:
        side = _SIDE if kernel.vectors else 1
        parts = [np.diagonal(kernel.pairwise(X[a : a + side], Z[a : a + side])) for a in range(0, n, side)]
        return np.concatenate(parts) if parts else np.zeros(0)
    value = kernel.formula(_Pairs(X, Z), View())  # type: ignore[arg-type]
    return np.array(np.broadcast_to(value, (n,)))
