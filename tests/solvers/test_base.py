"""What solvers declare, refuse and say; and what a solution shows."""

from dataclasses import replace

import numpy as np
import pytest

from mercer import losses, solvers
from mercer.losses import Hinge, Huber, Logistic, Squared
from mercer.operators import Matrix
from mercer.solvers import (
    CG,
    Certificate,
    Cholesky,
    Coordinate,
    GradientDescent,
    Interior,
    Newton,
    Problem,
    Solution,
    Solver,
)
from mercer.solvers.problem import relative_to


@pytest.mark.parametrize("solver", [Cholesky(), CG()], ids=repr)
def test_linear_solvers_want_least_squares(solver):
    assert solver.refusal(Squared(), "ridge") is None
    refusal = solver.refusal(Huber(), "ridge")
    assert "needs the Squared() loss, not Huber()" in refusal and "solver='newton'" in refusal


@pytest.mark.parametrize("solver", [Newton(), GradientDescent()], ids=repr)
def test_smooth_solvers_want_smooth_losses(solver):
    for name in losses.__all__:
        if name in ("Loss", "FunctionLoss"):  # which needs a function
            continue
        loss = getattr(losses, name)()
        refusal = solver.refusal(loss, "ridge")
        assert (refusal is None) == loss.smooth
        if refusal:
            assert f"needs a differentiable loss, which {loss!r} is not" in refusal


def test_penalties():
    for solver in (Cholesky(), CG(), Newton(), GradientDescent()):
        assert "a Lasso representation needs solver='coordinate'" in solver.refusal(Squared(), "lasso")
    assert Coordinate().refusal(Squared(), "lasso") is None
    assert "use it with representation=Lasso()" in Coordinate().refusal(Squared(), "ridge")
    assert "solver='interior', which takes losses with kinks" in Coordinate().refusal(Hinge(), "lasso")
    assert Interior().refusal(Hinge(), "lasso") is None
    assert "use solver='coordinate'" in Interior().refusal(Logistic(), "lasso")
    assert "use it with representation=Lasso()" in Interior().refusal(Hinge(), "ridge")


@pytest.mark.parametrize(
    "solver, message",
    [
        (CG(tol=0), "CG: tol must be a positive number, got 0"),
        (CG(tol="tight"), "CG: tol must be a positive number, got 'tight'"),
        (CG(tol=float("nan")), "CG: tol must be a positive number"),
        (CG(max_iter=0), "CG: max_iter must be a whole number of at least 1, got 0"),
        (CG(max_iter=2.5), "CG: max_iter must be a whole number"),
        (CG(rank=-1), "CG: rank must be a whole number of at least 0, got -1"),
        (Newton(tol=-1e-3), "Newton: tol must be a positive number"),
        (Newton(max_iter="many"), "Newton: max_iter must be a whole number"),
        (GradientDescent(step=-1), "GradientDescent: step must be a positive number, got -1"),
        (GradientDescent(tol=0), "GradientDescent: tol must be a positive number"),
        (Coordinate(tol=-1), "Coordinate: tol must be a positive number"),
        (Coordinate(max_iter=0), "Coordinate: max_iter must be a whole number"),
    ],
    ids=str,
)
def test_parameters_are_checked(solver, message):
    K = Matrix(np.eye(2))
    for call in (solver.validate, lambda: solver.run(Problem(K, K, np.ones((2, 1)), Squared(), 1.0))):
        with pytest.raises(ValueError, match=message):
            call()


def exported_solvers():
    found = [getattr(solvers, name) for name in solvers.__all__]
    return [cls for cls in found if isinstance(cls, type) and issubclass(cls, Solver) and cls is not Solver]


@pytest.mark.parametrize("cls", exported_solvers(), ids=lambda cls: cls.__name__)
def test_values(cls):
    name = cls.__name__
    assert cls() == cls() and repr(cls()) == f"{name}()"
    assert cls.name and cls.requires
    assert eval(repr(cls()), {name: cls}) == cls()


def test_all_solvers_are_found():
    assert {Cholesky, CG, Newton, GradientDescent, Coordinate} <= set(exported_solvers())


def test_the_contract_alone_does_nothing():
    with pytest.raises(NotImplementedError):
        Solver().run(None)


def test_problem_pieces():
    y = np.array([[1.0], [-1.0]])
    w = np.array([1.5, 0.5])
    K = Matrix(np.eye(2))
    problem = Problem(K, K, y, Logistic(), 0.1, w)
    s = np.array([[0.3], [2.0]])
    assert problem.full and problem.n == 2
    expected = (1.5 * np.log(1 + np.exp(-0.3)) + 0.5 * np.log(1 + np.exp(2.0))) / 2
    assert problem.data_value(s) == pytest.approx(expected)
    slopes = np.array([-1.5 / (1 + np.exp(0.3)), 0.5 / (1 + np.exp(-2.0))])
    assert np.allclose(problem.data_grad(s)[:, 0], slopes)
    assert not Problem(K, Matrix(np.eye(2)), y, Logistic(), 0.1).full


def test_solutions_read_well():
    certificate = Certificate(1e-9, 0.25, gap=1e-12, condition=1e4, jitter=1e-10, over="these 2 centres")
    s = Solution(np.ones((2, 1)), np.zeros(1), "converged", 1, certificate, (1.0, 1e-9), "newton")
    assert str(s) == (
        "newton: converged after 1 iteration, relative gradient 1.0e-09, objective 0.25, "
        "at most 1.0e-12 above the minimum over these 2 centres, condition ≈ 1.0e+04, "
        "jitter 1.0e-10"
    )
    assert repr(s) == f"<{s}>"
    exact = Certificate(1e-16, 0.25, gap=1e-30, representer_residual=0.0)
    # 1e-30 is nothing that could be known of an objective of 0.25.
    assert "at most 5.6e-17 above the minimum" in str(replace(s, certificate=exact))
    assert "centres" not in str(replace(s, certificate=exact))
    assert s.converged
    bare = Solution(np.ones((2, 1)), np.zeros(1), "max_iter", 3, Certificate(0.1, 0.25), (), "cg")
    assert str(bare) == "cg: max_iter after 3 iterations, relative gradient 1.0e-01, objective 0.25"


def test_relative_to():
    assert relative_to(1.0, 4.0) == 0.25
    assert relative_to(0.0, 0.0) == 0.0
    assert relative_to(1.0, 0.0) == np.inf
