"""Newton's method for smooth losses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace

import numpy as np

from mercer._notice import tell
from mercer._threads import stopping_point
from mercer.losses import Squared
from mercer.solvers.base import Solver, warn_if_unconverged
from mercer.solvers.certify import best_constant, certify
from mercer.solvers.cost import bytes_in_words
from mercer.solvers.notes import Notes
from mercer.solvers.preconditioners import low_rank_columns
from mercer.solvers.problem import Problem, Solution, relative_to
from mercer.solvers.smooth import FactoredForm
from mercer.solvers.smooth_examples import DIRECT_EXAMPLES, Direction, Form, PrimalForm, form_of

# Changes of the objective below this, relative to it, are rounding.
_SLACK = 8 * float(np.finfo(float).eps)
# … and these, where kernel values are float32, noise.
_SINGLE_SLACK = 1e-9
# Starts besides f = 0 for losses that are not convex.
_RESTARTS = 4


Noted = Callable[["Descent"], None]


class DescentSolver(Solver):
    """Goes down from f = 0 and from further starts, to the lowest of the points reached."""

    tol: float | None
    rank: int | None = None
    restarts: int | None
    advice = "Increase lam or max_iter"
    resumes = True

    def descend(self, form: Form, unit: float, tol: float, noted: Noted) -> Descent:
        """Down from where the form is; gradients are measured in `unit`, and every step is noted."""
        raise NotImplementedError

    def run(self, problem: Problem) -> Solution:
        self.validate()
        tol = self._tol(self.tol, problem.A.dtype)
        form, convex = form_of(problem, self.rank), problem.loss.convex
        count = self.restarts if self.restarts is not None else (0 if convex else _RESTARTS)
        # `move` puts new arrays in the place of old ones, so a shallow copy is a point of its own.
        starts = [copy(form), *_starts(form, count)]
        # A loss that is flat far from y has no gradient to speak of at f = 0.
        unit = starts[0].norm if convex else max(start.norm for start in starts)
        if problem.begin is not None:
            starts[0] = _begun(starts[0], problem)
        with Notes(problem, self.name) as notes:
            runs = self._descents(starts, unit, tol, notes)
        values = [run.form.value for run in runs]
        least = int(np.argmin(np.where(np.isnan(values), np.inf, values)))
        solution = runs[least].solution(self.name, tol)
        values[least] = solution.certificate.objective  # as measured in the end
        if not convex or len(runs) > 1:
            solution = replace(solution, starts=tuple(values))
        warn_if_unconverged(solution, tol, self.advice, problem.A.dtype)
        return solution

    def _descents(self, starts: list[Form], unit: float, tol: float, notes: Notes) -> list[Descent]:
        """A descent from every start, or from where it was when that was noted."""
        t = starts[0].problem.y.shape[1]
        coefs = np.stack([form.coef for form in starts])
        offsets = np.stack([form.offset + np.zeros(t) for form in starts])
        known, shifts = notes.array("coef", coefs.shape), notes.array("offset", offsets.shape)
        runs: list[Descent] = []
        for i, form in enumerate(starts):
            if known is not None and shifts is not None:
                before = form.value
                with np.errstate(all="ignore"):
                    form.resume(known[i], shifts[i])
                # A descent never rises.
                if not (form.value <= before + 1e-6 * abs(before) and np.isfinite(form.norm)):
                    raise notes.damaged("the objective is larger there than at the start")
            coefs[i], offsets[i] = form.coef, form.offset

            def noted(run: Descent, i: int = i) -> None:
                if run.form.coef.shape == coefs[i].shape:  # not so in another form of the problem
                    coefs[i], offsets[i] = run.form.coef, run.form.offset
                    notes.note(notes.iterations + run.iterations, coef=coefs, offset=offsets)

            runs.append(self.descend(form, unit, tol, noted))
        return runs


class Newton(DescentSolver):
    """Any smooth loss, by Newton steps (IRLS) with a line search.

    Each step solves a weighted least squares problem: by a factorisation where that is cheap, by
    preconditioned conjugate gradients otherwise, only as accurately as the step is worth. Where V is not
    convex, negative V'' counts as 0, so that every step goes down; the lowest of the stationary points
    reached from several starts is the solution, with status "stationary".

    Parameters
    ----------
    tol : float, optional
        Gradient norm in H_K, relative to that at the best constant (for a loss that is not convex, to the
        largest at any start), to reach. None: 1e-8 for float64 data, 1e-5 for float32.
    max_iter : int
        Newton steps, from each start.
    rank : int, optional
        Size of the inner preconditioner, as in `CG`.
    restarts : int, optional
        Starts besides f = 0: the least squares fit, then random functions. None: 4 for a loss that is not
        convex, else 0.

    Examples
    --------
    >>> from mercer import KernelLogistic
    >>> machine = KernelLogistic(solver=Newton(), lam=0.1).fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    >>> machine.solution_.status
    'converged'
    """

    name = "newton"
    requires = frozenset({"ridge", "smooth", "curved"})

    def memory(self, shape):
        n = shape.n
        if not shape.full or shape.joint:
            return super().memory(shape)
        if n <= DIRECT_EXAMPLES:
            return shape.stored + n * n * shape.item + shape.panels
        return shape.stored + n * low_rank_columns(n) * shape.item * 3

    def keeps(self, shape):
        if not (shape.full and shape.remote) or shape.joint or shape.n > shape.direct_rows:
            return None
        need = shape.factored(8) + 8 * shape.n * shape.n
        if need > shape.room:
            return None
        return (
            f"K in the GPU's memory, with room for its factor ({bytes_in_words(need)}): factored there a step"
        )

    def __init__(self, tol=None, max_iter=100, rank=None, restarts=None):
        self.tol = tol
        self.max_iter = max_iter
        self.rank = rank
        self.restarts = restarts

    def descend(self, form, unit, tol, noted):
        convex = form.problem.loss.convex
        run = Descent(form, unit)
        idle, least, first = 0, form.norm, 1.0
        slack = _SLACK if form.problem.A.dtype == np.float64 else _SINGLE_SLACK
        while not run.reached(tol) and run.iterations < self.max_iter:
            stopping_point()
            # Early steps need not be exact; the last ones converge faster than linearly.
            form = run.form
            accuracy = max(min(0.1, 0.5 * np.sqrt(form.norm / unit)), 0.1 * tol)
            with np.errstate(over=None if convex else "ignore"):  # V'' may be 0 at every example
                direction = form.newton(accuracy)
            step = line_search(form, direction, first=first)
            steepest = step is None and not convex
            if steepest:
                direction = form.steepest()
                step = line_search(form, direction)
            if step is None:
                other = form.alternative()
                if other is None:
                    run.status = "stalled"
                    break
                run.form = other
                continue
            before, slope = form.value, 0.0 if convex else form.line(direction)[0]
            run.move(direction, step)
            tell(self.name, run.iterations, "relative gradient", run.relative, tol)
            noted(run)
            first = 1.0 if convex or steepest else _stretch(form, direction, step, slope)
            # The gradient may rise on the way; only an objective that no longer falls means the end. Without
            # convexity steps are many and short, and the gradient may fall still when the objective can't.
            falls = not convex and form.norm < 0.9 * least
            least = form.norm if falls else least
            idle = 0 if falls or before - form.value > slack * abs(before) else idle + 1
            if idle >= 6 and not run.reached(tol):
                run.status = "stalled"
                break
        return run


class Descent:
    """A descent from one start: where it is, and how it got there. Gradients are measured in `unit`."""

    def __init__(self, form: Form, unit: float):
        self.form, self.unit = form, unit
        self.status = "max_iter"
        self.iterations = 0
        self.history = [self.relative]

    @property
    def relative(self) -> float:
        return self.form.norm / self.unit if self.unit > 0 else 0.0

    def move(self, direction: Direction, step: float) -> None:
        self.form.move(direction, step)
        self.iterations += 1
        self.history.append(self.relative)

    def reached(self, tol: float) -> bool:
        """Is the gradient small enough? If so, the status says what that means."""
        # Where λ is small next to k(x, x), a small gradient may leave the objective far from its minimum.
        small = self.form.norm <= tol * self.unit and self.form.near(tol)
        if small:
            self.status = "converged" if self.form.problem.loss.convex else "stationary"
        return small

    def solution(self, name: str, tol: float) -> Solution:
        """Solution and certificate from where it ended."""
        form, given, status = self.form, self.form.given, self.status
        coef, intercept = form.result()
        measured = certify(given, coef, intercept, tol, form.coordinates)
        if given.loss.convex and not measured.objective <= (1 + 1e-9) * measured.scale:
            # What looked like a descent was rounding: then the best constant is the better answer.
            coef, intercept, status = np.zeros_like(coef), best_constant(given)[0], "stalled"
            measured = certify(given, coef, intercept, tol, form.coordinates)
        certificate = measured.certificate(
            relative_gradient=relative_to(measured.gradient, self.unit),
            representer_residual=form.representer_residual(),
            jitter=form.jitter,
        )
        status, history = measured.verdict(status, tol), tuple(self.history)
        return Solution(coef, measured.intercept, status, self.iterations, certificate, history, name)


def _stretch(form: Form, direction: Direction, step: float, slope: float) -> float:
    """The step with which the last Newton direction would have met the minimum along it.

    Without negative curvature Newton's steps are too short, by about as much from one to the next; used on
    the next direction, as Barzilai and Borwein do, this makes up for it.
    """
    here = replace(direction, cross=direction.cross + step * direction.square)
    bend = (form.line(here)[0] - slope) / step
    return float(np.clip(-slope / bend, 0.5, 32)) if bend > 0 else 4.0


def line_search(form: Form, direction, *, first: float = 1.0) -> float | None:
    """The first of 1, ½, ¼, … that decreases the objective enough; None if none does."""
    slope, objective = form.line(direction)
    if not slope < 0:
        return None
    value = form.value
    slack = _SLACK * abs(value)
    step = first
    for _ in range(60):
        new = objective(step)
        if new <= value + 1e-4 * step * slope + slack:
            # Near the minimum a decrease drowns in rounding; then the step is judged by its slopes.
            drowned = -1e-4 * step * slope <= 10 * slack
            if not (drowned and form.slope(direction, step) > -0.9 * slope):
                return step
        step *= 0.5
    return None


def _begun(form: Form, problem: Problem) -> Form:
    """The form at the coefficients that were given, if these are worth more than none."""
    assert problem.begin is not None
    coef, offset = problem.begin
    if coef.shape != (problem.A.shape[1], problem.y.shape[1]) or not np.isfinite(coef).all():
        return form
    if isinstance(form, FactoredForm):
        coef = form.problem.A.adjoint(coef)
    elif isinstance(form, PrimalForm):
        T = getattr(form.primal, "T", None)
        coef = coef if T is None else np.linalg.lstsq(T, coef, rcond=None)[0]
    other = copy(form)
    with np.errstate(all="ignore"):
        other.start(coef, offset if problem.offset else np.zeros_like(offset))
    return other if other.value < form.value and np.isfinite(other.norm) else form


def _starts(form: Form, count: int) -> Iterator[Form]:
    """The least squares fit, then random functions about as large as the targets."""
    problem, rng = form.problem, form.problem.rng
    t = problem.y.shape[1]
    unknowns = len(form.coef) - (problem.offset and isinstance(form, PrimalForm))
    middle = np.average(problem.y, axis=0, weights=problem.weights)
    size = np.sqrt(np.average(np.square(problem.y), axis=0, weights=problem.weights))
    spread = np.sqrt(np.maximum(size**2 - middle**2, 0))
    for i in range(count):
        with np.errstate(all="ignore"):  # a start where V overflows is left out
            if i == 0:
                _least_squares(form)
            else:
                coef, offset = rng.standard_normal((unknowns, t)), np.zeros(t)
                form.start(coef, offset)
                reach = size * 2.0 ** rng.uniform(-1, 2, t)
                if problem.offset:
                    offset = middle + spread * rng.standard_normal(t)
                length = np.sqrt(np.mean(np.square(form.scores), axis=0))
                form.start(coef * np.where(length > 0, reach / np.where(length > 0, length, 1), 1), offset)
            usable = np.isfinite(form.value) and np.isfinite(form.norm)
        if usable:
            yield copy(form)


def _least_squares(form: Form) -> None:
    """Move from f = 0 to where least squares would be, which takes one Newton step."""
    problem = form.problem
    form.problem = replace(problem, loss=Squared())
    form.measure()
    form.move(form.newton(1e-3), 1.0)
    form.problem = problem
    form.measure()
