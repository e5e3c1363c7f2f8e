"""What becomes of the coefficients of all outputs: a solution with its certificate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.operators import NotPositiveDefinite
from mercer.solvers.certify import Measured, certify
from mercer.solvers.convex import semidefinite
from mercer.solvers.coordinates import Primal
from mercer.solvers.dual.minimise import State
from mercer.solvers.dual.part import Part
from mercer.solvers.problem import Problem, Solution, Support

_NAME = "dual"
# From so many outputs on scores are computed only where they say something.
_MANY = 8
# Slopes of 1 that are left, of the scores' own, for the gradient to need no measuring.
_TOL = 1e-4
# A margin is one if it is more than as many times the slopes that are left.
_NO_MARGIN = 2.0


def solution_of(problem: Problem, primal: Primal | None, parts: list[Part], states: list[State]) -> Solution:
    """The coefficients of all outputs, with a certificate measured from them."""
    n, t = problem.y.shape
    dual_coef, coef, values = _coefficients(problem, primal, parts, states)
    slopes, intercept = np.zeros((n, t)), np.zeros(t)
    for j, (part, state) in enumerate(zip(parts, states, strict=True)):
        slopes[part.rows, j] = -np.clip(state.c / part.C, part.form.lower, part.form.upper)
        intercept[j] = part.offset(state.c, values[part.rows, j]) if problem.offset else 0.0
    measured = certify(problem, coef, intercept, _TOL, primal, slopes, values)
    worst = worst_of(parts, states)[1]
    certificate = measured.certificate(relative_gradient=None, violation=worst.violation)
    return Solution(
        coef,
        intercept,
        measured.verdict(worst.status, _TOL, 0.0),
        sum(state.rounds for state in states),
        certificate,
        tuple(max(states, key=lambda state: state.rounds).history),
        _NAME,
        support=support_of(parts, dual_coef),
        dual_coef=dual_coef,
    )


def _coefficients(
    problem: Problem, primal: Primal | None, parts: list[Part], states: list[State]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients of the examples and of the representation, and scores without b."""
    # Written column by column.
    dual_coef = np.zeros(problem.y.shape, order="F")
    for j, (part, state) in enumerate(zip(parts, states, strict=True)):
        dual_coef[part.rows, j] = part.net(state.c)
    coef = dual_coef if primal is None else primal.back(primal.Phi.adjoint(dual_coef))[0]
    values = values_of(problem, coef, parts)
    square = float((coef * values).sum()) if problem.full else 0.0
    if square < 0 and not problem.indefinite and not semidefinite(problem):
        raise NotPositiveDefinite(
            "the matrix is not positive semidefinite: cᵀKc < 0 for the coefficients found, so ‖f‖² "
            "means nothing; is the kernel a kernel (mercer.kernels.check)?"
        )
    return dual_coef, coef, values


def settled(
    problem: Problem, primal: Primal | None, parts: list[Part], states: list[State]
) -> tuple[Solution, np.ndarray]:
    """The solution where kinks were found, and what scores were divided by.

    Output by output it is the minimiser for a loss without a price and a λ of its own, and certified as such.
    """
    t = problem.y.shape[1]
    dual_coef, coef, values = _coefficients(problem, primal, parts, states)
    support = support_of(parts, dual_coef)
    intercept, kinks, scales, lams = (np.zeros(t) for _ in range(4))
    measured, plain = [], problem.loss
    for j, (part, state) in enumerate(zip(parts, states, strict=True)):
        b, kinks[j] = part.moved(problem, state.c, values[part.at, j])
        slopes = values[part.at, j] - part.qp.centre + part.qp.extra * state.c
        # Anew: after many steps the solver's own may be less precise than they are small.
        state.violation = max(state.violation, part.qp.steepest(state.c, slopes))
        doubt = _NO_MARGIN * state.violation + _rounding(problem, primal, dual_coef[:, j])
        plain, scales[j] = problem.loss.settled(kinks[j], doubt)
        intercept[j] = b / scales[j]
        for a in (dual_coef, values) if coef is dual_coef else (dual_coef, coef, values):
            a[:, j] /= scales[j]
        price = np.abs(dual_coef[part.rows, j]) / (problem.w[part.rows] / problem.n)
        endless = not np.isfinite(part.form.upper).all()
        lams[j] = 1 / (2 * price.max()) if endless else problem.lam * scales[j]
        measured.append(_certified(problem, primal, plain, lams[j], j, (dual_coef, coef, values, intercept)))
    worst, certificates = worst_of(parts, states)[1], [m.certificate() for m in measured]
    gaps = [c.gap for c in certificates if c.gap is not None]
    certificate = replace(
        certificates[0],
        relative_gradient=None,
        objective=sum(c.objective for c in certificates),
        gap=sum(gaps) if len(gaps) == len(certificates) else None,
        rounding=sum(c.rounding for c in certificates),
        violation=max(state.violation / scale for state, scale in zip(states, scales, strict=True)),
    )
    status = worst.status
    for m in measured:
        status = m.verdict(status, _TOL, 0.0)
    rounds, history = sum(state.rounds for state in states), tuple(worst.history)
    found = (coef, intercept, status, rounds, certificate, history, _NAME)
    return Solution(*found, support=support, dual_coef=dual_coef, kinks=kinks, lams=lams), scales


