"""Sparse linear models, λ(ρ‖c‖₁ + ½(1 − ρ)‖c‖²) in place of λ‖f‖²: Newton's method with few coordinates."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from mercer._notice import tell
from mercer._threads import stopping_point
from mercer._xp import issparse
from mercer.codegen.subset.compiled import compiled
from mercer.solvers.base import Solver, warn_if_unconverged
from mercer.solvers.certify import best_constant
from mercer.solvers.coordinate_loop import descend
from mercer.solvers.cost import LARGEST_FACTOR
from mercer.solvers.penalised import NEAR, CentredFeatures, penalty_of, worth
from mercer.solvers.problem import Problem, Solution

_EPS = float(np.finfo(float).eps)
# Sweeps between two looks at the face, and how often that is.
_SWEEPS, _ROUNDS = 30, 60
# Coordinates that may join at a time, at least.
_JOIN = 50
# Steps without a lower objective after which there is no more to be had.
_PATIENCE = 4
# What is added to the diagonal of a Hessian, of its largest entry: where V'' = 0 nothing else is there.
_RIDGE = 1e-12


class Coordinate(Solver):
    """Minimise (1/n) Σ w_i V(y_i, (Φc)_i) + λ(ρ‖c‖₁ + ½(1 − ρ)‖c‖²), for losses with second derivatives.

    Newton's method: the loss is replaced by a parabola at the scores so far, and what that gives is
    minimised by coordinate descent, and exactly among the coordinates that are not 0. Only those, and those
    whose slope exceeds λρ, are looked at.

    Parameters
    ----------
    tol : float
        What is left of the slopes, relative to those at the best constant, and the duality gap, relative to
        its objective.
    max_iter : int
        Newton steps.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> machine = KernelRidge("linear", lam=0.1, representation="lasso", solver=Coordinate(tol=1e-8))
    >>> (machine.fit(X, 2 * X[:, 1]).coef_ != 0).tolist()
    [False, True, False]
    """

    name = "coordinate"
    requires = frozenset({"lasso", "curved"})

    def __init__(self, tol=1e-6, max_iter=1000):
        self.tol = tol
        self.max_iter = max_iter

    def refusal(self, loss, penalty):
        if penalty == "lasso" and not loss.curved:
            way = "use solver='interior', which takes losses with kinks" if loss.has_dual else "define it"
            return f"solver {self!r} needs second derivatives, and {loss!r} defines no hess; {way}"
        return super().refusal(loss, penalty)

    def run(self, problem: Problem) -> Solution:
        self.validate()
        refuse(self, problem)
        centred = CentredFeatures.of(problem)
        t = problem.y.shape[1]
        groups = [list(range(t))] if problem.loss.joint else [[j] for j in range(t)]
        C, b, history = np.zeros((problem.A.shape[1], t)), np.zeros(t), []
        iterations, reached = 0, True
        for outputs in groups:
            part = replace(centred.problem, y=problem.y[:, outputs])
            begin = problem.begin
            if begin is not None:
                begin = begin[0][:, outputs], begin[1][outputs] + centred.means @ begin[0][:, outputs]
            found = self._descend(replace(part, begin=begin))
            C[:, outputs], b[outputs] = found.C, found.b
            iterations, reached = max(iterations, found.steps), reached and found.steps < self.max_iter
            history += found.history
        b = _middle(problem, C, centred.back(C, b))
        measured = worth(problem, C, b)
        certificate, near = measured.certificate, measured.near(max(self.tol, NEAR))
        small = certificate.relative_gradient <= max(self.tol, NEAR) or certificate.gap is not None
        status = "converged" if reached and near and small else "stalled" if reached else "max_iter"
        solution = Solution(C, measured.intercept, status, iterations, certificate, tuple(history), self.name)
        if not problem.loss.convex:
            solution = solution.without_claims()
        warn_if_unconverged(solution, self.tol, "Increase lam or max_iter", problem.A.dtype)
        return solution

    def _descend(self, problem: Problem) -> _Point:
        point = _Point.at_start(problem)
        unit, idle = point.norm, 0
        unit = max(unit, float(np.linalg.norm(_slopes_at_constant(problem))))
        while point.steps < self.max_iter and idle < _PATIENCE:
            stopping_point()
            relative = point.norm / unit if unit > 0 else 0.0
            point.history.append(relative)
            tell(self.name, point.steps, "relative gradient", relative, self.tol)
            if relative <= 1e-3 * self.tol:
                break
            if relative <= self.tol and worth(problem, point.C, point.b).near(self.tol):
                break
            before = point.value
            if not point.step():
                break
            idle = 0 if before - point.value > 8 * _EPS * abs(before) else idle + 1
        return point


def _middle(problem: Problem, C: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Offsets of mean 0, where outputs are coupled and a constant added to all scores changes nothing."""
    if not (problem.loss.joint and problem.offset):
        return b
    scores, moved = problem.A @ C + b, b - b.mean()
    here, there = problem.data_value(scores), problem.data_value(scores - b.mean())
    return moved if abs(here - there) <= 1e-12 * abs(here) else b


