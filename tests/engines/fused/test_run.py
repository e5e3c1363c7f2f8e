"""Fused loops against the dense float64 matrix: every kernel, random composites, odd shapes, hard places."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import mercer.kernels
from mercer.engines import Tiled
from mercer.engines.fused import run
from mercer.kernels import (
    ArcCosine,
    ChiSquared,
    Constant,
    Cosine,
    Gaussian,
    HistogramIntersection,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)
from mercer.testing import check_engine

# Differences (up to 4), unrolled loops (up to 16), loops (up to 40), BLAS.
DIMENSIONS = (1, 2, 3, 5, 17, 33, 50, 230)
DTYPES = (np.float32, np.float64)
# Errors of a product, in parts of Σ|K||V|.
BOUND = {np.dtype(np.float32): 2e-6, np.dtype(np.float64): 5e-14}
fused = Tiled(threads=1, fused=True)


def points(n, m, d, dtype=np.float64, seed=0):
    """Positive points, so that histogram kernels take them, of size about 1; some common to both sets."""
    rng = np.random.default_rng(seed)
    X, Z = (rng.uniform(0.05, 2 / np.sqrt(d), (size, d)).astype(dtype) for size in (n, m))
    Z[: min(n, m) // 4] = X[: min(n, m) // 4]
    return X, Z


def dense(k, X, Z):
    return k.pairwise(X.astype(np.float64), Z.astype(np.float64))


def right(k, X, Z, *, columns=(1,), normal=False, bound=None):
    """Products and the matrix are what the dense float64 matrix gives, and come from compiled loops."""
    assert fused.operator(k, X, Z).loops() is not None
    K, bound = dense(k, X, Z), BOUND[np.result_type(X, Z)] if bound is None else bound
    found = fused.operator(k, X, Z).dense()
    assert found.dtype == np.result_type(X, Z)
    assert np.abs(found - K).max() <= 4 * bound * np.abs(K).max()
    rng = np.random.default_rng(1)
    for t in columns:
        V = rng.standard_normal((len(Z), t)).astype(X.dtype)
        W = V.astype(np.float64)
        assert (np.abs(fused.operator(k, X, Z).product(V) - K @ W) <= bound * (np.abs(K) @ np.abs(W))).all()
    if normal:
        w = rng.uniform(0, 2, len(X)).astype(X.dtype)
        exact, size = K.T @ (w[:, None] * (K @ W)), np.abs(K).T @ (w[:, None] * (np.abs(K) @ np.abs(W)))
        assert (np.abs(fused.operator(k, X, Z).normal(V, w) - exact) <= 2 * bound * size).all()


def exported(P):
    """An object of every exported kernel class that has one on vectors."""
    out = []
    for name in mercer.kernels.__all__:
        found = getattr(mercer.kernels, name)
        if isinstance(found, type) and issubclass(found, Kernel):
            try:
                k = found().resolve(P)
                k(P)
            except (TypeError, ValueError, AttributeError, NotImplementedError):
                continue
            out.append(k)
    return out


KERNELS = exported(points(20, 1, 3)[0])
MORE = [
    Laplacian(0.7, norm="l1"),
    Matern(0.5, 0.8),
    Matern(2.5, 1.1),
    RationalQuadratic(0.3, 0.9),
    Polynomial(5, 0.3),
    ArcCosine(0),
    ArcCosine(2),
    0.5 * Gaussian(1.0) + Laplacian(2.0) * Polynomial(2),
    (Gaussian(1.0) + Linear()).normalize(),
    (0.3 * Linear()).exp(),
    Sigmoid(0.3, -0.1),
    Constant(2.0),
]


@pytest.mark.parametrize("threads", [1, 2])
def test_laws(threads):
    check_engine(Tiled(threads=threads, fused=True))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", KERNELS + MORE, ids=repr)
def test_every_kernel(k, dtype):
    X, Z = points(43, 301, 3, dtype)
    # χ² divides by x + z, arccos is steep at ±1: what rounding of the inputs does to these is larger.
    steep = isinstance(k, ArcCosine)
    right(
        k,
        X,
        Z,
        columns=(1, 3),
        normal=True,
        bound=np.sqrt(np.finfo(dtype).eps) if steep and k.order == 0 else None,
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize(
    "k",
    [Gaussian(0.5), Laplacian(0.7) * Polynomial(2) + Matern(1.5, 1.0), Linear(), ChiSquared(0.3)],
    ids=repr,
)
def test_every_number_of_coordinates(k, d, dtype):
    X, Z = points(21, 401, d, dtype)
    right(k, X, Z, columns=(1, 2))


# -- composites ---------------------------------------------------------------------------------------------


def composite(rng, d, depth):
    """A random expression on points with d coordinates, of moderate size everywhere."""

    def number(low=0.3, high=2.0):
        return float(rng.uniform(low, high))

    if depth == 0 or rng.random() < 0.15:
        leaves = (
            lambda: Gaussian(number()),
            lambda: Laplacian(number()),
            lambda: Laplacian(number(), norm="l1"),
            lambda: Matern(float(rng.choice([0.5, 1.5, 2.5])), number()),
            lambda: RationalQuadratic(number(), number()),
            lambda: Periodic(number(1, 3), number(1, 2)),
            Linear,
            lambda: Polynomial(int(rng.integers(1, 4)), number()),
            lambda: Sigmoid(number(0.1, 0.5), number(0.1, 0.5)),
            Cosine,
            lambda: ArcCosine(1),
            lambda: ChiSquared(number()),
            HistogramIntersection,
            lambda: Constant(number()),
        )
        return leaves[rng.integers(len(leaves))]()
    inner = composite(rng, d, depth - 1)
    match rng.integers(11):
        case 0 | 1 | 2:
            return inner + composite(rng, d, depth - 1)
        case 3 | 4:
            return inner * composite(rng, d, depth - 1)
        case 5:
            return number() * inner
        case 6:
            return inner ** (number() if inner.infinitely_divisible else int(rng.integers(1, 4)))
        case 7:
            return (0.2 * inner.normalize()).exp()
        case 8:
            return inner.normalize()
        case 9:
            chosen = rng.integers(0, d, size=rng.integers(1, d + 1)).tolist()
            return composite(rng, len(chosen), depth - 1).on(chosen)
        case _:
            if rng.random() < 0.5:
                return inner.scaled(rng.uniform(0.5, 2, d).tolist())
            roots = rng.uniform(0, 1 / d, (d, d))  # nonnegative, so that histograms stay histograms
            inner = composite(rng, d, 0)
            return (
                inner.metric((np.eye(d) + roots @ roots.T).tolist()) if d < 6 and _signless(inner) else inner
            )


def _signless(k):
    """Not for histograms alone: a metric may turn nonnegative points into others."""
    return not isinstance(k, (ChiSquared, HistogramIntersection))


COMPOSITES = 112  # every number of coordinates in both precisions, seven times


def depth(seed):
    """Most of them shallow: compiling takes time."""
    return 3 if seed % 5 == 0 else 2


@pytest.fixture
def short_code(monkeypatch):
    """The smaller blocks of a processor with few registers: the same loops, compiled in half the time."""

    class Few:
        registers = 16

    monkeypatch.setattr(run, "host", Few)


@pytest.mark.parametrize("seed", range(COMPOSITES))
def test_random_composites(seed, short_code):
    rng = np.random.default_rng(seed)
    d, dtype = DIMENSIONS[seed % len(DIMENSIONS)], DTYPES[(seed // len(DIMENSIONS)) % 2]
    k = composite(rng, d, depth(seed))
    X, Z = points(13, 270, d, dtype, seed)
    right(
        k,
        X,
        Z,
        columns=(1,) if seed % 8 == 0 else (3,),
        normal=seed % 5 == 0,
        bound=5 * BOUND[np.dtype(dtype)],
    )


def test_composites_are_of_all_sorts():
    found = {}
    for seed in range(COMPOSITES):
        text = repr(composite(np.random.default_rng(seed), DIMENSIONS[seed % len(DIMENSIONS)], depth(seed)))
        for word in (
            "+",
            "*",
            "**",
            "Exp",
            "Normalized",
            "Columns",
            "LengthScales",
            "Mahalanobis",
            "Periodic",
        ):
            found[word] = found.get(word, 0) + (word in text)
    assert min(found.values()) >= 5, found


def test_several_views_of_many_coordinates():
    """BLAS makes the inner products of one view only; the others must not read them."""
    for dtype in DTYPES:
        X, Z = points(50, 450, 230, dtype)
        first, second = slice(0, 50), slice(50, 115)
        right(Gaussian(1.0).on(first) * Gaussian(0.7).on(second), X, Z, columns=(1, 3))
        right(
            Gaussian(1.0).on(first) * Linear().on(second) + Laplacian(1.0).on(slice(3, 20)),
            X,
            Z,
            columns=(1, 3),
        )
        right(
            (Gaussian(1.0) * Linear()).on(first) + (Laplacian(1.0) * Polynomial(2)).on(second),
            X,
            Z,
            columns=(1, 3),
        )


def test_a_map_that_gives_vectors():
    words = np.array(["a" * i + "b" * (j % 7) for i in range(9) for j in range(30)], dtype=object)

    def counts(words):
        return np.array([[w.count("a"), w.count("b")] for w in words], float)

    k = Gaussian(2.0).pullback(counts)
    K, V = Gaussian(2.0)(counts(words)), np.random.default_rng(0).standard_normal((270, 2))
    assert fused.operator(k, words, words).loops() is not None
    assert np.allclose(fused.operator(k, words).product(V), K @ V, rtol=0, atol=1e-12)


# -- shapes, layouts, threads -------------------------------------------------------------------------------

SIZES = (1, 2, 7, 16, 17, 255, 257, 385, 1030)


@pytest.mark.parametrize("d", [3, 50])
@pytest.mark.parametrize("n", SIZES)
def test_odd_shapes(n, d):
    for m in SIZES:
        X, Z = points(n, m, d, np.float32)
        K, V = dense(Gaussian(0.5), X, Z), np.random.default_rng(0).standard_normal((m, 3)).astype(np.float32)
        size = np.abs(K) @ np.abs(V)
        assert np.abs(fused.operator(Gaussian(0.5), X, Z).dense() - K).max() < 2e-6
        assert (
            np.abs(fused.operator(Gaussian(0.5), X, Z).product(V) - K @ V.astype(float)) <= 2e-6 * size
        ).all()
        assert (
            np.abs(fused.operator(Gaussian(0.5), X, Z).product(V[:, 0]) - K @ V[:, 0].astype(float))
            <= 2e-6 * size[:, 0]
        ).all()
        normal, exact = fused.operator(Gaussian(0.5), X, Z).normal(V), K.T @ (K @ V.astype(float))
        assert (np.abs(normal - exact) <= 4e-6 * (K.T @ size)).all()


@pytest.mark.parametrize("columns", [0, 1, 2, 3, 4, 5, 6, 7, 10, 13])
@pytest.mark.parametrize("points_type, V_type", [("f4", "f4"), ("f4", "f8"), ("f8", "f8"), ("f8", "f4")])
def test_columns(columns, points_type, V_type):
    X, Z = points(70, 300, 3, points_type)
    V = np.random.default_rng(0).standard_normal((300, columns)).astype(V_type)
    W, K = V.astype(float), dense(Gaussian(0.5), X, Z)
    bound = BOUND[np.dtype(points_type)]
    found, normal = (
        fused.operator(Gaussian(0.5), X, Z).product(V),
        fused.operator(Gaussian(0.5), X, Z).normal(V),
    )
    assert found.dtype == np.result_type(X, V) and found.shape == (70, columns)
    assert normal.shape == (300, columns)
    assert (np.abs(found - K @ W) <= bound * (K @ np.abs(W))).all()
    assert (np.abs(normal - K.T @ (K @ W)) <= 2 * bound * (K.T @ (K @ np.abs(W)))).all()


def test_sums_are_kept_in_double_precision():
    """With float64 columns nothing but the entries of K is rounded to float32."""
    X, Z = points(40, 3000, 3, np.float32)
    V = np.random.default_rng(0).standard_normal((3000, 3)) * 10.0 ** np.linspace(-4, 4, 3000)[:, None]
    K = fused.operator(Gaussian(0.5), X, Z).dense().astype(float)  # the very entries
    size = K @ np.abs(V)
    assert (np.abs(fused.operator(Gaussian(0.5), X, Z).product(V) - K @ V) <= 1e-13 * size).all()
    assert (
        np.abs(fused.operator(Gaussian(0.5), X, Z).product(V[:, 0]) - K @ V[:, 0]) <= 1e-7 * size[:, 0]
    ).all()
    assert (
        np.abs(fused.operator(Gaussian(0.5), X, Z).normal(V) - K.T @ (K @ V)) <= 1e-13 * (K.T @ size)
    ).all()


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("d", [3, 50])
def test_small_pieces(monkeypatch, threads, d):
    """Many passes over the columns, many tasks, many blocks: the seams must not show."""
    monkeypatch.setattr(run, "_PACKED_BYTES", 1 << 10)
    monkeypatch.setattr(run, "_BLOCK_BYTES", 1 << 12)
    monkeypatch.setattr(run, "_ROWS", 48)
    monkeypatch.setattr("mercer.engines.tiled._PAIRS_WORTH_THREADS", 1)
    X, Z = points(333, 1111, d)
    k, engine = Laplacian(0.5), Tiled(threads=threads, fused=True)
    K, V = dense(k, X, Z), np.random.default_rng(0).standard_normal((1111, 5))
    w = np.random.default_rng(1).uniform(size=(333, 5))
    assert np.abs(engine.operator(k, X, Z).dense() - K).max() < 1e-14
    assert np.abs(engine.operator(k, X, Z).product(V) - K @ V).max() < 1e-11
    assert np.abs(engine.operator(k, X, Z).product(V[:, 0]) - K @ V[:, 0]).max() < 1e-11
    assert np.abs(engine.operator(k, X, Z).normal(V, w) - K.T @ (w * (K @ V))).max() < 1e-9
    # With fewer rows than threads the columns are shared out.
    assert np.abs(engine.operator(k, X[:2], Z).product(V[:, 0]) - K[:2] @ V[:, 0]).max() < 1e-11
    parts = engine.operator(k, X, Z).reduce(lambda rows, block: np.abs(block - K[rows]).max(keepdims=True))
    assert sum(parts).max() < 1e-12


@pytest.mark.parametrize("d", [3, 7, 50])
@pytest.mark.parametrize("n", [1024, 1033, 1281, 1500])
def test_every_pair_once(monkeypatch, n, d):
    """K(X, X)v from half of K."""
    monkeypatch.setattr(run, "_TILE", 64)
    monkeypatch.setattr(run, "_BLAS_TILE", 64)
    monkeypatch.setattr(run, "_SYMMETRIC_COLUMNS", 256)
    monkeypatch.setattr("mercer.engines.tiled._PAIRS_WORTH_THREADS", 1)
    seen = []
    symmetric = run.Fused._symmetric
    monkeypatch.setattr(
        run.Fused, "_symmetric", lambda self, v, double: seen.append(1) or symmetric(self, v, double)
    )
    for dtype, V_type in (("f4", "f4"), ("f4", "f8"), ("f8", "f8")):
        X = points(n, 1, d, dtype)[0]
        V = np.random.default_rng(0).standard_normal(n).astype(V_type)
        kernels = [Gaussian(0.5), Laplacian(0.7) * Polynomial(2) + (Matern(1.5, 1.0) + Linear()).normalize()]
        for k in kernels if n == 1281 else kernels[:1]:
            K = dense(k, X, X)
            for threads in (1, 2, 3):
                found = Tiled(threads=threads, fused=True).operator(k, X).product(V)
                assert found.dtype == np.result_type(X, V)
                assert (np.abs(found - K @ V.astype(float)) <= BOUND[X.dtype] * (K @ np.abs(V))).all()
    assert seen


def test_sandwich_shows_every_row_once():
    X, Z = points(1500, 70, 3)
    seen, V = np.zeros(1500, int), np.ones((70, 2))
    K = dense(Gaussian(0.5), X, Z)

    def middle(rows, S):
        seen[rows] += 1
        assert np.allclose(S, K[rows] @ V, rtol=1e-12)
        return np.maximum(S, 5.0) * np.arange(1500)[rows, None]

    found = Tiled(threads=2, fused=True).operator(Gaussian(0.5), X, Z).sandwich(V, middle)
    assert (seen == 1).all()
    assert np.allclose(found, K.T @ (np.maximum(K @ V, 5.0) * np.arange(1500)[:, None]), rtol=1e-11)


def test_sandwich_takes_what_middle_returns():
    """float32, integers, any order of memory, a view."""
    X, Z = points(90, 70, 3)
    K, V = dense(Gaussian(0.5), X, Z), np.ones((70, 2))
    for change in (
        lambda S: np.asfortranarray(S),
        lambda S: S.astype(np.float32),
        lambda S: np.repeat(S, 2, axis=1)[:, ::2],
        lambda S: S[:, ::-1][:, ::-1],
    ):
        found = fused.operator(Gaussian(0.5), X, Z).sandwich(V, lambda rows, S, change=change: change(S))
        assert np.allclose(found, K.T @ (K @ V), rtol=1e-6)
    whole = fused.operator(Gaussian(0.5), X, Z).sandwich(V, lambda rows, S: np.ones(S.shape, int))
    assert np.allclose(whole, K.T @ np.ones((90, 2)))


@pytest.mark.parametrize("d", [1, 3, 7, 50])
@pytest.mark.parametrize("dtype", DTYPES)
def test_points_in_any_order_of_memory(d, dtype):
    X, Z = points(60, 90, d, dtype)
    K = fused.operator(Gaussian(0.5), X, Z).dense()
    wide = np.full((120, 2 * d + 1), np.nan, dtype)
    wide[::2, 1::2] = X
    record = np.zeros(90, [("pad", "i1"), ("z", dtype, (d,))])  # not even aligned
    record["z"] = Z
    for A, B in (
        (np.asfortranarray(X), np.asfortranarray(Z)),
        (wide[::2, 1::2], Z[::-1][::-1]),
        (X[:, ::-1][:, ::-1], np.repeat(Z, 3, axis=0)[::3]),
        (X, record["z"]),
        (X[::-1].copy()[::-1], Z[:, ::-1].copy()[:, ::-1]),
    ):
        A.flags.writeable = B.flags.writeable = False
        # The mean that is taken off may differ in its last bit.
        assert np.abs(fused.operator(Gaussian(0.5), A, B).dense() - K).max() < (
            1e-6 if dtype == np.float32 else 1e-14
        )
    one = np.broadcast_to(X[:1], (60, d))
    assert np.allclose(fused.operator(Gaussian(0.5), one, Z).dense(), np.tile(K[:1], (60, 1)), atol=1e-6)


def test_out_of_any_kind():
    """Written where it may be, whatever the strides; nothing beside it is touched."""
    X, Z = points(45, 77, 3)
    K = fused.operator(Gaussian(0.5), X, Z).dense()
    for part in (
        np.s_[3:48, 5:82],
        np.s_[47:2:-1, 5:82],
        np.s_[0:90:2, 5:82],
        np.s_[3:48, 0:154:2],
        np.s_[3:48, 81:4:-1],
    ):
        board = np.full((100, 200), np.nan)
        out = board[part]
        assert fused.operator(Gaussian(0.5), X, Z).fill(out) is out
        assert np.abs(out - K).max() < 1e-14
        board[part] = np.nan
        assert np.isnan(board).all()
    single = np.empty((45, 77), np.float32)
    assert np.abs(fused.operator(Gaussian(0.5), X, Z).fill(single) - K).max() < 1e-7
    column = np.empty((77, 45)).T
    assert np.array_equal(fused.operator(Gaussian(0.5), X, Z).fill(column), column)
    assert np.abs(column - K).max() < 1e-14


def test_out_whose_rows_are_no_whole_number_of_entries_apart():
    X, Z = points(45, 77, 3)
    board = np.zeros(45, [("K", "f8", (77,)), ("rest", "i4")])
    fused.operator(Gaussian(0.5), X, Z).fill(board["K"])
    assert np.abs(board["K"] - dense(Gaussian(0.5), X, Z)).max() < 1e-14
    assert not board["rest"].any()


def test_memory_stays_bounded():
    """K would take 160 MB; products must not."""
    import tracemalloc

    X, Z = points(4000, 5000, 3)
    V = np.ones((5000, 3))
    fused.operator(Gaussian(0.5), X[:10], Z[:10]).product(V[:10])
    for call in (
        lambda: fused.operator(Gaussian(0.5), X, Z).product(V),
        lambda: fused.operator(Gaussian(0.5), X, Z).product(V[:, 0]),
        lambda: fused.operator(Gaussian(0.5), X, Z).normal(V),
    ):
        tracemalloc.start()
        try:
            call()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 20e6


# -- symmetry, determinism ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [3, 7, 33, 50])
def test_symmetric_to_the_last_bit(d, dtype):
    X, _ = points(333, 1, d, dtype)
    kernels = [Gaussian(0.5), Laplacian(0.7) * Polynomial(2) + Matern(1.5, 1.0), Linear(), ChiSquared(0.3)]
    if d == 3:
        kernels += KERNELS + MORE
    for k in kernels:
        for engine in (fused, Tiled(threads=2, fused=True)):
            K = engine.operator(k, X).dense()
            assert np.array_equal(K, K.T), k
        assert np.array_equal(fused.operator(k, X, X.copy()).dense(), K), k


@pytest.mark.parametrize("d", [3, 50])
def test_the_same_call_gives_the_same_bits(d):
    X, Z = points(700, 600, d, np.float32)
    V = np.random.default_rng(0).standard_normal((600, 3)).astype(np.float32)
    for threads in (1, 2):
        engine = Tiled(threads=threads, fused=True)
        for call in (
            lambda e=engine: e.operator(Gaussian(0.5), X, Z).dense(),
            lambda e=engine: e.operator(Gaussian(0.5), X, Z).product(V),
            lambda e=engine: e.operator(Gaussian(0.5), X, Z).product(V[:, 0]),
            lambda e=engine: e.operator(Gaussian(0.5), X, Z).normal(V),
        ):
            assert np.array_equal(call(), call())


@pytest.mark.parametrize("d", [3, 50])
def test_threads_change_rounding_alone(d):
    X, Z = points(700, 600, d)
    V = np.random.default_rng(0).standard_normal((600, 3))
    one, two = Tiled(threads=1, fused=True), Tiled(threads=2, fused=True)
    assert np.array_equal(
        one.operator(Gaussian(0.5), X, Z).dense(), two.operator(Gaussian(0.5), X, Z).dense()
    )
    for call in (
        lambda e: e.operator(Gaussian(0.5), X, Z).product(V),
        lambda e: e.operator(Gaussian(0.5), X, Z).product(V[:, 0]),
        lambda e: e.operator(Gaussian(0.5), X, Z).normal(V),
    ):
        a, b = call(one), call(two)
        assert np.abs(a - b).max() <= 1e-13 * np.abs(a).max()


def test_several_users_at_once():
    """Products from several threads of the caller, each with its own points."""
    from concurrent.futures import ThreadPoolExecutor

    def job(seed):
        X, Z = points(200, 300, 3 + 47 * (seed % 2), seed=seed)
        V = np.random.default_rng(seed).standard_normal(300)
        found = Tiled(threads=2, fused=True).operator(Gaussian(0.5), X, Z).product(V)
        return np.abs(found - dense(Gaussian(0.5), X, Z) @ V).max()

    with ThreadPoolExecutor(4) as pool:
        assert max(pool.map(job, range(24))) < 1e-12


# -- accuracy -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [3, 10, 50, 230])
@pytest.mark.parametrize("columns", [1, 10])
def test_accuracy_of_the_gaussian(d, columns):
    """What is promised for benchmarks: standard normal points, width √d, relative error in norm."""
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((500, d)), rng.standard_normal((1500, d))
    V, k = rng.standard_normal((1500, columns)), Gaussian(float(np.sqrt(d)))
    for dtype, bound in ((np.float32, 5e-6), (np.float64, 1e-12)):
        A, B, W = (M.astype(dtype) for M in (X, Z, V))
        exact = dense(k, A, B) @ W.astype(float)
        found = fused.operator(k, A, B).product(W)
        assert np.linalg.norm(found - exact) <= bound * np.linalg.norm(exact)


@pytest.mark.parametrize("d", [1, 3, 7, 33, 50])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [Gaussian(1.0), Laplacian(1.0), Laplacian(1.0) * Linear()], ids=repr)
def test_far_from_the_origin(k, d, dtype):
    rng = np.random.default_rng(0)
    X, Z = ((rng.standard_normal((n, d)) / np.sqrt(d) + 1e4).astype(dtype) for n in (60, 300))
    right(k, X, Z, columns=(1,))


@pytest.mark.parametrize("d", [3, 7, 50])
@pytest.mark.parametrize("k", [Laplacian(1.0), Matern(1.5, 1.0), Gaussian(1.0)], ids=repr)
def test_near_and_exact_duplicates(k, d):
    """Where ‖x‖² + ‖z‖² − 2x·z has no digits left, distances are taken from differences."""
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((150, d)) / np.sqrt(d)).astype(np.float32)
    own = fused.operator(k, X, X.copy()).dense()
    assert (np.abs(np.diag(own) - 1) <= 1e-6).all()
    for gap in (1e-2, 1e-4, 1e-6):
        Z = X + (gap * rng.standard_normal((150, d))).astype(np.float32)
        # As if points had been moved by their last bit.
        assert np.abs(fused.operator(k, X, Z).dense() - dense(k, X, Z)).max() < 2e-6
        K, exact = np.diag(fused.operator(k, X, Z).dense()), np.diag(dense(k, X, Z))
        assert np.abs(K - exact).max() < 1e-6


@pytest.mark.parametrize("d", [3, 7, 50])
def test_clusters_far_apart(d):
    """Near pairs far from the centre: as good as points rounded to float32 after centring."""
    rng = np.random.default_rng(0)
    side = rng.choice([-1.0, 1.0], (200, 1))
    X = (rng.standard_normal((200, d)) / np.sqrt(d) + 100 * side).astype(np.float32)
    K = dense(Gaussian(1.0), X, X)
    found = fused.operator(Gaussian(1.0), X).dense()
    moved = 100 * np.finfo(np.float32).eps  # what a coordinate may lose
    assert np.abs(found - K).max() < 4 * moved
    assert (found[side[:, 0] * side[:, 0][:, None] < 0] == 0).all()


@pytest.mark.parametrize("d", [3, 7, 50])
@pytest.mark.parametrize("dtype", DTYPES)
def test_sizes_of_points(d, dtype):
    """Kernels whose widths follow the points' size give the same at any size."""
    rng = np.random.default_rng(0)
    X, Z = (rng.standard_normal((n, d)).astype(dtype) / dtype(np.sqrt(d)) for n in (40, 90))
    smallest = 1e-15 if dtype == np.float32 else 1e-150
    for size in (smallest, 1e-8, 1e8, 1 / smallest):
        s = dtype(2.0 ** round(np.log2(size)))  # scales without rounding
        for make in (Gaussian, Laplacian, lambda w: Matern(1.5, w), lambda w: RationalQuadratic(1.5, w)):
            expected = dense(make(1.0), X, Z)
            found = fused.operator(make(float(s)), X * s, Z * s).dense()
            assert np.abs(found - expected).max() < (2e-6 if dtype == np.float32 else 1e-14)


