"""tr(KL) in many orders, by factors and by pairs, against the matrices written out."""

import numpy as np
import pytest

from mercer.engines import Tiled
from mercer.kernels import Gaussian, Laplacian, Linear
from mercer.theory import orders
from mercer.theory.orders import Centred, below_diagonal, traces_in_orders

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((60, 2)), RNG.standard_normal((60, 1))


def centred(kernel, points):
    return Centred(Tiled().operator(kernel, points))


def written_out(kernel, points):
    n = len(points)
    H = np.eye(n) - 1 / n
    return H @ kernel(points) @ H


@pytest.mark.parametrize(
    "kernels", [(Linear(), Linear()), (Laplacian(1.0), Laplacian(1.0)), (Gaussian(3.0), Laplacian(1.0))]
)
def test_traces(kernels, monkeypatch):
    monkeypatch.setattr(orders, "_ENTRIES", 60 * 7)  # orders come in parts
    K, L = (written_out(k, P) for k, P in zip(kernels, (X, Y), strict=True))
    products, traces = traces_in_orders(*map(centred, kernels, (X, Y)), 25, np.random.default_rng(1))
    rng = np.random.default_rng(1)
    drawn = np.concatenate([rng.permuted(np.tile(np.arange(60), (c, 1)), axis=1) for c in (7, 7, 7, 5)])
    drawn[0] = np.arange(60)
    assert np.allclose(products, [np.sum(K * L[np.ix_(p, p)]) for p in drawn])
    assert np.allclose(traces, [np.diag(K) @ np.diag(L)[p] for p in drawn])


def test_factors_are_made_where_they_are_small():
    assert centred(Linear(), X).factor.shape == (60, 2)
    assert centred(Laplacian(0.1), X).factor is None
    for kernel in (Linear(), Laplacian(1.0)):
        K = centred(kernel, X)
        assert np.allclose(K.whole, written_out(kernel, X)) and np.allclose(K.squares, np.diag(K.whole))
        assert np.isclose(K.largest, np.abs(kernel(X)).max())


def test_without_a_compiler(monkeypatch):
    K, L = centred(Laplacian(1.0), X), centred(Laplacian(1.0), Y)
    expected = traces_in_orders(K, L, 20, np.random.default_rng(1))[0]
    monkeypatch.setattr(orders, "_compiled", lambda: None)
    assert np.allclose(traces_in_orders(K, L, 20, np.random.default_rng(1))[0], expected)


def test_the_loop_as_python():
    K, L, drawn = (
        written_out(Linear(), X[:7]),
        written_out(Linear(), Y[:7]),
        np.array([RNG.permutation(7)] * 2),
    )
    out = np.zeros(2)
    below_diagonal(K, L, drawn, out, 1, 2, 7)
    assert out[0] == 0 and np.isclose(out[1], np.sum(np.tril(K * L[np.ix_(drawn[1], drawn[1])], -1)))
