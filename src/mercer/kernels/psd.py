"""Is it a kernel? Yes by rule, yes as far as sampling shows, or no with a witness."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, product
from typing import Any

import numpy as np

from mercer._xp import issparse
from mercer.kernels.base import Kernel
from mercer.kernels.finite import LARGEST_EIGENPROBLEM, Finite
from mercer.kernels.function import FunctionKernel
from mercer.kernels.witness import Verdict, eps_of, objection

# Of the point sets that come nearest to a witness so many are moved to see whether they get there.
# Those whose matrix is singular to rounding are not near one; every kernel has such.
_MOVED, _SINGULAR = 3, 1e-5
_DECIMALS = (0, 1, 2, 3)
_DIMENSIONS = (1, 2, 3, 5)
_SIZES = (1, 2, 3, 4, 6, 10, 20, 40)
_SCALES = (1.0, 0.1, 10.0)
# Of regular sets, by distance between neighbours: what is no kernel may show it in a small range of them.
_SPACINGS = np.geomspace(1 / 16, 8.0, 15)
# Steps of descent, how far a first step may move points, and how many times it is halved.
_STEPS, _FIRST, _HALVINGS = 12, 0.1, 4


def check(k: Any, X: Any = None, *, random_state: int = 0) -> Verdict:
    """Is k a kernel: symmetric and positive semidefinite?

    Parameters
    ----------
    k : Kernel, function of two points, or matrix
    X : points to test on, optional
        Needed for functions of things other than vectors. Without it, vectors are tried in several
        dimensions: random ones, regular sets (polygons, lattices, simplices, …) at many scales, and those
        that come nearest to a witness moved towards one.
    random_state : int
        Seed of the sampling.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> print(check(Gaussian(1.0) + 2 * Linear()).by)
    rule
    >>> verdict = check(lambda x, z: ((x - z) ** 2).sum())
    >>> print(verdict)
    Not a kernel: not positive semidefinite.
      x0 = [0]   c0 = +1
      x1 = [1]   c1 = -1
      Σ c_i c_j k(x_i, x_j) = -2 < 0
    >>> check([[1.0, 2.0], [2.0, 1.0]]).ok
    False

    On the line this one is a kernel, in the plane it is not:

    >>> tent = lambda x, z: max(0.0, 1 - np.linalg.norm(x - z))
    >>> check(tent, np.random.default_rng(0).standard_normal((30, 1))).ok, check(tent).ok
    (True, False)
    """
    if isinstance(k, Kernel):
        k.validate()
        if isinstance(k, Finite):
            return k.named(_check_matrix(k.values()))
        rule = k.rule()
        if rule is not None:
            return Verdict(True, "rule", rule)
        return _on_given(k, X, random_state) if X is not None else _on_sampled(k, random_state)
    if callable(k):
        return check(FunctionKernel(k), X, random_state=random_state)
    if issparse(k):
        k = k.toarray()
    try:
        matrix = np.asarray(k)
        matrix = matrix if matrix.dtype == np.float32 else matrix.astype(float)
    except (TypeError, ValueError):
        raise TypeError(
            f"check takes a Kernel, a function of two points or a matrix, got {type(k).__name__}"
        ) from None
    return _check_matrix(matrix)


def _check_matrix(K: np.ndarray) -> Verdict:
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"a kernel matrix must be square (points × points), got shape {K.shape}")
    against = objection(K, lambda i: [int(j) for j in i], 100 * len(K) * eps_of(K))
    if against is not None:
        return against
    return Verdict(True, "rule", "a symmetric matrix without negative eigenvalues")


def every_pair(kernel: Kernel, X: Any) -> np.ndarray:
    """All n² values: a FunctionKernel would mirror one half, and hide an asymmetry."""
    K, n = np.asarray(kernel.pairwise(X, X.copy())), X.shape[0]
    if K.shape != (n, n) or K.dtype.kind not in "fiub":
        raise ValueError(
            f"{kernel!r} gave an array of {K.dtype} with shape {K.shape} for {n} points and {n} others: "
            f"pairwise(X, Z) must give real numbers, one row for each of X and one column for each of Z"
        )
    return K


def pick(points: Any, index: np.ndarray) -> list:
    """Some of the points, as a list."""
    return [points[j] if points.ndim == 1 or not issparse(points) else points[[j]] for j in index]


def _on_given(kernel: Kernel, X: Any, random_state: int) -> Verdict:
    X = kernel.points(X)
    kernel = kernel.resolve(X)
    n, rng = X.shape[0], np.random.default_rng(random_state)
    if n == 0:
        raise ValueError("check needs at least one point")
    parts = [np.arange(n)]
    if n > LARGEST_EIGENPROBLEM:
        parts = [np.sort(rng.choice(n, LARGEST_EIGENPROBLEM, replace=False)) for _ in range(3)]
    for rows in parts:
        K = every_pair(kernel, X[rows])
        # A function's own rounding may be far above that of its value (arccos near 1), hence √eps.
        against = objection(K, partial(pick, X[rows]), np.sqrt(eps_of(K)))
        if against is not None:
            return in_rows(against, rows)
    most = len(parts[0])
    reason = f"symmetric and positive semidefinite on the points given, up to {most} points"
    return Verdict(True, "sampling", reason)


def in_rows(verdict: Verdict, rows: np.ndarray) -> Verdict:
    """The same verdict, its rows counted in the whole of which only these were looked at."""
    assert verdict.rows is not None
    return replace(verdict, rows=rows[verdict.rows])


def _on_sampled(kernel: Kernel, random_state: int) -> Verdict:
    look = _Look(kernel)
    rng = np.random.default_rng(random_state)
    against = look.at(chain(sampled(rng), spread(), look.moved()))
    if against is not None:
        return against
    if look.tried == 0 and look.undefined is not None:
        return look.undefined
    if look.tried == 0:
        error = look.failure
        raise ValueError(
            f"the function could not be evaluated on sampled vectors ({type(error).__name__}: {error}); "
            f"give points of its own kind: check(k, X)"
        ) from error
    reason = (
        f"symmetric and positive semidefinite on {look.tried} sampled point sets of real vectors (for your "
        f"own points: check(k, X)), up to {look.largest} points"
    )
    return Verdict(True, "sampling", reason)


class _Look:
    """A search for a witness over point sets."""

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self.tried = self.largest = 0
        self.failure: Exception | None = None
        self.undefined: Verdict | None = None
        # The point sets whose smallest eigenvalue is lowest, as a share of the largest.
        self._nearest: list[tuple[float, int, np.ndarray]] = []

    def _matrix(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            X = self.kernel.points(X)
            return np.asarray(self.kernel.resolve(X).pairwise(X, self.kernel.points(Z.copy())), dtype=float)

    def at(self, sets: Iterator[np.ndarray]) -> Verdict | None:
        """The first objection on these point sets."""
        failures = 0
        for points in sets:
            try:
                K = self._matrix(points, points)
            except Exception as error:  # a user's function may raise anything on points it was not made for
                self.failure, failures = error, failures + 1
                if self.tried == 0 and failures > 20:
                    return None
                continue
            against = objection(K, partial(pick, points), np.sqrt(eps_of(K)))
            if against is not None and not np.isfinite(K).all():
                # Too large for a float, or outside the function's domain: no evidence if others are fine.
                self.undefined = against
                continue
            if against is not None:
                return self._short(against)
            self.tried, self.largest = self.tried + 1, max(self.largest, len(K))
            self._remember(points, K)
        return None

    def _remember(self, points: np.ndarray, K: np.ndarray) -> None:
        values = np.linalg.eigvalsh(K)
        share = float(values[0] / (np.abs(values).max() or 1.0))
        if len(K) < 3 or share < _SINGULAR:
            return
        entry = (-share, self.tried, points)
        keep = heapq.heappush if len(self._nearest) < _MOVED else heapq.heappushpop
        keep(self._nearest, entry)

    def moved(self) -> Iterator[np.ndarray]:
        """The sets that came nearest to a witness, moved towards one."""
        for _, _, points in list(self._nearest):
            try:
                yield lowered(self._matrix, points)
            except Exception as error:  # where points moved outside its domain
                self.failure = error

    def _short(self, verdict: Verdict) -> Verdict:
        """The same objection with coordinates of few digits, where it still is one."""
        points = np.array(verdict.points)
        for decimals in _DECIMALS:
            rounded = np.round(points, decimals) + 0.0
            try:
                K = self._matrix(rounded, rounded)
            except Exception:  # a value outside its domain, perhaps
                continue
            against = objection(K, partial(pick, rounded), np.sqrt(eps_of(K)))
            if against is not None and against.reason.split(":")[0] == verdict.reason.split(":")[0]:
                return replace(against, rows=None)
        return replace(verdict, rows=None)


# -- where to look: point sets on which functions that are no kernels show it -------------------------------


def sampled(rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Small sets first, so that a witness, if there is one, is small."""
    for d in _DIMENSIONS:
        yield np.zeros((1, d))
        yield np.vstack([np.zeros(d), np.eye(d), -np.eye(d)])[:2]
    for size in _SIZES:
        for d in _DIMENSIONS:
            for scale in _SCALES:
                yield scale * rng.standard_normal((size, d))
    for d in _DIMENSIONS:
        yield np.vstack([np.zeros(d), np.eye(d), -np.eye(d)])
        yield np.abs(rng.standard_normal((20, d)))


