"""The in-place Cholesky factor, over several panels."""

import copy

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from mercer.operators import factor as module
from mercer.operators.factor import Factor, NotPositiveDefinite


def spd(n, dtype=np.float64, seed=0):
    M = np.random.default_rng(seed).standard_normal((n, n + 5))
    return np.ascontiguousarray((M @ M.T / n + 0.1 * np.eye(n)).astype(dtype))


@pytest.fixture(params=[7, 16, 512])
def panel(request, monkeypatch):
    """Panels so narrow that a small matrix has many."""
    monkeypatch.setattr(module, "_PANEL", request.param)


@pytest.mark.parametrize("n", [1, 2, 7, 8, 33])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_solve(panel, n, dtype):
    A = spd(n, dtype)
    exact = A.astype(np.float64)
    f = Factor(A.copy())
    tol = 1e-4 if dtype == np.float32 else 1e-11
    for B in (np.arange(1.0, n + 1), np.random.default_rng(1).standard_normal((n, 3))):
        X = f.solve(B)
        assert X.dtype == np.float64 and X.shape == B.shape
        expected = np.linalg.solve(exact, B)
        assert np.abs(X - expected).max() < tol * np.abs(expected).max() * np.linalg.cond(exact)
    assert f.jitter == 0


def test_triangular_solves(panel):
    A = spd(30)
    L = np.linalg.cholesky(A)
    f, B = Factor(A.copy()), np.random.default_rng(1).standard_normal((30, 2))
    assert np.allclose(f.solve_lower(B), np.linalg.solve(L, B))
    assert np.allclose(f.solve_upper(B), np.linalg.solve(L.T, B))


def test_shift_and_scale(panel):
    A, s = spd(25), np.random.default_rng(2).uniform(0, 2, 25)
    s[3] = 0  # an example of weight zero
    B = np.arange(25.0)
    assert np.allclose(Factor(A.copy(), 0.7).solve(B), np.linalg.solve(A + 0.7 * np.eye(25), B))
    scaled = s[:, None] * A * s[None, :] + 0.7 * np.eye(25)
    assert np.allclose(Factor(A.copy(), 0.7, s).solve(B), np.linalg.solve(scaled, B))


def test_in_place_and_the_upper_triangle_survives(panel):
    A = spd(40)
    before = A.copy()
    f = Factor(A, 0.5)
    assert f.L is A
    assert np.array_equal(np.triu(A, 1), np.triu(before, 1))
    assert np.allclose(np.tril(A), np.linalg.cholesky(before + 0.5 * np.eye(40)))
    V = np.random.default_rng(1).standard_normal((40, 2))
    assert np.allclose(f.multiply(V), before @ V + 0.5 * V)
    assert np.allclose(f.multiply(V[:, 0]), before @ V[:, 0] + 0.5 * V[:, 0])


def test_inverse_diagonal(panel):
    A = spd(40)
    assert np.allclose(Factor(A.copy()).inverse_diagonal(), np.diag(np.linalg.inv(A)), rtol=1e-10)


def test_larger_than_one_real_panel():
    A = spd(1100)
    B = np.random.default_rng(1).standard_normal(1100)
    f = Factor(A.copy())
    assert np.abs(A @ f.solve(B) - B).max() < 1e-10
    assert np.allclose(f.inverse_diagonal(), np.diag(np.linalg.inv(A)), rtol=1e-9)


