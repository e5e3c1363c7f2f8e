"""Distances that come from no kernel, for machines that only ask who is near.

Every kernel induces a distance, and few distances are induced by a kernel. A search needs no kernel: it
compares gaps ½k(z,z) − k(x,z), and of the function −d these are d itself. So a `Distance` stands where a
kernel does, gives −d, and says that it is none; no machine but those of neighbours makes one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._params import is_number, require_positive
from mercer._xp import frozen, issparse
from mercer.kernels.base import Kernel
from mercer.kernels.finite import Finite, Precomputed, square_symmetric
from mercer.kernels.function import FunctionKernel
from mercer.kernels.order import Order
from mercer.kernels.points import as_objects, as_vectors, double
from mercer.kernels.profiled import Profiled
from mercer.kernels.statistics import DotProduct, L1Distance, SquaredDistance, squared_norms

# Of truth values: any number but 0 is true.
_OF_TRUTH = ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")
# 0/0 of two vectors of zeros, which are equal.
_OF_NOTHING = ("braycurtis", "dice", "jaccard", "jensenshannon", "sokalsneath")
# What a plain distance makes of ‖x−z‖² or ‖x−z‖₁, with that norm and the power of d that it is.
_PLAIN = {
    "euclidean": ("l2", 2),
    "l2": ("l2", 2),
    "sqeuclidean": ("l2", 1),
    "manhattan": ("l1", 1),
    "l1": ("l1", 1),
    "cityblock": ("l1", 1),
}
_OF_SCIPY = (
    *("braycurtis", "canberra", "chebyshev", "correlation", "hamming", "jensenshannon", "mahalanobis"),
    *("minkowski", "seuclidean"),
    *_OF_TRUTH,
)
NAMES = tuple(sorted([*_PLAIN, *_OF_SCIPY, "cosine", "haversine", "precomputed"]))
# Cosines of equal directions differ from 1 by as much.
_ROUNDING = 16 * float(np.finfo(np.float64).eps)
# What a metric may be told besides.
_WORDS = {"minkowski": ("p", "w"), "seuclidean": ("V",), "mahalanobis": ("VI",), "hamming": ("w",)}


class Distance(Kernel):
    """−d(x, z) of a distance d, where a kernel is expected; a subclass gives `distances`."""

    # Where the distance is that of a plain norm: which power of it ‖x−z‖² or ‖x−z‖₁ is. 0: it is none.
    power = 0

    def distances(self, X: Any, Z: Any) -> np.ndarray:
        """d(x_i, z_j) in float64, of checked points."""
        raise NotImplementedError

    def pairwise(self, X, Z):
        D = self.distances(X, Z)
        if not (D >= 0).all():  # NaN, too
            raise ValueError(f"{self!r} is no distance: it gives negative numbers or NaN on these points")
        return -D

    def diagonal(self, X):
        return np.zeros(X.shape[0])

    def rule(self):
        return None


class Nearness(Profiled):
    """−s of s = ‖x−z‖², or of s = ‖x−z‖₁: a "kernel" whose gap is s."""

    _statistics = {"l2": SquaredDistance(), "l1": L1Distance()}

    def __init__(self, norm="l2"):
        self.norm = norm

    @property
    def statistic(self):  # type: ignore[override]
        return self._statistics[self.norm]

    def profile(self, s, xp):
        return s * -1.0


class NamedDistance(Distance):
    """−d of a distance that has a name, on vectors.

    Parameters
    ----------
    name : str, one of `NAMES` but "precomputed"
    p, w, V, VI : what SciPy's distance of that name takes; V and VI are found from the data if not given

    Examples
    --------
    >>> NamedDistance("chebyshev")([[0.0, 0.0]], [[3.0, 4.0]])
    array([[-4.]])
    """

    def __init__(self, name, p=None, w=None, V=None, VI=None):
        self.name = name
        self.p = p
        self.w = w
        self.V = V
        self.VI = VI

    @property
    def _plain(self) -> str:
        """The name, where powers 1 and 2 of Minkowski are known by another."""
        if self.name == "minkowski" and self.w is None:
            return {None: "euclidean", 1: "manhattan", 2: "euclidean"}.get(self.p, self.name)
        return self.name

    @property
    def sparse(self) -> bool:  # type: ignore[override]
        return self._plain == "cosine" or _PLAIN.get(self._plain, ("", 0))[0] == "l2"

    @property
    def power(self) -> int:  # type: ignore[override]
        return _PLAIN.get(self._plain, ("", 0))[1]

    def induced_order(self, view):
        # The squared distance a kernel induces is 2d here, which grows with d.
        return Order(_PLAIN[self._plain][0], view, False) if self.power else None

    def validate(self):
        if self.name not in NAMES or self.name == "precomputed":
            raise ValueError(f"metric must be one of {', '.join(map(repr, NAMES))}; got {self.name!r}")
        takes = _WORDS.get(self.name, ())
        for word in ("p", "w", "V", "VI"):
            if getattr(self, word) is not None and word not in takes:
                told = f"takes {' and '.join(map(repr, takes))}" if takes else "takes no parameters"
                raise ValueError(f"metric_params: {self.name!r} {told}, got {word!r}")
        if self.p is not None and not (is_number(self.p) and self.p == np.inf):
            require_positive(self.p, "metric_params: p")
        for word in ("w", "V"):
            given = getattr(self, word)
            if given is not None and not (np.ndim(given) == 1 and (np.asarray(given) >= 0).all()):
                raise ValueError(f"metric_params: {word} must hold a number of at least 0 for each feature")

    def points(self, X):
        X = as_vectors(X, sparse=self.sparse, what=f"metric={self.name!r}")
        if self.name == "haversine" and X.shape[1] != 2:
            raise ValueError(
                f"metric='haversine' takes latitude and longitude in radians, 2 features; got {X.shape[1]}"
            )
        return X

    def resolve(self, X, weights=None):
        self.validate()
        found: dict[str, Any] = {}
        if self.name == "seuclidean" and self.V is None:
            found["V"] = np.var(double(self.points(X)), axis=0, ddof=1 if X.shape[0] > 1 else 0)
            # A constant column sets no points apart, whatever it is divided by.
            found["V"] = np.where(found["V"] > 0, found["V"], 1.0)
        if self.name == "mahalanobis" and self.VI is None:
            covariance = np.atleast_2d(np.cov(double(self.points(X)), rowvar=False))
            if not np.isfinite(covariance).all():
                raise ValueError("metric='mahalanobis' needs VI, or two points to find it from")
            found["VI"] = np.linalg.pinv(covariance, rcond=1e-10, hermitian=True)
        for word in ("w", "V", "VI"):
            width = np.shape(found.get(word, getattr(self, word)))[:1]
            if width not in ((), (X.shape[1],)):
                raise ValueError(f"metric_params: {word} is for {width[0]} features, X has {X.shape[1]}")
        return self.replace(**found) if found else self

    def of_norm(self, s: np.ndarray) -> np.ndarray:
        """The distance from what it is a root of, ‖x−z‖² or ‖x−z‖₁."""
        return np.sqrt(s) if self.power == 2 else s

    def distances(self, X, Z):
        X, Z = double(X), double(Z)
        if self.name == "cosine":
            # Of a vector 0 no direction is known: it is at right angles to all.
            inner = DotProduct().pairwise(_directions(X), _directions(Z))
            D = np.clip(1 - inner, 0, 2)
            D[D <= _ROUNDING] = 0  # the same direction
            return D
        if self.name == "haversine":
            return _haversine(X, Z)
        if issparse(X):
            return self.of_norm(np.maximum(SquaredDistance().pairwise(X, Z), 0))
        return self._by_scipy(X, Z)

    def _by_scipy(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        from scipy.spatial.distance import cdist

        name = {"manhattan": "cityblock", "l1": "cityblock", "l2": "euclidean"}.get(self.name, self.name)
        if name in _OF_TRUTH:
            X, Z = X != 0, Z != 0
        told = {w: getattr(self, w) for w in _WORDS.get(name, ()) if getattr(self, w) is not None}
        with np.errstate(invalid="ignore"):
            D = cdist(X, Z, name, **told)
        if name in _OF_NOTHING:
            empty = np.logical_and.outer(~X.any(axis=1), ~Z.any(axis=1))
            D[empty] = 0
        return D


class FunctionDistance(Distance):
    """−d of a function d(x, z) of two points, which may be anything.

    Examples
    --------
    >>> FunctionDistance(lambda a, b: abs(len(a) - len(b)))(["one", "three"])
    array([[-0., -2.],
           [-2., -0.]])
    """

    vectors = False

    def __init__(self, function):
        self.function = function

    def points(self, X):
        return FunctionKernel(self.function).points(X)

    def distances(self, X, Z):
        return FunctionKernel(self.function).pairwise(as_objects(X), as_objects(Z))


class DistanceMatrix(Distance, Finite):
    """−d between points 0, 1, …, of which the matrix is given; a new point is its row of distances to them.

    Examples
    --------
    >>> DistanceMatrix([[0.0, 2.0], [2.0, 0.0]])([0], [1])
    array([[-2.]])
    """

    def validate(self):
        require_distances(self.matrix)

    def distances(self, X, Z):
        return np.asarray(Finite.pairwise(self, X, Z), np.float64)


class PrecomputedDistances(Precomputed):
    """X is the matrix of distances itself: between all points at fit, from new ones to them later."""

    def bind(self, X):
        D = frozen(require_distances(X))
        return DistanceMatrix(D), np.arange(len(D))


def require_distances(matrix: Any) -> np.ndarray:
    """A matrix of distances between all points, or a ValueError that says what is wrong with it."""
    if issparse(matrix):
        raise TypeError(
            "metric='precomputed' takes all distances: in a sparse matrix those left out would be 0; use a "
            "dense one with large numbers there"
        )
    D = square_symmetric(matrix, "a matrix of distances at fit")
    if (D < 0).any():
        i, j = np.unravel_index(np.argmin(D), D.shape)
        raise ValueError(f"distances are at least 0, and entry ({i}, {j}) of the matrix is {D[i, j]:.6g}")
    return D


def distance_of(metric: Any, parameters: Any) -> Kernel:
    """A Distance of a name, a function of two points, or "precomputed"."""
    told = {} if parameters is None else parameters
    if not isinstance(told, dict) or not set(told) <= {"p", "w", "V", "VI"}:
        raise ValueError(f"metric_params must be None or a dict with some of p, w, V, VI; got {parameters!r}")
    if isinstance(metric, str) and metric != "precomputed":
        return NamedDistance(metric, **told)
    if told:
        raise ValueError("metric_params are for metrics by name")
    if isinstance(metric, str):
        return PrecomputedDistances()
    if callable(metric) and not isinstance(metric, (Kernel, type)):
        return FunctionDistance(metric)
    raise ValueError(
        f"metric must be None, one of {', '.join(map(repr, NAMES))}, or a function of two points; got "
        f"{metric!r}" + ("; give kernels as kernel=" if isinstance(metric, Kernel) else "")
    )


def _directions(X: Any) -> Any:
    """Rows of length 1; those of length 0 stay."""
    norms = np.sqrt(squared_norms(X))
    scale = np.divide(1, norms, out=np.zeros(len(norms)), where=norms > 0)
    if issparse(X):
        from scipy.sparse import diags_array

        return (diags_array(scale) @ X).tocsr()
    return X * scale[:, None]


def _haversine(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """The angle between places on a sphere, given as latitude and longitude in radians."""
    half = (X[:, None, :] - Z) / 2
    h = np.sin(half[..., 0]) ** 2 + np.cos(X[:, :1]) * np.cos(Z[:, 0]) * np.sin(half[..., 1]) ** 2
    return 2 * np.arcsin(np.sqrt(np.clip(h, 0, 1)))
