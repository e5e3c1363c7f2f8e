"""A stream to its end: what an online machine said and lost on the way, and the best fixed function."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_consistent_length

from mercer._warnings import unheard
from mercer._xp import take
from mercer.estimators.base import KernelMachine
from mercer.estimators.tensors import on_host
from mercer.functions import Function
from mercer.kernels import Linear
from mercer.kernels.base import Kernel
from mercer.losses import Loss
from mercer.losses.coding import TargetCoding
from mercer.online import loops
from mercer.online.budgets import Unlimited
from mercer.online.coordinates import CoordinateLearner
from mercer.online.machine import OnlineMachine
from mercer.online.steps import RecursiveStep
from mercer.representations import Nystrom

# A function in a ball is good enough when its loss is above the least by this part of that of f = 0.
_TOLERANCE = 1e-4
_TRIES, _LEAP = 60, 4.0


def begin(machine: OnlineMachine, X: Any, y: Any) -> tuple[OnlineMachine, Any, np.ndarray]:
    """(a clone that has learned nothing yet, points, targets) of a stream."""
    if not isinstance(machine, OnlineMachine):
        raise TypeError(
            f"machine must be an online machine, such as OnlineKernelRegressor(); got {machine!r}"
        )
    if y is None:
        raise ValueError("a stream needs its y")
    run = clone(machine)
    run.forget()
    run.rule_ = run._rule()
    points = run._points(X, reset=True)
    y = run._check_targets(on_host(y))
    check_consistent_length(points, y)
    targets = np.asarray(run._code_targets(y, None), np.float64)
    run._start(points, X, targets, np.ones(len(targets)))
    return run, points, targets


def function_after(run: OnlineMachine, points: Any, targets: np.ndarray, t: int) -> Function:
    """What `begin` gave learns example t; its function then."""
    run.learner_.learn(points[t : t + 1], targets[t : t + 1], np.ones(1))
    return run.function_


def progressive(machine: OnlineMachine, X: Any, y: Any) -> np.ndarray:
    """Predictions, as `predict` gives them, for each example of a stream just before it was learned.

    Parameters
    ----------
    machine : OnlineKernelRegressor or OnlineKernelClassifier
        A clone of it learns; it stays as it is.
    X, y : the stream, in its order

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.online import perceptron, progressive
    >>> X = np.random.default_rng(0).standard_normal((500, 2))
    >>> y = np.where(X.sum(axis=1) > 0, "up", "down")
    >>> wrong = progressive(perceptron("linear"), X, y) != y
    >>> int(wrong[:100].sum()) > int(wrong[-100:].sum())
    True
    """
    run, points, targets = begin(machine, X, y)
    scores = run.learner_.learn(points, targets, np.ones(len(targets)))
    return np.asarray(run.coding_.decode(scores))


@dataclass(frozen=True, eq=False)
class Record:
    """A run over a stream. f_t is what predicted example t, t = 1 … n; f_1 = 0."""

    machine: Any  # what has learned
    kernel: Kernel  # of the space f lives in; for fixed coordinates φ the linear kernel on φ(x)
    points: Any
    targets: np.ndarray  # (n, t), as scores and slopes
    scores: np.ndarray
    losses: np.ndarray  # (n,) V(y_t, f_t(x_t))
    slopes: np.ndarray  # V'(y_t, f_t(x_t))
    power: np.ndarray  # (n,) k(x_t, x_t)
    eta: np.ndarray | None  # (n,) η_t, or None where steps are not told beforehand
    squared_norms: np.ndarray | None  # (n,) ‖f_t‖², or None with them
    # (n,) what the budget did after step t, with u_t = f_t − η_t ∇C_t(f_t) the step's own result:
    # ‖f_{t+1}‖² − ‖u_t‖² and ‖f_{t+1} − u_t‖; None without a budget, or where it was never reached.
    left: np.ndarray | None = None
    lost: np.ndarray | None = None

    @property
    def lam(self) -> float:
        """λ"""
        return self.machine.rule_.lam

    @property
    def squared_gradients(self) -> np.ndarray:
        """‖∇C_t(f_t)‖², with ∇C_t(f) = V'(y_t, f(x_t)) k(x_t,·) + 2λf."""
        assert self.squared_norms is not None
        slope = np.square(self.slopes).sum(axis=1) * self.power
        both = np.einsum("ij,ij->i", self.slopes, self.scores)
        # Rounding may leave a little less than nothing.
        return np.maximum(slope + 4 * self.lam * both + 4 * self.lam**2 * self.squared_norms, 0)


