"""Matrices that stay on the GPU (or, in Triton's interpreter, in torch's): against dense float64 algebra."""

import importlib.util
import os
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import KernelLogistic, KernelRidge
from mercer.engines import Tiled
from mercer.engines.cuda import Cuda
from mercer.kernels import FunctionKernel, Gaussian, Laplacian
from mercer.operators import Factor, Matrix, NotPositiveDefinite
from mercer.selection import loo, path
from mercer.solvers import CG, Cholesky
from mercer.solvers.cost import Shape
from mercer.testing import check_operator

HAVE = all(importlib.util.find_spec(name) is not None for name in ("torch", "triton"))
pytestmark = pytest.mark.skipif(not HAVE, reason="needs torch and triton")
DEVICE = "cpu"
if HAVE:
    import torch

    DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
    if DEVICE == "cpu":
        os.environ.setdefault("TRITON_INTERPRET", "1")

N = 150
KERNEL = Gaussian(1.5)


@pytest.fixture(autouse=True)
def small_panels(monkeypatch):
    """Several panels, halved corners, and rows in several parts, of small matrices."""
    from mercer.engines._triton import dense, matrix

    monkeypatch.setattr(dense, "_PANEL", 32)
    monkeypatch.setattr(dense, "_LEAST", 9)
    monkeypatch.setattr(dense, "_ROWS", 50)
    monkeypatch.setattr(matrix.DeviceEigenbasis, "entries", 7 * N)


def engine():
    return Cuda(device=DEVICE)


def data(dtype=np.float64, outputs=0, n=N):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3)).astype(dtype)
    y = np.sin(2 * X[:, 0].astype(float)) + 0.1 * rng.standard_normal(n)
    return X, y if not outputs else np.column_stack([y + k * X[:, 1] for k in range(outputs)])


def gram(X):
    return KERNEL.pairwise(X.astype(np.float64), X.astype(np.float64))


def device_factor(A, *arguments, **options):
    from mercer.engines._triton.dense import DeviceFactor

    return DeviceFactor(torch.tensor(A, device=DEVICE), *arguments, **options)


# -- the contract of factors and spectra, on both engines ---------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("where", ["host", "device", "kept"])
def test_factors_are_one_contract(dtype, weighted, where):
    X, _ = data(dtype)
    rng = np.random.default_rng(1)
    scale = rng.uniform(0.5, 1.5, N) if weighted else None
    S = np.ones(N) if scale is None else scale
    G = S[:, None] * gram(X) * S + 0.1 * np.eye(N)
    K = (Tiled() if where == "host" else engine()).operator(KERNEL, X)
    F = (K.kept() if where == "kept" else K).factor(0.1, scale=scale)
    tol = 2e-3 if dtype == np.float32 else 1e-11
    L, V = np.linalg.cholesky(G), rng.standard_normal((N, 3))
    expected = {
        "solve": np.linalg.solve(G, V),
        "solve_lower": np.linalg.solve(L, V),
        "solve_upper": np.linalg.solve(L.T, V),
        "multiply": G @ V,
        "multiply_lower": L @ V,
        "multiply_upper": L.T @ V,
    }
    for name, value in expected.items():
        found, one = getattr(F, name)(V), getattr(F, name)(V[:, 0])
        assert isinstance(found, np.ndarray) and found.dtype == np.float64
        assert np.allclose(found, value, rtol=0, atol=tol * np.abs(value).max()), name
        assert np.allclose(one, value[:, 0], rtol=0, atol=tol * np.abs(value).max())
    inverse = np.linalg.inv(G)
    assert np.allclose(F.inverse(), inverse, rtol=0, atol=tol * np.abs(inverse).max())
    assert np.allclose(F.inverse_diagonal(), inverse.diagonal(), rtol=tol)
    assert np.isclose(F.log_determinant(), np.linalg.slogdet(G)[1], rtol=tol)
    assert F.jitter == 0 and F.condition() > 1