def refuse(solver: Solver, problem: Problem) -> None:
    """Raise IncompatibleError if the solver can't take such a problem."""
    from mercer.operators import L1
    from mercer.solvers.base import IncompatibleError

    reason = solver.refusal(problem.loss, "lasso" if isinstance(problem.B, L1) else "ridge")
    if reason is None and problem.offset_price:
        reason = f"solver {solver!r} knows no price of the offset; use representation='features'"
    if reason is not None:
        raise IncompatibleError(reason)


def _slopes_at_constant(problem: Problem) -> np.ndarray:
    return problem.A.adjoint(problem.data_grad(best_constant(problem))) / problem.n


@lru_cache(maxsize=1)
def _loop() -> Any:
    return compiled([descend]) or descend


@dataclass(eq=False)
class _Point:
    """Coefficients (p, t), offsets, and what is known there: scores, objective, slopes."""

    problem: Problem
    C: np.ndarray
    b: np.ndarray
    steps: int = 0
    history: list[float] = field(default_factory=list)

    @classmethod
    def at_start(cls, problem: Problem) -> _Point:
        shape, begin = (problem.A.shape[1], problem.y.shape[1]), problem.begin
        point = cls(problem, np.zeros(shape), best_constant(problem)[0])
        point.measure()
        if begin is None or begin[0].shape != shape or not np.isfinite(begin[0]).all():
            return point
        C = np.maximum(begin[0], 0) if penalty_of(problem).positive else begin[0].copy()
        other = cls(problem, C, begin[1].copy() if problem.offset else np.zeros(shape[1]))
        other.measure()
        return other if other.value < point.value else point

    def measure(self) -> None:
        """Everything that follows from C and b."""
        self.scores = self.problem.A @ self.C + self.b
        self.value = self._value(self.C, self.scores)
        self.slopes = self.problem.data_grad(self.scores)
        self.G = self.problem.A.adjoint(self.slopes) / self.problem.n
        self.left = penalty_of(self.problem).left(self.C, self.G, self.problem.lam)
        in_b = self.slopes.sum(axis=0) / self.problem.n if self.problem.offset else np.zeros(1)
        self.norm = float(np.hypot(np.linalg.norm(self.left), np.linalg.norm(in_b)))

    def _value(self, C: np.ndarray, scores: np.ndarray) -> float:
        return self.problem.data_value(scores) + self.problem.lam * penalty_of(self.problem).value(C)

    def step(self) -> bool:
        """A Newton step among some coordinates; False if none goes down."""
        model = _Model.at(self)
        dC, db = model.direction()
        problem = self.problem
        ds = problem.A @ dC + db
        lam, penalty = problem.lam, penalty_of(problem)
        # What the line promises: the slope of V and the change of the penalty.
        promised = float((self.slopes * ds).sum()) / problem.n
        promised += lam * (penalty.value(self.C + dC) - penalty.value(self.C))
        self.steps += 1
        if not promised < 0:
            return False
        length, slack = 1.0, 8 * _EPS * abs(self.value)
        for _ in range(50):
            # Steps of length 1 give zeros, which are kept.
            C, b = self.C + length * dC, self.b + length * db
            scores = problem.A @ C + b
            with np.errstate(over="ignore", invalid="ignore"):
                value = self._value(C, scores)
            if value <= self.value + 1e-4 * length * promised + slack:
                self.C, self.b = C, b
                self.measure()
                return True
            length *= 0.5
        return False


