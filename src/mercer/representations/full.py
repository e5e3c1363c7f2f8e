"""One coefficient per example: f = Σ c_i k(x_i, ·), the representer theorem taken at its word."""

from __future__ import annotations

from mercer.functions import KernelFunction
from mercer.operators import KernelOperator
from mercer.representations.base import Built, Representation


class Full(Representation):
    """f = Σ c_i k(x_i, ·) over all training points: exact.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> KernelRidge(representation=Full()).fit([[0.0], [1.0]], [0.0, 1.0]).coef_.shape
    (2,)
    """

    name = "full"

    def __init__(self):
        pass

    def size(self, kernel, n, d):
        return n

    def build(self, kernel, X, rng, engine, seen=None):
        K = KernelOperator(kernel, X, X, engine)
        return Built(K, K, lambda c: KernelFunction(kernel, X, c, engine))
