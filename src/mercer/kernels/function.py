"""Any Python function as a kernel, on any objects."""

from __future__ import annotations

import numpy as np

from mercer.kernels.base import Kernel
from mercer.kernels.points import as_objects


class FunctionKernel(Kernel):
    """k given by a symmetric Python function of two points.

    Parameters
    ----------
    function : callable
        function(x, z) → number; or, with ``vectorized``, function(X, Z) → (n, m) array.
    vectorized : bool
        Does the function take two whole point sets?
    indefinite : bool
        Machines look at a sample of their points and refuse a function that is not positive semidefinite on
        it, unless this says that one is wanted.

    A point is an item of a list or Series, a cell of a table with one column of objects, or a row (an
    array) of any other table.

    Notes
    -----
    ``mercer.kernels.check(k, X)`` looks for a proof that the function is not positive semidefinite, on
    sampled or given points, and harder than machines do.

    Examples
    --------
    >>> def shared_letters(a, b):
    ...     return len(set(a) & set(b))
    >>> FunctionKernel(shared_letters)(["kernel", "colonel", "mercer"])
    array([[5., 3., 2.],
           [3., 5., 2.],
           [2., 2., 4.]])
    """

    vectors = False

    def __init__(self, function, vectorized=False, indefinite=False):
        self.function = function
        self.vectorized = vectorized
        self.indefinite = indefinite

    def validate(self):
        if not callable(self.function):
            raise TypeError(f"FunctionKernel: function must be callable, got {self.function!r}")

    def points(self, X):
        X = as_objects(X)
        # A table with one column of words is a list of words.
        return X[:, 0] if X.ndim == 2 and X.shape[1] == 1 and X.dtype.kind in "OUS" else X

    def pairwise(self, X, Z):
        if self.vectorized:
            K = np.asarray(self.function(X, Z), dtype=float)
            if K.shape != (X.shape[0], Z.shape[0]):
                raise ValueError(
                    f"the function returned shape {K.shape} for {X.shape[0]} × {Z.shape[0]} points; "
                    f"drop vectorized=True if it takes one pair"
                )
            return K
        K = np.empty((X.shape[0], Z.shape[0]))
        for i in range(X.shape[0]):
            # Symmetric: half the calls, each of which costs far more than a copy.
            start = i if X is Z else 0
            for j in range(start, Z.shape[0]):
                value = self.function(X[i], Z[j])
                K[i, j] = value if np.ndim(value) == 0 else np.asarray(value).item()
            if X is Z:
                K[i:, i] = K[i, i:]
        return K