@dataclass(eq=False)
class _Model:
    """The parabola at a point, for the coordinates that are not 0 or should not be; offsets come last."""

    point: _Point
    where: list[np.ndarray]  # of each output, the coordinates that are looked at
    H: np.ndarray
    r: np.ndarray
    c: np.ndarray
    price: np.ndarray
    least: np.ndarray

    @classmethod
    def at(cls, point: _Point) -> _Model:
        problem, C = point.problem, point.C
        n, t, lam, penalty = problem.n, C.shape[1], problem.lam, penalty_of(problem)
        where = [_chosen(point, j) for j in range(t)]
        columns = [_with_ones(problem, index) for index in where]
        starts = np.cumsum([0, *(part.shape[1] for part in columns)])
        H, r, c = np.zeros((starts[-1], starts[-1])), np.zeros(starts[-1]), np.zeros(starts[-1])
        price, least = np.zeros(starts[-1]), np.full(starts[-1], -np.inf)
        curvature = lam * (1 - penalty.ratio)
        bends = _bends(problem, point.scores)
        for j in range(t):
            here = slice(starts[j], starts[j + 1])
            for m in range(j + 1):
                there = slice(starts[m], starts[m + 1])
                H[here, there] = _product(columns[j], bends(j, m), columns[m]) / n
                H[there, here] = H[here, there].T
            k = len(where[j])
            inner = slice(starts[j], starts[j] + k)
            c[inner], price[inner] = C[where[j], j], lam * penalty.ratio
            r[inner] = point.G[where[j], j] + curvature * c[inner]
            if problem.offset:
                c[inner.stop], r[inner.stop] = point.b[j], point.slopes[:, j].sum() / n
            H[inner, inner] += curvature * np.eye(k)
            least[inner] = 0.0 if penalty.positive else -np.inf
        top = float(np.max(H.diagonal(), initial=0.0)) or 1.0
        H[np.diag_indices_from(H)] += _RIDGE * top
        return cls(point, where, np.ascontiguousarray(H), r, c, price, least)

    def direction(self) -> tuple[np.ndarray, np.ndarray]:
        """(changes of C, of b) to the minimum of the model."""
        c = self._minimum()
        problem = self.point.problem
        dC, db = np.zeros_like(self.point.C), np.zeros_like(self.point.b)
        begin = 0
        for j, index in enumerate(self.where):
            dC[index, j] = c[begin : begin + len(index)] - self.c[begin : begin + len(index)]
            begin += len(index)
            if problem.offset:
                db[j] = c[begin] - self.c[begin]
                begin += 1
        return dC, db

    def _minimum(self) -> np.ndarray:
        c, r, largest = self.c.copy(), self.r.copy(), np.zeros(1)
        least = np.maximum(self.least, -1e300)
        unit = float(np.abs(self.r).max(initial=0.0)) or 1.0
        for _ in range(_ROUNDS):
            stopping_point()
            _loop()(self.H, r, c, self.price, least, largest, len(c), _SWEEPS, 1e-13 * unit)
            if largest[0] <= 1e-13 * unit:
                break
            c = self._along_the_face(c)
            r = self.r + self.H @ (c - self.c)
            if self._left(c, r) <= 1e-12 * unit:
                break
        return c

    def _left(self, c: np.ndarray, r: np.ndarray) -> float:
        away = np.where(c != 0, np.abs(r + self.price * np.sign(c)), np.maximum(np.abs(r) - self.price, 0))
        held = (c <= 0) & (self.least == 0)
        away = np.where(held, np.maximum(-r - self.price, 0), away)
        return float(away.max(initial=0.0))

    def _along_the_face(self, c: np.ndarray) -> np.ndarray:
        """To the minimum among the coordinates that are not 0, or to where the first of them becomes 0."""
        for _ in range(5):
            free = np.flatnonzero((c != 0) | (self.price == 0) & (self.least < 0))
            if not len(free):
                return c
            signs = np.sign(c[free]) * self.price[free]
            r = self.r[free] + self.H[free] @ (c - self.c) + signs
            try:
                step = -np.linalg.solve(self.H[np.ix_(free, free)], r)
            except np.linalg.LinAlgError:
                return c
            if not np.isfinite(step).all():
                return c
            new = c[free] + step
            bounded = (self.price[free] > 0) | (self.least[free] == 0)
            crossed = bounded & (np.sign(new) != np.sign(c[free]))
            if not crossed.any():
                out = c.copy()
                out[free] = new
                return out
            with np.errstate(divide="ignore", invalid="ignore"):
                lengths = np.where(crossed, c[free] / (c[free] - new), np.inf)
            first = lengths.min()
            out = c.copy()
            out[free] = c[free] + first * step
            out[free[lengths <= first]] = 0.0
            c = out
        return c


def _chosen(point: _Point, output: int) -> np.ndarray:
    """The coordinates that are not 0, and of those that should not be 0 the steepest."""
    c, left = point.C[:, output], point.left[:, output]
    used = c != 0
    joining = np.flatnonzero(~used & (left > 0))
    most = max(_JOIN, int(used.sum()))
    most = min(most, max(LARGEST_FACTOR - int(used.sum()), 1)) if len(c) > LARGEST_FACTOR else len(c)
    if len(joining) > most:
        joining = joining[np.argpartition(-left[joining], most)[:most]]
    used[joining] = True
    return np.flatnonzero(used)


def _with_ones(problem: Problem, index: np.ndarray) -> Any:
    """These columns of Φ, and ones for the offset; sparse if Φ is."""
    Phi = problem.A.values  # type: ignore[attr-defined]
    ones = np.ones((problem.n, int(problem.offset)))
    if issparse(Phi):
        from scipy.sparse import csc_array, hstack

        return hstack([csc_array(Phi)[:, index].astype(np.float64), csc_array(ones)], format="csc")
    return np.hstack([Phi[:, index], ones], dtype=np.float64)


def _product(left: Any, weights: np.ndarray, right: Any) -> np.ndarray:
    """leftᵀ diag(weights) right"""
    if issparse(left):
        return (left.T @ right.multiply(weights[:, None]).tocsc()).toarray()
    return left.T @ (weights[:, None] * right)


def _bends(problem: Problem, scores: np.ndarray) -> Any:
    """j, m ↦ w times the second derivative of V in the scores j and m."""
    if not problem.loss.joint:
        bends = problem.data_hess(scores)
        return lambda j, m: bends[:, j] if j == m else np.zeros(len(bends))
    root, t = problem.loss.hess_root(problem.y, scores), scores.shape[1]
    rows = np.empty((t, *scores.shape))
    for k in range(t):
        one = np.zeros_like(scores)
        one[:, k] = 1
        rows[k] = root.apply(one)
    return lambda j, m: problem.w * (rows[:, :, j] * rows[:, :, m]).sum(axis=0)
