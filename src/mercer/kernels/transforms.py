"""Kernels on transformed points: chosen columns, length scales, a metric, any map."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from mercer._xp import issparse
from mercer.codegen.formula import require_equal_widths
from mercer.kernels.base import Kernel
from mercer.kernels.composite import PreparedParts, _Composite, _CountsOfOne, merge, prefixed
from mercer.kernels.counts import Counts
from mercer.kernels.points import as_objects, counted
from mercer.kernels.profiled import Profiled


class _Transformed(_Composite):
    """k(t(x), t(z)): subclasses give `child_points` (that is t)."""

    kernel: Kernel

    def formula(self, tracer, view):
        return self.kernel.formula(tracer, view.then(self))

    def pairwise(self, X, Z):
        if self.rounds and X.dtype == Z.dtype == np.float32 and not (issparse(X) or issparse(Z)):
            wide = X.astype(np.float64)
            return self.pairwise(wide, wide if X is Z else Z.astype(np.float64)).astype(np.float32)
        tX = self.child_points(X)
        if X is Z:
            return self.kernel.pairwise(tX, tX)
        tZ = self.child_points(Z)
        if getattr(tX, "ndim", 1) == 2 and getattr(tZ, "ndim", 1) == 2:
            require_equal_widths(tX.shape[1], tZ.shape[1])
        return self.kernel.pairwise(tX, tZ)

    def diagonal(self, X):
        return self.kernel.diagonal(self.child_points(X))

    def separation(self, X, Z, pairs):
        tX = self.child_points(X)
        return self.kernel.separation(tX, tX if X is Z else self.child_points(Z), pairs)

    def amplitude(self):
        return self.kernel.amplitude()

    def raised(self, p):
        inner = self.kernel.raised(p)
        return None if inner is None else self.replace(kernel=inner)

    def induced_order(self, view):
        return self.kernel.induced_order(view.then(self))

    def gradient_log_params(self, X, Z):
        return prefixed("kernel", self.kernel.gradient_log_params(self.child_points(X), self.child_points(Z)))

    def vjp_log_params(self, X, W):
        return prefixed("kernel", self.kernel.vjp_log_params(self.child_points(X), W))


class OnColumns(_CountsOfOne, _Transformed):
    """k on chosen columns, written ``k.on([0, 2])``.

    A column may hold strings, for a kernel that takes them: points are then rows of an array of Python
    objects, and the kernels on its columns of numbers take it, too.

    Parameters
    ----------
    kernel : Kernel
    columns : list of int, int or slice
        One column only for a kernel whose points are no vectors.

    Examples
    --------
    >>> from mercer.kernels import BagOfWords, Linear
    >>> Linear().on([1])([[1.0, 2.0]], [[5.0, 7.0]])
    array([[14.]])
    >>> rows = np.array([[1.0, 2.0, "to be"], [5.0, 7.0, "be"]], dtype=object)
    >>> (Linear().on([0, 1]) + BagOfWords().on(2))(rows)
    array([[ 7., 20.],
           [20., 75.]])
    """

    made = "a kernel on chosen columns"

    def __init__(self, kernel, columns):
        self.kernel = kernel
        self.columns = columns

    @property
    def vectors(self):
        return self.kernel.vectors or not self.kernel.has_counts

    def points(self, X):
        if not self.has_counts and not _of_objects(X):
            return Kernel.points(self, X)
        X = as_objects(X)
        if X.ndim != 2:
            raise ValueError(f"points must be rows of a 2-D array of objects, got {X.ndim}-D")
        self.child_points(X)  # so that what is wrong is said now
        return X

    def prepared(self, X):
        if self.has_counts:
            return self.counts(X)
        return PreparedParts([self.kernel.prepared(self.child_points(X))]) if _of_objects(X) else X

    def recounted(self, X):
        return self.kernel.counts(self.child_points(X))

    def cosines(self, X, Z, norms_x, norms_z):
        A = self.child_points(X)
        return self.kernel.cosines(A, A if Z is X else self.child_points(Z), norms_x, norms_z)

    def norms(self, X):
        return self.kernel.norms(self.child_points(X))

    def nonzero(self, X):
        return self.kernel.nonzero(self.child_points(X))

    def _index(self, d: int) -> np.ndarray:
        if isinstance(self.columns, slice):
            return np.arange(d)[self.columns]
        index = np.atleast_1d(np.asarray(self.columns))
        if index.dtype.kind not in "iu" or index.ndim != 1 or len(index) == 0:
            raise ValueError(f"columns must be integer positions, got {self.columns!r}")
        if index.min() < -d or index.max() >= d:
            raise ValueError(f"columns {self.columns!r} reach outside the {d} columns of the points")
        return index % d

    def child_points(self, X):
        if isinstance(X, PreparedParts):
            return X.parts[0]
        if isinstance(X, Counts):
            return X
        index = self._index(X.shape[1])
        if not self.has_counts:
            return self.kernel.points(X[:, index])
        if len(index) != 1:
            raise ValueError(f"{self.kernel!r} takes one column, got columns={self.columns!r}")
        return self.kernel.points(X[:, index[0]])

    def gradient_x(self, X, Z):
        inner = self.kernel.gradient_x(self.child_points(X), self.child_points(Z))
        out = np.zeros((X.shape[0], Z.shape[0], X.shape[1]), inner.dtype)
        # A column may be chosen twice; its slopes then add.
        np.add.at(out, (slice(None), slice(None), self._index(X.shape[1])), inner)  # type: ignore[arg-type]
        return out

    def frequencies(self, rng, count, d):
        index = self._index(d)
        out = np.zeros((count, d))
        inner = self.kernel.frequencies(rng, count, len(index))
        np.add.at(out, (slice(None), index), inner)  # type: ignore[arg-type]
        return out

    def density(self, W):
        index = self._index(W.shape[1])
        if not np.array_equal(np.sort(index), np.arange(W.shape[1])):
            raise NotImplementedError(
                f"{self!r} does not look at every column once: its spectrum lies in a plane, with no density"
            )
        return self.kernel.density(W[:, index])

    def expansion(self, d):
        index = self._index(d)
        inner = self.kernel.expansion(len(index))
        if inner is None:
            return None
        return merge([(tuple(sorted(int(index[k]) for k in a)), w) for a, w in inner.items()])

    def expansion_size(self, d):
        return self.kernel.expansion_size(len(self._index(d)))


def _of_objects(X) -> bool:
    """Are these rows of Python objects, numbers beside strings?"""
    return isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2


class LengthScales(_Transformed):
    """One length scale per feature: k(x/ℓ, z/ℓ), written ``k.scaled([1.0, 0.2])``.

    Parameters
    ----------
    kernel : Kernel
    lengths : array of positive numbers, one per feature; None takes each feature's standard deviation

    >>> from mercer.kernels import Gaussian
    >>> Gaussian(1.0).scaled([1.0, 10.0])([[0.0, 0.0]], [[0.0, 10.0]]).round(4)
    array([[0.6065]])
    """

    made = "a kernel with one length scale per feature"
    rounds = True

    def __init__(self, kernel, lengths=None):
        self.kernel = kernel
        self.lengths = lengths

    def validate(self):
        super().validate()
        if self.lengths is not None:
            lengths = np.asarray(self.lengths, dtype=float)
            if lengths.ndim != 1 or not np.isfinite(lengths).all() or (lengths <= 0).any():
                raise ValueError(f"lengths must be positive, one per feature; got {self.lengths!r}")

    def points(self, X):
        X = self.kernel.points(Kernel.points(self, X))
        if self.lengths is not None and len(self.lengths) != X.shape[1]:
            raise ValueError(f"{len(self.lengths)} length scales for points with {X.shape[1]} features")
        return X

    def unresolved(self):
        return (["lengths"] if self.lengths is None else []) + super().unresolved()

    def resolve(self, X, weights=None):
        self.validate()
        X, weights = counted(self.points(X), weights)
        if self.lengths is None:
            return self.replace(lengths=_spreads(X, weights)).resolve(X, weights)
        return super().resolve(X, weights)

    def _inverse(self, X):
        return (1.0 / np.asarray(self.lengths, dtype=float)).astype(X.dtype)

    def child_points(self, X):
        inverse = self._inverse(X)
        return X.multiply(inverse[None, :]).tocsr() if issparse(X) else X * inverse

    def gradient_x(self, X, Z):
        return self.kernel.gradient_x(self.child_points(X), self.child_points(Z)) * self._inverse(X)

    def gradient_log_params(self, X, Z):
        tX, tZ = self.child_points(X), self.child_points(Z)
        # log ℓ_k shrinks coordinate k of both points: −(x_k ∂/∂x_k + z_k ∂/∂z_k), and k is symmetric.
        in_x = self.kernel.gradient_x(tX, tZ) * tX[:, None, :]
        in_z = np.swapaxes(self.kernel.gradient_x(tZ, tX), 0, 1) * tZ[None, :, :]
        return {"lengths": -(in_x + in_z), **prefixed("kernel", self.kernel.gradient_log_params(tX, tZ))}

    def vjp_log_params(self, X, W):
        if not isinstance(self.kernel, Profiled):
            return Kernel.vjp_log_params(self, X, W)
        tX = self.child_points(X)
        slope = self.kernel.slope_statistic(tX, tX)
        inner = prefixed("kernel", self.kernel.vjp_log_params(tX, W))
        return {"lengths": -self.kernel.statistic.vjp_log_scales(tX, W * slope), **inner}

    def frequencies(self, rng, count, d):
        return self.kernel.frequencies(rng, count, d) / np.asarray(self.lengths, dtype=float)

    def density(self, W):
        lengths = np.asarray(self.lengths, dtype=float)
        if len(lengths) != W.shape[1]:
            raise ValueError(f"{len(lengths)} length scales for frequencies with {W.shape[1]} coordinates")
        return np.prod(lengths) * self.kernel.density(W * lengths)

    def expansion(self, d):
        inner = self.kernel.expansion(d)
        if inner is None:
            return None
        square = np.asarray(self.lengths, dtype=float) ** -2
        return {a: w * float(np.prod(square[list(a)])) for a, w in inner.items()}

    def expansion_size(self, d):
        return self.kernel.expansion_size(d)

    def strictly(self):
        return self.kernel.strictly()


class Mahalanobis(_Transformed):
    """k in the metric M: k(Lx, Lz) with L = M^½, so ‖x−z‖² becomes (x−z)ᵀM(x−z) and x·z becomes xᵀMz.

    Parameters
    ----------
    kernel : Kernel
    matrix : symmetric positive semidefinite matrix M

    >>> from mercer.kernels import Linear
    >>> Linear().metric([[2.0, 0.0], [0.0, 1.0]])([[1.0, 1.0]]).round(12)
    array([[3.]])
    """

    made = "a kernel in a Mahalanobis metric"
    sparse = False
    rounds = True

    def __init__(self, kernel, matrix):
        self.kernel = kernel
        self.matrix = matrix

    def validate(self):
        super().validate()
        self._root()

    def _root(self) -> np.ndarray:
        M = np.asarray(self.matrix, dtype=float)
        if M.ndim != 2 or M.shape[0] != M.shape[1]:
            raise ValueError(f"a metric is a square matrix, got shape {M.shape}")
        return _symmetric_root(M.tobytes(), len(M))

    def points(self, X):
        X = Kernel.points(self, X)
        if X.shape[1] != len(self.matrix):
            raise ValueError(f"a metric on {len(self.matrix)} features for points with {X.shape[1]}")
        return X

    def child_points(self, X):
        return self.kernel.points(X @ self._root().astype(X.dtype))

    def gradient_x(self, X, Z):
        inner = self.kernel.gradient_x(self.child_points(X), self.child_points(Z))
        return inner @ self._root().astype(inner.dtype)

    def frequencies(self, rng, count, d):
        return self.kernel.frequencies(rng, count, d) @ self._root()

    def density(self, W):
        root = self._root()
        if len(root) != W.shape[1]:
            raise ValueError(
                f"a metric on {len(root)} features for frequencies with {W.shape[1]} coordinates"
            )
        sign, size = np.linalg.slogdet(root)
        if not sign > 0:
            raise NotImplementedError("a singular metric puts the spectrum into a plane: it has no density")
        return np.exp(-size) * self.kernel.density(np.linalg.solve(root, W.T).T)


class PullBack(_Transformed):
    """k∘φ: k(φ(x), φ(z)), written ``k.pullback(phi)``.

    Parameters
    ----------
    kernel : Kernel
    map : function of a point set (n points in, n points out)
        It must treat every point by itself: kernel matrices are computed in tiles, so it is called on
        parts of the data, more than once. What it learns from data belongs in a pipeline step.

    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> Linear().pullback(np.square)([[3.0]], [[2.0]])
    array([[36.]])
    """

    made = "a kernel pulled back through a map"
    vectors = False
    maps_points = True

    def __init__(self, kernel, map):
        self.kernel = kernel
        self.map = map

    def validate(self):
        super().validate()
        if not callable(self.map):
            raise TypeError(f"PullBack: map must be a function of point sets, got {self.map!r}")

    def points(self, X):
        return as_objects(X)

    def bind(self, X):
        kernel, points = super().bind(X)
        kernel.require_maps(points)
        if points.shape[0] > 2:
            whole, part = kernel.child_points(points), kernel.child_points(points[:2])
            first = whole[:2]
            if getattr(first, "ndim", 1) == 2 and getattr(part, "ndim", 1) == 2:
                require_equal_widths(part.shape[1], first.shape[1])
            if isinstance(part, np.ndarray) and part.dtype.kind == "f" and not np.allclose(first, part):
                raise ValueError(
                    "the map of PullBack gives other values for two points alone than among all: it must "
                    "treat every point by itself (centre or scale in a pipeline step before)"
                )
        return kernel, points

    def require_maps(self, X):
        one, two = (self.child_points(X[:rows]) for rows in (1, 2))
        if X.shape[0] > 1 and getattr(one, "ndim", 1) == 2 and one.shape[1] != two.shape[1]:
            raise ValueError(
                f"the map of PullBack gives {one.shape[1]} columns for one point and {two.shape[1]} for "
                "two: it must treat every point by itself, and its width must not depend on how many there "
                "are (a kernel is no map; k(φ(x), φ(z)) needs φ)"
            )
        super().require_maps(X)

    def child_points(self, X):
        inner = self.kernel.points(self.map(X))
        if inner.shape[0] != X.shape[0]:
            raise ValueError(f"the map turned {X.shape[0]} points into {inner.shape[0]}")
        return inner


def _spreads(X, weights: np.ndarray | None) -> np.ndarray:
    """The (weighted) standard deviation of every column; 1 for a column that is constant up to rounding."""
    from sklearn.preprocessing import StandardScaler  # kernels are imported without it

    spread = np.sqrt(StandardScaler(with_mean=False).fit(X, sample_weight=weights).var_)
    largest = abs(X).max(axis=0)
    largest = largest.toarray().ravel() if issparse(largest) else largest
    return np.where(spread > 10 * np.finfo(X.dtype).eps * largest, spread, 1.0)


@lru_cache(maxsize=16)
def _symmetric_root(entries: bytes, size: int) -> np.ndarray:
    """M^½, remembered: every tile of a kernel matrix asks for it again."""
    M = np.frombuffer(entries).reshape(size, size)
    if not np.isfinite(M).all() or not np.allclose(M, M.T, rtol=1e-10, atol=1e-12 * np.abs(M).max()):
        raise ValueError("a metric is a finite symmetric matrix")
    values, vectors = np.linalg.eigh(M)
    if values[0] < -1e-10 * max(values[-1], 0) or values[-1] < 0:
        raise ValueError(
            f"a metric must be positive semidefinite; its smallest eigenvalue is {values[0]:.3g}"
        )
    # Of all roots the symmetric one: it is unique, and a diagonal metric keeps the coordinates apart.
    return (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