def record(machine: OnlineMachine, X: Any, y: Any) -> Record:
    """Let a clone of a machine learn a stream, and note everything."""
    run, points, targets = begin(machine, X, y)
    rule, n = run.rule_, len(targets)
    learner: Any = run.learner_
    fixed = isinstance(learner, CoordinateLearner) and not learner.most
    # Steps of second order are not along the gradient.
    told = rule.step.rate == loops.TOLD and not isinstance(rule.step, RecursiveStep)
    budget = run._budget()
    whole = fixed or isinstance(budget, Unlimited) or (not budget.projects and budget.n_terms >= n)
    eta = np.asarray(rule.step.sizes(np.arange(1.0, n + 1), rule.lam), np.float64) if told else None
    kernel, space = (Linear(), learner.basis.rows(points)) if fixed else (run.kernel_, points)
    power = np.asarray(kernel.diagonal(space), np.float64)
    norms = left = lost = None
    if whole or eta is None:
        scores = learner.learn(points, targets, np.ones(n))
    else:
        scores, norms, left, lost = _watched(learner, rule, points, targets, power, eta)
    losses = rule.loss.value(targets, scores)
    slopes = rule.loss.grad(targets, scores)
    if eta is not None and norms is None:
        norms = _norms(scores, slopes, power, eta, rule.lam)
    losses = losses if losses.ndim == 1 else losses.sum(axis=1)
    return Record(run, kernel, space, targets, scores, losses, slopes, power, eta, norms, left, lost)


def _after(norm, shrink, eta, score, slope, power):
    """‖u‖² for u = (1 − 2ηλ) f − η V' k(x,·)."""
    return (
        shrink**2 * norm - 2 * shrink * eta * (slope * score).sum() + eta**2 * (slope * slope).sum() * power
    )


def _norms(scores, slopes, power, eta, lam) -> np.ndarray:
    """‖f_t‖² of a run without a budget: scores and slopes are all that is needed."""
    norms, now = np.empty(len(eta)), 0.0
    for t in range(len(eta)):
        norms[t] = now
        now = max(_after(now, 1 - 2 * eta[t] * lam, eta[t], scores[t], slopes[t], power[t]), 0.0)
    return norms


def _watched(learner: Any, rule: Any, points: Any, targets: np.ndarray, power: np.ndarray, eta: np.ndarray):
    """Learn one by one, and measure what the budget does each time."""
    n = len(targets)
    scores, norms, left, lost = np.empty((n, targets.shape[1])), np.empty(n), np.empty(n), np.empty(n)
    one, now, before = np.ones(1), 0.0, None
    for t in range(n):
        norms[t] = now
        x, target = points[t : t + 1], targets[t : t + 1]
        scores[t : t + 1] = learner.learn(x, target, one)
        slope = rule.loss.grad(target, scores[t : t + 1])[0]
        shrink = 1 - 2 * eta[t] * rule.lam
        u = _after(now, shrink, eta[t], scores[t], slope, power[t])
        if isinstance(learner, CoordinateLearner):
            # What is not in the span is left out, and orthogonal to all the rest.
            now = float(np.square(learner.A).sum())
            rest = max(power[t] - float(np.square(learner.basis.rows(x)).sum()), 0.0)
            lost[t] = eta[t] * np.sqrt((slope * slope).sum() * rest)
        else:
            # Dropped terms may linger for a while, without a birth.
            held = np.flatnonzero(learner.birth > 0)
            kernel, after = learner.kernel, (take(learner.points, held), learner.A[:, held])
            now = _inner(kernel, after, after)
            value = _inner(kernel, after, (x, slope[:, None]))
            with_u = shrink * _inner(kernel, after, before) - eta[t] * value
            lost[t] = np.sqrt(max(now - 2 * with_u + u, 0.0))
            before = after
        left[t] = now - u
    return scores, norms, left, lost


def _inner(kernel: Kernel, f: Any, g: Any) -> float:
    """⟨f, g⟩ of pairs (points, coefficients (outputs, terms))."""
    if g is None or not f[1].shape[1] or not g[1].shape[1]:
        return 0.0
    return float(np.einsum("ti,ij,tj->", f[1], kernel.pairwise(f[0], g[0]), g[1], optimize=True))


def occupancy(
    machine: OnlineMachine, X: Any, y: Any, frames: int = 200
) -> tuple[np.ndarray, list[np.ndarray]]:
    """(numbers of examples seen, for each of them the numbers of the examples in f then), of a stream.

    >>> import numpy as np
    >>> from mercer import OnlineKernelRegressor
    >>> from mercer.online import Oldest
    >>> X = np.arange(6.0)[:, None]
    >>> occupancy(OnlineKernelRegressor(budget=Oldest(2)), X, X[:, 0] + 1, frames=2)
    (array([3, 6]), [array([2, 3]), array([5, 6])])
    """
    run, points, targets = begin(machine, X, y)
    learner: Any = run.learner_
    if isinstance(learner, CoordinateLearner) and not learner.most:
        raise ValueError("features and fixed centres hold no examples: there is nothing to show")
    n = len(targets)
    seen = np.unique(np.linspace(0, n, min(frames, n) + 1).round().astype(np.int64))
    held: list[np.ndarray] = []
    births = np.zeros(0, np.int64)
    for start, stop in pairwise(seen):
        learner.learn(points[start:stop], targets[start:stop], np.ones(stop - start))
        if isinstance(learner, CoordinateLearner):
            # Points stay in the order in which they were taken; new ones are of this chunk.
            births = np.concatenate([births, np.full(learner.size - len(births), stop)])
        else:
            births = learner.birth[learner.birth > 0]
        held.append(births)
    return seen[1:], held


