"""The contract of a representation, and a user's own one."""

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.engines import Tiled
from mercer.functions import FeatureFunction
from mercer.kernels import Linear
from mercer.operators import Identity, Matrix
from mercer.representations import Built, Representation


def test_the_contract_alone_does_nothing():
    with pytest.raises(NotImplementedError):
        Representation().build(Linear(), np.eye(2), np.random.default_rng(0), Tiled())
    with pytest.raises(NotImplementedError):
        Representation().size(Linear(), 2, 2)


class Doubled:
    def transform(self, X):
        return 2 * np.asarray(X)


class Twice(Representation):
    """f = ⟨c, 2x⟩: the linear kernel times 4."""

    name = "twice"

    def __init__(self):
        pass

    def size(self, kernel, n, d):
        return d

    def build(self, kernel, X, rng, engine, seen=None):
        return Built(Matrix(2 * X), Identity(X.shape[1]), lambda c: FeatureFunction(Doubled(), c))


def test_a_representation_of_ones_own():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 3)), rng.standard_normal(20)
    machine = KernelRidge(Linear(), lam=0.4, representation=Twice(), offset=False).fit(X, y)
    w = np.linalg.solve(X.T @ X + 0.1 * 20 * np.eye(3), X.T @ y)  # λ/4 on the plain coordinates
    assert np.allclose(machine.predict(X), X @ w)
    assert machine.plan_.unknowns == 3
