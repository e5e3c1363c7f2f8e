"""The contract of an engine: where kernel values are computed."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._memory import available_memory
from mercer._params import Params
from mercer.kernels.base import Kernel
from mercer.kernels.sets import MeanEmbedding
from mercer.operators import KernelOperator, Matrix, Operator
from mercer.operators.counted import CountedOperator
from mercer.operators.sets import SetsOperator
from mercer.rows import Rows, open_rows

# Of the memory that is free, what matrices may take.
_SHARE = 0.7


class Engine(Params):
    """Where kernel values are computed. Contract: `makes`; and `free_bytes`, where that is not the host.

    All work is done by the operators an engine makes. `KernelOperator` itself computes by NumPy, block by
    block; an engine names its own class, which overrides what it does better.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.engines import Engine, Tiled
    >>> from mercer.kernels import Gaussian
    >>> K = Tiled().operator(Gaussian(1.0), np.array([[0.0], [1.0]]))
    >>> isinstance(Tiled(), Engine), K.shape
    (True, (2, 2))
    """

    name = "numpy"
    makes: type[KernelOperator] = KernelOperator
    # Does it live elsewhere (on a GPU), so that large matrices should not come to the host?
    remote = False
    # Is arithmetic in float32 much faster than in float64 there?
    single_faster = True
    # Up to how many rows a factor takes no longer than the iterations it spares.
    direct_rows = 3000
    # Does it take examples to other machines, so that even an array in memory is learned from there?
    sends = False
    # Shards that are worked on at the same time in a pass: the host prepares some while a device computes.
    at_once = 1

    def operator(self, kernel: Kernel, X: Any, Z: Any = None) -> KernelOperator:
        """K(X, Z), or K(X, X) without Z, ready to multiply.

        Parameters
        ----------
        kernel : Kernel
            With no parameter left to the data.
        X, Z : points
            As `kernel.points` gives them.
        """
        self.validate()
        if kernel.has_counts:  # sparse features: the same on every engine
            return CountedOperator(self, kernel, X, Z)
        if type(kernel) is MeanEmbedding:  # from values between elements, which this engine computes
            return SetsOperator(self, kernel, X, Z)
        return self.makes(self, kernel, X, Z)

    def free_bytes(self) -> int:
        """Bytes that matrices may take where this engine keeps them."""
        return int(_SHARE * available_memory())

    def keep(self, K: Operator) -> Operator:
        """The matrix of an operator, its entries kept where this engine keeps matrices."""
        return Matrix(K.dense())

    def expecting(self, pairs: float) -> Engine:
        """This engine, for work of so many pairs in all that comes in small pieces."""
        return self

    def usable(self) -> Engine:
        """Itself, or the engine of the CPU in its place where its device is not there."""
        return self

    def place(self, X: Any, y: Any = None, w: Any = None) -> Rows:
        """Examples that live elsewhere, as rows where this engine computes: most compute where they are."""
        return open_rows(X, y, w)

    def at_rows(self) -> Engine:
        """The engine that computes where examples live: itself, unless they live on other machines."""
        return self

    def left_out(
        self, kernel: Kernel, X: np.ndarray, Y: np.ndarray, mu: float, offset: bool
    ) -> tuple[float, dict[str, Any], float] | None:
        """The mean squared leave-one-out error L of (K + μI)⁻¹, where this engine keeps matrices.

        With its slopes in log θ by name, as `Kernel.vjp_log_params` has them, and in μ. None where the host
        has to do it; MemoryError without room.
        """
        return None

    def ridge_scores(
        self, kernel: Kernel, X: np.ndarray, Y: np.ndarray, mu: float, new: np.ndarray
    ) -> np.ndarray | None:
        """K(new, X) (K + μI)⁻¹ Y, the same way; None where the host has to do it."""
        return None

    def single_threaded(self) -> Engine:
        """This engine, for use in one of several threads at the same time."""
        return self
