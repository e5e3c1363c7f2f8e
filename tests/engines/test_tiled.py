"""The tiled engine: what the whole matrix gives, whatever the sizes, layouts and threads."""

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

from mercer.engines import Engine, Tiled, tiled
from mercer.kernels import FunctionKernel, Gaussian, Laplacian, Linear
from mercer.testing import check_engine

# Tile edges are at 16 and 64 rows, 512 (symmetric), 2048 columns; take sizes on both sides of them.
SIZES = [(0, 0), (0, 4), (4, 0), (1, 1), (1, 2049), (513, 1), (15, 17), (130, 63), (600, 2100)]


def gaussian(X, Z, sigma=1.3):
    """Written out with a broadcast, unlike the library's."""
    return np.exp(-((X[:, None].astype(float) - Z[None].astype(float)) ** 2).sum(axis=2) / (2 * sigma**2))


def data(n, m, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal((m, d)), rng


@pytest.mark.parametrize("engine", [Tiled(), Tiled(threads=1), Tiled(threads=2), Tiled(threads=5)], ids=repr)
def test_laws(engine):
    check_engine(engine)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("n, m", SIZES)
def test_against_the_dense_matrix(n, m, threads):
    X, Z, rng = data(n, m)
    K, k, engine = gaussian(X, Z), Gaussian(1.3), Tiled(threads=threads)
    V, w = rng.standard_normal((m, 2)), rng.uniform(0, 1, n)
    assert np.allclose(engine.operator(k, X, Z).dense(), K, rtol=0, atol=1e-13)
    assert np.allclose(engine.operator(k, X).dense(), gaussian(X, X), rtol=0, atol=1e-13)
    assert np.allclose(engine.operator(k, X, Z).product(V), K @ V, rtol=1e-12, atol=1e-11)
    assert np.allclose(engine.operator(k, X, Z).product(V[:, 0]), K @ V[:, 0], rtol=1e-12, atol=1e-11)
    assert np.allclose(engine.operator(k, X, Z).normal(V), K.T @ (K @ V), rtol=1e-12, atol=1e-9)
    assert np.allclose(
        engine.operator(k, X, Z).normal(V[:, 1], w), K.T @ (w * (K @ V[:, 1])), rtol=1e-12, atol=1e-9
    )
    two = np.column_stack([w, 1 - w])
    assert np.allclose(engine.operator(k, X, Z).normal(V, two), K.T @ (two * (K @ V)), rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("n, m", [(0, 3), (3, 0)])
def test_empty_shapes(n, m):
    X, Z, _ = data(n, m)
    engine, k = Tiled(), Gaussian(1.0)
    assert engine.operator(k, X, Z).dense().shape == (n, m)
    assert engine.operator(k, X, Z).product(np.ones((m, 2))).shape == (n, 2)
    assert engine.operator(k, X, Z).product(np.ones(m)).shape == (n,)
    assert not engine.operator(k, X, Z).product(np.ones(m)).any()
    assert engine.operator(k, X, Z).normal(np.ones((m, 2))).shape == (m, 2)
    assert not engine.operator(k, X, Z).normal(np.ones((m, 2))).any()


def test_threads_do_not_change_the_result():
    X, Z, rng = data(700, 900)
    V = rng.standard_normal((900, 3))
    one, two = (Tiled(threads=t).operator(Gaussian(1.0), X, Z).product(V) for t in (1, 2))
    # Heights of tiles may differ, and with them the order of sums inside BLAS; nothing else does.
    assert np.abs(one - two).max() < 1e-12 * np.abs(one).max()


def test_more_threads_than_rows(monkeypatch):
    monkeypatch.setattr(tiled, "_PAIRS_WORTH_THREADS", 0)
    X, Z, rng = data(3, 5)
    V = rng.standard_normal((5, 2))
    assert np.allclose(Tiled(threads=8).operator(Gaussian(1.3), X, Z).product(V), gaussian(X, Z) @ V)
    assert np.allclose(
        Tiled(threads=8).operator(Gaussian(1.3), X, Z).normal(V), gaussian(X, Z).T @ gaussian(X, Z) @ V
    )


def test_single_precision_stays_and_agrees():
    X, Z, rng = data(300, 400)
    V = rng.standard_normal((400, 2))
    X32, Z32, V32 = X.astype(np.float32), Z.astype(np.float32), V.astype(np.float32)
    K = gaussian(X32, Z32)
    for found, expected, terms in (
        (Tiled().operator(Gaussian(1.3), X32, Z32).dense(), K, 1),
        (Tiled().operator(Gaussian(1.3), X32, Z32).product(V32), K @ V32.astype(float), 400),
    ):
        assert found.dtype == np.float32
        assert np.abs(found - expected).max() < 1e-6 * np.sqrt(terms) * np.abs(expected).max()
    # Sums over all rows are kept in float64 until the end.
    normal = Tiled().operator(Gaussian(1.3), X32, Z32).normal(V32)
    exact = K.T @ (K @ V32.astype(float))
    assert normal.dtype == np.float32
    assert np.abs(normal - exact).max() < 1e-5 * np.abs(exact).max()


def test_mixed_precision_is_double():
    X, Z, _ = data(20, 30)
    assert Tiled().operator(Gaussian(1.0), X.astype(np.float32), Z).dense().dtype == np.float64


@pytest.mark.parametrize("change", ["fortran", "strided", "reversed", "read-only"])
def test_memory_layouts(change):
    X, Z, rng = data(90, 70)
    V = rng.standard_normal((70, 4))
    expected = gaussian(X, Z) @ V
    if change == "fortran":
        X, Z, V = (np.asfortranarray(a) for a in (X, Z, V))
    elif change == "strided":
        X, Z, V = (np.repeat(a, 2, axis=1)[:, ::2] for a in (X, Z, V))
    elif change == "reversed":
        X, expected = X[::-1], expected[::-1]
    for a in (X, Z, V):
        a.flags.writeable = False
    assert np.allclose(Tiled().operator(Gaussian(1.3), X, Z).product(V), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("container", [csr_array, csr_matrix])
def test_sparse_points(container):
    X, Z, rng = data(300, 450, d=6)
    X[X < 0.5], Z[Z < 0.5] = 0, 0
    V = rng.standard_normal((450, 2))
    for k in (Gaussian(1.3), Linear()):
        K = gaussian(X, Z) if k == Gaussian(1.3) else X @ Z.T
        assert np.allclose(
            Tiled(threads=2).operator(k, container(X), container(Z)).dense(), K, rtol=0, atol=1e-12
        )
        assert np.allclose(
            Tiled(threads=2).operator(k, container(X), container(Z)).product(V), K @ V, atol=1e-10
        )
        assert np.allclose(
            Tiled(threads=2).operator(k, container(X), container(Z)).normal(V), K.T @ (K @ V), atol=1e-8
        )


def test_object_points():
    words = np.array(["abc", "abd", "xyz", "", "aaa", "xbz", "q"], dtype=object)

    def common(a, b):
        return len(set(a) & set(b))

    K = np.array([[common(a, b) for b in words] for a in words], float)
    k = FunctionKernel(common)
    assert np.array_equal(Tiled().operator(k, words).dense(), K)
    assert np.array_equal(Tiled().operator(k, words[:3], words).dense(), K[:3])
    assert np.allclose(Tiled().operator(k, words).product(np.arange(7.0)), K @ np.arange(7.0))


def test_gram_writes_into_out():
    X, Z, _ = data(30, 40)
    out = np.full((30, 40), np.nan, np.float32)
    assert Tiled().operator(Gaussian(1.3), X, Z).fill(out) is out
    assert np.allclose(out, gaussian(X, Z), atol=1e-6)


def test_gram_of_one_set_is_symmetric_to_the_bit():
    X, _, _ = data(1100, 0)
    for k in (Gaussian(1.0), Laplacian(0.7)):
        K = Tiled(threads=2).operator(k, X).dense()
        assert np.array_equal(K, K.T)


def test_reduce_sees_each_row_once_and_adds_up():
    X, Z, _ = data(5000, 300)
    K = gaussian(X, Z)
    seen = np.zeros(5000, int)

    def step(rows, block):
        seen[rows] += 1
        assert np.allclose(block, K[rows], atol=1e-12)
        return block.sum(axis=0)

    parts = Tiled(threads=2).operator(Gaussian(1.3), X, Z).reduce(step)
    assert (seen == 1).all()
    assert np.allclose(sum(parts), K.sum(axis=0))


def test_an_error_inside_a_tile_comes_out():
    X, Z, _ = data(600, 600)

    class Broken(Gaussian):
        def pairwise(self, X, Z):
            raise RuntimeError("no kernel today")

    for threads in (1, 2):
        with pytest.raises(RuntimeError, match="no kernel today"):
            Tiled(threads=threads).operator(Broken(1.0), X, Z).product(np.ones(600))


@pytest.mark.parametrize("threads", [0, -1, "two", 1.5])
def test_threads_must_be_a_count(threads):
    with pytest.raises(ValueError, match="threads must be a positive integer or None"):
        Tiled(threads=threads).validate()
    with pytest.raises(ValueError, match="threads must be a positive integer or None"):
        Tiled(threads=threads).operator(Gaussian(1.0), np.ones((2, 1))).dense()


def test_memory_stays_bounded():
    """K would take 400 MB; the product must not."""
    import tracemalloc

    X, Z, rng = data(5000, 10_000, d=2)
    V = rng.standard_normal(10_000)
    tracemalloc.start()
    try:
        Tiled(threads=1).operator(Gaussian(1.0), X, Z).product(V)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40e6


def test_the_contract_alone_computes_by_numpy():
    check_engine(Engine())


# -- for many calls ---------------------------------------------------------------------------------------


def common(a, b):
    return len(set(a) & set(b))


ROW_KINDS = {
    "numpy": (Tiled(threads=1, fused=False), 3),
    "loops": (Tiled(threads=1, fused=True), 3),
    "loops, two threads": (Tiled(threads=2, fused=True), 3),
    "loops, wide": (Tiled(threads=2, fused=True), 60),
    "loops, BLAS": (Tiled(threads=1, fused=True), 300),
    "auto": (Tiled(), 3),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ROW_KINDS)
def test_row_maker(kind, dtype):
    """Any rows, in any order, as often as one likes, into rows of a larger array."""
    engine, d = ROW_KINDS[kind]
    X = (data(410, 0, d)[0] / np.sqrt(d)).astype(dtype)
    K, fill = gaussian(X, X), engine.operator(Gaussian(1.3), X).row_filler()
    rng = np.random.default_rng(1)
    close = 4e-6 if dtype == np.float32 else 1e-13
    for size in (1, 2, 15, 100, 410):
        index = rng.permutation(410)[:size]
        room = np.full((size, 416), -7, dtype)
        fill(index, room[:, :410])
        assert np.abs(room[:, :410] - K[index]).max() < close
        assert (room[:, 410:] == -7).all()
        again = np.empty((size, 410), dtype)
        fill(index, again)
        assert np.array_equal(again, room[:, :410])


@pytest.mark.parametrize("fused", [False, True])
def test_row_maker_on_sparse_points(fused):
    X = data(200, 0, 8)[0]
    X[X < 0.5] = 0
    fill = Tiled(threads=1, fused=fused).operator(Gaussian(1.3), csr_matrix(X)).row_filler()
    out, index = np.empty((3, 200)), np.array([7, 199, 0])
    fill(index, out)
    assert np.abs(out - gaussian(X[index], X)).max() < 1e-13


def test_row_maker_on_objects():
    words = np.array(["abc", "abd", "xyz", "", "aaa"], dtype=object)
    fill = Tiled(fused=True).operator(FunctionKernel(common), words).row_filler()
    out = np.empty((2, 5))
    fill(np.array([3, 1]), out)
    assert np.array_equal(out, [[0] * 5, [common("abd", w) for w in words]])


def test_row_filler_of_the_contract():
    """An engine that overrides nothing."""

    class Plain(Engine):
        pass

    X = data(20, 0)[0]
    fill, out = Plain().operator(Gaussian(1.3), X).row_filler(), np.empty((2, 20))
    fill(np.array([4, 4]), out)
    assert np.allclose(out, gaussian(X[[4, 4]], X))
    assert Plain().expecting(10**12) == Plain() == Plain().single_threaded()


def test_row_maker_refuses_room_it_cannot_fill():
    X = data(50, 0)[0]
    fill = Tiled(threads=1, fused=True).operator(Gaussian(1.3), X).row_filler()
    for out in (np.empty((2, 50), np.float32), np.empty((2, 100))[:, ::2]):
        with pytest.raises(ValueError, match="out must hold whole rows of float64"):
            fill(np.array([0, 1]), out)


def test_an_engine_for_many_small_pieces():
    """Compiled loops are worth it for the sum of the work, though for no piece of it."""
    assert Tiled(threads=3).expecting(1 << 30) == Tiled(threads=3, fused=True)
    assert Tiled(threads=3).expecting(100) == Tiled(threads=3)
    for chosen in (True, False):
        assert Tiled(fused=chosen).expecting(1 << 30) == Tiled(fused=chosen)


def test_an_engine_for_one_of_several_threads():
    for fused in (None, True, False):
        assert Tiled(threads=8, fused=fused).single_threaded() == Tiled(threads=1, fused=fused)


# -- sparse points, written out ---------------------------------------------------------------------------


def thin(n, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[rng.random((n, d)) < 0.8] = 0
    return X


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [5, 90])
@pytest.mark.parametrize("container", [csr_array, csr_matrix])
def test_sparse_points_by_compiled_loops(container, d, dtype):
    X, Z = thin(60, d, 0).astype(dtype) / 3, thin(310, d, 1).astype(dtype) / 3
    V = np.random.default_rng(2).standard_normal((310, 2))
    engine, close = Tiled(threads=2, fused=True), 1e-5 if dtype == np.float32 else 1e-12
    for left, right in ((container(X), container(Z)), (X, container(Z)), (container(X), Z)):
        assert engine.operator(Gaussian(1.3), left, right).loops() is not None
        K = gaussian(X, Z)
        assert np.abs(engine.operator(Gaussian(1.3), left, right).dense() - K).max() < close
        assert np.abs(engine.operator(Gaussian(1.3), left, right).product(V) - K @ V).max() < 310 * close
        normal = engine.operator(Gaussian(1.3), left, right).normal(V)
        assert np.abs(normal - K.T @ (K @ V)).max() < 310 * 60 * close
    P = container(X)
    assert np.abs(engine.operator(Gaussian(1.3), P).dense() - gaussian(X, X)).max() < close
    assert (
        np.abs(engine.operator(Gaussian(1.3), P).product(V[:60]) - gaussian(X, X) @ V[:60]).max() < 60 * close
    )


def test_sparse_points_too_many_to_be_written_out(monkeypatch):
    monkeypatch.setattr(tiled, "_FILLED_BYTES", 60 * 5 * 8 - 1)
    X = thin(60, 5, 0)
    engine = Tiled(threads=1, fused=True)
    assert engine.operator(Gaussian(1.3), csr_matrix(X)).loops() is None
    assert "too many to be written out" in engine.operator(Gaussian(1.3), csr_matrix(X)).remark(1 << 30)
    assert np.abs(engine.operator(Gaussian(1.3), csr_matrix(X)).dense() - gaussian(X, X)).max() < 1e-12
    fill, out = engine.operator(Gaussian(1.3), csr_matrix(X)).row_filler(), np.empty((2, 60))
    fill(np.array([5, 59]), out)
    assert np.abs(out - gaussian(X[[5, 59]], X)).max() < 1e-12
    monkeypatch.setattr(tiled, "_FILLED_BYTES", 60 * 5 * 8)
    assert engine.operator(Gaussian(1.3), csr_matrix(X)).loops() is not None


@pytest.mark.parametrize("fused", [True, False])
def test_out_that_kernel_values_do_not_fit_into_is_refused(fused):
    X = np.random.default_rng(0).standard_normal((6, 2))
    place = np.lib.stride_tricks.as_strided(np.zeros(40), (6, 6), (8, 8))
    for out, words in (
        (np.zeros((6, 6), int), "don't fit into int64"),
        (np.zeros((6, 6), np.float16), "don't fit into float16"),
        (place, "share memory"),
    ):
        with pytest.raises(ValueError, match=words):
            Tiled(1, fused).operator(Gaussian(1.0), X, X.copy()).fill(out)
    for out in (np.zeros((6, 6)).T, np.zeros((12, 12))[::-2, ::2], np.zeros((6, 6), ">f8")):
        np.testing.assert_allclose(
            Tiled(1, fused).operator(Gaussian(1.0), X).fill(out), Gaussian(1.0)(X), rtol=1e-12
        )