# -- in hindsight -------------------------------------------------------------------------------------------


class HindsightMachine(KernelMachine):
    """The batch machine of a kernel and a loss, on targets that are coded already."""

    def __init__(self, kernel: Kernel, loss: Loss, lam: float):
        self.kernel, self.loss, self.lam = kernel, loss, lam
        self.representation = self.solver = self.engine = "auto"
        self.offset, self.random_state = False, 0

    def loss_for(self, y):
        return self.loss

    def _check_y(self, y):
        return y

    def _encode(self, loss, y):
        return y, TargetCoding(loss, False, y.shape[1])

    def _remarks(self, loss, targets):
        return iter(())


@dataclass(frozen=True, eq=False)
class Best:
    """f*, as it is known: at the examples, and by its norm."""

    loss: float  # Σ V(y_t, f(x_t))
    norm: float  # ‖f‖
    scores: np.ndarray  # (T, t) f(x_t)
    gap: float  # what the least value of the problem may be below this one; nan if that is not known
    multiplier: float  # the λ it is the solution for, apart from a factor


@dataclass(frozen=True, eq=False)
class Seen:
    """T examples of a stream, in the space f lives in, and what errors cost."""

    kernel: Kernel
    points: Any
    targets: np.ndarray
    loss: Loss

    def total(self, scores: np.ndarray) -> float:
        """Σ V(y_t, s_t)"""
        return float(np.sum(self.loss.value(self.targets, scores)))

    def penalised(self, lam: float, begin: HindsightMachine | None = None) -> tuple[Best, HindsightMachine]:
        """f minimising Σ [V(y_t, f(x_t)) + λ‖f‖²]: T times the objective of a batch machine with this λ."""
        machine = HindsightMachine(self.kernel, self.loss, lam)
        with unheard(ConvergenceWarning):  # whether it converged is what the gap says
            machine.fit_from(begin, self.points, self.targets)
        scores = np.asarray(machine.scores(self.points), np.float64)
        gap = machine.solution_.certificate.gap
        known = gap is not None and not isinstance(machine.plan_.representation, Nystrom)
        gap = len(self.targets) * float(gap) if gap is not None and known else math.nan
        return Best(self.total(scores), machine.function_.norm(), scores, gap, lam), machine

    def in_ball(self, radius: float, start: float) -> Best:
        """f minimising Σ V(y_t, f(x_t)) among those with ‖f‖ ≤ U; of several as good, one of small norm.

        For any μ > 0 and the minimiser f_μ of Σ [V + μ‖f‖²], Σ V(f_μ) + μT(‖f_μ‖² − U²) is no more than what
        is sought (Lagrange), and f_μ, scaled down to the ball where it lies outside, costs no less. The μ is
        looked for that brings the two together, from above.
        """
        goal = _TOLERANCE * self.total(np.zeros_like(self.targets))
        found: Best | None = None
        machine, least, mu = None, math.inf, start
        outside = inside = None  # (μ, ‖f_μ‖), the largest and the smallest such μ
        for _ in range(_TRIES):
            best, machine = self.penalised(mu, machine)
            factor = min(1.0, radius / best.norm) if best.norm > 0 else 1.0
            scores = factor * best.scores
            value = self.total(scores)
            below = best.loss + mu * len(self.targets) * (best.norm**2 - radius**2)
            apart = max(value - below, 0.0)
            if apart < least:
                # What the solver left undone makes the bound from below that much worse.
                least, found = apart, Best(value, factor * best.norm, scores, apart + best.gap, mu)
            if apart <= goal:
                break
            if best.norm > radius:
                outside = mu, best.norm
            else:
                inside = mu, best.norm
            mu = _between(outside, inside, radius)
        assert found is not None
        return found


def _between(outside: Any, inside: Any, radius: float) -> float:
    """The next μ: a power law through what is known, or a leap."""
    if outside is None:
        return inside[0] / _LEAP
    if inside is None:
        return _LEAP * outside[0]
    (low, far), (high, near) = outside, inside
    part = math.log(far / radius) / math.log(far / near) if near > 0 else 0.5
    return low * (high / low) ** min(max(part, 0.05), 0.95)