@pytest.mark.parametrize("d", [3, 7, 50])
@pytest.mark.parametrize("dtype", DTYPES)
def test_distant_points_give_zero_and_no_nan(d, dtype):
    rng = np.random.default_rng(0)
    X, Z = (rng.standard_normal((n, d)).astype(dtype) * dtype(1e8) for n in (40, 90))
    V = np.ones(90, dtype)
    for k in (Gaussian(1.0), Laplacian(1.0), Matern(2.5, 1.0), Laplacian(1.0, norm="l1"), Gaussian(1e-3)):
        assert (fused.operator(k, X, Z).product(V) == 0).all()
        assert np.array_equal(fused.operator(k, X[:5], X[:5].copy()).dense(), np.eye(5)) or np.allclose(
            fused.operator(k, X[:5]).dense(), np.eye(5), atol=1e-6
        )
    for k in (Cosine(), ArcCosine(1), RationalQuadratic(0.7, 1.0), Linear(), Periodic(), Sigmoid()):
        assert np.isfinite(fused.operator(k, X, Z).product(V)).all()


def test_zero_vectors():
    X, Z = points(40, 90, 3)
    X[::3], Z[::4] = 0, 0
    for k in (
        Cosine(),
        ArcCosine(0),
        ArcCosine(1),
        Linear().normalize(),
        ChiSquared(1.0),
        HistogramIntersection(),
    ):
        found = fused.operator(k, X, Z).dense()
        assert np.abs(found - dense(k, X, Z)).max() < 1e-7 * (1 + isinstance(k, ArcCosine))


