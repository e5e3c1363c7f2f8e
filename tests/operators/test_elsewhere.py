"""An operator whose rows live elsewhere: sums as those of the matrix, and nothing as long as the rows."""

import pickle

import numpy as np
import pytest

from mercer.engines import Tiled
from mercer.features import RandomFourierFeatures
from mercer.kernels import Gaussian
from mercer.operators import Elsewhere
from mercer.operators.elsewhere import FacingColumns, FacingFeatures, FacingShifted, OnShards
from mercer.rows import ArrayRows

rng = np.random.default_rng(0)
X = rng.standard_normal((53, 2))
y, w = rng.standard_normal((53, 2)), rng.random(53)
FOURIER = RandomFourierFeatures(Gaussian(1.0), n_features=8, random_state=0).fit(X)
MEAN = rng.standard_normal(7)
WAYS = {
    "columns": (FacingColumns(Tiled(), Gaussian(1.0), X[:7]), Gaussian(1.0)(X, X[:7])),
    "features": (FacingFeatures(FOURIER, 8, X.dtype), FOURIER.transform(X)),
    "shifted": (
        FacingShifted(FacingColumns(Tiled(), Gaussian(1.0), X[:7]), MEAN),
        Gaussian(1.0)(X, X[:7]) - MEAN,
    ),
}


def summed(A, y, w, first, v):
    """What a pass adds up: Aᵀ(w ∘ (A v − y)), and numbers of rows."""
    return A.adjoint(w[:, None] * (A @ v - y)), float(first + np.arange(len(y)) @ np.ones(len(y)))


@pytest.mark.parametrize("rows", [1, 10, 53])
@pytest.mark.parametrize("name", WAYS)
def test_sums_are_those_of_the_matrix(name, rows):
    facing, M = WAYS[name]
    A = Elsewhere(ArrayRows(X, y, w, rows), facing, M.shape[1], X.dtype)
    v = rng.standard_normal((M.shape[1], 2))
    total = A.adding(summed)
    for _ in range(2):  # a pass each
        found, _ = total(v)
        assert np.allclose(found, M.T @ (w[:, None] * (M @ v - y)))
    assert A.shape == M.shape and A.dtype == X.dtype


@pytest.mark.parametrize("name", WAYS)
def test_some_rows_in_memory(name):
    facing, M = WAYS[name]
    some = np.array([0, 9, 10, 11, 52])
    part, targets, weights = Elsewhere(ArrayRows(X, y, w, 10), facing, M.shape[1], X.dtype).taken(some)
    assert np.allclose(part @ np.eye(M.shape[1]), M[some])
    assert np.array_equal(targets, y[some]) and np.array_equal(weights, w[some])


@pytest.mark.parametrize("name", WAYS)
def test_tasks_travel(name):
    """To another process, where they give the same numbers; what was prepared here stays here."""
    facing, M = WAYS[name]
    task = OnShards(facing, summed)
    shard = ArrayRows(X, y, w, 10).shard(2)
    v = rng.standard_normal((M.shape[1], 2))
    here = task(shard, v)
    packed = pickle.dumps(task)
    assert len(packed) < 20_000
    there = pickle.loads(packed)(shard, v)
    assert np.array_equal(here[0], there[0]) and here[1] == there[1]


def test_points_of_another_precision():
    facing, M = WAYS["columns"]
    assert np.allclose(facing(X.astype(np.float32)) @ np.eye(7), M, atol=1e-6)


def test_there_are_no_rows_here():
    A = Elsewhere(ArrayRows(X, y), *(WAYS["columns"][0], 7, X.dtype))
    for ask in (lambda: A @ np.ones(7), lambda: list(A.blocks()), lambda: A.adjoint(np.ones(53))):
        with pytest.raises(TypeError, match="live elsewhere"):
            ask()
