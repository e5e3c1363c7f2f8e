"""What a solution is worth, measured in one place from its coefficients: the function `predict` evaluates.

For slopes u_i in the range of V'(y_i, ·), with Σ w_i u_i = 0 if there is an offset, and the function
g = (1/n) Σ w_i u_i k(x_i,·), Fenchel's inequality gives

    C(f, b) − min C ≤ (1/n) Σ w_i (V(y_i, s_i) + V*(y_i, u_i) − u_i s_i) + ‖2λf + Pg‖²/(4λ),

P being the projection on the functions of the representation. With u = V'(y, s), where the first term is 0,
this is the bound by strong convexity; solvers for losses with kinks bring slopes of their own. What rounding
may have done to scores and norms is estimated and added, so that nothing is claimed below it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.solvers.coordinates import Primal
from mercer.solvers.problem import Certificate, Problem, relative_to
from mercer.solvers.spans import EPS, space_of

# A bound on the gradient that leaves a gap below this part of the objective needs no product with K.
_SMALL_GAP = 1e-10
# How far above the minimum, next to the objective of the best constant, "converged" may be,
DOUBT = 1e-6
# … and what rounding may have done, which is estimated with a margin.
ROUNDED = 1e-4
# A constant that leaves no more than this part of the objective of 0 is all it takes.
_NOTHING = 1e-12


Totals = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Measured:
    """A point and what is known of it; `intercept` is the best offset for its f where V is smooth and convex.

    `start` is the length of the gradient at the best constant (or a lower bound on it), `scale` the objective
    there: what gradients and gaps are measured against. `doubt` is the part of the gap that is owed to
    float32 kernel values in the gradient.
    """

    intercept: np.ndarray
    objective: float
    gap: float | None
    rounding: float
    gradient: float
    blur: float
    start: float
    scale: float
    over: str
    doubt: float = 0.0

    @property
    def relative_gradient(self) -> float:
        # Where nothing is left to learn both are 0, but for rounding.
        nothing = max(self.gradient, self.start) <= self.blur
        return 0.0 if nothing else relative_to(self.gradient, self.start)

    def certificate(self, **others: Any) -> Certificate:
        """These numbers, and what the solver has to add."""
        known = {"relative_gradient": self.relative_gradient, "rounding": self.rounding, "over": self.over}
        return Certificate(**{**known, "objective": self.objective, "gap": self.gap, **others})

    def verdict(self, status: str, tol: float, gap: float | None = None) -> str:
        """The status, or "stalled" if the point may be further above the minimum than "converged" allows.

        `gap`, if given, is what a solver with a rule of its own for that leaves to be judged here. Of float32
        no more is asked than its rounding shows; what that leaves open is in the gap.
        """
        above = self.gap if gap is None else gap
        above = None if above is None else above - self.doubt
        fine = self.rounding <= ROUNDED * self.scale
        if above is not None:
            fine = fine and above - self.rounding <= max(tol, DOUBT) * self.scale
        return "stalled" if status == "converged" and not fine else status


def certify(
    problem: Problem,
    coef: np.ndarray,
    intercept: np.ndarray,
    tol: float,
    primal: Primal | None = None,
    slopes: np.ndarray | None = None,
    values: np.ndarray | None = None,
) -> Measured:
    """Measure a point, at the price of one or two products with A.

    Where a bound shows the gradient to be below `tol`, one product is enough. `primal` are the coordinates
    of a problem with centres, if they are known; `slopes` (n, t) come from solvers with a dual point of their
    own; `values` are A c, if known.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Squared
    >>> from mercer.operators import Matrix
    >>> from mercer.solvers import Problem
    >>> K, y = Matrix(np.eye(2)), np.array([[1.0], [3.0]])
    >>> measured = certify(Problem(K, K, y, Squared(), lam=0.5), y / 2, np.zeros(1), tol=1e-8)
    >>> measured.verdict("converged", 1e-8), measured.certificate().gap < 1e-12
    ('converged', True)
    """
    space, lam = space_of(problem, primal), problem.lam
    values = problem.A @ coef if values is None else values
    scores = values + intercept
    if slopes is None and _separable(problem):
        shift = balance(problem, scores)
        intercept, scores = intercept + shift, scores + shift
    penalty, penalty_error = space.penalty(coef, values)
    losses = _losses(problem, scores)
    objective = problem.mean(losses) + problem.offset_price * float(intercept.sum()) + lam * penalty
    errors = space.score_errors(coef, values) + EPS * np.abs(scores)
    # Wrong scores tell on the objective and, times the slopes, on the bound from below.
    rounding = 2 * problem.mean(_shaken(problem, scores, losses, errors))
    rounding += lam * penalty_error + 4 * EPS * abs(objective)
    constant = best_constant(problem)
    zero = problem.weighted(problem.loss.grad(problem.y, constant)) / problem.n
    u = problem.loss.grad(problem.y, scores) if slopes is None else _evened(problem, slopes)
    # A lower bound on ‖∇C‖ at the best constant, by Cauchy–Schwarz with the f at hand.
    least = abs(float((zero * values).sum())) / np.sqrt(penalty) if penalty > 0 else 0.0
    target = tol, _SMALL_GAP * abs(objective), least
    gradient, blur, start = space.gradient(problem.weighted(u) / problem.n, zero, coef, target)
    gap, doubt = None, 0.0
    if problem.loss.convex and not (problem.offset and problem.loss.joint):
        apart = _apart(problem, scores, losses, u, slopes is not None)
        gap = (gradient + blur) ** 2 / (4 * lam) + apart
        gap = min(gap, _by_coefficients(problem, scores, losses, coef)) + rounding
        if problem.loss.quadratic:  # squared errors are not negative, so neither is the minimum
            gap = min(gap, objective + rounding)
        if problem.A.dtype == np.float32:
            doubt = max(gap - rounding - gradient**2 / (4 * lam) - apart, 0.0)
    if problem.offset:
        gradient, start = (
            float(np.hypot(length, np.linalg.norm(rho.sum(axis=0) + problem.offset_price)))
            for length, rho in ((gradient, problem.weighted(u) / problem.n), (start, zero))
        )
    known = gap if gap is not None and np.isfinite(gap) else None
    scale = max(scale_of(problem), abs(objective) if problem.offset_price else 0.0)
    return Measured(intercept, objective, known, rounding, gradient, blur, start, scale, space.words, doubt)


def _apart(problem: Problem, scores: np.ndarray, losses: np.ndarray, u: np.ndarray, dual: bool) -> float:
    """The mean of w_i (V + V* − u s), and what it costs to make Σ w_i u_i exactly 0."""
    if not dual:
        return _unbalanced(problem, scores, u)
    if not problem.loss.has_dual:
        young = losses + problem.loss.conjugate(problem.y, u) - (u * scores).sum(axis=1)
        return problem.mean(np.where(problem.w > 0, np.maximum(young, 0.0), 0.0))
    form, a = problem.loss.dual(problem.y), -u
    young = losses - a * (form.centre - scores) + form.kink * np.abs(a) + 0.5 * form.curvature * a * a
    return problem.mean(np.maximum(young, 0.0)) + _missing(problem, scores, u)


def _by_coefficients(problem: Problem, scores: np.ndarray, losses: np.ndarray, coef: np.ndarray) -> float:
    """The bound for the slopes that the representer theorem reads off the coefficients, w u = −2λn c.

    There 2λf + g = 0, whatever rounding did to the scores: for small λ the better bound by far.
    """
    if not problem.full:
        return np.inf
    w = problem.w[:, None]
    if (coef[w[:, 0] == 0] != 0).any():
        return np.inf
    u = np.divide(-2 * problem.lam * problem.n * coef, w, out=np.zeros_like(coef), where=w > 0)
    try:
        with np.errstate(all="ignore"):
            young = losses + problem.loss.conjugate(problem.y, u)
            inner = u * scores
            young = young - (inner if young.ndim == 2 else inner.sum(axis=1))
    except NotImplementedError:
        return np.inf
    young = np.where(np.isnan(young), np.inf, np.maximum(young, 0.0))
    noise = 4 * EPS * (problem.mean(np.abs(losses)) + float(np.abs(w * inner).sum()) / problem.n)
    seen = young if problem.weights is None else young[problem.weights > 0]
    above = problem.mean(young) if np.isfinite(seen).all() else np.inf
    return above + noise + (_missing(problem, scores, u) if problem.offset else 0.0)


# -- the offset -------------------------------------------------------------------------------------------


def best_constant(problem: Problem) -> np.ndarray:
    """Scores (n, t) of the best constant; zeros where there is no offset, or outputs are coupled."""
    scores = np.zeros(problem.y.shape)
    return scores + balance(problem, scores) if _separable(problem) else scores


def balance(problem: Problem, scores: np.ndarray) -> np.ndarray:
    """What to add to the scores of each output so that Σ w_i V'(y_i, s_i) = 0; 0 where no constant does."""

    def sums(b: np.ndarray) -> Totals:
        slopes = problem.data_grad(scores + b)
        return slopes.sum(axis=0), np.abs(slopes).sum(axis=0)

    def bend(b: np.ndarray) -> np.ndarray:
        return problem.data_hess(scores + b).sum(axis=0) if problem.loss.curved else np.zeros_like(b)

    stride = np.maximum(np.std(problem.y, axis=0), 1.0)
    b, found = rising_to_zero(sums, bend, stride, 2 * EPS, 2 * EPS, flat=True)
    return np.where(found | (np.abs(sums(b)[0]) == 0), b, 0.0)