@pytest.mark.parametrize("where", [Tiled, engine])
def test_spectra_are_one_contract(where):
    X, _ = data()
    rng = np.random.default_rng(1)
    S, V = rng.uniform(0.5, 1.5, N), rng.standard_normal((N, 2))
    G = S[:, None] * gram(X) * S
    spectrum, shifts = where().operator(KERNEL, X).spectrum(S), np.array([0.01, 1.0])
    inverses = [np.linalg.inv(G + mu * np.eye(N)) for mu in shifts]
    rotated = spectrum.rotated(V)
    assert np.allclose(spectrum.values, np.linalg.eigvalsh(G), atol=1e-10)
    assert np.allclose(spectrum.solutions(rotated, shifts), [P @ V for P in inverses])
    assert np.allclose(spectrum.diagonals(shifts), [P.diagonal() for P in inverses])
    own = rng.uniform(0.01, 1, N)
    z, diagonal, forms = spectrum.with_own_shifts(rotated, own)
    for i in (0, 77):
        P = np.linalg.inv(G + own[i] * np.eye(N))
        assert np.allclose(z[i], P[i] @ V) and np.isclose(diagonal[i], P[i, i])
        assert np.allclose(forms[i], V.T @ P @ V)
    some = np.array([[3, 5], [0, 149]])
    Q = spectrum.rows(some)
    assert Q.shape == (2, 2, N) and np.allclose(Q @ rotated, V[some])


def test_a_matrix_on_the_device_is_an_operator():
    X, _ = data()
    K = engine().operator(KERNEL, X).kept()
    assert K.remote and K.kept() is K and K.at(np.float64) is K and K.at(np.float32) is None
    check_operator(K)
    assert np.allclose(K.dense(), gram(X), atol=1e-14)
    mask = np.arange(N) % 7 == 0
    assert np.allclose(K.among(mask, np.array([1, 4])).dense(), gram(X)[np.ix_(mask, [1, 4])])


def test_kernels_without_a_formula_are_factored_there_too():
    X, _ = data(n=40)
    k = FunctionKernel(lambda x, z: float(np.exp(-np.abs(x - z).sum())))
    F = engine().operator(k, X).factor(0.5)
    G = np.exp(-np.abs(X[:, None] - X[None]).sum(axis=2)) + 0.5 * np.eye(40)
    assert type(F).__name__ == "DeviceFactor" and np.allclose(F.solve(G), np.eye(40))


def test_the_factor_is_as_stable_as_the_library():
    """A condition number of 1e13: by inverses of corners alone the error is 300 times as large."""
    rng = np.random.default_rng(0)
    K = Gaussian(3.0)(rng.standard_normal((300, 2)))
    F = device_factor(K.copy(), 3e-11)
    assert F.jitter == 0
    L = np.tril(F.L.cpu().numpy())
    assert np.abs(L @ L.T - K - 3e-11 * np.eye(300)).max() < 1e-14


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_singular_indefinite_and_tiny_matrices(dtype):
    ones = np.ones((100, 100), dtype)
    F = device_factor(ones.copy())
    assert 0 < F.jitter < 1e-3
    # Residuals are those of the matrix itself, without the jitter.
    assert np.allclose(F.multiply(np.arange(100.0)), ones @ np.arange(100.0))
    with pytest.raises(NotPositiveDefinite, match="positive semidefinite"):
        device_factor(-np.eye(70, dtype=dtype))
    with pytest.raises(NotPositiveDefinite):
        device_factor(ones.copy(), 0.0, 0.0)
    one = device_factor(np.array([[4.0]], dtype), 5.0)
    assert np.isclose(one.solve(np.array([18.0]))[0], 2.0)
    assert np.isclose(one.log_determinant(), np.log(9)) and np.allclose(one.inverse(), 1 / 9)
    none = device_factor(np.zeros((0, 0), dtype))
    assert none.log_determinant() == 0 and none.inverse().shape == (0, 0)
    assert none.multiply(np.zeros((0, 2))).shape == (0, 2) and none.inverse_diagonal().shape == (0,)
    empty = Factor(np.zeros((0, 0), dtype))
    assert empty.log_determinant() == 0 and empty.inverse().shape == (0, 0)


# -- machines ------------------------------------------------------------------------------------------------


