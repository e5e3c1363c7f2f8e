"""Mean and scatter over shards, against those of the whole matrix in float64."""

import numpy as np
import pytest

from mercer.engines import Tiled
from mercer.features import ExplicitFeatures
from mercer.kernels import Gaussian, Linear
from mercer.operators import Elsewhere, FacingColumns, FacingFeatures
from mercer.rows import ArrayRows
from mercer.solvers.passes.scatter import spread


@pytest.mark.parametrize("rows", [1, 17, 400])
@pytest.mark.parametrize("sigma", [1.0, 100.0])
def test_scatter_of_kernel_values(rows, sigma):
    X = np.random.default_rng(0).standard_normal((90, 2))
    Z, kernel = X[:5], Gaussian(sigma)
    A = Elsewhere(ArrayRows(X, rows=rows), FacingColumns(Tiled(), kernel, Z), 5, X.dtype)
    K, T = kernel(X, Z), np.triu(np.random.default_rng(1).standard_normal((5, 4)))
    for M, found in ((K, spread(A, K[:3].mean(axis=0))), (K @ T, spread(A, K[:3].mean(axis=0), T))):
        n, mean, scatter, squares = found
        C = M - M.mean(axis=0)
        assert n == 90 and np.allclose(mean, M.mean(axis=0), rtol=1e-14)
        # With the wide kernel all values are nearly 1, and scatter is of the order of 1e-7.
        assert np.abs(scatter - C.T @ C).max() < 1e-9 * np.abs(C.T @ C).max()
        assert squares == pytest.approx(90)
        assert np.array_equal(scatter, scatter.T)


@pytest.mark.parametrize("near", [1e4, 0.0])
def test_far_from_zero_nothing_is_lost_if_a_point_near_the_mean_is_known(near):
    X = (np.random.default_rng(0).standard_normal((300, 3)) + 1e4).astype(np.float32)
    map = ExplicitFeatures(Linear()).fit(X)
    A = Elsewhere(ArrayRows(X, rows=40), FacingFeatures(map, 3, X.dtype), 3, X.dtype)
    _, mean, scatter, squares = spread(A, np.full(3, near))
    exact = X.astype(np.float64)
    C = exact - exact.mean(axis=0)
    assert squares == 0.0  # of features they are not asked for
    assert np.abs(mean - exact.mean(axis=0)).max() < (1e-6 if near else 1e-2)
    # Float32 sums about 0 lose most digits of the mean; the scatter is still sound in float64.
    assert np.abs(scatter - C.T @ C).max() < (1e-4 if near else np.inf) * np.abs(C.T @ C).max()
