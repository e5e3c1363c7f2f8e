import numpy as np
import pytest

from mercer.codegen.symbols import NotTraceable
from mercer.engines import Tiled
from mercer.kernels import (
    Constant,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
)
from mercer.kernels.formula import trace
from mercer.kernels.slopes import LogSlope, log_slopes

TRACED = [
    Gaussian(1.3),
    Laplacian(0.7),
    Laplacian(0.7, norm="l1"),
    Matern(0.5, 0.8),
    Matern(1.5, 0.8),
    Matern(2.5, 0.8),
    RationalQuadratic(1.3, 0.8),
    Periodic(1.2, 0.8),
    Polynomial(3, c=0.5),
    2 * Gaussian(1.0) + 3 * Laplacian(2.0),
    Gaussian(1.0) * Matern(1.5, 2.0),
    (Gaussian(1.0) + Constant(2.0)) ** 2,
    RationalQuadratic(1.0, 1.0) ** 0.5,
    Gaussian(1.0).exp(),
    Gaussian(1.0).scaled([1.0, 2.0, 3.0]),
    Matern(1.5, 1.0).scaled([1.0, 2.0, 3.0]),
    (Gaussian(2.0) + 0.5 * Laplacian(1.0)).scaled([1.0, 2.0, 3.0]),
    Linear().scaled([1.0, 2.0, 3.0]),
    Gaussian(1.0).on([0, 2]) + 0.2 * Linear(),
    Gaussian(1.0).metric(2 * np.eye(3)),
]
NOT_TRACED = [Polynomial(2, c=0.5).normalize(), Periodic(1.0, 1.0).scaled([1.0, 2.0, 3.0])]


def points(dtype=np.float64, d=3):
    X = np.random.default_rng(0).standard_normal((60, d)).astype(dtype)
    X[7] = X[3]  # where points coincide roots have no slope
    return X


def replaced(kernel, name, index, factor):
    value = kernel.get_params()[name]
    if index is None:
        return _set(kernel, name, value * factor)
    lengths = np.array(value, dtype=float)
    lengths[index] *= factor
    return _set(kernel, name, lengths)


def _set(kernel, name, value):
    first, _, rest = name.partition("__")
    return kernel.replace(**{first: _set(getattr(kernel, first), rest, value) if rest else value})


@pytest.mark.parametrize("kernel", TRACED + NOT_TRACED, ids=repr)
def test_products_are_those_of_differences(kernel):
    X, h = points(), 1e-5
    V = np.random.default_rng(1).standard_normal((60, 2))
    for (name, index), slope in log_slopes(kernel, X).items():
        high, low = (replaced(kernel, name, index, np.exp(s))(X) for s in (h, -h))
        expected = (high - low) / (2 * h) @ V
        operator = Tiled(fused=True).operator(slope, X)
        assert np.allclose(operator @ V, expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("kernel", TRACED, ids=repr)
def test_it_is_one_loop(kernel):
    for slope in log_slopes(kernel, points()).values():
        assert trace(slope).programme.instructions


@pytest.mark.parametrize("kernel", NOT_TRACED, ids=repr)
def test_others_say_why_not(kernel):
    slopes = log_slopes(kernel, points())
    with pytest.raises(NotTraceable, match="no formula"):
        [trace(slope) for slope in slopes.values()]


@pytest.mark.parametrize("kernel", [Matern(1.5, 1.0).scaled(np.ones(12)), Gaussian(2.0)], ids=repr)
def test_float32_with_many_coordinates(kernel):
    """Distances come from inner products there, and what coincides is not exactly 0 apart."""
    X = points(np.float32, 12) + 5
    for key, slope in list(log_slopes(kernel, X).items())[:3]:
        exact = LogSlope(kernel, *key).pairwise(X.astype(float), X.astype(float))
        assert np.abs(Tiled(fused=True).operator(slope, X).dense() - exact).max() < 1e-5


def test_diagonal():
    X = points()
    slope = LogSlope(2.5 * Matern(1.5, 1.0), "factor")
    assert np.allclose(slope.diag(X), 2.5)
