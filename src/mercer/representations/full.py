"""One coefficient per example: f = Σ c_i k(x_i, ·), the representer theorem taken at its word."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._xp import take
from mercer.functions import KernelFunction
from mercer.kernels.door import by_rule
from mercer.operators import Matrix
from mercer.representations.base import Built, Representation, precise

# All eigenvectors of more examples than this are a matter of many minutes.
_MOST_DECOMPOSED = 8000


class Full(Representation):
    """f = Σ c_i k(x_i, ·) over all training points: exact.

    Parameters
    ----------
    indefinite : None, "clip" or "flip"
        What becomes of negative eigenvalues of K(X, X), where the function is no kernel: they are taken for
        0, or for positive. Then f is one of the space of k̃(x, z) = k(x, X) M k(X, z), with the M that changes
        K = QΛQᵀ like this; so new points are answered as the examples are. None: K as it is.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> KernelRidge(representation=Full()).fit([[0.0], [1.0]], [0.0, 1.0]).dual_coef_.shape
    (2,)
    """

    name = "full"

    def __init__(self, indefinite=None):
        self.indefinite = indefinite

    def validate(self):
        super().validate()
        if self.indefinite not in (None, "clip", "flip"):
            raise ValueError(f"Full: indefinite must be None, 'clip' or 'flip', got {self.indefinite!r}")

    def size(self, kernel, n, d):
        return n

    def build(self, kernel, X, rng, engine, seen=None, n=None):
        X = X if engine.remote else precise(kernel, X, X.shape[0])
        K = engine.operator(kernel, X)
        if self.indefinite is not None and not by_rule(kernel):
            return self._repaired(kernel, X, K, engine, seen)

        def lift(c):
            used = c != 0 if c.ndim == 1 else (c != 0).any(axis=1)
            # Only support vectors are kept, where there are such.
            return KernelFunction(kernel, *((X, c) if used.all() else (take(X, used), c[used])), engine)

        return Built(K, K, lift)

    def _repaired(self, kernel: Any, X: Any, K: Any, engine: Any, seen: np.ndarray | None) -> Built:
        """k̃ = ⟨φ(x), φ(z)⟩, φ(x) = k(x, S) R: S are the examples that count, K(S, S) = QΛQᵀ, R = Q s/√|Λ|."""
        n = K.shape[0]
        if n > _MOST_DECOMPOSED:
            raise ValueError(
                f"indefinite={self.indefinite!r} takes all eigenvectors of the {n:,}×{n:,} matrix, which is "
                f"more than {_MOST_DECOMPOSED:,} rows: fit some of the rows, or say indefinite='allow'"
            )
        values = K.dense().astype(np.float64)
        S = np.arange(n) if seen is None else seen
        own = values[np.ix_(S, S)]
        spectrum, Q = np.linalg.eigh(0.5 * (own + own.T))
        size = np.abs(spectrum)
        counts = size > len(S) * np.finfo(K.dtype).eps * size.max(initial=0.0)
        negative = counts & (spectrum < 0)
        if self.indefinite == "clip":
            counts &= spectrum > 0
        R = Q[:, counts] * (np.sign(spectrum[counts]) / np.sqrt(size[counts]))
        Phi = values[:, S] @ R
        repaired = Matrix(Phi @ Phi.T)
        points = X if seen is None else take(X, S)

        def lift(c):
            return KernelFunction(kernel, points, R @ (Phi.T @ c), engine)

        done = "taken for 0" if self.indefinite == "clip" else "taken for positive"
        share = size[negative].sum() / max(size.sum(), np.finfo(float).tiny)
        remark = (
            f"the matrix is not positive semidefinite: {negative.sum():,} of {len(S):,} eigenvalues are "
            f"negative, {share:.2g} of their sum without signs, and {done} (indefinite={self.indefinite!r}); "
            "new points are answered by the same change of k(x, X)"
        )
        return Built(repaired, repaired, lift, remark=remark if negative.any() else "")
