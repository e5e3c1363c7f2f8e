"""Leave-one-out in closed form, against leaving each example out."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer import KernelRidge
from mercer.features import NystromFeatures
from mercer.kernels import Gaussian, Laplacian, Linear, Polynomial
from mercer.losses import Logistic, Squared
from mercer.operators import L1, Identity, Matrix
from mercer.representations import Features, Full, Nystrom
from mercer.solvers import Problem, loo
from oracles import gaussian

RNG = np.random.default_rng(0)
N = 25
X = RNG.standard_normal((N, 2))
Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] + 0.1 * RNG.standard_normal(N)]) + 3
W = RNG.uniform(0.2, 2, N)
W0 = W.copy()
W0[[2, 7]] = 0
WEIGHTS = {"plain": None, "weighted": W, "zero weights": W0, "repeated": np.arange(N) % 3 + 1.0}


def refits(machine, X, y, w):
    """y_i − f₋ᵢ(x_i) by n fits, the same λ on the other n−1 examples."""
    out = []
    for i in range(len(X)):
        kept = np.arange(len(X)) != i
        f = clone(machine).fit(X[kept], y[kept], None if w is None else w[kept])
        out.append(y[i] - f.predict(X[i : i + 1])[0])
    return np.array(out)


CASES = {
    "full": (Gaussian(1.0), Full()),
    "full, laplacian": (Laplacian(1.0), Full()),
    "full, singular": (Linear(), Full()),
    "centres": (Gaussian(1.0), Nystrom(centres=X[:8])),
    "centres, dependent": (Gaussian(1.0), Nystrom(centres=np.vstack([X[:5], X[:5]]))),
    "features": (Polynomial(2), Features()),
    "linear features": (Linear(), Features()),
}


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("name", CASES)
def test_equals_refitting(name, weights, offset):
    kernel, representation = CASES[name]
    w = WEIGHTS[weights]
    machine = KernelRidge(kernel, lam=1e-2, representation=representation, solver="cholesky", offset=offset)
    found = machine.fit(X, Y, w).loo_residuals()
    assert found.shape == Y.shape
    assert np.abs(found - refits(machine, X, Y, w)).max() < 1e-8


UNITS = np.minimum(np.arange(N) % 7, 4)  # of different sizes
UNITS[[3, 11]] = 8, 9  # and single rows


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("name", CASES)
def test_leaving_units_out_equals_refitting(name, weights, offset):
    kernel, representation = CASES[name]
    w, lam = WEIGHTS[weights], 0.3 if offset else 1e-2
    machine = KernelRidge(kernel, lam, representation, solver="cholesky", offset=offset)
    problem, _ = clone(machine).problem(X, Y, w)
    lams = [3.0, lam]
    many = loo.path(problem, lams, UNITS)
    # An example of weight 0 takes no part, so that nothing changes if it is left out.
    parts = UNITS if w is None else np.where(w > 0, UNITS, 10 + np.arange(N))
    for unit in np.unique(parts):
        out = parts == unit
        f = clone(machine).fit(X[~out], Y[~out], None if w is None else w[~out])
        assert np.abs(many.residuals[1][out] - (Y[out] - f.predict(X[out]))).max() < 1e-8
    np.testing.assert_allclose(loo.residuals(problem, [lam], UNITS)[0], many.residuals[1], atol=1e-10)
    alone = loo.path(problem, lams)  # what is left out changes residuals only
    np.testing.assert_allclose(many.coefs, alone.coefs, atol=1e-8)
    np.testing.assert_allclose(many.intercepts, alone.intercepts, atol=1e-8)
    np.testing.assert_array_equal(loo.residuals(problem, lams, np.arange(N)), loo.residuals(problem, lams))


def test_one_unit_leaves_nothing():
    problem, _ = KernelRidge(Gaussian(1.0), 0.1, offset=False).problem(X, Y)
    with pytest.raises(ValueError, match="leaving a group out needs two"):
        loo.residuals(problem, [0.1], np.zeros(N, dtype=int))


@pytest.mark.parametrize("lam", [1.0, 1e-4, 1e-7])
@pytest.mark.parametrize("representation", [Full(), Nystrom(centres=X[:8])], ids=["full", "centres"])
def test_over_many_scales_of_lambda(representation, lam):
    machine = KernelRidge(
        Gaussian(1.0), lam=lam, representation=representation, solver="cholesky", offset=False
    ).fit(X, Y[:, 0])
    expected = refits(machine, X, Y[:, 0], None)
    assert machine.loo_residuals().shape == (N,)
    assert np.abs(machine.loo_residuals() - expected).max() < 1e-8 * np.abs(expected).max()


def test_against_plain_linear_algebra():
    """No fit of ours on either side: K without row and column i, solved."""
    K, lam = gaussian(X, X), 1e-2
    A = Matrix(K)
    problem = Problem(A, A, Y, Squared(), lam)
    expected = []
    for i in range(N):
        kept = np.arange(N) != i
        c = np.linalg.solve(K[np.ix_(kept, kept)] + lam * (N - 1) * np.eye(N - 1), Y[kept])
        expected.append(Y[i] - K[i, kept] @ c)
    assert np.abs(loo.residuals(problem, [lam])[0] - expected).max() < 1e-10


def test_many_lambdas_at_once():
    lams = np.logspace(-6, 0, 7)
    for kind in ("full", "features"):
        A = Matrix(gaussian(X, X)) if kind == "full" else Matrix(np.hstack([X, X**2]))
        B = A if kind == "full" else Identity(4)
        for w in (None, W * N / W.sum()):
            for offset in (False, True):
                problem = Problem(A, B, Y, Squared(), 1.0, w, offset)
                together = loo.residuals(problem, lams)
                assert together.shape == (7, N, 2)
                for lam, found in zip(lams, together, strict=True):
                    alone = loo.residuals(problem, [lam])[0]
                    assert np.abs(found - alone).max() < 1e-8 * np.abs(alone).max()


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("weights", ["plain", "weighted", "zero weights"])
@pytest.mark.parametrize("kind", ["full", "features"])
def test_path_solutions_solve_the_normal_equations(kind, weights, offset):
    w = WEIGHTS[weights]
    w = None if w is None else w * N / w.sum()
    each = np.ones(N) if w is None else w
    A = gaussian(X, X) if kind == "full" else np.hstack([X, X**2])
    B = A if kind == "full" else np.eye(4)
    op = Matrix(A)
    problem = Problem(op, op if kind == "full" else Identity(4), Y, Squared(), 1.0, w, offset)
    lams = [1e-4, 1e-1]
    found = loo.path(problem, lams)
    assert found.coefs.shape == (2, A.shape[1], 2) and found.intercepts.shape == (2, 2)
    for lam, c, b in zip(lams, found.coefs, found.intercepts, strict=True):
        r = each[:, None] * (A @ c + b - Y)
        assert np.abs(A.T @ r / N + lam * B @ c).max() < 1e-9
        if offset:
            assert np.abs(r.sum(axis=0)).max() < 1e-8
        else:
            assert not b.any()


def test_random_features_keep_their_draw():
    """The features are those of the fitted machine, for every example left out."""
    map = NystromFeatures(Gaussian(1.0), n_centres=6, random_state=0)
    machine = KernelRidge(Gaussian(1.0), lam=1e-2, representation=Features(map), offset=False).fit(X, Y)
    Phi = NystromFeatures(Gaussian(1.0), n_centres=6, random_state=0).fit(X).transform(X)
    for i in range(0, N, 6):
        kept = np.arange(N) != i
        u = np.linalg.solve(
            Phi[kept].T @ Phi[kept] + 1e-2 * (N - 1) * np.eye(Phi.shape[1]), Phi[kept].T @ Y[kept]
        )
        assert np.abs(machine.loo_residuals()[i] - (Y[i] - Phi[i] @ u)).max() < 1e-8


def test_single_precision_data():
    """float32 data: within 1e-4 of float64."""
    single = KernelRidge(Gaussian(1.0), lam=1e-2, offset=False).fit(X.astype(np.float32), Y).loo_residuals()
    double = KernelRidge(Gaussian(1.0), lam=1e-2, offset=False).fit(X, Y).loo_residuals()
    assert np.abs(single - double).max() < 1e-4


def test_two_examples_are_enough_and_one_is_not():
    K = gaussian(X[:2], X[:2])
    A = Matrix(K)
    found = loo.residuals(Problem(A, A, Y[:2], Squared(), 0.1), [0.1])[0]
    for i, j in ((0, 1), (1, 0)):
        assert np.allclose(found[i], Y[i] - K[i, j] * Y[j] / (K[j, j] + 0.1))
    one = Matrix(K[:1, :1])
    with pytest.raises(ValueError, match="leaving one out needs at least two examples"):
        loo.residuals(Problem(one, one, Y[:1], Squared(), 0.1), [0.1])


def test_only_for_ridge():
    A = Matrix(gaussian(X, X))
    for problem in (
        Problem(A, A, np.sign(Y[:, :1] - 3), Logistic(), 0.1),
        Problem(Matrix(X), L1(2), Y, Squared(), 0.1),
    ):
        for function in (loo.residuals, loo.path):
            with pytest.raises(ValueError, match="need the squared loss and the penalty λ‖f‖²"):
                function(problem, [0.1])
