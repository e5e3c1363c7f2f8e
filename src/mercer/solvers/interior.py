"""Losses with kinks and the penalty λ(ρ‖c‖₁ + ½(1 − ρ)‖c‖²): a quadratic programme, from its inside.

V is a maximum over lines or parabolas, V(y, s) = max over a of a (centre − s) − κ|a| − ½ δ a². With
a = a⁺ − a⁻ and c = c⁺ − c⁻ all unknowns have bounds, and the objective is a saddle: least in c and b, largest
in a. A primal-dual interior-point method (Mehrotra's, with predictor and corrector) goes there in some dozen
steps; each takes ΦᵀDΦ for a diagonal D, and its factor.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer._notice import tell
from mercer._threads import stopping_point
from mercer._xp import issparse
from mercer.solvers.base import Solver, warn_if_unconverged
from mercer.solvers.certify import DOUBT, best_constant, given_up
from mercer.solvers.coordinate import refuse
from mercer.solvers.penalised import CentredFeatures, penalty_of, worth
from mercer.solvers.problem import Problem, Solution

# Where unknowns and prices begin, in units of the problem: far inside, if from nearby it leads nowhere.
_BEGINS = (1.0, 30.0, 1000.0)
# How far to go towards the nearest bound.
_SHORT = 0.995
# The mean product of unknowns and their prices, relative to the scale of the objective, that is as good as 0.
_END = 1e-13


class Interior(Solver):
    """Minimise (1/n) Σ w_i V(y_i, (Φc)_i) + λ(ρ‖c‖₁ + ½(1 − ρ)‖c‖²) for maxima over lines or parabolas.

    The absolute error, quantiles, the hinge loss, the ε-insensitive losses, Huber's, the squared hinge.
    Every step factors a matrix of the size of the features, so these should not be many thousands.

    Parameters
    ----------
    tol : float
        Duality gap, relative to the objective of the best constant.
    max_iter : int

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> machine = KernelRegressor("linear", "absolute", lam=0.1, representation="lasso", solver=Interior())
    >>> (machine.fit(X, 2 * X[:, 1]).coef_ != 0).tolist()
    [False, True, False]
    """

    name = "interior"
    requires = frozenset({"lasso", "dual"})
    passes = 25

    def __init__(self, tol=1e-7, max_iter=200):
        self.tol = tol
        self.max_iter = max_iter

    def refusal(self, loss, penalty):
        if penalty == "lasso" and not loss.has_dual:
            way = "use solver='coordinate'" if loss.curved else "say how it is one (`dual`)"
            need = "needs a loss that is a maximum over lines or parabolas, which"
            return f"solver {self!r} {need} {loss!r} is not; {way}"
        return super().refusal(loss, penalty)

    def memory(self, shape):
        return shape.stored + 3 * 8 * shape.unknowns**2

    def flops(self, shape):
        return self.passes * (2.0 * shape.n + shape.unknowns) * shape.unknowns**2 * shape.outputs

    def run(self, problem: Problem) -> Solution:
        self.validate()
        refuse(self, problem)
        centred = CentredFeatures.of(problem)
        form, t = problem.loss.dual(problem.y), problem.y.shape[1]
        C, b = np.zeros((problem.A.shape[1], t)), np.zeros(t)
        u, steps = np.zeros(problem.y.shape), 0
        used = np.flatnonzero(problem.w > 0)
        for j in range(t):
            for begin in _BEGINS:
                way = _Saddle.at_start(centred.problem, form, used, j, begin)
                steps = max(steps, way.run(self.tol, self.max_iter, self.name))
                if way.missing() <= 0.1 * self.tol * way.scale:
                    break
            C[:, j], b[j] = way.coefficients()
            u[used, j] = way.slopes()
        slopes = _feasible(problem, form, u)
        measured = worth(problem, C, centred.back(C, b), slopes)
        certificate, near = measured.certificate, measured.near(max(self.tol, DOUBT))
        status = "converged" if near else "max_iter" if steps >= self.max_iter else "stalled"
        solution = Solution(C, measured.intercept, status, steps, certificate, (), self.name)
        words = f"the duality gap is {certificate.gap or np.inf:.1e}"
        warn_if_unconverged(solution, self.tol, "Increase lam or max_iter", problem.A.dtype, words)
        return solution


def _feasible(problem: Problem, form: Any, u: np.ndarray) -> np.ndarray:
    """Slopes within their bounds that add up to 0, if there is an offset, with weights."""
    u = -np.clip(-u, form.lower, form.upper)
    if not problem.offset:
        return u
    rho = problem.weighted(u)
    up, down = (np.maximum(sign * rho, 0.0).sum(axis=0) for sign in (1, -1))
    shares = given_up(np.maximum(up - down, 0.0), up), given_up(np.maximum(down - up, 0.0), down)
    return u * (1 - np.where(u > 0, *shares))


@dataclass(eq=False)
class _Sides:
    """The examples once for each direction in which their slope may go: a ≥ 0, up to `most`.

    r = sign·(centre − s) − κ is the gain of raising a. Everything is multiplied by w/n.
    """

    rows: np.ndarray
    sign: np.ndarray
    centre: np.ndarray
    kink: float
    curvature: np.ndarray
    most: np.ndarray

    @classmethod
    def of(cls, problem: Problem, form: Any, used: np.ndarray, output: int) -> _Sides:
        share = problem.w[used] / problem.n
        rows, sign, most = [], [], []
        for direction, bounds in ((1.0, form.upper), (-1.0, -form.lower)):
            reach = np.broadcast_to(bounds, problem.y.shape)[used, output]
            open_ = np.flatnonzero(reach > 0)
            rows.append(open_)
            sign.append(np.full(len(open_), direction))
            most.append(share[open_] * reach[open_])
        at = np.concatenate(rows)
        centre = np.broadcast_to(form.centre, problem.y.shape)[used, output][at]
        bend = np.broadcast_to(np.asarray(form.curvature, np.float64), (problem.y.shape[1],))[output]
        return cls(at, np.concatenate(sign), centre, float(form.kink), bend / share[at], np.concatenate(most))


@dataclass(eq=False)
class _Saddle:
    """Where the method is: slopes a with prices of both bounds, c = c⁺ − c⁻ with theirs, and b."""

    Phi: Any
    sides: _Sides
    share: np.ndarray
    price: float
    curvature: float
    offset: bool
    scale: float
    lengths: np.ndarray  # of the columns of Φ
    a: np.ndarray
    room: np.ndarray  # most − a, kept by itself: near 0 a difference would be rounding
    low: np.ndarray  # the price of a ≥ 0
    high: np.ndarray  # and of a ≤ most
    c: np.ndarray  # (1 or 2, p): c⁺, and c⁻ unless c ≥ 0; or c itself, where nothing bounds it
    z: np.ndarray  # the price of c ≥ 0
    b: float

    @classmethod
    def at_start(cls, problem: Problem, form: Any, used: np.ndarray, output: int, begin: float) -> _Saddle:
        sides = _Sides.of(problem, form, used, output)
        Phi: Any = problem.A.values[used]  # type: ignore[attr-defined]
        Phi = Phi.tocsc().astype(np.float64) if issparse(Phi) else np.asarray(Phi, np.float64)
        share, p = problem.w[used] / problem.n, Phi.shape[1]
        penalty = penalty_of(problem)
        price, curvature = problem.lam * penalty.ratio, problem.lam * (1 - penalty.ratio)
        b = float(best_constant(problem)[0, output]) if problem.offset else 0.0
        gain = sides.sign * (sides.centre - b) - sides.kink
        size = begin * (float(np.mean(np.abs(gain))) or 1.0)
        # Slopes in the middle, and prices to match.
        closed = np.isfinite(sides.most)
        bend = np.maximum(sides.curvature, 1e-300)
        wanted = np.maximum(gain, 0.1 * size) / np.where(sides.curvature > 0, bend, 1.0)
        a = np.where(closed, 0.5 * np.where(closed, sides.most, 1.0), wanted)
        room = np.where(closed, sides.most, 2.0) - np.where(closed, a, 1.0)
        low, high = np.full(len(a), size), np.where(closed, size, 0.0)
        bounded = price > 0 or penalty_of(problem).positive
        squares = share @ (Phi.multiply(Phi).toarray() if issparse(Phi) else Phi * Phi)
        lengths = np.sqrt(np.where(squares > 0, squares, 1.0) / share.sum())
        parts = 1 if penalty_of(problem).positive or not bounded else 2
        c = np.tile(0.1 * size / (lengths * np.sqrt(max(p, 1))), (parts, 1)) if bounded else np.zeros((1, p))
        # All products alike.
        product = max(float(np.mean(a * low)) if len(a) else 0.0, price * float(np.median(c)) if p else 0.0)
        z = product / c if bounded else np.zeros(c.shape)
        scale = float(share @ np.abs(np.broadcast_to(form.centre, problem.y.shape)[used, output] - b)) or 1.0
        given = Phi, sides, share, price, curvature, problem.offset, scale, lengths
        return cls(*given, a, room, low, high, c, z, b)

    # -- the line to the end ----------------------------------------------------------------------------

    def run(self, tol: float, limit: int, name: str) -> int:
        """Go as far as there is something to gain, to the best place on the way; the number of steps."""
        least, best, idle = np.inf, self._place(), 0
        for step in range(limit):
            stopping_point()
            missing = self.missing()
            tell(name, step, "duality gap", missing / self.scale, tol)
            idle = 0 if missing < 0.9 * least else idle + 1
            if missing < least:
                least, best = missing, self._place()
            # What grows again, after next to nothing was left, is rounding.
            if missing <= _END * self.scale or idle >= (2 if least <= tol * self.scale else 40):
                break
            with np.errstate(all="ignore"):  # what is not finite is not gone to
                if not self.step():
                    break
        else:
            step = limit
        self.a, self.room, self.low, self.high, self.c, self.z, self.b = best
        return step

    def _place(self) -> tuple[Any, ...]:
        # A step puts new arrays in the place of old ones.
        return self.a, self.room, self.low, self.high, self.c, self.z, self.b

    def missing(self) -> float:
        """An estimate of the duality gap."""
        return self.gap() + self.unmet()

    @property
    def bounded(self) -> bool:
        return bool(self.z.any())

    def gap(self) -> float:
        """The sum of all products of an unknown with its price."""
        return float(self.a @ self.low + self.room @ self.high + (self.c * self.z).sum())

    def unmet(self) -> float:
        """By how much the equations of the slopes are missed, in units of the objective."""
        gain, pull = self.gain(), self.pull()
        first = gain - self.sides.curvature * self.a + self.low - self.high
        second = self.uphill(pull) - self.z
        balance = abs(float((self.sides.sign * self.a).sum())) if self.offset else 0.0
        size = np.abs(self.c).sum(axis=0) if len(self.c) == 1 else np.abs(self.c[0] - self.c[1])
        return float(self.a @ np.abs(first) + (size * np.abs(second)).sum()) + balance * self.scale

    def net(self) -> np.ndarray:
        """c"""
        return self.c[0] - self.c[1] if len(self.c) == 2 else self.c[0]

    def gain(self) -> np.ndarray:
        s = self.Phi @ self.net() + self.b
        return self.sides.sign * (self.sides.centre - s[self.sides.rows]) - self.sides.kink

    def summed(self, values: np.ndarray) -> np.ndarray:
        """Σ over the sides of every example."""
        return np.bincount(self.sides.rows, weights=values, minlength=self.Phi.shape[0])

    def pull(self) -> np.ndarray:
        """Φᵀa: how the data pull at c."""
        return np.asarray(self.Phi.T @ self.summed(self.sides.sign * self.a))

    def uphill(self, pull: np.ndarray) -> np.ndarray:
        """The slopes of the objective in c⁺ and c⁻."""
        own = self.curvature * self.net() - pull
        return np.stack([own, -own][: len(self.c)]) + self.price

    # -- one step ---------------------------------------------------------------------------------------

    def step(self) -> bool:
        """A step by predictor and corrector; False where it leads nowhere."""
        sides, closed = self.sides, np.isfinite(self.sides.most)
        D = sides.curvature + self.low / self.a + self.high / self.room
        theta = self.z / self.c if self.bounded else np.zeros_like(self.c)
        T = self.curvature + (1 / (1 / theta).sum(axis=0) if self.bounded else 0.0)
        pieces = _Newton(self, closed, D, theta, self._factor(1 / D, T))
        if pieces.solve is None:
            return False
        count = len(self.a) + int(closed.sum()) + (self.c.size if self.bounded else 0)
        mean = self.gap() / count
        first = pieces.direction(0.0)
        reach = pieces.reach(first)
        after = pieces.gap_after(first, reach)
        centring = min((after / max(mean * count, 1e-300)) ** 3, 1.0)
        second = pieces.direction(centring * mean, first)
        length = min(_SHORT * pieces.reach(second, cap=1 / _SHORT), 1.0)
        if not (np.isfinite(length) and length > 1e-10 and all(np.isfinite(d).all() for d in second)):
            return False
        da, dlow, dhigh, dc, dz, db = second
        self.a, self.room = self.a + length * da, np.where(closed, self.room - length * da, 1.0)
        self.low, self.high = self.low + length * dlow, self.high + length * dhigh
        self.c, self.z, self.b = self.c + length * dc, self.z + length * dz, self.b + length * float(db)
        return True

    def _factor(self, weights: np.ndarray, T: Any) -> Any:
        """What solves for (Δc, Δb), from ΦᵀWΦ + T bordered by the offset."""
        W = self.summed(weights)
        Phi, p = self.Phi, self.Phi.shape[1]
        H = np.zeros((p + self.offset, p + self.offset))
        if issparse(Phi):
            H[:p, :p] = (Phi.T @ Phi.multiply(W[:, None]).tocsc()).toarray()
        else:
            H[:p, :p] = Phi.T @ (W[:, None] * Phi)
        H[np.arange(p), np.arange(p)] += T
        if self.offset:
            H[p, :p] = H[:p, p] = Phi.T @ W
            H[p, p] = W.sum()
        # Scaled to a diagonal of ones, of which a little is added.
        d = np.sqrt(np.where(H.diagonal() > 0, H.diagonal(), 1.0))
        for jitter in (1e-15, 1e-13, 1e-11, 1e-9):
            try:
                factor = cho_factor(H / d[:, None] / d + jitter * np.eye(len(d)), lower=True)
            except (np.linalg.LinAlgError, ValueError):
                continue
            return partial(_refined, H, factor, d)
        return None

    # -- what was found ---------------------------------------------------------------------------------

    def coefficients(self) -> tuple[np.ndarray, float]:
        """c, whose entries are 0 where their price is more than they are, and b."""
        c = self.net()
        if self.bounded:
            # Of an unknown and its price one goes to 0: in units of the scores, and of the slopes.
            reach = self.c * self.lengths / self.scale
            dear = self.z / (self.price + self.lengths * float(self.a.sum()))
            c = np.where((reach > dear).any(axis=0), c, 0.0)
        return c, self.b

    def slopes(self) -> np.ndarray:
        """u = −a of every example, not multiplied by its share."""
        return -self.summed(self.sides.sign * self.a) / self.share


def _refined(H: np.ndarray, factor: Any, d: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The solution of Hx = v by the factor of H scaled by d, and one correction."""
    x = cho_solve(factor, v / d, check_finite=False) / d
    return x + cho_solve(factor, (v - H @ x) / d, check_finite=False) / d


