"""Matrices between sets by an engine, against the kernel's own values."""

import numpy as np
import pytest

from mercer.engines import Engine, Tiled
from mercer.kernels import FunctionKernel, Gaussian, Linear, MeanEmbedding, Spectrum
from mercer.operators import sets
from mercer.operators.sets import SetsOperator

RNG = np.random.default_rng(0)
BAGS = [RNG.standard_normal((m, 3)) for m in (4, 1, 70, 2, 0, 2, 500, 30)]
OTHERS = [RNG.standard_normal((m, 3)) for m in (0, 3, 90)]
ENGINES = [Engine(), Tiled(), Tiled(threads=3, fused=True), Tiled(fused=False)]


def close_in_size(x, z):
    return 1.0 / (1 + abs(len(x) - len(z)))


@pytest.mark.parametrize("engine", ENGINES, ids=repr)
@pytest.mark.parametrize("elements", [3, 64, 1 << 16])
def test_vectors(engine, elements, monkeypatch):
    monkeypatch.setattr(sets, "_ELEMENTS", elements if elements > 3 else 100)
    k = MeanEmbedding(Gaussian(1.0))
    X, Z = k.points(BAGS), k.points(OTHERS)
    A = engine.operator(k, X)
    assert isinstance(A, SetsOperator)
    K = A.dense()
    assert np.allclose(K, k(BAGS)) and np.array_equal(K, K.T) and np.allclose(A.diag(), np.diag(K))
    assert np.allclose(engine.operator(k, X, Z).dense(), k(BAGS, OTHERS))
    V = RNG.standard_normal((len(BAGS), 2))
    assert np.allclose(A @ V, K @ V)
    assert np.allclose(A.facing(Z) @ V, k(OTHERS, BAGS) @ V)
    assert np.allclose(A.among(np.array([6, 0, 4])).dense(), K[[6, 0, 4]])
    assert np.allclose(A.single_threaded().dense(), K)


def test_single_precision():
    k = MeanEmbedding(Gaussian(1.0))
    A = Tiled(fused=True).operator(k, k.points([S.astype(np.float32) for S in BAGS]))
    assert A.dense().dtype == np.float64 and np.allclose(A.dense(), k(BAGS), atol=1e-6)


def test_objects():
    words = [["a", "bc"], [], ["def", "gh", ""]]
    for kernel, X in (
        (FunctionKernel(close_in_size), words),
        (MeanEmbedding(Gaussian(1.0)), [BAGS[:3], BAGS[3:5], [BAGS[5]]]),
        (MeanEmbedding(Spectrum(1)), [words[:2], words[2:]]),
    ):
        k = MeanEmbedding(kernel)
        assert np.allclose(Tiled().operator(k, k.points(X)).dense(), k(X))


def test_empty_sets_and_other_widths():
    k = MeanEmbedding(Linear())
    assert Tiled().operator(k, k.points([[], []])).dense().tolist() == [[0.0, 0.0]] * 2
    assert Tiled().operator(k, k.points(BAGS), k.points([[]])).dense().tolist() == [[0.0]] * len(BAGS)
    with pytest.raises(ValueError, match="3 coordinates on one side and 1 on the other"):
        Tiled().operator(k, k.points(BAGS), k.points([[[1.0]]])).dense()


def test_a_class_with_values_of_its_own_keeps_them():
    class Twice(MeanEmbedding):
        def pairwise(self, X, Z):
            return 2 * super().pairwise(X, Z)

    k = Twice(Gaussian(1.0))
    assert np.allclose(Tiled().operator(k, k.points(BAGS)).dense(), 2 * MeanEmbedding(Gaussian(1.0))(BAGS))