def regular() -> Iterator[np.ndarray]:
    """Equispaced points, polygons, lattices, simplices, cross-polytopes and cubes, the neighbours at
    distance 1."""
    yield np.arange(12.0)[:, None]
    for corners in (3, 4, 5, 6, 8, 12):
        angle = 2 * np.pi * np.arange(corners) / corners
        ring = np.column_stack([np.cos(angle), np.sin(angle)]) / (2 * np.sin(np.pi / corners))
        yield np.vstack([ring, np.zeros(2)])
    i, j = (a.ravel() for a in np.meshgrid(np.arange(-3, 4), np.arange(-3, 4)))
    triangular = np.column_stack([i + j / 2, j * 3**0.5 / 2])
    yield triangular[(triangular**2).sum(axis=1) < 9.5]
    yield np.array(list(product(range(6), repeat=2)), dtype=float)
    yield np.array(list(product(range(3), repeat=3)), dtype=float)
    for d in (3, 5, 8):
        yield np.vstack([np.zeros(d), np.eye(d), -np.eye(d)])
        yield np.vstack([np.eye(d), np.full(d, (1 - (1 + d) ** 0.5) / d)]) / 2**0.5
    for d in (3, 5):
        yield np.array(list(product((0, 1), repeat=d)), dtype=float)


