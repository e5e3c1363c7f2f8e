"""Conjugate gradients on several right-hand sides."""

import numpy as np
import pytest

from mercer.solvers.pcg import pcg

RNG = np.random.default_rng(0)


def identity(v):
    return v


def matrix(values, seed=0):
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    return (Q * values) @ Q.T


def test_solves_each_column():
    M = matrix(np.linspace(1, 50, 40))
    B = RNG.standard_normal((40, 3)) * [1.0, 1e3, 1e-6]  # of very different sizes
    result = pcg(lambda V: M @ V, B, identity, tol=1e-10, max_iter=200)
    X = np.linalg.solve(M, B)
    assert (np.abs(result.x - X).max(axis=0) < 1e-8 * np.abs(X).max(axis=0)).all()
    assert result.residual <= 1e-10 and not result.stalled
    assert np.allclose(result.final_residual, B - M @ result.x, atol=1e-12 * np.abs(B).max())
    assert result.history[0] == 1.0 and result.history[-1] <= 1e-10
    assert len(result.history) == result.iterations + 1


def test_converged_columns_leave():
    M = np.diag(np.linspace(1, 30, 30))
    B = np.zeros((30, 2))
    B[0, 0] = 1.0  # an eigenvector: one step
    B[:, 1] = 1.0
    widths = []

    def apply(V):
        widths.append(V.shape[1])
        return M @ V

    result = pcg(apply, B, identity, tol=1e-12, max_iter=100)
    assert widths[0] == 2 and set(widths[1:]) == {1}
    assert np.allclose(result.x, np.linalg.solve(M, B), atol=1e-10)


def test_the_right_preconditioner_needs_one_step():
    M = matrix(np.logspace(0, 6, 30))
    inverse = np.linalg.inv(M)
    result = pcg(lambda V: M @ V, RNG.standard_normal((30, 2)), lambda v: inverse @ v, tol=1e-8, max_iter=50)
    assert result.iterations == 1


def test_zero_right_hand_side():
    result = pcg(lambda V: V, np.zeros((5, 2)), identity, tol=1e-10, max_iter=10)
    assert result.iterations == 0 and not result.x.any() and result.residual == 0


def test_limit_on_iterations():
    M = matrix(np.logspace(0, 4, 50))
    result = pcg(lambda V: M @ V, RNG.standard_normal((50, 1)), identity, tol=1e-12, max_iter=3)
    assert result.iterations == 3 and not result.stalled and result.residual > 1e-12


def test_condition_is_estimated():
    M = matrix(np.linspace(1, 100, 60))
    result = pcg(lambda V: M @ V, RNG.standard_normal((60, 1)), identity, tol=1e-12, max_iter=200)
    assert result.condition == pytest.approx(100, rel=0.02)


def rough_system():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 2)
    return K + 3e-4 * np.eye(300), np.sin(X[:, :1]) + 0.1 * rng.standard_normal((300, 1))


def test_rising_residuals_are_not_the_end():
    """The residual of an ill-conditioned system can wait for a hundred iterations before it falls."""
    M, B = rough_system()
    result = pcg(lambda V: M @ V, B, identity, tol=1e-6, max_iter=3000)
    records = np.flatnonzero(result.history <= np.minimum.accumulate(result.history))
    assert np.diff(records).max() > 60
    assert result.residual <= 1e-6 and not result.stalled
    assert np.linalg.norm(M @ result.x - B) < 1e-5 * np.linalg.norm(B)


def test_the_best_iterate_is_returned():
    M, B = rough_system()
    result = pcg(lambda V: M @ V, B, identity, tol=1e-6, max_iter=40)
    assert result.history[-1] > min(result.history)
    found = np.linalg.norm(B - M @ result.x) / np.linalg.norm(B)
    assert found == pytest.approx(min(result.history), rel=1e-3)


def test_patience():
    """A system whose products are mostly noise goes nowhere; with patience that ends soon."""
    noise = np.random.default_rng(1)
    M = matrix(np.linspace(1, 1000, 50))

    def apply(V):
        return (M @ V) * (1 + 0.5 * noise.standard_normal((50, 1)))

    result = pcg(apply, RNG.standard_normal((50, 1)), identity, tol=1e-12, max_iter=500, patience=5)
    assert result.stalled and result.iterations < 200
    assert result.residual == pytest.approx(min(result.history))


def test_directions_without_curvature_end_it():
    result = pcg(lambda V: -V, np.ones((4, 1)), identity, tol=1e-8, max_iter=10)
    assert result.stalled and result.iterations == 1
    assert np.isfinite(result.x).all()


def test_inputs_are_left_alone():
    M, B = matrix(np.linspace(1, 5, 10)), RNG.standard_normal((10, 2))
    before = B.copy()
    B.flags.writeable = False
    pcg(lambda V: M @ V, B, lambda v: v.copy(), tol=1e-8, max_iter=50)
    assert np.array_equal(B, before)
