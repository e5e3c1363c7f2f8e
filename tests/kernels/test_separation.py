"""Distances that a kernel induces, against the same formulas in long double."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import KernelNeighborsRegressor, KernelPCA
from mercer.functions.kernel import section
from mercer.kernels import (
    ArcCosine,
    ChiSquared,
    Constant,
    Cosine,
    Finite,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
)
from mercer.kernels.separation import AllPairs, InOrder, separation

LONG = np.longdouble
RNG = np.random.default_rng(0)
# AllPairs of near points far from the origin, as float64 has them.
FAR = np.array([[1e8, 3.0], [1e8 + 2.0**-13, 3.0], [1e8, 3.0 + 2.0**-20], [-5.0, 1e8]])


def long_double(profile):
    """d² of a function of r² = ‖x−z‖², in long double: κ(0) − κ(r²) keeps 18 digits."""

    def squared(X):
        X = X.astype(LONG)
        r2 = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        return profile(r2, np.abs(X[:, None] - X[None]).sum(axis=2))

    return squared


EXACT = {
    Linear(): long_double(lambda r2, _: r2),
    Gaussian(2.0): long_double(lambda r2, _: -2 * np.expm1(-r2 / 8)),
    Laplacian(2.0): long_double(lambda r2, _: -2 * np.expm1(-np.sqrt(r2) / 2)),
    Laplacian(2.0, norm="l1"): long_double(lambda _, r: -2 * np.expm1(-r / 2)),
    Matern(0.5, 2.0): long_double(lambda r2, _: -2 * np.expm1(-np.sqrt(r2) / 2)),
    RationalQuadratic(1.0, 2.0): long_double(lambda r2, _: 2 * (r2 / 8) / (1 + r2 / 8)),
    Gaussian(2.0) + 3 * Linear() + 7: long_double(lambda r2, _: -2 * np.expm1(-r2 / 8) + 3 * r2),
    Gaussian(2.0) * Gaussian(2.0): long_double(lambda r2, _: -2 * np.expm1(-r2 / 4)),
    Gaussian(2.0) ** 0.5: long_double(lambda r2, _: -2 * np.expm1(-r2 / 16)),
    Gaussian(2.0).exp(): long_double(lambda r2, _: -2 * np.exp(LONG(1)) * np.expm1(np.expm1(-r2 / 8))),
    (5 * Gaussian(2.0)).normalize(): long_double(lambda r2, _: -2 * np.expm1(-r2 / 8)),
    Linear().scaled([0.5, 0.5]): long_double(lambda r2, _: 4 * r2),
    Gaussian(2.0).on([0, 1]): long_double(lambda r2, _: -2 * np.expm1(-r2 / 8)),
    Linear().metric(4 * np.eye(2)): long_double(lambda r2, _: 4 * r2),
    Constant(2.0): long_double(lambda r2, _: 0 * r2),
    0 * Gaussian(1.0): long_double(lambda r2, _: 0 * r2),
}


@pytest.mark.parametrize("kernel", EXACT, ids=repr)
def test_near_points_far_away_keep_their_distance(kernel):
    expected = EXACT[kernel](FAR).astype(float)
    for D in (kernel.squared_distance(FAR), kernel.squared_distance(FAR, FAR.copy())):
        np.testing.assert_allclose(D, expected, rtol=1e-11)
    i, j = np.array([0, 0, 1, 3]), np.array([1, 2, 2, 0])
    np.testing.assert_allclose(separation(kernel, FAR[i], FAR[j], InOrder()), expected[i, j], rtol=1e-11)


def test_polynomials_keep_what_there_is():
    X = FAR.astype(LONG)
    for degree, c in ((2, 1.0), (3, 0.5)):
        K = (X @ X.T + LONG(c)) ** degree
        # 2h² + 2(m + c)u − u²/2 for degree 2, with digits that long double has, too.
        D = Polynomial(degree, c).squared_distance(FAR)
        u = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        h = ((X[:, None] - X[None]) * (X[:, None] + X[None])).sum(axis=2) / 2
        m = ((X * X).sum(axis=1)[:, None] + (X * X).sum(axis=1)[None]) / 2
        if degree == 2:
            np.testing.assert_allclose(D, (2 * h**2 + 2 * (m + c) * u - u**2 / 2).astype(float), rtol=1e-2)
        assert (np.diag(D) == 0).all() and (D[np.triu_indices(4, 1)] > 0).all() and K.shape == D.shape


@pytest.mark.parametrize(
    "kernel",
    [
        Matern(1.5, 1.0),
        Matern(2.5, 1.0),
        Periodic(2.0, 1.0),
        ChiSquared(0.5),
        Cosine(),
        ArcCosine(1),
        Polynomial(3, 1.0).normalize(),
        Gaussian(1.0) * Linear(),
        Polynomial(2).exp().normalize(),
        Finite(np.eye(3)),
    ],
    ids=repr,
)
def test_it_is_the_same_number_where_nothing_cancels(kernel):
    X, Z = RNG.uniform(0, 1, (6, 3)), RNG.uniform(0, 1, (5, 3))
    if isinstance(kernel, Finite):
        X, Z = np.array([0, 1, 2]), np.array([2, 1])
    a, b, K = kernel.diag(X), kernel.diag(Z), kernel(X, Z)
    np.testing.assert_allclose(kernel.squared_distance(X, Z), a[:, None] + b - 2 * K, atol=1e-12)
    assert np.array_equal(kernel.squared_distance(X).diagonal(), np.zeros(len(X)))


def test_values_of_ones_own_are_believed():
    class Own(Linear):
        def pairwise(self, X, Z):
            return 2 * (X @ Z.T)

        def diagonal(self, X):
            return 2 * (X * X).sum(axis=1)

    class Other(Kernel):
        def __init__(self):
            pass

        def pairwise(self, X, Z):
            return X @ Z.T

    X = RNG.standard_normal((4, 2))
    r2 = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(Own().squared_distance(X), 2 * r2, atol=1e-12)
    np.testing.assert_allclose((Own() + Linear()).squared_distance(X), 3 * r2, atol=1e-12)
    np.testing.assert_allclose(Other().squared_distance(X), r2, atol=1e-12)


def test_points_too_far_apart_for_a_float():
    X = np.array([[1e200, 0.0], [-1e200, 0.0], [1e200, 0.0]])
    with pytest.raises(ValueError, match="the points are too large"):
        (Gaussian(1.0) + Laplacian(1.0)).squared_distance(X)
    with np.errstate(over="ignore"):
        assert np.isinf(Linear().squared_distance(X)[0, 1]) and not np.isnan(Linear().distance(X[:2])).any()


def test_float32_and_sparse_points():
    X = FAR.astype(np.float32)
    np.testing.assert_array_equal(Linear().squared_distance(X), Linear().squared_distance(X.astype(float)))
    assert Gaussian(1.0).squared_distance(X).dtype == np.float64
    Z = np.vstack([FAR, 1e3 * RNG.standard_normal((60, 2))])
    np.testing.assert_allclose(
        Linear().squared_distance(sp.csr_array(Z)), Linear().squared_distance(Z), rtol=1e-9
    )
    assert AllPairs().plainly(Linear(), Z[:2], Z[:3]).shape == (2, 3)


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(2.0), Linear() + Gaussian(1.0)], ids=repr)
def test_functions_and_neighbours_use_them(kernel):
    d = kernel.distance(FAR)
    f, g = section(kernel, FAR[0]), section(kernel, FAR[1])
    assert f.distance(g) == pytest.approx(d[0, 1], rel=1e-9)
    assert (2 * f - f - g).norm() == pytest.approx(d[0, 1], rel=1e-9)
    # Both clusters: a common origin would not help.
    found, index = KernelNeighborsRegressor(kernel, n_neighbors=2).fit(FAR, np.arange(4.0)).kneighbors(FAR)
    np.testing.assert_allclose(found[:3, 1], np.sort(d[:3], axis=1)[:, 1], rtol=1e-9)
    assert (index[:, 0] == np.arange(4)).all()


def test_ways_back_from_features_and_from_batches():
    X = RNG.uniform(-1, 1, (300, 2))
    whole = KernelPCA(Polynomial(2), n_components=5).fit(X)
    back = whole.inverse_transform(whole.transform(X))
    assert np.mean((back - X) ** 2) < 1e-3
    parts = KernelPCA(Polynomial(2), n_components=5)
    for rows in np.split(X, 3):
        parts.partial_fit(rows)
    assert np.mean((parts.inverse_transform(parts.transform(X)) - X) ** 2) < 1e-3
    random = KernelPCA(Gaussian(1.0), 8, "features", random_state=0).fit(X)
    assert np.mean((random.inverse_transform(random.transform(X)) - X) ** 2) < 1e-2
