"""Which kernels order points as a plain distance does: by the rule, and as their values say."""

import numpy as np
import pytest

from kernel_examples import CLASSES, EXAMPLES, on_histograms, with_one_more
from mercer.kernels import (
    ArcCosine,
    Constant,
    Cosine,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)
from mercer.kernels.order import order_of

ORDERED = [
    Gaussian(1.3),
    Laplacian(0.8),
    Laplacian(0.8, "l1"),
    Matern(0.5, 1.0),
    Matern(1.5, 1.0),
    Matern(2.5, 1.0),
    RationalQuadratic(0.7, 1.1),
    Linear(),
    3.0 * Gaussian(1.0) + 2.0,
    2.0 + Gaussian(1.0),
    Gaussian(1.0) * Matern(1.5, 2.0) + Laplacian(1.0),
    Linear() + Gaussian(0.5) + 0.1,
    (Gaussian(1.0) + 1.0) ** 3,
    (2 * RationalQuadratic(1.0, 1.0)).exp().normalize(),
    Gaussian(1.0) ** 0.3,
    Gaussian(1.0).scaled([0.3, 1.0, 2.0]),
    Laplacian(1.0, "l1").scaled([0.3, 1.0, 2.0]),
    (Gaussian(1.0) * Matern(1.5, 1.0)).metric([[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 0.1]]),
    Gaussian(1.0).on([2, 0]).scaled([0.3, 1.0, 2.0]) + 1,
    Gaussian(1.0).scaled([0.3, 1.0, 2.0]) * Gaussian(1.0).scaled([0.3, 1.0, 2.0]),
    (Linear().scaled([0.3, 1.0, 2.0]) + 1) * 2,
    Matern(1.5, 1.0).pullback(with_one_more),
]
UNORDERED = [
    Polynomial(2),
    Cosine(),
    ArcCosine(1),
    Sigmoid(0.5),
    Periodic(1.0, 1.0),
    Constant(1.0),
    Linear() ** 2,
    Linear().exp(),
    Linear().normalize(),
    Linear() * Gaussian(1.0),
    Laplacian(1.0) * Laplacian(1.0, "l1"),
    Gaussian(1.0) + Gaussian(1.0).scaled([0.3, 1.0, 2.0]),
    Gaussian(1.0) + Gaussian(1.0).on([0]),
    Gaussian(1.0) * Polynomial(2),
]


def agrees(kernel, X):
    """Do the induced distance and the plain one order all pairs alike?"""
    order = order_of(kernel)
    P = order.view.points(X)
    difference = P[:, None, :] - P[None, :, :]
    plain = np.abs(difference).sum(-1) if order.norm == "l1" else (difference**2).sum(-1)
    upper = np.triu_indices(len(X), 1)
    plain, induced = plain[upper], kernel.squared_distance(X)[upper]
    by = np.argsort(plain)
    return (np.diff(induced[by]) >= -1e-12 * induced.max()).all()


@pytest.mark.parametrize("kernel", ORDERED, ids=repr)
def test_ordered(kernel):
    assert order_of(kernel) is not None
    assert agrees(kernel, np.random.default_rng(0).standard_normal((40, 3)))


@pytest.mark.parametrize("kernel", UNORDERED, ids=repr)
def test_no_order_is_claimed(kernel):
    assert order_of(kernel) is None


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_whoever_claims_an_order_has_it(cls):
    X = np.random.default_rng(1).random((30, 3))
    for kernel in EXAMPLES.get(cls, lambda d: [])(3):
        if not on_histograms(kernel) and kernel.vectors:
            kernel = kernel.resolve(X)
            assert order_of(kernel) is None or agrees(kernel, X)


def test_falling_kernels_are_told_from_linear():
    assert order_of(Gaussian(1.0) + 1).falling
    assert not order_of(Linear() + Gaussian(1.0)).falling


def test_a_subclass_with_another_formula_claims_nothing():
    class Wave(Gaussian):
        def profile(self, r2, xp):
            return xp.cos(r2)

    class Renamed(Gaussian):
        pass

    class Twisted(Linear):
        def pairwise(self, X, Z):
            return -(X @ Z.T)

    assert order_of(Wave(1.0)) is None
    assert order_of(2 * Wave(1.0) + 1) is None
    assert order_of(Twisted()) is None
    assert order_of(Renamed(1.0)) is not None
