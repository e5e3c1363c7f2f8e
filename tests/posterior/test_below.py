"""The preconditioner's own slopes, against a dense float64 difference of the matrix itself."""

import numpy as np
import pytest

from mercer.kernels import Gaussian, Matern, RationalQuadratic
from mercer.posterior.stochastic import BelowSlope, likelihood_slopes, probed, slope_operators
from mercer.posterior.system import System
from mercer.solvers.preconditioners import SUBSET_SHIFT, LowRank, Subset
from observed import observed, wavy

KERNELS = [2.0 * Matern(1.5, 1.0), Gaussian(1.0).scaled([1.0, 2.0]), RationalQuadratic(1.0, 1.0)]


def system_with(make, kernel, rank, weighted, dtype=np.float64, n=120, offset=True):
    X, y, w = wavy(n, dtype=dtype)
    seen = observed(kernel, X, y, lam=1e-3, weights=w if weighted else None, offset=offset)
    system = System(seen, 1e-10, 500, np.random.default_rng(0))
    low = make(seen.A if make is LowRank else system.K, rank, np.random.default_rng(1))
    system.__dict__["below"] = low.at(system.mu, system.scale)
    return seen, system


def dense_below(seen, system, theta, shift=0.0):
    """μI + S C (K_PP + δI)⁻¹ Cᵀ S at theta, with the same pivots and the same δ: no factor of ours."""
    pivots = system.below.pivots
    kernel = seen.at(np.append(theta, np.log(seen.noise))).kernel
    K = kernel(np.asarray(system.K.X, dtype=np.float64))
    C = K[:, pivots]
    part = C @ np.linalg.solve(K[np.ix_(pivots, pivots)] + shift * np.eye(len(pivots)), C.T)
    return system.mu * np.eye(system.n) + system.root * part * system.root.T


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("make", [LowRank, Subset])
def test_slopes_are_those_of_differences(make, kernel, weighted):
    seen, system = system_with(make, kernel, 15, weighted)
    here = seen.theta[:-1]
    shift = SUBSET_SHIFT * float(system.K.diag().mean()) if make is Subset else 0.0
    P = dense_below(seen, system, here, shift)
    q = np.random.default_rng(2).standard_normal((system.n, 4))
    R = system.below.core(np.eye(system.below.rank))
    h = 1e-5
    for i, slope in enumerate(slope_operators(seen, system.K)):
        step = h * np.eye(len(seen.theta) - 1)[i]
        high, low = (dense_below(seen, system, here + s * step, shift) for s in (1, -1))
        change = (high - low) / (2 * h)
        known = BelowSlope(system, slope)
        expected = np.einsum("ij,ij->j", q, change @ q)
        assert known.trace(R) == pytest.approx(np.trace(np.linalg.solve(P, change)), rel=1e-5, abs=1e-5)
        assert np.allclose(known.forms(q), expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_factor_is_in_the_order_of_pivots(dtype):
    """L = F[pivots] is lower triangular, and L Lᵀ the matrix of the pivots: several blocks of them."""
    kernel = Matern(1.5, 1.0)
    seen, system = system_with(LowRank, kernel, 150, weighted=False, dtype=dtype, n=400)
    below = system.below
    assert below.rank == 150
    L = np.linalg.inv(below.lower(np.eye(150)))
    points = np.asarray(seen.A.X, dtype=np.float64)[below.pivots]
    precision = 150 * np.finfo(dtype).eps  # what sums of 150 terms may lose
    assert np.abs(L @ L.T - kernel(points)).max() < precision
    low = LowRank(seen.A, 150, np.random.default_rng(1))
    assert low.F.dtype == dtype and np.abs(np.triu(low.F[low.pivots], 1)).max() < precision


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("make, rank", [(LowRank, 0), (LowRank, 20), (Subset, 20)])
def test_what_is_known_leaves_the_mean_where_it_was(make, rank, offset, dtype):
    """tr P_G ∂G by many probes is the dense one, whatever the preconditioner, and more certain with one."""
    kernel = Matern(1.5, 1.0)
    seen, system = system_with(make, kernel, rank, True, dtype=dtype, offset=offset)
    coef = np.zeros((system.n, 1))
    found = likelihood_slopes(system, seen, coef, probed(system, 400, np.random.default_rng(3)))
    points = np.asarray(seen.A.X, dtype=np.float64)
    Ginv = np.linalg.inv(kernel(points) + system.mu * np.diag(1 / seen.w))
    if offset:
        ones = Ginv.sum(axis=1)
        Ginv -= np.outer(ones, ones) / ones.sum()
    slopes = [kernel.gradient_log_params(points, points)["sigma"], system.mu * np.diag(1 / seen.w)]
    expected = np.array([np.trace(Ginv @ slope) for slope in slopes])
    assert (np.abs(found.traces - expected) < 4 * found.errors).all()
    assert (found.errors < 0.05 * np.abs(expected)).all()
