"""A map that gives rows of different widths is refused, compiled or not, before anything is written."""

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.engines import Tiled
from mercer.kernels import Gaussian, Linear

RNG = np.random.default_rng(0)
X = RNG.standard_normal((9000, 3))
# The first block has five categories, a later one seven.
CODES = np.concatenate([RNG.integers(0, 5, 6000), RNG.integers(0, 7, 3000)])[:, None].astype(float)
CODES[:2] = 4.0


def one_hot(C):
    C = np.asarray(C).astype(int).ravel()
    return np.eye(C.max() + 1)[C]


@pytest.mark.parametrize("fused", [True, False], ids=["compiled", "NumPy"])
def test_a_width_that_changes_on_the_way(fused):
    k, engine = Gaussian(1.0).pullback(one_hot), Tiled(1, fused)
    few = np.concatenate([CODES[:2] * 0 + 4, CODES[:40]])
    for call in (
        lambda: engine.operator(k, CODES, few).product(np.ones(42)),
        lambda: engine.operator(k, few, CODES).product(np.ones(9000)),
        lambda: engine.operator(k, CODES, few).dense(),
        lambda: engine.operator(k, CODES, few).sandwich(np.ones((42, 2)), lambda rows, S: S),
        lambda: engine.operator(k, CODES, few).reduce(lambda rows, K: None),
    ):
        with pytest.raises(ValueError, match=r"the map gave . columns for these rows and . for others"):
            call()
    whole = one_hot(np.arange(5.0))
    right = engine.operator(k, CODES[:6000], few).product(
        np.ones(42)
    )  # where widths agree it is a kernel like any other
    expected = Gaussian(1.0)(whole[CODES[:6000, 0].astype(int)], whole[few[:, 0].astype(int)]) @ np.ones(42)
    np.testing.assert_allclose(right, expected, rtol=1e-12)


@pytest.mark.parametrize("fused", [True, False], ids=["compiled", "NumPy"])
def test_a_width_that_is_the_number_of_rows(fused):
    """A kernel in the place of a map, as a file may name it."""
    k = Gaussian(1.0).pullback(Linear())
    for call in (
        lambda: Tiled(1, fused).operator(k, X, X[:50]).product(np.ones(50)),
        lambda: Tiled(1, fused).operator(k + Linear().on([0]), X[:600], X[:50]).dense(),
        lambda: KernelRidge(k, lam=0.1, engine=Tiled(1, fused)).fit(X[:60], X[:60, 0]),
    ):
        with pytest.raises(ValueError, match="1 columns for one point and 2 for two.*how many there are"):
            call()
