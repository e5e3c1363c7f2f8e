"""K(X, X) of wide points, where every pair is computed once and copied: the same as computed twice."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from mercer.engines import Tiled
from mercer.engines.fused import run
from mercer.engines.fused.run import Fused
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial

BOUND = {np.dtype(np.float32): 8e-6, np.dtype(np.float64): 1e-12}
SIZES = (1, 2, 15, 17, 63, 257, 700, 1001)


def points(n, d, dtype=np.float64):
    return np.random.default_rng([n, d]).uniform(-1, 1, (n, d)).astype(dtype) / np.sqrt(d)


def dense(k, X):
    return k.pairwise(X.astype(np.float64), X.astype(np.float64))


@pytest.fixture
def mirrored(monkeypatch):
    """How many blocks of rows were completed by copying."""
    calls, mirror = [], Fused._mirror

    def noted(self, out, rows):
        calls.append(rows)
        mirror(self, out, rows)

    monkeypatch.setattr(Fused, "_mirror", noted)
    return calls


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [60, 300])
@pytest.mark.parametrize("n", SIZES)
def test_the_same_as_every_pair_twice(n, d, dtype, mirrored):
    X = points(n, d, dtype)
    for k in (Gaussian(0.5), Linear(), Laplacian(0.7) * Polynomial(2)):
        for threads in (1, 2):
            engine = Tiled(threads=threads, fused=True)
            mirrored.clear()
            found = engine.operator(k, X).dense()
            assert mirrored, "nothing was copied"
            mirrored.clear()
            twice = engine.operator(k, X, X.copy()).dense()
            assert not mirrored
            K = dense(k, X)
            close = BOUND[np.dtype(dtype)] * max(np.abs(K).max(), 1e-30)
            assert np.abs(found - K).max() <= close and np.abs(twice - K).max() <= close


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [60, 300])
@pytest.mark.parametrize("rows, packed, mirror", [(50, 1 << 24, 512), (128, 1 << 16, 512), (300, 1, 7)])
def test_blocks_and_packs_of_any_size(d, dtype, rows, packed, mirror, monkeypatch):
    """Blocks of rows that end inside tiles, and columns that are packed in several turns."""
    monkeypatch.setattr(run, "_ROWS", rows)
    monkeypatch.setattr(run, "_PACKED_BYTES", packed)
    monkeypatch.setattr(run, "_MIRROR", mirror)
    X, k = points(1203, d, dtype), Matern(1.5, 0.6)
    for threads in (1, 3):
        found = Tiled(threads=threads, fused=True).operator(k, X).dense()
        assert np.abs(found - dense(k, X)).max() <= BOUND[np.dtype(dtype)]


@pytest.mark.parametrize("d", [60, 300])
def test_into_rows_that_lie_further_apart(d):
    """As the dual solver keeps them: what lies beyond the matrix is left alone."""
    X, k = points(333, d), Gaussian(0.5)
    room = np.full((333, 352), -7.0)
    Tiled(threads=2, fused=True).operator(k, X).fill(room[:, :333])
    assert np.abs(room[:, :333] - dense(k, X)).max() <= 1e-12
    assert (room[:, 333:] == -7).all()


def test_narrow_points_are_computed_twice(mirrored):
    """A value that costs less than its copy."""
    X = points(300, 5)
    assert (
        np.abs(
            Tiled(threads=1, fused=True).operator(Gaussian(0.5), X).dense() - dense(Gaussian(0.5), X)
        ).max()
        < 1e-13
    )
    assert not mirrored
    assert run._MIRRORED_WIDTH > 5


def test_points_that_coincide():
    X = points(400, 60)
    X[200:] = X[:200]
    found = Tiled(threads=2, fused=True).operator(Gaussian(0.5), X).dense()
    assert np.abs(found - dense(Gaussian(0.5), X)).max() <= 1e-12
    assert np.abs(np.diag(found) - 1).max() <= 1e-15 and np.abs(np.diag(found, 200) - 1).max() <= 1e-15
