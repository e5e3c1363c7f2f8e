"""The GPU engine, in Triton's interpreter where there is no GPU: what the dense float64 matrix gives."""

import gc
import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array

from mercer.engines.cuda import Cuda
from mercer.kernels import (
    AdditiveChiSquared,
    ArcCosine,
    ChiSquared,
    Cosine,
    FunctionKernel,
    Gaussian,
    HistogramIntersection,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    SkewedChiSquared,
    White,
)
from mercer.kernels.formula import trace
from mercer.testing import check_engine

HAVE = all(importlib.util.find_spec(name) is not None for name in ("torch", "triton"))
GPU = False
if HAVE:
    import torch

    GPU = torch.cuda.is_available()
    if not GPU:
        # Triton decides when it is first imported.
        os.environ.setdefault("TRITON_INTERPRET", "1")
needs_triton = pytest.mark.skipif(not HAVE, reason="needs torch and triton")
DEVICE = "cuda" if GPU else "cpu"

KERNELS = [
    Gaussian(1.5),
    Laplacian(1.2),
    Laplacian(2.0, norm="l1"),
    Matern(1.5, sigma=1.3),
    Matern(2.5, sigma=2.0),
    Matern(1.0, sigma=1.3),
    Matern(3.5, sigma=1.3),
    Matern(4.3, sigma=1.3),
    RationalQuadratic(sigma=1.1),
    Polynomial(3, c=0.5),
    Linear(),
    Sigmoid(),
    Cosine(),
    ArcCosine(),
    ChiSquared(0.7),
    AdditiveChiSquared(),
    SkewedChiSquared(0.5),
    HistogramIntersection(),
    White(),
    Periodic(),
    0.5 * Gaussian(1.0) + Laplacian(2.0) * Polynomial(2),
    Gaussian(1.0).on([0, 2]) * Laplacian(1.0),
    (Gaussian(1.0) + Linear()).normalize(),
    Gaussian(2.0).scaled([1.0, 2.0, 0.5]),
]


def engine(**options):
    return Cuda(device=DEVICE, **options)


