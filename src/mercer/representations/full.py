"""One coefficient per example: f = Σ c_i k(x_i, ·), the representer theorem taken at its word."""

from __future__ import annotations

from mercer._xp import take
from mercer.functions import KernelFunction
from mercer.representations.base import Built, Representation, precise


class Full(Representation):
    """f = Σ c_i k(x_i, ·) over all training points: exact.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> KernelRidge(representation=Full()).fit([[0.0], [1.0]], [0.0, 1.0]).dual_coef_.shape
    (2,)
    """

    name = "full"

    def size(self, kernel, n, d):
        return n

    def build(self, kernel, X, rng, engine, seen=None, n=None):
        X = X if engine.remote else precise(kernel, X, X.shape[0])
        K = engine.operator(kernel, X)

        def lift(c):
            used = c != 0 if c.ndim == 1 else (c != 0).any(axis=1)
            # Only support vectors are kept, where there are such.
            return KernelFunction(kernel, *((X, c) if used.all() else (take(X, used), c[used])), engine)

        return Built(K, K, lift)
