"""The share of equal coordinates, against loops, dummies and differences."""

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.engines import Tiled
from mercer.kernels import Gaussian, Overlap, check
from mercer.selection.gradient import LooSurface
from mercer.testing import check_kernel


def codes(n, d, seed=0):
    return np.random.default_rng(seed).integers(0, 4, (n, d)).astype(float)


def by_loops(X, Z, w):
    return [[sum(v * (a == b) for v, a, b in zip(w, x, z, strict=True)) / sum(w) for z in Z] for x in X]


@pytest.mark.parametrize("weights", [None, [1, 2, 0, 0.5, 2], [0, 0, 0, 0, 3.0], np.full(5, 1e300)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_by_loops(weights, dtype):
    X, Z = codes(12, 5).astype(dtype), codes(9, 5, 1).astype(dtype)
    expected = by_loops(X, Z, np.ones(5) if weights is None else np.asarray(weights) / np.max(weights))
    kernel = Overlap(weights)
    rtol = 1e-6 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=rtol, atol=rtol)
    assert kernel(X, Z).dtype == dtype
    np.testing.assert_allclose(np.diag(kernel(X)), 1, rtol=rtol)
    for fused in (False, True):
        K = Tiled(fused=fused).operator(kernel, X, Z).dense()
        np.testing.assert_allclose(K, expected, rtol=rtol, atol=rtol)


def test_it_is_the_linear_kernel_of_dummies():
    X = codes(30, 3)
    dummies = np.hstack([c == X for c in range(4)]).astype(float)
    np.testing.assert_allclose(Overlap()(X), dummies @ dummies.T / 3, rtol=1e-14)


def test_any_different_numbers_differ():
    """Codes need be no whole numbers, nor small ones; compiled loops see the same as NumPy."""
    X = np.array([[0.0], [1e-9], [1.0], [1 + 2.0**-40], [3e6], [3e6 + 1], [-1e15]])
    for engine in (Tiled(fused=False), Tiled(fused=True)):
        np.testing.assert_array_equal(engine.operator(Overlap(), X).dense(), np.eye(7))
    few = X[[0, 2, 4, 5]].astype(np.float32)
    np.testing.assert_array_equal(Tiled(fused=True).operator(Overlap(), few).dense(), np.eye(4))


def test_laws_on_codes():
    kernels = Overlap(), Overlap([3, 1, 0, 2]), (1 + Overlap([1, 1, 2, 2])) ** 3, Overlap().on([0, 2])
    for kernel in kernels:
        check_kernel(kernel, codes(12, 4))
        assert check(kernel).by == "rule"


def test_sum_of_slopes():
    X = codes(20, 4)
    W = np.random.default_rng(1).standard_normal((20, 20))
    kernel = 2 * Overlap([3.0, 1.0, 0.0, 2.0]) + Gaussian(1.0)
    found = kernel.vjp_log_params(X, W)
    assert set(found) == {"left__factor", "left__kernel__weights", "right__sigma"}
    for name, slope in kernel.gradient_log_params(X, X).items():
        np.testing.assert_allclose(found[name], np.tensordot(W, slope, 2), rtol=1e-10, atol=1e-12)
    assert Overlap().vjp_log_params(X, W) == Overlap().gradient_log_params(X, X) == {}


def test_a_descent_moves_the_factor_beside_it():
    X = codes(40, 3)
    surface = LooSurface(X, X[:, :1] - X[:, :1].mean())
    slopes = []
    for factor in (0.5, 0.5 * np.exp(1e-5), 0.5 * np.exp(-1e-5)):
        slopes.append(surface.value_and_slopes(Gaussian(2.0) + factor * Overlap([1.0, 2.0, 1.0]), 0.1))
    quotient = (slopes[1][1] - slopes[2][1]) / 2e-5
    np.testing.assert_allclose(slopes[0][2]["right__factor"], quotient, rtol=1e-4)


def test_ridge_on_codes():
    X = codes(60, 3)
    y = np.where(X[:, 0] == 2, 3.0, 0.0) + (X[:, 1] == 1)
    machine = KernelRidge(Overlap([2.0, 1.0, 1.0]), lam=1e-8).fit(X, y)
    np.testing.assert_allclose(machine.predict(X), y, atol=1e-4)


@pytest.mark.parametrize("weights", [[0, 0], [1, -1], [1, np.nan], [[1, 1]], "ab", [1, np.inf], []], ids=repr)
def test_weights_that_are_none(weights):
    with pytest.raises(ValueError, match="weights must be numbers of at least 0"):
        Overlap(weights)(codes(3, 2))


def test_points_that_do_not_fit():
    with pytest.raises(ValueError, match="2 weights for points with 3 features"):
        Overlap([1, 2])(codes(3, 3))
    with pytest.raises(ValueError, match="without coordinates"):
        Overlap()(np.zeros((3, 0)))
