"""Outputs that differ in more than their targets: each has a λ of its own, or a scale that is to be found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.losses import Loss
from mercer.solvers.base import Solver
from mercer.solvers.problem import Certificate, Problem, Solution, Support

# A scale is found to this part of itself, in so many solutions at most, and is no less than this part of y.
_FOUND, _TRIALS, _LEAST = 1e-9, 60, 1e-10
# Residuals of targets of size 1 that are below this are rounding.
_ROUNDED = 64 * float(np.finfo(float).eps)
_WORST = ("converged", "stationary", "stalled", "max_iter")


def solve(solver: Solver, problem: Problem) -> tuple[Solution, Loss]:
    """The solution of a problem whose outputs may differ, and the loss with what was found for it.

    Examples
    --------
    >>> from mercer.losses import Squared
    >>> from mercer.operators import Matrix
    >>> from mercer.solvers import Cholesky
    >>> K, y = Matrix(np.eye(2)), np.ones((2, 2))
    >>> solution, _ = solve(Cholesky(), Problem(K, K, y, Squared(), lam=np.array([0.5, 1.5])))
    >>> solution.coef
    array([[0.5 , 0.25],
           [0.5 , 0.25]])
    """
    t, loss = problem.y.shape[1], problem.loss
    lams = np.broadcast_to(np.asarray(problem.lam, dtype=np.float64), (t,))
    if not loss.unsettled:
        if np.ndim(problem.lam) == 0:
            return solver.run(problem), loss
        columns = [np.flatnonzero(lams == lam) for lam in dict.fromkeys(lams.tolist())]
        return together([solver.run(_part(problem, c, float(lams[c[0]]))) for c in columns], columns, t), loss
    columns = [np.array([j]) for j in range(t)]
    found = [_with_scale(solver, _part(problem, c, float(lams[c[0]]))) for c in columns]
    losses = [settled for _, settled in found]
    return together([solution for solution, _ in found], columns, t), loss.settled_as(losses)


def _part(problem: Problem, columns: np.ndarray, lam: float) -> Problem:
    """The problem of some outputs."""
    start = None if problem.start is None else problem.start[:, columns]
    begin = None if problem.begin is None else (problem.begin[0][:, columns], problem.begin[1][columns])
    return replace(problem, y=problem.y[:, columns], lam=lam, start=start, begin=begin)


def _with_scale(solver: Solver, problem: Problem) -> tuple[Solution, Loss]:
    """The least of σ + C(f, σ) over f and σ, which is convex in both: where its slope in σ is 0.

    The slope at the best f for a σ is that with f held. Steps are those of the secant through the last two
    in log σ, between bounds that close in.
    """
    y = problem.y[problem.w > 0]
    spread, size = (float(np.abs(part).max(initial=0.0)) for part in (y - np.median(y), y))
    least = max(_LEAST * spread, _ROUNDED * size if spread else 0.0) or np.finfo(float).tiny ** 0.5
    loss = problem.loss.guessed(problem.y, problem.w)
    low, high = np.log(least), np.inf
    x, begin = float(np.log(max(loss.scale, least))), problem.begin
    last: tuple[float, float] | None = None
    for _ in range(_TRIALS):
        settled = problem.loss.at(float(np.exp(x)))
        solution = solver.run(replace(problem, loss=settled, begin=begin))
        slope = settled.slope_in_scale(problem.y, problem.A @ solution.coef + solution.intercept, problem.w)
        begin = solution.coef, solution.intercept
        low, high = (x, high) if slope < 0 else (low, x)
        if slope == 0 or high - low <= _FOUND or (slope > 0 and x <= np.log(least)):
            break
        step = np.nan
        if last is not None and last[1] != slope:
            step = x - slope * (x - last[0]) / (slope - last[1])
        last = x, slope
        inside = low < step < high and abs(step - x) < 3
        if inside and abs(step - x) <= _FOUND:
            break
        if inside:
            x = step
        elif np.isinf(high):
            x = x + 1.0
        elif slope > 0 and low == np.log(least):  # nobody has looked there: it may be the best
            x = max(x - 3.0, low)
        else:
            x = 0.5 * (low + high)
    return solution, settled


def together(solutions: Sequence[Solution], columns: Sequence[np.ndarray], t: int) -> Solution:
    """One solution, of outputs that were solved for apart: objectives and gaps are added up."""
    if len(solutions) == 1:
        return solutions[0]
    order = np.argsort(np.concatenate(columns), kind="stable")

    def side(arrays: list[Any]) -> Any:
        return None if any(a is None for a in arrays) else np.concatenate(arrays, axis=-1)[..., order]

    supports = [solution.support for solution in solutions]
    support = None
    if all(s is not None for s in supports):
        free, bounded = (side([np.array(getattr(s, name)) for s in supports]) for name in ("free", "bounded"))
        support = Support(tuple(free.tolist()), tuple(bounded.tolist()))
    return Solution(
        side([s.coef for s in solutions]),
        side([s.intercept for s in solutions]),
        max((s.status for s in solutions), key=_WORST.index),
        max(s.iterations for s in solutions),
        _worst([s.certificate for s in solutions]),
        (),
        solutions[0].solver,
        support=support,
        dual_coef=side([s.dual_coef for s in solutions]),
    )


def _worst(each: Sequence[Certificate]) -> Certificate:
    def of(name: str, function: Any = max) -> Any:
        values = [getattr(c, name) for c in each]
        return None if any(v is None for v in values) else function(values)

    names = ("relative_gradient", "violation", "representer_residual", "condition", "jitter")
    sums = {name: of(name, sum) for name in ("objective", "gap", "rounding")}
    return Certificate(**{name: of(name) for name in names}, **sums, over=each[0].over)
