"""Is it a kernel? Yes by rule, yes as far as sampling shows, or no with a witness."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from mercer._xp import issparse
from mercer.kernels.base import Kernel
from mercer.kernels.finite import Finite
from mercer.kernels.function import FunctionKernel

_DIMENSIONS = (1, 2, 3, 5)
_SIZES = (1, 2, 3, 4, 6, 10, 20, 40)
_SCALES = (1.0, 0.1, 10.0)
_LARGEST_EIGENPROBLEM = 1500
_SMALL_WITNESS = 64


@dataclass(frozen=True, eq=False)
class Verdict:
    """The answer of `check`; true if no objection was found.

    Attributes
    ----------
    ok : bool
    by : "rule", "sampling" or "witness"
    reason : str
    points : the points of the witness (None unless by == "witness")
    c : coefficients with Σ c_i c_j k(x_i, x_j) < 0 (None where the objection is another one)
    value : that sum
    """

    ok: bool
    by: Literal["rule", "sampling", "witness"]
    reason: str
    points: Any = None
    c: np.ndarray | None = None
    value: float | None = None

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        if self.by == "rule":
            return f"A kernel, by rule: {self.reason}."
        if self.by == "sampling":
            return f"No objection found ({self.reason}). This is evidence, not a proof."
        lines = [f"Not a kernel: {self.reason}."]
        if self.points is not None:
            shown = [
                str(np.asarray(p).tolist()) if isinstance(p, np.ndarray) else repr(p) for p in self.points
            ]
            for i, p in enumerate(shown):
                lines.append(f"  x{i} = {p}" + ("" if self.c is None else f"   c{i} = {self.c[i]:+.6g}"))
        if self.value is not None:
            lines.append(f"  Σ c_i c_j k(x_i, x_j) = {self.value:.6g} < 0")
        return "\n".join(lines)


def check(k: Any, X: Any = None, *, random_state: int = 0) -> Verdict:
    """Is k a kernel: symmetric and positive semidefinite?

    Parameters
    ----------
    k : Kernel, function of two points, or matrix
    X : points to test on, optional
        Needed for functions of things other than vectors. Without it, vectors are sampled in
        several dimensions and sizes.
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
      x0 = [0.0]   c0 = -0.707107
      x1 = [1.0]   c1 = +0.707107
      Σ c_i c_j k(x_i, x_j) = -1 < 0
    >>> check([[1.0, 2.0], [2.0, 1.0]]).ok
    False
    """
    if isinstance(k, Kernel):
        k.validate()
        if isinstance(k, Finite):
            return _check_matrix(k._values())
        rule = k.rule()
        if rule is not None:
            return Verdict(True, "rule", rule)
        return _check_by_sampling(k, X, random_state)
    if callable(k):
        return _check_by_sampling(FunctionKernel(k), X, random_state)
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
    objection = _objection(K, lambda i: [int(j) for j in i], 100 * len(K) * _eps(K))
    if objection is not None:
        return objection
    return Verdict(True, "rule", "a symmetric matrix without negative eigenvalues")


def _check_by_sampling(kernel: Kernel, X: Any, random_state: int) -> Verdict:
    rng = np.random.default_rng(random_state)
    tried, largest, failure, undefined = 0, 0, None, None
    for points in _given(kernel, X, rng) if X is not None else _sampled(rng):
        try:
            bound = kernel.points(points)
            with np.errstate(all="ignore" if X is None else None):
                K = _raw_matrix(kernel.resolve(bound), bound)
        except Exception as error:  # a user's function may raise anything on points it was not made for
            if X is not None:
                raise
            failure = error
            continue
        # A function's own rounding may be far above that of its value (arccos near 1), hence √eps.
        objection = _objection(K, partial(_pick, bound), np.sqrt(_eps(K)))
        if objection is not None and X is None and not np.isfinite(K).all():
            # Too large for a float, or sampled outside the function's domain: no evidence if others are fine.
            undefined = objection
            continue
        if objection is not None:
            return objection
        tried, largest = tried + 1, max(largest, K.shape[0])
    if tried == 0 and undefined is not None:
        return undefined
    if tried == 0:
        raise ValueError(
            f"the function could not be evaluated on sampled vectors ({type(failure).__name__}: {failure}); "
            f"give points of its own kind: check(k, X)"
        ) from failure
    what = (
        "the points given"
        if X is not None
        else f"{tried} sampled point sets of real vectors (for your own points: check(k, X))"
    )
    return Verdict(True, "sampling", f"symmetric and positive semidefinite on {what}, up to {largest} points")


def _pick(points: Any, index: np.ndarray) -> list:
    return [points[j] for j in index]


def _raw_matrix(kernel: Kernel, X: Any) -> np.ndarray:
    """All n² values: a FunctionKernel would mirror one half, and hide an asymmetry."""
    return np.asarray(kernel.pairwise(X, X.copy()))


def _eps(K: np.ndarray) -> float:
    return float(np.finfo(np.float32 if K.dtype == np.float32 else np.float64).eps)


def _given(kernel: Kernel, X: Any, rng: np.random.Generator) -> Iterator[Any]:
    X = kernel.points(X)
    n = X.shape[0]
    if n == 0:
        raise ValueError("check needs at least one point")
    if n <= _LARGEST_EIGENPROBLEM:
        yield X
    else:
        for _ in range(3):
            yield X[np.sort(rng.choice(n, _LARGEST_EIGENPROBLEM, replace=False))]


def _sampled(rng: np.random.Generator) -> Iterator[np.ndarray]:
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


def _objection(K: np.ndarray, points_at: Callable[[np.ndarray], list], noise: float) -> Verdict | None:
    """What speaks against this Gram matrix, with its witness; `noise` is rounding, relative to ‖K‖."""
    if not np.isfinite(K).all():
        i, j = np.argwhere(~np.isfinite(K))[0]
        return Verdict(False, "witness", f"k(x0, x1) is {K[i, j]}", points_at(np.array([i, j])))
    size = np.abs(K).max() if K.size else 0.0
    gap = np.abs(K - K.T)
    if gap.size and gap.max() > np.sqrt(_eps(K)) * size:
        i, j = np.unravel_index(np.argmax(gap), K.shape)
        reason = f"not symmetric: k(x0, x1) = {K[i, j]:.6g} but k(x1, x0) = {K[j, i]:.6g}"
        return Verdict(False, "witness", reason, points_at(np.array([i, j])))
    found = _negative_direction(0.5 * (K + K.T).astype(float), noise)
    if found is None:
        return None
    index, c, value = found
    return Verdict(False, "witness", "not positive semidefinite", points_at(index), c, value)


def _negative_direction(K: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray, float] | None:
    """Indices and c with cᵀKc < 0 beyond rounding, on as few points as greedy dropping finds."""
    index = np.arange(len(K))
    found = _lowest(K, noise) if len(K) else None
    if found is None:
        return None
    # The largest coefficients usually say it all; a few eigenproblems of growing size find out.
    ranked, size = np.argsort(-np.abs(found[0])), 2
    while size < len(index):
        few = np.sort(ranked[:size])
        smaller = _lowest(K[np.ix_(few, few)], noise)
        if smaller is not None:
            index, found = few, smaller
            break
        size *= 2
    while 1 < len(index) <= _SMALL_WITNESS:
        order = np.argsort(np.abs(found[0]))
        for drop in order[:5]:
            keep = np.delete(np.arange(len(index)), drop)
            smaller = _lowest(K[np.ix_(index[keep], index[keep])], noise)
            if smaller is not None:
                index, found = index[keep], smaller
                break
        else:
            break
    c, value = found
    return index, c, value


def _lowest(K: np.ndarray, noise: float) -> tuple[np.ndarray, float] | None:
    values, vectors = np.linalg.eigh(K)
    c = vectors[:, 0]
    value = float(c @ K @ c)
    floor = -noise * np.abs(values).max()
    return (c, value) if values[0] < floor and value < floor else None