Step = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, Any]


@dataclass(eq=False)
class _Newton:
    """What predictor and corrector share."""

    way: _Saddle
    closed: np.ndarray
    D: np.ndarray
    theta: np.ndarray
    solve: Any

    def direction(self, target: float, guess: Step | None = None) -> Step:
        """Newton's direction to where all products are `target`; `guess` corrects for their curvature."""
        way, sides, closed, room = self.way, self.way.sides, self.closed, self.way.room
        at_low = target - (0.0 if guess is None else guess[0] * guess[1])
        at_high = target + (0.0 if guess is None else guess[0] * guess[2])
        at_c = target - (0.0 if guess is None else guess[3] * guess[4])
        rho = way.gain() - sides.curvature * way.a + at_low / way.a - np.where(closed, at_high / room, 0.0)
        slopes = way.summed(sides.sign * rho / self.D)
        e = -way.uphill(way.pull()) + (at_c / way.c if way.bounded else 0.0)
        p = way.Phi.shape[1]
        if way.bounded:
            T = 1 / (1 / self.theta).sum(axis=0)
            signs = np.array([1.0, -1.0])[: len(way.c), None]
            rhs = T * (signs * e / self.theta).sum(axis=0)
        else:
            rhs = e[0] if len(e) == 1 else e
        v = rhs + np.asarray(way.Phi.T @ slopes)
        if way.offset:
            v = np.append(v, float((sides.sign * way.a).sum()) + slopes.sum())
        x = self.solve(v)
        dc, db = x[:p], float(x[p]) if way.offset else 0.0
        ds = way.Phi @ dc + db
        da = (-sides.sign * ds[sides.rows] + rho) / self.D
        dlow = at_low / way.a - way.low - way.low * da / way.a
        dhigh = np.where(closed, at_high / room - way.high + way.high * da / room, 0.0)
        if not way.bounded:
            return da, dlow, dhigh, dc[None], np.zeros_like(way.z), db
        common = rhs - T * dc
        each = (e - signs * common) / self.theta
        dz = at_c / way.c - way.z - self.theta * each
        return da, dlow, dhigh, each, dz, db

    def reach(self, step: Step, cap: float = 1.0) -> float:
        """How far this direction can be followed, up to `cap`, before something becomes negative."""
        way = self.way
        pairs = [(way.a, step[0]), (way.low, step[1])]
        pairs += [
            (way.room[self.closed], -step[0][self.closed]),
            (way.high[self.closed], step[2][self.closed]),
        ]
        if way.bounded:
            pairs += [(way.c, step[3]), (way.z, step[4])]
        longest = cap
        for value, change in pairs:
            falling = change < 0
            if falling.any():
                longest = min(longest, float((value[falling] / -change[falling]).min()))
        return longest

    def gap_after(self, step: Step, length: float) -> float:
        """The sum of products after a step."""
        way = self.way
        total = (way.a + length * step[0]) @ (way.low + length * step[1])
        room = np.where(self.closed, way.room - length * step[0], 0.0)
        total += room @ (way.high + length * step[2])
        return float(total + ((way.c + length * step[3]) * (way.z + length * step[4])).sum())
