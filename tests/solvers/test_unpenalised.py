"""λ = 0: least norm among what fits best, against pseudo-inverses, scikit-learn and SciPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.linear_model import LinearRegression, LogisticRegression

import mercer
from mercer import KernelClassifier, KernelLogistic, KernelRegressor, KernelRidge
from mercer.kernels import Gaussian, Laplacian, Linear, Polynomial
from mercer.solvers import IncompatibleError

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 5
NEW = RNG.standard_normal((15, 3))
W = RNG.uniform(0.2, 2, 40)
W[:4] = 0
LABEL = np.where(X[:, 0] + RNG.standard_normal(40) > 0, 1, -1)
THREE = np.digitize(X[:, 0] + RNG.standard_normal(40), [-0.6, 0.5])


def laplacian(A, B):
    return np.exp(-np.sqrt(((A[:, None] - B[None]) ** 2).sum(axis=2)))


def bordered(K, y):
    """c and b with Kc + b = y and Σc = 0: of all f that go through y the least norm, b being free."""
    n = len(K)
    system = np.block([[K, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solved = np.linalg.solve(system, np.append(y, 0))
    return solved[:-1], solved[-1]


@pytest.mark.parametrize("weights", [None, W], ids=["equal", "weighted"])
def test_interpolation_of_least_norm(weights):
    machine = KernelRidge(Laplacian(1.0), lam=0).fit(X, Y, weights)
    seen = np.ones(40, bool) if weights is None else weights > 0
    c, b = bordered(laplacian(X[seen], X[seen]), Y[seen])
    np.testing.assert_allclose(machine.predict(NEW), laplacian(NEW, X[seen]) @ c + b, atol=1e-9)
    np.testing.assert_allclose(machine.predict(X[seen]), Y[seen], atol=1e-9)
    without = KernelRidge(Laplacian(1.0), lam=0, offset=False).fit(X, Y)
    expected = laplacian(NEW, X) @ np.linalg.solve(laplacian(X, X), Y)
    np.testing.assert_allclose(without.predict(NEW), expected, atol=1e-9)
    assert machine.lam_ == 0 and machine.solution_.converged
    assert "λ = 0: of all f that fit best the one of least norm" in machine.plan_.reasons
    assert 0 <= machine.solution_.certificate.gap < 1e-12


def test_the_condition_is_that_of_the_features():
    machine = KernelRidge(Laplacian(1.0), lam=0, offset=False).fit(X, Y)
    expected = np.sqrt(np.linalg.cond(laplacian(X, X)))
    assert machine.solution_.certificate.condition == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("weights", [None, W], ids=["equal", "weighted"])
def test_more_examples_than_features_is_least_squares(weights, offset):
    for points in (X, sp.csr_matrix(X)):
        machine = KernelRidge.from_alpha(0.0, kernel=Linear(), offset=offset).fit(points, Y, weights)
        theirs = LinearRegression(fit_intercept=offset).fit(X, Y, weights)
        np.testing.assert_allclose(machine.coef_, theirs.coef_, atol=1e-10)
        assert machine.intercept_ == pytest.approx(theirs.intercept_, abs=1e-10)


def test_fewer_examples_than_features_has_the_least_norm():
    P, y = RNG.standard_normal((8, 30)), RNG.standard_normal((8, 2))
    for points in (P, sp.csr_matrix(P), P.astype(np.float32)):
        for representation in ("features", "full"):
            machine = KernelRidge(Linear(), lam=0, offset=False, representation=representation)
            predicted = machine.fit(points, y).predict(points)
            np.testing.assert_allclose(predicted, y, atol=1e-5)
            expected = (np.linalg.pinv(points.toarray() if sp.issparse(points) else points) @ y).T
            np.testing.assert_allclose(machine.coef_, expected, atol=1e-5)


def test_equal_rows_with_unequal_targets_get_their_mean():
    P, y = np.vstack([X, X[:5]]), np.append(Y, Y[:5] + 1)
    machine = KernelRidge(Laplacian(1.0), lam=0).fit(P, y)
    expected = np.append(Y[:5] + 0.5, Y[5:])
    np.testing.assert_allclose(machine.predict(X), expected, atol=1e-8)
    c = machine.solution_.certificate
    assert c.objective == pytest.approx(2 * 5 * 0.25 / 45, rel=1e-9) and c.gap < 1e-9 and "5 others" in c.over


def test_constant_columns_far_from_0_and_smooth_kernels():
    P = np.column_stack([X, np.full(40, 7.0)]) + 1e4
    machine = KernelRidge(Linear(), lam=0).fit(P, Y)
    theirs = LinearRegression().fit(X, Y)
    np.testing.assert_allclose(machine.predict(P), theirs.predict(X), atol=1e-7)
    # A matrix that is singular to rounding: as near as there is room for, and no warning.
    line = np.linspace(0, 1, 60)[:, None]
    machine = KernelRidge(Gaussian(1.0), lam=0).fit(line, np.sin(5 * line[:, 0]))
    np.testing.assert_allclose(machine.predict(line), np.sin(5 * line[:, 0]), atol=1e-4)
    assert "others are 0 to rounding" in machine.solution_.certificate.over


@pytest.mark.parametrize("where", [0.0, 1e3, 1e6])
def test_what_rounding_may_do_goes_by_the_terms_of_scores(where):
    """In extended precision the objective is as said up to `rounding`, which large targets do not blow up."""
    P, wide = X * [1.0, 1e-2, 1e-4] + where, np.longdouble
    for y in (Y, Y + 1e6):
        machine = KernelRidge(Linear(), lam=0).fit(P, y)
        scores = P.astype(wide) @ machine.coef_.astype(wide) + wide(machine.intercept_)
        c, true = machine.solution_.certificate, float(np.square(y - scores).mean())
        assert abs(c.objective - true) <= c.rounding < 1e-4 * Y.var()
        assert machine.solution_.converged
    # What can't be told from rounding is no gradient.
    twice = KernelRidge(Laplacian(1.0), lam=0).fit(np.vstack([X, X]), np.repeat([0.0, 1.0], 40))
    assert twice.solution_.certificate.relative_gradient == 0


def test_small_penalties_lead_there():
    machine = KernelRidge(Laplacian(1.0), lam=0).fit(X, Y).predict(NEW)
    near = KernelRidge(Laplacian(1.0), lam=1e-9).fit(X, Y).predict(NEW)
    np.testing.assert_allclose(machine, near, atol=1e-6)


# -- likelihoods -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, W], ids=["equal", "weighted"])
@pytest.mark.parametrize("label", [LABEL, THREE], ids=["two", "three"])
def test_the_likeliest_is_that_of_scikit_learn(label, weights):
    theirs = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(X, label, weights)
    for points in (X, sp.csr_matrix(X), X.astype(np.float32)):
        machine = KernelLogistic.from_C(np.inf, kernel=Linear()).fit(points, label, weights)
        tol = 1e-5 if points.dtype == np.float64 else 1e-4
        np.testing.assert_allclose(machine.predict_proba(points), theirs.predict_proba(X), atol=tol)
        assert machine.solution_.converged and machine.lam_ == 0
        assert machine.solution_.certificate.relative_gradient < 1e-6


def test_polynomials_without_an_offset_by_scipy():
    """Maximum likelihood in φ with φ(x)·φ(z) = (1 + xz)², the dense objective minimised by BFGS."""
    x = X[:, :1]
    Phi = np.column_stack([np.ones(40), np.sqrt(2) * x, x**2])
    y = np.where(x[:, 0] ** 2 + RNG.standard_normal(40) > 0.7, 1, -1)

    def cost(v):
        m = y * (Phi @ v)
        return np.logaddexp(0, -m).mean(), -(Phi.T @ (y / (1 + np.exp(m)))) / 40

    best = minimize(cost, np.zeros(3), jac=True, method="BFGS", options={"gtol": 1e-10})
    machine = KernelClassifier(Polynomial(2, c=1.0), lam=0, offset=False).fit(x, y)
    np.testing.assert_allclose(machine.decision_function(x), Phi @ best.x, atol=1e-5)
    assert machine.solution_.certificate.objective == pytest.approx(best.fun, rel=1e-9)


@pytest.mark.parametrize(
    "label", [np.where(X[:, 0] > 0, 1, -1), np.digitize(X[:, 0], [-0.5, 0.5])], ids=["two", "three"]
)
def test_classes_told_apart_are_refused(label):
    for machine in (KernelLogistic(Linear(), lam=0), KernelLogistic(Linear(), lam=0, representation="full")):
        with pytest.raises(ValueError, match=r"nothing is likeliest.*give lam > 0, or take KernelSVC"):
            machine.fit(X, label)


def test_half_told_apart_is_refused():
    """Only the middle is undecided: the likelihood still rises for ever."""
    x = np.array([-2.0, -1, 0, 0, 1, 2])[:, None]
    with pytest.raises(ValueError, match="all or some of them"):
        KernelLogistic(Linear(), lam=0).fit(x, [0, 0, 0, 1, 1, 1])
    KernelLogistic(Linear(), lam=0).fit(x, [0, 1, 0, 1, 0, 1])
    with pytest.raises(ValueError, match="nothing is likeliest"):
        KernelLogistic(Gaussian(1.0), lam=0).fit(X, LABEL)
    # Classes of which one can be told from the others.
    with pytest.raises(ValueError, match="nothing is likeliest"):
        KernelLogistic(Linear(), lam=0).fit(np.append(X, [[50.0, 0, 0]], axis=0), np.append(THREE % 2, 2))


# -- machines --------------------------------------------------------------------------------------------


def test_what_needs_a_penalty_says_so(tmp_path):
    machine = KernelRidge(Laplacian(1.0), lam=0).fit(X, Y)
    for what in (machine.loo_residuals, machine.posterior, lambda: machine.predict(X, return_std=True)):
        with pytest.raises(ValueError, match="needs λ > 0"):
            what()
    with pytest.raises(ValueError, match="lam=0 has a solver of its own"):
        KernelRidge(lam=0, solver="cg").fit(X, Y)
    for loss in ("huber", "absolute", "poisson"):
        with pytest.raises(IncompatibleError):
            KernelRegressor(Linear(), loss=loss, lam=0).fit(X, np.abs(Y))
    with pytest.raises(IncompatibleError):
        KernelClassifier(Linear(), loss="squared_hinge", lam=0).fit(X, LABEL)
    for lam in (-1.0, np.nan, np.inf, False):
        with pytest.raises(ValueError, match="lam must be a positive number"):
            KernelRidge(lam=lam).fit(X, Y)
    mercer.save(machine, tmp_path / "m.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "m.mercer").predict(NEW), machine.predict(NEW))
