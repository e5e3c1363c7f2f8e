"""Where clusters are formed: from a representation to sums of clusters, and back to means as functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._xp import take
from mercer.engines import Engine
from mercer.estimators.plan import Plan, parts_of
from mercer.estimators.unlabelled import Survey
from mercer.functions import FeatureFunction, Function, KernelFunction
from mercer.kernels import Finite
from mercer.kernels.base import Kernel
from mercer.kernels.points import double
from mercer.operators import (
    Elsewhere,
    FacingFeatures,
    FacingShifted,
    KernelOperator,
    Matrix,
    Operator,
    in_memory,
)
from mercer.representations import Features, Nystrom, Representation
from mercer.solvers.cluster_sums import CoordinateSums, KernelSums, Sums, about_mean, in_span
from mercer.solvers.coordinates import whitening
from mercer.solvers.journal import Journal, numbers_of, probes
from mercer.solvers.lloyd import LloydRun
from mercer.solvers.passes.clusters import Clusters, LloydPasses, PassedRun

# Up to here K is kept (in float32: 1 GB); beyond, memory is slower than computing it again.
_STORED = 16_384
# From here on float64 points are clustered in float32 first, and float64 only has the last word.
_ROUGH_FROM = 2_048

INITS = ("k-means++", "greedy", "random")
Lift = Callable[[np.ndarray, np.ndarray], tuple[Function, np.ndarray]]


@dataclass(frozen=True, eq=False)
class Span:
    """Coordinates of points wherever they live.

    `facing` makes A of points, T its rows orthonormal, and `lift` means of the sums of its rows (p, k) and
    1/mass of each cluster, as `ClusterSpace.lift` does.
    """

    facing: Callable[[np.ndarray], Operator]
    T: np.ndarray | None
    lift: Lift


@dataclass(frozen=True, eq=False)
class ClusterSpace:
    """What k-means works with."""

    stages: list[Sums]  # the last are those asked for, one before them is a quicker way to get near
    how: str  # in words
    lift: Lift  # (members, 1/mass of each cluster) → the means, and for features a point amid the data
    span: Span | None = None  # None where there are no coordinates


def given_start(init: Any, kernel: Kernel, points: Any, clusters: int, engine: Engine) -> np.ndarray:
    """Labels to begin with, from an array of labels, of indices or of points."""
    k, n, given = clusters, points.shape[0], np.asarray(init)
    whole = given.ndim == 1 and given.dtype.kind in "iu"
    if whole and len(given) == n:
        if given.min() < 0 or given.max() >= k:
            raise ValueError(f"init: labels must lie in 0 … {k - 1}, got {given.min()} … {given.max()}")
        return given.astype(np.intp)
    if whole and len(given) == k:
        if given.min() < 0 or given.max() >= n or len(np.unique(given)) < k:
            raise ValueError(f"init: indices must be different ones of 0 … {n - 1}, got {given.tolist()}")
        Z = points[given]
    elif kernel.vectors and given.shape == (k, *points.shape[1:]):
        Z = kernel.points(given).astype(points.dtype)
    else:
        raise ValueError(
            f"init must be one of {', '.join(map(repr, INITS))}, or an array of {k} indices, {n} labels or "
            f"(for kernels on vectors) of {k} points; got "
            + (f"an array of shape {given.shape}" if given.ndim else repr(init))
        )
    # Far from 0 the differences would be lost in float32.
    Z = double(Z)
    norms, labels = kernel.diagonal(Z), np.empty(n, dtype=np.intp)
    K = engine.operator(kernel, Z)
    for rows in parts_of(n, k):
        labels[rows] = (norms - 2 * K.facing(double(points[rows])).dense()).argmin(axis=1)
    return labels


@dataclass(frozen=True, eq=False)
class ClusterPoints:
    """What is to be clustered: checked points x_i of a resolved kernel, w_i and k(x_i,x_i)."""

    kernel: Kernel
    points: Any
    weights: np.ndarray
    squares: np.ndarray
    clusters: int

    def __len__(self) -> int:
        return len(self.weights)


def place(
    representation: Representation,
    X: ClusterPoints,
    rng: np.random.Generator,
    engine: Engine,
    *,
    about_zero: bool,
    n: int | None = None,
) -> ClusterSpace:
    """The space of a representation; `about_zero`: inner products matter, and not only distances.

    `n` is the number of all points where X is a sample of them.
    """
    engine = engine.expecting(len(X) ** 2)
    if isinstance(representation, Features):
        return _features(representation, X, rng, about_zero)
    if isinstance(representation, Nystrom):
        return _centres(representation, X, rng, engine, n)
    return _full(X, engine)


def _full(X: ClusterPoints, engine: Engine) -> ClusterSpace:
    kernel: Any = X.kernel
    n, whole = len(X), engine.operator(kernel, X.points)
    given = isinstance(kernel, Finite) and np.array_equal(X.points, np.arange(len(kernel)))
    rough = None if given or n < _ROUGH_FROM else _in_float32(whole)
    stages: list[Operator] = [Matrix(kernel.values()) if given else whole]
    if rough is not None:
        stages.insert(0, rough)
    if not engine.remote and n <= _STORED:
        stages[0] = in_memory(stages[0])
    how = "K computed as needed"
    if isinstance(stages[0], Matrix):
        how = "the given matrix" if given else "K in memory"

    def lift(members: np.ndarray, share: np.ndarray) -> tuple[Function, np.ndarray]:
        used = np.flatnonzero(X.weights)
        mine = members[used]
        coef = np.zeros((len(used), X.clusters))
        coef[np.arange(len(used)), mine] = X.weights[used] * share[mine]
        f = KernelFunction(kernel, X.points if len(used) == n else take(X.points, used), coef, engine)
        # Each point counts in the mean of its own cluster only.
        return (f if engine.remote or X.clusters == 1 else f.in_groups(mine)), np.zeros(0)

    sums: list[Sums] = [KernelSums(K, X.weights, X.squares, X.clusters) for K in stages]
    return ClusterSpace(sums, how + (", in float32 first" if rough is not None else ""), lift)


def _in_float32(K: KernelOperator) -> KernelOperator | None:
    """The same operator in float32; None where it is that already, or its values are too large."""
    if K.dtype != np.float64 or not K.kernel.vectors:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        rough = K.at(np.float32)
        assert rough is not None
        return rough if np.isfinite(K.kernel.diagonal(rough.X)).all() else None


def _centres(
    representation: Nystrom, X: ClusterPoints, rng: np.random.Generator, engine: Engine, n: int | None
) -> ClusterSpace:
    seen = None if X.weights.all() else np.flatnonzero(X.weights)
    built = representation.build(X.kernel, X.points, rng, engine, seen, **({} if n is None else {"n": n}))
    K: Any = built.A  # its points may have become float64
    T = whitening(np.asarray(built.B.dense(), np.float64), K.dtype)
    A = K if engine.remote else in_memory(K)

    sums = CoordinateSums(A, X.weights, X.squares, X.clusters, T, K.against(K).columns)

    def lift(G: np.ndarray, share: np.ndarray) -> tuple[Function, np.ndarray]:
        return built.lift(in_span(G, T)[1] * share), np.zeros(0)

    how = f"K with {K.shape[1]:,} centres " + ("in memory" if A is not K else "computed as needed")
    span = None if built.facing is None else Span(built.facing, T, lift)
    return ClusterSpace([sums], how, _of_members(sums, lift), span)


def from_sample(
    survey: Survey,
    space: ClusterSpace,
    sample: LloydRun,
    max_iter: int,
    tol: float,
    engine: Engine,
    normalised: bool,
    journal: Journal,
    refill: bool = True,
) -> tuple[PassedRun, tuple[Function, np.ndarray], Plan]:
    """Lloyd's algorithm over all examples, which live elsewhere, from the means of a sample's clusters.

    Returns what it came to, the means, as `ClusterSpace.lift` does, and what was done in words.
    """
    span, sums = space.span, space.stages[-1]
    survey.require(span)
    assert span is not None and isinstance(sums, CoordinateSums)
    A = Elsewhere(survey.rows, span.facing, sums.A.shape[1], sums.A.dtype)
    sums.restart(sample.members)
    totals = sample.totals
    if normalised:  # degrees grow with the number of points, and so do means of φ/d shrink
        totals = totals * (survey.weight / sums.weights.sum())
    start = Clusters(sums.G, totals, totals > 0, span.T)
    rows = probes(len(survey.sample))
    seen = numbers_of(sums.A.among(rows) @ np.ones((A.shape[1], 1)), sums.weights[rows])
    run = LloydPasses(A, normalised, journal, seen, refill).run(start, max_iter, tol)
    p, k, some = A.shape[1], sums.clusters, len(survey.sample)
    how = f"from {space.how}, of a sample of {some:,}: {run.passes} passes over all rows, after a first look"
    flops = float(run.passes) * survey.n * p * (4 * k + 2 * survey.rows.shape[1])
    stored = (some * A.dtype.itemsize + 8 * (3 * p + 6 * k)) * p
    plan = survey.plan(engine, flops, stored, survey.why, how)
    return run, span.lift(run.clusters.G, run.clusters.share), plan


def without_empty(means: Function, filled: np.ndarray) -> Function:
    """Means of those clusters only that have points."""
    f = means.output(filled)
    if not isinstance(f, KernelFunction) or f.engine.remote or (np.count_nonzero(f.coef, axis=1) > 1).any():
        return f
    # Each point counts in the mean of its own cluster only.
    return f if f.coef.shape[1] == 1 else f.in_groups(f.coef.argmax(axis=1))


def _of_members(sums: CoordinateSums, lift: Lift) -> Lift:
    """From members to means, by way of sums."""

    def means(members: np.ndarray, share: np.ndarray) -> tuple[Function, np.ndarray]:
        sums.restart(members)
        return lift(sums.G, share)

    return means


def _features(
    representation: Features, X: ClusterPoints, rng: np.random.Generator, about_zero: bool
) -> ClusterSpace:
    map, Phi = representation.mapped(X.kernel, X.points, rng)
    A, shift = (Phi, np.zeros(Phi.shape[1])) if about_zero else about_mean(Phi)
    sums = CoordinateSums(A, X.weights, A.row_squares(), X.clusters)

    def lift(G: np.ndarray, share: np.ndarray) -> tuple[Function, np.ndarray]:
        return FeatureFunction(map, np.where(share > 0, G * share + shift[:, None], 0)), shift

    stored = "in memory" if isinstance(Phi, Matrix) else "computed as needed"
    facing: Any = FacingFeatures(map, Phi.shape[1], Phi.dtype)
    span = Span(FacingShifted(facing, shift) if shift.any() else facing, None, lift)
    how = f"{Phi.shape[1]:,} coordinates {stored}"
    return ClusterSpace([sums], how, _of_members(sums, lift), span)
