"""Minimising over examples that live elsewhere: coefficients here, sums over examples there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.losses.dual import DualForm
from mercer.operators import Elsewhere
from mercer.rows.base import Totals
from mercer.solvers.base import IncompatibleError, Solver, warn_if_unconverged
from mercer.solvers.certify import DOUBT, best_constant, scale_of
from mercer.solvers.coordinates import to_primal
from mercer.solvers.passes.certificate import Judge
from mercer.solvers.passes.descent import QuasiNewton
from mercer.solvers.passes.points import Curvature, Measure, Point
from mercer.solvers.passes.work import FinalSums, Slopes
from mercer.solvers.problem import Problem, Solution, relative_to
from mercer.solvers.smoothing import first_smoothing

# How well the sample's problem is solved for a start: its solution is off by more than that in any case.
_SAMPLE_TOL = 1e-3
_SAMPLE_GAP = 1e-2
# μ is lowered once what is left to the steps is no more than this part of what the smoothing costs,
_LEFT = 0.5
# to so much of what it was.
_LEAST, _MOST = 0.15, 0.7
# The gap to reach for losses with kinks, relative to the objective.
_KINK_TOL = 1e-4
# After so many steps without a decrease no more is to be had.
_IDLE = 4
_SLACK = 1e-13


class Passes(Solver):
    """Any smooth loss, and any with kinks, for examples that live elsewhere: one pass over them a step.

    The unknowns are coefficients of centres or features. A pass gives the objective and its gradient, sums
    over examples; all else happens here, with vectors as long as the unknowns. Steps are quasi-Newton
    (L-BFGS), with the Hessian of a sample of the examples in place of the identity, and begin at the
    solution of the sample's problem: with forty examples of the sample for each unknown a pass leaves about a
    sixth of the error. For least squares the steps are those of preconditioned conjugate gradients. Kinks
    are rounded off less and less, as in `Smoothing`, to a stated duality gap.

    Parameters
    ----------
    tol : float, optional
        Gradient norm in H_K, relative to that at the best constant, to reach; for losses with kinks the
        duality gap, relative to the objective. None: 1e-8 for float64 data, 1e-5 for float32; 1e-4 for kinks.
    max_iter : int
        Passes over all examples.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.rows import ArrayRows
    >>> X = np.random.default_rng(0).uniform(-2, 2, (5000, 1))
    >>> machine = KernelRidge(lam=1e-4, random_state=0).fit(ArrayRows(X, np.sin(X[:, 0])))
    >>> machine.solution_.status, float(np.abs(machine.predict(X) - np.sin(X[:, 0])).max()) < 0.02
    ('converged', True)
    """

    name = "passes"
    passes = 12

    def __init__(self, tol=None, max_iter=200):
        self.tol = tol
        self.max_iter = max_iter

    def refusal(self, loss, penalty):
        reason = super().refusal(loss, penalty)
        if reason is None and not loss.smooth and not loss.has_dual:
            reason = (
                f"solver {self!r} needs a loss with a derivative or a dual form, and {loss!r} has neither"
            )
        if reason is None and loss.prices_offset:
            reason = f"solver {self!r} takes no price of the offset, which one-class problems have"
        return reason

    def memory(self, shape):
        # The features of the sample with a copy of some, the Hessian and its factor; vectors for the steps.
        p = shape.unknowns
        return 3 * sampled_examples(shape.n, p) * p * 8 + 3 * shape.square + 60 * p * shape.outputs * 8

    def run(self, problem: Problem) -> Solution:
        self.validate()
        if not isinstance(problem.A, Elsewhere) or problem.sample is None:
            raise IncompatibleError(
                f"solver {self!r} is for examples that live elsewhere (rows of files, of a cluster); use "
                "solver='auto' here"
            )
        solution = _Run(self, problem).solution(self.name)
        measured = None
        if not problem.loss.smooth:
            share = relative_to(solution.certificate.gap or 0.0, solution.certificate.objective)
            measured = f"the duality gap is {share:.1e} of the objective"
        tol = self.tolerance(problem)
        warn_if_unconverged(solution, tol, "Increase tol, lam or max_iter", problem.A.dtype, measured)
        return solution

    def tolerance(self, problem: Problem) -> float:
        if problem.loss.smooth or self.tol is not None:
            return self._tol(self.tol, problem.A.dtype)
        return _KINK_TOL


def sampled_examples(n: int, unknowns: int) -> int:
    """Examples of the sample for so many unknowns."""
    return min(n, max(40 * unknowns, 20_000))


@dataclass
class _Track:
    """The best point so far, with the smoothing it was found with, and how it went."""

    best: Point
    mu: Any = None
    gap: float = np.inf
    iterations: int = 0
    idle: int = 0
    history: list[float] = field(default_factory=list)


class _Run:
    """One minimisation: the sample's problem first, then from its solution on that of all examples."""

    def __init__(self, solver: Passes, problem: Problem):
        sample = problem.sample
        assert sample is not None and isinstance(problem.A, Elsewhere)
        self.problem, self.sample, self.limit = problem, sample, solver.max_iter
        self.tol = solver.tolerance(problem)
        self.primal = to_primal(sample, store=True)
        self.curvature = Curvature(sample, self.primal)
        self.judge = Judge(problem, self.primal)
        work = Slopes(problem.loss)

        def on_sample(*vectors: Any) -> Totals:
            return work(sample.A, sample.y, sample.weights, *vectors)

        self.all = Measure(problem.A.adding(work), self.primal, problem.lam, problem.n)
        self.some = Measure(on_sample, self.primal, problem.lam, sample.n)
        # What gaps are measured against.
        self.unit = scale_of(sample)

    def solution(self, name: str) -> Solution:
        u = np.zeros((len(self.primal.penalty), self.sample.y.shape[1]))
        if self.problem.offset:
            u[-1] = best_constant(self.sample)[0]
        if self.problem.loss.smooth:
            start = self.all(u).norm
            before = self.descended(self.some, u, self.some(u).norm, _SAMPLE_TOL)
            track = self.descended(self.all, before.best.u, start, self.tol)
            reached = self.small(track.best, start, self.tol)
        else:
            form = self.problem.loss.dual(np.asarray(self.sample.y, dtype=np.float64))
            _, mu = first_smoothing(self.problem.loss, _spread_out(form), self.problem.offset)
            start = self.all(u, mu).norm
            before = self.lowered(self.some, u, mu, _SAMPLE_GAP)
            track = self.lowered(self.all, before.best.u, before.mu, self.tol)
            reached = track.gap <= self.tol * abs(track.best.objective)
        status = "converged" if reached else "max_iter" if self.all.passes >= self.limit else "stalled"
        return self.finished(track, status, start, name)

    def small(self, point: Point, start: float, tol: float) -> bool:
        """Is the gradient small, and the objective near its minimum?"""
        near = point.norm**2 <= 4 * self.problem.lam * 0.5 * max(tol, DOUBT) * self.unit
        return point.norm <= tol * start and near

    def descended(self, measure: Measure, u: np.ndarray, start: float, tol: float) -> _Track:
        """Steps until the gradient is small."""
        steps = QuasiNewton(measure, self.curvature, self.problem.loss.quadratic)
        track = _Track(measure(u))
        while measure.passes < self.limit and track.idle < _IDLE:
            point = track.best
            track.history.append(relative_to(point.norm, start))
            if self.small(point, start, tol):
                break
            if measure is self.some:
                steps.renew(point.u)
            new = steps.step(point)
            track.iterations += 1
            if new is None:
                break
            falls = point.value - new.value > _SLACK * abs(point.value) or new.norm < 0.9 * point.norm
            track.idle = 0 if falls else track.idle + 1
            track.best = new
        return track

    def lowered(self, measure: Measure, u: np.ndarray, mu: np.ndarray, tol: float) -> _Track:
        """Steps for V_μ, and μ lowered, until the duality gap is small."""
        steps = QuasiNewton(measure, self.curvature, False)
        point = measure(u, mu)
        track = _Track(point, mu)
        while True:
            left = point.norm**2 / (4 * self.problem.lam) + self.missing(point)
            gap, value = point.smoothing + left, abs(point.objective)
            if gap < track.gap:
                track.best, track.gap, track.mu = point, gap, mu
            track.history.append(relative_to(gap, value))
            if gap <= tol * value or measure.passes >= self.limit or track.idle >= _IDLE:
                return track
            if left <= _LEFT * point.smoothing and np.any(mu > 0):
                mu = mu * float(np.clip(np.sqrt(0.5 * tol * value / point.smoothing), _LEAST, _MOST))
                steps.renew(point.u, mu)
                point = measure(point.u, mu)
                continue
            if measure is self.some:
                steps.renew(point.u, mu)
            new = steps.step(point, mu)
            track.iterations += 1
            if new is None:
                return track
            track.idle = 0 if point.value - new.value > _SLACK * abs(point.value) else track.idle + 1
            point = new

    def missing(self, point: Point) -> float:
        """About what it costs to make slopes add up to 0, as an offset wants it; the sample says how far."""
        if not self.problem.offset:
            return 0.0
        scores = self.primal.Phi @ point.u
        reach = np.abs(scores).max(axis=0) + np.abs(self.sample.y).max(axis=0)
        return float((point.imbalance * reach).sum())

    def finished(self, track: _Track, status: str, start: float, name: str) -> Solution:
        coef, intercept = self.primal.back(track.best.u)
        errors = self.judge.score_errors(coef)
        assert isinstance(self.problem.A, Elsewhere)
        totals = self.problem.A.adding(FinalSums(self.problem.loss))(coef, intercept, track.mu, errors)
        dual = track.mu is not None
        measured = self.judge.measured(coef, intercept, totals, start, dual)
        if dual:
            above = np.inf if measured.gap is None else measured.gap - measured.rounding
            small = above <= self.tol * abs(measured.objective)
            status = status if small or status != "converged" else "stalled"
            status = measured.verdict(status, self.tol, 0.0)
        elif not self.problem.loss.convex:
            status = "stationary" if status == "converged" else status
        else:
            status = measured.verdict(status, self.tol)
        certificate = measured.certificate(jitter=self.primal.jitter)
        passes = self.all.passes + 1
        return Solution(coef, intercept, status, passes, certificate, tuple(track.history), name)


def _spread_out(form: DualForm) -> DualForm:
    """The same with bounds as arrays."""
    centre, lower, upper = (np.asarray(v, np.float64) for v in (form.centre, form.lower, form.upper))
    return DualForm(centre, lower, upper, form.kink, form.curvature)