@pytest.mark.parametrize("dtype", DTYPES)
def test_powers_of_what_underflows(dtype):
    """k^p of a k that is 0 in this precision."""
    X, Z = points(40, 90, 3, dtype)
    for p in (0.5, 0.05):
        K = np.exp(-p * ((X[:, None].astype(float) - Z[None]) ** 2).sum(axis=2) / (2 * 0.02**2))
        found = fused.operator(Gaussian(0.02) ** p, X, Z).dense()
        assert np.abs(found - K).max() < (2e-6 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [3, 30, 50, 100, 150])
def test_loops_stay_within_their_tiles(d, dtype):
    """Whatever lay in memory before: points left as they are, in tiles of any width."""
    rng = np.random.default_rng(0)
    X, Z = (rng.standard_normal((n, d)).astype(dtype) * dtype(1e4) for n in (21, 150))
    V = rng.standard_normal((150, 1)).astype(dtype)
    for k in (Gaussian(1e3 * d**0.5), Laplacian(1e4), Gaussian(1e4 * d**0.5)):
        K = k.pairwise(X.astype(float), Z.astype(float))
        for _ in range(3):
            junk = [np.full(size, np.nan, dtype) for size in (100, 1000, 5000, 10_000, 20_000, 50_000)]
            del junk
            found = fused.operator(k, X, Z).product(V)
            assert np.abs(found - K @ V.astype(float)).max() < 1e-5 * np.abs(K).max() * 150


