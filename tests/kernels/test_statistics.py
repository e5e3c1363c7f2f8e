"""The statistics of pairs of points, against SciPy's distances and explicit loops."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mercer.kernels import statistics
from mercer.kernels.statistics import (
    ChiSquare,
    CircleDistance,
    Differences,
    DotProduct,
    HarmonicMean,
    Intersection,
    L1Distance,
    SkewedChiSquare,
    SquaredDistance,
)

# For vectors x, z of nonnegative numbers.
LOOPS = {
    DotProduct(): lambda x, z: sum(a * b for a, b in zip(x, z, strict=True)),
    SquaredDistance(): lambda x, z: sum((a - b) ** 2 for a, b in zip(x, z, strict=True)),
    L1Distance(): lambda x, z: sum(abs(a - b) for a, b in zip(x, z, strict=True)),
    ChiSquare(): lambda x, z: sum((a - b) ** 2 / (a + b) for a, b in zip(x, z, strict=True) if a + b > 0),
    Intersection(): lambda x, z: sum(min(a, b) for a, b in zip(x, z, strict=True)),
    Differences(): lambda x, z: sum(a != b for a, b in zip(x, z, strict=True)),
    HarmonicMean(): lambda x, z: sum(2 * a * b / (a + b) for a, b in zip(x, z, strict=True) if a + b > 0),
    SkewedChiSquare(0.3): lambda x, z: sum(
        np.log((a + b + 0.6) / (2 * np.sqrt((a + 0.3) * (b + 0.3)))) for a, b in zip(x, z, strict=True)
    ),
    CircleDistance(1.5): lambda x, z: sum(
        4 * np.sin(np.pi * (a - b) / 1.5) ** 2 for a, b in zip(x, z, strict=True)
    ),
}
every = pytest.mark.parametrize("statistic", LOOPS, ids=lambda s: type(s).__name__)


def points(n, d, seed=0):
    return np.random.default_rng(seed).random((n, d))


@every
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 4, 5])
def test_by_loops(statistic, dtype, d):
    X, Z = points(8, d).astype(dtype), points(6, d, seed=1).astype(dtype)
    X[0, 0] = Z[0, 0] = 0
    S = statistic.pairwise(X, Z)
    assert S.dtype == dtype
    expected = [[LOOPS[statistic](x, z) for z in Z.astype(float)] for x in X.astype(float)]
    np.testing.assert_allclose(S, expected, rtol=1e-5 if dtype == np.float32 else 1e-12, atol=1e-13)
    own = statistic.diag(X)
    assert own.dtype == dtype
    np.testing.assert_allclose(own, [LOOPS[statistic](x, x) for x in X.astype(float)], rtol=1e-5, atol=1e-13)


@every
def test_slopes_by_central_differences(statistic):
    X, Z, h = points(5, 3), points(4, 3, seed=1), 1e-6
    slope = statistic.gradient_x(X, Z)
    assert slope.shape == (5, 4, 3)
    for k in range(3):
        e = h * np.eye(3)[k]
        difference = (statistic.pairwise(X + e, Z) - statistic.pairwise(X - e, Z)) / (2 * h)
        np.testing.assert_allclose(slope[:, :, k], difference, atol=1e-8)


@every
@pytest.mark.parametrize("shape", [(0, 3), (0, 6), (4, 0)])
def test_empty(statistic, shape):
    X = np.zeros(shape)
    assert statistic.pairwise(X, X).shape == (shape[0], shape[0])
    assert statistic.pairwise(X, np.zeros((2, shape[1]))).shape == (shape[0], 2)


@pytest.mark.parametrize("d", [1, 4, 5, 60])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_squared_distance_agrees_with_scipy(d, offset):
    X = np.random.default_rng(0).standard_normal((100, d)) + offset
    Z = np.random.default_rng(1).standard_normal((40, d)) + offset
    for S, truth in (
        (SquaredDistance().pairwise(X, Z), cdist(X, Z)),
        (SquaredDistance().pairwise(X, X), cdist(X, X)),
    ):
        np.testing.assert_allclose(S, truth**2, rtol=1e-9)


def test_squared_distance_of_close_pairs_keeps_its_digits():
    rng = np.random.default_rng(0)
    X = 1e3 * rng.standard_normal((100, 10))
    Z = X + 1e-7 * rng.standard_normal(X.shape)
    S = SquaredDistance().pairwise(X, Z)
    truth = cdist(X, Z) ** 2
    np.testing.assert_allclose(np.diag(S), np.diag(truth), rtol=1e-9)
    np.testing.assert_allclose(S, truth, rtol=1e-9)


@pytest.mark.parametrize("dtype, rtol", [(np.float32, 1e-4), (np.float64, 1e-9)])
@pytest.mark.parametrize("distance", np.logspace(-7, 0, 15))
def test_squared_distance_is_accurate_at_every_distance(dtype, rtol, distance):
    # ‖x‖² + ‖z‖² − 2x·z loses digits the faster the closer the points are.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 10)).astype(dtype)
    Z = (X + distance * rng.standard_normal(X.shape)).astype(dtype)
    truth = cdist(X.astype(float), Z.astype(float)) ** 2
    np.testing.assert_allclose(SquaredDistance().pairwise(X, Z), truth, rtol=rtol)


def test_squared_distance_of_many_close_pairs(monkeypatch):
    # More close pairs than one chunk holds, yet fewer than call for the direct route.
    monkeypatch.setattr(statistics, "_PAIRS_PER_CHUNK", 7)
    X = np.random.default_rng(0).standard_normal((120, 6))
    S = SquaredDistance().pairwise(X, X.copy())
    assert (np.diag(S) == 0).all()
    np.testing.assert_allclose(S, cdist(X, X) ** 2, rtol=1e-9)


def test_squared_distance_of_two_clusters_takes_the_direct_route():
    # Half of all pairs are close compared with their distance from the centre.
    X = np.repeat([[1e6], [-1e6]], 50, axis=0) + np.random.default_rng(0).standard_normal((100, 8))
    np.testing.assert_allclose(SquaredDistance().pairwise(X, X), cdist(X, X) ** 2, rtol=1e-9)


def test_squared_distance_is_never_negative():
    X = np.random.default_rng(0).standard_normal((300, 5)).astype(np.float32)
    X = np.vstack([X, X])
    assert SquaredDistance().pairwise(X, X).min() == 0


def test_mixed_precision_is_double():
    X = points(3, 6)
    assert SquaredDistance().pairwise(X.astype(np.float32), X).dtype == np.float64


def test_slope_in_the_logarithm_of_the_period():
    X, Z, h = points(5, 2), points(4, 2, seed=1), 1e-6
    up, down = CircleDistance(1.5 * np.exp(h)), CircleDistance(1.5 * np.exp(-h))
    difference = (up.pairwise(X, Z) - down.pairwise(X, Z)) / (2 * h)
    np.testing.assert_allclose(CircleDistance(1.5).gradient_log_period(X, Z), difference, atol=1e-8)