def test_condition_is_a_lower_estimate():
    A = np.diag([1.0, 4.0, 100.0])
    assert Factor(A.copy()).condition() == pytest.approx(100.0)
    A = spd(50)
    assert 1 <= Factor(A.copy()).condition() <= np.linalg.cond(A) * (1 + 1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_jitter_on_a_singular_matrix_is_reported(panel, dtype):
    v = np.random.default_rng(0).standard_normal((30, 2)).astype(dtype)
    A = np.ascontiguousarray(v @ v.T)  # rank two
    f = Factor(A.copy())
    assert 0 < f.jitter < 1e-2 * A.diagonal().mean()
    # What is factored is the matrix with the jitter on its diagonal, and what multiplies is the matrix.
    L = np.tril(f.L).astype(np.float64)
    scale = np.abs(A).max()
    assert np.abs(L @ L.T - A - f.jitter * np.eye(30)).max() < 50 * np.finfo(dtype).eps * scale
    assert np.abs(f.multiply(np.eye(30)) - A).max() < 50 * np.finfo(dtype).eps * scale


def test_jitter_grows_until_it_is_enough():
    A = spd(20)
    smallest = np.linalg.eigvalsh(A)[0]
    A -= (smallest + 1e-6) * np.eye(20)  # slightly indefinite
    f = Factor(A.copy())
    assert 1e-6 < f.jitter < 1e-4


def test_indefinite_matrices_are_refused_readably(panel):
    A = spd(20) - 3 * np.eye(20)
    with pytest.raises(
        NotPositiveDefinite, match=r"not positive definite, even with a jitter of .*kernels\.check"
    ):
        Factor(A)


def test_no_jitter_where_none_is_allowed():
    v = np.arange(1.0, 5.0)
    with pytest.raises(NotPositiveDefinite):
        Factor(np.outer(v, v) - 1e-3 * np.eye(4), max_jitter=0.0)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_does_not_pass(value):
    A = spd(5)
    A[4, 4] = value
    with pytest.raises(NotPositiveDefinite, match="NaN or infinity on its diagonal"):
        Factor(A)
    A = spd(5)
    A[4, 1] = A[1, 4] = value
    with pytest.raises(NotPositiveDefinite, match="not positive definite"):
        Factor(A)


def test_empty():
    f = Factor(np.zeros((0, 0)))
    assert f.solve(np.zeros((0, 2))).shape == (0, 2)
    assert f.condition() == 1.0 and f.inverse_diagonal().shape == (0,)


# -- the first rows ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 6, 7, 8, 16, 33, 40])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_leading_rows_have_the_factor_of_their_own(panel, rows, dtype):
    """Everything it can say is what SciPy says of the corner of A."""
    A = spd(40, dtype)
    corner = A[:rows, :rows].astype(np.float64) + 0.5 * np.eye(rows)
    part = Factor(A.copy(), 0.5).leading(rows)
    B, tol = np.random.default_rng(1).standard_normal((rows, 2)), 1e-4 if dtype == np.float32 else 1e-10
    L, close = np.linalg.cholesky(corner), {"rtol": tol, "atol": tol}
    np.testing.assert_allclose(part.solve(B), cho_solve(cho_factor(corner), B), **close)
    np.testing.assert_allclose(part.solve(B[:, 0]), cho_solve(cho_factor(corner), B[:, 0]), **close)
    np.testing.assert_allclose(part.solve_lower(B), solve_triangular(L, B, lower=True), **close)
    np.testing.assert_allclose(part.solve_upper(B), solve_triangular(L.T, B), **close)
    np.testing.assert_allclose(part.multiply(B), corner @ B, **close)
    np.testing.assert_allclose(part.multiply_lower(B), L @ B, **close)
    np.testing.assert_allclose(part.multiply_upper(B), L.T @ B, **close)
    np.testing.assert_allclose(part.inverse_diagonal(), np.diag(np.linalg.inv(corner)), **close)
    np.testing.assert_allclose(part.inverse(), np.linalg.inv(corner), **close)
    assert part.log_determinant() == pytest.approx(np.linalg.slogdet(corner)[1], rel=tol, abs=tol)
    assert part.condition() == pytest.approx((L.diagonal().max() / L.diagonal().min()) ** 2, rel=1e-3)


def test_leading_rows_of_a_badly_conditioned_matrix(panel):
    """Blocks whose inverses lose digits are mended in a part of theirs, too."""
    x = np.linspace(0, 1, 40)
    A = np.exp(-((x[:, None] - x) ** 2) / 0.1) + 1e-10 * np.eye(40)
    B = A @ np.ones(40)
    for rows in (5, 20, 40):
        part = Factor(A.copy()).leading(rows)
        b = A[:rows, :rows] @ np.ones(rows)
        assert np.abs(A[:rows, :rows] @ part.solve(b) - b).max() < 1e-12 * np.abs(B).max() * 100


def test_leading_rows_take_no_memory_of_their_own(panel):
    f = Factor(spd(40))
    part, all_of_them, none = f.leading(20), f.leading(40), f.leading(0)
    assert np.shares_memory(part.L, f.L) and part.n == 20 and none.n == 0
    assert none.solve(np.zeros((0, 2))).shape == (0, 2)
    B = np.arange(40.0)
    np.testing.assert_array_equal(all_of_them.solve(B), f.solve(B))
    # A part of a part.
    np.testing.assert_array_equal(f.leading(30).leading(20).solve(B[:20]), part.solve(B[:20]))


@pytest.mark.parametrize("rows", [-1, 41])
def test_there_are_no_more_leading_rows_than_rows(rows):
    with pytest.raises(ValueError, match=f"40 rows has no {rows} leading"):
        Factor(spd(40)).leading(rows)


def test_leading_rows_know_the_jitter():
    v = np.random.default_rng(0).standard_normal((30, 2))
    f = Factor(v @ v.T)
    part = f.leading(12)
    assert part.jitter == f.jitter > 0
    L = np.tril(part.L)
    np.testing.assert_allclose(L @ L.T, (v @ v.T + f.jitter * np.eye(30))[:12, :12], atol=1e-12)


def test_a_copy_is_the_factor_itself():
    f = Factor(spd(5))
    assert copy.deepcopy(f) is f and copy.deepcopy([f])[0] is f
