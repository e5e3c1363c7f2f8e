"""Least squares with a factor at hand, against dense solutions in float64."""

import copy
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from mercer import KernelClassifier, KernelRegressor, KernelRidge, solvers
from mercer.kernels import Gaussian, Laplacian
from mercer.losses import Huber
from mercer.operators import Factor
from mercer.solvers import ConvergenceWarning, IncompatibleError
from mercer.solvers.given import GivenFactor

N, MU = 60, 0.05
KERNEL = Laplacian(2.0)
X = np.random.default_rng(0).standard_normal((N, 3))
Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] ** 2 + 3.0])


def factor(dtype=np.float32, mu=MU, n=N):
    return Factor(np.ascontiguousarray(KERNEL(X[:n]), dtype=dtype), mu)


def machine(solver, **more):
    return KernelRidge(
        **{"kernel": KERNEL, "lam": MU / N, "representation": "full", "solver": solver, **more}
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("y", [Y[:, 0], Y], ids=["one column", "two columns"])
def test_the_dense_solution(dtype, offset, y):
    """Though the factor has seven digits, the solution has twice as many."""
    fitted = machine(GivenFactor(factor(dtype), tol=1e-11), offset=offset).fit(X, y)
    K, one = KERNEL(X) + MU * np.eye(N), np.ones((N, 1))
    if offset:
        system = np.block([[K, one], [one.T, np.zeros((1, 1))]])
        expected = np.linalg.solve(system, np.append(y, np.zeros((1, *y.shape[1:])), axis=0))
        np.testing.assert_allclose(np.squeeze(fitted.intercept_), expected[N], rtol=1e-8)
        expected = expected[:N]
    else:
        expected = np.linalg.solve(K, y)
    np.testing.assert_allclose(fitted.dual_coef_, expected, rtol=1e-8, atol=1e-9)
    assert fitted.solution_.status == "converged" and fitted.solution_.solver == GivenFactor.name
    assert fitted.solution_.certificate.relative_gradient < 1e-9


def test_a_factor_of_a_matrix_nearby_is_enough():
    """It only divides: which matrix it is of decides how many iterations there are, not what is found."""
    exact = np.linalg.solve(KERNEL(X) + MU * np.eye(N), Y)
    own, near = (machine(GivenFactor(factor(mu=mu)), offset=False).fit(X, Y) for mu in (MU, 3 * MU))
    for fitted in (own, near):
        np.testing.assert_allclose(fitted.dual_coef_, exact, atol=1e-6 * np.abs(exact).max())
    assert own.solution_.iterations < near.solution_.iterations


def test_labels():
    y = np.where(Y[:, 0] > 0, "up", "down")
    given, plain = (
        KernelClassifier(KERNEL, "squared", lam=MU / N, representation="full", solver=s).fit(X, y)
        for s in (GivenFactor(factor()), "cholesky")
    )
    np.testing.assert_allclose(given.scores(X), plain.scores(X), atol=1e-6)


def test_too_few_iterations_are_said():
    with pytest.warns(ConvergenceWarning, match="refinement of a given factor"):
        fitted = machine(GivenFactor(factor(mu=100.0), tol=1e-12, max_iter=1)).fit(X, Y)
    assert not fitted.solution_.converged and fitted.solution_.iterations <= 2
    # Nothing is lost: it is no worse than the mean.
    assert np.all(((fitted.predict(X) - Y) ** 2).mean(axis=0) <= Y.var(axis=0) * (1 + 1e-9))


def test_what_it_cannot_solve_is_refused():
    with pytest.raises(ValueError, match="59 rows, and the problem has 60"):
        machine(GivenFactor(factor(n=59))).fit(X, Y)
    with pytest.raises(ValueError, match="representation='full'"):
        machine(GivenFactor(factor()), representation="nystrom").fit(X, Y)
    with pytest.raises(IncompatibleError):
        KernelRegressor(KERNEL, loss=Huber(0.1), representation="full", solver=GivenFactor(factor())).fit(
            X, Y[:, 0]
        )


@pytest.mark.parametrize("wrong", [{"tol": 0.0}, {"tol": -1.0}, {"max_iter": 0}, {"max_iter": 1.5}])
def test_parameters_are_looked_at(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        machine(GivenFactor(factor(), **wrong)).fit(X, Y)


def test_weights_are_part_of_the_problem():
    """With them the factor is only near what is solved; the solution is that of the weights."""
    w = np.random.default_rng(1).uniform(0.5, 2.0, N)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = machine(GivenFactor(factor(), tol=1e-10), offset=False).fit(X, Y, sample_weight=w)
    exact = np.linalg.solve(KERNEL(X) + np.diag(MU * w.mean() / w), Y)
    np.testing.assert_allclose(fitted.dual_coef_, exact, atol=1e-5 * np.abs(exact).max())


def test_it_is_held_and_not_copied():
    f = factor()
    solver = GivenFactor(f)
    assert clone(solver).factor is f and copy.deepcopy(solver).factor is f
    assert clone(machine(solver)).solver.factor is f


def test_it_is_nobodys_choice():
    """Made by `fit_nested` for its own use: there is no name for it, and no list has it."""
    assert "GivenFactor" not in solvers.__all__ and not hasattr(solvers, "GivenFactor")
    with pytest.raises(ValueError):
        machine(GivenFactor.name).fit(X, Y)


def test_other_kernels_are_as_good():
    kernel = Gaussian(1.0)
    f = Factor(kernel(X).astype(np.float32), MU)
    fitted = KernelRidge(kernel, lam=MU / N, representation="full", solver=GivenFactor(f), offset=False).fit(
        X, Y
    )
    np.testing.assert_allclose(
        fitted.dual_coef_, np.linalg.solve(kernel(X) + MU * np.eye(N), Y), rtol=1e-5, atol=1e-7
    )


def test_an_offset_takes_no_more_iterations():
    """The matrix that is divided by is the one that is solved for, and not the centred one."""
    far = np.random.default_rng(1).standard_normal((300, 2))
    kernel, y = Gaussian(3.0), np.sin(far[:, 0]) + 5.0
    own = Factor(kernel(far).astype(np.float32), 1e-4)
    iterations = []
    for offset in (False, True):
        solver = GivenFactor(own, tol=1e-4)
        fitted = machine(solver, kernel=kernel, lam=1e-4 / 300, offset=offset).fit(far, y)
        assert fitted.solution_.status == "converged"
        iterations.append(fitted.solution_.iterations)
    assert iterations[1] <= iterations[0] + 1


def test_a_factor_that_is_of_no_use_leaves_numbers():
    """Of a matrix so far away that nothing gets better: nothing is solved, and that is said."""

    class Useless:
        n = N

        def solve(self, B):
            return np.zeros_like(B)

        def condition(self):
            return 1.0

    with pytest.warns(ConvergenceWarning):
        fitted = machine(GivenFactor(Useless()), offset=True).fit(X, Y[:, 0])
    assert not fitted.solution_.converged
    np.testing.assert_allclose(fitted.predict(X), np.mean(Y[:, 0]))