def bordered(K, y, mu, w=None, offset=True):
    """c and b by the system in the book: (K + μW⁻¹)c + b = y, Σc = 0."""
    n, t = len(K), y.shape[1]
    M = np.zeros((n + offset, n + offset))
    M[:n, :n] = K + mu * np.diag(np.ones(n) if w is None else 1 / w)
    if offset:
        M[:n, n] = M[n, :n] = 1
    found = np.linalg.solve(M, np.vstack([y, np.zeros((1, t))])[: n + offset])
    return found[:n], found[n] if offset else np.zeros(t)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_ridge(dtype, offset, weighted):
    X, Y = data(dtype, outputs=2)
    w = np.random.default_rng(1).uniform(0.2, 2, N) if weighted else None
    w = None if w is None else w * N / w.sum()
    machine = KernelRidge(KERNEL, lam=1e-5, engine=engine(), offset=offset).fit(X, Y, w)
    c, b = bordered(gram(X), Y, 1e-5 * N, w, offset)
    assert machine.solution_.status == "converged" and machine.solution_.solver == "cholesky"
    assert np.abs(machine.dual_coef_ - c).max() < 1e-8 * np.abs(c).max()
    assert np.allclose(machine.intercept_, b, atol=1e-8)
    scores = gram(X) @ machine.dual_coef_ + machine.intercept_
    left = Y - scores - 1e-5 * N * machine.dual_coef_ / (1 if w is None else w[:, None])
    assert np.linalg.norm(left) < 1e-10 * np.linalg.norm(Y)


def test_ridge_of_next_to_no_lam():
    X, y = data()
    machine = KernelRidge(Laplacian(2.0), lam=1e-10, engine=engine(), solver="cholesky", offset=False).fit(
        X, y
    )
    K = Laplacian(2.0)(X)
    assert machine.solution_.status == "converged"
    left = y - K @ machine.dual_coef_ - 1e-10 * N * machine.dual_coef_
    assert np.linalg.norm(left) < 1e-10 * np.linalg.norm(y)


def test_the_plan_says_where_k_is():
    X, y = data()
    plan = KernelRidge(KERNEL, lam=1e-3, engine=engine()).fit(X, y).plan_
    assert isinstance(plan.solver, Cholesky)
    assert "K in the GPU's memory (295 kB), factored there" not in plan.reasons  # panels are counted as well
    assert any(r.startswith("K in the GPU's memory (") and r.endswith("factored there") for r in plan.reasons)
    plan = KernelLogistic(KERNEL, lam=1e-3, engine=engine()).plan(X, y > 0)
    assert any(r.startswith("K in the GPU's memory") for r in plan.reasons)


def remote(n, room, itemsize=8, single_faster=False):
    return Shape(
        *(n, 5, 1, n, "full"), itemsize=itemsize, remote=True, room=room, single_faster=single_faster
    )


def test_what_fits_is_known_before():
    assert remote(100_000, 142e9).item_there == 8
    assert remote(130_000, 149e9).item_there == 8
    assert remote(170_000, 142e9).item_there == 4
    assert remote(200_000, 142e9).item_there is None
    assert "in float32" in Cholesky().keeps(remote(170_000, 142e9))
    assert "conjugate gradients" in Cholesky().keeps(remote(200_000, 142e9))
    # What lives on the GPU takes nothing of the host but vectors and points.
    assert Cholesky().cost(remote(100_000, 142e9)).memory < 1e9


@pytest.mark.parametrize(
    ("n", "itemsize", "room", "solver"),
    [
        (36_000, 8, 142e9, Cholesky),
        (36_000, 4, 142e9, Cholesky),
        (100_000, 8, 142e9, Cholesky),
        (100_000, 4, 142e9, CG),  # a few products in float32 are tried first
        (36_000, 8, 4e9, CG),
        (190_000, 8, 142e9, CG),
    ],
)
def test_auto_goes_by_size_and_memory(n, itemsize, room, solver, monkeypatch):
    from mercer.estimators.plan import make_plan
    from mercer.losses import Squared

    monkeypatch.setattr(Cuda, "free_bytes", lambda self: int(room))
    sizes = Shape(n, 5, 1, 0, "", itemsize)
    plan = make_plan(KERNEL, Squared(), None, None, engine(), sizes, memory=64 << 30)
    assert isinstance(plan.solver, solver), plan
    if solver is CG:
        assert any("conjugate gradients on the GPU" in r for r in plan.reasons)


