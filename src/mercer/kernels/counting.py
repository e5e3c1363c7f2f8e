"""Kernels that compare things by features they have in common, with sparse feature vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.kernels.base import Kernel
from mercer.kernels.counts import Counts, parts_of


class Counting(Kernel):
    """k(x,z) = φ(x)·φ(z), with φ(x) sparse. A subclass gives `points` and `features`.

    Operators keep the features of their points: a product with K takes as long as there are features, and the
    matrix is made only where it is asked for.
    """

    vectors = False
    has_counts = True

    def features(self, X: np.ndarray) -> Counts:
        """φ(x) of checked points."""
        raise NotImplementedError(f"{type(self).__name__} must define features(X)")

    def counts(self, X: Any) -> Counts:
        return X if isinstance(X, Counts) else self.features(X)

    def pairwise(self, X, Z):
        A = self.counts(X)
        return A.inner(A if Z is X else self.counts(Z))

    def diagonal(self, X):
        if isinstance(X, Counts):
            return X.squares()
        return np.concatenate([part.squares() for part in parts_of(self.features, X)])

    def rule(self):
        return "an inner product of feature vectors"
