"""One minimisation: the sample's problem first, then, from its solution on, that of all examples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._notice import telling
from mercer.operators import Elsewhere, Operator
from mercer.rows.base import Reservoir, Totals
from mercer.solvers.certify import DOUBT, Measured, best_constant, certify, given_up, scale_of
from mercer.solvers.coordinates import to_primal
from mercer.solvers.journal import Journal, agreement, digest, numbers_of, probes
from mercer.solvers.passes.certificate import Assessment
from mercer.solvers.passes.descent import QuasiNewton
from mercer.solvers.passes.points import Curvature, Measure, Point
from mercer.solvers.passes.way import IDLE, Way
from mercer.solvers.passes.window import KinkWindow, solve_sample
from mercer.solvers.passes.work import Bends, FinalSums, Slopes
from mercer.solvers.problem import Problem, Solution, relative_to
from mercer.solvers.smoothing import Rounded

# How well the sample's problem is solved for a start: its solution is off by more than that in any case.
_SAMPLE_TOL = 1e-3
_SAMPLE_GAP = 1e-2
# The gap of a window's problem, in gaps of the whole, and next to what is asked for in the end.
_WINDOW_SHARE, _WINDOW_TOL = 0.05, 0.3
# Scores that may change by the next step: at first of this part of all examples …
_FIRST_PART = 0.25
# … and then as much as this part of them changed by no more than in the last one.
_MOVED = 0.99
_SLACK = 1e-13
# Features of examples near a kink may take so many bytes, or as much as those of the sample.
_WINDOW_BYTES = 128 << 20
# Features of the sample, which make a preconditioner and a start, are kept in float32 where they would take
# more bytes. Those of examples near a kink stay in float64: rounding there would show in the scores.
_MOST_DOUBLES = 128 << 20
# Examples of the sample for each unknown, and at least.
_SAMPLED, _SAMPLED_LEAST = 40, 20_000


def sampled_examples(n: int, unknowns: int) -> int:
    """Examples of the sample for so many unknowns."""
    return min(n, max(_SAMPLED * unknowns, _SAMPLED_LEAST))


def windowed_examples(unknowns: int) -> int:
    """Examples near a kink that are solved for at a time."""
    return max(_SAMPLED * unknowns, _SAMPLED_LEAST, _WINDOW_BYTES // (8 * max(unknowns, 1)))


def kept_bytes(examples: int, unknowns: int) -> int:
    """Bytes, at most, of the features of the sample, or of a window."""
    doubles = 8 * examples * unknowns
    return min(doubles, max(_MOST_DOUBLES, doubles // 2))


class Minimisation:
    """From a problem to its solution, a pass over the examples a step.

    Examples may be in memory, too; then they are one shard.
    """

    def __init__(self, problem: Problem, tol: float, limit: int, journal: Journal):
        self.problem, self.tol, self.limit, self.journal = problem, tol, limit, journal
        self.sample = sample = _drawn(problem) if problem.sample is None else problem.sample
        self.primal = to_primal(sample, store=True, steady=True, rough=_MOST_DOUBLES)
        self.curvature = Curvature(sample, self.primal)
        work = Slopes(problem.loss, windowed_examples(len(self.primal.penalty)))
        bends = Bends(problem.loss) if problem.loss.quadratic else None
        self.all, self.some = (
            Measure(
                *(_sums(given, work), self.primal, problem.lam, given.n),
                bends=None if bends is None else _sums(given, bends),
            )
            for given in (problem, sample)
        )
        # What gaps are measured against.
        self.unit = scale_of(sample)
        # Length of the gradient that rounding makes of slopes of size 1, one by one at random.
        self._blurred = self._blur() if problem.loss.quadratic and self.primal.noise else 0.0

    def solution(self, name: str) -> Solution:
        # What is told are passes; problems of samples and windows are parts of a step.
        with self.journal, telling(None):
            way, steps = self._begun()
            if self.problem.loss.smooth:
                self._descend(self.all, way, steps, self.tol)
            else:
                self._narrow(way)
            return self._finished(way, name)

    def _blur(self) -> float:
        random = np.random.default_rng(0).standard_normal((len(self.primal.penalty), 1))
        return self.primal.noise * float(self.primal.size(random)[0]) / np.sqrt(self.problem.n)

    # -- the beginning ------------------------------------------------------------------------------

    def _begun(self) -> tuple[Way, QuasiNewton]:
        """At the sample's solution, or where a checkpoint says."""
        steps = QuasiNewton(self.all, self.curvature, self.problem.loss.quadratic)
        state = {} if self.journal.path is None else self.journal.resume(*self._about())
        if state:
            return self._resumed(state, steps), steps
        self.journal.begin()
        u = np.zeros((len(self.primal.penalty), self.sample.y.shape[1]))
        if self.problem.offset:
            u[-1] = best_constant(self.sample)[0]
        if not self.problem.loss.smooth:
            mu = Rounded.of(self.sample).mu
            start = self.some(u, mu).norm
            u, mu = solve_sample(self.sample, self.primal, _SAMPLE_GAP)
            reach = self._first_reach(u)
            trust = np.ones(u.shape[1])
            return Way(self.all(u, mu, reach), mu, reach, trust, start=start), steps
        before = Way(self.some(u))
        before.start = start = before.point.norm
        first_steps = QuasiNewton(self.some, self.curvature, self.problem.loss.quadratic)
        first = before.point
        self._descend(self.some, before, first_steps, _SAMPLE_TOL)
        if self.problem.loss.quadratic:  # the Hessian is the same everywhere
            steps.inverse, steps.at = first_steps.inverse, first_steps.at
        u = before.point.u
        # A recurrence does not see it if rounding leads uphill.
        if not before.point.exact and self.some(u).value > first.value:
            u = first.u
        return Way(self.all(u), start=start), steps

    def _about(self) -> tuple[str, np.ndarray, np.dtype]:
        """A word and some numbers for this problem, which a checkpoint must be of, and how exact they are."""
        problem, sample, A = self.problem, self.sample, self.problem.A
        rows = A.rows_elsewhere.fingerprint() if isinstance(A, Elsewhere) else ""
        words = (problem.loss, problem.offset, problem.n, A.shape, str(A.dtype), rows)
        some = probes(sample.n)
        ones = np.ones((A.shape[1], 1))
        scores = np.linspace(-1, 1, len(some))[:, None] * np.ones(sample.y.shape[1])
        weights = np.ones(len(some)) if sample.weights is None else sample.weights[some]
        seen = numbers_of(
            *(np.log([problem.lam]), sample.B @ ones, sample.A.among(some) @ ones, weights),
            problem.loss.value(sample.y[some], scores),
        )
        return digest(words, sample.y), seen, A.dtype

    def _resumed(self, state: dict[str, Any], steps: QuasiNewton) -> Way:
        shape = (len(self.primal.penalty), self.sample.y.shape[1])
        try:
            Way.require(state, shape, not self.problem.loss.smooth)
            way, passes, noted = Way.restored(state), int(state["passes"]), float(state["noted"])
            steps.restore(state, shape)
            self._require_sound(way)
            if (
                self.problem.loss.smooth
                and way.point.exact
                and not np.array_equal(way.point.u, state["noted_u"])
            ):
                raise ValueError("its point is not the one that was measured")
        except (KeyError, ValueError, TypeError) as error:
            raise self.journal.damaged(error) from None
        # Who is near a kink is not kept. What a recurrence made of the last point that a pass measured
        # can't be told from rounding; that point can.
        self.all.passes = passes - 1
        there = self.all(state["noted_u"], way.mu, way.reach)
        self._require_same(there, noted)
        way.point = way.point if way.mu is None else there
        self.all.passes = passes
        return way

    def _require_sound(self, way: Way) -> None:
        """Refuse numbers that no fit has together."""
        point = way.point
        length = float(np.linalg.norm(self.primal.size(point.gradient)))
        fine = bool(np.isclose(point.norm, length, rtol=0.1, atol=1e-12 * way.start))
        if self.problem.loss.quadratic:  # squared errors are not negative
            with np.errstate(over="ignore", invalid="ignore"):
                penalty = self.problem.lam * float((point.u * self.primal.penalise(point.u)).sum())
            fine = fine and penalty <= 2 * (abs(point.value) + self.unit)
        if not fine:
            raise ValueError("its numbers contradict each other")

    def _require_same(self, there: Point, noted: float) -> None:
        """Refuse a checkpoint if the objective at its point is another one than rounding would make it."""
        allowed = agreement(self.problem.A.dtype) * max(abs(noted), self.unit)
        if not abs(there.objective - noted) <= allowed:
            # How far rounding may put it wrong, on another processor, the sample says.
            allowed += certify(self.sample, *self.primal.back(there.u), self.tol).rounding
        self.journal.require_same("objective", noted, there.objective, allowed)

    # -- steps --------------------------------------------------------------------------------------

    def _descend(self, measure: Measure, way: Way, steps: QuasiNewton, tol: float) -> None:
        """Steps until the gradient is small."""
        while measure.passes < self.limit and way.idle < IDLE:
            point = way.point
            way.history.append(relative_to(point.norm, way.start))
            if self._small(point, way.start, tol):
                if point.exact or measure is self.some:
                    return
                # What a recurrence says is checked; where rounding has spoilt it, steps begin anew.
                way.point = measure(point.u)
                if not self._small(way.point, way.start, tol) and way.point.norm > 0.7 * way.checked:
                    return
                way.checked = way.point.norm
                steps.pairs.clear()
                continue
            if measure is self.some and not self.problem.loss.quadratic:
                steps.renew(point.u)
            new = steps.step(point)
            if new is None:
                return
            falls = point.value - new.value > _SLACK * abs(point.value) or new.norm < 0.9 * point.norm
            way.idle = 0 if falls else way.idle + 1
            way.point = new
            self._note(measure, way, steps)

    def _small(self, point: Point, start: float, tol: float) -> bool:
        """Is the gradient small, and the objective near its minimum? As far as rounding lets us see it."""
        if self._blurred and point.norm <= 2 * np.sqrt(max(point.value, 0.0)) * self._blurred:
            return True
        near = point.norm**2 <= 4 * self.problem.lam * 0.5 * max(tol, DOUBT) * self.unit
        return point.norm <= tol * start and near

    def _narrow(self, way: Way) -> None:
        """Solve for the examples near a kink, and narrow down who that is, until the duality gap is small."""
        while True:
            point, mu = way.point, way.mu
            gap = point.smoothing + point.norm**2 / (4 * self.problem.lam) + self._missing(point, mu)
            value = abs(point.objective)
            way.history.append(relative_to(gap, value))
            # Far from the minimum the gap may rise while the objective falls.
            lower = point.objective < way.least - _SLACK * value
            way.idle = 0 if gap < way.gap or lower else way.idle + 1
            way.least = min(way.least, point.objective)
            if gap < way.gap or way.best is None:
                way.best, way.gap, way.best_mu = point, gap, mu
            if gap <= self.tol * value or self.all.passes >= self.limit or way.idle >= IDLE:
                return
            tol = max(_WINDOW_TOL * self.tol, min(_WINDOW_SHARE * relative_to(gap, value), _SAMPLE_GAP))
            u, mu = self._solved(point, mu, tol)
            d = u - point.u
            moved = np.quantile(np.abs(self.primal.Phi @ d), _MOVED, axis=0)
            # Where scores change by more than the window's width, others come near a kink: not as far, then,
            # and a wider window the next time.
            t = np.minimum(way.reach / np.maximum(moved, 1e-300), way.trust)
            way.reach = np.maximum(np.where(t == 1, moved, 2 * way.reach), 2 * mu)
            new = self.all(point.u + t * d, mu, way.reach)
            # The objective before and after smoothing encloses that of any other μ.
            bad = new.values > point.objectives
            way.trust = np.where(bad, 0.25 * t, np.minimum(1.0, 3 * way.trust))
            way.mu = np.where(bad, way.mu, mu)
            if bad.any():
                way.reach = np.where(bad, 4 * way.reach, way.reach)
                new = self.all(np.where(bad, point.u, new.u), way.mu, way.reach)
            way.point = new
            self._note(self.all, way, None)

    def _solved(self, point: Point, mu: np.ndarray, tol: float) -> tuple[np.ndarray, np.ndarray]:
        """(u, μ) at the minimum for the examples near a kink: those of each output, or of all together."""
        rows = np.unique(np.concatenate([near.rows for near in point.near]))
        taken = self._taken(rows) if len(rows) else None
        found = []
        for j, near in enumerate(point.near):
            columns = slice(j, j + 1) if len(point.near) > 1 else slice(None)
            some = np.searchsorted(rows, near.rows)
            found.append(self._window(near, some, taken).solve(point, mu, tol, columns))
        u, new = zip(*found, strict=True)
        return np.hstack(u), np.concatenate(new)

    def _taken(self, rows: np.ndarray) -> tuple[Operator, np.ndarray, np.ndarray | None]:
        A, y, w = self.problem.A, self.problem.y, self.problem.weights
        if isinstance(A, Elsewhere):
            return A.taken(rows)
        return A.among(rows), y[rows], None if w is None else w[rows]

    def _window(self, near: Reservoir, some: np.ndarray, taken: Any) -> KinkWindow:
        """Some of the examples that were taken, which are near a kink; the sample, where there are none."""
        problem = self.problem
        if not len(some):
            return KinkWindow(self.primal, self.sample.y, self.sample.weights, 1.0, problem)
        A, y, w = taken
        primal = self.primal.facing(A.among(some))
        return KinkWindow(primal, y[some], None if w is None else w[some], near.count / problem.n, problem)

    def _first_reach(self, u: np.ndarray) -> np.ndarray:
        """How far from its kink a part of the examples is."""
        form = self.problem.loss.dual(np.asarray(self.sample.y, dtype=np.float64))
        away = np.abs(np.abs(form.centre - self.primal.Phi @ u) - form.kink)
        return np.quantile(away, _FIRST_PART, axis=0)

    def _missing(self, point: Point, mu: np.ndarray) -> float:
        """About what it costs to make slopes add up to 0, as an offset wants; the sample has their size."""
        if not self.problem.offset:
            return 0.0
        slopes = Slopes(self.problem.loss).at(self.sample.y, self.primal.Phi @ point.u, mu)[-1]
        size = np.abs(self.sample.weighted(slopes)).mean(axis=0)
        return float((given_up(2 * point.imbalance, size) * point.objectives).sum())

    def _note(self, measure: Measure, way: Way, steps: QuasiNewton | None) -> None:
        if measure is self.all and self.journal.path is not None:
            last = self.all.last
            assert last is not None
            state = {**way.state(), "noted_u": last.u, "noted": last.objective, "passes": self.all.passes}
            self.journal.note({**state, **({} if steps is None else steps.state())})

    # -- the end ------------------------------------------------------------------------------------

    def _finished(self, way: Way, name: str) -> Solution:
        coef, intercept = self.primal.back(way.found.u)
        dual, loss = way.mu is not None, self.problem.loss
        measured = self._measured(coef, intercept, way)
        if dual:
            reached = way.gap <= self.tol * abs(way.found.objective)
        else:  # where there is nothing to learn but a constant, no gradient is small next to the first one
            reached = self._small(way.point, way.start, self.tol) or measured.relative_gradient == 0
        status = "converged" if reached else "max_iter" if self.all.passes >= self.limit else "stalled"
        if dual:
            # What rounding leaves open is in the gap, and not for the solver to close.
            above = np.inf if measured.gap is None else measured.gap - measured.rounding - measured.doubt
            small = above <= self.tol * abs(measured.objective)
            status = status if small or status != "converged" else "stalled"
            status = measured.verdict(status, self.tol, 0.0)
        elif loss.convex:
            status = measured.verdict(status, self.tol)
        elif status == "converged":
            status = "stationary"
        certificate = measured.certificate(jitter=self.primal.jitter)
        passes, history = self.all.passes + 1, tuple(way.history)
        return Solution(coef, measured.intercept, status, passes, certificate, history, name)

    def _measured(self, coef: np.ndarray, intercept: np.ndarray, way: Way) -> Measured:
        problem, A, mu = self.problem, self.problem.A, way.best_mu
        if not isinstance(A, Elsewhere):
            slopes = None
            if mu is not None:
                slopes = Slopes(problem.loss).at(problem.y, A @ coef + intercept, mu)[-1]
            primal = self.primal if problem.n == self.sample.n else None
            return certify(problem, coef, intercept, self.tol, primal, slopes)
        verdict = Assessment(problem, self.primal)
        errors = verdict.score_errors(coef)
        shifts = verdict.shifts(coef, intercept, way.found.imbalance)
        totals = A.adding(FinalSums(problem.loss))(coef, intercept, mu, errors, shifts)
        return verdict.measured(coef, intercept, totals, shifts, way.start, mu is not None)


def _sums(problem: Problem, work: Slopes) -> Callable[..., Totals]:
    """vectors ↦ sums over the examples of a problem, wherever they are."""
    A, y, weights = problem.A, problem.y, problem.weights
    if isinstance(A, Elsewhere):
        return A.adding(work)
    return lambda *vectors: work(A, y, weights, 0, *vectors)


def _drawn(problem: Problem) -> Problem:
    """The problem of a sample of examples in memory."""
    usable = np.arange(problem.n) if problem.weights is None else np.flatnonzero(problem.weights)
    size = sampled_examples(len(usable), problem.A.shape[1])
    if size == problem.n:
        return problem
    rows = np.sort(problem.rng.choice(usable, size, replace=False))
    w = None if problem.weights is None else problem.weights[rows]
    w = None if w is None else w / w.mean()
    return replace(problem, A=problem.A.among(rows), y=problem.y[rows], weights=w)