def points(n, m, d=3, dtype=np.float32, seed=0, positive=False):
    """Standard normal points; some of Z are points of X."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(dtype)
    Z = rng.standard_normal((m, d)).astype(dtype)
    Z[: min(n, m, 5)] = X[: min(n, m, 5)]
    return (abs(X), abs(Z)) if positive else (X, Z)


def dense(k, X, Z):
    return k.pairwise(np.asarray(X, np.float64), np.asarray(Z, np.float64))


def error(found, expected):
    return np.linalg.norm(found - expected) / max(np.linalg.norm(expected), 1e-300)


def for_positive(k):
    return isinstance(k, (AdditiveChiSquared, ChiSquared, SkewedChiSquared, HistogramIntersection))


@needs_triton
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", KERNELS, ids=str)
def test_kernels(k, dtype):
    X, Z = points(75, 66, dtype=dtype, positive=for_positive(k))
    K = dense(k, X, Z)
    V = np.random.default_rng(1).standard_normal(len(Z)).astype(dtype)
    tol = 5e-6 if dtype == np.float32 else 1e-12
    found = engine().operator(k, X, Z).dense()
    assert found.dtype == dtype
    assert np.abs(found - K).max() <= (1e-5 if dtype == np.float32 else 1e-12) * np.abs(K).max()
    y = engine().operator(k, X, Z).product(V)
    assert y.dtype == dtype and y.shape == (75,)
    assert error(y, K @ V.astype(float)) < tol


@needs_triton
@pytest.mark.parametrize(
    "k", [Gaussian(4.0), Laplacian(5.0), Polynomial(2), Laplacian(9.0, norm="l1")], ids=str
)
@pytest.mark.parametrize("d", [1, 5, 11, 20, 33, 120])
def test_widths(d, k):
    X, Z = points(40, 50, d)
    K, V = dense(k, X, Z), np.ones(50, np.float32)
    assert np.abs(engine().operator(k, X, Z).dense() - K).max() <= 1e-5 * np.abs(K).max()
    assert error(engine().operator(k, X, Z).product(V), K @ V) < 5e-6


@needs_triton
@pytest.mark.parametrize("d", [9, 70])
def test_float64_widths(d):
    X, Z = points(40, 50, d, np.float64)
    for k in (Gaussian(4.0), Laplacian(5.0)):
        K = dense(k, X, Z)
        assert np.abs(engine().operator(k, X, Z).dense() - K).max() <= 1e-12
        assert error(engine().operator(k, X, Z).product(np.ones((50, 3))), K @ np.ones((50, 3))) < 1e-12


@needs_triton
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n, m", [(0, 3), (3, 0), (1, 1), (1, 1030), (1030, 1), (130, 63)])
def test_sizes(n, m, dtype):
    X, Z = points(n, m, dtype=dtype)
    k, e = Gaussian(1.3), engine()
    K = dense(k, X, Z) if n and m else np.zeros((n, m))
    V = np.random.default_rng(1).standard_normal((m, 2)).astype(dtype)
    w = np.random.default_rng(2).uniform(0, 1, n).astype(dtype)
    tol = 1e-5 if dtype == np.float32 else 1e-12
    assert np.allclose(e.operator(k, X, Z).dense(), K, rtol=0, atol=tol)
    assert np.allclose(e.operator(k, X, Z).product(V), K @ V, rtol=0, atol=tol * max(m, 1))
    assert np.allclose(
        e.operator(k, X, Z).normal(V, w), K.T @ (w[:, None] * (K @ V)), rtol=0, atol=tol * (n * m + 1)
    )
    assert np.allclose(e.operator(k, X, Z).gramian(w), K.T @ (w[:, None] * K), rtol=0, atol=tol * max(n, 1))


@needs_triton
@pytest.mark.parametrize("t", [1, 2, 3, 4, 5, 17, 70])
@pytest.mark.parametrize(
    "kinds", [(np.float32, np.float32), (np.float32, np.float64), (np.float64, np.float64)]
)
def test_columns(t, kinds):
    X, Z = points(60, 90, dtype=kinds[0])
    V = np.random.default_rng(1).standard_normal((90, t)).astype(kinds[1])
    for k in (Gaussian(1.5), Polynomial(2)):
        K = dense(k, X, Z)
        found = engine().operator(k, X, Z).product(V)
        assert found.dtype == kinds[1] and found.shape == (60, t)
        assert error(found, K @ V) < (5e-6 if kinds[0] == np.float32 else 1e-12)


@needs_triton
@pytest.mark.parametrize(
    "k",
    [
        Gaussian(1.5),
        Gaussian(0.2),
        1e6 * Matern(1.5, sigma=1.3),
        1e-12 * Gaussian(1.0),
        Laplacian(2.0, norm="l1"),
        RationalQuadratic(sigma=1.1),
        Polynomial(3, c=0.5),
        1e12 * Polynomial(2),
        Sigmoid(),
        (Gaussian(1.0) + Linear()).normalize(),
    ],
    ids=str,
)
def test_columns_of_any_size_in_halves(k):
    X, Z = points(130, 1100)
    K = dense(k, X, Z)
    rng = np.random.default_rng(1)
    V = (rng.standard_normal((1100, 9)) * 10.0 ** np.arange(-36, 36, 8)).astype(np.float32) / 1e6
    V[:, 4] = 1 - 2 * (np.arange(1100) % 2)
    V[:, 5] = np.where(np.arange(1100) == 7, 1, 1e-6)
    V[:, 6] = 0
    found = engine().operator(k, X, Z).product(V.astype(np.float64))
    sizes = np.linalg.norm(abs(K) @ abs(V.astype(np.float64)), axis=0)
    assert (np.linalg.norm(found - K @ V.astype(np.float64), axis=0) <= 5e-6 * sizes).all()


@needs_triton
@pytest.mark.parametrize("n", [1, 700, 1025, 2500])
def test_symmetric(n):
    X, _ = points(n, 1, 10)
    k = Gaussian(3.0)
    K = dense(k, X, X)
    for V in (np.ones(n, np.float32), np.linspace(-1, 1, n)):
        # Relative to the sizes added up, since the sum itself may cancel.
        assert error(engine().operator(k, X).product(V), K @ V) < 5e-6 * np.linalg.norm(
            K @ abs(V)
        ) / np.linalg.norm(K @ V)
    if n < 1100:
        found = engine().operator(k, X).dense()
        assert np.array_equal(found, found.T)
        assert np.abs(found - K).max() < 1e-5


@needs_triton
def test_precision_of_a_float64_vector_is_kept():
    X, Z = points(30, 40)
    V = np.full(40, 1.0)
    V[::2] += 1e-9
    difference = engine().operator(Linear(), X, Z).product(V) - engine().operator(Linear(), X, Z).product(
        np.ones(40)
    )
    assert error(difference, dense(Linear(), X, Z) @ (V - 1)) < 1e-2


@needs_triton
@pytest.mark.parametrize("k", [Gaussian(0.05), Laplacian(0.1), Matern(1.5, sigma=0.05)], ids=str)
@pytest.mark.parametrize("d", [3, 12])
def test_near_duplicates_far_from_the_origin(k, d):
    rng = np.random.default_rng(0)
    X = (100 + rng.standard_normal((60, d))).astype(np.float32)
    Z = np.concatenate([X[:30], X[:30] + np.float32(0.01) * rng.standard_normal((30, d)).astype(np.float32)])
    assert np.abs(engine().operator(k, X, Z).dense() - dense(k, X, Z)).max() < 1e-5


@needs_triton
@pytest.mark.parametrize("size", [1e-12, 1e-6, 1e6, 1e15])
def test_huge_and_tiny_points(size):
    X, Z = (P * np.float32(size) for P in points(30, 40, 6))
    for k in (Gaussian(2.0 * size), Laplacian(3.0 * size), Linear(), Cosine()):
        K = dense(k, X, Z)
        found = engine().operator(k, X, Z).dense()
        assert np.isfinite(found).all() and np.abs(found - K).max() <= 2e-5 * np.abs(K).max()
    assert np.isfinite(engine().operator(Gaussian(1.0), X, Z).product(np.ones(40, np.float32))).all()


@needs_triton
def test_fast():
    X, Z = points(60, 90, 10)
    k, V = Gaussian(3.0), np.random.default_rng(1).standard_normal(90).astype(np.float32)
    K = dense(k, X, Z)
    assert error(engine(precision="fast").operator(k, X, Z).product(V), K @ V) < 3e-3
    assert error(engine(precision="fast").operator(k, X, Z).dense(), K) < 3e-3


@needs_triton
@pytest.mark.parametrize("k", [Gaussian(1.5), Gaussian(1.0).on([0, 2]) * Laplacian(1.0), Cosine()], ids=str)
def test_streaming(k):
    X, Z = points(700, 300)
    V = np.random.default_rng(1).standard_normal((300, 2)).astype(np.float32)
    w = np.random.default_rng(2).uniform(0, 1, 700)
    K = dense(k, X, Z)
    for memory in (1, 150_000):
        e = engine(memory=memory)
        assert error(e.operator(k, X, Z).product(V), K @ V) < 5e-6
        assert error(e.operator(k, X, Z).dense(), K) < 5e-6
        assert error(e.operator(k, X, Z).normal(V, w), K.T @ (w[:, None] * (K @ V))) < 5e-6
        assert error(e.operator(k, X, Z).gramian(w), K.T @ (w[:, None] * K)) < 5e-6
        seen = np.zeros((700, 300))

        def step(rows, block, seen=seen):
            seen[rows] += block

        e.operator(k, X, Z).reduce(step)
        assert error(seen, K) < 5e-6
    symmetric = engine(memory=1).operator(k, Z).dense()
    assert np.array_equal(symmetric, symmetric.T) and error(symmetric, dense(k, Z, Z)) < 5e-6


@needs_triton
def test_products_and_blocks_are_of_one_matrix():
    # What is rounded away from a centre shows in all its values. It must be the same in blocks, in products
    # forth and back: solvers that use all three see one matrix. Other rounding differs from row to row.
    rng = np.random.default_rng(3)
    X = (0.3 + rng.standard_normal((600, 9))).astype(np.float32)
    Z, k = X[:12].copy(), Gaussian(2.0)
    A = engine().operator(k, X, Z)
    one = np.eye(600)
    forth = np.hstack([A.product(one[:12, i : i + 1]) for i in range(12)])
    back = np.hstack([A.T.product(one[:, i : i + 1]) for i in range(48)]).T
    # Blocks that sums of squares are made of, by a weight on one row at a time.
    roots = np.sqrt([A.gramian(one[i]).diagonal() for i in range(48)])
    seen = A.columns_as_multiplied()
    assert 0 < np.abs(seen - Z).max() < 1e-6
    exact = Gaussian(2.0)(X.astype(np.float64), seen)
    assert np.abs(np.mean(forth / exact - 1, axis=0)).max() < 4e-8
    assert np.abs(np.mean(back / exact[:48] - 1, axis=0)).max() < 6e-8
    assert np.abs(np.mean(roots / forth[:48] - 1, axis=0)).max() < 4e-8
    # Many columns at once take another way through the matrix units.
    assert np.abs(np.mean(A.product(one[:12, :12]) / exact - 1, axis=0)).max() < 4e-8
    assert np.abs(np.mean(A.T.product(one).T / exact - 1, axis=0)).max() < 6e-8


@needs_triton
def test_layouts_and_read_only_arrays():
    X, Z = points(60, 50, 6)
    k, V = Gaussian(1.5), np.ones(50, np.float32)
    for A, B in ((X[:, ::2], np.asfortranarray(Z[:, ::2])), (X[::-2], Z[::3])):
        W = np.ones(2 * len(B), np.float32)[::2]
        assert error(engine().operator(k, A, B).product(W), dense(k, A, B) @ W) < 5e-6
    X.flags.writeable = Z.flags.writeable = V.flags.writeable = False
    assert error(engine().operator(k, X, Z).product(V), dense(k, X, Z) @ V) < 5e-6


@needs_triton
def test_copies_are_remembered_and_forgotten():
    from mercer.engines._triton.store import STORE

    e, k = engine(), Gaussian(1.5)
    e.forget()
    X, Z = points(60, 50)
    V = np.ones(50, np.float32)
    first = e.operator(k, X, Z).product(V)
    kept = [entry.points for entry in STORE.entries.values()]
    assert len(kept) == 2
    assert np.array_equal(e.operator(k, X, Z).product(V), first)
    assert [entry.points for entry in STORE.entries.values()] == kept
    X[7, 1] += 1  # in place: noticed
    assert error(e.operator(k, X, Z).product(V), dense(k, X, Z) @ V) < 5e-6
    X[:] = X[::-1].copy()
    assert error(e.operator(k, X, Z).product(V), dense(k, X, Z) @ V) < 5e-6
    del X, Z, kept
    gc.collect()
    assert not STORE.entries
    A = points(20, 1)[0]
    e.remember(A, torch.tensor(A, device=DEVICE))
    assert len(STORE.entries) == 1
    assert error(e.operator(k, A).dense(), dense(k, A, A)) < 5e-6
    assert len(STORE.entries) == 1
    with pytest.raises(ValueError, match="shape"):
        e.remember(A, torch.zeros(3, 3))


@needs_triton
def test_tensors_in_tensors_out():
    X, Z = points(60, 50)
    A, B = torch.tensor(X, device=DEVICE), torch.tensor(Z, device=DEVICE)
    e = engine()
    for k in (Gaussian(1.5), Cosine(), FunctionKernel(lambda a, b: float(a @ b))):
        K, V = dense(k, X, Z), torch.ones(50, 2, device=DEVICE)
        product, gram = e.operator(k, A, B).product(V), e.operator(k, A, B).dense()
        assert isinstance(product, torch.Tensor) and isinstance(gram, torch.Tensor)
        assert error(product.cpu().numpy(), K @ np.ones((50, 2))) < 5e-6
        assert error(gram.cpu().numpy(), K) < 5e-6
        assert error(e.operator(k, A, B).normal(V).cpu().numpy(), K.T @ (K @ np.ones((50, 2)))) < 5e-6
    assert e.operator(Gaussian(1.5), A, B).product(V).dtype == torch.float32
    assert isinstance(e.operator(Gaussian(1.5), A, B).product(np.ones(50)), torch.Tensor)
    assert isinstance(e.operator(Gaussian(1.5), X, Z).product(V), np.ndarray)
    A[3] += 1  # in place: noticed
    X[3] += 1
    assert error(e.operator(Gaussian(1.5), A, B).dense().cpu().numpy(), dense(Gaussian(1.5), X, Z)) < 5e-6


@needs_triton
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_factor(dtype, monkeypatch):
    from mercer.engines._triton import dense as algebra

    monkeypatch.setattr(algebra, "_PANEL", 16)
    X, _ = points(75, 1, dtype=dtype)
    e, k = engine(), Gaussian(1.0)
    A = e.operator(k, X).matrix()
    K = dense(k, X, X)
    assert A.shape == (75, 75) and torch.equal(A, A.T)
    F = e.operator(k, X).factor(shift=0.1)
    assert F.jitter == 0
    full = K + 0.1 * np.eye(75)
    L = np.linalg.cholesky(full)
    tol = 1e-4 if dtype == np.float32 else 1e-10
    for B in (np.linspace(0, 1, 75), np.random.default_rng(0).standard_normal((75, 3))):
        for found, expected in (
            (F.solve(B), np.linalg.solve(full, B)),
            (F.solve_lower(B), np.linalg.solve(L, B)),
            (F.solve_upper(B), np.linalg.solve(L.T, B)),
            (F.multiply_lower(B), L @ B),
            (F.multiply_upper(B), L.T @ B),
        ):
            assert found.dtype == np.float64 and found.shape == B.shape
            assert error(found, expected) < tol
    assert F.condition() > 1
    singular = np.ones((40, 40), dtype)

    def factored(A):
        return algebra.DeviceFactor(torch.tensor(A, device=DEVICE))

    assert factored(singular).jitter > 0
    with pytest.raises(algebra.NotPositiveDefinite, match="positive semidefinite"):
        factored(-np.eye(20, dtype=dtype))
    with pytest.raises(algebra.NotPositiveDefinite, match="NaN"):
        factored(np.full((20, 20), np.nan, dtype))
    assert factored(np.zeros((0, 0), dtype)).solve(np.zeros(0)).shape == (0,)


@needs_triton
def test_what_has_no_formula_is_computed_on_the_cpu():
    X, Z = points(30, 20, dtype=np.float64)
    k = FunctionKernel(lambda a, b: float(a @ b) ** 2)
    K = dense(k, X, Z)
    e = engine()
    assert np.allclose(e.operator(k, X, Z).dense(), K)
    assert np.allclose(e.operator(k, X, Z).normal(np.ones(20)), K.T @ (K @ np.ones(20)))
    assert np.allclose(e.operator(k, X, Z).gramian(), K.T @ K)
    S = csr_array(np.where(X > 0, X, 0))
    assert np.allclose(
        e.operator(Gaussian(1.0), S).product(np.ones(30)), Gaussian(1.0)(S.toarray()) @ np.ones(30)
    )


@needs_triton
def test_laws():
    check_engine(engine())


@needs_triton
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_laws_when_streaming(dtype):
    X, _ = points(170, 1, dtype=dtype)
    check_engine(engine(memory=20_000), Gaussian(1.3), X)


@needs_triton
@pytest.mark.parametrize("k", KERNELS[:3], ids=str)
def test_generated_source_depends_on_structure_alone(k):
    from mercer.codegen.triton.source import source
    from mercer.engines._triton.pack import pack
    from mercer.engines._triton.store import STORE

    X, Z = points(60, 50)
    A, B = (STORE.get(P, DEVICE, torch.float32, 1 << 30) for P in (X, Z))
    codes = [
        pack(trace(q), A, B, B, "float32", True, True).code
        for q in (k, type(k)(**{**k.get_params(), "sigma": 1.7}))
    ]
    assert codes[0] == codes[1]
    compile(source(codes[0]), "source", "exec")


def test_parameters_are_checked():
    for wrong in ({"precision": "half"}, {"memory": 0}, {"memory": "8 GB"}):
        with pytest.raises(ValueError, match="Cuda"):
            Cuda(**wrong).validate()
    assert repr(Cuda()) == "Cuda()" and Cuda() == Cuda(precision="float32")


def test_importing_the_engine_brings_no_torch():
    code = "import sys, mercer.engines.cuda; print('torch' in sys.modules or 'triton' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


@pytest.mark.skipif(GPU, reason="there is a GPU")
def test_without_a_gpu_it_says_what_to_do():
    code = (
        "import numpy as np; from mercer.engines.cuda import Cuda; from mercer.kernels import Gaussian\n"
        "try: Cuda().operator(Gaussian(1.0), np.ones((2, 2)))\n"
        "except (ImportError, RuntimeError) as e: print(e)"
    )
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert "engine='tiled'" in run.stdout