def _rounding(problem: Problem, primal: Primal | None, c: np.ndarray) -> float:
    """How far rounding may put a score."""
    squares = problem.A.diag() if primal is None else primal.Phi.row_squares()
    return float(8 * np.finfo(problem.A.dtype).eps * np.abs(c).sum() * np.max(squares, initial=0.0))


def _certified(
    problem: Problem, primal: Primal | None, loss: Any, lam: float, j: int, found: Any
) -> Measured:
    """One output, measured as the minimiser for this loss and λ."""
    dual_coef, coef, values, intercept = (a[..., j : j + 1] for a in found)
    y = problem.y[:, [j]]
    plain = replace(problem, y=y, loss=loss, lam=lam, kink_price=0.0, start=None)
    w, form = problem.w[:, None], loss.dual(y)
    a = np.divide(2 * lam * problem.n * dual_coef, w, out=np.zeros_like(dual_coef), where=w > 0)
    return certify(plain, coef, intercept, _TOL, primal, -np.clip(a, form.lower, form.upper), values)


def values_of(problem: Problem, coef: np.ndarray, parts: list[Part]) -> np.ndarray:
    """A c where an example has a say in an output, zeros elsewhere: nothing that is measured goes by those.

    Of machines for pairs of classes those are most: examples of a class are rows of a few outputs only.
    """
    n, t = problem.y.shape
    said = np.zeros((n, t), dtype=bool)
    for j, part in enumerate(parts):
        said[part.rows, j] = True
    if t < _MANY or problem.A.remote or 2 * np.count_nonzero(said) > n * t:
        return problem.A @ coef
    kinds, which = np.unique(said, axis=0, return_inverse=True)
    if len(kinds) > t:
        return problem.A @ coef
    values = np.zeros((n, t))
    for k, outputs in enumerate(kinds):
        rows, columns = np.flatnonzero(which.ravel() == k), np.flatnonzero(outputs)
        if len(columns):
            values[np.ix_(rows, columns)] = problem.A.among(rows) @ np.ascontiguousarray(coef[:, columns])
    return values


def support_of(parts: list[Part], dual_coef: np.ndarray) -> Support:
    """How many coefficients (n, t) are free, and how many at a bound."""
    free, bounded = [], []
    for j, part in enumerate(parts):
        c = dual_coef[part.rows, j]
        # Smoothing multiplies by C in another order, and rounds differently.
        ends = [np.isclose(c, end, rtol=1e-12, atol=0.0) for end in part.box]
        bounded.append(int(np.count_nonzero((c != 0) & (ends[0] | ends[1]))))
        free.append(int(np.count_nonzero(c)) - bounded[-1])
    return Support(tuple(free), tuple(bounded))


def worst_of(parts: list[Part], states: list[State]) -> tuple[Part, State]:
    """The output that is furthest from its tolerance."""

    def far(pair: tuple[Part, State]) -> tuple[bool, float]:
        return pair[1].status != "converged", pair[1].violation / pair[0].tol

    return max(zip(parts, states, strict=True), key=far)