def spread() -> Iterator[np.ndarray]:
    """Regular sets at many distances between neighbours."""
    for points in regular():
        for spacing in _SPACINGS:
            yield spacing * points


def lowered(matrix: Callable[[np.ndarray, np.ndarray], np.ndarray], X: np.ndarray) -> np.ndarray:
    """Points moved so that the smallest eigenvalue of K falls, as a share of the largest.

    The eigenvalue λ of c has the slope 2 c_i Σ_j c_j ∂k(x_i,x_j)/∂x_i in x_i, taken by differences: one
    matrix for each coordinate.
    """
    share, c, K = _share(matrix, X)
    size = float(np.ptp(X, axis=0).max()) or 1.0
    step = _FIRST * size
    for _ in range(_STEPS):
        slope = _slope(matrix, X, K, c, 1e-5 * size)
        longest = float(np.abs(slope).max())
        if not np.isfinite(longest) or longest == 0:
            break
        for _ in range(_HALVINGS):
            moved = X - slope * (step / longest)
            after = _share(matrix, moved)
            if after[0] < share:
                X, (share, c, K), step = moved, after, 1.5 * step
                break
            step /= 2
        else:
            break
    return X


def _share(matrix: Callable, X: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    K = matrix(X, X)
    if not np.isfinite(K).all():
        return np.inf, np.zeros(len(X)), K
    values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    return float(values[0] / (np.abs(values).max() or 1.0)), vectors[:, 0], K


def _slope(matrix: Callable, X: np.ndarray, K: np.ndarray, c: np.ndarray, h: float) -> np.ndarray:
    slope = np.zeros_like(X)
    for a in range(X.shape[1]):
        moved = X.copy()
        moved[:, a] += h
        change = matrix(moved, X) - K
        slope[:, a] = 2 * c * (change @ c) / h
    return slope