def rising_to_zero(
    sums: Callable[[np.ndarray], Totals],
    slopes: Callable[[np.ndarray], np.ndarray],
    stride: np.ndarray,
    rounding: float,
    apart: float,
    flat: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Where totals that rise with b are 0, each by itself, and whether there is such a place.

    sums(b) → (totals, sizes of what they add up). Newton's method between bounds that close in, or
    halving where a slope is 0 or the last step gained little (down an exponential Newton's steps have length
    1, however far it is); down to this much rounding of the totals, or bounds that are so little apart.
    With `flat`, slopes may be almost 0, and Newton's step lead anywhere.
    """
    b, low, high = np.zeros_like(stride), np.full_like(stride, -np.inf), np.full_like(stride, np.inf)
    last = np.full_like(stride, np.inf)
    for _ in range(200):
        total, size = sums(b)
        known = np.isfinite(total)  # totals that overflow are no zeros, however large their size
        done = (known & (np.abs(total) <= rounding * size)) | (high - low <= apart * np.abs(b))
        if done.all():
            break
        low, high = np.where(total < 0, b, low), np.where(total > 0, b, high)
        enclosed = np.isfinite(low) & np.isfinite(high)
        middle = 0.5 * (np.where(enclosed, low, 0) + np.where(enclosed, high, 0))
        fallback = np.where(enclosed, middle, b - np.sign(total) * stride)
        stride = 2 * stride
        slope = slopes(b)
        with np.errstate(invalid="ignore"):  # infinite by infinite, which is not taken
            newton = b - total / np.where(slope > 0, slope, 1.0)
        usable = known & (slope > 0) & (newton > low) & (newton < high)
        usable &= ~enclosed | (np.abs(total) <= 0.25 * last)
        last = np.abs(total)
        if flat:
            usable &= enclosed | (np.abs(newton - b) < stride)
        b = np.where(done, b, np.where(usable, newton, fallback))
    return b, np.isfinite(low) & np.isfinite(high) | done


def _unbalanced(problem: Problem, scores: np.ndarray, u: np.ndarray) -> float:
    """What it costs to make Σ w_i V'(y_i, s_i) exactly 0 by a change of b: little, where V is curved."""
    if not problem.offset:
        return 0.0
    rho = problem.weighted(u) / problem.n
    total = np.abs(rho.sum(axis=0))
    # Two neighbouring numbers enclose the best b, so that no more than this is left.
    rounded = 4 * EPS * (np.abs(rho) * (1 + np.abs(scores))).sum(axis=0)
    curved = problem.loss.curved
    bend = problem.data_hess(scores).sum(axis=0) / problem.n if curved else np.zeros(len(total))
    cost = cost_of_imbalance(total, bend)
    return float(np.where(total <= 4 * EPS * np.abs(rho).sum(axis=0), np.minimum(cost, rounded), cost).sum())


def cost_of_imbalance(total: np.ndarray, bend: np.ndarray) -> np.ndarray:
    """What the objective can still fall by a change of b alone, for a slope and a curvature in b."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(total == 0, 0.0, np.where(bend > 0, total**2 / (2 * bend), np.inf))


def _evened(problem: Problem, slopes: np.ndarray) -> np.ndarray:
    """Slopes that add up to 0, where an offset wants it: those of the sign that prevails shrink for it.

    They are slopes of V still, since 0 is one.
    """
    if not problem.offset or problem.offset_price or problem.loss.joint:
        return slopes
    rho = problem.weighted(slopes)
    up, down = (np.maximum(sign * rho, 0.0).sum(axis=0) for sign in (1, -1))
    shares = [given_up(np.maximum(total, 0.0), size) for total, size in ((up - down, up), (down - up, down))]
    return slopes * (1 - np.where(slopes > 0, *shares))


def given_up(total: np.ndarray, size: np.ndarray) -> np.ndarray:
    """The part of slopes of this size (all of one sign) to give up, so that their sum falls by `total`.

    V(y, s) + V*(y, u) − u s is convex in u, and at u = 0 no more than V(y, s): the part of V(y, s) that this
    costs is no larger. Of all slopes those of the sign that prevails are at least half.
    """
    return np.minimum(np.divide(total, size, out=np.zeros_like(total), where=size > 0), 1.0)


def _missing(problem: Problem, scores: np.ndarray, u: np.ndarray) -> float:
    """What slopes cost that add up to 0 (or to the price of b) but for rounding: one has to give way."""
    if not problem.offset:
        return 0.0
    total = np.abs((problem.weighted(u) / problem.n).sum(axis=0) + problem.offset_price)
    reach = np.abs(scores).max(axis=0, initial=0.0) + np.abs(problem.y).max(axis=0, initial=0.0)
    return float((total * reach).sum())


def _separable(problem: Problem) -> bool:
    """Is there an offset whose best value is known, output by output?"""
    return problem.offset and problem.loss.convex and not problem.loss.joint and not problem.offset_price


def scale_of(problem: Problem) -> float:
    """The objective of the best constant, to measure gaps against; of 0 where a constant is all it takes."""
    flat = abs(problem.mean(_losses(problem, best_constant(problem))))
    zero = abs(problem.mean(_losses(problem, np.zeros(problem.y.shape))))
    return flat if flat > _NOTHING * zero else zero


# -- rounding ---------------------------------------------------------------------------------------------


def _shaken(problem: Problem, scores: np.ndarray, losses: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """By how much losses change if scores are wrong by this much, in the worse direction."""
    worst = np.zeros_like(losses)
    with np.errstate(over="ignore", invalid="ignore"):
        for sign in (1, -1):
            worst = np.maximum(worst, np.abs(_losses(problem, scores + sign * errors) - losses))
    return worst


def _losses(problem: Problem, scores: np.ndarray) -> np.ndarray:
    """V of every example; by its dual form an example without a say (coded 0) costs nothing."""
    loss, y = problem.loss, problem.y
    return loss.value(y, scores) if loss.smooth or not loss.has_dual else loss.dual(y).value(scores)
