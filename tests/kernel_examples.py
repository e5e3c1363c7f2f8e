"""Kernels of every class the library exports, for all tests that must hold for each of them.

A new kernel class is found here without being named, and `test_laws.py` fails until it has an example below.
"""

import inspect
import math
from functools import cache

import numpy as np

import mercer.kernels
from mercer.kernels import (
    AdditiveChiSquared,
    ArcCosine,
    BagOfWords,
    ChiSquared,
    Constant,
    Cosine,
    Dot,
    EdgeHistogram,
    EditDistance,
    Exp,
    Finite,
    Forest,
    FunctionKernel,
    Gaussian,
    HistogramIntersection,
    Kernel,
    Laplacian,
    LengthScales,
    Linear,
    LocalAlignment,
    Mahalanobis,
    Matern,
    MeanEmbedding,
    Mismatch,
    NamedColumns,
    Normalized,
    OnColumns,
    Overlap,
    Periodic,
    Polynomial,
    Power,
    Precomputed,
    Product,
    Profiled,
    PullBack,
    Radial,
    RandomWalk,
    RationalQuadratic,
    Scale,
    ShortestPath,
    Sigmoid,
    SkewedChiSquared,
    Spectrum,
    Subsequence,
    Substitution,
    Sum,
    VertexHistogram,
    WeightedDegree,
    WeisfeilerLehman,
    White,
)

CLASSES = sorted(
    (c for c in vars(mercer.kernels).values() if inspect.isclass(c) and issubclass(c, Kernel)),
    key=lambda c: c.__name__,
)
TO_BE_SUBCLASSED = {Kernel, Profiled, Dot, Radial}


def metric(d):
    A = np.random.default_rng(d).standard_normal((d, d))
    return A @ A.T + 0.1 * np.eye(d)


def lengths(d):
    return np.linspace(0.5, 2.0, d)


@cache
def forest(d):
    X = np.random.default_rng(d).standard_normal((40, d))
    return Forest.grow(X, np.sin(3 * X[:, 0]) + X[:, -1], trees=7, min_leaf=2)


def with_one_more(X):
    """A map into one more dimension."""
    return np.hstack([np.tanh(X), X[:, :1] * X[:, -1:]])


