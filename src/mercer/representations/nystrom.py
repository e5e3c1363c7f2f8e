"""m centres in place of n points: f = Σ c_j k(z_j, ·)."""

from __future__ import annotations

import math

import numpy as np

from mercer._xp import frozen
from mercer.features.centres import Centres, centres_of
from mercer.functions import KernelFunction
from mercer.kernels.points import double
from mercer.operators import FacingColumns, Matrix
from mercer.representations.base import Built, Representation, precise

# K(Z, Z) of more centres than this is not kept: it is wanted a product at a time.
_MOST_STORED = 8000


class Nystrom(Representation):
    """f = Σ c_j k(z_j, ·) over m centres: the best f in their span, at cost n·m² instead of n³.

    Parameters
    ----------
    n_centres : int, optional
        Number of centres. None: about 4√n, at least 1000 (and at most n).
    centres : "mixed", "uniform", "k-means++", "leverage", "pivoted_cholesky", a Centres object, or points
        How to choose them, or the points themselves. "mixed": three quarters of them uniformly, the
        others where these are far (`Mixed`), so that examples that lie apart are not left out.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> machine = KernelRidge(representation=Nystrom(n_centres=20), random_state=0)
    >>> machine.fit(X, X[:, 0] ** 2).dual_coef_.shape
    (20,)
    """

    name = "nystrom"

    def __init__(self, n_centres=None, centres="mixed"):
        self.n_centres = n_centres
        self.centres = centres

    def validate(self):
        if self.n_centres is not None and (
            not isinstance(self.n_centres, (int, np.integer)) or self.n_centres < 1
        ):
            raise ValueError(f"Nystrom: n_centres must be a positive integer or None, got {self.n_centres!r}")
        if isinstance(self.centres, (str, type)) or not hasattr(self.centres, "__len__"):
            centres_of(self.centres)

    def size(self, kernel, n, d):
        if not isinstance(self.centres, (str, Centres)):
            return len(self.centres)
        return min(n, max(1000, int(4 * math.sqrt(n))) if self.n_centres is None else int(self.n_centres))

    def words(self, kernel, n, m, remote=False) -> str:
        """Where the centres come from, for a plan."""
        if not isinstance(self.centres, (str, Centres)):
            return f"{m:,} centres are given"
        return centres_of(self.centres).words(n, m, not kernel.vectors, remote)

    def build(self, kernel, X, rng, engine, seen=None, n=None):
        self.validate()
        n = n or X.shape[0]
        X = precise(kernel, X, self.size(kernel, n, 0), n)
        if isinstance(self.centres, (str, Centres)):
            among = X if seen is None else X[seen]
            m = min(self.size(kernel, n, 0), among.shape[0])
            Z = among[centres_of(self.centres).choose(engine.operator(kernel, among), m, rng)]
        else:
            Z = frozen(kernel.points(self.centres))
            if kernel.vectors and Z.shape[1] != X.shape[1]:
                raise ValueError(f"the centres have {Z.shape[1]} features, the data {X.shape[1]}")
            if kernel.vectors:
                Z = Z.astype(X.dtype)
        A = engine.operator(kernel, X, Z)
        # The small matrix is factored, so it is wanted in float64 even where the data are not.
        B = engine.operator(kernel, double(Z))
        if not engine.remote and Z.shape[0] <= _MOST_STORED:
            B = Matrix(np.asarray(B.dense(), dtype=np.float64))
            if not np.isfinite(B.values).all():
                raise ValueError(f"{kernel!r} gives NaN or infinity between the centres")
        return Built(A, B, lambda c: KernelFunction(kernel, Z, c, engine), FacingColumns(engine, kernel, Z))
