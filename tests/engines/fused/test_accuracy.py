"""Kernel values far from the origin and at any size, compiled and by NumPy blocks, against long double."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from mercer import KernelLogistic
from mercer.engines import Tiled
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial

L = np.longdouble


def oracle(name, X, Z, length):
    """k of points over their length scales, in long double."""
    X, Z = (P.astype(L) / np.asarray(length, L) for P in (X, Z))
    gaps = X[:, None] - Z[None]
    r = np.sqrt((gaps**2).sum(axis=2))
    values = {"gauss": np.exp(-(r**2) / 2), "lap": np.exp(-r), "l1": np.exp(-np.abs(gaps).sum(axis=2))}
    values["matern"] = (1 + np.sqrt(L(3)) * r) * np.exp(-np.sqrt(L(3)) * r)
    return values[name].astype(np.float64)


def kernels(d, scale):
    """(name, kernel, length scales)"""
    s, ell = 1.5 * d**0.5 * scale, np.linspace(0.5, 2.0, d) * scale * d**0.5
    yield "gauss", Gaussian(s), s
    yield "lap", Laplacian(s), s
    yield "l1", Laplacian(s * d**0.5, norm="l1"), s * d**0.5
    yield "matern", Matern(1.5, s), s
    yield "gauss", Gaussian(1.0).scaled(ell), ell
    yield "l1", Laplacian(1.0, norm="l1").scaled(ell * d**0.5), ell * d**0.5
    yield "gauss", Gaussian(1.0).metric(np.diag(ell**-2.0)), ell


@pytest.mark.parametrize("fused", [True, False], ids=["compiled", "NumPy"])
@pytest.mark.parametrize("d", [3, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
def test_values_and_products_anywhere(dtype, d, fused):
    rng = np.random.default_rng(d)
    engine, eps = Tiled(1, fused), np.finfo(dtype).eps
    X0, Z0, V = (
        rng.standard_normal((20, d)),
        rng.standard_normal((33, d)),
        rng.standard_normal((33, 2)).astype(dtype),
    )
    sizes = [(o, 1.0) for o in (0.0, 1e2, 1e4, 1e5)] + [(0.0, s) for s in (1e-30, 1e-25, 1e-10, 1e10, 1e25)]
    for offset, scale in sizes:
        X, Z = (((P + offset * np.linspace(0.5, 1, d)) * scale).astype(dtype) for P in (X0, Z0))
        for name, k, length in kernels(d, scale):
            if scale != 1.0 and name == "gauss" and np.ndim(length) and not hasattr(k, "lengths"):
                continue  # a metric of 1e±60 is no metric any more
            K = oracle(name, X, Z, length)
            # In float64, too, what is divided by a length scale is rounded before it is subtracted.
            bound = 20 * eps * (1 + (offset if np.ndim(length) and dtype == np.float64 else 0))
            assert np.abs(engine.operator(k, X, Z).dense() - K).max() < bound, (name, k, offset, scale)
            own = oracle(name, X, X, length)
            assert np.abs(engine.operator(k, X).dense() - own).max() < bound
            if name != "l1":  # the same loops: two kernels stand for all
                continue
            size = np.abs(K).sum(axis=1)[:, None] * np.abs(V).max()
            assert (np.abs(engine.operator(k, X, Z).product(V) - K @ V) < bound * size).all()
            assert (
                np.abs(engine.operator(k, X, Z).product(V[:, 0]) - K @ V[:, 0]) < bound * size[:, 0]
            ).all()
            back = engine.operator(k, X, Z).sandwich(V, lambda rows, S: S)
            assert (np.abs(back - K.T @ (K @ V)) < bound * 40 * (1 + np.abs(K).sum() ** 2)).all()


@pytest.mark.parametrize("fused", [True, False], ids=["compiled", "NumPy"])
def test_one_point_far_away_does_not_blur_the_others(fused):
    X = np.random.default_rng(0).standard_normal((30, 3))
    X[4] = -1e20
    for k, name in ((Laplacian(1.0), "lap"), (Gaussian(1.0), "gauss")):
        assert (
            np.abs(Tiled(1, fused).operator(k, X, X.copy()).dense() - oracle(name, X, X, 1.0)).max() < 1e-14
        )


@pytest.mark.parametrize("fused", [True, False], ids=["compiled", "NumPy"])
def test_squares_beyond_float64_are_refused(fused):
    X = np.random.default_rng(0).standard_normal((30, 3))
    for size in (1e-200, 1e200):
        with pytest.raises(ValueError, match="no float64 can hold the squares; multiply the features"):
            Tiled(1, fused).operator(Laplacian(size), X * size, X[:20] * size).dense()


def test_numbers_that_are_none_are_noticed():
    X = np.full((40, 3), 1e25, np.float32)
    V = np.ones((40, 2), np.float32)
    engine = Tiled(1, True)
    for call in (
        lambda: engine.operator(Polynomial(2, 1.0), X, X[:30]).dense(),
        lambda: engine.operator(Linear(), X).product(V),
        lambda: engine.operator(Linear(), X).product(V[:, 0]),
        lambda: engine.operator(Linear(), X).sandwich(V, lambda rows, S: S),
    ):
        with pytest.warns(RuntimeWarning, match="NaN or infinite"):
            call()


def test_no_label_is_made_of_nan():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3)).astype(np.float32)
    machine = KernelLogistic(Polynomial(3, 1.0), lam=0.1, offset=False).fit(
        X, np.where(X[:, 0] > 0, "b", "a")
    )
    far = X.copy()
    far[7] = 1e25
    with (
        pytest.warns(RuntimeWarning),
        pytest.raises(ValueError, match="1 of these 60 points .the first is row 7"),
    ):
        machine.predict(far)
