"""White noise as a kernel: points have something in common only if they are the same."""

from __future__ import annotations

import numpy as np

from mercer._xp import as_csr, issparse
from mercer.kernels.base import Kernel
from mercer.kernels.statistics import Differences


class White(Kernel):
    """k(x, z) = [x = z]: 1 where two points agree in every coordinate, 0 where they do not.

    ``k + s2 * White()`` says that f has a part that differs from place to place without any rule, of
    variance s2: a *nugget*, as geostatistics calls it.

    Notes
    -----
    It is a function of the points, as every kernel is, and equality is exact. So

    * K(X) is the identity where all rows differ; rows that are equal have 1 between them. scikit-learn's
      ``WhiteKernel(s2)`` goes by the numbers of rows instead: its K(X) is s2·I whatever the rows are.
    * K(X_new, X) is 0, but 1 where a new point is a known one (0 there, too, in scikit-learn). At new points
      a prediction knows nothing of this part, however near they are, and a standard deviation contains s2:
      both libraries say the same. At an example itself it is known here.

    Noise of the observations, which differs between two measurements at one place, is what λ is for: least
    squares with λ is a Gaussian process with the noise variance λn. With examples that differ, ``k + s2 *
    White()`` and λ is the same machine on new points as k and λ + s2/n. Use it in machines with a
    coefficient for each example (``representation="full"``) that fit or interpolate measured values. It makes
    nothing similar, so by itself it learns nothing: in classifiers, clusters and among neighbours it only
    helps to memorise, and Nyström centres know nothing of other points. There are no random features for it.

    Examples
    --------
    >>> White()([[0.0], [1.0], [1.0]])
    array([[1., 0., 0.],
           [0., 1., 1.],
           [0., 1., 1.]])
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 0.5]
    >>> nugget = KernelRidge(Gaussian(1.0) + 0.3 * White(), lam=0.1, offset=False).fit(X, y)
    >>> noise = KernelRidge(Gaussian(1.0), lam=0.1 + 0.3 / 3, offset=False).fit(X, y)
    >>> new = [[0.5], [1.7]]
    >>> bool(np.allclose(nugget.predict(new), noise.predict(new)))
    True
    """

    sparse = True
    # Its powers are it itself.
    infinitely_divisible = True

    def formula(self, tracer, view):
        return 1.0 - tracer.clip(tracer.statistic(Differences(), view), 0.0, 1.0)

    def pairwise(self, X, Z):
        dtype = np.result_type(X.dtype, Z.dtype)
        if issparse(X) or issparse(Z):
            known: dict[bytes, int] = {}
            a, b = (_numbered(points, known) for points in (X, Z))
            return (a[:, None] == b[None, :]).astype(dtype)
        return (Differences().pairwise(X, Z) == 0).astype(dtype)

    def diagonal(self, X):
        return np.ones(X.shape[0], X.dtype)

    def gradient_x(self, X, Z):
        return np.zeros((X.shape[0], Z.shape[0], X.shape[1]), np.result_type(X.dtype, Z.dtype))

    def gradient_log_params(self, X, Z):
        return {}

    def vjp_log_params(self, X, W):
        return {}

    def raised(self, p):
        return self

    def amplitude(self):
        return 1.0

    def frequencies(self, rng, count, d):
        raise NotImplementedError("all frequencies are alike in white noise, so none can be drawn")

    def density(self, W):
        raise NotImplementedError("all frequencies are alike in white noise, so they have no density")

    def rule(self):
        return "white noise: an inner product of indicators of single points"

    def strictly(self):
        return "the matrix of white noise is the identity"


def _numbered(X, known: dict[bytes, int]) -> np.ndarray:
    """A number for each row, the same for equal ones."""
    X = as_csr(X if issparse(X) else _to_csr(X)).astype(np.float64)
    X.sum_duplicates()
    X.eliminate_zeros()
    keys = (
        X.indices[a:b].astype(np.int64).tobytes() + X.data[a:b].tobytes()
        for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    )
    return np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.intp)


def _to_csr(X):
    from scipy.sparse import csr_array  # kernels are imported without it

    return csr_array(X)
