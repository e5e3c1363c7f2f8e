"""Where kernel values come from: computed, kept in part or all in memory, always the dense matrix's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from mercer.engines import Tiled
from mercer.engines.tiled import TiledOperator
from mercer.kernels import Finite, FunctionKernel, Gaussian, Sigmoid
from mercer.operators import Matrix
from mercer.solvers.dual import columns
from mercer.solvers.dual.columns import Cached, Computed, Factored, Stored, columns_of, combine

RNG = np.random.default_rng(0)
N = 150
X = RNG.standard_normal((N, 3))
K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 2)
PHI = RNG.standard_normal((N, 7))
WORDS = np.array(["".join(RNG.choice(list("abcdef"), RNG.integers(1, 6))) for _ in range(N)], dtype=object)
WORD_K = np.array([[len(set(a) & set(b)) for b in WORDS] for a in WORDS], float)
INDEX = np.arange(N)


def common(a, b):
    return len(set(a) & set(b))


def operator(kernel, points, engine=None):
    return (engine or Tiled(threads=1)).operator(kernel, points)


def rows_bytes(count, dtype=np.float64):
    return count * -(-N // 32) * 32 * np.dtype(dtype).itemsize


# name → (columns, dense matrix, accuracy)
def ways():
    gaussian, words = operator(Gaussian(1.0), X), operator(FunctionKernel(common), WORDS)
    single = operator(Gaussian(1.0), X.astype(np.float32))
    compiled = operator(Gaussian(1.0), X, Tiled(threads=2, fused=True))
    matrix = operator(Finite(K), INDEX)
    return {
        "computed": (Computed(gaussian), K, 1e-12),
        "computed by loops": (Computed(compiled), K, 1e-12),
        "computed, single": (Computed(single), K, 1e-5),
        "computed, words": (Computed(words), WORD_K, 1e-12),
        "computed, matrix": (Computed(matrix), K, 1e-12),
        "cached": (Cached(gaussian, rows_bytes(N)), K, 1e-12),
        "cached by loops": (Cached(compiled, rows_bytes(40)), K, 1e-12),
        "cached, seven rows": (Cached(gaussian, rows_bytes(7)), K, 1e-12),
        "cached, one row": (Cached(gaussian, 1), K, 1e-12),
        "cached, single": (Cached(single, rows_bytes(50, np.float32)), K, 1e-5),
        "cached, words": (Cached(words, rows_bytes(N)), WORD_K, 1e-12),
        "cached, 30 words": (Cached(words, rows_bytes(30)), WORD_K, 1e-12),
        "cached, matrix": (Cached(matrix, rows_bytes(20)), K, 1e-12),
        "stored": (Stored(Matrix(K)), K, 1e-12),
        "stored, single": (Stored(Matrix(K.astype(np.float32))), K, 1e-5),
        "factored": (Factored(Matrix(PHI)), PHI @ PHI.T, 1e-11),
        "factored, sparse": (Factored(Matrix(csr_array(PHI))), PHI @ PHI.T, 1e-11),
        "factored, single": (Factored(Matrix(PHI.astype(np.float32))), PHI @ PHI.T, 1e-3),
    }


NAMES = list(ways())


@pytest.mark.parametrize("name", NAMES)
def test_many_calls_in_any_order(name):
    """Blocks and products, again and again, so that rows are kept, lost and computed anew."""
    source, dense, close = ways()[name]
    rng = np.random.default_rng(1)
    assert source.n == N and 1 <= source.working_set(20) <= N
    for turn in range(40):
        size = int(rng.integers(1, 60))
        index = rng.permutation(N)[:size]
        if not isinstance(source, Stored):
            out = np.full((size, size), np.nan, source.dtype)
            source.block(index, out)
            assert np.abs(out - dense[np.ix_(index, index)]).max() < close
        factors = rng.standard_normal(size)
        g = rng.standard_normal(N)
        expected = g + dense[:, index] @ factors
        source.add(g, None, index, factors)
        assert g.dtype == np.float64
        assert np.abs(g - expected).max() < close * max(np.abs(factors).sum(), 1), turn


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("computed")])
def test_products_for_some_rows(name):
    """The same rows several times in a row, then others, then all."""
    source, dense, close = ways()[name]
    assert source.partial
    rng = np.random.default_rng(2)
    for _ in range(3):
        rows = np.sort(rng.permutation(N)[: int(rng.integers(1, N))])
        for _ in range(3):
            index, factors, g = rng.permutation(N)[:11], rng.standard_normal(11), rng.standard_normal(N)
            expected = g.copy()
            expected[rows] += dense[np.ix_(rows, index)] @ factors
            source.add(g, rows, index, factors)
            assert np.abs(g - expected).max() < 20 * close
        g, expected = np.zeros(N), dense[:, index] @ factors
        source.add(g, None, index, factors)
        assert np.abs(g - expected).max() < 20 * close


# -- the cache --------------------------------------------------------------------------------------------


class CountingOperator(TiledOperator):
    def row_filler(self):
        fill = super().row_filler()

        def counted(index, out):
            self.engine.asked += index.tolist()
            fill(index, out)

        return counted


class Counting(Tiled):
    """Counts the rows asked for."""

    makes = CountingOperator


def counting(capacity):
    engine = Counting(threads=1)
    engine.asked = []
    return Cached(operator(Gaussian(1.0), X, engine), rows_bytes(capacity)), engine


def test_rows_are_computed_once_while_there_is_room():
    cache, engine = counting(N)
    assert cache.capacity == N
    for index in (np.arange(20), np.arange(10, 30), np.arange(30)[::-1]):
        cache.add(np.zeros(N), None, index, np.ones(len(index)))
    assert sorted(engine.asked) == list(range(30))


def test_the_oldest_rows_make_room():
    cache, engine = counting(10)
    assert cache.capacity == 10

    def use(*index):
        engine.asked.clear()
        g, i = np.zeros(N), np.array(index)
        cache.add(g, None, i, np.ones(len(i)))
        assert np.allclose(g, K[:, i].sum(axis=1))
        held = np.flatnonzero(cache.slot >= 0)
        # Every slot that is said to hold a row does.
        for k in held:
            assert cache.owner[cache.slot[k]] == k
            assert np.allclose(cache.rows[cache.slot[k], :N], K[k])
        return engine.asked.copy(), set(held.tolist())

    assert use(0, 1, 2, 3) == ([0, 1, 2, 3], {0, 1, 2, 3})
    assert use(4, 5, 6, 7)[1] == set(range(8))
    # Two slots are left, three rows do not fit: the round begins again, over the oldest.
    assert use(8, 9, 10) == ([8, 9, 10], {8, 9, 10, 3, 4, 5, 6, 7})
    assert use(3, 7) == ([], {8, 9, 10, 3, 4, 5, 6, 7})
    assert use(3, 0)[0] == [0]
    # More rows than the cache holds come in parts.
    asked, _ = use(*range(20, 60))
    assert asked == list(range(20, 60))


@settings(max_examples=40)
@given(
    capacity=st.integers(1, 12),
    calls=st.lists(st.lists(st.integers(0, 19), min_size=1, max_size=20, unique=True), max_size=12),
)
def test_any_sequence_of_calls(capacity, calls):
    few = K[:20, :20]
    kernel = FunctionKernel(lambda a, b: few[int(a), int(b)])
    points = np.array([float(i) for i in range(20)], dtype=object)
    cache = Cached(operator(kernel, points), capacity * 32 * 8)
    assert cache.capacity == capacity
    for index in calls:
        index = np.array(index)
        out = np.empty((len(index), len(index)))
        cache.block(index, out)
        assert np.allclose(out, few[np.ix_(index, index)])
        g, factors = np.zeros(20), index - 7.5
        cache.add(g, None, index, factors)
        assert np.allclose(g, few[:, index] @ factors)


# -- sums of rows -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("llvm", [True, False], ids=["compiled", "numpy"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 300])
@pytest.mark.parametrize("width", [32, 96, 5000 // 32 * 32])
def test_combine(width, count, dtype, llvm, monkeypatch):
    """Sums are float64 whatever the rows; rows may be chosen twice; what was there stays."""
    if not llvm:
        monkeypatch.setattr(columns, "_compiled", lambda *_: None)
    rng = np.random.default_rng(count)
    rows = rng.standard_normal((40, width)).astype(dtype)
    index, factors = rng.integers(0, 40, count), 1e3 * rng.standard_normal(count)
    before = rng.standard_normal(width)
    for threads in (1, 3):
        out = before.copy()
        combine(rows, index, factors, out, threads)
        expected = before + rows[index].astype(float).T @ factors
        assert np.abs(out - expected).max() <= 1e-14 * max(count, 1) * 1e4


def test_combine_takes_rows_of_a_wider_array():
    rows = RNG.standard_normal((10, 100))[:, :64]
    out = np.zeros(64)
    combine(rows, np.array([2, 7]), np.array([1.0, -2.0]), out, 1)
    assert np.allclose(out, rows[2] - 2 * rows[7])


def test_many_rows_on_several_threads():
    rows = RNG.standard_normal((300, 8192)).astype(np.float32)
    out = np.zeros(8192)
    combine(rows, np.arange(300), np.ones(300), out, 2)
    assert np.abs(out - rows.astype(float).sum(axis=0)).max() < 1e-10


def test_stored_is_padded_both_ways():
    source = Stored(Matrix(K))
    assert source.values.shape == (160, 160)
    assert not source.values[:, N:].any() and not source.values[N:].any()
    np.testing.assert_array_equal(source.values[:N, :N], K)
    assert source.working_set(3) == N


def test_combine_refuses_what_it_could_not_stay_inside_of():
    rows, out, one = np.ones((4, 64)), np.zeros(64), np.ones(1)
    for index in (-1, 4, 2**40):
        with pytest.raises(IndexError, match="4 rows"):
            combine(rows, np.array([index]), one, out, 1)
    wrong = [
        (rows, one, np.ones(2), out),
        (rows[:, ::2], one, one, out[:32]),
        (rows[:, :40], one, one, out[:40]),
        (rows, one, one, out[:32]),
        (rows, one, one, out.astype(np.float32)),
        (rows.astype(int), one, one, out),
        (rows, one, one, rows[3]),
    ]
    for r, i, f, o in wrong:
        with pytest.raises(ValueError):
            combine(r, i.astype(int), f, o, 1)
    assert not out.any()


# -- which one --------------------------------------------------------------------------------------------


def chosen(K, cache, block=10):
    return type(columns_of(K, cache, block))


def test_what_suits_a_kernel():
    wide = RNG.standard_normal((N, 100))
    cheap, costly = operator(Gaussian(1.0), X), operator(Gaussian(1.0), wide)
    everything = rows_bytes(N)
    assert chosen(cheap, everything) is Computed
    assert chosen(cheap, everything, block=N) is Stored
    assert chosen(costly, everything) is Cached
    assert chosen(costly, rows_bytes(1)) is Computed
    assert chosen(operator(Gaussian(1.0), X, Tiled(fused=False)), everything) is Cached
    assert chosen(operator(FunctionKernel(common), WORDS), everything) is Stored
    assert chosen(operator(FunctionKernel(common), WORDS), rows_bytes(5)) is Cached

    class Own(Gaussian):
        def pairwise(self, X, Z):
            return super().pairwise(X, Z)

    assert chosen(operator(Own(1.0), X), everything) is Cached

    class Elsewhere(Tiled):
        remote = True

    assert chosen(operator(Gaussian(1.0), wide, Elsewhere()), everything) is Computed


def test_a_stored_matrix_is_the_kernel_matrix():
    for kernel, points, dense in ((Gaussian(1.0), X, K), (FunctionKernel(common), WORDS, WORD_K)):
        found = columns_of(operator(kernel, points), 1 << 30, N)
        assert isinstance(found, Stored)
        assert np.allclose(found.values[:N, :N], dense)


def test_indefinite_values_are_passed_on_as_they_are():
    k = Sigmoid(1.0, -1.0)
    source = Computed(operator(k, X))
    out = np.empty((N, N))
    source.block(INDEX, out)
    assert np.allclose(out, np.tanh(X @ X.T - 1))


def test_the_cache_takes_smaller_working_sets():
    """So that a row is computed for coefficients that are likely to change."""
    cache = Cached(operator(Gaussian(1.0), X), rows_bytes(N))
    assert cache.working_set(10**6) == N and cache.working_set(9) == 9
    cache.n = 100_000
    assert cache.working_set(10**6) == 100_000 // 16
