"""Values of a kernel between some rows, computed once for many machines that are compared on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.engines import Tiled
from mercer.kernels import Kernel


class Tabulated(Kernel):
    """k(i, j) = values[i, j]: another kernel's values between points 0, 1, …, and its reason to be one.

    Kernels on strings take longer than what machines make of them. `Finite` is for matrices that anybody may
    have made: it is looked at closely each time.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> k = Tabulated.of(Linear(), np.array([[1.0], [2.0], [3.0]]))
    >>> k([0, 2])
    array([[1., 3.],
           [3., 9.]])
    """

    vectors = False

    def __init__(self, values, reason):
        self.values = values
        self.reason = reason

    @classmethod
    def of(cls, kernel: Kernel, X: Any) -> Tabulated:
        """The values of a resolved kernel between some points."""
        return cls(np.asarray(Tiled().operator(kernel, kernel.points(X)).dense(), np.float64), kernel.rule())

    def __sklearn_clone__(self):
        return self  # a value, and a large one

    def points(self, X):
        return np.ravel(X).astype(np.intp)

    def pairwise(self, X, Z):
        return self.values[np.ix_(X, Z)]

    def diagonal(self, X):
        return self.values[X, X]

    def gradient_log_params(self, X, Z):
        return {}  # there is nothing to vary

    def rule(self):
        return self.reason
