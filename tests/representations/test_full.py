"""Full: one coefficient per example, A = B = K."""

import numpy as np

from mercer.engines import Tiled
from mercer.functions import KernelFunction
from mercer.kernels import Finite, Gaussian
from mercer.representations import Full

X = np.random.default_rng(0).standard_normal((15, 2))
K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 2)


def test_build():
    built = Full().build(Gaussian(1.0), X, np.random.default_rng(0), Tiled())
    assert built.A is built.B  # which is how a problem knows that it is of this kind
    assert np.allclose(built.A.dense(), K)


def test_lift():
    built = Full().build(Gaussian(1.0), X, np.random.default_rng(0), Tiled())
    c = np.arange(15.0)
    f = built.lift(c)
    assert isinstance(f, KernelFunction)
    assert np.allclose(f(X), K @ c)
    assert np.isclose(f.squared_norm(), c @ K @ c)
    assert built.lift(np.ones((15, 2)))(X).shape == (15, 2)


def test_size_and_name():
    assert Full().size(Gaussian(1.0), 123, 4) == 123
    assert Full().name == "full" and Full().penalty == "ridge"
    assert Full() == Full() and repr(Full()) == "Full()"


def test_finite_domain():
    M = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    points = np.array([0, 2, 2, 1])
    built = Full().build(Finite(M), points, np.random.default_rng(0), Tiled())
    assert np.array_equal(built.A.dense(), M[np.ix_(points, points)])
