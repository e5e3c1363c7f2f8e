"""Preconditioners: exact where they claim to be, and worth their price elsewhere."""

import numpy as np
import pytest

from mercer.engines import Tiled
from mercer.kernels import Gaussian
from mercer.operators import Matrix
from mercer.solvers import preconditioners
from mercer.solvers.pcg import pcg
from mercer.solvers.preconditioners import LowRank, SampledHessian

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 2))
K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 2)
V = RNG.standard_normal((80, 3))


@pytest.mark.parametrize(
    "operator", [Tiled().operator(Gaussian(1.0), X), Matrix(K)], ids=["kernel", "matrix"]
)
@pytest.mark.parametrize("scaled", [False, True])
def test_low_rank_is_the_inverse_of_what_it_approximates(operator, scaled):
    low = LowRank(operator, 20, np.random.default_rng(0))
    assert low.F.shape == (80, 20)
    s = np.random.default_rng(1).uniform(0, 2, 80) if scaled else None
    S = np.ones(80) if s is None else s
    M = 0.1 * np.eye(80) + (S[:, None] * low.F) @ (S[:, None] * low.F).T
    assert np.allclose(low.inverse(0.1, s)(V), np.linalg.solve(M, V))


def test_low_rank_at_full_rank_is_the_inverse():
    low = LowRank(Matrix(K), 80, np.random.default_rng(0))
    expected = np.linalg.solve(K + 1e-3 * np.eye(80), V)
    assert np.allclose(low.inverse(1e-3, None)(V), expected, rtol=1e-6)


def test_low_rank_of_nothing():
    low = LowRank(Matrix(np.zeros((80, 80))), 10, np.random.default_rng(0))
    assert np.allclose(low.inverse(0.5, None)(V), V / 0.5)


def test_low_rank_in_single_precision():
    low = LowRank(Matrix(K.astype(np.float32)), 40, np.random.default_rng(0))
    assert low.F.dtype == np.float32
    M = 0.1 * np.eye(80) + low.F.astype(float) @ low.F.astype(float).T
    out = low.inverse(0.1, None)(V)
    assert np.abs(out - np.linalg.solve(M, V)).max() < 1e-4 * np.abs(out).max()


def test_low_rank_is_worth_it():
    mu, b = 1e-5, V[:, :1]
    low = LowRank(Matrix(K), 30, np.random.default_rng(0)).inverse(mu, None)

    def apply(W):
        return K @ W + mu * W

    without = pcg(apply, b, lambda v: v, tol=1e-8, max_iter=5000).iterations
    assert pcg(apply, b, low, tol=1e-8, max_iter=5000).iterations < without / 4


PHI = RNG.standard_normal((80, 6))
RIDGE = np.array([0.1, 0.1, 0.2, 0.1, 0.1, 0.0])


@pytest.mark.parametrize("weighted", [False, True])
def test_sampled_hessian_with_all_rows_is_the_hessian(weighted):
    d = np.random.default_rng(1).uniform(0, 2, 80) if weighted else None
    D = np.ones(80) if d is None else d
    H = PHI.T @ (D[:, None] * PHI) / 80 + np.diag(RIDGE)
    U = RNG.standard_normal((6, 2))
    found = SampledHessian(Matrix(PHI), 1000, np.random.default_rng(0)).inverse(RIDGE, d)(U)
    assert np.allclose(found, np.linalg.solve(H, U))


def test_sampled_hessian_of_some_rows():
    sampled = SampledHessian(Matrix(PHI), 30, np.random.default_rng(0))
    assert len(np.unique(sampled.index)) == 30
    S = PHI[sampled.index]
    H = S.T @ S / 30 + np.diag(RIDGE)
    U = RNG.standard_normal((6, 2))
    assert np.allclose(sampled.inverse(RIDGE, None)(U), np.linalg.solve(H, U))


@pytest.mark.parametrize("weighted", [False, True])
def test_many_features_have_to_do_with_the_diagonal(monkeypatch, weighted):
    monkeypatch.setattr(preconditioners, "LARGEST_FACTOR", 5)
    d = np.random.default_rng(1).uniform(0, 2, 80) if weighted else None
    D = np.ones(80) if d is None else d
    diagonal = (D[:, None] * PHI**2).mean(axis=0) + RIDGE
    U = RNG.standard_normal((6, 2))
    found = SampledHessian(Matrix(PHI), 1000, np.random.default_rng(0)).inverse(RIDGE, d)(U)
    assert np.allclose(found, U / diagonal[:, None])


def test_no_rows_is_the_diagonal_too():
    U = RNG.standard_normal((6, 2))
    found = SampledHessian(Matrix(PHI), 0, np.random.default_rng(0)).inverse(RIDGE, None)(U)
    assert np.allclose(found, U / ((PHI**2).mean(axis=0) + RIDGE)[:, None])
