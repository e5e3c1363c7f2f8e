"""lam="auto": a λ from the data, at the price of a few more fits.

Squared loss: leave-one-out in closed form, of a part of the examples where they are many. Generalised
cross-validation would be cheaper; but it takes all examples for equally influential, and where some lie apart
its λ are far too small. Other losses: a few machines fitted to some of the examples and judged on others.

Rows that are the same point are never on both sides, an example of weight 0 has no say, and a repeated row
counts like one of weight 2. Of λ that can't be told apart (by half a standard error of the difference) the
largest is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._units import row_bits
from mercer._warnings import unheard
from mercer.estimators.plan import Plan
from mercer.losses import Loss
from mercer.operators import L1, Identity, KernelOperator, Matrix
from mercer.representations import Full
from mercer.solvers import Problem, Solver
from mercer.solvers.certify import best_constant
from mercer.solvers.loo import FactoredErrors, residuals, spectral_errors

# Fewer points than this say too little about λ.
_FEW, _FEW_HALVES = 10, 40
# λ relative to the mean of k(x,x), for closed forms.
_GRID = np.logspace(1, -9, 41)
# Up to so many points leaving one out takes one small eigendecomposition. Of more, half, and no more than …,
# each λ by a factorisation, beginning with what fewer points say.
_SPECTRUM, _FACTORED, _START = 1000, 2000, 400
# With centres or features, no more than so many, their spectrum does: on at least … points, and so many for
# each.
_COLUMNS, _ALL, _PER_COLUMN = 2000, 4000, 10
# Otherwise λ goes by this factor, down or up, as long as that helps, so many times at most.
_FACTOR, _DOWN, _UP = 4.0, 8, 3
# Other losses: machines are fitted to half of the points up to twice …, then to so many, or to an eighth.
_HALF, _HALF_PRIMAL, _SHARE = 1250, 4000, 8
# Up to here both halves are judged; at most so many points ever.
_BOTH, _JUDGED = 1000, 10_000
_TOL = 1e-2
# Kernel values are known to so much of k(x,x) in float32, and in float64 normal equations are solved to
# about so much: with a smaller λ a solver is lost in rounding.
_ROUNDING, _ROUNDING_DOUBLE = float(np.finfo(np.float32).eps), 1e-9
# A λ below this, in the same units, says that f is rougher than the kernel.
_SMOOTH = 1e-8


def choose(problem: Problem, X: Any, squares: np.ndarray, total: float, solver: Solver) -> tuple[float, str]:
    """λ for a problem whose own is not looked at, and how it was found, in a sentence.

    X are its points as they came, `squares` their k(x,x), `total` what their weights, as given, add up to.
    """
    sample = _Sample(problem, X, squares)
    closed = problem.loss.quadratic and not isinstance(problem.B, L1)
    if len(sample) < (_FEW if closed else _FEW_HALVES):
        lam = _natural(sample, total)
        return lam, f"lam = {lam:.3g}, by the sizes of k(x,x) and y: too few distinct rows to choose by"
    lam, how = _left_out(sample) if closed else _by_other_rows(sample, solver)
    unit = _natural(sample, 1.0)
    least = unit * (_ROUNDING if problem.A.dtype == np.float32 else _ROUNDING_DOUBLE)
    if lam < least and not isinstance(problem.B, L1):
        lam, how = least, f"the rounding of {problem.A.dtype}; less would be better by {how}"
    if lam < _SMOOTH * unit and not isinstance(problem.B, L1):
        how += (
            "; so little says that the kernel is too smooth for these targets: a narrower one may do better "
            "(mercer.selection.tune finds one)"
        )
    rows = int((sample.w > 0).sum())
    repeated = f"; {rows - len(sample):,} of the {rows:,} rows repeat another" if rows > len(sample) else ""
    return lam, f"lam = {lam:.3g} by {how}{repeated}"


def forecast(plan: Plan, loss: Loss) -> Plan:
    """The plan with what `choose` will do, the order of its arithmetic, and the memory it takes meanwhile."""
    n, unknowns, full = plan.examples, plan.unknowns, isinstance(plan.representation, Full)
    closed = loss.quadratic and plan.representation.penalty == "ridge"
    flops, memory = 0.0, 0
    if n < (_FEW if closed else _FEW_HALVES):
        how = "by the sizes of k(x,x) and y, since so few rows can't tell"
    elif not closed:  # each as large as the fit to come, or smaller
        how = f"about four machines fitted to {_trained(n, full):,} rows and judged on others"
    elif n <= _SPECTRUM:
        how = f"leave-one-out for {len(_GRID)} values, from one spectrum"
        flops, memory = 10.0 * unknowns**3, 8 * (6 * unknowns**2 + 4 * len(_GRID) * n)
    elif full or unknowns > _COLUMNS:
        rows = _factored(n)
        how = f"leave-one-out on {rows:,} rows for about four values"
        flops, memory = 4.0 * rows**3, 8 * 4 * rows**2
    else:
        rows = min(n, max(_ALL, _PER_COLUMN * unknowns))
        how = f"leave-one-out on {rows:,} rows for {len(_GRID)} values, from one spectrum"
        flops = 3.0 * rows * unknowns**2 + 10.0 * unknowns**3
        memory = 8 * (6 * unknowns**2 + 2 * len(_GRID) * rows)
    reasons = (*plan.reasons, f"lam = 'auto': {how}")
    return replace(plan, flops=plan.flops + flops, memory=max(plan.memory, memory), reasons=reasons)


# -- the problem without what must not count ---------------------------------------------------------------


class _Sample:
    """The points of a problem that have weight, each once, in an order that is not that of the rows."""

    def __init__(self, problem: Problem, X: Any, squares: np.ndarray):
        n = problem.n
        w = np.ones(n) if problem.weights is None else problem.weights
        # In the order of these bits points are drawn again from the same rows in another order, or repeated.
        order, point = np.unique(row_bits(X), return_inverse=True)
        # Weight 0 means absent: such rows are put at a point of their own, which is never drawn.
        point = np.where(w > 0, point, len(order))
        self.total = np.bincount(point, weights=w, minlength=len(order) + 1)
        present = np.flatnonzero(self.total > 0)
        self.problem, self.point, self.w = problem, point, w
        self.points = present[np.argsort(order[present], kind="stable")]
        self.first = np.zeros(len(order) + 1, dtype=np.intp)
        self.first[point[::-1]] = np.arange(n)[::-1]
        if isinstance(problem.B, Identity):
            scale = float(problem.A.column_squares(w).sum() / n)
        else:
            scale = float(np.average(squares, weights=w))
        self.scale = scale if 0 < scale < np.inf else 1.0

    def __len__(self) -> int:
        return len(self.points)

    def share(self, points: np.ndarray) -> float:
        """The part of the weight that lies at these points."""
        return float(self.total[points].sum() / self.total.sum())

    def rows(self, points: np.ndarray) -> np.ndarray:
        """All rows at these points."""
        chosen = np.zeros(len(self.first), dtype=bool)
        chosen[points] = True
        return np.flatnonzero(chosen[self.point])

    def part(self, points: np.ndarray) -> Problem:
        """The problem on all rows at these points."""
        rows = self.rows(points)
        return self._among(rows, self.problem.y[rows], self.w[rows])

    def merged(self, points: np.ndarray) -> Problem:
        """The least squares problem on these points: repeated ones have the mean target, and more weight."""
        place = np.zeros(len(self.first), dtype=np.intp)
        place[points] = np.arange(len(points))
        rows = self.rows(points)
        y = np.zeros((len(points), self.problem.y.shape[1]))
        np.add.at(y, place[self.point[rows]], self.w[rows, None] * self.problem.y[rows])
        weights = self.total[points]
        return self._among(self.first[points], y / weights[:, None], weights)

    def dense(self, points: np.ndarray) -> Problem:
        """As `merged`, with one coefficient per point: of few points, centres or features do no better."""
        part = self.merged(points)
        if part.full:
            return part
        A = part.A
        if isinstance(A, KernelOperator):
            A = A.against(A)
        else:
            values = A.rows(np.arange(len(points)))
            A = Matrix(values @ values.T)
        return replace(part, A=A, B=A)

    def _among(self, rows: np.ndarray, y: np.ndarray, w: np.ndarray) -> Problem:
        A = self.problem.A.among(rows, rows) if self.problem.full else self.problem.A.among(rows)
        weights = w * (len(w) / w.sum())
        equal = np.allclose(weights, 1, rtol=1e-14, atol=0)
        return replace(
            self.problem,
            A=A,
            B=A if self.problem.full else self.problem.B,
            y=y,
            weights=None if equal else weights,
            rng=np.random.default_rng(0),  # the machine's own is for the fit
        )


def _nearly_best(costs: np.ndarray, spread: float = 0.0) -> int:
    """The first row (λ fall from row to row) whose mean is less than half a standard error above the least.

    The standard error is that of the difference, point by point. `spread`, the mean square of the targets,
    says what is nothing but rounding.
    """
    means = costs.mean(axis=1)
    means = np.where(np.isfinite(means), means, np.inf)
    best = least = int(np.argmin(means))
    while best > 0 and np.isfinite(means[best - 1]):
        more = costs[best - 1] - costs[least]
        if more.mean() > 0.5 * more.std() / np.sqrt(len(more)) + 1e-12 * spread:
            break
        best -= 1
    return best


def _natural(sample: _Sample, n: float) -> float:
    """λ for which one example alone can move its own score by about the size of the targets.

    With slopes of size v where f = 0, f is at most Σ v |k(x_i,·)|/(2λn), and scores of size u are wanted. For
    the squared loss λn is the mean of k(x,x), and for an SVM 1/(2λn) = C is one over that, which with
    k(x,x) = 1 is what scikit-learn has by default.
    """
    problem, kept = sample.problem, sample.w > 0
    y, w = problem.y[kept].astype(np.float64), sample.w[kept]
    with np.errstate(all="ignore"):
        # With an offset numbers are learned from the best constant on (which kinked losses have many of).
        shifted = problem.offset and problem.loss.smooth and not problem.loss.classification
        start = best_constant(problem)[kept] if shifted else 0.0
        slopes = np.abs(problem.loss.grad(y, np.zeros_like(y) + start))
    if problem.loss.quadratic:
        slope, unit = 2.0, 1.0
    elif problem.loss.classification:
        slope, unit = float(slopes.max()), 1.0
    else:
        slope = float(np.sqrt(np.mean(np.average(slopes**2, axis=0, weights=w))))
        unit = float(np.sqrt(_spread(problem)))
    if not (0 < slope < np.inf and 0 < unit < np.inf):
        slope = unit = 1.0
    if isinstance(problem.B, L1):  # λ‖c‖₁ against slopes of size v·√k(x,x), of which n add up like √n
        size = slope * (np.sqrt(_spread(problem)) if problem.loss.quadratic else 1.0)
        return float(size * np.sqrt(sample.scale / n)) or 1.0
    return sample.scale * slope / (2 * unit * n)


def _spread(problem: Problem) -> float:
    """The mean square of the targets (from their mean, if there is an offset)."""
    middle = np.average(problem.y, axis=0, weights=problem.weights) if problem.offset else 0.0
    return float(np.mean(np.average((problem.y - middle) ** 2, axis=0, weights=problem.weights)))


# -- squared loss ------------------------------------------------------------------------------------------


def _left_out(sample: _Sample) -> tuple[float, str]:
    """Leave-one-out; where a point has several rows, all of them are left out."""
    problem, lams = sample.problem, _GRID * sample.scale
    n, columns = len(sample), problem.A.shape[1]
    if n <= _SPECTRUM:
        lam = _by_spectrum(sample.merged(sample.points), lams)
        return lam, f"leave-one-out over {len(lams)} values"
    if problem.full or problem.A.remote or columns > _COLUMNS:
        points = sample.points[: _factored(n)]
        lam, tried = _by_factors(sample, points)
    else:
        points, tried = sample.points[: max(_ALL, _PER_COLUMN * columns)], len(lams)
        part = sample.merged(points)
        lam = float(lams[_nearly_best(spectral_errors(part, lams), _spread(part))])
    some = "" if len(points) == n else f" on {len(points):,} of {n:,} rows"
    # λn is kept: it falls slowly with more rows, if at all.
    return lam * sample.share(points), f"leave-one-out{some} over {tried} values"


def _factored(n: int) -> int:
    """How many of n points matrices are factored for."""
    return min(max(n // 2, _SPECTRUM), _FACTORED)


def _by_spectrum(problem: Problem, lams: np.ndarray) -> float:
    errors = np.square(residuals(problem, lams.tolist())).mean(axis=2)
    if problem.weights is not None:
        errors = errors * problem.weights
    return float(lams[_nearly_best(errors, _spread(problem))])


def _by_factors(sample: _Sample, points: np.ndarray) -> tuple[float, int]:
    """The best λ for these points, up and down from what fewer of them say; and how many were tried."""
    few = points[:_START]
    start = _by_spectrum(sample.dense(few), _GRID * sample.scale)
    start *= sample.share(few) / sample.share(points)
    problem = sample.dense(points)
    return _walk(FactoredErrors(problem), start, _spread(problem))


def _walk(cost: Callable[[float], np.ndarray], start: float, spread: float = 0.0) -> tuple[float, int]:
    """The λ of least mean cost, down from a start as long as that helps, or up; and how many were tried.

    Smaller λ cost more time, so they must be better by more than what `_nearly_best` takes for equal.
    """
    costs = {0: cost(start)}
    for step, most in ((1, _DOWN), (-1, _UP)):
        k = 0
        while abs(k) < most:
            k += step
            costs[k] = cost(start / _FACTOR**k)
            with np.errstate(invalid="ignore"):
                gain = costs[k - step] - costs[k]
                noise = 0.5 * gain.std() / np.sqrt(len(gain)) if step > 0 else 0.0
            if not gain.mean() > noise:
                break
        if k > 1:  # smaller λ are better: no need to look at larger ones
            break
    tried = sorted(costs)
    best = tried[_nearly_best(np.array([costs[k] for k in tried]), spread)]
    return start / _FACTOR**best, len(tried)


# -- other losses ------------------------------------------------------------------------------------------


def _by_other_rows(sample: _Sample, solver: Solver) -> tuple[float, str]:
    """A few machines on some of the rows, judged by their loss on others."""
    judges = [_Judge(sample, train, test, solver) for train, test in _folds(sample)]
    start = _natural(sample, len(sample))  # whether rows are repeated, or all weighed more, is no matter
    if isinstance(sample.problem.B, L1):
        # The least λ of λ‖c‖₁ at which c = 0 is the largest slope there.
        problem = sample.problem
        slopes = problem.A.adjoint(problem.data_grad(best_constant(problem))) / problem.n
        start = (float(np.abs(slopes).max(initial=0.0)) or 1.0) / 32
    with unheard(ConvergenceWarning), unheard(RuntimeWarning), np.errstate(all="ignore"):
        lam, tried = _walk(lambda lam: np.concatenate([judge(lam) for judge in judges]), start)
    rows = judges[0].problem.n
    return lam, f"the loss on other rows of machines fitted to {rows:,} of them, over {tried} values"


def _folds(sample: _Sample) -> list[tuple[np.ndarray, np.ndarray]]:
    """Points to fit to and points to judge on: of every class the same share."""
    points = sample.points
    if sample.problem.loss.classification:
        _, label = np.unique(sample.problem.y[sample.first[points]], axis=0, return_inverse=True)
        points = points[np.argsort(label.reshape(-1), kind="stable")]
    every = -(-len(points) // _trained(len(points), sample.problem.full))
    side = np.arange(len(points)) % every
    train, others = points[side == 0], points[side != 0]
    test = others[:: -(-len(others) // _JUDGED)]
    return [(train, test), (test, train)] if len(points) <= _BOTH else [(train, test)]


def _trained(n: int, full: bool) -> int:
    """How many of n points machines are fitted to."""
    return max(min(-(-n // 2), _HALF if full else _HALF_PRIMAL), n // _SHARE)


class _Judge:
    """The loss at some points of machines fitted to others."""

    def __init__(self, sample: _Sample, train: np.ndarray, test: np.ndarray, solver: Solver):
        whole = sample.problem
        self.problem, self.loss = sample.part(train), whole.loss
        rows = sample.rows(test)
        self.y, self.w = whole.y[rows], sample.w[rows]
        _, self.point = np.unique(sample.point[rows], return_inverse=True)
        self.A = whole.A.among(rows, sample.rows(train)) if whole.full else whole.A.among(rows)
        # λn, not λ, is what stays about the same with fewer rows.
        self.factor = 1 / sample.share(train)
        self.solver = copy(solver)
        self.last: np.ndarray | None = None
        if "tol" in solver.get_params():
            given = getattr(solver, "tol", None)
            self.solver.set_params(tol=_TOL if given is None else max(given, _TOL))

    def __call__(self, lam: float) -> np.ndarray:
        """Point by point; the mean over points is the mean loss."""
        lam *= self.factor
        # Coefficients at their bound, 1/(2λn), stay there.
        start = None if self.last is None else self.last / lam
        try:
            found = self.solver.run(replace(self.problem, lam=lam, start=start))
        except (ValueError, ArithmeticError, np.linalg.LinAlgError):
            return np.full(self.point.max() + 1, np.inf)  # such a λ is not chosen
        self.last = None if found.dual_coef is None else found.dual_coef * lam
        values = self.loss.value(self.y, self.A @ found.coef + found.intercept)
        values = self.w * (values if values.ndim == 1 else values.sum(axis=1))
        costs = np.bincount(self.point, weights=values) * (self.point.max() + 1) / self.w.sum()
        return np.where(np.isfinite(costs), costs, np.inf)
