"""Coefficients of centres as they are, and low-rank preconditioners an engine computes: engines far away."""

import numpy as np
import pytest

from mercer import KernelClassifier, KernelLogistic, KernelRidge
from mercer.engines import Tiled
from mercer.kernels import Gaussian
from mercer.operators.factor import Factor
from mercer.representations import Nystrom
from mercer.solvers import CG, GradientDescent, Newton, coordinates
from mercer.solvers.preconditioners import LowRank, Subset, low_rank


class Remote(Tiled):
    """An engine that keeps matrices to itself."""

    name = ""
    remote = True


def data(n=600, d=3, dtype=float):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)).astype(dtype)
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(n)
    return X, y


PLAIN = {"offset": False}
MACHINES = {
    "ridge": lambda **k: KernelRidge(Gaussian(1.5), lam=1e-4, solver=CG(), **PLAIN | k),
    "logistic": lambda **k: KernelLogistic(Gaussian(1.5), lam=1e-4, solver=Newton(), **PLAIN | k),
    "multinomial": lambda **k: KernelClassifier(Gaussian(1.5), loss="multinomial", lam=1e-3, **PLAIN | k),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("representation", [Nystrom(n_centres=80), "full"])
@pytest.mark.parametrize("name", MACHINES)
def test_same_function_as_nearby(name, representation, offset, dtype):
    """The problem does not change with where it is solved."""
    X, y = data(dtype=dtype)
    if name == "logistic":
        y = y > 0
    elif name == "multinomial":
        y = np.digitize(y, [-0.5, 0.5])
    common = {"representation": representation, "offset": offset, "random_state": 0}
    here, there = (MACHINES[name](engine=e, **common).fit(X, y) for e in (Tiled(), Remote()))
    assert there.solution_.status == "converged"
    scores = [m.scores(X).astype(float) for m in (here, there)]
    scale = np.abs(scores[0]).max()
    assert np.abs(scores[0] - scores[1]).max() < (1e-4 if dtype == np.float32 else 1e-6) * scale
    a, b = (m.solution_.certificate.objective for m in (here, there))
    assert abs(a - b) < 1e-6 * a


def test_weights_reach_the_centres():
    X, y = data()
    w = np.random.default_rng(1).uniform(0.1, 3, len(y))
    here, there = (
        KernelRidge(
            Gaussian(1.5),
            lam=1e-4,
            representation=Nystrom(n_centres=80),
            engine=e,
            random_state=0,
            offset=False,
        )
        .fit(X, y, sample_weight=w)
        .predict(X)
        for e in (Tiled(), Remote())
    )
    assert np.abs(here - there).max() < 1e-6


def test_dependent_centres():
    """Twice the same centres: the factor needs a shift, the solution does not show it."""
    X, y = data()
    Z = np.vstack([X[:50], X[:50]])
    here, there = (
        KernelRidge(
            Gaussian(1.5), lam=1e-4, representation=Nystrom(centres=Z), engine=e, solver=CG(), offset=False
        )
        .fit(X, y)
        .predict(X)
        for e in (Tiled(), Remote())
    )
    assert np.abs(here - there).max() < 1e-5


def test_too_many_centres_for_a_sample(monkeypatch):
    monkeypatch.setattr(coordinates, "_SAMPLED_CENTRES", 10)
    X, y = data()
    here, there = (
        KernelRidge(
            Gaussian(1.5),
            lam=1e-4,
            representation=Nystrom(n_centres=80),
            engine=e,
            solver=CG(),
            random_state=0,
            offset=False,
        )
        .fit(X, y)
        .predict(X)
        for e in (Tiled(), Remote())
    )
    assert np.abs(here - there).max() < 1e-6


def test_many_centres_nearby(monkeypatch):
    """Beyond what is made orthonormal, the CPU takes centres as they are, too."""
    X, y = data()
    machine = KernelRidge(
        Gaussian(1.5),
        lam=1e-4,
        representation=Nystrom(n_centres=80),
        solver=CG(),
        random_state=0,
        offset=False,
    )
    expected = machine.fit(X, y).predict(X)
    monkeypatch.setattr(coordinates, "LARGEST_FACTOR", 50)
    assert np.abs(machine.fit(X, y).predict(X) - expected).max() < 1e-6


def test_gradient_descent_follows_the_function(monkeypatch):
    """The steepest direction is that in H_K, whatever the coordinates."""
    X, y = data()
    values = []
    for engine in (Tiled(), Remote()):
        machine = KernelRidge(
            Gaussian(1.5),
            lam=1e-2,
            representation=Nystrom(n_centres=30),
            engine=engine,
            solver=GradientDescent(tol=1e-4),
            random_state=0,
            offset=False,
        )
        values.append(machine.fit(X, y).predict(X))
    assert np.abs(values[0] - values[1]).max() < 1e-2


@pytest.mark.parametrize("scaled", [False, True])
def test_subset_inverts_its_approximation(scaled):
    """(μI + S C (K_PP+δI)⁻¹ Cᵀ S)⁻¹ v, against the dense matrix."""
    X, _ = data(150)
    K = Remote().operator(Gaussian(1.5), X)
    subset = Subset(K, 40, np.random.default_rng(0))
    mu, rng = 0.3, np.random.default_rng(1)
    s = rng.uniform(0.5, 2, 150) if scaled else None
    C, P = Gaussian(1.5)(X, subset.C.Z), Gaussian(1.5)(subset.C.Z)
    low = C @ np.linalg.solve(P + 1e-9 * np.eye(40), C.T)
    S = np.eye(150) if s is None else np.diag(s)
    v = rng.standard_normal((150, 2))
    expected = np.linalg.solve(mu * np.eye(150) + S @ low @ S, v)
    assert np.allclose(subset.inverse(mu, s)(v), expected, rtol=1e-5, atol=1e-6)


def test_which_low_rank():
    X, _ = data(100)
    rng = np.random.default_rng(0)
    assert isinstance(low_rank(Tiled().operator(Gaussian(1.0), X), 10, rng), LowRank)
    assert isinstance(low_rank(Remote().operator(Gaussian(1.0), X), 10, rng), Subset)


def test_gram_factor():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((50, 60))
    factor = Factor(A @ A.T + np.eye(50))
    L = np.tril(factor.L)
    b = rng.standard_normal((50, 2))
    expected = np.linalg.solve(0.3 * L.T @ L + 0.2 * np.eye(50), b)
    assert np.allclose(factor.gram_factor(0.3, 0.2).solve(b), expected)
    assert np.allclose(factor.multiply_lower(b), L @ b) and np.allclose(factor.multiply_upper(b), L.T @ b)


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_preconditioner_is_the_inverse(dtype, sampled, offset):
    """With all rows in the sample, or the centres for rows, it is the Hessian's inverse, the offset's part
    included: a constant is almost a function of the kernel's, so little is left to the offset."""
    X, _ = data(300, dtype=dtype)
    engine, ridge, d = Remote(), 1e-6, np.random.default_rng(1).uniform(0.5, 2, 300)
    Z = X[:60]
    X, d = (X, d) if sampled else (Z, np.full(60, 1.5))
    kernel = Gaussian(2.0)
    A, B = engine.operator(kernel, X, Z), engine.operator(kernel, Z)
    primal = coordinates.CentreCoefficients(A, B, offset)
    primal.sampled = sampled
    apply = primal.preconditioner(ridge, d, len(d), np.random.default_rng(0))
    exact = kernel(Z.astype(float)) + primal.shift * np.eye(60)
    Phi = kernel(X.astype(float), Z.astype(float)) if sampled else exact  # L Lᵀ has the jitter
    penalty = exact
    if offset:
        Phi = np.hstack([Phi, np.ones((len(X), 1))])
        penalty = np.pad(exact, (0, 1))
    hessian = Phi.T @ (d[:, None] * Phi) / len(d) + ridge * penalty
    v = np.random.default_rng(2).standard_normal((len(hessian), 1))
    off = apply(hessian @ v) - v
    away = np.sqrt((off * (hessian @ off)).sum() / (v * (hessian @ v)).sum())
    assert away < (1e-6 if dtype == np.float64 else 1e-2)


def test_rounded_entries_do_not_make_the_penalty_negative():
    """K(Z,Z) in float32 is not positive: by its factor in float64 the price of coefficients is."""
    X, _ = data(400, d=2, dtype=np.float32)
    B = Remote().operator(Gaussian(3.0), X)
    primal = coordinates.CentreCoefficients(B, B, False)
    worst = np.linalg.eigh(np.asarray(B.dense(), dtype=float))[1][:, :1]
    assert float((worst * (B @ worst)).sum()) < 0
    exact = Gaussian(3.0)(X.astype(float))
    assert abs(float((worst * primal.penalise(worst)).sum()) - float((worst * (exact @ worst)).sum())) < 1e-10
    steady = coordinates.CentreCoefficients(B, B, False, 1e-7)
    assert 1e-9 < steady.noise < 1e-6 and steady.shift >= steady.noise**2 / 1e-7
    assert np.allclose(steady.penalise(worst), exact @ worst + steady.shift * worst, atol=1e-10)


def test_loose_tolerances_are_kept():
    """Vectors may be rounded between refinements; the residual of the end is the true one."""
    X, y = data(800, dtype=np.float32)
    K = Gaussian(1.5)(X.astype(float))
    for tol in (1e-2, 1e-4):
        machine = KernelRidge(
            Gaussian(1.5),
            lam=1e-5,
            representation="full",
            engine=Remote(),
            solver=CG(tol=tol, rank=30),
            offset=False,
        ).fit(X, y)
        residual = K @ machine.dual_coef_ + 1e-5 * 800 * machine.dual_coef_ - y
        assert np.linalg.norm(residual) <= 1.01 * tol * np.linalg.norm(y)