# Kernels of a class for points in d dimensions. Where a parameter is None the points decide it.
EXAMPLES = {
    AdditiveChiSquared: lambda d: [AdditiveChiSquared()],
    ArcCosine: lambda d: [ArcCosine(0), ArcCosine(1), ArcCosine(2)],
    BagOfWords: lambda d: [],  # on strings: see kernels/strings/test_words.py
    ChiSquared: lambda d: [ChiSquared(0.7)],
    OnColumns: lambda d: [
        Gaussian(1.0).on([d - 1]),
        Polynomial(2, 1.0).on([0, -1, 0]),
        Linear().on(slice(0, 1)),
        Linear().metric(metric(d)).on(range(d)[::-1]),
    ],
    Constant: lambda d: [Constant(2.0), Constant(0.0)],
    Cosine: lambda d: [Cosine()],
    EdgeHistogram: lambda d: [],  # on graphs: see kernels/graphs
    EditDistance: lambda d: [],  # on strings: see kernels/strings/test_edit.py
    Exp: lambda d: [Gaussian(1.5).exp(), (0.1 * Linear()).exp()],
    Finite: lambda d: [Finite(metric(d)), Finite(np.ones((d, d)))],  # from 1 on: kernels/test_finite.py
    Forest: lambda d: [forest(d)],
    FunctionKernel: lambda d: [
        FunctionKernel(np.dot),
        FunctionKernel(lambda x, z: math.exp(-abs(x - z).sum())),
    ],
    Gaussian: lambda d: [Gaussian(1.3), Gaussian(), Gaussian(np.float64(0.4))],
    HistogramIntersection: lambda d: [HistogramIntersection()],
    Laplacian: lambda d: [Laplacian(0.9), Laplacian(1.1, "l1"), Laplacian(norm="l1")],
    LengthScales: lambda d: [
        Matern(2.5, 1.0).scaled(lengths(d)),
        ChiSquared(1.0).scaled(lengths(d)),
        Gaussian().scaled(),
    ],
    Linear: lambda d: [Linear()],
    LocalAlignment: lambda d: [],  # on strings: see kernels/strings/test_alignment.py
    Mahalanobis: lambda d: [
        Gaussian(1.0).metric(metric(d)),
        Matern(1.5, 1.0).metric(metric(d)),
        Polynomial(2, 1.0).metric(metric(d)),
    ],
    Matern: lambda d: [
        Matern(0.5, 1.2),
        Matern(1.5, 1.2),
        Matern(2.5, 1.2),
        Matern(),
        Matern(0.7, 1.2),
        Matern(2, 0.9),
        Matern(7.5, 1.0),
    ],
    NamedColumns: lambda d: [],  # on rows of tables: see kernels/test_named.py
    MeanEmbedding: lambda d: [],  # its points are sets: see kernels/test_sets.py
    Mismatch: lambda d: [],  # on strings: see kernels/strings/test_mismatch.py
    Normalized: lambda d: [
        Polynomial(2, 0.5).normalize(),
        Gaussian(1.0).normalize(),
        (2 * Gaussian(1.0) + Linear()).normalize(),
        (ChiSquared(1.0) * Cosine() + Laplacian(1.0).scaled(lengths(d))).normalize().normalize(),
        HistogramIntersection().on([0]).normalize(),
        Constant(3.0).normalize(),
        (ArcCosine(1) + Linear().metric(metric(d)).normalize()).scaled(lengths(d)).normalize(),
    ],
    Overlap: lambda d: [Overlap(), Overlap(np.arange(1.0, d + 1)), Overlap([2] * (d - 1) + [1])],
    Periodic: lambda d: [Periodic(1.7, 0.9)],
    Polynomial: lambda d: [Polynomial(2, 1.0), Polynomial(3, 0.0), Polynomial(1, 0.5)],
    Power: lambda d: [
        (Linear() + 1) ** 3,
        Gaussian(1.0) ** 0.3,
        RationalQuadratic(1.0, 1.0) ** 0.5,
        (2 * Matern(1.5, 1.0)) ** 0.5,
    ],
    Precomputed: lambda d: [],  # no function of points: see kernels/test_finite.py
    Product: lambda d: [Gaussian(2.0) * Polynomial(2, 1.0), Laplacian(1.0) * Laplacian(1.0, norm="l1")],
    PullBack: lambda d: [Gaussian(1.0).pullback(with_one_more), Linear().pullback(np.tanh)],
    RandomWalk: lambda d: [],
    RationalQuadratic: lambda d: [RationalQuadratic(0.8, 1.2), RationalQuadratic(2.0)],
    Scale: lambda d: [2.5 * Matern(1.5, 1.0), np.float32(0.3) * Linear()],
    ShortestPath: lambda d: [],
    Sigmoid: lambda d: [Sigmoid(0.8, -0.3)],
    SkewedChiSquared: lambda d: [SkewedChiSquared(0.7)],
    Spectrum: lambda d: [],  # on strings: see kernels/strings/test_spectrum.py
    Subsequence: lambda d: [],  # on strings: see kernels/strings/test_subsequence.py
    Substitution: lambda d: [],  # on strings: see kernels/strings/test_substitution.py
    Sum: lambda d: [Gaussian(1.0) + 0.5 * Linear() + 1, Gaussian(1.0) + Gaussian(2.0).on([0])],
    VertexHistogram: lambda d: [],
    WeightedDegree: lambda d: [],  # on strings: see kernels/strings/test_weighted_degree.py
    WeisfeilerLehman: lambda d: [],
    White: lambda d: [White()],
}


def on_histograms(kernel):
    """Whether a kernel, or a part of it, takes no negative coordinates."""
    return any(
        cls.__name__ in repr(kernel) for cls in (ChiSquared, HistogramIntersection)
    )  # any of the three of χ²
