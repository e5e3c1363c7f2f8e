"""Derivatives pulled back through a Gram matrix: those of its entries, summed; and central differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.kernels import Gaussian, Kernel, Laplacian, Linear, Matern, Polynomial, Profiled
from mercer.kernels.base import _NUMBERS_AT_ONCE
from testing.test_laws import CASES, build, expressions, points


def differentiable(kernel, X):
    try:
        kernel.gradient_log_params(X[:2], X[:2])
    except (NotImplementedError, IndexError):
        return False
    return True


SMOOTH = []
for kernel, d in CASES:
    if kernel.vectors:
        X = points(kernel, d)
        if differentiable(kernel.resolve(X), X):
            SMOOTH.append((kernel.resolve(X), d))
every = pytest.mark.parametrize("kernel, d", SMOOTH, ids=[f"{k!r:.60}-{d}" for k, d in SMOOTH])


def weights(n, seed=0):
    """Not symmetric, of both signs."""
    return np.random.default_rng([n, seed]).standard_normal((n, n))


def summed(kernel, X, W):
    """Σ_ij W_ij ∂k(x_i, x_j)/∂log θ, entry by entry."""
    return {
        name: np.einsum("ij,ij...->...", W, slope) for name, slope in kernel.gradient_log_params(X, X).items()
    }


def assert_same(pulled, expected, scale):
    assert pulled.keys() == expected.keys()
    for name, value in expected.items():
        assert np.shape(pulled[name]) == np.shape(value)
        np.testing.assert_allclose(pulled[name], value, rtol=1e-8, atol=1e-9 * scale, err_msg=name)


def size(kernel, X, W):
    """What sums of slopes are compared with: they may cancel."""
    slopes = kernel.gradient_log_params(X, X).values()
    return max((float(np.abs(W).sum() * np.abs(s).max()) for s in slopes), default=1.0)


def test_most_kernels_are_here():
    assert len({type(k) for k, _ in SMOOTH}) >= 18


@every
def test_equals_the_sum_over_entries(kernel, d):
    X = points(kernel, d)
    W = weights(len(X))
    assert_same(kernel.vjp_log_params(X, W), summed(kernel, X, W), size(kernel, X, W))


@every
def test_with_length_scales(kernel, d):
    """One length scale a feature, above whatever the kernel is."""
    X, scaled = points(kernel, d), kernel.scaled(np.linspace(0.6, 1.7, d))
    if not differentiable(scaled, X):
        with pytest.raises(NotImplementedError):
            scaled.vjp_log_params(X, weights(len(X)))
        return
    W = weights(len(X), seed=1)
    pulled = scaled.vjp_log_params(X, W)
    assert pulled["lengths"].shape == (d,)
    assert_same(pulled, summed(scaled, X, W), size(scaled, X, W))


@pytest.mark.parametrize(
    "kernel",
    [
        0.3 * Gaussian(1.1).scaled([0.7, 2.0]) + 2.0 * Laplacian(0.8, "l1").scaled([1.5, 0.4]),
        (Polynomial(2, 0.5) * Matern(1.5, 0.9).scaled([1.0, 3.0])) ** 2,
        (Gaussian(0.7).on([1]) + Linear()).normalize().scaled([0.5, 1.5]),
        Laplacian(1.3).scaled([2.0, 0.3]).exp() + 1.5,
    ],
    ids=str,
)
def test_central_differences(kernel):
    """Against the Gram matrix itself, every parameter moved."""
    X = np.random.default_rng(3).standard_normal((12, 2))
    X[5] = X[2]  # two points in one place
    W, h = weights(12), 1e-5
    for name, slope in kernel.vjp_log_params(X, W).items():
        value = np.asarray(kernel.get_params()[name], dtype=float)
        for k in range(value.size):
            ends = []
            for sign in (1, -1):
                moved = np.atleast_1d(value).copy()
                moved[k] *= np.exp(sign * h)
                varied = type(kernel)(**kernel.get_params(deep=False))
                varied = varied.set_params(**{name: moved if value.ndim else float(moved[0])})
                ends.append(np.sum(W * varied(X)))
            assert np.ravel(slope)[k] == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-5, abs=1e-6)


@given(e=st.sampled_from([1, 2, 5]).flatmap(lambda d: st.tuples(st.just(d), expressions(d, smooth=True))))
@settings(max_examples=60)
def test_random_expressions(e):
    d, expression = e
    kernel = build(expression)
    X = 0.5 * np.random.default_rng(d).standard_normal((7, d))
    X[3] = X[1]
    W = weights(7, seed=d)
    scale = size(kernel, X, W)
    if np.isfinite(scale) and scale < 1e100:
        assert_same(kernel.vjp_log_params(X, W), summed(kernel, X, W), scale)


@pytest.mark.parametrize(
    "kernel", [Gaussian(1.0), Laplacian(1.0), Laplacian(1.0, "l1"), Matern(2.5, 1.0)], ids=str
)
def test_far_from_the_origin_and_with_twins(kernel):
    """Many copies of a point, and points a thousand units away from 0: nothing infinite, nothing lost."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((8, 6)), 3, axis=0)
    W, scaled = weights(24), kernel.scaled(np.linspace(0.5, 2, 6))
    near, far = scaled.vjp_log_params(X, W)["lengths"], scaled.vjp_log_params(X + 1000.0, W)["lengths"]
    assert np.isfinite(near).all()
    np.testing.assert_allclose(far, near, rtol=1e-7, atol=1e-8 * np.abs(near).max())


def test_in_blocks(monkeypatch):
    """As many rows at a time as memory has room for: the same sums."""

    class Plain(Profiled):
        """No shortcut: slopes of entries."""

        positive = log_params = ("width",)
        statistic = Gaussian(1.0).statistic

        def __init__(self, width=1.0):
            self.width = width

        def profile(self, s, xp):
            return xp.exp(-s / self.width)

    X = np.random.default_rng(0).standard_normal((30, 3))
    W, kernel = weights(30), Plain(1.7)
    whole = kernel.vjp_log_params(X, W), Kernel.vjp_log_params(kernel.scaled([1.0, 2.0, 3.0]), X, W)
    assert _NUMBERS_AT_ONCE > 30 * 30 * 3
    monkeypatch.setattr("mercer.kernels.base._NUMBERS_AT_ONCE", 4 * 30 * 3)
    monkeypatch.setattr("mercer.kernels.statistics._NUMBERS_AT_ONCE", 4 * 30 * 3)
    scaled = kernel.scaled([1.0, 2.0, 3.0])
    assert kernel.vjp_log_params(X, W)["width"] == pytest.approx(whole[0]["width"], rel=1e-12)
    for part in (scaled.vjp_log_params(X, W), Kernel.vjp_log_params(scaled, X, W)):
        np.testing.assert_allclose(part["lengths"], whole[1]["lengths"], rtol=1e-10)


def test_single_precision_points():
    X = np.random.default_rng(0).standard_normal((20, 3)).astype(np.float32)
    W, kernel = (
        weights(20),
        0.5 * Gaussian(1.0).scaled([1.0, 2.0, 0.5]) + Laplacian(1.0, "l1").scaled([1, 1, 1]),
    )
    single, double = kernel.vjp_log_params(X, W), kernel.vjp_log_params(X.astype(float), W)
    for name, value in double.items():
        np.testing.assert_allclose(single[name], value, rtol=1e-4, atol=1e-4)


def test_kernels_without_parameters_have_nothing_to_pull():
    assert Linear().vjp_log_params(np.eye(3), np.eye(3)) == {}