@pytest.mark.parametrize(
    "kernel, terms, d, dtype",
    [
        (Gaussian(1.0) + Linear(), 700, 8, "float64"),
        (Gaussian(1.0), 20_000, 3, "float64"),
        (Laplacian(1.0), 700, 1, "float32"),
        (RationalQuadratic(1.0, 1.0), 700, 2, "float32"),
    ],
    ids=str,
)
def test_a_row_has_the_same_value_alone_as_among_others(kernel, terms, d, dtype):
    """Also among rows that are far away, and where threads share out the terms."""
    rng = np.random.default_rng(0)
    Z, v = rng.standard_normal((terms, d)).astype(dtype), rng.standard_normal(terms).astype(dtype)
    X = rng.standard_normal((57, d)).astype(dtype)
    X[50:] *= 100
    operator = Tiled(threads=2).operator(kernel, Z)
    alone = np.concatenate([operator.facing(x[None]).product(v) for x in X])
    for some in (slice(0, 57), slice(0, 9), slice(40, 57)):
        assert np.array_equal(operator.facing(X[some]).product(v), alone[some])


def test_one_number_too_large_for_float32_is_seen_wherever_it_is():
    rng = np.random.default_rng(0)
    X, Z, v = rng.standard_normal((400, 6)), rng.standard_normal((700, 6)), rng.standard_normal(700)
    for points, where in ((X, 5), (Z, 333)):
        far = points.copy()
        far[where] = 1e25
        pair = (far, Z) if points is X else (X, far)
        exact = Laplacian(1.0)(*pair) @ v
        single = [P.astype(np.float32) for P in pair]
        found = Tiled(fused=True).operator(Laplacian(1.0), *single).product(v)
        assert np.abs(found - exact).max() <= 1e-5 * np.abs(exact).max()


def test_a_formula_of_very_many_steps_is_not_compiled():
    """Compiling would take minutes, and can't be interrupted."""
    X = np.random.default_rng(0).standard_normal((300, 2))
    kernels = [Gaussian(1.0 + i / 300) for i in range(300)]
    while len(kernels) > 1:
        kernels = [a + b for a, b in zip(kernels[::2], kernels[1::2])] + kernels[len(kernels) // 2 * 2 :]
    operator = Tiled(fused=True).operator(kernels[0], X)
    assert operator.loops() is None and "steps would take long" in operator.remark(1 << 30)
    assert np.allclose(operator.product(np.ones(300)), kernels[0](X).sum(axis=1))
