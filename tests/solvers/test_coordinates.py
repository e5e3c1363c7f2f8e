"""Least squares in explicit coordinates: normal equations, and conjugate gradients on them."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mercer.engines import Tiled
from mercer.kernels import Gaussian
from mercer.losses import Squared
from mercer.operators import Identity, Matrix
from mercer.solvers import CG, Cholesky, ConvergenceWarning, Problem, coordinates
from oracles import gaussian, whitening

RNG = np.random.default_rng(0)
X = RNG.standard_normal((90, 2))
Z = X[:15]
Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1]]) + 1
PHI = RNG.standard_normal((90, 7)) * np.logspace(0, -2, 7)
W = RNG.uniform(0, 2, 90)
W[:4] = 0
W *= 90 / W.sum()


def exact(Phi, y, lam, w=None, offset=False):
    """The normal equations, a column of ones among them for the offset."""
    n = len(y)
    w = np.ones(n) if w is None else w
    A = np.hstack([Phi, np.ones((n, 1))]) if offset else Phi
    ridge = np.full(A.shape[1], lam * n)
    if offset:
        ridge[-1] = 0
    u = np.linalg.solve(A.T @ (w[:, None] * A) + np.diag(ridge), A.T @ (w[:, None] * y))
    return (u[:-1], u[-1]) if offset else (u, np.zeros(y.shape[1]))


def features(lam, w=None, offset=False, Phi=PHI):
    return Problem(Matrix(Phi), Identity(Phi.shape[1]), Y, Squared(), lam, w, offset)


def centres(lam, w=None, offset=False, dtype=np.float64, Z=Z):
    A = Tiled().operator(Gaussian(1.0), X.astype(dtype), Z.astype(dtype))
    return Problem(A, Matrix(gaussian(Z, Z)), Y, Squared(), lam, w, offset)


@pytest.mark.parametrize("solver", [Cholesky(), CG(), CG(rank=20), CG(rank=0)], ids=repr)
@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("w", [None, W], ids=["plain", "weighted"])
def test_features(solver, w, offset):
    u, b = exact(PHI, Y, 1e-3, w, offset)
    s = solver.run(features(1e-3, w, offset))
    assert s.converged
    f, expected = PHI @ s.coef + s.intercept, PHI @ u + b
    assert np.abs(f - expected).max() < 1e-6 * np.abs(expected).max()
    if solver == Cholesky():
        assert np.abs(s.coef - u).max() < 1e-9 * np.abs(u).max()


@pytest.mark.parametrize("solver", [Cholesky(), CG(), CG(rank=40)], ids=repr)
@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("w", [None, W], ids=["plain", "weighted"])
def test_centres(solver, w, offset):
    T = whitening(gaussian(Z, Z))
    Phi = gaussian(X, Z) @ T
    u, b = exact(Phi, Y, 1e-3, w, offset)
    s = solver.run(centres(1e-3, w, offset))
    assert s.converged
    f, expected = gaussian(X, Z) @ s.coef + s.intercept, Phi @ u + b
    assert np.abs(f - expected).max() < 1e-6 * np.abs(expected).max()


@pytest.mark.parametrize("solver", [Cholesky(), CG()], ids=repr)
def test_repeated_centres_change_nothing(solver):
    """K(Z,Z) is then singular; the space it spans is the same."""
    once, twice = (solver.run(centres(1e-3, Z=P)) for P in (Z, np.vstack([Z, Z])))
    f, g = gaussian(X, Z) @ once.coef, gaussian(X, np.vstack([Z, Z])) @ twice.coef
    assert np.abs(f - g).max() < 1e-7


@pytest.mark.parametrize("solver", [Cholesky(), CG()], ids=repr)
@pytest.mark.parametrize("lam, tol", [(1e-1, 1e-4), (1e-2, 3e-4), (1e-5, 1e-3)])
def test_single_precision(solver, lam, tol):
    """float32 data: close to the float64 answer, less so as λ falls."""
    T = whitening(gaussian(Z, Z))
    u, _ = exact(gaussian(X, Z) @ T, Y, lam)
    s = solver.run(centres(lam, dtype=np.float32))
    assert s.converged
    f, expected = gaussian(X, Z) @ s.coef, gaussian(X, Z) @ T @ u
    assert np.abs(f - expected).max() < tol * np.abs(expected).max()


def test_single_precision_certifies_no_more_than_it_has():
    """What is reported is the gradient for the matrix as it is in float32, and no less."""
    for solver in (Cholesky(), CG()):
        problem = centres(1e-3, dtype=np.float32)
        s = solver.run(problem)
        A, B = problem.A.dense().astype(np.float64), gaussian(Z, Z)

        def norm(c, A=A, B=B):
            g = A.T @ (A @ c - Y) * 2 / 90 + 2e-3 * B @ c
            return np.sqrt((g * np.linalg.solve(B, g)).sum())

        true = norm(s.coef) / norm(0 * s.coef)
        assert true < 10 * s.certificate.relative_gradient + 1e-8


@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_features(weighted):
    S, w = np.where(PHI > 0, PHI, 0), W if weighted else None
    for offset in (False, True):
        u, b = exact(S, Y, 1e-2, w, offset)
        for solver in (Cholesky(), CG()):
            s = solver.run(features(1e-2, w, offset, csr_array(S)))
            assert np.abs(S @ s.coef + s.intercept - S @ u - b).max() < 1e-6


@pytest.mark.parametrize(
    "solver", [Cholesky(), CG(), CG(max_iter=2, rank=8), CG(max_iter=1, rank=0)], ids=repr
)
@pytest.mark.parametrize("w", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", [features, centres])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_certificate_says_the_truth(kind, solver, w):
    lam, n = 1e-3, 90
    weights = np.ones(n) if w is None else w
    s = solver.run(kind(lam, w))
    A, B = (PHI, np.eye(7)) if kind is features else (gaussian(X, Z), gaussian(Z, Z))
    T = whitening(B)

    def objective(c):
        return (weights[:, None] * (Y - A @ c) ** 2).sum() / n + lam * (c * (B @ c)).sum()

    def norm(c):
        return np.linalg.norm(T.T @ (A.T @ (2 * weights[:, None] * (A @ c - Y)) / n + 2 * lam * B @ c))

    best = objective(T @ exact(A @ T, Y, lam, w)[0])
    said, start = s.certificate, norm(0 * s.coef)
    assert said.objective == pytest.approx(objective(s.coef), rel=1e-8)
    assert objective(s.coef) - best <= said.gap
    assert said.relative_gradient == pytest.approx(norm(s.coef) / start, rel=1e-3, abs=1e-11)
    # Strong convexity, or the fact that squared errors are not negative: whichever says more.
    bound = min(norm(s.coef) ** 2 / (4 * lam), objective(s.coef))
    assert bound <= said.gap * (1 + 1e-6)
    assert said.gap == pytest.approx(bound, rel=1e-2, abs=1e-11)  # what rounding may have done is added
    assert said.over == ("these features" if kind is features else f"these {len(Z)} centres")


def test_running_out_of_iterations_warns():
    with pytest.warns(ConvergenceWarning, match="cg stopped at its limit of 2 iterations"):
        s = CG(max_iter=2, rank=0).run(centres(1e-6))
    assert s.status == "max_iter" and s.certificate.relative_gradient > 1e-8
    assert len(s.history) == 3


def test_constant_features_and_offset():
    """A feature that equals the offset: the penalty then leaves it to the offset."""
    Phi = np.hstack([PHI[:, :2], np.ones((90, 1))])
    for solver in (Cholesky(), CG()):
        s = solver.run(features(1e-2, None, True, Phi))
        u, b = exact(Phi, Y, 1e-2, None, True)
        assert np.abs(Phi @ s.coef + s.intercept - Phi @ u - b).max() < 1e-7


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_whitening(dtype):
    B = gaussian(Z, Z, 0.5)
    T = coordinates.whitening(B.copy(), np.dtype(dtype))
    assert np.allclose(T.T @ B @ T, np.eye(T.shape[1]), atol=1e-6)
    assert np.linalg.matrix_rank(T) == T.shape[1] == 15


@pytest.mark.parametrize("dtype, floor", [(np.float64, 1e-13), (np.float32, 1e-6)])
def test_whitening_leaves_out_what_precision_cannot_see(dtype, floor):
    B = gaussian(X[:40], X[:40], 3.0)
    T = coordinates.whitening(B.copy(), np.dtype(dtype))
    visible = (np.linalg.eigvalsh(B) > floor).sum()
    assert 0.5 * visible <= T.shape[1] < 40


def test_whitening_of_nothing():
    assert coordinates.whitening(np.zeros((3, 3)), np.dtype(float)).shape == (3, 0)
    assert coordinates.whitening(np.zeros((0, 0)), np.dtype(float)).shape == (0, 0)