def test_without_room_there_are_conjugate_gradients(monkeypatch):
    X, y = data()
    monkeypatch.setattr(Cuda, "free_bytes", lambda self: 1000)
    with pytest.raises(MemoryError, match="of the GPU's memory"):
        engine().operator(KERNEL, X).factor(0.1)
    monkeypatch.setattr(Cuda, "keep", no_room)
    monkeypatch.setattr(CG, "default_rank", lambda self, n: 0)
    machine = KernelRidge(KERNEL, lam=1e-2, engine=engine(), solver="cholesky", offset=False).fit(X, y)
    assert machine.solution_.status == "converged"
    assert machine.solution_.solver == "cg, since a factor found no room"
    assert any("will end in conjugate gradients" in r for r in machine.plan_.reasons)
    assert np.allclose(machine.dual_coef_, bordered(gram(X), y[:, None], 1e-2 * N, None, False)[0][:, 0])
    with pytest.raises(ValueError, match="free on the GPU"):
        path(KernelRidge(KERNEL, engine=engine(), representation="full"), X, y, 5)


def no_room(self, K):
    raise MemoryError("somebody else took it")


def test_a_device_that_is_full_is_a_memory_error(monkeypatch):
    from mercer.engines._triton.matrix import memory_errors

    with pytest.raises(MemoryError, match="full"), memory_errors():
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_conjugate_gradients_that_lead_nowhere_end_in_a_factor(dtype, monkeypatch):
    from mercer.solvers import cg

    monkeypatch.setattr(cg, "_PATIENCE", 12)
    X, y = data(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        machine = KernelRidge(KERNEL, lam=1e-7, engine=engine(), solver=CG(rank=3), offset=False).fit(X, y)
    assert machine.solution_.solver == "cg, then cholesky" and machine.solution_.status == "converged"
    left = y - gram(X) @ machine.dual_coef_ - 1e-7 * N * machine.dual_coef_
    assert np.linalg.norm(left) < 1e-8 * np.linalg.norm(y)


def test_float32_is_refined_where_doubles_find_no_room(monkeypatch):
    from mercer.solvers import least_squares

    monkeypatch.setattr(least_squares, "MIXED_FROM", 10)
    X, y = data()
    monkeypatch.setattr(Cuda, "free_bytes", lambda self: 6 * N * (N + 100))
    seen = []
    keep = Cuda.keep
    monkeypatch.setattr(Cuda, "keep", lambda self, K: seen.append(K.dtype) or keep(self, K))
    machine = KernelRidge(KERNEL, lam=1e-3, engine=engine(), solver="cholesky").fit(X, y)
    assert seen == [np.float64, np.float32] and machine.solution_.solver == "cholesky"
    c, _ = bordered(gram(X), y[:, None], 1e-3 * N)
    assert np.abs(machine.dual_coef_ - c[:, 0]).max() < 1e-8 * np.abs(c).max()


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_leaving_one_out_and_paths(offset, weighted):
    X, y = data()
    w = np.where(np.arange(N) % 3, 0.6, 1.8) if weighted else None
    lams = [1e-4, 1e-2]
    machine = KernelRidge(KERNEL, engine=engine(), offset=offset)
    found = path(machine, X, y, lams, w)
    weights = np.ones(N) if w is None else w * N / w.sum()
    K = gram(X)
    for a, lam in enumerate(lams):
        c, b = bordered(K, y[:, None], lam * N, weights, offset)
        assert np.allclose(found.coefs[a], c[:, 0], atol=1e-7 * np.abs(c).max())
        assert np.isclose(found.intercepts[a], b[0], atol=1e-8)
        for i in (0, 1, 149):  # by fitting again, without it
            rest = np.arange(N) != i
            mu = lam * weights[rest].sum()
            c, b = bordered(K[np.ix_(rest, rest)], y[rest, None], mu, weights[rest], offset)
            assert np.isclose(found.loo_residuals[a, i], y[i] - K[i, rest] @ c[:, 0] - b[0], atol=1e-7)
    if not weighted:
        one = machine.set_params(lam=1e-2)
        assert np.allclose(loo(one, X, y), found.loo_residuals[1], atol=1e-9)
        assert np.allclose(one.fit(X, y).loo_residuals(), found.loo_residuals[1], atol=1e-9)


def test_equal_rows_are_left_out_together():
    X, y = data()
    X[1::2] = X[::2]
    found, expected = (
        path(KernelRidge(KERNEL, engine=e), X, y, [1e-3, 1e-1]).loo_residuals for e in (engine(), Tiled())
    )
    assert np.allclose(found, expected, atol=1e-8)


def test_lam_is_chosen_there(monkeypatch):
    from mercer.estimators import auto_lam

    for name, value in (("_SPECTRUM", 60), ("_FACTORED", 100), ("_START", 50)):
        monkeypatch.setattr(auto_lam, name, value)
    X, y = data()
    there, here = (KernelRidge(KERNEL, engine=e).fit(X, y) for e in (engine(), Tiled()))
    assert np.isclose(there.lam_, here.lam_, rtol=1e-9)
    assert np.allclose(there.predict(X), here.predict(X), atol=1e-7)


@pytest.mark.parametrize("room", [1 << 33, 0])
def test_newton(room, monkeypatch):
    """Steps by factors on the device, or by conjugate gradients where it has no room: one minimum."""
    X, y = data()
    here = KernelLogistic(KERNEL, lam=1e-3).fit(X, y > 0.2)
    if not room:
        monkeypatch.setattr(Cuda, "free_bytes", lambda self: 0)
        monkeypatch.setattr("mercer.solvers.smooth_examples.low_rank", lambda K, *rest: Plain())
    there = KernelLogistic(KERNEL, lam=1e-3, engine=engine()).fit(X, y > 0.2)
    assert there.solution_.status == "converged"
    assert np.allclose(there.dual_coef_, here.dual_coef_, atol=1e-7 * np.abs(here.dual_coef_).max())


class Plain:
    """No preconditioner."""

    def inverse(self, mu, scale):
        return lambda v: v


def test_matrices_on_the_host_have_the_same_words():
    X, _ = data(n=30)
    A = Matrix(gram(X))
    assert np.allclose(A.kept().into_factor(1.0).solve(gram(X) + np.eye(30)), np.eye(30))
    assert np.allclose(A.kept().into_spectrum().values, np.linalg.eigvalsh(gram(X)), atol=1e-12)
    assert np.array_equal(A.values, gram(X))


@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_posteriors_are_those_of_the_host(offset, weighted, dtype):
    """Exactly by a factor on the device, its gradient by panels; by systems with vectors that stay there."""
    X, y = data(dtype, outputs=2)
    w = np.random.default_rng(1).uniform(0.5, 2, N) if weighted else None
    new = np.random.default_rng(2).standard_normal((6, 3)).astype(dtype)
    machines = [
        KernelRidge(2.0 * KERNEL, lam=1e-3, offset=offset, engine=e, representation="full").fit(X, y, w)
        for e in (Tiled(), engine())
    ]
    here, there = (m.posterior("exact") for m in machines)
    assert type(there._solved.factor).__name__ == "DeviceFactor"
    np.testing.assert_allclose(there.mean(new), here.mean(new), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(there.std(new), here.std(new), rtol=1e-9)
    np.testing.assert_allclose(there.covariance(new), here.covariance(new), rtol=1e-8, atol=1e-10)
    expected, found = (p.log_marginal_likelihood(eval_gradient=True) for p in (here, there))
    assert np.isclose(found[0], expected[0], rtol=1e-10)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-8, atol=1e-8)
    some = machines[1].posterior("lanczos", random_state=0)
    loose = 1e-3 if dtype == np.float32 else 1e-5
    np.testing.assert_allclose(some.std(new), here.std(new), rtol=loose)
    value = some.log_marginal_likelihood()
    assert abs(value - expected[0]) < 4 * value.standard_error + 1e-4 * abs(expected[0])
