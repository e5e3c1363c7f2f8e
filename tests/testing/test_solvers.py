"""check_solver finds what is wrong with a solver, and says it."""

import inspect
from dataclasses import replace

import pytest

import mercer.solvers
from mercer.solvers import CG, Cholesky, Coordinate, GradientDescent, Newton, Smoothing, Solver
from mercer.testing import LawViolation, check_solver


class Changed(Cholesky):
    """A right solver with something done to its solution."""

    def change(self, problem, solution):
        return solution

    def run(self, problem):
        return self.change(problem, super().run(problem))


class Inexact(Changed):
    def change(self, problem, s):
        return replace(s, coef=1.01 * s.coef)


class WrongObjective(Changed):
    def change(self, problem, s):
        return replace(s, certificate=replace(s.certificate, objective=2 * s.certificate.objective))


class WrongShape(Changed):
    def change(self, problem, s):
        return replace(s, coef=s.coef.T)


class NoOffset(Changed):
    def change(self, problem, s):
        return replace(s, intercept=0 * s.intercept)


class AnOffset(Changed):
    def change(self, problem, s):
        return replace(s, intercept=s.intercept + 1e-9)


class WrongStatus(Changed):
    def change(self, problem, s):
        return replace(s, status="done")


class Mutating(Cholesky):
    def run(self, problem):
        solution = super().run(problem)
        problem.y[0] += 1
        return solution


class IgnoresWeights(Cholesky):
    def run(self, problem):
        return super().run(replace(problem, weights=None))


class Boastful(GradientDescent):
    """Stops early, and claims not to have."""

    def __init__(self, tol=1e-2):
        super().__init__(tol=tol)

    def run(self, problem):
        s = super().run(problem)
        return replace(s, certificate=replace(s.certificate, relative_gradient=0.0, gap=0.0))


class RefusesAll(Cholesky):
    def refusal(self, loss, penalty):
        return "this solver is not in the mood for problems"


class Curt(Cholesky):
    def refusal(self, loss, penalty):
        return "no" if super().refusal(loss, penalty) else None


class Computes(Cholesky):
    def __init__(self, tol=1e-3):
        self.tol = 2 * tol


# Whose default tolerance is of another quantity than the gradient that the laws measure.
TIGHTER = {Coordinate: {"tol": 1e-9}, Smoothing: {"tol": 1e-8}}
EXPORTED = [v for v in vars(mercer.solvers).values() if inspect.isclass(v) and issubclass(v, Solver)]
OURS = [v(**TIGHTER.get(v, {})) for v in EXPORTED if v is not Solver]


@pytest.mark.parametrize("solver", [*OURS, CG(store=False), CG(rank=0)], ids=repr)
def test_ours_keep_the_laws(solver):
    check_solver(solver)


@pytest.mark.parametrize(
    "solver, words",
    [
        (Inexact(), "the solution must be the minimum: for Squared.* the gradient is"),
        (WrongObjective(), "the certificate must say the truth: .* an objective of"),
        (WrongShape(), "wrong shape: for Squared.* coef is"),
        (NoOffset(), "the solution must be the minimum: for .*, offset"),
        (AnOffset(), "an offset only where one is asked for"),
        (WrongStatus(), "status is converged, stalled or max_iter: .*'done'"),
        (Mutating(), "the problem must be left alone"),
        (IgnoresWeights(), "the solution must be the minimum: for .*, weights"),
        (RefusesAll(), "a solver must solve something"),
        (Curt(), "a refusal must name its reason"),
        (Computes(), "the constructor must only store"),
    ],
    ids=lambda v: type(v).__name__ if isinstance(v, Solver) else "",
)
def test_what_is_wrong_is_found(solver, words):
    with pytest.raises(LawViolation, match=words):
        check_solver(solver)


def test_claims_are_checked_where_the_solution_is_allowed_to_be_rough():
    with pytest.raises(LawViolation, match="the certificate must say the truth: .* claims a gradient of 0"):
        check_solver(Boastful(), tol=0.1)
    check_solver(GradientDescent(tol=1e-2), tol=0.1)


def test_tolerance():
    with pytest.raises(LawViolation, match="the solution must be the minimum"):
        check_solver(GradientDescent(tol=1e-2))


def test_only_solvers():
    with pytest.raises(TypeError, match="check_solver takes a Solver, got str"):
        check_solver("newton")
    with pytest.raises(ValueError, match="tol must be a positive number"):
        check_solver(Newton(tol=-1.0))
