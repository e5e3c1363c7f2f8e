"""Losses with kinks, for many examples: kinks are rounded off, less and less, for Newton's method."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from mercer.losses import Loss
from mercer.losses.dual import DualForm, Smoothed
from mercer.solvers.base import IncompatibleError, Solver, warn_if_unconverged
from mercer.solvers.certify import certify, rising_to_zero
from mercer.solvers.problem import Problem, Solution, relative_to
from mercer.solvers.smooth_examples import Direction, Form, PrimalForm, form_of

# μ is lowered once Newton's share of the gap is no more than this part of what the smoothing costs,
_NEWTON_SHARE = 0.5
# to so much of what it was; not as far where the last value took many steps.
_LEAST, _MOST, _CAREFUL = 0.15, 0.7, 0.4
_MANY_STEPS = 6
# A sample for the first solution: examples a feature, at least; and how many times more there must be.
_SAMPLE_ROWS, _SAMPLE_LEAST, _SAMPLE_WORTH = 20, 5000, 3
_SAMPLE_TOL = 1e-2
# Below this, relative to the objective, a decrease is rounding.
_SLACK = 1e-14
# After so many steps without one, or without a gap that is smaller by a hundredth, no more is to be had.
_IDLE, _PATIENCE = 4, 80
# Newton's equations need not be solved better than to this, where a line search follows.
_ACCURACY = 0.1
_PREDICTOR_ACCURACY = 1e-2
# Slopes that end a line search, relative to the first one: uphill, and downhill short of a full step.
_UP, _DOWN = 0.1, 0.3


_PRICED = (
    "takes no price of the offset, which one-class problems have, or of a kink, which ν is; use solver='dual'"
)


class Smoothing(Solver):
    """Losses that are maxima of lines or parabolas (hinge, absolute, quantile, …), for many examples.

    The loss is rounded off, V_μ(y, s) = max over a of … − ½ μ a², and minimised by Newton's method; then μ is
    lowered, and so on. Only examples in a window about a kink, as wide as μ, have curvature, so Newton's
    equations concern few of them. From V_μ comes a point of the dual problem, too, and the difference of the
    two objectives (the duality gap) bounds how far the solution is above the minimum for the loss itself. It
    falls with μ² while there are many examples in the window. With features or centres, a sample of the
    examples provides the start.

    Parameters
    ----------
    tol : float
        The duality gap to reach, relative to the objective. At 1e-4 scores are within about a hundredth of
        the exact ones and one decision in a thousand differs; 1e-6 takes about twice the steps.
    max_iter : int
        Newton steps in all.
    rank : int, optional
        Size of the inner preconditioner, as in `CG`.

    Notes
    -----
    With an offset, b is the minimiser of the smoothed objective for the f at hand, so that the dual point is
    feasible. Of the certificate's numbers, `objective` and `gap` are those of the original loss, and
    `relative_gradient` that of the loss as last smoothed. `history` has the relative gap after each
    step on all examples.
    `Dual` finds exact, sparse solutions of problems of up to some ten thousand examples.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor
    >>> from mercer.losses import Quantile
    >>> X = np.random.default_rng(0).uniform(-2, 2, (200, 1))
    >>> y = np.sin(X[:, 0]) + np.random.default_rng(1).standard_normal(200)
    >>> machine = KernelRegressor(loss=Quantile(0.9), solver=Smoothing(), lam=1e-2, offset=True).fit(X, y)
    >>> machine.solution_.status, machine.solution_.certificate.gap < 1e-4
    ('converged', True)
    >>> float(np.mean(y < machine.predict(X)).round(2))
    0.9
    """

    name = "smoothing"
    passes = 60
    requires = frozenset({"ridge", "dual"})

    def __init__(self, tol=1e-4, max_iter=500, rank=None):
        self.tol = tol
        self.max_iter = max_iter
        self.rank = rank

    def refusal(self, loss: Loss, penalty: str) -> str | None:
        reason = super().refusal(loss, penalty)
        if reason is None and loss.priced:
            reason = f"solver {self!r} {_PRICED}"
        return reason

    def run(self, problem: Problem) -> Solution:
        return self.solve(problem)[0]

    def solve(self, problem: Problem) -> tuple[Solution, np.ndarray]:
        """The solution, and the point of the dual problem that its gap is measured with.

        That is a coefficient c_i = w_i a_i/(2λn) for each example, (n, t), with the a of the loss as last
        smoothed: 0 beyond the window about a kink, a bound on its other side.
        """
        self.validate()
        if problem.offset_price or problem.kink_price:
            raise IncompatibleError(f"solver {self!r} {_PRICED}")
        loss = Rounded.of(problem)
        form = form_of(replace(problem, loss=loss), self.rank)
        start = form.norm
        track = SmoothingTrack(limit=self.max_iter)
        rows = self._sample(form)
        if rows is not None:
            assert isinstance(form, PrimalForm)
            some, before = loss.rows(rows), SmoothingTrack(limit=self.max_iter)
            part = form.among(rows, some)
            loss = loss.at(self.minimise(part, some, before, _SAMPLE_TOL).mu)
            form.coef, track.iterations = part.coef, before.iterations
            form.refresh()
        # A little further than asked, so that computing all anew does not undo it.
        loss = self.minimise(form, loss, track, 0.95 * self.tol)
        solution, dual = self._solution(form, loss, track, start)
        share = relative_to(solution.certificate.gap or 0.0, solution.certificate.objective)
        advice, found = "Increase tol, lam or max_iter", f"the duality gap is {share:.1e} of the objective"
        warn_if_unconverged(solution, self.tol, advice, problem.A.dtype, found)
        return solution, dual

    def _sample(self, form: Form) -> np.ndarray | None:
        """Some of the examples, where a solution for them is a start worth having."""
        problem = form.problem
        if not isinstance(form, PrimalForm):
            return None
        size = max(_SAMPLE_ROWS * form.Phi.shape[1], _SAMPLE_LEAST)
        usable = np.flatnonzero(problem.w)
        if len(usable) < _SAMPLE_WORTH * size:
            return None
        return np.sort(problem.rng.choice(usable, size, replace=False))

    def minimise(self, form: Form, loss: Rounded, track: SmoothingTrack, tol: float) -> Rounded:
        """Lower μ until the gap is small enough; the loss as last smoothed."""
        _settle(form, loss)
        first = form.norm
        idle = steps = 0
        while True:
            smoothing, newton, value = track.measure(form, loss)
            if track.reached(tol):
                track.status = "converged"
                return loss
            if track.iterations >= track.limit:
                return loss
            if idle >= _IDLE or track.iterations - track.improved > _PATIENCE or not np.isfinite(value):
                track.status = "stalled"
                return loss
            if newton <= _NEWTON_SHARE * smoothing and loss.mu.any():
                # The gap falls with μ² or, once the same examples stay in the window, with μ.
                least = _LEAST if steps < _MANY_STEPS else _CAREFUL
                # With the slopes of others added, as in a window of examples, the objective may be negative.
                factor = float(np.clip(np.sqrt(0.5 * tol * abs(value) / smoothing), least, _MOST))
                new = loss.at(loss.mu * factor)
                if (new.bend < np.finfo(float).eps * new.scale).any():
                    track.status = "stalled"
                    return loss
                self._predict(form, loss, new)
                loss, idle, steps = new, 0, 0
                _settle(form, loss)
            else:
                accuracy = min(_ACCURACY, 0.5 * float(np.sqrt(relative_to(form.norm, first))))
                direction = form.newton(max(accuracy, 1e-8))
                step, decrease = _line_search(form, direction)
                form.advance(direction, step)
                _settle(form, loss)
                idle = 0 if decrease > _SLACK * abs(value) else idle + 1
                steps += 1
            track.iterations += 1

    def _predict(self, form: Form, old: Rounded, new: Rounded) -> None:
        """Go where the minimum will be at the new μ if the same examples stay in the window."""
        form.switch(old.frozen(form.scores, new.mu))
        direction = form.newton(_PREDICTOR_ACCURACY)
        form.problem = replace(form.problem, loss=new)
        form.advance(direction, _line_search(form, direction)[0])

    def _solution(
        self, form: Form, loss: Rounded, track: SmoothingTrack, start: float
    ) -> tuple[Solution, np.ndarray]:
        """The best point seen, with all its numbers computed anew, and its point of the dual."""
        form.coef, form.offset = track.best
        form.refresh()
        # The dual point needs the b that suits the smoothed loss, which may be a better one.
        _settle(form, loss)
        relative, residual = form.norm / start if start > 0 else 0.0, form.representer_residual()
        slopes = -loss.form.slope(loss.form.centre - form.scores, loss.mu)
        form.coef, form.offset = track.best
        coef, intercept = form.result()
        given = replace(form.given, loss=loss.loss)
        measured = certify(given, coef, intercept, self.tol, form.coordinates, slopes)
        # A dual point met on the way may have been the better one.
        here = np.inf if measured.gap is None else measured.gap
        above = min(here - measured.rounding, max(measured.objective + track.dual, 0.0))
        small = above <= max(self.tol * abs(measured.objective), track.floor)
        status = "converged" if small else "stalled" if track.status == "converged" else track.status
        certificate = measured.certificate(
            relative_gradient=relative,
            gap=above + measured.rounding,
            representer_residual=residual,
            jitter=form.jitter,
        )
        status = measured.verdict(status, self.tol, 0.0)
        solution = Solution(
            coef, intercept, status, track.iterations, certificate, tuple(track.history), self.name
        )
        return solution, given.weighted(slopes) / (-2 * given.lam * given.n)


@dataclass
class SmoothingTrack:
    """How far a run is: the least objective and the best dual value seen, of which the gap is the sum."""

    limit: int
    iterations: int = 0
    status: str = "max_iter"
    value: float = np.inf
    dual: float = np.inf
    floor: float = 0.0
    smallest: float = np.inf
    improved: int = 0
    history: list[float] = field(default_factory=list)
    best: tuple[np.ndarray, np.ndarray] = field(default_factory=lambda: (np.empty(0), np.empty(0)))

    def measure(self, form: Form, loss: Rounded) -> tuple[float, float, float]:
        """(what the smoothing costs, what is left to Newton, the objective) here; the first two make the gap.

        With f* = Σ c_i k(x_i,·) of the dual point, P + D = Σ C_i (V(s_i) + V*(−a_i) + a_i s_i) + ½‖f − f*‖²,
        since Σc = 0 if there is an offset. Every term is ≥ 0, and f − f* is the gradient over 2λ: this is no
        difference of large numbers.
        """
        problem = form.problem
        data, smoothing = loss.measure(form.scores, problem.weights)
        value = data + problem.lam * form.penalty
        newton = form.norm**2 / (4 * problem.lam)
        self.floor = max(self.floor, 8 * float(np.finfo(float).eps) * abs(value))
        self.dual = min(self.dual, smoothing + newton - value)
        if value < self.value:
            self.value, self.best = value, (form.coef, form.offset)
        gap = max(self.value + self.dual, 0.0)
        if gap < 0.99 * self.smallest:
            self.smallest, self.improved = gap, self.iterations
        self.history.append(relative_to(gap, abs(self.value)))
        return smoothing, newton, value

    def reached(self, tol: float) -> bool:
        return self.value + self.dual <= max(tol * abs(self.value), self.floor)


def _settle(form: Form, loss: Rounded) -> None:
    """Take this loss, move b to where it is least with it, and measure there."""
    if form.problem.offset:
        form.shift(loss.balance(form.scores, form.problem.weights))
    if form.problem.loss is loss:
        form.measure()
    else:
        form.switch(loss)


def _line_search(form: Form, d: Direction) -> tuple[np.ndarray, float]:
    """For each output a step of at most 1 after which little slope is left, and about what that gains.

    By slopes alone: near the minimum the objective itself no longer shows a decrease.
    """
    problem = form.problem

    def slope(t: np.ndarray) -> np.ndarray:
        data = (problem.data_grad(form.scores + t * d.scores) * d.scores).sum(axis=0) / problem.n
        return data + 2 * problem.lam * (d.cross + t * d.square)

    low, high = np.zeros(d.scores.shape[1]), np.ones(d.scores.shape[1])
    at_low = first = slope(low)
    down = first < 0
    step = np.where(down, high, low)
    here = at_high = slope(step)
    for _ in range(40):
        searching = down & ((here > -_UP * first) | ((here < _DOWN * first) & (step < 1)))
        if not searching.any():
            break
        over = searching & (here > 0)
        under = searching & ~over
        high, at_high = np.where(over, step, high), np.where(over, here, at_high)
        low, at_low = np.where(under, step, low), np.where(under, here, at_low)
        rise = np.where(searching, at_high - at_low, 1.0)
        share = np.clip(-at_low / np.where(rise > 0, rise, 1.0), 0.1, 0.9)
        step = np.where(searching, low + share * (high - low), step)
        here = np.where(searching, slope(step), here)
    return step, -float((step * first).sum())


class Rounded(Smoothed):
    """V_μ of given examples, one μ for each output, with what depends on y computed once.

    `owed` is what Σ w_i a_i is with the best offset: 0, unless there are further examples, whose a stand.
    """

    def __init__(
        self, loss: Loss, mu: np.ndarray, form: DualForm, scale: np.ndarray, owed: np.ndarray | float = 0.0
    ):
        self.loss, self.mu, self.form, self.scale, self.owed = loss, mu, form, scale, owed

    @classmethod
    def of(cls, problem: Problem) -> Rounded:
        """To begin with: nearly all examples in the window."""
        form = problem.loss.dual(problem.y)
        centre, lower, upper = (np.asarray(v, np.float64) for v in (form.centre, form.lower, form.upper))
        form = DualForm(centre, lower, upper, form.kink, form.curvature)
        if problem.loss.classification:
            scale = np.ones(centre.shape[1])
        else:
            low, middle, high = np.percentile(centre, [10, 50, 90], axis=0)
            scale = high - low + (0 if problem.offset else np.abs(middle))
            scale = np.where(scale > 0, scale, np.abs(centre).max(axis=0))
            scale = np.where(scale > 0, scale, 1.0)
        width = (upper - lower).max(axis=0)
        mu = 2 * scale / np.where(width > 0, width, 1.0) - form.curvature
        return cls(problem.loss, np.maximum(mu, 0), form, scale)

    def at(self, mu: np.ndarray) -> Rounded:
        """With another μ; none where the loss is as smooth by itself."""
        mu = np.where(mu < self.form.curvature, 0.0, mu)
        return Rounded(self.loss, mu, self.form, self.scale, self.owed)

    def rows(self, rows: np.ndarray) -> Rounded:
        return Rounded(self.loss, self.mu, self.form.rows(rows), self.scale)

    def outputs(self, columns: slice) -> Rounded:
        """That of some of the outputs."""
        f = self.form
        centre, lower, upper = (v[:, columns] for v in (f.centre, f.lower, f.upper))
        form = DualForm(centre, lower, upper, f.kink, f.curvature)
        return Rounded(self.loss, self.mu[columns], form, self.scale[columns])

    def given(self, y, s):
        return self.form, s

    def frozen(self, s: np.ndarray, mu: np.ndarray) -> Rounded:
        """A parabola for every example in the window, a line for every other, wherever they go."""
        f, r = self.form, self.form.centre - s
        a = f.slope(r, self.mu)
        inside = f.inside(r, a)
        centre = f.centre - f.kink * np.sign(r) * inside
        lower, upper = np.where(inside, -np.inf, a), np.where(inside, np.inf, a)
        frozen = DualForm(centre, lower, upper, 0.0, f.curvature)
        return Rounded(self.loss, mu, frozen, self.scale, self.owed)

    @property
    def bend(self) -> np.ndarray:
        return self.form.curvature + self.mu

    def measure(self, s: np.ndarray, weights: np.ndarray | None) -> tuple[float, float]:
        """Means of V, as it was before smoothing, and of V(s) + V*(−a) + a s ≥ 0 for the a that V_μ gives."""
        f, r = self.form, self.form.centre - s
        values, a = f.value(s), f.slope(r, self.mu)
        young = values - a * r + f.kink * np.abs(a) + 0.5 * f.curvature * a * a
        if weights is not None:
            values, young = weights @ values, weights @ young
        return float(values.sum()) / len(s), float(young.sum()) / len(s)

    def balance(self, s: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """What to add to the scores of each output so that Σ w_i a_i = owed; it falls in pieces of lines."""
        f, w = self.form, np.ones(len(s)) if weights is None else weights
        r = f.centre - s

        def sums(b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            a = f.slope(r - b, self.mu)
            return self.owed - w @ a, np.abs(self.owed) + w @ np.abs(a)

        def bend(b: np.ndarray) -> np.ndarray:
            return w @ f.inside(r - b, f.slope(r - b, self.mu)) / self.bend

        stride = np.maximum(self.bend, np.finfo(float).eps * self.scale)
        return rising_to_zero(sums, bend, stride, 1e-14, 4e-16)[0]
